import numpy as np
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
