"""Figures by letter, against a table that was computed on paper."""

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity, evaluate
from spacy_deid.evaluation.per_document import COLUMNS, RATES, format_csv, measure_documents

# Letters and digits:      4    3   3     6                3   1 1  4    4   2        4    6         3  2
TEXTS = {"a": "Frau Ana Rey hustet", "b": "Ulm, 3.4.2020, Puls 72", "c": "Kein Befund", "d": "Tel. 55"}
GOLD = {"a": [("Ana Rey", "PATIENT")], "b": [("Ulm", "CITY"), ("3.4.2020", "DATE")], "c": [], "d": [("55", "PHONE")]}
PRED = {
    "a": [("Ana Rey", "PATIENT")],
    "b": [("Ulm", "HOSPITAL"), ("2020", "DATE"), ("72", "AGE")],
    "c": [("Kein", "DATE")],
    "d": [],
}


def corpus(found: dict) -> list[AnnotatedText]:
    spans = {name: [(TEXTS[name].index(quote), quote, label) for quote, label in row] for name, row in found.items()}
    return [
        AnnotatedText(
            name, TEXTS[name], tuple(Entity(start, start + len(quote), label) for start, quote, label in row)
        )
        for name, row in spans.items()
    ]


@pytest.fixture(scope="module")
def result():
    return measure_documents(corpus(GOLD), corpus(PRED))


#              tp fp fn tn  accuracy recall  precision specificity fpr   fnr
BY_HAND = {
    "a": (6, 0, 0, 10, 16 / 16, 6 / 6, 6 / 6, 10 / 10, 0 / 10, 0 / 6),
    "b": (7, 2, 2, 4, 11 / 15, 7 / 9, 7 / 9, 4 / 6, 2 / 6, 2 / 9),
    "c": (0, 4, 0, 6, 6 / 10, None, 0 / 4, 6 / 10, 4 / 10, None),
    "d": (0, 0, 2, 3, 3 / 5, 0 / 2, None, 3 / 3, 0 / 3, 2 / 2),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_each_letter_is_as_computed_by_hand(result, name):
    (row,) = [row for row in result["rows"] if row["document"] == name]
    found = [row[key] for key in ("tp", "fp", "fn", "tn", *RATES)]
    assert found == [value if value is None else pytest.approx(value) for value in BY_HAND[name]]


def test_micro_figures_are_as_computed_by_hand(result):
    # 13 + 6 + 4 + 23 = 46 letters and digits
    assert result["micro"] == {"tp": 13, "fp": 6, "fn": 4, "tn": 23} | {
        "accuracy": pytest.approx(36 / 46),
        "recall": pytest.approx(13 / 17),
        "precision": pytest.approx(13 / 19),
        "specificity": pytest.approx(23 / 29),
        "fpr": pytest.approx(6 / 29),
        "fnr": pytest.approx(4 / 17),
    }


@pytest.mark.parametrize(
    ("rate", "mean", "std", "median", "documents"),
    [
        # 1, .7333, .6, .6
        ("accuracy", 0.733333, 0.188562, 0.666667, 4),
        # 1, .7778, 0; letter c has nothing to find
        ("recall", 0.592593, 0.525090, 0.777778, 3),
        # 1, .7778, 0; in letter d nothing was found
        ("precision", 0.592593, 0.525090, 0.777778, 3),
        # 1, .6667, .6, 1
        ("specificity", 0.816667, 0.213437, 0.833333, 4),
        ("fpr", 0.183333, 0.213437, 0.166667, 4),
        # 0, .2222, 1
        ("fnr", 0.407407, 0.525090, 0.222222, 3),
    ],
)
def test_macro_figures_are_as_computed_by_hand(result, rate, mean, std, median, documents):
    expected = {"mean": mean, "std": std, "median": median, "documents": documents}
    assert result["macro"][rate] == pytest.approx(expected, abs=1e-6)


def test_confusion_counts_letters_and_digits(result):
    assert result["confusion"] == {
        "": {"": 23, "AGE": 2, "DATE": 4},
        "CITY": {"HOSPITAL": 3},
        "DATE": {"": 2, "DATE": 4},
        "PATIENT": {"PATIENT": 6},
        "PHONE": {"": 2},
    }


def test_letters_without_a_miss_are_counted_by_label(result):
    def row(characters, missed, documents, without_miss, recall):
        counts = {"characters": characters, "missed": missed, "documents": documents, "without_miss": without_miss}
        return counts | {"recall": pytest.approx(recall)}

    assert result["labels"] == {
        "CITY": row(3, 0, 1, 1, 1),
        "DATE": row(6, 2, 1, 0, 4 / 6),
        "PATIENT": row(6, 0, 1, 1, 1),
        "PHONE": row(2, 2, 1, 0, 0),
    }


def test_the_letter_that_misses_the_largest_share_comes_first_and_those_without_identifiers_last(result):
    assert [row["document"] for row in result["rows"]] == ["d", "b", "a", "c"]


def test_csv_has_a_line_a_letter(result):
    lines = list(csv.DictReader(format_csv(result["rows"]).splitlines()))
    assert tuple(lines[0]) == COLUMNS
    assert [line["document"] for line in lines] == ["d", "b", "a", "c"]
    assert (lines[1]["fn"], lines[1]["fnr"], lines[1]["missed"]) == ("2", "0.222222", "DATE:2")
    assert (lines[3]["recall"], lines[3]["missed"]) == ("", "")


def test_figures_agree_with_those_of_evaluate(result):
    figures = evaluate(corpus(GOLD), corpus(PRED), bootstrap=0)["all"]["character"]
    assert [result["micro"][name] for name in ("tp", "fp", "fn")] == [figures[name] for name in ("tp", "fp", "fn")]
    assert result["micro"]["recall"] == pytest.approx(figures["recall"])


def test_where_entities_overlap_the_longest_counts_in_the_confusion():
    text = "Ana Rey"
    both = [AnnotatedText("a", text, (Entity(0, 7, "PATIENT"), Entity(4, 7, "CITY")))]
    assert measure_documents(both, both)["confusion"] == {"PATIENT": {"PATIENT": 6}}


def test_labels_are_compared_in_the_scheme():
    gold, pred = (
        [AnnotatedText("a", "Ulm", (Entity(0, 3, "TERRITORY"),))],
        [AnnotatedText("a", "Ulm", (Entity(0, 3, "CITY"),))],
    )
    assert measure_documents(gold, pred, scheme="grascco")["confusion"] == {"LOCATION_CITY": {"LOCATION_CITY": 3}}


def test_nothing_but_rows_names_documents(result):
    named = [AnnotatedText("wenzel", "Ana", (Entity(0, 3, "PATIENT"),))]
    measured = measure_documents(named, named)
    assert measured.pop("rows")
    assert "wenzel" not in json.dumps(measured)


@pytest.mark.parametrize("documents", [[], [AnnotatedText("a", "")], [AnnotatedText("a", " \n")]])
def test_nothing_to_count_defines_no_rate(documents):
    found = measure_documents(documents, documents)
    assert [found["micro"][rate] for rate in RATES] == [None] * 6
    assert found["macro"]["recall"] == {"mean": None, "std": None, "median": None, "documents": 0}


def test_letters_that_do_not_pair_are_an_error():
    with pytest.raises(InputError, match="must contain the same documents"):
        measure_documents(corpus(GOLD), corpus(PRED)[1:])


spans = st.lists(st.tuples(st.integers(0, 18), st.integers(1, 19), st.sampled_from(["PATIENT", "DATE", "CITY"])))


@given(gold=spans, pred=spans)
def test_every_letter_and_digit_is_counted_once(gold, pred):
    sides = [
        [AnnotatedText("a", TEXTS["a"], tuple(Entity(s, e, label) for s, e, label in side if s < e))]
        for side in (gold, pred)
    ]
    found = measure_documents(*sides)
    assert sum(found["micro"][name] for name in ("tp", "fp", "fn", "tn")) == 16
    assert sum(sum(row.values()) for row in found["confusion"].values()) == 16
    assert found["confusion"].get("", {}).get("", 0) == found["micro"]["tn"]
