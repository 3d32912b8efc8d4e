"""What a model answers is checked before it is believed, and never quoted."""

import json

import pytest

from spacy_deid.llm.answers import NoAnswer, answer_schema, read_answer

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
    ],
    ids=range(15),
)
def test_nonsense_is_no_answer_and_is_not_quoted(answer):
    with pytest.raises(NoAnswer) as caught:
        read_answer(answer, LABELS)
    assert "Zyxwalda" not in str(caught.value)
