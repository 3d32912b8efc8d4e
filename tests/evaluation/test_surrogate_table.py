"""The measures of surrogates: values by hand, and what holds for all texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_deid.evaluation.surrogate_table import (
    Pair,
    bert_score,
    diversities,
    format_surrogate_table,
    ngram_diversity,
    ngram_similarity,
    ngrams,
    surrogate_figures,
)

texts = st.text(alphabet="abcá Ñ-1", max_size=12)
matrices = st.integers(1, 4).flatmap(
    lambda n: arrays(np.float64, (n, 3), elements=st.floats(-5, 5, allow_subnormal=False))
)


def test_ngrams_are_distinct_and_a_short_text_is_its_own():
    assert ngrams("banana", 2) == {"ba", "an", "na"}
    assert ngrams("ab", 3) == {"ab"}
    assert ngrams("", 3) == frozenset()


def test_similarity_is_the_share_of_common_ngrams():
    # Mar ari ria, and Mar ari ril ilu: two of five
    assert ngram_similarity("Maria", "Marilu", 3) == pytest.approx(2 / 5)
    assert ngram_similarity("Ana", "Eva", 2) == 0.0


def test_diversity_is_one_less_the_mean_similarity_of_pairs():
    # (Maria, Marilu) 2/5, the other two pairs 0: the mean is 2/15
    assert ngram_diversity(["Maria", "Marilu", "Eskoz"]) == pytest.approx(1 - 2 / 15)


def test_diversity_of_copies_is_zero_and_of_one_text_one():
    assert ngram_diversity(["Eva", "Eva", "Eva"]) == pytest.approx(0.0)
    assert ngram_diversity(["", ""]) == pytest.approx(0.0)
    assert ngram_diversity(["Eva"]) == 1.0


@given(st.lists(texts, min_size=2, max_size=8), st.integers(1, 3))
def test_diversity_is_what_all_pairs_one_by_one_give(output, n):
    sims = [ngram_similarity(a, b, n) for i, a in enumerate(output) for b in output[:i]]
    assert ngram_diversity(output, n) == pytest.approx(1 - sum(sims) / len(sims))


@given(texts, texts, st.integers(1, 3))
def test_similarity_is_symmetric_within_bounds_and_one_for_itself(first, second, n):
    value = ngram_similarity(first, second, n)
    assert 0.0 <= value <= 1.0
    assert value == ngram_similarity(second, first, n)
    assert ngram_similarity(first, first, n) == 1.0


def test_bert_score_by_hand():
    reference = np.array([[1.0, 0.0], [0.0, 2.0]])
    candidate = np.array([[3.0, 0.0]])
    # the only token of the candidate is found; of the reference one of two is
    assert bert_score(reference, candidate) == pytest.approx((1.0, 0.5, 2 / 3))


def test_bert_score_without_tokens_is_zero():
    assert bert_score(np.zeros((0, 2)), np.ones((1, 2))) == (0.0, 0.0, 0.0)


@given(matrices, matrices)
def test_bert_score_swaps_precision_and_recall_with_the_texts(first, second):
    p, r, f = bert_score(first, second)
    assert bert_score(second, first) == pytest.approx((r, p, f))
    assert max(abs(p), abs(r)) <= 1 + 1e-9


@given(matrices)
def test_bert_score_of_a_text_with_itself_is_one(rows):
    rows = rows + np.where(np.abs(rows).max(axis=1, keepdims=True) < 1e-6, 1.0, 0.0)  # a token has an embedding
    assert bert_score(rows, rows) == pytest.approx((1.0, 1.0, 1.0))


def test_figures_by_hand():
    pairs = [Pair("Ana", "Eva"), Pair("Maria", "Marilu"), Pair("Iru", "IRU"), Pair("x", None), Pair("yz", " ")]
    figures = surrogate_figures(pairs)
    assert figures == pytest.approx(
        {
            "mentions": 5,
            "original length": (3 + 5 + 3 + 2) / 4,
            "surrogate length": (3 + 6 + 3 + 1) / 4,
            "Levenshtein distance": (2 + 2 + 2 + 2) / 4,
            "Levenshtein ratio": (1 / 3 + 4 / 6 + 1 / 3 + 0) / 4,
            "bigram similarity": (0 + 3 / 6 + 0 + 0) / 4,
            "trigram similarity": (0 + 2 / 5 + 0 + 0) / 4,
            "trigram diversity": 1.0,
            "trigram diversity, words": 1.0,
            "empty": 1 / 5,
            "same": 1 / 5,
            "out of dictionary": 1 / 5,
        },
        abs=1e-12,
    )


def test_diversity_takes_each_original_once():
    repeated = [Pair("Ana", "Eva")] * 5 + [Pair("Iru", "Olga")]
    assert surrogate_figures(repeated)["trigram diversity"] == 1.0


def test_figures_have_the_bert_score_if_there_are_embeddings():
    figures = surrogate_figures(
        [Pair("ab", "ba"), Pair("ab", "cd")], lambda text: np.eye(4)[["abcd".index(c) for c in text]]
    )
    assert figures["BERTScore F1"] == pytest.approx(0.5)
    assert "BERTScore F1" not in surrogate_figures([Pair("ab", "ba")])


def test_outputs_without_surrogates_have_no_distances():
    assert surrogate_figures([]) == {"mentions": 0}
    assert surrogate_figures([Pair("Ana", None)]) == {"mentions": 1, "empty": 0, "same": 0, "out of dictionary": 1}


@given(st.lists(st.tuples(texts, st.none() | texts).map(lambda pair: Pair(*pair)), min_size=1, max_size=8))
def test_shares_and_similarities_are_within_zero_and_one(pairs):
    figures = surrogate_figures(pairs)
    bounded = {name: v for name, v in figures.items() if not name.endswith(("length", "distance", "mentions"))}
    assert bounded
    assert all(-1e-12 <= value <= 1 + 1e-12 for value in bounded.values())


def test_a_pair_does_not_show_its_texts():
    assert "Zacarías" not in repr(Pair("Zacarías", "Zacarías"))


def test_the_table_has_a_column_for_each_strategy():
    table = format_surrogate_table({"consistent": {"mentions": 12.0, "same": 0.25}, "markov(0.1)": {"mentions": 3.0}})
    assert [line.split() for line in table.splitlines()] == [
        ["consistent", "markov(0.1)"],
        ["mentions", "12", "3"],
        ["same", "0.2500", "-"],
    ]


def test_words_are_told_apart_from_the_texts_that_hold_them():
    # "Ana Gil" and "Ana Ros" share ana, "na " and nothing else; of the four words two are the same
    found = diversities(["Ana Gil", "Ana Ros"])
    texts = ngram_similarity("Ana Gil", "Ana Ros", 3)
    assert found == {"trigram diversity": pytest.approx(1 - texts), "trigram diversity, words": pytest.approx(5 / 6)}
