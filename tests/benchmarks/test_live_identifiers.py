"""No surrogate of any kind of identifier can be issued to a person."""

import pytest

from benchmarks.live_identifiers import KINDS, draw


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_surrogate_of_a_kind_can_be_issued(kind):
    made = draw(kind, 200)
    assert len(made) == 200
    assert len(set(made)) >= 10  # a personnummer has ten test numbers for each sex
    assert not any(map(kind.is_live, made))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "error" not in kind.name], ids=lambda kind: kind.name)
def test_the_judge_of_a_kind_takes_its_original_for_a_live_number(kind):
    assert kind.is_live(kind.text)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_none_of_ten_thousand_surrogates_of_a_kind_can_be_issued(kind):
    made = draw(kind, 10_000)
    assert len(made) == 10_000
    assert not any(map(kind.is_live, made))
