"""The committed samples: a dozen notes a language, made by the command with the seed 2026 and checked on reading."""

from pathlib import Path

import pytest

from spacy_deid.evaluation import read_folder

CORPUS = Path(__file__).parent.parent.parent / "corpus"


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
def test_a_language_has_a_dozen_notes_with_entities(lang):
    notes = read_folder(CORPUS / f"sample_{lang}", "brat")
    assert len(notes) == 12
    assert sum(len(note.entities) for note in notes) > 50
