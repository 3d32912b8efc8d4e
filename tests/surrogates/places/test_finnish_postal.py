"""Finnish postal codes and their towns."""

import csv
from importlib.resources import files

import pytest

from spacy_deid.lang.inflection import inflect
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.places import replace_places

KEY = ProjectKey(bytes(range(32)))
LIST = files("spacy_deid") / "lang" / "fi" / "synth" / "lists" / "places.csv"
CODES = {}
for row in csv.DictReader(LIST.read_text(encoding="utf8").splitlines()):
    CODES.setdefault(row["city"], set()).add(row["zip"][:3])


def replace(patient, *mentions):
    return replace_places(mentions, KEY.patient(str(patient)), "fi", lambda value: False)


@pytest.mark.parametrize("patient", range(20))
@pytest.mark.parametrize("town", ["Espoo", "Kuopio", "Imatra", "Tuusula"])
def test_the_code_before_a_town_is_one_of_the_town_that_takes_its_place(town, patient):
    own = sorted(CODES[town])[0] + "00"
    code, made = replace(patient, Mention(own, "ZIP", "Osoite: ", f" {town}"), Mention(town, "CITY", f"{own} ", "\n"))
    assert made != town
    assert code[:3] in CODES[made]
    assert code[-1] == "0"


@pytest.mark.parametrize("between", [" ", ", ", "    Postitoimipaikka: "])
def test_town_and_code_may_stand_apart(between):
    code, made = replace(1, Mention("33100", "ZIP", "", between + "Tampere"), Mention("Tampere", "CITY", "", ""))
    assert code[:3] in CODES[made]


def test_a_code_alone_follows_the_town_that_the_list_has_for_it():
    code, made = replace(3, Mention("33100", "ZIP"), Mention(inflect("Tampere", "fi", "ela", kind="place"), "CITY"))
    bare = next(town for town in CODES if inflect(town, "fi", "ela", kind="place") == made)
    assert code[:3] in CODES[bare]


def test_a_code_that_nobody_has_becomes_another():
    [code] = replace(1, Mention("99999", "ZIP"))
    assert len(code) == 5
    assert code != "99999"


def test_two_codes_stay_two():
    first, second = replace(1, Mention("33100", "ZIP"), Mention("33200", "ZIP"))
    assert first != second
