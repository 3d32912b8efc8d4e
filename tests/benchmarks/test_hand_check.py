"""The hand check: what a person reads stays out of the repository, and the verdicts hold no text."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.hand_check import app, spread

ROOT = Path(__file__).parents[2]

SAMPLE = ROOT / "corpus" / "sample" / "dev"
VERDICTS = ["record", "--lang", "es", "--data", "sample", "--split", "dev", "--notes", "10"]


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.mark.parametrize("name", ["check.txt", "check.html"])
def test_the_sheet_has_each_mention_before_and_after(tmp_path, name):
    out = tmp_path / name
    result = run(SAMPLE, "--lang", "es", "--scheme", "meddocan", "--notes", 2, "--output", out)
    assert result.exit_code == 0
    assert out.read_text(encoding="utf8").count("########") == 2
    assert "== person 1" in out.read_text(encoding="utf8")
    assert " → " in out.read_text(encoding="utf8")


def test_nothing_is_written_into_the_repository():
    out = ROOT / "benchmarks" / "check.txt"
    result = run(SAMPLE, "--lang", "es", "--scheme", "meddocan", "--output", out)
    assert result.exit_code != 0
    assert not out.exists()


def test_verdicts_become_rows_with_their_command(tmp_path):
    metrics = tmp_path / "hand_check.json"
    faults = ["--fault", "an inconsistent person=1", "--fault", "a profession of another sector=3"]
    assert run(*VERDICTS, *faults, "--metrics", metrics).exit_code == 0
    rows = {row["name"]: row for row in json.loads(metrics.read_text(encoding="utf8"))}
    assert rows["hand check: notes with an inconsistent person"]["value"] == 1
    assert rows["hand check: notes with an inconsistent person"]["target"] == 0
    assert rows["hand check: notes with a profession of another sector"]["target"] is None
    assert all(row["command"].startswith("python -m benchmarks.hand_check record --lang es") for row in rows.values())


@pytest.mark.parametrize("fault", ["an inconsistent person", "=3", "x=-1", "x=11"])
def test_a_verdict_that_is_none_is_refused(tmp_path, fault):
    metrics = tmp_path / "hand_check.json"
    assert run(*VERDICTS, "--fault", fault, "--metrics", metrics).exit_code != 0
    assert not metrics.exists()


def test_notes_are_spread_evenly():
    assert spread(list(range(100)), 4) == [0, 25, 50, 75]
    assert spread([1, 2], 5) == [1, 2]
