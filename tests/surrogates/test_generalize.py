"""Coarser values: what Safe Harbor lets stay, and nothing that tells an age over 89."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.surrogates.generalize import generalize_age, generalize_date


@pytest.mark.parametrize(
    ("age", "coarse"),
    [
        ("53 años", "53 años"),
        ("89", "89"),
        ("90", "90+"),
        ("104 años", "90+"),
        ("2 años y 4 meses", "2 años y 4 meses"),
        ("entre 85 y 92", "90+"),
        ("noventa y dos años", None),
        ("", None),
    ],
)
def test_only_ages_over_89_are_made_coarser(age, coarse):
    assert generalize_age(age, 2024) == coarse


@given(st.integers(90, 130), st.sampled_from(["{}", "{} años", "varón de {} a.", "{}-year-old"]))
def test_no_age_over_89_stays(age, form):
    assert generalize_age(form.format(age), 2024) == "90+"


@pytest.mark.parametrize(
    ("date", "coarse"),
    [
        ("12/03/2019", "2019"),
        ("marzo de 2019", "2019"),
        ("2019-03-12T10:00", "2019"),
        ("2019", "2019"),
        ("12/03/19", None),
        ("12 de marzo", None),
        ("20190312", None),
        ("2018-2019", None),
        ("01/01/1934", None),
        ("01/01/1935", "1935"),
        ("1848", None),
    ],
)
def test_a_date_becomes_its_year(date, coarse):
    assert generalize_date(date, 2024) == coarse


@given(st.integers(1900, 2099), st.integers(1990, 2060))
def test_no_year_that_tells_an_age_over_89_stays(year, reference):
    coarse = generalize_date(f"03/04/{year}", reference)
    assert coarse in (None, str(year))
    assert coarse is None or reference - int(coarse) <= 89
