"""info and demo: what a newcomer tries first."""

import re
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

import pytest

import spacy_deid
from spacy_deid import __version__, shipped_pipelines
from spacy_deid.cli.info import sample_notes, show
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


def test_every_command_has_a_help_text(cli):
    for command in ("redact", "annotate", "evaluate", "info", "demo", "convert", "calibrate"):
        assert cli(command, "--help").exit_code == 0
        assert command in cli("--help").stdout


def test_unknown_pipeline_lists_the_known_ones(cli):
    result = cli("demo", "--pipeline", "nope")
    assert result.exit_code == 1
    assert "pipeline 'nope' not found" in result.stderr
    for name in shipped_pipelines():
        assert name in result.stderr


SAMPLES = Path(str(files("spacy_deid"))) / "lang"


def test_demo_shows_each_note_before_and_after(cli, pipeline_folder: Path):
    samples = list((SAMPLES / "es" / "samples").glob("*.txt"))
    assert samples
    result = cli("demo", "--pipeline", pipeline_folder)
    assert result.exit_code == 0, result.stderr
    for path in samples:
        assert f"{path.stem}: before" in result.stdout
        assert f"{path.stem}: after" in result.stdout
    assert "\x1b[" not in result.stdout


def test_demo_ends_with_a_summary_and_the_next_commands(cli, pipeline_folder: Path):
    lines = cli("demo", "--pipeline", pipeline_folder).stdout.split("Summary")[1].splitlines()
    notes, replaced, kept = (next(line for line in lines if line.startswith(key)) for key in ("Notes", "Repl", "Kept"))
    assert notes.split() == ["Notes:", str(len(list((SAMPLES / "es" / "samples").glob("*.txt"))))]
    assert re.search(r"(\d+) identifiers: [A-Z_]+ \d+", replaced)
    total, *counts = [int(number) for number in re.findall(r"\d+", replaced)]
    assert total == sum(counts) > 0
    assert 0 < int(re.findall(r"\d+", kept)[0]) < 100
    commands = [line.split()[1] for line in lines if line.strip().startswith("spacy-deid")]
    assert len(commands) == 3
    for command in commands:
        assert cli(command, "--help").exit_code == 0


def test_demo_without_options_shows_a_note_of_each_language(cli):
    result = cli("demo")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count(": before") == len(shipped_pipelines()) > 1
    for lang in shipped_pipelines():
        first = min((SAMPLES / lang / "samples").glob("*.txt"))
        assert f"{first.stem}: after" in result.stdout


def test_demo_of_an_unknown_language_names_those_with_notes(cli):
    result = cli("demo", "--lang", "xx")
    assert result.exit_code == 1
    assert "en, es, fi" in result.stderr


KEPT = {
    "en": ["Graves disease", "Guillain-Barré", "Parkinson's disease", "K 4.6 mmol/L", "family medicine", "08:35"],
    "es": ["Guillain-Barré", "Blumberg", "tiroiditis de Hashimoto", "Hb 12,4 g/dl", "medicina de familia"],
    "fi": ["Basedowin tauti", "Guillain-Barrén", "Parkinsonin tauti", "K 4,6 mmol/l", "yleislääketieteen"],
}
REMOVED = {
    "en": ["Vanterpool", "Clement", "Oyelade", "Hollingbery", "Tannery", "Bracegirdle", "Osbert", "postal worker"],
    "es": ["Bustarviejo", "Rubial", "Losada", "242406317", "373708821", "5520-117-0048", "minero", "20481736Y"],
    "fi": ["Sarkkamo", "Tauno", "Räihälä", "Myllypuron", "Tuomenoksa", "Heinonkos", "Esko", "Vatjus", "204417"],
}


@pytest.mark.parametrize("lang", sorted(KEPT))
def test_sample_notes_lose_names_and_keep_medical_terms(lang):
    nlp = spacy_deid.load(lang)
    nlp.get_pipe("deid_patterns").use_package_rules()
    notes = list(sample_notes(lang).values())
    released = "".join(nlp(note)._.deid_text for note in notes)
    original = "".join(notes)
    assert all(text in original for text in KEPT[lang] + REMOVED[lang])
    assert [text for text in KEPT[lang] if text not in released] == []
    assert [text for text in REMOVED[lang] if text in released] == []


def test_before_and_after_differ_only_in_the_edits(capsys: pytest.CaptureFixture[str]):
    edits = [Edit(0, 3, "PATIENT", "[PATIENT]")]
    for released in (False, True):
        show("note", "Ana vive.", edits, released=released)
    assert capsys.readouterr().out.splitlines()[1::3] == ["Ana vive.", "[PATIENT] vive."]
