"""The command that checks the promises of the release."""

from pathlib import Path

import pytest

from benchmarks import release

ROOT = Path(__file__).parent.parent.parent


def test_every_promise_names_tests_that_exist():
    assert len(release.PROMISES) >= 10
    assert [path for one in release.PROMISES.values() for path in one["tests"] if not (ROOT / path).exists()] == []
    assert len({one["promise"] for one in release.PROMISES.values()}) == len(release.PROMISES)


def test_a_report_that_was_not_written_counts_as_a_failure(tmp_path):
    outcome = release.read_report(tmp_path / "gone.xml")
    assert [row.met for row in release.outcome_rows("site", outcome, "tests", "command")] == [False, False, None]


def test_a_promise_whose_tests_were_all_skipped_is_not_kept(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite tests="3" failures="0" errors="0" skipped="3"/></testsuites>')
    rows = release.outcome_rows("site", release.read_report(report), "tests", "command")
    assert [(row.value, row.met) for row in rows] == [(0, True), (0, False), (3, None)]


def test_failures_and_errors_are_counted(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite tests="9" failures="1" errors="2" skipped="1"/></testsuites>')
    assert release.read_report(report) == {"passed": 5, "failed": 3, "skipped": 1}


@pytest.mark.skipif(not (ROOT / "spacy_deid").exists(), reason="needs the source of the package")
def test_a_file_that_names_another_version_is_counted(monkeypatch):
    before = next(release.count_versions("command")).value
    monkeypatch.setitem(release.VERSIONS, "README.md", r"^version (\S+)")
    assert next(release.count_versions("command")).value == before + 1


def test_figures_of_other_commands_keep_their_command_and_date():
    rows = [row for row in release.read_rows_of(ROOT / "metrics" / "attacks.json") if row.target is not None]
    (total,) = release.summarise("attacks", rows)
    assert total.command == rows[-1].command == "python -m benchmarks.run_attacks"
    assert total.value == sum(row.value for row in rows)


def test_missing_figures_do_not_count_as_met():
    assert release.read_rows_of(ROOT / "metrics" / "no_such_file.json") == []
    assert release.summarise("attacks", []) == []
