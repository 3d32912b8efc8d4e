"""redact: what is known of a note beside its text, by fields of rows and by a table of files."""

import json
from pathlib import Path

import pytest
from conftest import NOTE
from spacy.language import Language
from spacy.tokens import Doc

from spacy_deid.cli.ehr_context import SimilarIds, read_file_context
from spacy_deid.ehr_fields import RowFields
from spacy_deid.errors import DeidError
from spacy_deid.io import Job
from spacy_deid.surrogates.keys import ProjectKey

CANARY = "Gumersinda Valdeolivas"
FULL = {"pid": "7", "day": "2024-11-04T10:00:00", "who": f"{CANARY} ", "gender": "Female", "text": NOTE}
FIELDS = ("--text-field", "text", "--patient-field", "pid", "--date-field", "day", "--name-field", "who")
SEX = ("--sex-field", "gender")


@pytest.fixture
def seen(monkeypatch) -> list[dict]:
    """What ``doc._.ehr`` holds when the pipeline is called. The pipeline itself runs as it is."""
    found: list[dict] = []
    original = Language.pipe

    def pipe(self, texts, **kwargs):
        def watch():
            for item in texts:
                if isinstance(item, Doc):
                    found.append(dict(item._.ehr))
                yield item

        return original(self, watch(), **kwargs)

    monkeypatch.setattr(Language, "pipe", pipe)
    return found


def write(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_fields_of_rows_reach_the_pipeline_but_no_message(redact, seen, tmp_path):
    path = write(tmp_path / "n.jsonl", FULL, FULL | {"day": None, "who": "", "gender": "unknown", "pid": 8})
    result = redact(path, *FIELDS, *SEX, "--trace")
    assert result.exit_code == 0, result.stderr
    assert seen == [
        {"patient_id": "7", "note_date": "2024-11-04", "name": CANARY, "sex": "female"},
        {"patient_id": "8"},
    ]
    assert CANARY not in result.output + "".join(file.read_text() for file in (tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"day": "04/11/2024"}, "'day' does not contain a valid date in ISO 8601"),
        ({"day": 20241104}, "'day' does not contain a valid date in ISO 8601"),
        ({"gender": "M"}, "'gender' does not contain a valid sex: female, male, other or unknown"),
        ({"who": [CANARY]}, "'who' does not contain a valid text"),
        ({"pid": " "}, "'pid' does not contain a valid patient id"),
    ],
)
def test_row_with_an_invalid_ehr_context_fails(redact, tmp_path, change, reason):
    path = write(tmp_path / "n.jsonl", FULL, FULL | change)
    result = redact(path, *FIELDS, *SEX)
    assert result.exit_code == 1
    assert f"row 2: {reason}" in result.stderr
    assert CANARY not in result.output
    assert "04/11" not in result.output
    assert len((tmp_path / "out" / "n.jsonl").read_text().splitlines()) == 1


def test_name_field_determines_the_surrogates(cli, tmp_path):
    ProjectKey(bytes(range(32))).to_file(tmp_path / "key")
    row = {"pid": "7", "day": "2024-11-04", "who": "Trinidad Bustarviejo Linde", "gender": "male"}
    path = write(tmp_path / "n.jsonl", row | {"text": "Paciente: Bustarviejo."})
    options = ("--pipeline", "es", "--style", "surrogate", "--key", tmp_path / "key", "--text-field", "text")
    released = []
    for number, more in enumerate([(), FIELDS[4:] + SEX]):
        out = tmp_path / str(number)
        assert cli("redact", path, *options, *FIELDS[2:4], *more, "--output", out).exit_code == 0
        released.append(json.loads((out / "n.jsonl").read_text())["text"])
    assert "Bustarviejo" not in "".join(released)
    assert released[0] != released[1]


@pytest.fixture
def notes(tmp_path) -> Path:
    for name in ("a.txt", "ward/b.txt"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(NOTE)
    return tmp_path / "in"


CSV = f"file,patient_id,note_date,name,sex\na.txt,7,2024-11-04,{CANARY},female\nward/b.txt,8,,,\n"


@pytest.mark.parametrize("kind", ["csv", "semicolon", "jsonl"])
def test_context_table_gives_the_ehr_context_of_files(redact, seen, notes, tmp_path, kind):
    table = tmp_path / ("facts.jsonl" if kind == "jsonl" else "facts.csv")
    if kind == "jsonl":
        write(
            table,
            {"file": "a.txt", "patient_id": 7, "note_date": "2024-11-04", "name": CANARY, "sex": "female"},
            {"file": "ward/b.txt", "patient_id": 8},
        )
    else:
        table.write_text("\ufeff" + (CSV if kind == "csv" else CSV.replace(",", ";")), encoding="utf8")
    result = redact(notes, "--context", table)
    assert result.exit_code == 0, result.stderr
    first = {"patient_id": "7", "note_date": "2024-11-04", "name": CANARY, "sex": "female"}
    assert seen == [first, {"patient_id": "8"}]
    assert CANARY not in result.output


def test_context_table_applies_to_documents(redact, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.html").write_text("<p>Vive en Puerto Esparza.</p>")
    table = tmp_path / "facts.csv"
    table.write_text("file,patient_id\na.html,7\n")
    assert redact(tmp_path / "in", "--context", table).exit_code == 0
    table.write_text("file,patient_id\nb.html,7\n")
    result = redact(tmp_path / "in", "--context", table, "--overwrite")
    assert result.exit_code == 1
    assert "a.html: the table of --context has no row for this file" in result.stderr


def test_a_file_without_a_row_or_an_id_fails_alone(redact, notes, tmp_path):
    (notes / "c.txt").write_text(NOTE)
    (tmp_path / "facts.csv").write_text("file,patient_id\na.txt,7\nward/b.txt,\n")
    result = redact(notes, "--context", tmp_path / "facts.csv")
    assert result.exit_code == 1
    assert "b.txt: 'patient_id' does not contain a valid patient id" in result.stderr
    assert "c.txt: the table of --context has no row for this file" in result.stderr
    assert [path.name for path in (tmp_path / "out").rglob("*.txt")] == ["a.txt"]


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("file,nhc\na.txt,7\n", "unknown column 'nhc'"),
        ("file,name\na.txt,x\n./a.txt,y\n", "row 3: its file has a row already"),
        ("name\nx\n", "row 2: no file"),
        ("file,name\na.txt\n", "row 2: not as many columns as the header"),
        ('file,name\na.txt,"x\n', "broken"),
    ],
)
def test_invalid_context_table_is_refused(redact, notes, tmp_path, table, reason):
    (tmp_path / "facts.csv").write_text(table)
    result = redact(notes, "--context", tmp_path / "facts.csv")
    assert result.exit_code == 1
    assert reason in result.stderr
    assert not (tmp_path / "out").exists()


def test_patient_id_cannot_be_given_twice(redact, notes, tmp_path):
    (tmp_path / "facts.csv").write_text(CSV)
    result = redact(notes, "--context", tmp_path / "facts.csv", "--patient-id-from", "folder")
    assert result.exit_code == 1
    assert "cannot be used together" in result.stderr


@pytest.mark.parametrize("option", ["--keep-field", "--patient-field", "--date-field", "--name-field", "--sex-field"])
def test_field_options_need_text_field(redact, notes, option):
    result = redact(notes, option, "x")
    assert result.exit_code == 1
    assert "--text-field" in result.stderr


def test_similar_patient_ids_are_warned_of_by_their_notes(redact, tmp_path):
    ids = ["A0070431", "a70431", "A0070431 ", "a 70431", "B1", "a70431"]
    path = write(tmp_path / "n.jsonl", *({"pid": pid, "text": "x"} for pid in ids))
    result = redact(path, "--text-field", "text", "--patient-field", "pid")
    assert result.exit_code == 0
    assert "2 patient id(s) differ" in result.stderr
    assert "n.jsonl row 1 and n.jsonl row 2; n.jsonl row 1 and n.jsonl row 4" in result.stderr
    assert "70431" not in result.output


def test_ids_of_files_are_compared_too(redact, tmp_path):
    for name in ("007", "7", "8"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "a.txt").write_text(NOTE)
    (tmp_path / "in" / "08").mkdir()
    (tmp_path / "in" / "08" / "a.html").write_text("<p>x</p>")
    result = redact(tmp_path / "in", "--patient-id-from", "folder")
    assert result.exit_code == 0, result.stderr
    assert "2 patient id(s) differ" in result.stderr


def test_equal_normalized_ids_give_no_warning():
    alike = SimilarIds()
    for number, pid in enumerate(["123", " 123", 123, "１２３"]):
        alike.add({"patient_id": pid}, str(number))
    assert alike.describe() == ""


def test_no_error_quotes_a_value(tmp_path):
    with pytest.raises(DeidError) as error:
        RowFields(note_date="day").read({"day": CANARY})
    assert CANARY not in str(error.value)
    (tmp_path / "facts.csv").write_text(CSV)
    facts = read_file_context(None, tmp_path / "facts.csv")
    assert facts.read(Job(tmp_path, Path("ward/b.txt"), ())) == {"patient_id": "8"}
