import numpy as np
import pytest

from spacy_deid.errors import NotDeidentified
from spacy_deid.ml import crf
from spacy_deid.ml.decoding import Calibration, choose_spans, decode_spans, read_posteriors

B, E, S = 1, 3, 4  # tags of label 0


def emission(*rows):
    """One row of scores a token: {tag: score}, all else 0, O by default 5."""
    out = np.zeros((len(rows), crf.n_tags(2)), dtype=np.float32)
    out[:, 0] = 5.0
    for i, row in enumerate(rows):
        for tag, score in row.items():
            out[i, tag] = score
    return out


def spans(scores, threshold=0.5):
    return [span[:3] for span in decode_spans([scores], threshold, Calibration(), Calibration())[0]]


def test_best_path_gives_the_edges():
    assert spans(emission({}, {B: 12}, {E: 12}, {}, {S: 12})) == [(1, 3, 0), (4, 5, 0)]


def test_lower_threshold_adds_uncertain_tokens_and_keeps_the_sure_edges():
    scores = emission({B: 12}, {E: 12}, {}, {S: 4}, {})
    assert spans(scores) == [(0, 2, 0)]
    assert spans(scores, 0.2) == [(0, 2, 0), (3, 4, 0)]


def test_higher_threshold_takes_unsure_spans_away():
    scores = emission({S: 12}, {}, {S: 5.5})
    assert spans(scores) == [(0, 1, 0), (2, 3, 0)]
    assert spans(scores, 0.9) == [(0, 1, 0)]


@pytest.mark.parametrize("thresholds", [(0.9, 0.5), (0.5, 0.3), (0.3, 0.05), (0.05, 0.001)])
def test_lower_threshold_never_uncovers_a_token(thresholds):
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(300, crf.n_tags(2))).astype(np.float32) * 2
    scores[:, 0] += 4
    high, low = (
        {i for s, e, *_ in decode_spans([scores], t, Calibration(), Calibration())[0] for i in range(s, e)}
        for t in thresholds
    )
    assert high
    assert high <= low


def test_long_sequences_give_the_same_spans_as_short_ones():
    short = emission({}, {B: 12}, {E: 12}, {}, {S: 12}, {})
    whole = spans(np.concatenate([short] * 300))
    assert whole == [(6 * i + s, 6 * i + e, label) for i in range(300) for s, e, label in [(1, 3, 0), (4, 5, 0)]]


def test_scores_are_calibrated():
    (raw,), (flat,) = (
        decode_spans([emission({S: 8})], 0.5, Calibration(), c)[0] for c in (Calibration(), Calibration(0.5, 0.0))
    )
    assert 0.5 < flat[3] < raw[3] <= 1.0


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(("high", "low"), [(0.9, 0.4), (0.4, 0.05), (0.05, 0.001)])
def test_lower_threshold_of_one_label_never_uncovers_a_token(label, high, low):
    rng = np.random.default_rng(7)
    scores = rng.normal(size=(300, crf.n_tags(2))).astype(np.float32) * 2
    scores[:, 0] += 4
    (posterior,) = read_posteriors([scores])
    covered = []
    for threshold in (high, low):
        both = [0.3, 0.3]
        both[label] = threshold
        found = choose_spans(posterior, both, Calibration(), Calibration())
        covered.append({i for s, e, *_ in found for i in range(s, e)})
    assert covered[0] < covered[1]


def test_a_label_can_be_looked_for_harder_than_the_others():
    scores = emission({S: 4}, {}, {S + 4: 4})
    (posterior,) = read_posteriors([scores])
    found = [choose_spans(posterior, t, Calibration(), Calibration()) for t in ([0.2, 0.45], [0.45, 0.2], 0.2)]
    assert [[span[:3] for span in spans] for spans in found] == [[(0, 1, 0)], [(2, 3, 1)], [(0, 1, 0), (2, 3, 1)]]


def test_nothing_is_found_in_nothing():
    (posterior,) = read_posteriors([np.zeros((0, crf.n_tags(2)), dtype=np.float32)])
    assert choose_spans(posterior, 0.01, Calibration(), Calibration()) == []


def test_scores_that_are_no_numbers_are_no_text():
    with pytest.raises(NotDeidentified, match="NaN or infinite"):
        read_posteriors([np.full((3, 5), np.nan, dtype=np.float32)])
