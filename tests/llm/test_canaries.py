"""Canaries are planted beside the text, a model that did its task reports them, and none is left in its answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.llm.extraction import CANARY_LABELS, plant
from spacy_deid.llm.prompts import NoAnswer, load_prompt

SENTENCES = {"PATIENT": "Paciente: {}.", "PHONE": "Tel.: {}"}
NOTE = "Acude por tos.\nRefiere fiebre.\nDr. Ana Ruiz\nTel. 123 456 789"


@given(st.text(max_size=300), st.integers(1, 4), st.text(max_size=5))
def test_the_text_is_whole_but_for_the_lines_of_the_canaries(text, count, seed):
    planted = plant(text, CANARY_LABELS, count, dict.fromkeys(CANARY_LABELS, "({})"), seed)
    assert len(planted.canaries) == count
    rest = planted.text
    for canary in planted.canaries:
        assert canary not in text
        assert planted.text.count(canary) == 1
        rest = rest.replace(f"({canary})\n", "")
    assert rest.replace("\n", "") == text.replace("\n", "")


def test_other_seeds_plant_others_elsewhere():
    texts = {plant(NOTE, ["PATIENT", "PHONE"], 2, SENTENCES, str(seed)).text for seed in range(20)}
    assert len(texts) == 20
    assert len({text.index("Paciente:") for text in texts}) > 1


def test_a_text_full_of_numbers_gets_a_number_of_its_own():
    text = " ".join(f"{number:03}" for number in range(1000))
    (canary,) = plant(text, ["PHONE"], 1, SENTENCES, "").canaries
    assert canary.replace(" ", "") not in text.replace(" ", "")


def test_a_note_with_the_words_of_the_domain_gets_an_address_too():
    (canary,) = plant("See example.org for example.", ["EMAIL"], 1, {}, "seed").canaries
    assert canary.endswith("@example.org")


@pytest.mark.parametrize("write", [str, str.upper, lambda canary: ", ".join(reversed(canary.split()))])
def test_a_name_is_reported_in_any_form(write):
    planted = plant(NOTE, ["PATIENT"], 1, SENTENCES, "")
    assert planted.check({"PATIENT": [write(planted.canaries[0])], "DATE": []})


@pytest.mark.parametrize("answer", [[], ["Ana Ruiz"], ["123 456 789"]])
def test_an_answer_without_a_canary_is_none(answer):
    planted = plant(NOTE, ["PATIENT", "PHONE"], 2, SENTENCES, "")
    with pytest.raises(NoAnswer, match="does not contain 2 of 2 planted identifiers"):
        planted.check({"PATIENT": answer})
    with pytest.raises(NoAnswer, match="does not contain 1 of 2"):
        planted.check({"PATIENT": [*answer, planted.canaries[0]]})


def test_nothing_of_a_canary_is_left_in_the_answer():
    planted = plant(NOTE, ["PATIENT", "PHONE"], 2, SENTENCES, "")
    name, phone = planted.canaries
    said = {"PATIENT": [name, name.split()[1], f"Ana Ruiz, {name}"], "PHONE": [phone, "123 456 789"]}
    assert planted.check(said) == {"PATIENT": ["Ana Ruiz"], "PHONE": ["123 456 789"]}


@pytest.mark.parametrize("lang", ["en", "es", "fi", "de"])
@pytest.mark.parametrize("name", ["zero_shot.v2", "one_shot.v2"])
def test_every_shipped_prompt_has_sentences_for_all_canaries(lang, name):
    assert set(load_prompt(name, lang).canaries) == set(CANARY_LABELS)


def test_a_number_of_the_note_that_a_canary_contains_stays_in_the_answer():
    for seed in range(20):
        planted = plant("Planta 5, cama 12", ["PHONE"], 1, SENTENCES, str(seed))
        assert planted.check({"ROOM": ["5", "12"], "PHONE": list(planted.canaries)})["ROOM"] == ["5", "12"]
