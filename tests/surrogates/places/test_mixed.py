"""Places with more in them: each part becomes another, and none of the original stays."""

import re

import pytest

from spacy_deid.lang.en.places import states_by_area
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.places import replace_places
from spacy_deid.surrogates.style import allow_all

KEYS = [ProjectKey(bytes(range(32))).patient(f"patient {number}") for number in range(6)]
CASES = [
    ("en", "123 Main St., Springfield", r"\d{3} .+ St\., .+"),
    ("en", "Boston MA 02115", r".+ [A-Z]{2} \d{5}"),
    ("en", "12 Oak St, Fresno, CA 93701", r"\d\d .+ St, .+, [A-Z]{2} \d{5}"),
    ("es", "28001 Madrid", r"\d{5} .+"),
    ("es", "Calle Mayor 3, Getafe", r"Calle .+ \d, .+"),
    ("fi", "Hallakatu 3, Espoo", r".+katu \d, .+"),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(("lang", "text", "shape"), CASES, ids=lambda value: value[:30])
def test_a_street_a_town_and_a_postal_code_in_one_mention_all_change(lang, text, shape, key):
    made = replace_places([Mention(text, "CITY")], key, lang, allow_all)[0]
    assert re.fullmatch(shape, made)
    words = {word for word in re.findall(r"\w{3,}", fold(text)) if word not in ("calle", "hallakatu")}
    assert words.isdisjoint(re.findall(r"\w{3,}", fold(made)))


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_the_postal_code_in_a_mention_is_of_the_state_in_it(key):
    made = replace_places([Mention("12 Oak St, Fresno, CA 93701", "CITY")], key, "en", allow_all)[0]
    state, code = made.split()[-2:]
    assert states_by_area()[code[:3]] == state != "CA"


@pytest.mark.parametrize(
    ("text", "shape"),
    [("Memorial Hospital", r"\w+ Hospital"), ("Cleveland Clinic", r".+ Clinic"), ("Langone Health", r"\w+ Health")],
)
def test_an_institution_that_is_labelled_as_a_place_stays_one(text, shape):
    made = replace_places([Mention(text, "CITY")], KEYS[0], "en", allow_all)[0]
    assert re.fullmatch(shape, made)
    assert made != text
