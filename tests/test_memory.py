"""The vocab of a pipeline keeps nothing of the notes, and its hash tables do not grow with their number."""

import gc

import pytest
import spacy
from spacy.matcher import PhraseMatcher

from spacy_deid import Deidentifier, workers
from spacy_deid.spans import Evidence
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.workers import find_tables, memory_zone, shrink_tables

STYLES = ["tag", "surrogate"]


def make_note(number: int) -> str:
    words = " ".join(f"xq{number}wzy{i}" for i in range(30))
    return f"Nombre: Zyx{number} Qvist{number}\nVive en Lugo, tel. 600{number:06}, zyx{number}@ejemplo.es\n{words}\n"


@pytest.fixture(scope="module")
def deidentifiers() -> dict[str, Deidentifier]:
    """The Spanish pipeline with each style."""
    key = ProjectKey.make()
    return {style: Deidentifier("es", style=style, key=key if style == "surrogate" else None) for style in STYLES}


def capacities(vocab) -> list[int]:
    return [table.capacity for table in find_tables(vocab)]


def test_the_zones_of_spacy_let_the_tables_grow_and_ours_do_not(monkeypatch):
    monkeypatch.setattr(workers, "SLOTS", 1024)
    monkeypatch.setattr(workers, "_SLOTS_PER_STRING", 2)
    sizes = {}
    for zone in (spacy.Language.memory_zone, memory_zone):
        nlp = spacy.blank("es")
        for number in range(200):
            with zone(nlp):
                assert len(nlp(make_note(number))) > 30
        sizes[zone] = capacities(nlp.vocab)
    assert len(sizes[memory_zone]) == 2  # of strings and of lexemes
    assert min(sizes[spacy.Language.memory_zone]) > 2048  # otherwise spaCy needs no help
    assert max(sizes[memory_zone]) <= 2048


def test_strings_lexemes_and_matchers_survive_a_rebuilt_table(monkeypatch):
    monkeypatch.setattr(workers, "SLOTS", 8)
    monkeypatch.setattr(workers, "_SLOTS_PER_STRING", 0)
    nlp = spacy.blank("es")
    nlp.tokenizer.add_special_case("dcha.", [{"ORTH": "dcha", "NORM": "derecha"}, {"ORTH": "."}])
    matcher = PhraseMatcher(nlp.vocab)
    matcher.add("TOWN", [nlp("Puerto Esparza")])
    lexeme = nlp.vocab["Puerto"]
    strings, lexemes = list(nlp.vocab.strings), {each.orth for each in nlp.vocab}
    for number in range(20):
        with memory_zone(nlp):
            doc = nlp(f"{make_note(number)} Vive en Puerto Esparza, dcha.")
            assert len(matcher(doc)) == 1
            assert doc[-2].norm_ == "derecha"
    shrink_tables(nlp.vocab)
    assert list(nlp.vocab.strings) == strings
    assert {each.orth for each in nlp.vocab} == lexemes
    assert (lexeme.text, lexeme.shape_) == ("Puerto", "Xxxxx")
    assert nlp.vocab.strings[nlp.vocab.strings["Esparza"]] == "Esparza"


def test_a_table_of_many_strings_is_not_rebuilt(monkeypatch):
    monkeypatch.setattr(workers, "SLOTS", 8)
    nlp = spacy.blank("es")
    nlp(make_note(1))
    before = capacities(nlp.vocab)
    shrink_tables(nlp.vocab)
    assert min(before) > 8
    assert capacities(nlp.vocab) == before


@pytest.mark.parametrize("style", STYLES)
def test_no_string_of_a_note_stays_in_the_vocab(deidentifiers, style):
    deid = deidentifiers[style]
    notes = [(make_note(number), {"patient_id": str(number)}) for number in range(80)]
    list(deid.pipe(notes[:40], batch_size=8))  # what components add when they are used for the first time
    strings = set(deid.nlp.vocab.strings)
    assert all(result.ok for result in deid.pipe(notes[40:], batch_size=8))
    assert deid(*notes[0]).ok
    assert deid.release(notes[1][0], {"deid/reviewed": [Evidence(8, 12, "PATIENT", "reviewer")]}).ok
    assert not deid("x" * (deid.nlp.max_length + 1)).ok
    assert len(list(deid.detect(note for note, _ in notes))) == 80
    assert set(deid.nlp.vocab.strings) == strings
    assert [string for string in strings if "wzy" in string or "Qvist" in string] == []


def test_tables_of_a_deidentifier_do_not_grow_with_the_notes(deidentifiers, monkeypatch):
    monkeypatch.setattr(workers, "SLOTS", 4096)
    deid = deidentifiers["tag"]
    gc.collect()
    for first in range(0, 400, 100):
        assert all(result.ok for result in deid.pipe(make_note(first + number) for number in range(100)))
        assert max(capacities(deid.nlp.vocab)) <= 4096
