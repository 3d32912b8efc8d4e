"""Surrogates of professions, nationalities and words for the sex.

Replacements of words for the sex fit both sexes, and the sentence remains grammatical.
"""

import re
import tomllib

import pytest

from spacy_deid.lang import all_languages
from spacy_deid.lang.en.grammar import indefinite_article
from spacy_deid.lang.inflection import inflect
from spacy_deid.lang.professions import read_professions
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention, find_mentions
from spacy_deid.surrogates.places import replace_places
from spacy_deid.surrogates.places.descriptions import replace_sex
from spacy_deid.surrogates.places.gazetteer import load_gazetteer
from spacy_deid.surrogates.style import allow_all, replace_mentions

PROJECT = ProjectKey(bytes(range(32)))
KEYS = [PROJECT.patient(f"patient {number}") for number in range(5)]


def replaced(text, label, lang, key=KEYS[0], before="", after=""):
    return replace_places([Mention(text, label, before, after)], key, lang, allow_all)[0]


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


def test_an_english_plural_stays_a_plural():
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


def test_an_activity_becomes_another_activity():
    assert replaced("colocando paneles de pladur", "PROFESSION", "es").split()[0].endswith("ndo")
    assert replaced("tareas del hogar", "PROFESSION", "es") not in (None, "tareas del hogar")


@pytest.mark.parametrize(
    ("text", "ends"),
    [("marroquí", "íae"), ("peruana", "ae"), ("senegaleses", "s"), ("marroquíes", "s"), ("PERUANO", "OSNLE")],
)
def test_an_adjective_of_nationality_keeps_gender_and_number(text, ends):
    for key in KEYS:
        made = replaced(text, "COUNTRY", "es", key)
        assert made != text
        assert made[-1] in ends


def test_a_feminine_adjective_is_followed_by_a_feminine_one():
    nations = load_gazetteer("es")._words["nationalities"]
    women = {forms[1] for forms in nations.values()}
    assert all(replaced("peruana", "COUNTRY", "es", key) in women - {"peruana"} for key in KEYS)


def test_an_adjective_goes_with_its_country():
    nations = load_gazetteer("es")._words["nationalities"]
    for key in KEYS:
        country, adjective = replace_places(
            [Mention("Perú", "COUNTRY"), Mention("peruana", "COUNTRY")], key, "es", allow_all
        )
        code = next(place.region for place in load_gazetteer("es").find(country) if place.kind == "country")
        if code[1:] in nations:
            assert adjective == nations[code[1:]][1]


@pytest.mark.parametrize(("text", "ends"), [("Mexican", ""), ("AMERICANS", "S"), ("Irish", "")])
def test_an_english_adjective_becomes_another_one(text, ends):
    made = replaced(text, "COUNTRY", "en")
    assert made != text
    assert made.endswith(ends)
    assert made.isupper() == text.isupper()


# --- sex ---

LISTS = {language.code: language.resource("sex.toml") for language in all_languages("sex.toml")}


def made_neutral(marked, lang):
    """The replacement of the word between angle brackets."""
    before, word, after = re.split(r"[<>]", marked)
    return replace_sex([Mention(word, "SEX", before, after)], lang)[0]


@pytest.mark.parametrize(
    ("lang", "marked", "expected"),
    [
        ("es", "Edad: 40 años Sexo: <H>.", "X"),
        ("es", "Sexo: <Varón>.", "No especificado"),
        ("es", "SEXO: <MUJER>", "NO ESPECIFICADO"),
        ("es", "paciente de sexo <femenino>, de", "no especificado"),
        ("es", "Motivo: <Mujer> de 40 años", "Paciente"),
        ("es", "Se trata de un <varón> de 40 años", "paciente"),
        ("es", "Se trata de una <mujer> de 40 años", "paciente"),
        ("es", "<N iño> de 3 años", "Paciente"),
        ("es", "Dos <varones> sanos", "pacientes"),
        ("es", "Paciente <varón> de 40 años", ""),
        ("es", "Descripción del paciente: <Varón> de 40", "Paciente"),
        ("es", "<7 años> de edad", None),
        ("en", "Sex: <F>  Age: 40", "X"),
        ("en", "a 45<M> with pain", "X"),
        ("en", "Gender: <Female>", "Not specified"),
        ("en", "of <female> sex", "unspecified"),
        ("en", "a 40-year-old <woman> with", "person"),
        ("en", "an elderly <MALE> with", "PERSON"),
        ("en", "a 9-year-old <boy> with", "child"),
        ("en", "a 40-year-old <male> patient with", ""),
        ("en", "<Male> patient with", "This"),
        ("en", "two <men> with", "people"),
        ("fi", "Sukupuoli: <nainen>", "ei ilmoitettu"),
        ("fi", "Sukupuoli: <N>", "X"),
        ("fi", "40-vuotias <mies> tuli", "henkilö"),
        ("fi", "40-vuotiaan <naisen> kipu", "henkilön"),
        ("fi", "40-vuotiaalle <miehelle> tehtiin", "henkilölle"),
        ("fi", "40-vuotiasta <miestä> hoidettiin", "henkilöä"),
        ("fi", "<Naispotilaalla> todettiin", "Potilaalla"),
        ("fi", "9-vuotiaalla <pojalla> oli", "lapsella"),
        ("fi", "9-vuotiaaseen <tyttöön> ei", "lapseen"),
        ("fi", "<Miehet>", "Henkilöt"),
        ("sv", "en 40-årig <man> med", "person"),
        ("sv", "Kön: <Kvinna>", "Ej angivet"),
        ("cs", "40letý <muž> s", None),
    ],
)
def test_a_word_for_the_sex_becomes_a_neutral_word(lang, marked, expected):
    assert made_neutral(marked, lang) == expected


@pytest.mark.parametrize("lang", LISTS)
def test_no_neutral_word_reveals_the_sex(lang):
    data = tomllib.loads(LISTS[lang].read_text(encoding="utf8"))
    telling = {fold(word if isinstance(word, str) else word[0]) for group in data["neutral"] for word in group["of"]}
    assert len(telling) > 5
    neutral = [group["word"] if isinstance(group["word"], str) else group["word"][0] for group in data["neutral"]]
    assert telling.isdisjoint(fold(word) for word in [*neutral, data["unstated"], data.get("opening", "")])
    assert not telling & set(data["beside"])


@pytest.mark.parametrize("lang", LISTS)
def test_both_sexes_get_the_same_word(lang):
    pairs = {"es": ("Varón", "Mujer"), "en": ("Man", "Woman"), "fi": ("Mies", "Nainen"), "sv": ("Man", "Kvinna")}
    assert len({made_neutral(f"<{word}> ", lang) for word in pairs[lang]}) == 1


def test_a_neutral_word_counts_as_generalized():
    mentions = find_mentions("Sexo: M. Mujer de 40 años", [(6, 7, "SEX"), (9, 14, "SEX")])
    replaced = replace_mentions(mentions, ProjectKey(bytes(range(32))).patient("1"), "es", {})
    assert [(one.text, one.action) for one in replaced] == [("X", "generalize"), ("Paciente", "generalize")]
