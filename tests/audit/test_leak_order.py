"""Ranking of notes by expected leak."""

import json

import pytest
import spacy
from pipeline.scoring import make, scored

from spacy_deid.audit.leak_order import LeakRisk, assess_leak, order_by_leak
from spacy_deid.errors import NotDeidentified
from spacy_deid.spans import Evidence, write_evidence

TEXT = "Today the mayor saw Kontiomaa, the wife of Wilmer, in Parkano."


@pytest.fixture(scope="module")
def nlp():
    return make(at_least=3, surrogate=False)


def assess(nlp, *flags, **scores):
    return assess_leak(nlp(scored(nlp, TEXT, *flags, probability=False, **scores)))


def test_surprising_words_raise_the_expected_leak(nlp):
    assert assess(nlp).expected == 0
    assert assess(nlp, Wilmer=1.1).surprisal == pytest.approx(1.0)  # eleven words, ten nats for each unit of the score
    assert assess(nlp, Wilmer=1.1, Parkano=1.1).expected == pytest.approx(2.0)
    assert assess(nlp, Wilmer=100).surprisal == pytest.approx(40 / 11)


def test_detected_words_do_not_raise_the_expected_leak(nlp):
    held = assess(nlp, ("Wilmer", "PERSON", "model", 1.0), Wilmer=1.0, Parkano=1.0)
    assert held == LeakRisk(0, 1.0, 0)


def test_low_scores_raise_the_expected_leak(nlp):
    sure = assess(nlp, ("Kontiomaa", "PERSON", "model", 1.0), Wilmer=0.5)
    unsure = assess(nlp, ("Kontiomaa", "PERSON", "model", 0.6), Wilmer=0.5)
    assert (sure.disagreement, unsure.disagreement) == (0, pytest.approx(0.4))
    assert sure.expected < unsure.expected


def test_released_dictionary_matches_raise_the_expected_leak():
    nlp = make(recovery=True, surrogate=False, at_least=1)
    doc = nlp(scored(nlp, "Crohn's disease of Wilmer", ("Crohn", "PERSON"), Wilmer=0.5))
    assert assess_leak(doc).dictionary == 0
    assert assess_leak(doc, lists=["deid/flags"]).dictionary == 1


def test_a_note_without_its_patients_dictionary_comes_first(nlp):
    docs = [nlp(scored(nlp, TEXT, Wilmer=0.5)) for _ in range(3)]
    for doc, used in zip(docs, ["patient", "institution: no patient id", "institution"], strict=True):
        write_evidence(doc, "deid/ruler", [], dictionaries=used)
    assert [assess_leak(doc).dictionary for doc in docs] == [0, 1, 0]
    assert order_by_leak(docs) == [1, 0, 2]


def test_ranking_by_expected_leak_is_stable(nlp):
    docs = [nlp(scored(nlp, TEXT, Wilmer=value)) for value in (0.1, 0.9, 0.5, 0.9)]
    assert order_by_leak(docs) == [1, 3, 2, 0]
    assert order_by_leak([]) == []


def test_a_note_without_scores_is_refused(nlp):
    with pytest.raises(NotDeidentified, match="deid_merge"):
        assess_leak(spacy.blank("en")(TEXT))
    doc = spacy.blank("en")(TEXT)
    write_evidence(doc, "deid/merged", [Evidence(20, 29, "PERSON", "merge")])
    with pytest.raises(NotDeidentified, match="deid_surprisal"):
        assess_leak(doc)


def test_the_risk_contains_no_text(nlp):
    risk = assess(nlp, ("Kontiomaa", "PERSON"), Wilmer=0.5)
    assert "Wilmer" not in repr(risk) + json.dumps(risk.expected)
