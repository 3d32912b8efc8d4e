"""The measures of `benchmarks.membership`: canaries that score like others, and canaries that stand out."""

from random import Random

import numpy as np
import pytest

from benchmarks.membership import area, exposure, make_names, plant
from spacy_deid.evaluation import AnnotatedText


def test_names_are_different_and_the_same_for_the_same_seed():
    names = make_names(200, Random(1))
    assert len(set(names)) == 200
    assert names == make_names(200, Random(1))
    assert all(len(name.split()) == 2 for name in names)


@pytest.mark.parametrize("number", range(3))
def test_a_planted_name_is_marked_where_it_stands(number: int):
    note = plant(AnnotatedText("a", "Acude por tos."), "Zylo Quarsk", number)
    assert [note.text[e.start : e.end] for e in note.entities] == ["Zylo Quarsk"] * 2


def test_canaries_like_others_have_an_area_of_one_half_and_those_above_all_of_one():
    others = np.arange(7.0)
    assert area(others, others) == 0.5
    assert area(np.array([9.0, 8.0]), others) == 1.0
    assert area(np.array([-1.0]), others) == 0.0


def test_exposure_is_greatest_for_the_highest_rank():
    others = np.arange(7.0)
    assert exposure(np.array([9.0]), others) == 3.0
    assert exposure(np.array([-1.0]), others) == 0.0
