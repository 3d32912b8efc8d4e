"""Asking until there is an answer, or there is none."""

import pytest
from canned_server import canned_server, question

from spacy_deid.llm.backends import BackendError, open_backend
from spacy_deid.llm.extraction import Extractor
from spacy_deid.llm.prompts import NoAnswer, Prompt

PROMPT = Prompt("x.v1", "system", "{labels}: {text}", {})


def extractor(url, **settings):
    return Extractor(
        open_backend(url, response_format="json_schema"), PROMPT, ["PATIENT"], wait=0.01, **{"canaries": 0} | settings
    )


@pytest.mark.parametrize("first", [503, "nonsense", ("raw", b"x"), {"PATIENT": [3]}], ids=range(4))
def test_it_asks_again_when_an_answer_fails(first):
    with canned_server(first, {"PATIENT": ["Ana"]}) as (url, canned):
        found = extractor(url).ask("Ana")
    assert (found.answers, found.tries, len(canned.asked)) == ({"PATIENT": ["Ana"]}, 2, 2)


@pytest.mark.parametrize(("answer", "error"), [(503, BackendError), ("nonsense", NoAnswer)])
def test_it_gives_up_after_all_retries(answer, error):
    with canned_server(answer) as (url, canned), pytest.raises(error):
        extractor(url, retries=2).ask("Ana")
    assert len(canned.asked) == 3


def test_where_an_answer_is_cut_off_the_halves_are_asked_about():
    text = "Acude Ana. " * 60

    def answer(body):
        return ("cut",) if len(question(body)) > 500 else {"PATIENT": [question(body)]}

    with canned_server(answer) as (url, canned):
        found = extractor(url).ask(text)
    parts = [
        answer.removeprefix("- PATIENT: name or initials of the patient: ") for answer in found.answers["PATIENT"]
    ]
    assert all(part in text and len(part) < 450 for part in parts)
    assert sum(map(len, parts)) >= len(text)
    assert found.tries == len(canned.asked) == len(parts) + 1


def test_a_short_text_whose_answer_is_cut_off_has_none():
    with canned_server(("cut",)) as (url, canned), pytest.raises(BackendError, match="cut off"):
        extractor(url).ask("Ana")
    assert len(canned.asked) == 1


def test_what_was_said_is_not_shown():
    with canned_server({"PATIENT": ["Zyxwalda"]}) as (url, _):
        assert "Zyxwalda" not in repr(extractor(url).ask("Zyxwalda"))
