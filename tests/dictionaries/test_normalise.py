import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spacy_deid.dictionaries.normalise import normal_form, normalise


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("García-López", "garcia lopez"),
        ("GARCÍA‐LÓPEZ", "garcia lopez"),
        ("Garcia –  Lopez", "garcia lopez"),
        ("Nin\u0303o\u00a0\n Jesu\u0301s", "nino jesus"),
        ("O’Brien", "o'brien"),
        ("O´Brien", "o'brien"),
        ("O‛BRIEN", "o'brien"),
        ("Weißstraße", "weissstrasse"),
        ("Åsa Ødegård Łukasz", "asa odegard lukasz"),
        ("Ægir Œuvre ﬁnn", "aegir oeuvre finn"),
        ("İstanbul ılık", "istanbul ilik"),
        ("Gar\u00adcía\ufeff", "garcia"),
        ("Ｇａｒｃｉａ", "garcia"),
        ("María\u200bJosé", "maria jose"),
        (" \t\n", ""),
    ],
)
def test_spellings_of_a_name_have_one_normal_form(written, normal):
    assert normal_form(written) == normal
    assert normalise(written).text.strip() == normal


@settings(deadline=None)
@given(st.text())
def test_a_text_is_normalised_like_its_parts(text):
    assert normalise(text).text.strip(" ") == normal_form(text)


@example("ᾀ")
@settings(deadline=None)
@given(st.text())
def test_normal_form_is_stable_under_composition_case_and_repetition(text):
    normal = normal_form(text)
    assert normal_form(normal) == normal
    assert normal_form(unicodedata.normalize("NFD", text)) == normal_form(unicodedata.normalize("NFC", text))


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("aÀ\u0301ñß ﬁ\u00ad-–\n\u00a01_😀")))
def test_every_folded_character_knows_its_original(text):
    folded = normalise(text)
    assert len(folded.origin) == len(folded.edges) == len(folded.text) + 1
    assert folded.origin[-1] == len(text)
    assert (np.diff(folded.origin) >= 0).all()
    for char, at in zip(folded.text, folded.origin, strict=False):
        assert char in (normal_form(text[at]) or " ")


def test_spans_are_mapped_back_with_combining_marks():
    text = "¡Lo\u0301pe\u0301\u0328, Weiß!"
    folded = normalise(text)
    starts, ends = folded.original(np.array([1, 7]), np.array([5, 12]))
    assert [text[start:end] for start, end in zip(starts, ends, strict=True)] == ["Lo\u0301pe\u0301\u0328", "Weiß"]


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("ab", [1, 0, 1]),
        ("a.b", [1, 1, 1, 1]),
        ("a1", [1, 1, 1]),
        ("12", [1, 0, 1]),
        ("aB", [1, 1, 1]),
        ("Ba", [1, 0, 1]),
        ("AB", [1, 0, 1]),
        ("a_b", [1, 1, 1, 1]),
        ("ß", [1, 0, 1]),
    ],
)
def test_word_edges_are_those_of_the_tokenizer(text, edges):
    assert normalise(text).edges.tolist() == [bool(edge) for edge in edges]


@pytest.mark.parametrize("text", ["", "\ud800", "a\ud800b"])
def test_empty_and_broken_text_is_accepted(text):
    assert normalise(text).text == text
