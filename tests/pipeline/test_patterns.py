"""The component deid_patterns: settings, serialization, and what it leaves behind."""

import logging
from pathlib import Path

import pytest
import spacy
from conftest import long_notes
from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_deid.errors import ConfigError
from spacy_deid.spans import read_evidence

KEY = "deid/patterns"
NOTE = "Nombre: Quiteria.\nNHC: 368503.\nIngresa el 14/02/2017 por disnea."
FOUND = [("PATIENT", "Quiteria"), ("MRN", "368503"), ("DATE", "14/02/2017")]
TOKENIZER = {"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}}
RULES = """
name = "ward"
[[rules]]
id = "bed"
label = "ROOM"
after = ["puesto"]
pattern = '{colon}(?P<phi>[A-D]\\d{1,2})'
examples = ["Puesto: [[B12]]"]
"""


def make(lang: str = "es", **config: object) -> Language:
    nlp = spacy.blank(lang, config=TOKENIZER)
    nlp.add_pipe("deid_patterns", config=config)
    return nlp


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "ward.toml"
    path.write_text(RULES, encoding="utf8")
    return path


def found(doc: Doc, key: str = KEY) -> list[tuple[str, str]]:
    return [(e.label, doc.text[e.start : e.end]) for e in read_evidence(doc, key)]


def test_the_group_holds_evidence_with_rule_and_version() -> None:
    nlp = make()
    doc = nlp(NOTE)
    assert found(doc) == FOUND
    assert [span.text for span in doc.spans[KEY]] == [text for _, text in FOUND]
    assert {e.source for e in read_evidence(doc, KEY)} == {"deid_patterns"}
    assert "es/record-key" in {e.rule for e in read_evidence(doc, KEY)}
    assert doc.spans[KEY].attrs["version"] == nlp.get_pipe("deid_patterns").version


def test_finding_changes_nothing() -> None:
    nlp = make()
    doc = nlp.make_doc(NOTE)
    assert nlp.get_pipe("deid_patterns").find(doc)
    assert KEY not in doc.spans


def test_the_language_of_the_pipeline_chooses_the_rules() -> None:
    assert "MRN" not in {label for label, _ in found(make("fi")(NOTE))}
    assert found(make("de")("NHC: 368503, ana@ejemplo.es")) == [("EMAIL", "ana@ejemplo.es")]


def test_languages_may_be_named() -> None:
    assert found(make("de", languages=["es"])(NOTE)) == FOUND


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ConfigError, match="no rules for language 'xx'"):
        make(languages=["xx"])


def test_a_rule_can_be_left_out() -> None:
    assert found(make(disable=["es/record-key"])(NOTE)) == [FOUND[0], FOUND[2]]


def test_an_unknown_rule_cannot_be_left_out() -> None:
    with pytest.raises(ConfigError, match="es/nonesuch"):
        make(disable=["es/nonesuch"])


def test_a_hospital_adds_a_file(rules: Path) -> None:
    assert found(make(rules=[str(rules)])("Puesto: B12")) == [("ROOM", "B12")]


def test_a_file_given_twice_is_refused(rules: Path) -> None:
    with pytest.raises(ConfigError, match="'ward/bed' is defined twice"):
        make(rules=[str(rules), str(rules)])


def test_a_file_is_run_on_its_examples_when_it_is_read(rules: Path) -> None:
    rules.write_text(RULES.replace("B12", "E12"), encoding="utf8")
    with pytest.raises(ConfigError, match=r"rule 'ward/bed': example 1"):
        make(rules=[str(rules)])
    assert make(rules=[str(rules)], verify=False)


def test_a_missing_file_fails_closed() -> None:
    nlp = make(rules=["nowhere.toml"])
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        nlp(NOTE)
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        nlp.to_bytes()


def test_a_bad_key_is_refused() -> None:
    with pytest.raises(ConfigError, match="span group key"):
        make(key="patterns")


def test_config_round_trip(rules: Path) -> None:
    nlp = make(rules=[str(rules)], disable=["es/record-key"], key="deid/forms")
    again = spacy.util.load_model_from_config(nlp.config)
    assert again.get_pipe("deid_patterns").version == nlp.get_pipe("deid_patterns").version
    assert "deid/forms" in again(NOTE).spans


def test_bytes_round_trip_carries_the_rules(rules: Path) -> None:
    nlp = make(rules=[str(rules)], disable=["es/record-key"])
    again = make().from_bytes(nlp.to_bytes())
    assert again.get_pipe("deid_patterns").version == nlp.get_pipe("deid_patterns").version
    assert found(again("Puesto: B12. NHC: 368503")) == [("ROOM", "B12")]


def test_a_saved_pipeline_works_where_the_files_are_not(rules: Path, tmp_path: Path) -> None:
    make(rules=[str(rules)]).to_disk(tmp_path / "saved")
    rules.unlink()
    assert found(spacy.load(tmp_path / "saved")("Puesto: B12")) == [("ROOM", "B12")]


def test_a_file_named_when_a_saved_pipeline_is_loaded_is_added(rules: Path, tmp_path: Path) -> None:
    make().to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved", config={"components.deid_patterns.rules": [str(rules)]})
    assert found(again("Puesto: B12. NHC: 368503")) == [("ROOM", "B12"), ("MRN", "368503")]
    again.to_disk(tmp_path / "both")
    rules.unlink()
    assert found(spacy.load(tmp_path / "both")("Puesto: B12")) == [("ROOM", "B12")]


def test_a_language_named_when_a_saved_pipeline_is_loaded_is_added(tmp_path: Path) -> None:
    make().to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved", config={"components.deid_patterns.languages": ["es", "fi"]})
    assert found(again("NHC: 368503, 131052-308T")) == [("MRN", "368503"), ("NATIONAL_ID", "131052-308T")]


def test_a_file_named_when_a_saved_pipeline_is_loaded_must_be_there(tmp_path: Path) -> None:
    make().to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved", config={"components.deid_patterns.rules": ["nowhere.toml"]})
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        again(NOTE)


def test_rules_of_a_saved_pipeline_can_be_left_out_on_loading(tmp_path: Path) -> None:
    make().to_disk(tmp_path / "saved")
    config = {"components": {"deid_patterns": {"disable": ["es/record-key"]}}}
    assert found(spacy.load(tmp_path / "saved", config=config)(NOTE)) == [FOUND[0], FOUND[2]]


def test_a_name_that_a_rule_found_is_found_again() -> None:
    text = "El paciente Braulio Sanz. Sanz niega alergias."
    assert found(make()(text)) == [("PATIENT", "Braulio Sanz"), ("PATIENT", "Sanz")]
    assert [e.rule for e in read_evidence(make()(text), KEY)] == ["es/patient-name", "echo"]
    assert found(make(propagate_names=False)(text)) == [("PATIENT", "Braulio Sanz")]


def test_docbin_round_trip() -> None:
    nlp = make()
    docs = list(DocBin(docs=[nlp(NOTE)], store_user_data=True).get_docs(nlp.vocab))
    assert found(docs[0]) == FOUND


def test_two_processes_find_the_same() -> None:
    docs = list(make().pipe([NOTE, "", NOTE], n_process=2, batch_size=1))
    assert [found(doc) for doc in docs] == [FOUND, [], FOUND]


@pytest.mark.parametrize("text", ["", " ", "\n \t\r\n"])
def test_a_note_without_words_leaves_a_receipt(text: str) -> None:
    assert found(make()(text)) == []


@long_notes
def test_a_long_text_is_one_note(length: int) -> None:
    half = "Paciente estable, leucocitos 14.610/mm3, TA 120/80. " * (length // 105)
    doc = make()(half + "NHC: 368503.\n" + half)
    assert found(doc) == [("MRN", "368503")]


@pytest.mark.parametrize(
    "note",
    [
        "Nombre: Quiteria.\r\nNHC:\u00a0368503.\r\nIngresa el 14\u201102\u20112017 por disnea.",
        "\ufeffNOMBRE: QUITERIA.\nNHC: ３６８５０３.\nIngresa el 14/02/2017 por disnea.",
        "Nombre: Quite\u0301ria.\nNHC: 368503.\nIngresa el 14/02/2017 por disnea.",
    ],
)
def test_odd_characters_hide_nothing(note: str) -> None:
    assert [label for label, _ in found(make()(note))] == ["PATIENT", "MRN", "DATE"]


def test_spans_grow_to_tokens_and_evidence_does_not() -> None:
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_patterns")
    doc = nlp("PratNºCol:282812345")
    assert found(doc) == [("LICENSE", "282812345")]
    assert doc.spans[KEY][0].text == "PratNºCol:282812345"


def test_the_note_is_in_no_log_and_no_saved_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    nlp = make()
    with caplog.at_level(logging.DEBUG), nlp.memory_zone():
        nlp(NOTE)
    nlp.to_disk(tmp_path / "saved")
    saved = [path for path in (tmp_path / "saved").rglob("*") if path.is_file()]
    assert len(saved) > 3
    assert not any(b"Quiteria" in path.read_bytes() for path in saved)
    assert "Quiteria" not in caplog.text
    assert "Quiteria" not in repr(nlp.get_pipe("deid_patterns"))
