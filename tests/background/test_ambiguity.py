"""What is common in a background corpus is ambiguous; names may be commoner, and words that are names less common."""

import pickle

import pytest

from spacy_deid.background.counts import LIMIT, Ambiguity, common_words, count_phrases

TEXTS = ["primary care and green tea", "the zebra"] + ["common words of the garcia and the rosa are here"] * 4
COUNTS = count_phrases(TEXTS)


@pytest.mark.parametrize(
    ("phrase", "limit", "common"),
    [
        ("common words", 50_000, True),
        ("common words", 500_000, False),
        ("garcia", 50_000, False),
        ("garcia", 1_000, True),
        ("rosa", 500_000, True),
        ("of the", 1e6, True),
        ("zarzaquemada", 0.0, False),
    ],
)
def test_limits(phrase, limit, common):
    assert Ambiguity(COUNTS, limit).is_common(phrase) == common


def test_without_counts_function_words_and_short_names_are_ambiguous_alone():
    words = Ambiguity(None)
    assert [words.is_common(word) for word in ("de la", "zebra")] == [True, False]
    assert [words.is_weak_name(word) for word in ("ng", "de", "a ng", "zebra", "a. ng")] == [
        True,
        True,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("form", "weak"),
    [
        ("rosa", True),
        ("rosa zebra", False),
        ("r. rosa", False),
        ("rosa, r.", False),
        ("r rosa", True),
        ("zarza", False),
    ],
)
def test_forms_of_names(form, weak):
    assert Ambiguity(COUNTS).is_weak_name(form) == weak


@pytest.mark.parametrize(("lang", "word"), [("es", "dolor"), ("en", "patient"), ("fi", "potilas")])
def test_counts_that_ship_know_the_words_of_their_language(lang, word):
    assert common_words(lang)(word)
    assert not common_words(lang)("zarzaquemada")
    assert Ambiguity.of(lang).limit == LIMIT


def test_a_language_without_counts_has_function_words_alone():
    assert Ambiguity.of("xx").counts is None


def test_answers_are_not_pickled():
    words = Ambiguity(COUNTS)
    words.is_weak_name("zarzaquemada")
    data = pickle.dumps(words)
    assert b"zarzaquemada" not in data
    assert pickle.loads(data).is_common("common words")
