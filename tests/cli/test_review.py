"""``spacy-deid review``: plans and status."""

import json

import pytest
from typer.testing import CliRunner

from spacy_deid.cli import app

CANARY = "Zumalabe"
RUNNER = CliRunner()


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A plan of a few notes."""
    folder = tmp_path_factory.mktemp("review")
    rows = [
        {"note_id": f"n{i}", "text": f"Seen by Dr. {CANARY} for a cough, day {i}. Mother waits."} for i in range(6)
    ]
    (folder / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["review", "plan", str(folder / "notes.jsonl"), "--pipeline", "en", "--output", str(folder / "plan")]
    result = RUNNER.invoke(app, [*arguments, "--tool", "label-studio", "--tool", "inception"])
    assert result.exit_code == 0, result.output
    assert CANARY not in result.output
    return folder / "plan"


def reviewed(planned, tmp_path, extra=()):
    """Write annotations of reviewers: what was found, and further marks (index of the note, start, end)."""
    rows = json.loads((planned / "plan.json").read_text())["notes"]
    lines = []
    for number, row in enumerate(rows):
        marks = [[*span, "CLINICIAN"] for span in row["found"]]
        marks += [[start, end, "OTHER"] for note, start, end in extra if note == number]
        text = (planned / "notes" / f"{row['id']}.txt").read_text()
        entities = [{"start": s, "end": e, "label": label} for s, e, label in sorted(marks)]
        lines.append(json.dumps({"id": row["id"], "text": text, "entities": entities}) + "\n")
    path = tmp_path / "reviewed.jsonl"
    path.write_text("".join(lines))
    return path


def status(planned, gold, *options):
    result = RUNNER.invoke(app, ["review", "status", str(planned), str(gold), *options])
    assert result.exit_code == 0, result.output
    assert CANARY not in result.output
    return result.output


def test_a_plan_has_the_notes_in_all_forms(planned):
    plan = json.loads((planned / "plan.json").read_text())
    assert len(plan["notes"]) == sum(plan["sizes"]) == 6
    assert CANARY not in json.dumps(plan)
    assert len(list((planned / "notes").glob("*.txt"))) == 6
    assert (planned / "label-studio" / "tasks.json").is_file()
    assert len(list((planned / "inception" / "documents").iterdir())) == 6
    assert planned.stat().st_mode & 0o077 == 0


def test_a_complete_review_can_stop(planned, tmp_path):
    out = tmp_path / "status.json"
    text = status(planned, reviewed(planned, tmp_path), "--output", str(out))
    assert "0 of 6 reviewed notes leaked" in text
    assert "Stop" in text
    assert json.loads(out.read_text())["upper"] == 0


def test_what_a_reviewer_added_is_a_leak(planned, tmp_path):
    assert "1 of 6 reviewed notes leaked" in status(planned, reviewed(planned, tmp_path, [(2, 0, 4)]))


def test_a_plan_is_not_overwritten(planned, tmp_path):
    before = (planned / "plan.json").read_bytes()
    arguments = ["review", "plan", str(planned.parent / "notes.jsonl"), "--pipeline", "en", "-o", str(planned)]
    result = RUNNER.invoke(app, arguments)
    assert result.exit_code != 0
    assert "--overwrite" not in result.output  # the command has no such option
    assert (planned / "plan.json").read_bytes() == before


def test_a_note_that_fails_is_left_out_and_named_by_its_row(tmp_path):
    (tmp_path / "notes.jsonl").write_text(
        json.dumps({"text": f"Dr. {CANARY}"}) + "\n" + json.dumps({"text": [CANARY]})
    )
    output = tmp_path / "plan"
    arguments = ["review", "plan", str(tmp_path / "notes.jsonl"), "--pipeline", "en", "-o", str(output)]
    result = RUNNER.invoke(app, [*arguments, "--id-field", ""])
    assert result.exit_code == 1
    assert "row 2: the text is not a string" in result.output
    assert CANARY not in result.output
    assert len(json.loads((output / "plan.json").read_text())["notes"]) == 1


def test_a_folder_without_a_plan_is_refused(planned, tmp_path):
    (tmp_path / "plan.json").write_text("[]")
    result = RUNNER.invoke(app, ["review", "status", str(tmp_path), str(tmp_path / "none.jsonl")])
    assert result.exit_code != 0
    assert "not a plan of a review" in result.output
