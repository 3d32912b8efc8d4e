"""Surrogates of towns, regions and countries."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.lang.fi.inflection import CASES
from spacy_deid.lang.inflection import inflect
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.places import replace_places
from spacy_deid.surrogates.places.gazetteer import load_gazetteer
from spacy_deid.surrogates.places.geography import place_forms
from spacy_deid.surrogates.style import allow_all

PROJECT = ProjectKey(bytes(range(32)))
KEYS = [PROJECT.patient(f"patient {number}") for number in range(5)]
ZIP = {
    "Madrid": "28", "Barcelona": "08", "Sevilla": "41", "Valencia": "46", "Zaragoza": "50", "Málaga": "29",
    "Murcia": "30",
}  # fmt: skip


def replaced(text, label, lang, key=KEYS[0], before="", after="", forbidden=allow_all):
    return replace_places([Mention(text, label, before, after)], key, lang, forbidden)[0]


def regions_of(name, lang):
    return {place.region for place in load_gazetteer(lang).find(name) if place.kind == "city"}


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_spanish_city_its_province_and_its_postal_code_stay_together(key):
    mentions = [Mention("Getafe", "TERRITORY"), Mention("Madrid", "TERRITORY"), Mention("28901", "TERRITORY")]
    town, capital, postal = replace_places(mentions, key, "es", allow_all)
    assert capital in ZIP
    assert capital != "Madrid"
    assert capital in regions_of(town, "es")
    assert postal.startswith(ZIP[capital])
    assert len(postal) == 5


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_an_american_city_moves_with_its_state(key):
    mentions = [
        Mention("Fresno", "CITY", "", ", CA 937"),
        Mention("CA", "STATE", "Fresno, "),
        Mention("California", "STATE"),
    ]
    city, code, state = replace_places(mentions, key, "en", allow_all)
    gazetteer = load_gazetteer("en")
    assert code != "CA"
    assert gazetteer.regions[code] == state
    assert code in regions_of(city, "en")


@pytest.mark.parametrize("name", ["Ohio", "Utah", "Iowa"])
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_short_name_of_a_state_becomes_a_name_and_not_a_code(name, key):
    made = replaced(name, "STATE", "en", key)
    assert made in load_gazetteer("en").regions.values()
    assert len(made) > 2


def test_a_city_becomes_one_of_about_its_size():
    gazetteer = load_gazetteer("es")
    for key in KEYS:
        band = max(place.band for place in gazetteer.find(replaced("Jerez de la Frontera", "CITY", "es", key)))
        assert band >= 2


def test_other_spellings_of_a_place_are_one_place():
    mentions = [Mention(text, "TERRITORY") for text in ("La Coruña", "A Coruña", "LA CORUÑA", "la coruña")]
    made = replace_places(mentions, KEYS[0], "es", allow_all)
    assert len(set(map(fold, made))) == 1
    assert made[2].isupper()
    assert made[3].islower()


@pytest.mark.parametrize(
    ("text", "label", "lang"),
    [
        ("Francia", "COUNTRY", "es"),
        ("EE.UU.", "COUNTRY", "es"),
        ("Marruecos", "COUNTRY", "es"),
        ("Scotland", "COUNTRY", "en"),
        ("Trinidad", "COUNTRY", "en"),
        ("Texas", "STATE", "en"),
        ("Qld", "STATE", "en"),
        ("Castilla y León", "STATE", "es"),
        ("Isla de La Palma", "TERRITORY", "es"),
        ("Buenos Aires", "TERRITORY", "es"),
        ("Villarriba de los Infantes", "TERRITORY", "es"),
        ("Orange County", "CITY", "en"),
        ("80 100", "TERRITORY", "es"),
        ("C1009", "TERRITORY", "es"),
    ],
)
@pytest.mark.parametrize("key", KEYS[:3], ids=str)
def test_a_place_becomes_another_one(text, label, lang, key):
    made = replaced(text, label, lang, key)
    assert made
    assert fold(made) != fold(text)


def test_a_kind_of_place_stays():
    assert replaced("Isla de La Palma", "TERRITORY", "es").startswith("Isla de ")
    assert replaced("Orange County", "CITY", "en").endswith(" County")


@pytest.mark.parametrize(("text", "lang"), [("USA", "es"), ("EE. UU.", "es"), ("U.S.A.", "en"), ("UK", "en")])
def test_the_short_form_of_a_country_is_written_out(text, lang):
    made = replaced(text, "COUNTRY", lang)
    assert made in load_gazetteer(lang).countries.values()


def test_a_finnish_region_of_two_parts_is_one_place():
    made = replaced("Päijät-Hämeessä", "STATE", "fi")
    assert made.endswith(("ssa", "ssä", "lla", "llä"))
    made = replaced("Vakka-Suomen sairaalassa", "HOSPITAL", "fi")
    assert made.endswith("n sairaalassa")
    assert "Suomen" not in made


def test_an_article_before_the_mention_fits_the_surrogate():
    gazetteer = load_gazetteer("es")
    made = replaced("Coruña", "TERRITORY", "es", before="natural de la ")
    assert gazetteer.find(f"La {made}")
    made = replaced("Ferrol", "TERRITORY", "es", before="vecino del ")
    assert gazetteer.find(f"El {made}")


@pytest.mark.parametrize(
    ("text", "endings"),
    [
        ("Espoossa", ("ssa", "ssä", "lla", "llä")),
        ("Tampereella", ("ssa", "ssä", "lla", "llä")),
        ("Raumalta", ("sta", "stä", "lta", "ltä")),
        ("Helsinkiin", ("n", "lle")),
        ("Jyväskylän", ("n",)),
        ("OULUSTA", ("STA", "STÄ", "LTA", "LTÄ")),
        ("pirkanmaalla", ("ssa", "ssä", "lla", "llä")),
        ("Kuivakoskelta", ("sta", "stä", "lta", "ltä")),
    ],
)
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_finnish_case_is_carried_over(text, endings, key):
    made = replaced(text, "CITY", "fi", key)
    assert made.endswith(endings)
    assert fold(made) != fold(text)


def test_finnish_towns_take_the_local_cases_of_their_own():
    made = {replaced("Vantaalla", "CITY", "fi", PROJECT.patient(str(number))) for number in range(60)}
    assert {"Espoossa", "Porvoossa", "Kouvolassa", "Turussa", "Oulussa"} & made or len(made) > 5
    assert not {"Nokiassa", "Raumassa", "Tampereessa", "Espoolla"} & made


def test_a_forbidden_place_is_not_drawn():
    free = replaced("Getafe", "CITY", "es")
    again = replaced("Getafe", "CITY", "es", forbidden=lambda value: fold(value) == fold(free))
    assert again
    assert again != free


def test_a_note_where_everything_is_forbidden_gets_nothing():
    assert replaced("Getafe", "CITY", "es", forbidden=lambda value: True) is None


def test_another_patient_gets_other_places():
    assert len({replaced("Getafe", "CITY", "es", PROJECT.patient(str(number))) for number in range(30)}) > 10


def test_another_variant_is_another_draw():
    mentions = [Mention("Getafe", "CITY", variant=variant) for variant in range(20)]
    made = replace_places(mentions, KEYS[0], "es", allow_all)
    assert len(set(made)) > 5


def test_an_age_that_was_labelled_a_country_gets_nothing():
    assert replaced("75 años", "COUNTRY", "es") is None


def test_a_language_without_lists_still_replaces_countries_and_cities():
    assert replaced("Germany", "COUNTRY", "de") not in (None, "Germany")
    assert replaced("Chicago", "CITY", "de") not in (None, "Chicago")


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(("text", "label"), [("España", "COUNTRY"), ("ESPAÑA", "TERRITORY"), ("Spain", "COUNTRY")])
def test_the_country_of_the_towns_stays(text, label, key):
    mentions = [Mention(text, label), Mention("Sevilla", "TERRITORY"), Mention("Portugal", "COUNTRY")]
    country, town, other = replace_places(mentions, key, "es", allow_all)
    assert country == text
    assert town in ZIP
    assert fold(other) not in ("portugal", "espana")


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("label", ["ZIP", "TERRITORY"])
def test_the_postal_code_of_a_capital_is_one_of_a_capital(label, key):
    mentions = [Mention("Sevilla", "TERRITORY"), Mention("41018", label), Mention("41500", label)]
    town, capital, other = replace_places(mentions, key, "es", allow_all)
    assert capital.startswith(ZIP[town] + "0")
    assert other.startswith(ZIP[town])
    assert other[2] != "0"


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(("town", "form"), [("Salamanca", "Salamanaca"), ("Santiago de Compostela", "Santiago")])
def test_a_typo_and_a_short_form_of_a_town_are_the_town(town, form, key):
    made = replace_places([Mention(town, "TERRITORY"), Mention(form, "TERRITORY")], key, "es", allow_all)
    assert made[0] == made[1]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_the_towns_of_a_note_from_abroad_are_in_one_country(key):
    gazetteer = load_gazetteer("es")
    mentions = [Mention("Nicaragua", "COUNTRY"), Mention("Managua", "TERRITORY"), Mention("Somoto", "TERRITORY")]
    country, capital, town = replace_places(mentions, key, "es", allow_all)
    codes = {code for code, name in gazetteer.countries.items() if name == country}
    assert regions_of(capital, "es") & codes
    assert regions_of(town, "es") & codes


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_country_of_birth_does_not_move_the_towns_abroad(key):
    mentions = [Mention("Marruecos", "COUNTRY"), Mention("Toledo", "TERRITORY"), Mention("Talavera", "TERRITORY")]
    town = replace_places(mentions, key, "es", allow_all)[1]
    assert not all(region.startswith("@") for region in regions_of(town, "es"))


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_an_unlisted_town_becomes_one_of_the_region_of_the_note(key):
    mentions = [Mention("Villarriba de los Infantes", "TERRITORY"), Mention("Sevilla", "TERRITORY")]
    town, region = replace_places(mentions, key, "es", allow_all)
    assert region in regions_of(town, "es")


FINNISH_TOWNS = sorted(
    {
        town
        for (region, band), towns in load_gazetteer("fi").cities.items()
        if "@" not in region and band
        for town in towns
    }
)


@pytest.mark.parametrize(
    ("form", "town", "made"),
    [("Espoossa", "Pori", "Porissa"), ("Tampereella", "Rauma", "Raumalla"), ("Espoosta", "Tampere", "Tampereelta")],
)
def test_a_surrogate_takes_the_local_case_of_its_own_town(form, town, made):
    assert inflect(town, "fi", place_forms("fi")[fold(form)][1], kind="place") == made


@given(town=st.sampled_from(FINNISH_TOWNS), case=st.sampled_from(CASES[:-1]), patient=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_the_surrogate_of_a_town_in_a_case_is_that_of_the_town(town, case, patient):
    form = inflect(town, "fi", case, kind="place")
    name, read = place_forms("fi")[fold(form)]
    mentions = [Mention(name, "CITY"), Mention(form, "CITY")]
    bare, made = replace_places(mentions, PROJECT.patient(str(patient)), "fi", allow_all)
    assert made == inflect(bare, "fi", read, kind="place")
