"""The light rules for English and Spanish: forms of a word fall together, names stay as they are."""

import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_deid.lemmatizers.english import EnglishLemmas
from spacy_deid.lemmatizers.spanish import SpanishLemmas

ENGLISH = """Smith's Smith|Smiths' Smith|Whittakers Whittaker|nurses nurse|biopsies biopsy|boxes box|women woman
daughter's daughter|physicians physician|diagnoses diagnosis|teachers teacher"""
SPANISH = """enfermera enfermero|enfermeras enfermero|doctora doctor|doctores doctor|canciones canción|voces voz
médicas médico|hijas hijo|hermanas hermano|casos caso|ciudades ciudad|García Garcia|alcaldesas alcaldesa
carpinteros carpintero|MADRILEÑA madrileño"""
APART_ENGLISH = "James Jame|Williams William|Jones Jone|news new|diabetes diabete"
APART_SPANISH = "casa caso|María Mario|Antonia Antonio|Reyes Rey|París par|año ano|Carlos Carlo|él el|esta está"


def rows(table):
    return [row.split() for row in table.replace("\n", "|").split("|")]


def lemmas(lemmatizer, words):
    return lemmatizer(Doc(Vocab(), words=words))


@pytest.mark.parametrize("pair", rows(ENGLISH))
def test_english_forms_fall_together(pair):
    assert len(set(lemmas(EnglishLemmas(), pair))) == 1


@pytest.mark.parametrize("pair", rows(APART_ENGLISH))
def test_english_words_stay_apart(pair):
    assert len(set(lemmas(EnglishLemmas(), pair))) == 2


@pytest.mark.parametrize("pair", rows(SPANISH))
def test_spanish_forms_fall_together(pair):
    assert len(set(lemmas(SpanishLemmas(), pair))) == 1


@pytest.mark.parametrize("pair", rows(APART_SPANISH))
def test_spanish_words_stay_apart(pair):
    assert len(set(lemmas(SpanishLemmas(), pair))) == 2
