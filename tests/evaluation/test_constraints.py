"""Conformal risk control."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError
from spacy_deid.evaluation.constraints import bounded_risk, control_risk, needed_documents


@pytest.mark.parametrize(("alpha", "needed"), [(0.5, 1), (0.1, 9), (0.05, 19), (0.01, 99), (0.001, 999), (0.03, 33)])
def test_as_many_documents_are_needed_as_the_inequality_says(alpha, needed):
    assert needed_documents(alpha) == needed
    assert 1 / (needed + 1) <= alpha + 1e-12
    assert needed == 1 or 1 / needed > alpha


def test_too_few_documents_are_refused_with_the_number_that_is_needed():
    with pytest.raises(ConfigError, match=r"too few documents for a risk bound of 0.05: got 18, need at least 19"):
        control_risk(np.zeros((3, 18)), 0.05)
    assert control_risk(np.zeros((3, 19)), 0.05) == 0


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 2])
def test_a_bound_that_is_no_share_is_refused(alpha):
    with pytest.raises(ConfigError, match="greater than 0 and less than 1"):
        needed_documents(alpha)


def test_the_smallest_setting_that_keeps_the_bound_is_taken():
    losses = np.zeros((4, 99))
    losses[0, :20], losses[1, :9], losses[2, :5] = 1.0, 1.0, 1.0
    assert bounded_risk(losses) == pytest.approx([0.21, 0.10, 0.06, 0.01])
    assert [control_risk(losses, alpha) for alpha in (0.5, 0.1, 0.06, 0.02)] == [0, 1, 2, 3]


def test_no_setting_is_none():
    assert control_risk(np.ones((2, 50)), 0.1) is None


def test_a_loss_that_rises_again_counts_as_if_it_had_not_fallen():
    losses = np.zeros((3, 99))
    losses[0, :20], losses[2, :20] = 1.0, 1.0
    assert control_risk(losses, 0.1) is None


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=20, max_size=30), st.floats(0.06, 0.9))
def test_the_bound_holds_from_the_chosen_setting_on(documents, alpha):
    losses = np.array(documents).T
    chosen = control_risk(losses, alpha)
    risks = bounded_risk(losses)
    assert np.all(np.diff(risks) <= 1e-12)
    assert chosen is None or np.all(losses[chosen:].mean(axis=1) <= alpha)


def test_the_expected_loss_on_a_new_document_keeps_the_bound():
    """Theorem 1 by simulation: document hardness is uniform, setting k misses what is harder than it reaches."""
    generator, settings, alpha, runs = np.random.default_rng(1), np.linspace(0.5, 1.0, 51), 0.1, 2000
    total = 0.0
    for _ in range(runs):
        hardness = generator.uniform(size=41)
        losses = (hardness[None, :] > settings[:, None]).astype(float)
        chosen = control_risk(losses[:, :40], alpha)
        total += losses[chosen, 40]
    assert 0.05 < total / runs <= alpha + 2 * np.sqrt(alpha / runs)
