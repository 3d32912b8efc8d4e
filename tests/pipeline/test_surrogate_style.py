"""deid_surrogate in the style "surrogate": the key, the identity, strategies from the config, the trace."""

import json
import pickle

import pytest
import spacy

from spacy_deid.context import DECISIONS
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.pipeline.surrogate import Surrogate
from spacy_deid.spans import Evidence, write_evidence
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.people.assignment import REDRAWS
from spacy_deid.surrogates.strategies import FALLBACK, tag
from spacy_deid.surrogates.style import SurrogateStyle

KEY = ProjectKey(bytes(range(32)))
TERMS = {
    "Ana Zumalabe Ruiz": "PATIENT",
    "Zumalabe": "PATIENT",
    "Soria": "CITY",
    "Navarra": "STATE",
    "93 años": "AGE",
    "huella 7": "BIOMETRIC",
}
NOTE = "Ana Zumalabe Ruiz, de 93 años, vive en Soria. Sra. Zumalabe: huella 7."


def style(default="consistent", **labels):
    return {"@deid_styles": "spacy_deid.surrogate_style.v1", "default": default, "labels": labels}


def make(key=KEY, **config):
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    ruler = nlp.add_pipe("deid_ruler")
    for term, label in TERMS.items():
        ruler.add_terms([term], label)
    nlp.add_pipe("deid_merge")
    nlp.add_pipe("deid_surrogate", config={"style": "surrogate", **config}).set_key(key)
    return nlp


def note(nlp, text=NOTE, **ehr):
    doc = nlp.make_doc(text)
    doc._.ehr = ehr
    return nlp(doc)


# The key


def test_without_a_key_there_is_no_text_and_a_way_to_make_one_is_told():
    with pytest.raises(NotDeidentified, match="spacy-deid key new"):
        make(key=None)(NOTE)
    with pytest.raises(NotDeidentified, match="spacy-deid key new"):
        make(key=None)("")


def test_a_key_comes_from_a_file_that_its_owner_alone_may_read(tmp_path):
    path = tmp_path / "project.key"
    KEY.to_file(path)
    assert note(make(key=path), patient_id="1")._.deid_text == note(make(), patient_id="1")._.deid_text
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="other users can read it"):
        make(key=path)


def test_the_other_styles_need_no_key():
    assert "[PATIENT]" in make(key=None, style="tag")(NOTE)._.deid_text


def test_the_key_is_in_no_pickle_and_no_saved_pipeline(tmp_path):
    nlp = make()
    secret = bytes(range(32))
    nlp.to_disk(tmp_path / "saved")
    files = [path.read_bytes() for path in (tmp_path / "saved").rglob("*") if path.is_file()]
    assert len(files) > 3
    stored = [*files, nlp.to_bytes(), pickle.dumps(nlp.get_pipe("deid_surrogate"))]
    assert not [data for data in stored if secret in data or secret.hex().encode() in data]
    with pytest.raises(NotDeidentified):
        spacy.load(tmp_path / "saved")(NOTE)


def test_a_pickled_component_refuses_until_it_has_the_key_again():
    component = pickle.loads(pickle.dumps(make().get_pipe("deid_surrogate")))
    assert component.lacks_key
    component.set_key(KEY)
    assert not component.lacks_key


def test_two_processes_release_the_same():
    nlp = make()
    docs = list(nlp.pipe([NOTE, "", "Vive en Soria."] * 2, n_process=2, batch_size=2))
    assert [doc._.deid_text for doc in docs] == [nlp(doc.text)._.deid_text for doc in docs]


# The identity


@pytest.mark.parametrize(
    ("given", "identity"),
    [("17", "patient"), (17, "patient"), (17.0, "patient"), ("", "document"), (None, "document"), (" ", "document")],
)
def test_the_trace_says_whose_surrogates_they_are(given, identity):
    rows = note(make(), patient_id=given)._.deid_trace
    assert rows
    assert {row["identity"] for row in rows} == {identity}


def test_the_trace_of_other_styles_names_no_identity():
    assert "identity" not in make(style="tag")(NOTE)._.deid_trace[0]


def test_a_note_without_a_patient_stands_for_itself():
    nlp = make(style=style("random"))
    assert nlp(NOTE)._.deid_text == nlp(NOTE)._.deid_text


# Strategies from the config


def test_strategies_are_chosen_by_label():
    nlp = make(style=style("tag", CITY="keep", AGE="generalize"))
    doc = nlp(NOTE)
    assert doc._.deid_text == "[PATIENT], de 90+, vive en Soria. Sra. [PATIENT]: [BIOMETRIC]."
    assert [row["action"] for row in doc._.deid_trace] == ["tag", "generalize", "keep", "tag", "tag"]


def test_settings_of_a_strategy_stand_in_the_config():
    chosen = style("tag")
    chosen["labels"] = {"PATIENT": {"@deid_strategies": "spacy_deid.markov_strategy.v1", "p": 0.25}}
    nlp = make(style=chosen)
    assert nlp.get_pipe("deid_surrogate").style.labels["PATIENT"].keywords == {"p": 0.25}
    loaded = spacy.blank("es").from_config(nlp.config)
    assert loaded.config == nlp.config


def test_the_style_by_name_leaves_the_strategies_that_the_config_has():
    component = make(style=style("tag")).get_pipe("deid_surrogate")
    component.set_style("surrogate")
    assert component.style.default.__name__ == "tag"
    component.set_style("mask")
    component.set_style("surrogate")
    assert component.style.default.__name__ == "consistent"


def test_an_unknown_label_is_refused():
    with pytest.raises(ConfigError, match="unknown label 'PATIENTS'"):
        make(style=style(PATIENTS="keep"))


def test_what_no_surrogate_can_be_made_of_is_tagged_and_said():
    doc = make()("huella 7")
    assert doc._.deid_text == "[BIOMETRIC]"
    assert [row["action"] for row in doc._.deid_trace] == [FALLBACK]


def test_the_policy_decides_before_the_strategy():
    doc = make(style=style("tag", CITY="keep"), policy="safe_harbor")("Soria, Navarra, 93 años")
    assert doc._.deid_text == "Soria, Navarra, 90+"
    assert [row["action"] for row in doc._.deid_trace] == ["keep", "keep", "generalize"]


def test_what_another_detector_took_for_a_name_is_not_kept():
    nlp = make(style=style("tag", STATE="keep"))
    doc = nlp.make_doc("Vive en Navarra desde mayo")
    write_evidence(doc, "deid/ner", [Evidence(8, 15, "STATE", "one")])
    write_evidence(doc, "deid/ruler", [Evidence(8, 15, "PATIENT", "other")])
    merge = nlp.get_pipe("deid_merge")
    merge.sources = ["deid/ner", "deid/ruler"]
    doc = nlp.get_pipe("deid_surrogate")(merge(doc))
    assert [ent.label_ for ent in doc.ents] == ["STATE"]
    assert "Navarra" not in doc._.deid_text


def test_what_is_stored_beside_the_edits_holds_neither_names_nor_the_key():
    doc = note(make(), patient_id="Zumalabe-17")
    stored = json.dumps([doc.user_data[DECISIONS], doc._.deid_trace])
    assert "Zumalabe" not in stored
    assert bytes(range(32)).hex() not in stored


def test_neither_text_nor_entities_are_changed():
    doc = make()(NOTE)
    assert doc.text == NOTE
    assert [ent.label_ for ent in doc.ents] == ["PATIENT", "AGE", "CITY", "PATIENT", "BIOMETRIC"]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t  \n"], ids=["empty", "space", "white space"])
def test_a_doc_without_words_is_released_as_it_is(text):
    assert make()(text)._.deid_text == text


def test_the_key_shows_nowhere():
    component = make().get_pipe("deid_surrogate")
    assert isinstance(component, Surrogate)
    assert bytes(range(32)).hex() not in repr(vars(component))


def test_an_age_that_stays_true_stays_unless_another_detector_took_it_for_something_else():
    nlp = make()
    text = "Tiene 53 años."
    doc = nlp.make_doc(text)
    write_evidence(doc, "deid/ner", [Evidence(6, 13, "AGE", "one")])
    write_evidence(doc, "deid/ruler", [])
    merge = nlp.get_pipe("deid_merge")
    merge.sources = ["deid/ner", "deid/ruler"]
    assert nlp.get_pipe("deid_surrogate")(merge(doc))._.deid_text == text
    doc = nlp.make_doc(text)
    write_evidence(doc, "deid/ner", [Evidence(6, 13, "AGE", "one")])
    write_evidence(doc, "deid/ruler", [Evidence(6, 8, "MRN", "other")])
    assert "53" not in nlp.get_pipe("deid_surrogate")(merge(doc))._.deid_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paciente mujer de 40 años. Sexo: mujer.", "Paciente de 40 años. Sexo: no especificado."),
        ("Mujer de 40 años.\nUna mujer.", "Paciente de 40 años.\nUna paciente."),
    ],
)
def test_words_for_the_sex_say_nothing_of_it_and_leave_a_sentence(text, expected, tmp_path):
    board = tmp_path / "board.toml"
    board.write_text('name = "board"\ndefault = "replace"\n', encoding="utf8")
    nlp = make(policy=str(board))
    for word in ("mujer", "Mujer"):
        nlp.get_pipe("deid_ruler").add_terms([word], "SEX")
    doc = nlp(text)
    assert doc._.deid_text == expected
    assert {row["action"] for row in doc._.deid_trace if row["label"] == "SEX"} == {"generalize"}
    assert make(policy="safe_harbor")(text)._.deid_text == text
    assert make()(text)._.deid_text == text
    assert "[SEX]" in nlp_with_tags(nlp)(text)._.deid_text


def nlp_with_tags(nlp):
    """The same pipeline with the strategy `tag` for the sex."""
    nlp.get_pipe("deid_surrogate").set_style(SurrogateStyle(labels={"SEX": tag}))
    return nlp


def know(folder, *names):
    """Dictionaries that know people by name."""
    with StoreWriter(folder) as writer:
        for i, name in enumerate(names):
            writer.add_patient(f"{i}", [LocalEntry(name, "PATIENT", "patients.name")])
        writer.commit({})
    return folder


def test_a_surrogate_whom_the_dictionaries_know_is_drawn_again_for_all_mentions(tmp_path):
    nlp = make()
    component = nlp.get_pipe("deid_surrogate")
    name = note(nlp, "Ana Zumalabe Ruiz", patient_id="1")._.deid_text
    component.open_roster(know(tmp_path / "local", name))
    doc = note(nlp, patient_id="1")
    assert [row["action"] for row in doc._.deid_trace if row["label"] == "PATIENT"] == ["replace", "replace"]
    assert name not in doc._.deid_text
    assert doc._.deid_text.count(name.split()[1]) == 2
    assert note(nlp, patient_id="1")._.deid_text == doc._.deid_text
    assert pickle.loads(pickle.dumps(component))._roster == ()


def test_a_roster_that_leaves_no_candidate_makes_a_tag_that_is_said(tmp_path):
    nlp = make()
    component = nlp.get_pipe("deid_surrogate")
    known = []
    for i in range(REDRAWS + 2):
        doc = note(nlp, "Ana Zumalabe Ruiz", patient_id="nobody of the roster")
        if doc._.deid_text == "[PATIENT]":
            break
        known.append(doc._.deid_text)
        component.open_roster(know(tmp_path / f"local {i}", *known))
    assert len(set(known)) == REDRAWS + 1
    assert [row["action"] for row in doc._.deid_trace] == [FALLBACK]


def test_a_surrogate_of_an_institution_keeps_no_name_of_the_dictionaries():
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("deid_merge", config={"sources": ["deid/guess", "deid/own"]})
    nlp.add_pipe("deid_surrogate", config={"style": "surrogate"}).set_key(KEY)

    def released(*own):
        doc = nlp.make_doc("Seen at Northern General Hospital today.")
        write_evidence(doc, "deid/guess", [Evidence(8, 33, "HOSPITAL", "guess", 0.9)])
        write_evidence(doc, "deid/own", own)
        return nlp(doc)._.deid_text

    assert "Northern" in released()
    name = Evidence(8, 16, "RELATIVE", "own", 1.0, "", True)
    assert released(name) == "Seen at [HOSPITAL] today."
