"""The English templates and lists: notes of every type, sentences that identify nobody, and places that agree."""

import re
from random import Random

from scripts.english_corpora import retell
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.synth import make_corpus
from spacy_deid.synth.corpus import render_template
from spacy_deid.synth.language import load_language
from spacy_deid.synth.markup import slots

ENGLISH = load_language("en")
NOTE_TYPES = {
    "admission",
    "clinic",
    "discharge",
    "emergency",
    "intake",
    "laboratory",
    "nursing",
    "one_line",
    "operative",
    "pathology",
    "prescription",
    "progress",
    "query",
    "question",
    "radiology",
    "referral",
    "social_work",
    "telephone",
    "transcription",
    "visit",
}


def values(note: AnnotatedText, label: str) -> list[str]:
    return [note.text[e.start : e.end] for e in note.entities if e.label == label]


def test_note_types_have_templates_to_train_and_to_test() -> None:
    types = {
        split: {t.name.partition(".")[0] for t in ENGLISH.notes if t.split == split} for split in ("train", "test")
    }
    assert types["test"] == NOTE_TYPES < types["train"]


def test_templates_and_sentences_are_many() -> None:
    questions = {"query", "question", "one_line"}
    assert sum(t.name.partition(".")[0] not in questions for t in ENGLISH.notes) >= 70
    identifying = [t for t in ENGLISH.sentences if list(slots(t.nodes))]
    assert len(identifying) >= 250
    assert len(ENGLISH.sentences) - len(identifying) >= 120


def test_sentences_without_a_slot_identify_nobody() -> None:
    plain = [t for t in ENGLISH.sentences if not list(slots(t.nodes))]
    assert plain
    for template in plain:
        assert not render_template(template, ENGLISH, Random(0), "train", "x").entities


def test_questions_hold_no_more_than_ages_and_years() -> None:
    questions = [t for t in ENGLISH.notes if t.name.startswith("question.")]
    assert questions
    labels = {e.label for t in questions for e in render_template(t, ENGLISH, Random(1), "train", "x").entities}
    assert labels == {"AGE", "DATE"}


def test_ages_are_marked_with_their_unit() -> None:
    notes = list(make_corpus("en", 60, 3, noise=0))
    ages = [age for note in notes for age in values(note, "AGE")]
    assert {"35y", "44-year-old"} & set(ages)
    assert any(age.isdecimal() for age in ages)
    after = [note.text[e.end :] for note in notes for e in note.entities if e.label == "AGE"]
    assert not [text[:10] for text in after if re.match(r"[ -]?(?:years?|yrs?|y/?o|yo)\b", text)]


def test_a_town_agrees_with_its_state_and_postal_code() -> None:
    rows = ENGLISH.lists["places"]
    assert len(rows) > 2000
    assert all(len(row["state"]) == 2 and len(row["zip"]) == 5 and row["region"] for row in rows)
    assert {row["zip"][:3] for row in rows if (row["city"], row["state"]) == ("Boston", "MA")} == {"021"}


def test_a_note_told_again_is_of_other_people_and_says_the_same() -> None:
    text = "Anna Poole is a 50-year-old female. She saw Dr. Okafor at Larkfield Clinic. Ms. Poole is well."
    marks = [
        ("Anna Poole", "PATIENT"),
        ("50", "AGE"),
        ("Okafor", "CLINICIAN"),
        ("Larkfield Clinic", "HOSPITAL"),
    ]
    entities = [Entity(text.index(value), text.index(value) + len(value), label) for value, label in marks]
    entities.append(Entity(text.rindex("Poole"), text.rindex("Poole") + 5, "PATIENT"))
    told = retell(AnnotatedText("visit", text, tuple(entities)), ENGLISH, Random(5), "again")
    assert [e.label for e in told.entities] == [e.label for e in sorted(entities)]
    full, surname = values(told, "PATIENT")
    assert full.endswith(f" {surname}")
    assert values(told, "AGE") == ["50"]
    assert told.text.endswith(f"Ms. {surname} is well.")
    assert "Okafor" not in told.text


def test_a_note_with_marks_of_the_template_language_comes_back_as_it_is() -> None:
    note = AnnotatedText("odd", "Anna {sic} was well.", (Entity(0, 4, "PATIENT"),))
    assert retell(note, ENGLISH, Random(0), "again").text == note.text
