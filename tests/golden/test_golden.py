"""Released texts and figures that must not change by accident: recorded once, compared on every run.

The notes pass through the command line, as for a user; copies of documents are read by other libraries than those that
wrote them. `SPACY_DEID_RECORD=1 pytest tests/golden` records anew; look at the difference before you commit it.
"""

import csv
import email
import email.policy
import io
import json
import os
import shutil
from email.message import EmailMessage
from pathlib import Path

import docx
import lxml.html
import openpyxl
import pypdfium2
import pytest
from odf import teletype
from odf.opendocument import OpenDocumentText, load
from odf.text import P
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas
from striprtf.striprtf import rtf_to_text

HERE = Path(__file__).parent
NOTES = HERE / "notes"
EXPECTED = HERE / "expected"
KEY = HERE / "project.key"
CORPUS = HERE.parents[1] / "corpus" / "sample" / "dev"
STYLES = ["tag", "numbered", "mask", "remove", "surrogate"]
RUNS = [("es", style) for style in STYLES] + [(lang, style) for lang in ("en", "fi") for style in STYLES[1::3]]
LETTER = (NOTES / "es" / "alta_hospitalaria.txt").read_text(encoding="utf8")
SUFFIXES = [".docx", ".odt", ".html", ".rtf", ".eml", ".csv", ".xlsx", ".pdf"]


def compare(name, found):
    """Compare with what was recorded under a name, or record it."""
    path = EXPECTED / f"{name}.json"
    if os.environ.get("SPACY_DEID_RECORD"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf8")
    assert found
    assert found == json.loads(path.read_text(encoding="utf8"))


@pytest.fixture
def key(tmp_path):
    """The project key, in a folder and with the permissions that a key must have."""
    (tmp_path / "keys").mkdir()
    path = shutil.copy(KEY, tmp_path / "keys" / "project.key")
    os.chmod(path, 0o600)
    return path


@pytest.fixture
def redact(cli, tmp_path, key):
    """Redact with the command line; gives the folder of what was released."""

    def run(source, lang, style, *more):
        keyed = ["--key", key, "--patient-id-from", "name"] if style == "surrogate" else []
        output = tmp_path / "released"
        result = cli("redact", source, "--pipeline", lang, "--style", style, "--output", output, *keyed, *more)
        assert result.exit_code == 0, result.stderr
        return output

    return run


@pytest.mark.parametrize(("lang", "style"), RUNS)
def test_released_notes(redact, lang, style):
    released = redact(NOTES / lang, lang, style, "--policy", "strict" if style == "mask" else "safe_harbor")
    texts = {path.name: path.read_text(encoding="utf8").splitlines() for path in sorted(released.glob("*.txt"))}
    compare(f"redact_{lang}_{style}", texts)


def test_released_rows(redact, tmp_path):
    rows = [{"id": i, "patient": f"00{i}", "text": line} for i, line in enumerate(LETTER.splitlines()) if line]
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    released = redact(source, "es", "numbered", "--text-field", "text", "--keep-field", "id")
    compare("redact_rows", [json.loads(line) for line in (released / "rows.jsonl").read_text().splitlines()])


def test_trace(redact):
    released = redact(NOTES / "es" / "evolucion_planta.txt", "es", "tag", "--trace")
    trace = json.loads((released / "evolucion_planta.trace.json").read_text())
    spans = [{key: span[key] for key in ("start", "end", "label", "action")} for span in trace["spans"]]
    sources = [sorted({entry["source"] for entry in span["evidence"]}) for span in trace["spans"]]
    compare("trace", {"spans": spans, "sources": sources})


def write_document(path):
    """Write the letter in the format that the suffix of a path names."""
    lines = LETTER.splitlines()
    if path.suffix == ".docx":
        document = docx.Document()
        for line in lines:
            document.add_paragraph(line)
        document.save(path)
    elif path.suffix == ".odt":
        text = OpenDocumentText()
        for line in lines:
            text.text.addElement(P(text=line))
        text.save(path)
    elif path.suffix == ".html":
        path.write_text("<html><body>" + "".join(f"<p>{line}</p>" for line in lines) + "</body></html>", "utf8")
    elif path.suffix == ".rtf":
        escaped = ("".join(c if c.isascii() else f"\\u{ord(c)}?" for c in line) + "\\par\n" for line in lines)
        path.write_text("{\\rtf1\\ansi\n" + "".join(escaped) + "}", "ascii")
    elif path.suffix == ".eml":
        message = EmailMessage()
        message["From"], message["Subject"] = "Pilar Otero <pilar.otero@ejemplo.es>", "Alta"
        message.set_content(LETTER)
        path.write_bytes(message.as_bytes())
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf8") as file:
            csv.writer(file).writerows([["nota", "texto"], *([i, line] for i, line in enumerate(lines))])
    elif path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for line in lines:
            book.active.append([line])
        book.save(path)
    else:
        page = canvas.Canvas(str(path), pagesize=A4)
        page.setFont("Helvetica", 7)
        for i, line in enumerate(lines):
            page.drawString(20, 800 - 12 * i, line)
        page.save()


def read_document(path):
    """Read the lines of a copy with a library of its format."""
    raw = path.read_bytes()
    if path.suffix == ".docx":
        return [paragraph.text for paragraph in docx.Document(path).paragraphs]
    if path.suffix == ".odt":
        return [teletype.extractText(p) for p in load(path).getElementsByType(P)]
    if path.suffix == ".html":
        return [p.text_content() for p in lxml.html.fromstring(raw.decode()).iter("p")]
    if path.suffix == ".rtf":
        return rtf_to_text(raw.decode("ascii")).splitlines()
    if path.suffix == ".eml":
        message = email.message_from_bytes(raw, policy=email.policy.default)
        return [*(f"{name}: {value}" for name, value in message.items()), *message.get_content().splitlines()]
    if path.suffix == ".csv":
        return list(csv.reader(io.StringIO(raw.decode())))
    if path.suffix == ".xlsx":
        return [list(row) for row in openpyxl.load_workbook(path).active.iter_rows(values_only=True)]
    with pypdfium2.PdfDocument(raw) as pdf:
        return [page.get_textpage().get_text_range().split() for page in pdf]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_released_copies(redact, tmp_path, suffix):
    if suffix == ".pdf" and not shutil.which("tesseract"):
        pytest.skip("tesseract is not installed")
    source = tmp_path / f"carta{suffix}"
    write_document(source)
    style = "surrogate" if suffix in {".docx", ".pdf"} else "numbered"
    released = redact(source, "es", style)
    compare(f"copy_{suffix[1:]}", read_document(released / source.name))


def test_annotations(cli, tmp_path):
    args = ("annotate", NOTES / "es", "--pipeline", "es", "--format", "brat", "--output", tmp_path / "brat")
    assert cli(*args).exit_code == 0
    compare("annotate", {p.name: p.read_text().splitlines() for p in sorted((tmp_path / "brat").glob("*.ann"))})


def test_annotations_with_surrogates(cli, tmp_path, key):
    keyed = ("--surrogates", "--key", key, "--patient-id-from", "name")
    args = ("annotate", NOTES / "es", "--pipeline", "es", "--format", "jsonl", "--output", tmp_path / "out", *keyed)
    assert cli(*args).exit_code == 0
    compare("annotate_surrogates", (tmp_path / "out" / "documents.jsonl").read_text().splitlines())


def test_scores_of_the_shipped_pipeline(cli, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    for path in CORPUS.glob("*.txt"):
        shutil.copy(path, notes)
    scheme = ("--scheme", "meddocan")
    args = ("annotate", notes, "--pipeline", "es", "--format", "brat", "--output", tmp_path / "found", *scheme)
    assert cli(*args).exit_code == 0
    figures = tmp_path / "figures.json"
    args = ("evaluate", CORPUS, tmp_path / "found", *scheme, "--bootstrap", "0", "--output", figures)
    assert cli(*args).exit_code == 0
    compare("scores", json.loads(figures.read_text()))
