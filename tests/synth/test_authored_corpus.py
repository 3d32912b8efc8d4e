"""The authored corpus: every note keeps the protocol. The development notes are checked and never shown."""

import csv
import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from scripts.authored import finish, is_valid
from spacy_deid.lang.text import fold
from spacy_deid.synth.authored import NAMES, age_agrees, find_shared_runs, find_unmarked, read_authored
from spacy_deid.synth.refill import refill, split_name

CORPUS = Path(__file__).parents[2] / "corpus" / "authored"
LANGUAGES = ("en", "es", "fi")
GENRES, INSTITUTIONS = 25, 60


@pytest.fixture(scope="module")
def notes():
    return read_authored(CORPUS)


@pytest.fixture(scope="module", params=LANGUAGES)
def of_language(request, notes):
    return [note for note in notes if note.lang == request.param]


def test_every_note_is_in_the_folder_of_its_language_and_split():
    for path in CORPUS.rglob("*.txt"):
        for note in read_authored(path):
            assert path.parts[-3:-1] == (note.lang, note.split), note.name


def test_every_note_has_its_brief(of_language):
    lang = of_language[0].lang
    with (CORPUS / "briefs" / f"{lang}.csv").open(encoding="utf8", newline="") as file:
        briefs = {(row["brief"], int(row["note"])): row for row in csv.DictReader(file)}
    for note in of_language:
        brief = briefs[note.brief, note.number]
        assert brief["split"] == note.split, note.name
        assert (brief["kind"] == "clean") == (not note.marks), note.name


def test_the_corpus_covers_what_it_says(of_language):
    with (CORPUS / "briefs" / f"{of_language[0].lang}.csv").open(encoding="utf8", newline="") as file:
        briefs = {(row["brief"], int(row["note"])): row for row in csv.DictReader(file)}
    rows = [briefs[note.brief, note.number] for note in of_language]
    assert len({row["genre"] for row in rows}) >= GENRES
    assert len({row["specialty"] for row in rows}) >= GENRES
    assert len({note.fields["institution"] for note in of_language}) >= INSTITUTIONS
    words = [len(note.text.split()) for note in of_language]
    assert sum(n < 80 for n in words) / len(words) > 0.28
    assert sum(n > 600 for n in words) / len(words) > 0.01
    kinds = Counter(row["kind"] for row in rows)
    assert 0.17 < kinds["clean"] / len(rows) < 0.23
    assert 0.27 < kinds["difficult"] / len(rows) < 0.36


def test_no_marked_word_stands_unmarked(notes):
    assert [note.name for note in notes if find_unmarked(note)] == []


def test_ages_agree_with_births(notes):
    assert [note.name for note in notes if not age_agrees(note)] == []


def test_no_two_notes_share_seven_words_or_their_beginning(notes):
    assert find_shared_runs(notes) == []
    for brief in {note.brief for note in notes}:
        begins = Counter(" ".join(note.text.casefold().split()[:3]) for note in notes if note.brief == brief)
        assert max(begins.values()) == 1, brief


def test_check_digits_are_as_the_marks_say(notes):
    numbers = [(note.name, mark, note.text[mark.start : mark.end]) for note in notes for mark in note.marks]
    assert [name for name, mark, number in numbers if is_valid(number, mark.kind) == mark.bad] == []


@pytest.mark.parametrize("pair", [("train", "dev"), ("train", "test"), ("dev", "test")])
def test_splits_share_no_full_name_and_no_institution(of_language, pair):
    def full_names(split):
        persons = [p for note in of_language if note.split == split for p in note.persons.values()]
        return {fold(" ".join((*p.given, *p.surnames))) for p in persons if p.given and p.surnames}

    def institutions(split):
        return {fold(note.fields["institution"]) for note in of_language if note.split == split}

    first, second = pair
    assert not full_names(first) & full_names(second)
    assert not institutions(first) & institutions(second)


def test_filled_notes_have_other_names(of_language):
    changed = total = 0
    for note in of_language:
        first, second = refill(note, Random(1)), refill(note, Random(2))
        assert len(first.entities) == len(second.entities) == len(note.marks)
        for mark, a, b in zip(note.marks, first.entities, second.entities, strict=True):
            person = note.persons.get(mark.key)
            if mark.label in NAMES and person and any(len(word) > 3 for word in split_name(person.surnames)):
                total += 1
                changed += first.text[a.start : a.end] != second.text[b.start : b.end]
    assert changed / total > 0.7  # the others are short forms, or stay because the note plays on the name


def test_nothing_comes_from_other_corpora(of_language):
    """Run with DEID_CORPORA=FOLDER to compare with corpora that cannot be part of the repository."""
    folder = os.environ.get("DEID_CORPORA")
    if not folder:
        pytest.skip("DEID_CORPORA is not set: a folder of .txt files to compare with")
    mine = {
        tuple(words[i : i + 8])
        for note in of_language
        for words in [fold(note.text).split()]
        for i in range(len(words) - 7)
    }
    for path in Path(folder).rglob("*.txt"):
        words = fold(path.read_text(encoding="utf8", errors="ignore")).split()
        assert not any(tuple(words[i : i + 8]) in mine for i in range(len(words) - 7)), path.name


@pytest.mark.parametrize(
    ("number", "kind"), [("943 476 5918", "nhs"), ("12345678A", "dni"), ("X1234567A", "nie"), ("080690-976A", "hetu")]
)
def test_check_digits_are_made_valid_at_their_place(number, kind):
    made = finish(number, kind)
    assert is_valid(made, kind)
    assert made[:-2] == number[:-2]
    assert len(made) == len(number)
    assert finish(made, kind) == made
    assert not is_valid(finish(made, kind, bad=True), kind)
