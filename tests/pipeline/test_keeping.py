"""Names that a policy keeps: released only where their label is beyond doubt."""

import pytest
import spacy

import spacy_deid
from spacy_deid.policies import Policy
from spacy_deid.spans import Evidence, write_evidence
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import DISPUTED, OTHERWISE, UNSURE, find_other_labels
from spacy_deid.surrogates.strategies import keep
from spacy_deid.surrogates.style import SurrogateStyle

KEEP = Policy("own", "replace", {"CLINICIAN": "keep", "CITY": "keep"})
NAME = "Mohamed El Khattabi"
TEXT = f"Firma {NAME}. Khattabi acude. Vive Ana Mas."
SOURCES = ["deid/ner", "deid/patterns", "deid/ruler"]


def decided(*found, policy=KEEP, text=TEXT, **ehr):
    """A Doc with detections: words, label, source and, if they matter, score, rule and whether it is validated."""
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    doc = nlp.make_doc(text)
    doc._.ehr = ehr
    for key in SOURCES:
        places = [(text.rindex(words) if words == "Khattabi" else text.index(words), words, *r) for words, *r in found]
        write_evidence(doc, key, [Evidence(i, i + len(w), *rest) for i, w, *rest in places if rest[1] == key])
    nlp.add_pipe("deid_merge", config={"sources": SOURCES})(doc)
    nlp.add_pipe("deid_surrogate").set_policy(policy)
    return nlp.get_pipe("deid_surrogate")(doc)


def reason(doc):
    """Why the first name was not kept; None if it was."""
    (row,) = [row for row in doc._.deid_trace if row["start"] == TEXT.index(NAME)]
    assert (NAME in doc._.deid_text) == (row["action"] == "keep") == ("reason" not in row)
    return row.get("reason")


BY_NER = (NAME, "CLINICIAN", "deid/ner", 0.99)
BY_RULE = (NAME, "CLINICIAN", "deid/patterns", 1.0)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([BY_NER, BY_RULE], None),
        ([(NAME, "CLINICIAN", "deid/ruler", 1.0, "staff", True)], None),
        ([BY_NER, ("Mohamed", "CLINICIAN", "deid/ruler"), ("El Khattabi", "CLINICIAN", "deid/patterns")], None),
        ([BY_NER], UNSURE),
        ([BY_NER, ("Mohamed", "CLINICIAN", "deid/ruler", 1.0, "staff", True)], UNSURE),
        ([(*BY_NER[:3], 0.89), BY_RULE], UNSURE),
        ([BY_NER, BY_RULE, (NAME, "PATIENT", "deid/ruler")], DISPUTED),
        ([BY_NER, BY_RULE, ("Mohamed", "RELATIVE", "deid/ruler", 0.1)], DISPUTED),
        ([BY_NER, BY_RULE, ("Mohamed", "CITY", "deid/ruler")], DISPUTED),
        ([BY_NER, BY_RULE, ("Khattabi", "PATIENT", "deid/ner", 0.3)], OTHERWISE),
        ([BY_NER, BY_RULE, ("Khattabi", "RELATIVE", "deid/ruler", 1.0, "patient:patients.kin", True)], OTHERWISE),
        ([BY_NER, BY_RULE, ("Khattabi", "CLINICIAN", "deid/ner")], None),
        ([BY_NER, BY_RULE, ("Ana Mas", "PATIENT", "deid/ner")], None),
    ],
)
def test_a_name_is_kept_only_where_its_label_is_beyond_doubt(found, expected):
    assert reason(decided(*found)) == expected


@pytest.mark.parametrize(("name", "expected"), [("El Khattabi, Mohamed", OTHERWISE), ("Ana Mas", None), (None, None)])
def test_the_patients_name_beside_the_note_counts(name, expected):
    assert reason(decided(BY_NER, BY_RULE, name=name)) == expected


def test_the_policy_says_what_score_is_sure():
    found = [(NAME, "CLINICIAN", "deid/ner", 0.6), (NAME, "CLINICIAN", "deid/patterns", 0.6)]
    assert reason(decided(*found)) == UNSURE
    assert reason(decided(*found, policy=Policy("own", "replace", {"CLINICIAN": "keep"}, sure=0.6))) is None


def test_labels_that_are_replaced_anyway_have_no_reason():
    doc = decided((NAME, "PATIENT", "deid/ner"), (NAME, "RELATIVE", "deid/ruler"))
    assert "reason" not in doc._.deid_trace[0]


def test_places_are_kept_as_before():
    assert "Khattabi acude" in decided(("Khattabi", "CITY", "deid/ner", 0.5))._.deid_text


def test_the_reason_survives_bytes():
    doc = decided(BY_NER)
    loaded = spacy.tokens.Doc(doc.vocab).from_bytes(doc.to_bytes())
    assert reason(loaded) == UNSURE


@pytest.fixture(scope="module")
def nlp():
    return spacy_deid.load("es")


@pytest.mark.parametrize("style", ["tag", SurrogateStyle(labels={"CLINICIAN": keep})], ids=["policy", "strategy"])
def test_a_patient_whom_the_classifier_takes_for_a_clinician_is_not_released(nlp, style):
    surrogate = nlp.get_pipe("deid_surrogate")
    surrogate.set_key(ProjectKey(bytes(range(32))))
    surrogate.set_style(style)
    surrogate.set_policy(KEEP if style == "tag" else "strict")
    try:
        doc = nlp("Paciente Ionela Popescu")
        signed = nlp("Fdo. Dra. Ana Ruiz Pérez, Hospital La Paz.")
    finally:
        surrogate.set_style("tag")
        surrogate.set_policy("strict")
    assert [ent.label_ for ent in doc.ents] == ["CLINICIAN"], "the classifier improved: choose another example"
    assert not {"Ionela", "Popescu"} & set(doc._.deid_text.split())
    assert "Dra. Ana Ruiz Pérez," in signed._.deid_text


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Mohamed El Khattabi", "Khattabi", True),
        ("Dr. Khattabi", "Mohamed El KHATTABI", True),
        ("M. Khattabi", "Mohamed El Khattabi", True),
        ("Mohamed Khattabi", "Ana Khattabi", False),
        ("Ana Ruiz", "Luis Mas", False),
    ],
)
def test_another_label_counts_for_the_same_person_alone(first, second, same):
    found = find_other_labels([(first, "CLINICIAN"), (second, "PATIENT")])
    assert found[first, "CLINICIAN"] == ({"PATIENT"} if same else set())
    assert found[second, "PATIENT"] == ({"CLINICIAN"} if same else set())
