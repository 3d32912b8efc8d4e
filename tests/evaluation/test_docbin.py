"""Conversion of annotated notes to Docs and back."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import DocBin

from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity, from_doc, make_docs, read_docbin, write_docbin
from spacy_deid.evaluation.docbin import align_entities
from spacy_deid.tokenizer import make_clinical_tokenizer

NLP = spacy.blank("xx")
CLINICAL = make_clinical_tokenizer()(NLP)


def test_entities_are_widened_to_whole_tokens():
    (doc,), dropped = make_docs([AnnotatedText("a", "DNI12345678Z", (Entity(3, 12, "NATIONAL_ID"),))], NLP.make_doc)
    assert [(e.start_char, e.end_char, e.label_) for e in doc.ents] == [(0, 12, "NATIONAL_ID")]
    assert dropped == 0


def test_clinical_tokenizer_keeps_the_exact_offsets():
    note = AnnotatedText("a", "DNI12345678", (Entity(3, 11, "NATIONAL_ID"),))
    (doc,), _ = make_docs([note], CLINICAL)
    assert from_doc(doc) == note


def test_of_overlapping_entities_the_longest_stays_and_the_others_are_counted():
    entities = (Entity(0, 3, "PATIENT"), Entity(0, 9, "PERSON"), Entity(4, 9, "CITY"))
    (doc,), dropped = make_docs([AnnotatedText("a", "Ana Rueda", entities)], CLINICAL)
    assert ([e.label_ for e in doc.ents], dropped) == (["PERSON"], 2)


def test_note_without_entities_is_annotated_as_having_none():
    (doc,), _ = make_docs([AnnotatedText("a", "Sin datos")], CLINICAL)
    assert doc.has_annotation("ENT_IOB")
    assert doc.ents == ()


@pytest.mark.parametrize("text", ["", " ", "\n \n"])
def test_note_without_words_makes_a_doc(text):
    (doc,), dropped = make_docs([AnnotatedText("a", text)], CLINICAL)
    assert (doc.text, doc.ents, dropped) == (text, (), 0)


def test_blank_between_tokens_is_no_entity_of_a_doc():
    (doc,), dropped = make_docs([AnnotatedText("a", "Ana Rueda", (Entity(3, 4, "PATIENT"),))], CLINICAL)
    assert (doc.ents, dropped) == ((), 1)


@given(
    text=st.text(st.sampled_from("aB1 \n\r.ñ😀"), min_size=1, max_size=20), edges=st.tuples(*[st.integers(0, 20)] * 2)
)
def test_every_letter_of_a_lone_entity_is_covered_in_the_doc(text, edges):
    start, end = min(*edges, len(text) - 1), min(max(*edges, 1), len(text))
    entity = Entity(start, max(end, start + 1), "PATIENT")
    (doc,), _ = make_docs([AnnotatedText("a", text, (entity,))], CLINICAL)
    covered = {i for e in doc.ents for i in range(e.start_char, e.end_char)}
    assert {i for i in range(entity.start, entity.end) if not text[i].isspace()} <= covered


def test_file_keeps_names_labels_and_offsets(tmp_path):
    documents = [AnnotatedText("a", "Ana", (Entity(0, 3, "PATIENT"),)), AnnotatedText("b", "")]
    assert write_docbin(documents, tmp_path / "x.spacy", CLINICAL, scheme="i2b2") == 0
    assert read_docbin(tmp_path / "x.spacy", scheme="i2b2") == documents


def test_docs_without_a_name_are_numbered(tmp_path):
    DocBin(docs=[NLP("Ana"), NLP("Eva")]).to_disk(tmp_path / "x.spacy")
    assert [note.name for note in read_docbin(tmp_path / "x.spacy")] == ["x-0", "x-1"]


def test_file_that_is_no_docbin_is_an_error_that_names_it(tmp_path):
    (tmp_path / "x.spacy").write_bytes(b"Wenzeslaus")
    with pytest.raises(InputError, match=r"x\.spacy: not a DocBin") as raised:
        read_docbin(tmp_path / "x.spacy")
    assert "Wenzeslaus" not in str(raised.value)


def test_unknown_label_of_a_doc_is_an_error():
    doc = NLP("Ana")
    doc.set_ents([doc.char_span(0, 3, label="PER")])
    with pytest.raises(InputError, match="the label is not in scheme 'canonical'"):
        from_doc(doc, "a")


CLINICAL_ALIGNMENT = spacy.blank("es").make_doc
TEXT = "Ana Rueda Mas vive en Jaca"


def found(entities):
    spans, conflicts = align_entities(CLINICAL_ALIGNMENT(TEXT), entities)
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
    ((doc,), _) = make_docs([AnnotatedText("a", TEXT, tuple(entities))], CLINICAL_ALIGNMENT)
    covered = {i for ent in doc.ents for i in range(ent.start_char, ent.end_char)}
    assert {i for e in entities for i in range(e.start, e.end) if not TEXT[i].isspace()} <= covered
