"""What a reviewer decides, and that nothing else changes with it."""

import pytest

import spacy_deid
from spacy_deid import Deidentifier
from spacy_deid.app.processing import apply_decision, reviewed_evidence, update_actions
from spacy_deid.policies import Policy

TEXT = "Vive en Lugo con Alba. Enfermedad de Parkinson."
TOWN, NAME, EPONYM = (8, 12), (17, 21), (37, 46)


def span(place, label, action="replace", evidence=(), **more):
    said = [{"start": place[0], "end": place[1], "label": name, "source": "deid_ner"} for name in evidence]
    return {"start": place[0], "end": place[1], "label": label, "action": action, "evidence": said, **more}


@pytest.fixture(scope="module")
def nlp():
    loaded = spacy_deid.load("es")
    loaded.get_pipe("deid_surrogate").set_policy("safe_harbor")
    return loaded


def after(nlp, *spans):
    return Deidentifier(nlp).release(TEXT, reviewed_evidence(spans)).text


def test_disputed_spans_stay_replaced_after_other_decisions(nlp):
    assert "Lugo" in after(nlp, span(TOWN, "STATE", "keep", ["STATE"]), span(NAME, "PATIENT"))
    disputed = span(TOWN, "STATE", evidence=["STATE", "PATIENT"])
    assert "Lugo" not in after(nlp, disputed, span(NAME, "PATIENT", reviewed="released"))


def test_decisions_of_the_reviewer_win(nlp):
    assert "Lugo" in after(nlp, span(TOWN, "STATE", evidence=["PATIENT"], reviewed="relabelled"))
    assert "[CLINICIAN]" in after(nlp, span(NAME, "CLINICIAN", evidence=["PATIENT"]))


def test_undecided_names_are_not_released_by_a_review(nlp):
    surrogate = nlp.get_pipe("deid_surrogate")
    before = surrogate.policy
    surrogate.set_policy(Policy("own", "replace", {"CLINICIAN": "keep"}))
    try:
        assert "Alba" not in after(nlp, span(NAME, "CLINICIAN", evidence=["CLINICIAN"]))
        assert "Alba" in after(nlp, span(NAME, "CLINICIAN", evidence=["PATIENT"], reviewed="relabelled"))
    finally:
        surrogate.set_policy(before)


def test_overlapping_detection_does_not_cover_a_released_span(nlp):
    wide = {"start": TOWN[0], "end": NAME[1], "label": "PATIENT", "source": "deid_ner"}
    name = {**span(NAME, "PATIENT"), "evidence": [wide]}
    released = {**span(TOWN, "CITY", reviewed="released"), "evidence": [wide]}
    assert after(nlp, released, name) == "Vive en Lugo con [PATIENT]. Enfermedad de Parkinson."


def test_recovered_terms_stay_unless_the_reviewer_decides(nlp):
    medical = span(EPONYM, "PATIENT", "recover", ["PATIENT"])
    assert "Parkinson" in after(nlp, medical, span(NAME, "PATIENT"))
    assert "Parkinson" not in after(nlp, {**medical, "reviewed": "relabelled"})
    assert [row["action"] for row in update_actions([medical], [])] == ["recover"]


def test_undone_decision_restores_the_span():
    spans = [span(NAME, "PATIENT")]
    for decision in (("release", ""), ("relabel", "CLINICIAN")):
        assert (
            apply_decision(apply_decision(spans, decision[0], *NAME, decision[1], 99), "restore", *NAME, "", 99)
            == spans
        )
    assert apply_decision(apply_decision(spans, "add", *TOWN, "CITY", 99), "restore", *TOWN, "", 99) == spans
