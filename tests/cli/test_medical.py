import json

import pytest
from typer.testing import CliRunner

from spacy_deid.background.counts import count_phrases
from spacy_deid.cli import app
from spacy_deid.dictionaries.store import LocalEntry, StoreWriter
from spacy_deid.medical.dictionary import MedicalDictionary


def run(*arguments):
    return CliRunner().invoke(app, ["medical", *map(str, arguments)])


@pytest.fixture
def science(tmp_path):
    count_phrases(["quuxitis of the pulmonary artery"]).to_file(tmp_path / "science.bin")
    return tmp_path / "science.bin"


def write_notes(path, text, patients=10):
    rows = (json.dumps({"patient_id": str(i), "text": text}) for i in range(patients))
    path.write_text("\n".join(rows), encoding="utf8")
    return path


def test_terminologies_are_compiled_and_accounted_for(tmp_path):
    (tmp_path / "words.csv").write_text(
        "term,kind\nquuxitis,disease\nbroken,nothing\nbazoma,disease\n", encoding="utf8"
    )
    result = run("build", "en", "--no-base", "--source", f"words={tmp_path}/words.csv", "--output", tmp_path / "d.bin")
    assert result.exit_code == 0, result.output
    assert "words.csv: 2 terms and forms (0 left out; 1 of 3 rows skipped, first row 3:" in result.output
    assert [match.label for match in MedicalDictionary.from_file(tmp_path / "d.bin").find("Quuxitis")] == ["disease"]


def test_the_dictionary_that_ships_is_the_base_and_stays_as_it_is(tmp_path):
    (tmp_path / "words.csv").write_text("term,kind\nquuxitis,disease\n", encoding="utf8")
    before = len(MedicalDictionary.load("en"))
    result = run("build", "en", "--source", f"words={tmp_path}/words.csv", "--output", tmp_path / "d.bin")
    assert result.exit_code == 0, result.output
    assert len(MedicalDictionary.from_file(tmp_path / "d.bin")) == before + 1
    assert len(MedicalDictionary.load("en")) == before


@pytest.mark.parametrize("source", ["words", "owl=x", "icd:nonsense=x", "obo=none.obo"])
def test_a_wrong_source_is_an_error_and_leaves_nothing(tmp_path, source):
    result = run("build", "en", "--no-base", "--source", source, "--output", tmp_path / "d.bin")
    assert result.exit_code == 1
    assert not (tmp_path / "d.bin").exists()


def test_nothing_to_compile_is_an_error(tmp_path):
    assert "no medical terms" in run("build", "en", "--no-base", "--output", tmp_path / "d.bin").output


def test_terms_are_harvested_and_can_be_compiled(tmp_path, science):
    notes = write_notes(tmp_path / "notes.jsonl", "Quuxitis of the pulmonary artery.")
    result = run("harvest", notes, "--lang", "en", "--science", science, "--output", tmp_path / "h.csv")
    assert result.exit_code == 0, result.output
    assert "from 10 notes of 10 patients" in result.output
    result = run("build", "en", "--no-base", "--source", f"words={tmp_path}/h.csv", "--output", tmp_path / "d.bin")
    assert result.exit_code == 0, result.output
    assert MedicalDictionary.from_file(tmp_path / "d.bin").find("pulmonary artery")


def test_what_the_store_knows_of_patients_and_institution_is_no_term(tmp_path, science):
    with StoreWriter(tmp_path / "store") as writer:
        writer.add_institution([LocalEntry("Pulmonary Artery", "HOSPITAL", "sites.name")])
        for i in range(10):
            writer.add_patient(str(i), [LocalEntry("Quuxitis", "PATIENT", "patients.surname")])
        writer.commit({})
    notes = write_notes(tmp_path / "notes.jsonl", "Quuxitis of the pulmonary artery.")
    settings = (
        "--lang",
        "en",
        "--science",
        science,
        "--dictionaries",
        tmp_path / "store",
        "--output",
        tmp_path / "h.csv",
    )
    result = run("harvest", notes, *settings)
    assert result.exit_code == 0, result.output
    assert "uuxitis" not in (tmp_path / "h.csv").read_text(encoding="utf8")
    assert "artery" not in (tmp_path / "h.csv").read_text(encoding="utf8")


def test_notes_without_the_patient_field_are_an_error(tmp_path, science):
    (tmp_path / "notes.jsonl").write_text('{"text": "Quuxitis of Virtanen"}\n', encoding="utf8")
    result = run(
        "harvest", tmp_path / "notes.jsonl", "--lang", "en", "--science", science, "--output", tmp_path / "h.csv"
    )
    assert result.exit_code == 1
    assert "Virtanen" not in result.output
    assert not (tmp_path / "h.csv").exists()
