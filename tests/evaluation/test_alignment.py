"""Annotation on tokens: what does not fit is widened or trimmed, and nothing is uncovered."""

import spacy
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.evaluation import AnnotatedText, Entity, make_docs
from spacy_deid.evaluation.alignment import align_entities

CLINICAL = spacy.blank("es").make_doc
TEXT = "Ana Rueda Mas vive en Jaca"


def found(entities):
    spans, conflicts = align_entities(CLINICAL(TEXT), entities)
    return [(s.start_char, s.end_char, s.label_) for s in spans], [str(conflict) for conflict in conflicts]


def test_what_fits_is_left_as_it_is():
    assert found([Entity(0, 13, "PATIENT"), Entity(22, 26, "CITY")]) == (
        [(0, 13, "PATIENT"), (22, 26, "CITY")],
        [],
    )


def test_what_ends_within_a_token_is_widened_and_named_by_its_offsets():
    spans, said = found([Entity(0, 6, "PATIENT")])
    assert spans == [(0, 9, "PATIENT")]
    assert said == ["0:6 PATIENT: not at the edges of tokens, widened to 0:9"]


def test_of_two_that_overlap_the_shorter_keeps_the_rest_of_its_tokens():
    spans, said = found([Entity(0, 9, "PATIENT"), Entity(4, 21, "RELATIVE")])
    assert spans == [(0, 3, "PATIENT"), (4, 21, "RELATIVE")]
    assert len(said) == 1
    assert said[0].startswith("0:9 PATIENT: overlaps another entity")


@given(st.lists(st.tuples(st.integers(0, 25), st.integers(1, 12), st.sampled_from(["PATIENT", "CITY"])), max_size=6))
def test_every_character_of_an_entity_stays_covered(drawn):
    entities = [Entity(start, min(start + length, len(TEXT)), label) for start, length, label in drawn]
    ((doc,), _) = make_docs([AnnotatedText("a", TEXT, tuple(entities))], CLINICAL)
    covered = {i for ent in doc.ents for i in range(ent.start_char, ent.end_char)}
    assert {i for e in entities for i in range(e.start, e.end) if not TEXT[i].isspace()} <= covered
