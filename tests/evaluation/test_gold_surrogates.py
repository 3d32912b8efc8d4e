"""An annotated corpus with surrogates: no original is left, and the annotation goes with the text."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.evaluation import AnnotatedText, Entity, read_folder
from spacy_deid.evaluation.gold_surrogates import make_disjoint, replace_gold
from spacy_deid.labels import LABELS
from spacy_deid.lang.text import fold
from spacy_deid.offsets import apply_edits, map_offset
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.strategies import tag
from spacy_deid.surrogates.style import LASTING, SurrogateStyle
from spacy_deid.synth.corpus import make_corpus

pytest.importorskip("ffx")

PROJECT = ProjectKey(bytes(range(32)))
KEY = PROJECT.patient("17")
SAMPLE = Path(__file__).parents[2] / "corpus" / "sample"


@pytest.fixture(scope="module")
def notes():
    """Synthetic notes of three languages."""
    return {lang: list(make_corpus(lang, 12, 7, split="train")) for lang in ("es", "en", "fi")}


@pytest.fixture(scope="module")
def released(notes):
    """Notes of three languages, each with what is released of it."""
    cases = [(lang, note) for lang in notes for note in notes[lang]]
    cases += [("es", note) for note in read_folder(SAMPLE / "train", scheme="meddocan")[:10]]
    return [(note, replace_gold(note, KEY, lang)) for lang, note in cases]


def test_no_original_is_left_where_it_stood(released):
    pairs = [pair for _, made in released for pair in zip(made.mentions, made.replacements, strict=True)]
    assert pairs
    for mention, replacement in pairs:
        assert replacement.action == "keep" or fold(replacement.text) != fold(mention.text)
        assert replacement.action != "keep" or mention.label in LASTING


def test_entities_keep_their_labels_and_stand_where_the_surrogates_are(released):
    for note, made in released:
        assert made.entities, note.name
        assert [e.label for e in made.document.entities] == [e.label for e in made.entities], note.name
        for entity, replacement in zip(made.document.entities, made.replacements, strict=True):
            assert made.document.text[entity.start : entity.end] == replacement.text, note.name


def test_the_rest_of_the_text_stays_but_for_words_that_go_with_a_surrogate(released):
    for note, made in released:
        assert made.document.text == apply_edits(note.text, made.edits), note.name
        others = [note.text[e.start : e.end].lower() for e in made.edits if not e.label]
        assert set(others) <= {"a", "an", "y", "e", "o", "u"}, note.name


def test_the_map_leads_there_and_back(released):
    for note, made in released:
        changed = {i for edit in made.edits for i in range(edit.start, edit.end)}
        for offset in [i for i in range(0, len(note.text), 7) if i not in changed]:
            there = map_offset(made.edits, offset, len(note.text))
            assert made.document.text[there : there + 1] == note.text[offset : offset + 1], note.name
            assert map_offset(made.edits, there, len(note.text), "released") == offset, note.name


def test_line_breaks_stay(released):
    assert [n.name for n, made in released if made.document.text.count("\n") != n.text.count("\n")] == []


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
def test_the_same_key_gives_the_same_text_and_another_one_another(notes, lang):
    note = notes[lang][0]
    texts = [
        replace_gold(note, key, lang).document.text for key in (KEY, PROJECT.patient("17"), PROJECT.patient("18"))
    ]
    assert texts[0] == texts[1] != texts[2]


def test_a_style_says_what_is_done():
    note = AnnotatedText("a", "Ana vive en Soria.", (Entity(0, 3, "PATIENT"), Entity(12, 17, "CITY")))
    made = replace_gold(note, KEY, "es", SurrogateStyle(tag))
    assert made.document.text == "[PATIENT] vive en [CITY]."
    assert made.document.entities == (Entity(0, 9, "PATIENT"), Entity(18, 24, "CITY"))


def test_of_entities_that_overlap_no_character_is_let_go():
    text = "Hospital de Soria Norte"
    entities = [Entity(0, 17, "HOSPITAL"), Entity(12, 23, "CITY"), Entity(0, 8, "OTHER")]
    assert make_disjoint(entities, text) == [Entity(0, 17, "HOSPITAL"), Entity(18, 23, "CITY")]


spans = st.tuples(st.integers(0, 29), st.integers(1, 9), st.sampled_from(sorted(LABELS)))


@given(st.text(alphabet="ab \n", min_size=30, max_size=30), st.lists(spans, max_size=6))
def test_parted_entities_are_disjoint_and_cover_what_they_did(text, drawn):
    entities = {Entity(start, min(30, start + length), label) for start, length, label in drawn}
    parted = make_disjoint(entities, text)
    assert all(a.end <= b.start for a, b in pairwise(parted))
    covered = {i for e in entities for i in range(e.start, e.end) if not text[i].isspace()}
    assert covered <= {i for e in parted for i in range(e.start, e.end)}


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40), st.lists(spans, max_size=4), st.sampled_from(["es", "en", "fi", "de"]))
def test_any_text_can_be_released(text, drawn, lang):
    cut = {(min(start, len(text)), min(start + length, len(text)), label) for start, length, label in drawn}
    note = AnnotatedText("a", text, tuple(Entity(*span) for span in cut if span[0] < span[1]))
    made = replace_gold(note, KEY, lang)
    assert [e.label for e in made.document.entities] == [e.label for e in made.entities]


@pytest.mark.parametrize(
    ("text", "label"),
    [("St. Catherine Hospital", "HOSPITAL"), ("St. Mary's Academy", "ORGANIZATION"), ("774 86TH ST, APT 0", "STREET")],
)
def test_saints_and_streets_have_surrogates_though_an_eponym_begins_with_st(text, label):
    released = replace_gold(AnnotatedText("a", text, (Entity(0, len(text), label),)), KEY, "en")
    assert "[" not in released.document.text
    assert "st" in fold(released.document.text)
