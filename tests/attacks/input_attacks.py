"""Attacks through rows, file names and patient ids that the command line is given."""

import json
from pathlib import Path

from attacks.catalogue import Outcome, attack
from typer.testing import CliRunner, Result

from spacy_deid.cli import app
from spacy_deid.surrogates.keys import ProjectKey

NAME = "Bustarviejo"
GOOD = {"text": f"Paciente: Aurelio {NAME} Linde. NHC: 4471906.", "pid": "7"}


def redact(path: Path, *options: object) -> Result:
    """Run the command with the Spanish pipeline, into the folder "out" beside the notes."""
    args = ["redact", path, "--pipeline", "es", "--output", path.parent / "out", *options]
    return CliRunner().invoke(app, [str(arg) for arg in args])


def written(folder: Path) -> str:
    """All that was written, as text."""
    return "".join(path.read_text(encoding="utf8") for path in (folder / "out").rglob("*") if path.is_file())


@attack("JSONL: broken rows that quote a name in their keys, values and bytes")
def hide_a_name_in_broken_rows(folder: Path) -> Outcome:
    """No row that fails is quoted in the output, the list of failed rows, the trace or a message."""
    bad = [
        f'{{"text": "{NAME}"'.encode(),
        f'["{NAME}"]'.encode(),
        json.dumps({"text": None, NAME: NAME}).encode(),
        json.dumps({"text": f"{NAME} \ud800"}).encode(),
        f'{{"text": "{NAME} \xff"}}'.encode("latin-1"),
        json.dumps({"text": "x", "pid": [NAME]}).encode(),
        json.dumps({"text": "x", "pid": "8", "day": NAME}).encode(),
        f'{{"text": "x", "pid": "8", "kept": Infinity, "name": "{NAME}"}}'.encode(),
    ]
    (folder / "notes.jsonl").write_bytes(b"\n".join([json.dumps(GOOD).encode(), *bad]))
    options = ("--text-field", "text", "--patient-field", "pid", "--date-field", "day", "--keep-field", "kept")
    rejects = folder / "rejects.jsonl"
    result = redact(folder / "notes.jsonl", *options, "--trace", "--rejects", rejects)
    listed = rejects.read_text().splitlines()
    assert len(listed) == len(bad)
    seen = [written(folder), rejects.read_text(), result.output]
    return Outcome(len(bad), sum(NAME in text for text in seen) + (result.exit_code == 0), "withheld")


@attack("JSONL and vault: rows after a failed one are turned back to another patient's note")
def shift_the_rows_of_a_vault(folder: Path) -> Outcome:
    """Notes that read alike once released are told apart by their row, which failed rows must not shift."""
    (folder / "in").mkdir()
    rows = [{"text": None}, *({"text": f"Correo: {name}@ejemplo.es"} for name in ("ana", "eva", "luz"))]
    (folder / "in" / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "keys").mkdir()
    ProjectKey.make().to_file(folder / "keys" / "vault")
    secret = ("--vault", folder / "v", "--vault-key", folder / "keys" / "vault", "--text-field", "text")
    redact(folder / "in", *secret, "--output", folder / "out")
    back = [
        "vault",
        "reverse",
        folder / "v",
        folder / "out",
        "--vault-key",
        folder / "keys" / "vault",
        "--text-field",
        "text",
    ]
    CliRunner().invoke(app, [str(arg) for arg in [*back, "--output", folder / "back"]])
    path = folder / "back" / "notes.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    wrong = [row for row, right in zip(found, rows[1:], strict=False) if row != right]
    return Outcome(3, len(wrong) + 3 - len(found), "removed")


@attack("File name: escape sequences that rewrite the terminal")
def rewrite_the_terminal(folder: Path) -> Outcome:
    """A name may not clear the screen, set the title or add a line that reads like a message."""
    (folder / "in").mkdir()
    name = "a\x1b[2J\x1b]0;x\x07\x9b\u202e\nwritten: all.txt"
    (folder / "in" / name).write_bytes(b"\xff")
    result = redact(folder / "in" / name)
    left = sum(char in result.output for char in "\x1b\x07\x9b\u202e") + ("\nwritten" in result.output)
    return Outcome(5, left, "refused")


@attack("Patient id: one patient under ids that look alike gets two identities")
def split_a_patient(folder: Path) -> Outcome:
    """White space, full-width digits and the type of a number make no other patient; leading zeros are warned of."""
    ids = ["00471", " 00471", "\ufeff00471", "０0471", "471"]
    rows = "".join(json.dumps(GOOD | {"pid": pid}) + "\n" for pid in ids)
    (folder / "notes.jsonl").write_text(rows)
    ProjectKey.make().to_file(folder / "keys" / "project")
    secret = ("--style", "surrogate", "--key", folder / "keys" / "project")
    result = redact(folder / "notes.jsonl", *secret, "--text-field", "text", "--patient-field", "pid")
    texts = [json.loads(line)["text"] for line in written(folder).splitlines()]
    split = len(set(texts[:4])) - 1
    told = "row 1 and notes.jsonl row 5" in result.stderr and "471" not in result.stderr
    return Outcome(len(ids), split + (not told), "warned")
