import re

import pytest

from spacy_deid.lang.en.agreement import indefinite_article
from spacy_deid.lang.inflection import inflect
from spacy_deid.lang.places import invent_persons, place_words
from spacy_deid.lang.professions import read_professions
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.places import replace_places
from spacy_deid.surrogates.style import allow_all

PROJECT = ProjectKey(bytes(range(32)))
KEYS = [PROJECT.patient(f"patient {number}") for number in range(10)]


def replaced(text, label, lang, key=KEYS[0], before=""):
    return replace_places([Mention(text, label, before)], key, lang, allow_all)[0]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(
    ("text", "lang", "shape"),
    [
        ("C/ Cobre, 5, 3, Izq", "es", r"C/ (?!Cobre)[^\d]+, \d, \d, Izq"),
        ("Avda. Menéndez Pidal, s/n", "es", r"Avda\. (?!Menéndez)[^\d]+, s/n"),
        ("Calle de Serrano 92, piso 3, puerta 4", "es", r"Calle (?!de Serrano)[^\d]+ \d\d, piso \d, puerta \d"),
        ("CALLE MAYOR, 18, BAJO A", "es", r"CALLE (?!MAYOR,)[^\da-z]+, \d\d, BAJO [A-F]"),
        ("c/ Juan Bosco, 17, 2º Izda", "es", r"c/ (?!Juan Bosco)[^\d]+, \d\d, \dº Izda"),
        ("Pº Isabel la Católica 1 y 3", "es", r"Pº (?!Isabel)\D+ \d y \d"),
        ("C/ San Francisco n° 1", "es", r"C/ (?!San Francisco)\D+ n° \d"),
        ("Avda. Valdecilla sn", "es", r"Avda\. (?!Valdecilla)\D+ sn"),
        ("Apartado de correos 41", "es", r"Apartado de correos \d\d"),
        ("Boulevard Louis Pasteur, 32", "es", r"Boulevard (?!Louis)\D+, \d\d"),
        ("Paseo de la Libertad", "es", r"Paseo (?!de la Libertad)\D+"),
        ("Plaza 12 de Octubre, 4", "es", r"Plaza (?!12 de Octubre)\D+, \d"),
        ("4190 Spruce Rd, Apt 57", "en", r"\d{4} (?!Spruce)[A-Z][\w ]+ Rd, Apt \d\d"),
        ("12974 SE Center Court, Unit 7F", "en", r"\d{5} SE (?!Center)[A-Z][\w ]+ Court, Unit \d[A-H]"),
        ("251 Kennedy Dr", "en", r"\d{3} (?!Kennedy)[A-Z][\w ]+ Dr"),
        ("22 33rd Street", "en", r"\d\d \d\d(st|nd|rd|th) Street"),
        ("4 SCHOOL AVENUE", "en", r"\d (?!SCHOOL)[A-Z][A-Z ]+ AVENUE"),
        ("Hallakatu 17 A 28", "fi", r"(?!Halla)[A-ZÄÖ]\w+katu \d\d [A-F] \d\d"),
        ("Hallakadulla", "fi", r"(?!Halla)[A-ZÄÖ]\w+kadulla"),
        ("Itäinen Kirkkotie 26 as. 16", "fi", r"Itäinen (?!Kirkko)[A-ZÄÖ]\w+tie \d\d as\. \d\d"),
        ("Storgatan 27 B 5", "fi", r"(?!Stor)[A-ZÄÖ]\w+gatan \d\d [A-F] \d"),
        ("Esplanadi 3", "fi", r"(?!Esplanadi)[A-ZÄÖ]\w+ \d"),
    ],
)  # fmt: skip
def test_a_street_keeps_its_kind_and_format(text, lang, shape, key):
    made = replaced(text, "STREET", lang, key)
    assert re.fullmatch(shape, made), made


def test_an_ordinal_street_has_the_right_ending():
    made = [
        replaced("42 33rd Street", "STREET", "en", PROJECT.patient(str(number))).split()[1] for number in range(60)
    ]
    right = {1: "st", 2: "nd", 3: "rd"}
    for ordinal in made:
        number = int(ordinal[:-2])
        assert ordinal[-2:] == ("th" if number in (11, 12, 13) else right.get(number % 10, "th"))


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(
    "text", ["soldadora", "bombero", "auxiliar de enfermería", "bomberos", "azafatas", "Mecánico"]
)
def test_a_spanish_profession_keeps_gender_and_number(text, key):
    made = replaced(text, "PROFESSION", "es", key)
    jobs = read_professions("es")
    pools = {
        "soldadora": {job.female for job in jobs},
        "bombero": {job.male for job in jobs},
        "auxiliar de enfermería": {job.male for job in jobs if job.male == job.female},
        "Mecánico": {job.male.capitalize() for job in jobs} | {job.male[0].upper() + job.male[1:] for job in jobs},
    }
    assert made != text
    assert made in pools[text] if text in pools else made.split()[0].endswith("s")


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("text", ["engineer", "nurse", "electrician", "plumber", "X-ray technician", "NURSE"])
def test_an_english_profession_keeps_the_article_before_it(text, key):
    made = replaced(text, "PROFESSION", "en", key)
    assert fold(made) != fold(text)
    assert indefinite_article(text) == indefinite_article(made)


def test_an_english_plural_stays_one():
    assert all(replaced("nurses", "PROFESSION", "en", key).endswith(("s", "men")) for key in KEYS)


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(
    ("text", "case", "number", "possessive"),
    [
        ("opettajana", "ess", "sing", None),
        ("hitsaajalle", "all", "sing", None),
        ("sairaanhoitajia", "par", "plur", None),
        ("lääkärinsä", "nom", "sing", "3"),
        ("MUURARIN", "gen", "sing", None),
    ],
)
def test_a_finnish_profession_keeps_case_number_and_suffix(text, case, number, possessive, key):
    made = replaced(text, "PROFESSION", "fi", key)
    forms = {
        inflect(job.male, "fi", case, kind="noun", number=number, possessive=possessive)
        for job in read_professions("fi")
    }
    assert made.lower() in forms - {text.lower()}
    assert made.isupper() == text.isupper()


def test_what_is_done_becomes_something_else_that_is_done():
    assert replaced("colocando paneles de pladur", "PROFESSION", "es").split()[0].endswith("ndo")
    assert replaced("tareas del hogar", "PROFESSION", "es") not in (None, "tareas del hogar")


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("text", ["Calle de Serrano 61", "Calle Serrano 61", "Calle Puertollano 61"])
def test_a_name_that_ends_in_no_is_no_number(text, key):
    names = {*place_words("es")["streets"]["names"], *invent_persons("es", ["Serrano"], given=False)}
    assert re.sub(r" \d\d$", "", replaced(text, "STREET", "es", key)).removeprefix("Calle ") in names


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_number_keeps_its_mark_with_a_blank_in_it(key):
    assert re.fullmatch(r"c/ .+ n º \d", replaced("c/ Camino de Eros n º 4", "STREET", "es", key))
