"""Asking until there is an answer, or there is none."""

from itertools import pairwise

import pytest
from canned_server import canned_server, question
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.llm.backends import BackendError, open_backend
from spacy_deid.llm.extraction import CANARY_LABELS, Extractor, plant, split_text
from spacy_deid.llm.prompts import NoAnswer, Prompt, load_prompt

TEXTS = st.text(alphabet=st.sampled_from("ab. \n!?é"), max_size=400)


@given(TEXTS, st.integers(10, 120), st.integers(0, 200))
def test_every_character_is_in_a_part_and_no_part_is_too_long(text, size, overlap):
    parts = split_text(text, size, overlap)
    covered = set().union(*(range(start, end) for start, end in parts)) if parts else set()
    assert covered == set(range(len(text)))
    assert all(0 < end - start <= size for start, end in parts)


@given(TEXTS, st.integers(10, 120), st.integers(0, 200))
def test_parts_go_on_and_share_no_more_than_they_may(text, size, overlap):
    parts = split_text(text, size, overlap)
    for (start, end), (next_start, next_end) in pairwise(parts):
        assert start < next_start <= end < next_end
        assert end - next_start <= min(overlap, size // 2)


def test_a_short_note_is_one_part():
    assert split_text("Ana García. 34 años.") == [(0, 20)]
    assert split_text("") == []


def test_a_note_is_cut_after_a_sentence():
    text = "Acude Ana. Tos. " * 20
    assert len(split_text(text, 100, 0)) > 1
    for start, end in split_text(text, 100, 0)[:-1]:
        assert text[start:end].endswith(". ")
        assert text[start:].startswith(("Acude", "Tos"))


def test_words_are_not_cut_where_no_sentence_ends():
    text = "palabra " * 50
    for start, end in split_text(text, 60, 10):
        assert set(text[start:end].split()) == {"palabra"}


def test_what_stands_at_a_cut_is_whole_in_a_part():
    text = "Frase de relleno número uno sin más. " * 3 + "Paciente: Ana García Ruiz. " + "Otra frase de relleno. " * 4
    parts = split_text(text, 120, 40)
    assert any("Ana García Ruiz" in text[start:end] for start, end in parts)


@given(
    st.integers(300, 560), st.sampled_from(["Sta. María de la Cabeza", "Dr. J. M. Ruiz", "St. Orla Medical Center"])
)
def test_what_stands_at_a_cut_after_an_abbreviation_is_whole_in_a_part(words, name):
    text = "palabra " * words + f"vive en {name} 12 y " + "otra cosa " * 300
    assert any(name in text[start:end] for start, end in split_text(text, 4000, 200))


@given(
    st.lists(st.sampled_from(["Dr.", "ana", "x", "Ruiz,", "fin.", "palabrita"]), min_size=1, max_size=120), st.data()
)
def test_words_that_the_overlap_holds_are_whole_in_a_part(words, data):
    text = " ".join(words)
    start = data.draw(st.integers(0, len(text) - 1))
    end = min(len(text), start + 40 - len("palabrita "))
    assert any(a <= start and end <= b for a, b in split_text(text, 120, 40))


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
