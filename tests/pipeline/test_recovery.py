"""deid_recovery: medical terms go free, persons of the note do not."""

import json
import logging
import pickle
import time
import warnings

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_deid.dictionaries.store import LocalEntry, StoreWriter
from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.medical.dictionary import MedicalDictionary, MedicalTerm
from spacy_deid.spans import MERGED, RECOVERED, Evidence, read_evidence, write_evidence

CANARY = "Zumalabe"


@Language.component("flag_stretches")
def flag_stretches(doc):
    """A detector that flags the stretches that stand in ``doc.user_data``: label, rule and score if it has them."""
    rows = [(*row, *("model", 0.3)[len(row) - 3 :]) for row in doc.user_data.get("flags", [])]
    found = [Evidence(start, end, label, "flag_stretches", score, rule) for start, end, label, rule, score in rows]
    write_evidence(doc, "deid/flags", found, checked=["test/card"])
    return doc


def make(lang="en", ruler=False, **config):
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("flag_stretches")
    if ruler:
        nlp.add_pipe("deid_ruler")
    nlp.add_pipe("deid_merge", config={"sources": ["deid/flags", "deid/ruler"] if ruler else ["deid/flags"]})
    nlp.add_pipe("deid_recovery", config=config)
    return nlp


@pytest.fixture(scope="module")
def english():
    return make()


def flagged(nlp, text, *flags, **ehr):
    """A Doc in which stretches are flagged: (stretch, label) or (stretch, label, rule)."""
    doc = nlp.make_doc(text)
    doc._.ehr = ehr
    rows = []
    for stretch, *rest in flags:
        start = text.index(stretch)
        while (start, start + len(stretch)) in [row[:2] for row in rows]:
            start = text.index(stretch, start + 1)
        rows.append((start, start + len(stretch), *rest))
    doc.user_data["flags"] = rows
    return doc


def kept(nlp, text, *flags, **ehr):
    """What stays protected."""
    return [(ent.start_char, ent.text) for ent in nlp(flagged(nlp, text, *flags, **ehr)).ents]


# The same word, a person and a disease


def test_of_a_neurologist_and_his_disease_only_the_disease_goes_free(english):
    text = "Dr. Parkinson started Parkinson's medication."
    assert kept(english, text, ("Parkinson", "CLINICIAN"), ("Parkinson", "PATIENT")) == [(4, "Parkinson")]


@pytest.mark.parametrize(
    ("lang", "protocol", "person"),
    [
        ("en", "On the Bruce protocol.", "Bruce walked home."),
        ("es", "Según el protocolo de Bruce.", "Bruce camina solo."),
        ("fi", "Brucen protokolla tehtiin.", "Bruce käveli kotiin."),
    ],
)
def test_a_protocol_goes_free_and_whoever_walks_does_not(lang, protocol, person):
    nlp = make(lang)
    assert kept(nlp, protocol, ("Bruce", "PATIENT")) == []
    assert kept(nlp, person, ("Bruce", "PATIENT")) == [(0, "Bruce")]


@pytest.mark.parametrize(
    ("lang", "text", "flag"),
    [
        ("fi", "Parkinsonin taudin hoito jatkuu.", "Parkinsonin"),
        ("fi", "Sairastaa Crohnin tautia.", "Crohnin"),
        ("es", "Con enfermedad de Crohn.", "Crohn"),
        ("en", "Known Xanthou-Miller syndrome.", "Xanthou-Miller"),
    ],
)
def test_inflected_and_unlisted_eponyms_go_free(lang, text, flag):
    assert kept(make(lang), text, (flag, "PERSON")) == []


@pytest.mark.parametrize(
    ("text", "flag", "label"),
    [
        ("variant g.32913055A>G found", "g.32913055A>G", "ID_OTHER"),
        ("BP 120/80 today", "120/80", "DATE"),
        ("stage pT2N0M0", "pT2N0M0", "ID_OTHER"),
        ("metoprolol 25 mg", "25", "ROOM"),
    ],
)
def test_what_recovery_expressions_match_goes_free(english, text, flag, label):
    assert kept(english, text, (flag, label)) == []


# Persons of the note


@pytest.mark.parametrize("text", ["Mr. Parkinson has {}.", "Patient: Parkinson\nHas {}.", "Anna Parkinson has {}."])
def test_a_disease_named_like_a_person_of_the_note_stays(english, text):
    text = text.format("Parkinson's disease")
    person = "Anna Parkinson" if "Anna" in text else "Parkinson"
    stays = kept(english, text, (person, "PATIENT"), ("Parkinson's", "PERSON"))
    assert [name for _, name in stays] == [person, "Parkinson's"]


def test_a_name_of_the_patients_own_index_stays_wherever_it_stands(tmp_path):
    with StoreWriter(tmp_path / "store") as writer:
        writer.add_patient("1", [LocalEntry("Parkinson", "PATIENT", "patients.surname")])
        writer.add_patient("2", [LocalEntry(CANARY, "PATIENT", "patients.surname")])
        writer.commit({})
    nlp = make(ruler=True)
    nlp.get_pipe("deid_ruler").open_dictionaries(tmp_path / "store")
    text = "Treated for Parkinson's disease."
    assert kept(nlp, text, ("Parkinson", "PERSON"), patient_id="1") != []
    assert kept(nlp, text, ("Parkinson", "PERSON"), patient_id="2") == []


def test_a_clinician_of_the_lists_stays_but_not_the_disease():
    nlp = make(ruler=True)
    nlp.get_pipe("deid_ruler").add_terms(["Crohn"], label="CLINICIAN", name="staff")
    assert kept(nlp, "History of Crohn.") == [(11, "Crohn")]
    assert kept(nlp, "History of Crohn's disease.") == []


def test_a_name_is_not_cut_and_neither_is_a_place(english):
    assert kept(english, "Seen at Crohn Hospital.", ("Crohn Hospital", "HOSPITAL")) != []
    assert kept(english, "Laura Hodgkin lymphoma", ("Laura Hodgkin", "PATIENT")) == [(0, "Laura Hodgkin")]
    assert kept(english, "Severe Crohn's disease", ("Severe Crohn's", "PATIENT")) == [(0, "Severe")]


# Identifiers


def test_what_check_digits_prove_stays(english):
    text = "variant c.5266dupC found"
    assert kept(english, text, ("c.5266dupC", "ID_OTHER")) == []
    assert kept(english, text, ("c.5266dupC", "ID_OTHER", "test/card")) != []


def test_a_genetic_variant_is_no_national_id_unless_a_rule_says_so(english):
    text = "variant c.5266dupC, MRN 120/80"
    assert kept(english, text, ("c.5266dupC", "NATIONAL_ID")) == []
    assert kept(english, text, ("c.5266dupC", "NATIONAL_ID", "en/id")) != []
    assert kept(english, text, ("120/80", "NATIONAL_ID")) != []


@pytest.mark.parametrize("label", ["AGE", "SEX"])
def test_an_age_is_medical_only_if_a_model_alone_took_it_for_one(english, label):
    assert kept(english, "tooth 36 extracted", ("36", label)) == []
    assert kept(english, "tooth 36 extracted", ("36", label, "en/age")) != []


@pytest.mark.parametrize(
    ("text", "flag", "label"),
    [("BP 120/80 today", "120/80", "DATE"), ("moved to FL", "FL", "STATE"), ("by HUS today", "HUS", "HOSPITAL")],
)
def test_a_detector_that_is_sure_of_a_number_or_an_abbreviation_is_right(english, text, flag, label):
    assert kept(english, text, (flag, label, "model", 0.9)) != []
    assert kept(english, text, (flag, label, "en/rule")) != []


@pytest.mark.parametrize("score", [0.1, 0.99])
def test_an_eponym_with_its_head_word_goes_free_however_sure_a_model_is(english, score):
    assert kept(english, "has Crohn's disease", ("Crohn's", "PATIENT", "model", score)) == []


@pytest.mark.parametrize("text", ["seen in 2009, score 2009", "VAS in 2009", "sat 1998"])
def test_a_year_is_no_measurement(english, text):
    assert kept(english, text, (text[-4:], "DATE")) != []


def test_a_case_of_a_given_name_is_no_virus():
    assert kept(make("fi"), "Sisarella Hannalla on yskä.", ("Hannalla", "RELATIVE")) != []


def test_a_test_of_a_patient_is_not_named_after_him():
    assert kept(make("fi"), "Svanströmin testi tehtiin.", ("Svanströmin", "PATIENT")) != []
    assert kept(make("fi"), "Babinskin testi tehtiin.", ("Babinskin", "PATIENT")) == []


def test_a_vertebra_is_none_where_a_room_is_meant(english):
    assert kept(english, "moved to room L4", ("L4", "ROOM")) != []
    assert kept(english, "moved to room L4", ("L4", "ID_OTHER")) != []
    assert kept(english, "gene BRCA1", ("BRCA1", "ID_OTHER")) == []


@pytest.mark.parametrize(
    ("text", "flag", "label"),
    [
        ("mutation BRAF V600E.", "BRAF V", "PATIENT"),
        ("Wolff-Parkinson-White syndrome B", "Wolff-Parkinson-White syndrome B", "ORGANIZATION"),
        ("variant c.1799T>A.", "A.", "CLINICIAN"),
        ("by the Classic Duke criteria", "Classic Duke", "HOSPITAL"),
    ],
)
def test_what_a_detector_cut_in_the_wrong_place_goes_free(english, text, flag, label):
    assert [name for _, name in kept(english, text, (flag, label))] in ([], ["Classic"])


@pytest.mark.parametrize("label", ["EMAIL", "URL", "IP_ADDRESS"])
def test_labels_that_are_never_medical_cannot_be_set_and_stay(english, label):
    with pytest.raises(ConfigError, match=label):
        make(labels=[label])
    assert kept(english, "Crohn's disease", ("Crohn", label)) == [(0, "Crohn")]


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
