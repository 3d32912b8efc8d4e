"""Strategies: the variant of each mention, and the values that are kept, tagged or generalized."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.strategies import (
    Replacement,
    Setting,
    check_probability,
    consistent,
    generalize,
    generalize_age,
    generalize_date,
    keep,
    markov,
    randomized,
    tag,
)

KEY = ProjectKey(bytes(range(32))).patient("17")
MENTIONS = [Mention("Ana Ruiz", "PATIENT")] * 400


def setting(mentions=MENTIONS, note="note", key=KEY, entities=None, year=2025):
    return Setting(key, "es", note, entities or [1] * len(mentions), year)


def test_consistent_asks_for_the_one_surrogate_of_an_entity():
    assert consistent(MENTIONS, setting()) == [0] * 400


def test_random_asks_for_another_surrogate_each_time():
    variants = randomized(MENTIONS, setting())
    assert len(set(variants)) == 400
    assert 0 not in variants


def test_random_does_not_repeat_itself_in_another_note_of_the_patient():
    assert not set(randomized(MENTIONS, setting())) & set(randomized(MENTIONS, setting(note="other")))


def test_random_choices_depend_on_the_key():
    other = ProjectKey(bytes(range(1, 33))).patient("17")
    assert randomized(MENTIONS, setting()) == randomized(MENTIONS, setting())
    assert randomized(MENTIONS, setting()) != randomized(MENTIONS, setting(key=other))


def changes(variants):
    return sum(a != b for a, b in pairwise(variants))


def test_a_chain_changes_with_its_probability():
    assert changes(markov(MENTIONS, setting(), p=0.0)) == 0
    assert changes(markov(MENTIONS, setting(), p=1.0)) == 399
    assert 20 < changes(markov(MENTIONS, setting(), p=0.1)) < 60


def test_a_chain_never_comes_back_to_a_surrogate_it_left():
    variants = markov(MENTIONS, setting(), p=0.3)
    runs = [b for a, b in zip([None, *variants], variants, strict=False) if a != b]
    assert len(runs) == len(set(runs)) > 50


def test_each_entity_has_a_chain_of_its_own():
    entities = [1, 2] * 200
    both = markov(MENTIONS, setting(entities=entities), p=0.2)
    alone = markov(MENTIONS[:200], setting(MENTIONS[:200]), p=0.2)
    assert both[::2] == alone
    assert both[1::2] != alone


@given(st.floats(min_value=0, max_value=1))
def test_a_chain_begins_with_the_consistent_surrogate(p):
    assert markov(MENTIONS[:1], setting(MENTIONS[:1]), p=p) == [0]


def test_keep_and_tag_say_what_is_written():
    mentions = [Mention("Soria", "CITY"), Mention("Ana", "PATIENT")]
    assert keep(mentions, setting(mentions)) == [Replacement("Soria", "keep"), Replacement("Ana", "keep")]
    assert tag(mentions, setting(mentions)) == [Replacement("[CITY]", "tag"), Replacement("[PATIENT]", "tag")]


def test_generalize_makes_coarser_what_can_be_and_asks_for_a_surrogate_else():
    texts = {"93 años": "AGE", "53 años": "AGE", "12 de mayo": "DATE", "x": "URL"}
    mentions = [Mention(text, label) for text, label in texts.items()]
    assert generalize(mentions, setting(mentions)) == [
        Replacement("90+", "generalize"),
        Replacement("53 años", "keep"),
        0,
        0,
    ]


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_numbers_that_are_no_probability_are_refused(p):
    with pytest.raises(ConfigError, match="between 0 and 1"):
        check_probability(p)


def test_a_replacement_does_not_show_what_was_kept():
    assert "Soria" not in repr(keep([Mention("Soria", "CITY")], setting()))


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
