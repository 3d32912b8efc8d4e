"""Postal codes of the region that the towns of the note get, by the three-digit rule."""

import re
from importlib.resources import files

import pytest

from spacy_deid.lang.en.places import is_small_area, states_by_area
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.places import replace_places
from spacy_deid.surrogates.places.gazetteer import load_gazetteer

PROJECT = ProjectKey(bytes(range(32)))
KEYS = [PROJECT.patient(f"patient {number}") for number in range(8)]


def replace(lang, label, *texts, key=KEYS[0]):
    return replace_places([Mention(text, label) for text in texts], key, lang, lambda value: False)


def shape(text):
    return re.sub(r"\d", "9", text)


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("code", ["93701", "93701-1234"])
def test_the_zip_code_the_town_and_the_state_are_of_one_surrogate_state(key, code):
    mentions = [
        Mention("Fresno", "CITY", "", ", CA 93701"),
        Mention("CA", "STATE", "Fresno, "),
        Mention(code, "ZIP", "CA "),
    ]
    town, state, new = replace_places(mentions, key, "en", lambda value: False)
    assert state != "CA"
    assert states_by_area().get(new[:3]) == state
    assert state in {place.region for place in load_gazetteer("en").find(town)}
    assert shape(new) == shape(code)
    assert not is_small_area(new[:3])


def test_the_state_before_a_zip_code_counts_more_than_its_digits():
    made = replace_places(
        [Mention("TX", "STATE"), Mention("10001", "ZIP", "Houston, TX ")], KEYS[0], "en", lambda v: False
    )
    assert states_by_area().get(made[1][:3]) == made[0] != "TX"


def test_the_zip_codes_of_an_area_become_codes_of_one_area():
    one, other, far = replace("en", "ZIP", "10001", "10025", "90210")
    assert one[:3] == other[:3] != far[:3]
    assert one != other


@pytest.mark.parametrize("text", ["10001", "90210-1234", "33101", "03601", "05901-1234", "82101"])
def test_an_area_becomes_one_of_another_state_where_many_people_live(text):
    new = replace("en", "ZIP", text)[0]
    assert not is_small_area(new[:3])
    assert states_by_area().get(new[:3]) not in (None, states_by_area().get(text[:3]))
    assert shape(new) == shape(text)


@pytest.mark.parametrize("text", ["00601", "00701-1234"])
def test_a_large_area_of_no_state_keeps_three_digits(text):
    new = replace("en", "ZIP", text)[0]
    assert new[:3] == text[:3]
    assert new != text
    assert shape(new) == shape(text)


@pytest.mark.parametrize("text", ["88888", "09012", "34012"])
def test_the_first_digits_of_a_small_area_of_no_state_become_000(text):
    new = replace("en", "ZIP", text)[0]
    assert new.startswith("000")
    assert new[3:] != text[3:]


def test_small_areas_are_those_of_the_census():
    lines = (files("spacy_deid") / "lang/en/zip_areas.csv").read_text(encoding="utf8").splitlines()[1:]
    people = {prefix: int(number) for prefix, number in (line.split(",") for line in lines)}
    assert len(people) > 900
    assert 330_000_000 < sum(people.values()) < 340_000_000
    assert all(is_small_area(prefix) for prefix, number in people.items() if number <= 20_000)
    large = [prefix for prefix in people if not is_small_area(prefix)]
    assert len(large) > 850
    assert all(people[prefix] > 20_000 for prefix in large)


@pytest.mark.parametrize(("lang", "pattern"), [("es", r"(0[1-9]|[1-4]\d|5[0-2])\d{3}"), ("fi", r"\d{4}0")])
def test_codes_of_one_province_become_codes_of_one_other_province(lang, pattern):
    texts = ["00100", "00120", "33100"] if lang == "fi" else ["28046", "28010", "08036"]
    new = replace(lang, "ZIP", *texts)
    assert all(re.fullmatch(pattern, value) for value in new)
    assert new[0][:2] == new[1][:2] != new[2][:2]
    assert new[0][:2] != texts[0][:2]
    assert len(set(new)) == 3


def test_every_province_becomes_another():
    codes = [f"{n:02}123" for n in range(1, 53)]
    new = replace("es", "ZIP", *codes)
    assert len({value[:2] for value in new}) == 52
    assert all(a[:2] != b[:2] for a, b in zip(codes, new, strict=True))


@pytest.mark.parametrize(
    ("text", "pattern"), [("SW1A 2AA", r"[A-Z]{2}[1-9][A-Z] \d[A-Z]{2}"), ("m1 4et", r"[a-z][1-9] \d[a-z]{2}")]
)
def test_british_codes_keep_their_form(text, pattern):
    new = replace("en", "ZIP", text)[0]
    assert re.fullmatch(pattern, new)
    assert new[:2] != text[:2]
