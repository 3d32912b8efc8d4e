"""Words for the sex: their replacements fit both sexes, and the sentence remains grammatical."""

import re
import tomllib

import pytest

from spacy_deid.lang import all_languages
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention, find_mentions
from spacy_deid.surrogates.places.descriptions import replace_sex
from spacy_deid.surrogates.style import replace_mentions

LISTS = {language.code: language.resource("sex.toml") for language in all_languages("sex.toml")}


def made(marked, lang):
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
    assert made(marked, lang) == expected


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
    assert len({made(f"<{word}> ", lang) for word in pairs[lang]}) == 1


def test_a_neutral_word_counts_as_generalized():
    mentions = find_mentions("Sexo: M. Mujer de 40 años", [(6, 7, "SEX"), (9, 14, "SEX")])
    replaced = replace_mentions(mentions, ProjectKey(bytes(range(32))).patient("1"), "es", {})
    assert [(one.text, one.action) for one in replaced] == [("X", "generalize"), ("Paciente", "generalize")]
