"""deid_merge: unites what the detectors found, and refuses to go on without one of them."""

import json
import logging
import warnings

import pytest
import spacy
from conftest import long_notes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin

from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.labels import LABELS
from spacy_deid.pipeline.merge import read_label_priority
from spacy_deid.spans import DISCARDED, MERGED, Evidence, read_evidence, write_evidence

CANARY = "Zumalabe"
TEXT = f"Paciente: Ana {CANARY}. Vive en Calle Elm Street, 7."
SOURCES = ["deid/a", "deid/b"]


def priority(path, **labels):
    """A setting that reads the order of labels from a file."""
    path.write_text(json.dumps(labels))
    return str(path)


def merger(**config):
    nlp = spacy.blank("es")
    return nlp, nlp.add_pipe("deid_merge", config={"sources": SOURCES, **config})


def detected(nlp, a=(), b=(), text=TEXT):
    doc = nlp.make_doc(text)
    for key, found in zip(SOURCES, (a, b), strict=True):
        write_evidence(doc, key, [Evidence(start, end, label, key, score) for start, end, label, score in found])
    return doc


def ents(doc):
    return [(ent.text, ent.label_) for ent in doc.ents]


NAME = (14, 22, "PATIENT", 0.6)
FULL_NAME = (10, 22, "PATIENT", 0.9)
STREET = (32, 51, "STREET", 0.5)
ELM = (38, 41, "PATIENT", 1.0)


def test_what_all_sources_found_becomes_the_entities():
    nlp, merge = merger()
    doc = merge(detected(nlp, a=[FULL_NAME], b=[STREET]))
    assert ents(doc) == [(f"Ana {CANARY}", "PATIENT"), ("Calle Elm Street, 7", "STREET")]
    assert [token.ent_iob_ for token in doc[:3]] == ["O", "O", "B"]


def test_where_two_overlap_the_loser_is_trimmed_and_stays():
    nlp, merge = merger()
    assert ents(merge(detected(nlp, a=[ELM], b=[STREET]))) == [
        ("Calle", "STREET"),
        ("Elm", "PATIENT"),
        ("Street, 7", "STREET"),
    ]


def test_the_first_source_is_trusted_most():
    nlp, merge = merger()
    assert ents(merge(detected(nlp, a=[(10, 22, "CLINICIAN", 0.1)], b=[FULL_NAME]))) == [
        (f"Ana {CANARY}", "CLINICIAN")
    ]


def test_of_one_source_the_longer_span_wins():
    nlp, merge = merger()
    assert ents(merge(detected(nlp, a=[(14, 22, "CLINICIAN", 1.0), FULL_NAME]))) == [(f"Ana {CANARY}", "PATIENT")]


def test_an_identifier_that_a_source_has_cut_in_two_becomes_whole():
    nlp, merge = merger()
    doc = merge(detected(nlp, a=[(32, 41, "STREET", 0.9), (42, 51, "STREET", 0.9)], b=[(32, 51, "STREET", 1.0)]))
    assert ents(doc) == [("Calle Elm Street, 7", "STREET")]
    # also after its first word
    doc = merge(detected(nlp, a=[(32, 37, "STREET", 0.9), (38, 51, "STREET", 0.9)], b=[(32, 51, "STREET", 1.0)]))
    assert ents(doc) == [("Calle Elm Street, 7", "STREET")]
    # with a word between them they may be two
    doc = merge(detected(nlp, a=[(32, 37, "STREET", 0.9), (42, 51, "STREET", 0.9)], b=[(32, 51, "STREET", 1.0)]))
    assert len(ents(doc)) == 2


def test_label_priority_stands_above_the_source(tmp_path):
    nlp, merge = merger(label_priority=priority(tmp_path / "order.json", PATIENT=-5))
    assert ents(merge(detected(nlp, a=[(10, 22, "CLINICIAN", 0.1)], b=[FULL_NAME]))) == [(f"Ana {CANARY}", "PATIENT")]


def test_a_label_of_unknown_role_gives_way_to_a_known_one():
    nlp, merge = merger()
    assert ents(merge(detected(nlp, a=[(10, 22, "PERSON", 1.0)], b=[FULL_NAME]))) == [(f"Ana {CANARY}", "PATIENT")]


def validated(nlp, guessed, certain):
    """A Doc with guesses of the trusted source, and validated detections of the other."""
    doc = detected(nlp, a=guessed)
    write_evidence(doc, "deid/b", [Evidence(s, e, label, "b", 1.0, "", True) for s, e, label in certain])
    return doc


@pytest.mark.parametrize(
    ("guessed", "certain", "merged"),
    [
        ([(38, 44, "RELATIVE", 0.9)], [(32, 51, "STREET")], [("Calle Elm Street, 7", "STREET")]),
        (
            [(23, 41, "RELATIVE", 0.9)],
            [(32, 51, "STREET")],
            [("Vive en", "RELATIVE"), ("Calle Elm Street, 7", "STREET")],
        ),
        (
            [(32, 51, "STREET", 0.9)],
            [(38, 48, "HOSPITAL")],
            [("Calle", "STREET"), ("Elm Street", "HOSPITAL"), (", 7", "STREET")],
        ),
        ([(32, 51, "STREET", 0.9)], [(38, 48, "STREET")], [("Calle Elm Street, 7", "STREET")]),
        ([(32, 51, "STREET", 0.9)], [(38, 41, "PATIENT")], [("Calle Elm Street, 7", "STREET")]),
        ([(32, 51, "STREET", 0.9)], [(50, 51, "MRN")], [("Calle Elm Street,", "STREET"), ("7", "MRN")]),
        ([(38, 41, "CITY", 0.9)], [(38, 41, "PATIENT")], [("Elm", "PATIENT")]),
        (
            [(38, 48, "ORGANIZATION", 0.9)],
            [(38, 41, "RELATIVE"), (42, 48, "PATIENT")],
            [("Elm", "RELATIVE"), ("Street", "PATIENT")],
        ),
        ([(38, 48, "RELATIVE", 0.9)], [(38, 41, "RELATIVE"), (42, 48, "PATIENT")], [("Elm Street", "RELATIVE")]),
        ([], [(32, 41, "HOSPITAL"), (38, 51, "STREET")], [("Calle", "HOSPITAL"), ("Elm Street, 7", "STREET")]),
    ],
    ids=[
        "a guess inside",
        "a guess across",
        "a longer guess around",
        "a longer guess of the same label",
        "a longer guess around a single word",
        "a longer guess around a number",
        "a guess of the same word",
        "a guess of another kind that consists of names",
        "a guess of a person that consists of names",
        "the longer of two that are validated",
    ],
)
def test_a_validated_detection_wins_whole_and_nothing_is_uncovered(guessed, certain, merged):
    nlp, merge = merger()
    doc = merge(validated(nlp, guessed, certain))
    assert [ent for ent in ents(doc) if ent[0] != ","] == merged


def test_the_merged_group_keeps_the_best_score_and_the_receipt():
    nlp, merge = merger()
    doc = merge(detected(nlp, a=[NAME], b=[FULL_NAME]))
    assert read_evidence(doc, MERGED) == [Evidence(10, 22, "PATIENT", "deid_merge", 0.9, "union")]
    assert doc.spans[MERGED].attrs["sources"] == SOURCES


def test_discarded_are_the_detections_that_were_trimmed_relabelled_or_swallowed():
    nlp, merge = merger()
    doc = merge(detected(nlp, a=[NAME, ELM], b=[FULL_NAME, STREET]))
    assert [(item.start, item.end) for item in read_evidence(doc, DISCARDED)] == [NAME[:2], STREET[:2]]


def test_a_detection_that_was_widened_to_its_token_is_not_discarded():
    nlp, merge = merger()
    doc = merge(detected(nlp, a=[(14, 20, "PATIENT", 1.0)]))
    assert ents(doc) == [(CANARY, "PATIENT")]
    assert len(doc.spans[DISCARDED]) == 0


SPAN = st.tuples(
    st.integers(0, len(TEXT) - 1),
    st.integers(1, 15),
    st.sampled_from(sorted(LABELS)),
    st.floats(0, 1),
    st.booleans(),
)


@pytest.fixture(scope="module")
def merging():
    return merger()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(a=st.lists(SPAN, max_size=6), b=st.lists(SPAN, max_size=6))
def test_no_token_is_uncovered_and_none_is_covered_for_nothing(merging, a, b):
    nlp, merge = merging
    spaces = {i for i, char in enumerate(TEXT) if char == " "}
    doc = nlp.make_doc(TEXT)
    for key, found in zip(SOURCES, (a, b), strict=True):
        inside = [(s, min(s + n, len(TEXT)), *rest) for s, n, *rest in found]
        evidence = [
            Evidence(s, e, label, key, score, "", sure)
            for s, e, label, score, sure in inside
            if set(range(s, e)) - spaces
        ]
        write_evidence(doc, key, evidence)
    merge(doc)
    before = {i for key in SOURCES for span in doc.spans[key] for i in range(span.start, span.end)}
    assert {token.i for token in doc if token.ent_type} == before


def test_a_source_that_did_not_run_stops_merging():
    nlp, merge = merger()
    doc = nlp.make_doc(TEXT)
    write_evidence(doc, "deid/a", [])
    with pytest.raises(NotDeidentified, match="deid/b are missing"):
        merge(doc)
    assert MERGED not in doc.spans


def test_a_group_that_is_no_source_stops_merging():
    nlp, merge = merger()
    doc = detected(nlp)
    write_evidence(doc, "deid/c", [Evidence(0, 8, "OTHER", "c")])
    with pytest.raises(
        NotDeidentified, match=r"deid/c have detections that 'deid_merge' did not merge.*deid/a, deid/b"
    ):
        merge(doc)


def test_a_group_that_lost_its_records_stops_merging():
    nlp, merge = merger()
    doc = detected(nlp, a=[NAME])
    doc.spans["deid/a"] = list(doc.spans["deid/a"])
    with pytest.raises(NotDeidentified, match="'deid/a' has 1 span"):
        merge(doc)


def test_other_span_groups_are_nobody_s_business():
    nlp, merge = merger()
    doc = detected(nlp)
    doc.spans["sections"] = [doc[0:2]]
    assert ents(merge(doc)) == []


def test_the_sources_are_those_of_the_detectors_before_it():
    nlp = spacy.blank("es")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("deid_ruler", name="staff", config={"key": "deid/staff"})
    nlp.add_pipe("deid_ruler", name="patients", config={"key": "deid/patients"})
    assert nlp.add_pipe("deid_merge").sources == ["deid/staff", "deid/patients"]


def test_a_source_is_added_once_and_trusted_least():
    nlp, merge = merger()
    doc = detected(nlp, a=[FULL_NAME])
    write_evidence(doc, "deid/c", [Evidence(10, 35, "OTHER", "c")])
    for _ in range(2):
        merge.add_source("deid/c")
    assert merge.sources == [*SOURCES, "deid/c"]
    assert ents(merge(doc))[0] == (f"Ana {CANARY}", "PATIENT")
    assert len(doc.ents) == 2
    with pytest.raises(ConfigError, match="span group key"):
        merge.add_source("c")


def test_merging_nothing_is_refused():
    with pytest.raises(ConfigError, match="'deid_merge' has no sources"):
        spacy.blank("es").add_pipe("deid_merge")
    with pytest.raises(ConfigError, match="has no sources"):
        merger(sources=[])


def test_a_bad_source_key_is_refused():
    with pytest.raises(ConfigError, match="span group key 'ruler'"):
        merger(sources=["ruler"])


def test_the_shipped_priority_names_known_labels():
    priority = read_label_priority()
    assert priority["EMAIL"] < 0 < priority["PERSON"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "is not an object"),
        ('{"DATE": "1"}', "is not an object"),
        ('{"X": 1}', "label 'X'"),
    ],
)
def test_a_wrong_priority_file_is_refused(tmp_path, text, message):
    path = tmp_path / "priority.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_label_priority(str(path))


def test_a_priority_file_is_read(tmp_path):
    path = tmp_path / "priority.json"
    path.write_text(json.dumps({"DATE": 3}))
    assert read_label_priority(str(path)) == {"DATE": 3}


# What every component owes.


@pytest.fixture
def terms(tmp_path):
    path = tmp_path / "towns.csv"
    path.write_text("term,label\nBurgos,CITY\nSan Telmo de Arriba,CITY\nTelmo,PATIENT\n", encoding="utf8")
    return str(path)


@pytest.fixture
def pipeline(terms, tmp_path):
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_ruler", config={"paths": [terms]})
    nlp.add_pipe("deid_merge", config={"label_priority": priority(tmp_path / "order.json", CITY=-1)})
    return nlp


NOTE = "Telmo nació en San Telmo de Arriba y vive en Burgos."
FOUND = [("Telmo", "PATIENT"), ("San Telmo de Arriba", "CITY"), ("Burgos", "CITY")]


def test_config_round_trip(pipeline):
    loaded = spacy.blank("es").from_config(pipeline.config)
    assert loaded.get_pipe("deid_merge").sources == ["deid/ruler"]
    assert loaded.get_pipe("deid_merge").label_priority == {"CITY": -1}
    assert loaded.config == pipeline.config
    assert ents(loaded(NOTE)) == FOUND


def test_disk_round_trip(pipeline, tmp_path):
    pipeline.to_disk(tmp_path / "saved")
    assert ents(spacy.load(tmp_path / "saved")(NOTE)) == FOUND


def test_bytes_round_trip(pipeline):
    loaded = spacy.blank("es").from_config(pipeline.config).from_bytes(pipeline.to_bytes())
    assert ents(loaded(NOTE)) == FOUND


def test_docbin_round_trip(pipeline):
    doc = pipeline(NOTE)
    (loaded,) = DocBin().from_bytes(DocBin(docs=[doc]).to_bytes()).get_docs(pipeline.vocab)
    assert ents(loaded) == FOUND
    assert read_evidence(loaded, MERGED) == read_evidence(doc, MERGED)
    assert ents(Doc(pipeline.vocab).from_bytes(doc.to_bytes())) == FOUND


def test_two_processes_find_the_same(pipeline):
    notes = [NOTE, "", "Burgos"] * 3
    docs = list(pipeline.pipe(notes, n_process=2, batch_size=2))
    assert [doc.text for doc in docs] == notes
    assert [ents(doc) for doc in docs] == [ents(pipeline(note)) for note in notes]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t  \n"], ids=["empty", "space", "white space"])
def test_a_doc_without_words_is_merged(pipeline, text):
    doc = pipeline(text)
    assert ents(doc) == []
    assert doc.spans[MERGED].attrs["sources"] == ["deid/ruler"]


@long_notes
def test_a_long_note_is_merged(pipeline, length):
    pipeline.max_length = 2 * length
    times = length // len(NOTE)
    assert len(pipeline((NOTE + "\n") * times).ents) == 3 * times


def test_no_word_of_a_note_is_said_or_saved(tmp_path, caplog):
    nlp, merge = merger()
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as warned:
        doc = detected(nlp, a=[FULL_NAME], b=[NAME, STREET])
        merge(doc)
        write_evidence(doc, "deid/c", [])
        with pytest.raises(NotDeidentified) as refused:
            merge(doc)
    assert doc.ents[0].text == f"Ana {CANARY}"
    said = [caplog.text, str(refused.value), repr(merge), *map(str, warned)]
    saved = [json.dumps(doc.spans[key].attrs) for key in (MERGED, DISCARDED)]
    assert not [text for text in said + saved if CANARY in text]
