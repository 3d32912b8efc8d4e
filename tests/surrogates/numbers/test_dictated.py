"""Numbers in words have surrogates in words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.numbers.dictated import read_dictated
from spacy_deid.surrogates.style import SurrogateStyle, allow_all

KEY = ProjectKey(bytes(range(32))).patient("4711")


@pytest.mark.parametrize(
    ("lang", "text", "figures"),
    [
        ("es", "seis cinco dos cero ocho uno siete siete tres", "652081773"),
        ("es", "noventa y seis cinco cinco siete uno cuatro cero nueve", "965571409"),
        ("es", "noventa y cuatro millones ciento doce mil trescientos cinco", "94112305"),
        ("es", "cero tres guión once mil doscientos ocho", "03-11208"),
        ("es", "Nueve mil ciento cuatro", "9104"),
        ("es", "mil", "1000"),
        ("es", "un millón dos mil uno", "1002001"),
        ("es", "veintiún mil", "21000"),
        ("en", "oh seven seven double oh nine", "077009"),
        ("en", "SIX ONE TWO", "612"),
        ("en", "six, one - twenty-two", "6122"),
        ("fi", "nolla neljäkymmentä viisi viisi", "04055"),
    ],
)
def test_a_number_in_words_is_read_and_written(lang, text, figures):
    found = read_dictated(text, lang)
    assert found.figures == figures
    assert found.write(figures) == text


@pytest.mark.parametrize("text", ["", "the ward", "612", "six 1 two", "double", "six double", "siete"])
def test_other_texts_are_not_read(text):
    assert read_dictated(text, "en") is None


@settings(max_examples=200)
@given(st.sampled_from(["es", "en", "fi"]), st.text("0123456789", min_size=1, max_size=9), st.data())
def test_a_written_number_is_read_again(lang, figures, data):
    row = {"es": "uno dos tres", "en": "one two three", "fi": "yksi kaksi kolme"}[lang].split()
    words = " ".join(data.draw(st.sampled_from(row)) for _ in figures)
    found = read_dictated(words, lang)
    assert read_dictated(found.write(figures), lang).figures == figures


def test_a_dictated_number_has_the_surrogate_of_its_figures():
    mentions = [Mention("seis cinco dos cero ocho uno siete siete tres", "PHONE"), Mention("652 081 773", "PHONE")]
    spoken, written = SurrogateStyle().replace(mentions, KEY, "es", allow_all)
    assert read_dictated(spoken.text, "es").figures == written.text.replace(" ", "")
    assert spoken.action == "replace"


@pytest.mark.parametrize("label", ["MRN", "LICENSE", "ENCOUNTER_ID", "ROOM"])
def test_no_number_in_words_gets_a_tag(label):
    (made,) = SurrogateStyle().replace([Mention("cuatro mil setecientos noventa", label)], KEY, "es", allow_all)
    assert made.action == "replace"
    assert read_dictated(made.text, "es").figures != "4790"


def test_a_repr_shows_no_number():
    assert "seis" not in repr(read_dictated("seis cinco", "es"))
