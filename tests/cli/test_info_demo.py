"""info and demo: what a newcomer tries first."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from spacy_deid import __version__, shipped_pipelines
from spacy_deid.cli.demo import show
from spacy_deid.offsets import Edit


def test_info_lists_versions_components_policies_and_licences(cli):
    result = cli("info")
    assert result.exit_code == 0
    factories = [point.name for point in entry_points(group="spacy_factories") if point.name.startswith("deid_")]
    assert factories
    for word in (__version__, *factories, "safe_harbor", "MIT", *shipped_pipelines()):
        assert word in result.stdout


def test_version_is_printed(cli):
    assert cli("--version").stdout.strip() == __version__


def test_every_command_explains_itself(cli):
    for command in ("redact", "annotate", "evaluate", "info", "demo", "convert", "calibrate"):
        assert cli(command, "--help").exit_code == 0
        assert command in cli("--help").stdout


def test_unknown_pipeline_lists_what_there_is(cli):
    result = cli("demo", "--pipeline", "nope")
    assert result.exit_code == 1
    assert "unknown pipeline 'nope'" in result.stderr
    for name in shipped_pipelines():
        assert name in result.stderr


def test_demo_shows_both_sides(cli, pipeline_folder: Path):
    samples = list((Path(__file__).parents[2] / "spacy_deid" / "resources" / "samples" / "es").glob("*.txt"))
    if not samples:
        pytest.skip("no sample notes for Spanish in this tree")
    result = cli("demo", "--pipeline", pipeline_folder)
    assert result.exit_code == 0, result.stderr
    for path in samples:
        assert f"{path.stem}: before" in result.stdout
        assert f"{path.stem}: after" in result.stdout
    assert "\x1b[" not in result.stdout


def test_sides_differ_in_the_edits_alone(capsys: pytest.CaptureFixture[str]):
    edits = [Edit(0, 3, "PATIENT", "[PATIENT]")]
    for released in (False, True):
        show("note", "Ana vive.", edits, released=released)
    assert capsys.readouterr().out.splitlines()[1::3] == ["Ana vive.", "[PATIENT] vive."]
