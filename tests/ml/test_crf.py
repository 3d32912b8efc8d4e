"""The CRF against brute force over all legal paths."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.ml import crf


@st.composite
def span_lists(draw):
    length = draw(st.integers(1, 30))
    edges = sorted(draw(st.sets(st.integers(0, length), max_size=10)))
    pairs = list(zip(edges[::2], edges[1::2], strict=False))
    return length, [(start, end, draw(st.integers(0, 3))) for start, end in pairs]


@given(span_lists())
def test_decoding_undoes_encoding(case):
    length, spans = case
    assert crf.decode_tags(crf.encode_tags(spans, length)) == spans


def test_single_tokens_and_longer_spans_get_their_tags():
    tags = crf.encode_tags([(0, 1, 0), (2, 5, 1)], 6)
    assert tags.tolist() == [4, 0, 5, 6, 7, 0]


def test_no_spans_give_outside_tags_only():
    assert not np.any(crf.encode_tags([], 4))
    assert crf.decode_tags(np.zeros(4, dtype=np.int32)) == []


LABELS = 2
TAGS = crf.n_tags(LABELS)


def is_legal(path):
    inside = None
    for tag in path:
        label, place = divmod(tag - 1, 4) if tag else (None, None)
        if inside is None:
            if place in (1, 2):
                return False
            inside = label if place == 0 else None
        elif label != inside or place not in (1, 2):
            return False
        elif place == 2:
            inside = None
    return inside is None


def all_paths(length):
    return [path for path in itertools.product(range(TAGS), repeat=length) if is_legal(path)]


def path_score(emission, path):
    return sum(float(emission[t, tag]) for t, tag in enumerate(path))


@pytest.fixture(params=[1, 2, 3, 4])
def emissions(request):
    rng = np.random.default_rng(request.param)
    return (rng.normal(size=(3, request.param, TAGS)) * 3).astype(np.float32)


def test_viterbi_finds_the_best_legal_path(emissions):
    for emission, path in zip(emissions, crf.viterbi(emissions), strict=True):
        best = max(all_paths(len(emission)), key=lambda p: path_score(emission, p))
        assert tuple(path) == best


def test_marginals_equal_the_sum_over_legal_paths(emissions):
    posterior = crf.marginals(emissions)
    for b, emission in enumerate(emissions):
        expected, total = np.zeros(emission.shape), 0.0
        for path in all_paths(len(emission)):
            weight = np.exp(path_score(emission, path))
            total += weight
            expected[np.arange(len(path)), path] += weight
        np.testing.assert_allclose(posterior.probs[b], expected / total, atol=1e-5)
        assert posterior.log_z[b] == pytest.approx(np.log(total), rel=1e-5)


def test_padding_changes_nothing(emissions):
    longer = np.concatenate([emissions[0], emissions[1]])
    padded, lengths = crf.pad([emissions[0], longer])
    assert list(lengths) == [len(emissions[0]), len(longer)]
    alone, together = crf.marginals(emissions[:1]), crf.marginals(padded)
    np.testing.assert_allclose(together.probs[0, : lengths[0]], alone.probs[0], atol=1e-5)
    np.testing.assert_array_equal(crf.viterbi(padded)[0, : lengths[0]], crf.viterbi(emissions[:1])[0])


def test_gradient_of_the_partition_is_the_posterior():
    rng = np.random.default_rng(0)
    emission = rng.normal(size=(1, 3, TAGS)).astype(np.float32)
    posterior = crf.marginals(emission)
    step = 1e-2
    for t, tag in [(0, 0), (1, 3), (2, 8)]:
        up, down = emission.copy(), emission.copy()
        up[0, t, tag] += step
        down[0, t, tag] -= step
        slope = (crf.marginals(up).log_z[0] - crf.marginals(down).log_z[0]) / (2 * step)
        assert slope == pytest.approx(posterior.probs[0, t, tag], abs=2e-3)


@pytest.mark.parametrize("tags", [[0, 0, 1], [2, 2], [0, 2, 2, 0], [1, 1, 1], [4, 3]], ids=str)
def test_an_illegal_path_that_leads_by_far_leaves_probabilities_to_the_legal_ones(tags):
    emission = np.full((1, len(tags), TAGS), -200.0, dtype=np.float32)
    emission[0, range(len(tags)), tags] = 200.0
    posterior = crf.marginals(emission)
    assert np.isfinite(posterior.probs).all()
    assert posterior.probs.sum(axis=2) == pytest.approx(1.0)


def test_strong_scores_do_not_underflow():
    emission = np.full((1, 400, TAGS), -80.0, dtype=np.float32)
    emission[:, :, 0] = 80.0
    posterior = crf.marginals(emission)
    assert np.isfinite(posterior.probs).all()
    assert posterior.probs[0, :, 0].min() == pytest.approx(1.0)
    assert not crf.viterbi(emission).any()
