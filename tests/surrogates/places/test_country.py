"""The country that a note is from, and surrogates of places that do not leave it."""

import pytest

from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import find_mentions
from spacy_deid.surrogates.places.country import find_country
from spacy_deid.surrogates.places.gazetteer import load_gazetteer
from spacy_deid.surrogates.style import SurrogateStyle, allow_all

PROJECT = ProjectKey(bytes(range(32)))
KEYS = [PROJECT.patient(f"patient {number}") for number in range(8)]
MEXICO = (
    "Vive en Tuxtepec, Oaxaca. Nació en Zacapoaxtla, Pue. Sus padres son de Rancho Quemadero.",
    ("Tuxtepec", "CITY"), ("Oaxaca", "STATE"), ("Zacapoaxtla", "CITY"), ("Pue", "STATE"), ("Rancho Quemadero", "CITY"),
)  # fmt: skip
PERU = (
    "DNI 45871236. Domicilio: Huancané (Puno).",
    ("45871236", "NATIONAL_ID"),
    ("Huancané", "CITY"),
    ("Puno", "STATE"),
)
COLOMBIA = ("Natural de Zipaquirá. Vereda El Quemadal. EPS.", ("Zipaquirá", "CITY"), ("El Quemadal", "LOCATION_OTHER"))
SPAIN = (
    "Tarjeta sanitaria. Vive en Almazán (Soria), nacida en Lima.",
    ("Almazán", "CITY"),
    ("Soria", "STATE"),
    ("Lima", "CITY"),
)
AUSTRALIA = (
    "Lives in Tamworth NSW, was born in Devonport, works at Quemadville.",
    ("Tamworth", "CITY"), ("NSW", "STATE"), ("Devonport", "CITY"), ("Quemadville", "CITY"),
)  # fmt: skip
BRITAIN = ("NHS. Lives in Quemadham. Tel. 020 7946 0018.", ("Quemadham", "CITY"), ("020 7946 0018", "PHONE"))


def mentions_of(text, *marked):
    spans, at = [], 0
    for value, label in marked:
        at = text.index(value, at)
        spans.append((at, at + len(value), label))
    return find_mentions(text, spans)


def replaced(note, lang, key):
    return [made.text for made in SurrogateStyle().replace(mentions_of(*note), key, lang, allow_all)]


def countries_of(name, lang):
    gazetteer = load_gazetteer(lang)
    return {gazetteer.country_of(place.region) for place in gazetteer.find(name)}


@pytest.mark.parametrize(
    ("note", "lang", "country"),
    [
        (MEXICO, "es", "MX"),
        (PERU, "es", "PE"),
        (COLOMBIA, "es", "CO"),
        (SPAIN, "es", "ES"),
        (AUSTRALIA, "en", "AU"),
        (BRITAIN, "en", "GB"),
        (("Ingresa en Quemadales.", ("Quemadales", "CITY")), "es", ""),
        (("Viene de Lima y de Sevilla.", ("Lima", "CITY"), ("Sevilla", "CITY")), "es", ""),
        (("Asuu Espoossa.", ("Espoossa", "CITY")), "fi", ""),
        (("Tel. +52 55 5123 4567", ("+52 55 5123 4567", "PHONE")), "es", "MX"),
        (("Tel. 351 155 1234", ("351 155 1234", "MRN")), "es", ""),
    ],
)
def test_the_country_of_a_note_is_that_of_its_places_words_and_telephone_numbers(note, lang, country):
    assert find_country(mentions_of(*note), lang, load_gazetteer(lang)) == country


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(
    ("note", "lang", "country"),
    [(MEXICO, "es", "MX"), (PERU, "es", "PE"), (COLOMBIA, "es", "CO"), (AUSTRALIA, "en", "AU"), (BRITAIN, "en", "GB")],
)
def test_all_places_of_a_note_stay_in_its_country_also_those_on_no_list(note, lang, country, key):
    for (original, label), new in zip(note[1:], replaced(note, lang, key), strict=True):
        if label in ("CITY", "STATE", "LOCATION_OTHER"):
            assert fold(new) != fold(original)
        if label != "STATE" or not original.isupper():  # codes of states are written as codes
            assert label in ("PHONE", "NATIONAL_ID") or country in countries_of(new, lang)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_town_abroad_moves_with_its_region(key):
    gazetteer = load_gazetteer("es")
    town, region, other, short, _ = replaced(MEXICO, "es", key)
    for name, province in ((town, region), (other, short)):
        assert f"@MX/{province}" in {place.region for place in gazetteer.find(name)}
    assert region != short


def test_the_country_of_the_note_is_kept_and_others_are_replaced():
    note = (
        "Vive en Tuxtepec, Oaxaca, México. Trabajó en Colombia.",
        ("Tuxtepec", "CITY"), ("Oaxaca", "STATE"), ("México", "COUNTRY"), ("Colombia", "COUNTRY"),
    )  # fmt: skip
    for key in KEYS:
        town, _, own, other = replaced(note, "es", key)
        assert own == "México"
        assert other not in ("México", "Colombia")
        assert "MX" in countries_of(town, "es")


def test_the_first_digits_of_a_foreign_postal_code_are_no_province_of_spain():
    note = (
        "Calle 5, CP 28900, Pachuca, Hidalgo. Tepeapulco.",
        ("28900", "ZIP"), ("Pachuca", "CITY"), ("Hidalgo", "STATE"), ("Tepeapulco", "CITY"),
    )  # fmt: skip
    heads = {replaced(note, "es", PROJECT.patient(str(n)))[0][:2] for n in range(20)}
    assert any(int(head) > 52 for head in heads)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_places_of_a_spanish_note_stay_in_spain_and_foreign_ones_abroad(key):
    town, province, abroad = replaced(SPAIN, "es", key)
    assert {"ES"} <= countries_of(town, "es") & countries_of(province, "es")
    assert countries_of(abroad, "es") - {"ES"}
