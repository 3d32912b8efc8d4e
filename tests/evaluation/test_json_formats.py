import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.json_formats import read_jsonl, write_jsonl

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
