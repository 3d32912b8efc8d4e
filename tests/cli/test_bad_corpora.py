"""Corpora that cannot be taken as they are: refused by file and line, or widened and named by offsets."""

import json
from pathlib import Path

import pytest
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from spacy_deid.evaluation import AnnotatedText, Entity, write_folder

TEXT = "Zutoiaga Rueda vive en Jaca"


def write(folder: Path, *entities: dict) -> Path:
    folder.mkdir()
    record = {"id": "note-1", "text": TEXT, "entities": list(entities)}
    (folder / "notes.jsonl").write_text(json.dumps(record) + "\n")
    return folder


@pytest.mark.parametrize("label", ["NOMBRE", "", "patient"])
def test_a_label_that_the_scheme_does_not_know_is_refused_by_file_and_line(cli, tmp_path: Path, label):
    gold = write(tmp_path / "gold", {"start": 0, "end": 8, "label": label})
    result = cli("convert", gold, tmp_path / "out.spacy", "--scheme", "canonical")
    assert result.exit_code == 1
    assert "notes.jsonl, line 1: the label is not in scheme 'canonical'" in result.stderr
    assert "Zutoiaga" not in result.output
    assert not (tmp_path / "out.spacy").exists()


@pytest.mark.parametrize(("start", "end"), [(5, 5), (8, 3), (20, 99)])
def test_an_entity_that_is_empty_or_outside_the_text_is_refused_by_its_offsets(cli, tmp_path: Path, start, end):
    gold = write(tmp_path / "gold", {"start": start, "end": end, "label": "PATIENT"})
    result = cli("convert", gold, tmp_path / "out.spacy", "--scheme", "canonical")
    assert result.exit_code == 1
    assert f"notes.jsonl, line 1: {start}:{end} is outside the text" in result.stderr


def test_what_does_not_fit_is_named_by_document_and_offsets_and_stays_covered(cli, tmp_path: Path):
    entities = (Entity(0, 5, "PATIENT"), Entity(9, 20, "PERSON"), Entity(15, 27, "CITY"))
    write_folder([AnnotatedText("note-1", TEXT, entities)], tmp_path / "gold", "jsonl")
    result = cli("convert", tmp_path / "gold", tmp_path / "out.spacy", "--scheme", "canonical")
    assert result.exit_code == 0, result.stderr
    assert "note-1: 0:5 PATIENT: not at the edges of tokens, widened to 0:8" in result.stderr
    assert "note-1: 9:20 PERSON: overlaps another entity" in result.stderr
    assert "2 misaligned, 1 overlapping" in result.stdout
    assert "Zutoiaga" not in result.output
    (doc,) = DocBin().from_disk(tmp_path / "out.spacy").get_docs(Vocab())
    assert [(e.start_char, e.end_char, e.label_) for e in doc.ents] == [
        (0, 8, "PATIENT"),
        (9, 14, "PERSON"),
        (15, 27, "CITY"),
    ]
