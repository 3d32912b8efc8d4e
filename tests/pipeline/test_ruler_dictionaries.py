"""deid_ruler with dictionaries of a record system: the institution's terms, and each note's own patient's."""

import logging
import pickle

import pytest
import spacy
from conftest import long_notes
from spacy.tokens import DocBin

import spacy_deid
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.loading import use_dictionaries
from spacy_deid.spans import read_evidence

CANARY = "Zarzaquemada"
TEXT = "Hospital Zarzal. ZARZAQUEMADA y Quebrantado."
CLINIC = ("Hospital Zarzal", "HOSPITAL", "clinics.name")
OWN = ("ZARZAQUEMADA", "PATIENT", "patient:patients.surname")


def write(folder, manifest=None):
    with StoreWriter(folder) as writer:
        writer.add_institution([LocalEntry("Hospital Zarzal", "HOSPITAL", "clinics.name")])
        writer.add_patient("1", [LocalEntry(CANARY, "PATIENT", "patients.surname")])
        writer.add_patient("2", [LocalEntry("Quebrantado", "PATIENT", "patients.surname")])
        writer.commit(manifest or {})
    return folder


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "local")


@pytest.fixture
def nlp(folder):
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_ruler").open_dictionaries(folder)
    return nlp


def note(nlp, patient_id=None, text=TEXT):
    doc = nlp.make_doc(text)
    if patient_id is not None:
        doc._.ehr = {"patient_id": patient_id}
    return doc


def found(doc):
    text = doc.text  # put together anew by each call
    return [(text[e.start : e.end], e.label, e.rule) for e in read_evidence(doc, "deid/ruler")]


def flag(doc):
    return doc.spans["deid/ruler"].attrs["dictionaries"]


def test_a_note_is_searched_for_the_institution_and_its_own_patient_alone(nlp):
    doc = nlp(note(nlp, "1"))
    assert found(doc) == [CLINIC, OWN]
    assert flag(doc) == "patient"
    assert found(nlp(note(nlp, "2")))[1][0] == "Quebrantado"
    assert {e.source for e in read_evidence(doc, "deid/ruler")} == {"deid_ruler"}


@pytest.mark.parametrize("patient_id", [1, 1.0, " 1 ", "1"])
def test_an_id_is_read_as_text(nlp, patient_id):
    assert OWN in found(nlp(note(nlp, patient_id)))


@pytest.mark.parametrize(
    ("patient_id", "reason"),
    [(None, "no patient_id"), ("", "no patient_id"), (float("nan"), "no patient_id"), ("3", "unknown patient_id")],
)
def test_a_note_of_an_unknown_patient_is_searched_for_the_institution_and_flagged(nlp, patient_id, reason):
    doc = nlp(note(nlp, patient_id))
    assert found(doc) == [CLINIC]
    assert flag(doc) == f"institution: {reason}"


@pytest.mark.parametrize("patient_id", [None, "3"])
def test_or_it_is_refused_by_setting(folder, patient_id):
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_ruler", config={"without_patient": "refuse"}).open_dictionaries(folder)
    assert found(nlp(note(nlp, "1"))) == [CLINIC, OWN]
    with pytest.raises(NotDeidentified, match="patient_id") as error:
        nlp(note(nlp, patient_id))
    assert CANARY not in str(error.value)


def test_without_an_index_of_patients_there_is_nothing_to_flag(tmp_path):
    with StoreWriter(tmp_path / "local") as writer:
        writer.add_institution([LocalEntry("Hospital Zarzal", "HOSPITAL", "clinics.name")])
        writer.commit({})
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_ruler").open_dictionaries(tmp_path / "local")
    assert flag(nlp(note(nlp))) == "institution"


def test_an_unknown_setting_is_refused():
    with pytest.raises(ConfigError, match="'ignore' for 'without_patient'"):
        spacy.blank("es").add_pipe("deid_ruler", config={"without_patient": "ignore"})


@pytest.mark.parametrize(
    ("setting", "built", "hit"), [(None, False, False), (None, True, True), (True, False, True), (False, True, False)]
)
def test_a_slip_of_the_pen_counts_if_the_ruler_or_the_dictionaries_want_it(tmp_path, setting, built, hit):
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_ruler", config={"fuzzy": setting}).open_dictionaries(
        write(tmp_path / "local", {"fuzzy": built})
    )
    doc = nlp(note(nlp, "1", "Acude Zarzaqemada por tos"))
    assert found(doc) == ([("Zarzaqemada", "PATIENT", "patient:patients.surname~")] if hit else [])


def test_labels_and_version_are_those_of_the_dictionaries(nlp, folder):
    ruler = nlp.get_pipe("deid_ruler")
    before = ruler.version
    assert ruler.labels == ("HOSPITAL", "PATIENT")
    ruler.open_dictionaries(write(folder))
    assert ruler.version != before
    ruler.close_dictionaries()
    assert found(nlp(note(nlp, "1"))) == []


def test_a_saved_pipeline_refuses_to_run_without_its_dictionaries(nlp, folder, tmp_path):
    nlp.to_disk(tmp_path / "model")
    loaded = spacy.load(tmp_path / "model")
    with pytest.raises(NotDeidentified, match="open_dictionaries"):
        loaded(note(loaded, "1"))
    loaded.get_pipe("deid_ruler").open_dictionaries(folder)
    assert found(loaded(note(loaded, "1"))) == [CLINIC, OWN]
    again = spacy.load(tmp_path / "model")
    again.get_pipe("deid_ruler").close_dictionaries()
    assert found(again(note(again, "1"))) == []


def test_several_processes_use_the_dictionaries(nlp):
    docs = [note(nlp, patient_id) for patient_id in ("1", "2", "3") * 4]
    results = [found(doc) for doc in nlp.pipe(docs, n_process=2, batch_size=2)]
    assert [len(result) for result in results] == [2, 2, 1] * 4


def test_evidence_and_flag_survive_a_docbin(nlp):
    doc = nlp(note(nlp, "1"))
    (back,) = DocBin(docs=[doc]).get_docs(nlp.vocab)
    assert flag(back) == "patient"
    assert doc.spans["deid/ruler"].attrs == back.spans["deid/ruler"].attrs


def test_no_value_is_in_a_saved_pipeline_a_pickle_a_config_the_vocab_a_log_or_a_repr(nlp, folder, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    nlp.to_disk(tmp_path / "model")
    ruler = nlp.get_pipe("deid_ruler")
    saved = [path.read_bytes() for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert len(saved) > 3
    saved += [pickle.dumps(ruler), nlp.to_bytes(), nlp.config.to_str().encode(), caplog.text.encode()]
    saved += [repr(vars(ruler)).encode(), repr(ruler.store).encode()]
    assert not any(CANARY.lower().encode() in data.lower() for data in saved)
    assert CANARY not in nlp.vocab.strings
    nlp(note(nlp, "1", "Acude por tos"))
    assert CANARY.lower() not in nlp.vocab.strings
    with pytest.raises(NotDeidentified):
        pickle.loads(pickle.dumps(ruler))(note(nlp, "1"))


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_nothing_is_found_in_a_note_without_words(nlp, text):
    assert found(nlp(note(nlp, "1", text))) == []


@long_notes
def test_a_long_note_is_read_to_its_end(nlp, length):
    nlp.max_length = 2 * length
    assert found(nlp(note(nlp, "1", "tos " * (length // 4) + TEXT))) == [CLINIC, OWN]


@pytest.mark.parametrize("name", ["es", "en", "fi"])
def test_settings_reach_the_ruler_of_every_shipped_pipeline(folder, name):
    settings = {"components.deid_ruler.without_patient": "refuse", "components": {"deid_ruler": {"fuzzy": True}}}
    nlp = spacy_deid.load(name, dictionaries=folder, config=settings)
    assert nlp.get_pipe("deid_ruler").fuzzy is True
    nlp.select_pipes(enable=["deid_ruler"])
    assert tuple(found(nlp(note(nlp, "1")))) == (CLINIC, OWN)
    with pytest.raises(NotDeidentified, match="patient_id"):
        nlp(note(nlp, None))


def test_settings_can_be_given_with_the_dictionaries(folder):
    nlp = spacy_deid.load("es")
    use_dictionaries(nlp, folder, without_patient="refuse")
    assert nlp.get_pipe_config("deid_ruler")["without_patient"] == "refuse"
    with pytest.raises(NotDeidentified, match="patient_id"):
        nlp(note(nlp, None))


def test_settings_of_a_component_that_is_not_there_are_refused_by_name():
    with pytest.raises(ConfigError, match=r"'deid_ruler', but pipeline 'en' has no such component"):
        spacy_deid.load("en", config={"components.deid_ruler.fuzzy": True})
