"""The committed samples: a dozen notes a language, which

    spacy-deid synth LANG --output corpus/sample_LANG --n 12 --seed 2026 --overwrite

makes. After a change of templates, lists or names, run that command again and read the samples.
"""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from spacy_deid.cli import app
from spacy_deid.evaluation import read_folder

CORPUS = Path(__file__).parent.parent.parent / "corpus"


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
def test_a_language_has_a_dozen_notes_with_entities(lang):
    notes = read_folder(CORPUS / f"sample_{lang}", "brat")
    assert len(notes) == 12
    assert sum(len(note.entities) for note in notes) > 50


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
def test_the_command_makes_the_same_files(tmp_path, lang):
    result = CliRunner().invoke(
        app, ["synth", lang, "--output", str(tmp_path / "made"), "--n", "12", "--seed", "2026"]
    )
    assert result.exit_code == 0, result.output
    committed, made = (
        {file.name: file.read_text(encoding="utf8") for file in folder.iterdir()}
        for folder in (CORPUS / f"sample_{lang}", tmp_path / "made")
    )
    assert len(committed) == 25
    # names first, then one by one: the difference of two notes is shown, not that of all
    assert committed.keys() == made.keys()
    for name in committed:
        assert committed[name] == made[name], name
