"""deid_recovery as a component: settings, trace, and what every component owes."""

import json
import logging
import pickle
import time
import warnings

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline.recovering import flagged, kept, make
from spacy.tokens import Doc, DocBin

from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.medical.dictionary import MedicalDictionary, MedicalTerm
from spacy_deid.spans import MERGED, RECOVERED, read_evidence

CANARY = "Zumalabe"


@pytest.fixture(scope="module")
def english():
    return make()


# Settings


def test_each_part_can_be_switched_off():
    text = "Crohn's disease, c.5266dupC"
    flags = [("Crohn", "PERSON"), ("c.5266dupC", "ID_OTHER")]
    assert [name for _, name in kept(make(terms=False), text, *flags)] == ["Crohn"]
    assert [name for _, name in kept(make(expressions=False), text, *flags)] == ["c.5266dupC"]
    assert [name for _, name in kept(make(labels=["ID_OTHER"]), text, *flags)] == ["Crohn"]


def test_a_dictionary_of_ones_own_takes_the_place_of_the_one_that_ships(tmp_path):
    dictionary = MedicalDictionary("en")
    dictionary.add([MedicalTerm("quuxitis", "disease")])
    (tmp_path / "d.bin").write_bytes(dictionary.to_bytes())
    nlp = make(dictionary=str(tmp_path / "d.bin"))
    assert kept(nlp, "quuxitis and asthma", ("quuxitis", "PERSON"), ("asthma", "PERSON")) == [(13, "asthma")]
    with pytest.raises(ConfigError, match="no such file"):
        make(dictionary=str(tmp_path / "none.bin"))


def test_the_version_tells_dictionaries_and_labels_apart(tmp_path):
    versions = set()
    for term in ("quuxitis", "bazitis"):
        dictionary = MedicalDictionary("en")
        dictionary.add([MedicalTerm(term, "disease")])
        (tmp_path / "d.bin").write_bytes(dictionary.to_bytes())
        versions.add(make(dictionary=str(tmp_path / "d.bin")).get_pipe("deid_recovery").version)
    versions |= {make(labels=["PERSON"]).get_pipe("deid_recovery").version, make().get_pipe("deid_recovery").version}
    assert len(versions) == 4


def test_nothing_is_recovered_of_what_was_not_merged():
    nlp = spacy.blank("en")
    nlp.add_pipe("deid_recovery")
    with pytest.raises(NotDeidentified, match="deid_merge"):
        nlp("Crohn's disease")


# Trace


def test_the_trace_has_what_was_recovered_and_why(english):
    nlp = make()
    nlp.add_pipe("deid_surrogate")
    doc = nlp(flagged(nlp, "Dr. Crohn: Crohn's disease.", ("Crohn", "CLINICIAN"), ("Crohn", "PERSON")))
    assert doc._.deid_text == "Dr. [CLINICIAN]: Crohn's disease."
    protected, recovered = doc._.deid_trace
    assert (protected["action"], protected["start"]) == ("replace", 4)
    assert (recovered["action"], recovered["start"], recovered["label"]) == ("recover", 11, "PERSON")
    assert {(item["source"], item["rule"]) for item in recovered["evidence"]} == {
        ("flag_stretches", "model"),
        ("deid_recovery", "eponym:disease"),
    }
    assert all("version" in item for item in recovered["evidence"])


def test_without_recovery_no_text_is_released(english):
    nlp = make()
    nlp.add_pipe("deid_surrogate")
    with nlp.select_pipes(disable=["deid_recovery"]), pytest.raises(NotDeidentified, match="deid_recovery"):
        _ = nlp(flagged(nlp, "Crohn's disease", ("Crohn", "PERSON")))._.deid_text


# What every component owes


def test_config_bytes_and_disk_give_the_same_pipeline(tmp_path):
    nlp = make(labels=["PERSON", "DATE"], terms=True)
    nlp.to_disk(tmp_path / "nlp")
    text, flags = "Crohn's disease, Mr. Bell", [("Crohn", "PERSON"), ("Bell", "PERSON")]
    again = [spacy.load(tmp_path / "nlp"), make(labels=["PERSON", "DATE"]).from_bytes(nlp.to_bytes())]
    again.append(pickle.loads(pickle.dumps(nlp)))
    for other in again:
        assert other.config["components"] == nlp.config["components"]
        assert kept(other, text, *flags) == kept(nlp, text, *flags) == [(21, "Bell")]


def test_docbin_keeps_the_group_and_its_records(english):
    doc = english(flagged(english, "Crohn's disease", ("Crohn", "PERSON")))
    (again,) = DocBin(docs=[doc], store_user_data=True).get_docs(english.vocab)
    assert read_evidence(again, RECOVERED) == read_evidence(doc, RECOVERED) != []


def test_worker_processes_find_the_same(english):
    docs = [flagged(english, "Crohn's disease, Mr. Bell", ("Crohn", "PERSON"), ("Bell", "PERSON")) for _ in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork, in a process with threads
        found = list(english.pipe(docs, n_process=2, batch_size=1))
    assert [[ent.text for ent in doc.ents] for doc in found] == [["Bell"]] * 4


@pytest.mark.parametrize("text", ["", " \n\t ", "...", "\ud7ff\u0301"])
def test_a_note_of_nothing_has_an_empty_group(english, text):
    doc = english(text)
    assert len(doc.spans[RECOVERED]) == 0
    assert list(doc.ents) == []


def test_a_long_note_takes_seconds_and_not_hours(english):
    line = "Mr. Bell has Bell's palsy, Crohn's disease since 12/03/2019 and a BP of 120/80. "
    text = line * (100_000 // len(line))
    flags = [
        (at + start, at + start + size, label)
        for at in range(0, len(text), len(line))
        for start, size, label in ((4, 4, "PATIENT"), (13, 4, "PERSON"), (27, 5, "PERSON"), (72, 6, "DATE"))
    ]
    doc = english.make_doc(text)
    doc.user_data["flags"] = flags
    start = time.process_time()
    doc = english(doc)
    assert time.process_time() - start < 20
    assert len(doc.spans[RECOVERED]) == len(flags) / 2  # Mr. Bell's palsy is named like him


def test_no_name_gets_into_records_logs_and_files(tmp_path, caplog, english):
    nlp = make()
    nlp.add_pipe("deid_surrogate")
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings(record=True) as caught:
        doc = nlp(flagged(nlp, f"{CANARY} syndrome, Mr. {CANARY}", (CANARY, "PERSON"), (CANARY, "PATIENT")))
    stored = [json.dumps(doc._.deid_trace), repr(doc.spans[RECOVERED].attrs), caplog.text, repr(nlp.get_pipe_config)]
    stored += [str(warning.message) for warning in caught]
    assert not any(CANARY in text for text in stored)
    assert CANARY not in repr(vars(nlp.get_pipe("deid_recovery")))


WORDS = [
    "Crohn",
    "Crohn's disease",
    "Mr.",
    "Bell",
    "120/80",
    "Parkinson",
    "walked",
    "has",
    "\n",
    "g.32913055A>G",
    "syndrome",
]


@settings(deadline=None)  # a busy machine is no fault
@given(st.lists(st.sampled_from(WORDS), max_size=12), st.data())
def test_what_was_merged_is_recovered_or_protected_and_nothing_else_is(english, words, data):
    doc = english.make_doc(" ".join(words))
    places = st.tuples(*[st.integers(0, max(len(doc) - 1, 0))] * 2, st.sampled_from(["PERSON", "ID_OTHER", "CITY"]))
    chosen = data.draw(st.lists(places, max_size=4)) if len(doc) else []
    flags = [(doc[min(a, b)].idx, doc[max(a, b)].idx + len(doc[max(a, b)]), label) for a, b, label in chosen]
    doc.user_data["flags"] = flags
    doc = english(doc)
    tokens = {key: {i for s in spans for i in range(s.start, s.end)} for key, spans in groups(doc).items()}
    assert tokens["ents"].isdisjoint(tokens["recovered"])
    assert tokens["ents"] | tokens["recovered"] == tokens["merged"]


@pytest.mark.parametrize("space", [" ", "\n", "  \n ", "\t"])
def test_white_space_beside_what_is_recovered_is_not_lost(space):
    nlp = make()
    nlp.add_pipe("deid_surrogate")
    text = f"sinead{space}Crohn's disease{space}and more"
    doc = nlp(flagged(nlp, text, (text[: -len("more")], "PERSON")))
    assert doc._.deid_text.startswith("[PERSON]")
    assert [item.start for item in read_evidence(doc, RECOVERED)] != []


def groups(doc: Doc):
    return {"ents": doc.ents, "merged": doc.spans[MERGED], "recovered": doc.spans[RECOVERED]}


def test_the_meta_data_of_a_pipeline_are_the_same_in_every_process(english):
    labels = english.meta["labels"]["deid_recovery"]
    assert labels == sorted(labels) != []
