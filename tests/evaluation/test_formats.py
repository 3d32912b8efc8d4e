"""Formats: folders, JSONL and .spacy files."""

import json

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import DocBin

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.evaluation import (
    FORMATS,
    AnnotatedText,
    Entity,
    detect_format,
    from_doc,
    make_docs,
    read_docbin,
    read_folder,
    write_docbin,
    write_folder,
)
from spacy_deid.evaluation.formats import align_entities, annotation_files, read_jsonl, write_jsonl
from spacy_deid.tokenizer import make_clinical_tokenizer

NOTES = [
    AnnotatedText("a", "Ana, 57", (Entity(0, 3, "PATIENT"), Entity(5, 7, "AGE"))),
    AnnotatedText("b", "Sin datos.\r\n"),
]


@pytest.mark.parametrize("format", FORMATS)
def test_folder_is_read_as_it_was_written_and_its_format_told(tmp_path, format):
    folder = tmp_path / "new" / "folder"
    assert write_folder(NOTES, folder, format, scheme="meddocan") == 0
    assert detect_format(folder) == format
    assert read_folder(folder, scheme="meddocan") == NOTES


@pytest.mark.parametrize("format", FORMATS)
def test_single_file_is_read(tmp_path, format):
    write_folder(NOTES[:1], tmp_path, format)
    path = annotation_files(tmp_path, format)[0]
    assert read_folder(path) == NOTES[:1]


def test_hidden_and_other_files_are_not_read(tmp_path):
    write_folder(NOTES, tmp_path, "brat")
    for name in (".stats_cache.xml", "annotation.conf", "README"):
        (tmp_path / name).write_text("x")
    assert read_folder(tmp_path) == NOTES


def test_note_without_annotations_is_an_error(tmp_path):
    write_folder(NOTES, tmp_path, "brat")
    (tmp_path / "b.ann").unlink()
    with pytest.raises(InputError, match=r"b\.txt has no matching \.ann"):
        read_folder(tmp_path)


def test_annotations_without_a_note_are_an_error(tmp_path):
    write_folder(NOTES, tmp_path, "brat")
    (tmp_path / "a.txt").unlink()
    with pytest.raises(InputError, match=r"a\.ann has no matching \.txt"):
        read_folder(tmp_path)


def test_folder_of_two_formats_asks_which(tmp_path):
    write_folder(NOTES, tmp_path, "brat")
    write_folder(NOTES, tmp_path, "i2b2", scheme="i2b2")
    with pytest.raises(InputError, match="brat and i2b2"):
        read_folder(tmp_path)
    assert [note.name for note in read_folder(tmp_path, "i2b2", scheme="i2b2")] == ["a", "b"]


def test_same_name_in_two_files_is_an_error(tmp_path):
    for folder in ("one", "two"):
        write_folder(NOTES, tmp_path / folder, "jsonl")
        (tmp_path / folder / "documents.jsonl").rename(tmp_path / f"{folder}.jsonl")
    with pytest.raises(InputError, match="duplicate document name 'a'"):
        read_folder(tmp_path)


def test_empty_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no file of a known format"):
        read_folder(tmp_path)


def test_folder_without_a_file_of_the_named_format_is_an_error(tmp_path):
    write_folder(NOTES, tmp_path, "brat")
    with pytest.raises(InputError, match="no file of format i2b2"):
        read_folder(tmp_path, "i2b2")


def test_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such folder or file"):
        read_folder(tmp_path / "none")


def test_unknown_format_is_an_error_before_anything_is_written(tmp_path):
    with pytest.raises(ConfigError, match="unknown format 'conll'"):
        write_folder(NOTES, tmp_path / "new", "conll")
    assert not (tmp_path / "new").exists()


def test_unknown_scheme_is_an_error_before_anything_is_written(tmp_path):
    with pytest.raises(ConfigError, match="unknown label scheme 'klingon'"):
        write_folder(NOTES, tmp_path / "new", "brat", scheme="klingon")
    assert not (tmp_path / "new").exists()


def test_labels_of_another_scheme_are_an_error(tmp_path):
    write_folder(NOTES, tmp_path, "brat", scheme="meddocan")
    with pytest.raises(InputError, match=r"a\.ann, line 1: the label is not in scheme 'i2b2'"):
        read_folder(tmp_path, scheme="i2b2")


CANARY = "Wenzeslaus"
NOTE = AnnotatedText("a", "Ana Rueda\u2028\r\n", (Entity(0, 9, "PATIENT"),))


@pytest.fixture
def jsonl(tmp_path):
    """Write a file of lines."""

    def write(*lines: str):
        (tmp_path / "notes.jsonl").write_bytes("\n".join(lines).encode())
        return tmp_path / "notes.jsonl"

    return write


def test_notes_are_read_as_they_were_written(tmp_path):
    notes = [NOTE, AnnotatedText("b", "")]
    assert read_jsonl(write_jsonl(notes, tmp_path / "x.jsonl", scheme="meddocan"), scheme="meddocan") == notes


def test_text_can_be_left_out_and_given_when_read(tmp_path):
    path = write_jsonl([NOTE], tmp_path / "x.jsonl", include_text=False)
    assert json.loads(path.read_text()) == {"id": "a", "entities": [{"start": 0, "end": 9, "label": "PATIENT"}]}
    assert read_jsonl(path, texts={"a": NOTE.text}) == [NOTE]


def test_keys_that_are_not_known_are_left_alone(jsonl):
    line = '{"id":"a","text":"Ana","type":"x","entities":[{"start":0,"end":3,"label":"PATIENT","score":0.5}]}'
    assert read_jsonl(jsonl(line, "")) == [AnnotatedText("a", "Ana", (Entity(0, 3, "PATIENT"),))]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f'{{"id": "{CANARY}"', "not JSON"),
        (f'["{CANARY}"]', "'id' must be a string"),
        (f'{{"id": 7, "text": "{CANARY}"}}', "'id' must be a string"),
        ('{"id": "b", "entities": []}', "'text' must be a string"),
        (f'{{"id": "b", "text": "{CANARY}"}}', "'entities' must be a list"),
        (f'{{"id": "b", "text": "x", "entities": ["{CANARY}"]}}', "'entities' must be a list of objects"),
        ('{"id": "b", "text": "x", "entities": [{"start": 0, "end": 1}]}', "'label' must be a string"),
        (
            f'{{"id":"b","text":"x","entities":[{{"start":0,"end":1,"label":"{CANARY}"}}]}}',
            "the label is not in scheme",
        ),
        ('{"id":"b","text":"x","entities":[{"start":true,"end":1,"label":"AGE"}]}', "an offset is not a whole"),
        ('{"id":"b","text":"x","entities":[{"start":0.0,"end":1,"label":"AGE"}]}', "an offset is not a whole"),
        ('{"id":"b","text":"x","entities":[{"start":-1,"end":1,"label":"AGE"}]}', "-1:1 is outside"),
        ('{"id":"b","text":"x","entities":[{"start":0,"end":2,"label":"AGE"}]}', "0:2 is outside"),
    ],
)
def test_broken_line_is_an_error_that_names_file_and_line_and_no_content(jsonl, line, message):
    with pytest.raises(InputError, match=rf"notes\.jsonl, line 2: {message}") as raised:
        read_jsonl(jsonl('{"id": "a", "text": "", "entities": []}', line))
    assert CANARY not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_id_that_stands_twice_is_an_error(jsonl):
    with pytest.raises(InputError, match="duplicate document name 'a'"):
        read_jsonl(jsonl(*['{"id": "a", "text": "", "entities": []}'] * 2))


@given(text=st.text(st.characters(codec="utf-8")))
def test_any_text_is_read_as_it_was_written(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("jsonl") / "x.jsonl"
    assert read_jsonl(write_jsonl([AnnotatedText("a", text)], path)) == [AnnotatedText("a", text)]


# ---------------------------------------------------------------- Conversion of annotated notes to Docs and back

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
