"""redact: documents beside notes."""

import io
import json
from pathlib import Path

import docx
import pytest
from conftest import NOTE, REDACTED
from odf.opendocument import OpenDocumentText
from odf.style import Style
from odf.text import P
from openpyxl import Workbook, load_workbook
from pdf_letters import coded, letter, needs_tesseract, pictures

from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.surrogates.keys import ProjectKey

TABLE = "patient,ward,note\nAna Ruiz,3,Vive en Puerto Esparza.\n,4,Alta\n"
COLUMNS = '[columns]\npatient = "label:PATIENT"\nward = "keep"\n'


def write_docx(path: Path, *paragraphs: str) -> None:
    document = docx.Document()
    for text in paragraphs:
        document.add_paragraph(text)
    document.save(str(path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a note, a Word document and a table."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.txt").write_text(NOTE)
    write_docx(folder / "a.docx", *NOTE.splitlines())
    (folder / "t.csv").write_text(TABLE)
    return folder


def test_documents_and_notes_are_redacted_together(redact, folder, tmp_path):
    result = redact(folder)
    assert result.exit_code == 0, result.stderr
    out = tmp_path / "out"
    assert (out / "a.txt").read_text() == REDACTED
    assert [p.text for p in docx.Document(str(out / "a.docx")).paragraphs] == REDACTED.splitlines()
    assert (out / "t.csv").read_text() == "patient,ward,note\nAna Ruiz,3,Vive en [CITY].\n,4,Alta\n"
    assert "3 file(s) with 3 note(s)" in result.stdout
    assert "5 span(s) changed" in result.stdout


def test_a_column_with_a_label_is_replaced_as_a_whole(redact, folder, tmp_path):
    (tmp_path / "columns.toml").write_text(COLUMNS)
    result = redact(folder / "t.csv", "--columns", tmp_path / "columns.toml", "--trace")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "out" / "t.csv").read_text() == "patient,ward,note\n[PATIENT],3,Vive en [CITY].\n,4,Alta\n"
    spans = json.loads((tmp_path / "out" / "t.csv.trace.json").read_text())["spans"]
    assert [span["label"] for span in spans] == ["PATIENT", "CITY"]
    assert [item["source"] for item in spans[0]["evidence"]] == ["columns"]


def test_offsets_are_right_in_a_long_table(redact, tmp_path):
    rows = ["note", *(f"Vive en Puerto Esparza cama {i}." for i in range(30000, 34000))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    result = redact(tmp_path / "t.csv", "--trace")
    assert result.exit_code == 0, result.stderr
    assert "1 file(s) with 1 note(s)" in result.stdout
    lines = (tmp_path / "out" / "t.csv").read_text().splitlines()
    assert lines[1:] == [row.replace("Puerto Esparza", "[CITY]") for row in rows[1:]]
    text = "\n\n".join(rows)
    spans = json.loads((tmp_path / "out" / "t.csv.trace.json").read_text())["spans"]
    assert len(spans) == 4000
    assert {text[span["start"] : span["end"]] for span in spans} == {"Puerto Esparza"}


def long_table(path: Path) -> list[str]:
    """A table of more than 100,000 characters, with two persons of whom one comes again at its end."""
    patients = ["Braulio Sanz", *[""] * 60, "Nadia Ferrer", "Nadia Ferrer", *[""] * 60, "Nadia Ferrer", "Braulio Sanz"]
    rows = [["patient", "note"], *([patient, "Sin fiebre ni tos. " * 50] for patient in patients)]
    if path.suffix == ".xlsx":
        book = Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    else:
        path.write_text("".join(f"{patient},{note}\n" for patient, note in rows))
    return patients


def first_column(path: Path) -> list[str]:
    if path.suffix == ".xlsx":
        rows = load_workbook(path).active.iter_rows(min_row=2, values_only=True)
        return [row[0] or "" for row in rows]
    return [line.split(",")[0] for line in path.read_text().splitlines()[1:]]


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
@pytest.mark.parametrize("style", ["numbered", "surrogate"])
def test_persons_are_numbered_across_a_long_table(redact, tmp_path, suffix, style):
    (tmp_path / "columns.toml").write_text('[columns]\npatient = "label:PATIENT"\n')
    ProjectKey(bytes(range(32))).to_file(tmp_path / "project.key")
    patients = long_table(tmp_path / f"t.{suffix}")
    options = ["--columns", tmp_path / "columns.toml", "--style", style]
    options += ["--key", tmp_path / "project.key"] if style == "surrogate" else []
    result = redact(tmp_path / f"t.{suffix}", *options)
    assert result.exit_code == 0, result.stderr
    released = first_column(tmp_path / "out" / f"t.{suffix}")
    names = dict(zip(patients, released, strict=True))
    assert [names[patient] for patient in patients] == released
    assert len({*names.values(), *patients}) == 5
    if style == "numbered":
        assert (names["Braulio Sanz"], names["Nadia Ferrer"]) == ("[PATIENT_1]", "[PATIENT_2]")


def test_too_long_document_is_refused_with_its_name(redact, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_deid.loading.MAX_LENGTH", 1000)
    (tmp_path / "t.csv").write_text("note\nBraulio Sanz " + "x" * 1000)
    (tmp_path / "a.txt").write_text("Braulio Sanz " + "x" * 1000)
    result = redact(tmp_path / "t.csv", tmp_path / "a.txt")
    assert result.exit_code == 1
    for name in ("t.csv", "a.txt"):
        assert f"failed: {tmp_path / name}: " in result.stderr
        assert not (tmp_path / "out" / name).exists()
    assert result.stderr.count("more than the limit nlp.max_length of 1,000") == 2
    assert "Sanz" not in result.stderr


def test_failed_document_is_named_and_the_others_are_written(redact, folder, tmp_path):
    (folder / "b.docx").write_bytes(b"PK\x03\x04 broken")
    (folder / "c.docx").write_bytes(b"")
    (folder / "d.pdf").write_text("Ana Ruiz")
    result = redact(folder)
    assert result.exit_code == 1
    for name in ("b.docx", "c.docx", "d.pdf"):
        assert f"failed: {folder / name}: " in result.stderr
        assert not (tmp_path / "out" / name).exists()
    assert "3 file(s) with 3 note(s)" in result.stdout
    assert "Ruiz" not in result.stderr


def test_lock_files_of_office_are_ignored(redact, folder, tmp_path):
    (folder / "~$a.docx").write_bytes(b"\5Ana Ruiz")
    result = redact(folder)
    assert result.exit_code == 0, result.stderr
    assert "1 other file(s) ignored" in result.stderr


def test_pdf_and_docx_with_one_name_have_separate_traces(redact, folder, tmp_path):
    write_docx(folder / "t.docx", "Alta")
    assert redact(folder, "--trace").exit_code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("a.txt", "a.trace.json", "a.docx", "a.docx.trace.json"),
        *("t.csv", "t.csv.trace.json", "t.docx", "t.docx.trace.json"),
    }


def test_losses_of_a_copy_are_warned_of(redact, tmp_path):
    from openpyxl import Workbook
    from openpyxl.comments import Comment

    book = Workbook()
    book.active.append(["note"])
    book.active["A1"].comment = Comment("Ana Ruiz", "Ana")
    book.save(str(tmp_path / "t.xlsx"))
    result = redact(tmp_path / "t.xlsx")
    assert result.exit_code == 0, result.stderr
    assert f"{tmp_path / 't.xlsx'}: comments are removed" in result.stderr
    assert "Ana" not in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ocr-language", "tlh"], "Tesseract has no data for language tlh"),
        (["--pictures", "remove"], "pictures are removed"),
    ],
)
def test_option_pictures_is_applied(redact, tmp_path, options, message):
    from PIL import Image

    picture = io.BytesIO()
    Image.new("L", (300, 100), 255).save(picture, "PNG")
    document = docx.Document()
    document.add_paragraph("Alta")
    document.add_picture(picture)
    document.save(str(tmp_path / "a.docx"))
    assert message in redact(tmp_path / "a.docx", *options).stderr


def test_vault_refuses_documents(redact, cli, folder, tmp_path):
    (tmp_path / "keys").mkdir()
    assert cli("key", "new", tmp_path / "keys" / "vault.key").exit_code == 0
    vault = ["--vault", tmp_path / "a.vault", "--vault-key", tmp_path / "keys" / "vault.key"]
    result = redact(folder, *vault)
    assert result.exit_code == 1
    assert "--vault stores notes, not documents" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ['[columns]\npatient = "label:NOBODY"', "patient = 1"])
def test_a_wrong_policy_of_columns_is_refused(redact, folder, tmp_path, text):
    (tmp_path / "columns.toml").write_text(text)
    result = redact(folder, "--columns", tmp_path / "columns.toml")
    assert result.exit_code == 1
    assert "columns file" in result.stderr
    assert not (tmp_path / "out").exists()


def test_copy_with_known_terms_of_its_patient_is_withheld(redact, tmp_path):
    with StoreWriter(tmp_path / "local") as writer:
        writer.add_patient("1000234", [LocalEntry("Zarzaquemada", "PATIENT", "patients.surname")])
        writer.commit({})
    document = OpenDocumentText()
    style = Style(name="Zarzaquemada", family="paragraph")  # names of styles are searched, but are no text
    document.styles.addElement(style)
    document.text.addElement(P(text="Alta sin dolor.", stylename=style))
    for patient in ("1000234", "1000235"):
        folder = tmp_path / "notes" / patient
        folder.mkdir(parents=True)
        document.save(str(folder / "letter.odt"))
    result = redact(tmp_path / "notes", "--dictionaries", tmp_path / "local", "--patient-id-from", "folder")
    assert result.exit_code == 1
    assert "1000234/letter.odt: the redacted copy is withheld" in result.stderr
    assert "Remove it there in the original, or save the original as PDF" in result.stderr
    assert "Zarzaquemada" not in result.output
    assert [path.parent.name for path in (tmp_path / "out").rglob("*.odt")] == ["1000235"]


def test_several_processes_write_the_same_documents_as_one(redact, folder, tmp_path):
    (folder / "z.csv").write_text("")
    for n in (1, 2):
        result = redact(folder, "--n-process", n, "--trace", "--report", tmp_path / f"{n}.json")
        assert result.exit_code == 1
        assert "failed: " in result.stderr
        (tmp_path / "out").rename(tmp_path / f"out{n}")
    assert (tmp_path / "1.json").read_text() == (tmp_path / "2.json").read_text()
    for path in (tmp_path / "out1").iterdir():
        if path.suffix != ".docx":  # a ZIP has the time in it
            assert path.read_bytes() == (tmp_path / "out2" / path.name).read_bytes()


def test_warnings_are_in_the_report_and_the_trace(redact, tmp_path):
    (tmp_path / "Ana Ruiz.html").write_text("<p>Alta</p><img src='a.png'>")
    (tmp_path / "b.html").write_text("<p>Alta</p>")
    result = redact(tmp_path / "Ana Ruiz.html", tmp_path / "b.html", "--report", tmp_path / "r.json", "--trace")
    assert result.exit_code == 0, result.stderr
    assert f"warning: {tmp_path / 'Ana Ruiz.html'}: pictures and embedded objects are removed" in result.stderr
    assert "1 note(s) or document(s) with warnings: check them" in result.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["warnings"] == {"pictures and embedded objects are removed": 1}
    assert report["with_warnings"] == 1
    assert "Ruiz" not in (tmp_path / "r.json").read_text()
    traces = [json.loads((tmp_path / "out" / f"{name}.html.trace.json").read_text()) for name in ("Ana Ruiz", "b")]
    assert [trace.get("warnings") for trace in traces] == [["pictures and embedded objects are removed"], None]


@needs_tesseract
@pytest.mark.parametrize(("options", "code"), [([], 0), (["--ocr", "always"], 1), (["--verify-ocr", "all"], 1)])
def test_option_ocr_chooses_the_pages(redact, tmp_path, options, code):
    """A page that has text is not read by OCR, so a language that is not installed fails only if it is asked to be."""
    (tmp_path / "a.pdf").write_bytes(letter("Alta sin dolor."))
    result = redact(tmp_path / "a.pdf", "--ocr-language", "tlh", *options)
    assert result.exit_code == code, result.stderr
    assert ("no data for language tlh" in result.stderr) == bool(options)


@needs_tesseract
@pytest.mark.parametrize(("options", "left"), [([], True), (["--unread", "remove"], False)])
def test_option_unread_removes_what_ocr_did_not_read(redact, tmp_path, options, left):
    from PIL import Image

    image = pictures(letter("Alta sin dolor.", size=14), 100)[0].convert("L")
    image.paste(0, (400, 600, 700, 800))
    image.save(tmp_path / "a.png", "PNG")
    result = redact(tmp_path / "a.png", "--ocr-language", "eng", *options)
    assert result.exit_code == 0, result.stderr
    with Image.open(tmp_path / "out" / "a.png") as copy:
        assert (copy.convert("L").crop((450, 650, 650, 750)).getextrema()[0] == 0) == left


@pytest.mark.parametrize(("options", "removed"), [([], True), (["--codes", "keep"], False)])
def test_option_codes_removes_or_keeps_codes(redact, tmp_path, options, removed):
    (tmp_path / "a.pdf").write_bytes(coded("Alta sin dolor."))
    result = redact(tmp_path / "a.pdf", *options)
    assert result.exit_code == 0, result.stderr
    assert ("page 1: bar codes are removed" in result.stderr) == removed
