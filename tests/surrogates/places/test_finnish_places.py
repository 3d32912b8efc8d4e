"""Finnish places and hospitals keep the case of their originals."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.lang.fi.inflection import CASES
from spacy_deid.lang.inflection import inflect
from spacy_deid.lang.places import place_words
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.places import replace_places
from spacy_deid.surrogates.places.gazetteer import load_gazetteer
from spacy_deid.surrogates.places.geography import place_forms

TOWNS = sorted(
    {
        town
        for (region, band), towns in load_gazetteer("fi").cities.items()
        if "@" not in region and band
        for town in towns
    }
)


def replace(patient, *mentions):
    key = ProjectKey(bytes(range(32))).patient(str(patient))
    return replace_places([Mention(*mention) for mention in mentions], key, "fi", lambda value: False)


@pytest.mark.parametrize(
    ("form", "town", "made"),
    [("Espoossa", "Pori", "Porissa"), ("Tampereella", "Rauma", "Raumalla"), ("Espoosta", "Tampere", "Tampereelta")],
)
def test_a_town_in_a_case_of_place_becomes_one_in_the_case_that_it_takes(form, town, made):
    assert inflect(town, "fi", place_forms("fi")[fold(form)][1], kind="place") == made


@given(town=st.sampled_from(TOWNS), case=st.sampled_from(CASES[:-1]), patient=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_the_surrogate_of_a_town_in_a_case_is_that_of_the_town(town, case, patient):
    form = inflect(town, "fi", case, kind="place")
    name, read = place_forms("fi")[fold(form)]
    bare, made = replace(patient, (name, "CITY"), (form, "CITY"))
    assert made == inflect(bare, "fi", read, kind="place")


@pytest.mark.parametrize("patient", range(10))
@pytest.mark.parametrize(("case", "kind"), [("ine", "Keskussairaalassa"), ("ela", "Keskussairaalasta")])
def test_a_central_hospital_keeps_its_kind_and_case_and_gets_another_town(patient, case, kind):
    assert inflect("Keskussairaala", "fi", case, kind="noun") == kind
    [made] = replace(patient, (f"Jyväskylän {kind}", "HOSPITAL"))
    town, noun = made.split()
    assert noun == kind
    assert town != "Jyväskylän"
    assert place_forms("fi")[fold(town)][1] == "gen"


KINDRED = place_words("fi")["institutions"]["kindred"]


@pytest.mark.parametrize("patient", range(5))
@pytest.mark.parametrize("group", range(len(KINDRED)))
def test_a_school_becomes_a_school_and_a_county_a_county(group, patient):
    name = KINDRED[group][0]
    bare, form = replace(patient, (name, "ORGANIZATION"), (inflect(name, "fi", "ine", kind="noun"), "ORGANIZATION"))
    assert bare in set(KINDRED[group]) - {name}
    assert form == inflect(bare, "fi", "ine", kind="noun")


def test_the_first_half_of_a_kind_stays():
    [made] = replace(1, ("Helsingin sosiaali-, terveys- ja pelastustoimiala", "ORGANIZATION"))
    town, kind = made.split(" ", 1)
    assert kind == "sosiaali-, terveys- ja pelastustoimiala"
    assert town != "Helsingin"
