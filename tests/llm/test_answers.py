"""What a model answers is checked before it is believed, and never quoted."""

import json

import pytest

from spacy_deid.llm.prompts import NoAnswer, answer_schema, read_answer

LABELS = ["PATIENT", "DATE"]


def test_the_schema_asks_for_a_list_of_strings_for_every_label():
    schema = answer_schema(LABELS)
    assert list(schema["properties"]) == schema["required"] == LABELS
    assert schema["properties"]["DATE"] == {"type": "array", "items": {"type": "string"}}
    assert schema["additionalProperties"] is False
    json.dumps(schema)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('{"PATIENT": ["Ana", " Ana "], "DATE": []}', {"PATIENT": ["Ana", "Ana"], "DATE": []}),
        ('{"PATIENT": "Ana"}', {"PATIENT": ["Ana"], "DATE": []}),
        ('{"PATIENT": null, "DATE": [""]}', {"PATIENT": [], "DATE": []}),
        ('{"PATIENT": ["Ana\nRuiz\x01"]}', {"PATIENT": ["Ana\nRuiz\x01"], "DATE": []}),
        ('```json\n{"PATIENT": ["Ana"]}\n```', {"PATIENT": ["Ana"], "DATE": []}),
        ('{"PATIENT": ["Ana"], "SHOE": [44]}', {"PATIENT": ["Ana"], "DATE": []}),
        ('{"PATIENT": ["Ana"], "PATIENT": [], "DATE": ["3"], "DATE": null}', {"PATIENT": ["Ana"], "DATE": ["3"]}),
        ('{"patient": ["Ana"], " Date": "3", "zip": ["47003"]}', {"PATIENT": ["Ana"], "DATE": ["3"]}),
        ('{"PATIENT": ["Ana"], "explanation": "no dates", "names": []}', {"PATIENT": ["Ana"], "DATE": []}),
    ],
)
def test_answers_are_read_as_they_are_meant(answer, found):
    assert read_answer(answer, LABELS) == found


@pytest.mark.parametrize(
    "answer",
    [
        *("", "Lo siento, Zyxwalda.", '{"PATIENT": ["Zyxwalda"', '["Zyxwalda"]', "3", "null", "true", '"Zyxwalda"'),
        *('{"PATIENT": [3]}', '{"PATIENT": {"name": "Zyxwalda"}}', '{"PATIENT": [["Zyxwalda"]]}', "{}", "[" * 100_000),
        *('{"error": "Zyxwalda"}', json.dumps({"PATIENT": ["Zyxwalda" * 1000]})),
        *('{"PATIENT": [], "NAMES": ["Zyxwalda"]}', json.dumps({"PATIENT": ["Zyxwalda"] * 5001})),
    ],
    ids=range(17),
)
def test_nonsense_is_no_answer_and_is_not_quoted(answer):
    with pytest.raises(NoAnswer) as caught:
        read_answer(answer, LABELS)
    assert "Zyxwalda" not in str(caught.value)


def test_a_label_of_two_words_is_read_however_they_are_joined():
    answer = '{"national-id": ["1"], "National ID": ["2"], "NATIONAL_ID": ["3"]}'
    assert read_answer(answer, ["NATIONAL_ID"]) == {"NATIONAL_ID": ["1", "2", "3"]}
