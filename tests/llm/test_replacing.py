"""Values replaced one by one by a language model: the baseline that surrogates are measured against."""

import pytest
from canned_server import canned_server

from spacy_deid.errors import ConfigError
from spacy_deid.labels import LABELS
from spacy_deid.llm.backends import open_backend
from spacy_deid.llm.prompts import PROMPT, load_replacing_prompt, replace_values

ANA, SORIA = ("PATIENT", "Ana {kind} {value}"), ("CITY", "Soria")


def replaced(*answers, values=(ANA, SORIA)):
    pytest.importorskip("httpx")
    with canned_server(*answers) as (url, canned):
        return replace_values(open_backend(url), values), [body["messages"] for body in canned.asked]


def test_the_prompt_that_ships_has_a_version_and_knows_its_labels():
    prompt = load_replacing_prompt()
    assert prompt["id"] == PROMPT
    assert all(prompt["user"].count(place) == 1 for place in ("{kind}", "{value}"))
    assert set(prompt["kinds"]) <= set(LABELS)


def test_each_value_is_asked_for_once_by_what_it_is():
    made, asked = replaced({"value": " Eva "}, {"value": "Teruel"}, values=(ANA, SORIA, ANA))
    assert made == {ANA: "Eva", SORIA: "Teruel"}
    assert [spoken[1]["content"] for spoken in asked] == [
        "Generate a new completely different name using this example: Ana {kind} {value}",
        "Generate a new completely different town using this example: Soria",
    ]


@pytest.mark.parametrize("answer", [500, "no JSON", "[]", {"value": 7}, {"name": "Eva"}, ("cut",)])
def test_an_answer_that_cannot_be_used_is_none(answer):
    assert replaced(answer, values=[ANA])[0] == {ANA: None}


def test_no_value_goes_to_another_machine():
    pytest.importorskip("httpx")
    with pytest.raises(ConfigError, match="allow"):
        replace_values(open_backend("http://192.0.2.1:8080"), [ANA])


@pytest.mark.llm
def test_a_model_in_process_answers_in_the_shape_that_was_asked_for(tmp_path):
    pytest.importorskip("llama_cpp")
    pytest.importorskip("gguf")
    from tiny_llama import write_tiny_llama

    backend = open_backend(str(write_tiny_llama(tmp_path / "tiny.gguf")))
    made = replace_values(backend, [ANA])
    assert list(made) == [ANA]
    assert made[ANA] is None or isinstance(made[ANA], str)  # None: noise may not end in time
