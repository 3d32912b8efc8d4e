"""Runs over OMOP and i2b2 databases: what is released, what goes to quarantine, and what a run refuses."""

import itertools
from datetime import date

import pytest
from omop_tables import CANARIES, FAMILY, GIVEN, MODEL, ROWS, TABLES, TEXT, make_duckdb, make_postgres, note

from spacy_deid import Deidentifier
from spacy_deid.data_models.model import read_model
from spacy_deid.data_models.tables import TableIds
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.errors import ConfigError, InputError
from spacy_deid.fhir.run import FhirDeidentifier, Unit
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.warehouse.inputs import InputSettings
from spacy_deid.warehouse.run import Run
from spacy_deid.warehouse.settings import Settings, TableColumns

pytest.importorskip("duckdb", reason="needs duckdb: pip install 'spacy-deid[ehr]'")
pytest.importorskip("ffx", reason="needs libffx: pip install 'spacy-deid[surrogates]'")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: pip install 'spacy-deid[warehouse]'")
KEY = ProjectKey(bytes(range(32)))
SCHEMAS = (f"cdm{i}" for i in itertools.count())

I2B2 = {
    "observation_fact": "text_search_index INT, encounter_num INT, patient_num INT, concept_cd VARCHAR(50), "
    "provider_id VARCHAR(50), start_date TIMESTAMP, modifier_cd VARCHAR(100), instance_num INT, "
    "valtype_cd VARCHAR(50), tval_char VARCHAR(255), valueflag_cd VARCHAR(50), units_cd VARCHAR(50), "
    "end_date TIMESTAMP, observation_blob TEXT",
    "patient_dimension": "patient_num INT, birth_date TIMESTAMP, zip_cd VARCHAR(10), sex_cd VARCHAR(50)",
    "patient_mapping": "patient_ide VARCHAR(200), patient_ide_source VARCHAR(50), patient_num INT",
    "provider_dimension": "provider_id VARCHAR(50), name_char VARCHAR(850)",
}


@pytest.fixture(params=["duckdb", "postgresql"])
def database(request, tmp_path):
    """Make a database: ``database(rows, tables)`` returns where it is and its schema."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""

    def make(rows, tables=TABLES):
        if not url:
            return make_duckdb(tmp_path / "cdm.duckdb", rows, tables), ""
        schema = next(SCHEMAS)
        return make_postgres(url, schema, rows, tables), schema

    return make


@pytest.fixture
def release(pipeline_folder, tmp_path):
    """Run over a database: ``release(database, model)`` returns the summary."""
    KEY.to_file(tmp_path / "keys" / "project.key")
    (tmp_path / "own.toml").write_text(MODEL)

    def run(database, model="own.toml", *, style="surrogate", rows=10_000, dictionaries=None, pipeline="", **driver):
        where, schema = database
        found = read_model(tmp_path / model if model.endswith("toml") else model, schema)
        key = str(tmp_path / "keys" / "project.key")
        columns = TableColumns.of_model(found)
        used = {"dictionaries": dictionaries, "data_model": found.to_json()}
        settings = Settings(pipeline or str(pipeline_folder), columns, style=style, key=key, **used)
        source = InputSettings(where, query=found.query, rows=rows)
        return Run(settings, source, tmp_path / "out", n_process=0, say=lambda line: None, **driver)()

    return run


def read(folder, name="notes"):
    rows = [
        row
        for path in sorted((folder / "out" / name).glob("*.parquet"))
        for row in parquet.read_table(path).to_pylist()
    ]
    return sorted(rows, key=str)


def test_no_identifier_is_left_in_any_file(database, release, tmp_path):
    summary = release(database({**ROWS, "note": [note(1), note(2, title=f"Letter about {FAMILY}")]}))
    assert summary["rows"] == {"read": 2, "released": 2, "quarantined": 0}
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"notes", "note_nlp", "run"}
    shown = str(read(tmp_path)) + str(read(tmp_path, "note_nlp"))
    assert "Pulse 72/min" in shown
    assert [word for word in CANARIES if word in shown] == []
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            assert [word for word in CANARIES if word.encode() in path.read_bytes()] == [], path
    assert not (tmp_path / "out" / "run" / "people").exists()


def test_dates_ids_and_codes(database, release, tmp_path):
    release(database({**ROWS, "note": [note(1)]}))
    (row,) = read(tmp_path)
    assert row["note_date"] != date(2024, 11, 30)
    assert row["note_date"].isoformat() in row["note_text"]
    assert row["note_datetime"].isoformat() == f"{row['note_date'].isoformat()}T10:20:30"
    assert (row["note_type_concept_id"], row["language_concept_id"]) == (32817, 4180186)
    assert (row["person_id"], row["note_id"]) == (TableIds(KEY).number("person", 17), TableIds(KEY).number("note", 1))
    assert "note_event_id" not in row


def test_spans_are_those_of_the_released_text(database, release, tmp_path):
    release(database({**ROWS, "note": [note(1)]}))
    (row,), spans = read(tmp_path), read(tmp_path, "note_nlp")
    assert len(spans) >= 3
    for span in spans:
        start = int(span["offset"])
        assert row["note_text"][start : start + len(span["lexical_variant"])] == span["lexical_variant"]
        assert span["note_id"] == row["note_id"]
    assert {"label=PATIENT", "label=DATE"} <= {span["term_modifiers"] for span in spans}
    assert len({span["note_nlp_id"] for span in spans}) == len(spans)


def test_surrogates_are_those_of_fhir(database, release, nlp, tmp_path):
    pytest.importorskip("lxml", reason="needs lxml: pip install 'spacy-deid[fhir]'")
    release(database({**ROWS, "note": [note(1)]}))
    patient = {
        "resourceType": "Patient",
        "id": "QF-771903",
        "identifier": [{"system": "urn:oid:1.2.36", "value": "QF-771903"}],
        "name": [{"family": FAMILY, "given": [GIVEN]}],
        "gender": "female",
        "birthDate": "1950-03-02",
    }
    doctor = {"resourceType": "Practitioner", "id": "d3", "name": [{"text": "Zebedee Okonkwo"}]}
    about = {"subject": {"reference": "Patient/QF-771903"}, "effectiveDateTime": "2024-11-30"}
    seen = {"resourceType": "Observation", "status": "final", "code": {"text": "x"}, **about, "note": [{"text": TEXT}]}
    with FhirDeidentifier(Deidentifier(nlp, style="surrogate", key=KEY), key=KEY) as fhir:
        fhir.read([patient, doctor, seen])
        (outcome,) = fhir.release([Unit(seen)])
    assert outcome.resource["note"][0]["text"] == read(tmp_path)[0]["note_text"]
    assert outcome.resource["effectiveDateTime"] == read(tmp_path)[0]["note_date"].isoformat()


def test_bad_rows_go_to_quarantine_and_name_the_column(database, release, tmp_path):
    rows = [
        note(1),
        note(2, text=None),
        note(3, person=99),
        note(4),
        note(4),
        note(5, person=None),
        note(6, person=18),
    ]
    summary = release(database({**ROWS, "note": rows}))
    assert summary["rows"] == {"read": 7, "released": 2, "quarantined": 5}
    found = {(row["note_id"], row["reason"]) for row in read(tmp_path, "run/quarantine")}
    assert {(number, reason.partition(":")[0]) for number, reason in found if number != "5"} == {
        ("2", "column 'note_text'"),
        ("3", "column 'person_id'"),
        ("4", "column 'note_id'"),
    }
    assert any("'person_id'" in reason for number, reason in found if number == "5")


def test_a_run_continues_and_notices_other_persons(database, release, tmp_path):
    place = database({**ROWS, "note": [note(i) for i in range(1, 8)]})
    assert release(place, rows=3)["partitions"]["processed"] == 3
    before = {path: path.read_bytes() for path in (tmp_path / "out" / "notes").iterdir()}
    sorted(before)[0].unlink()
    summary = release(place, rows=3)
    assert (summary["partitions"]["processed"], summary["partitions"]["kept"]) == (1, 2)
    assert {path: path.read_bytes() for path in (tmp_path / "out" / "notes").iterdir()} == before
    with pytest.raises(ConfigError, match="columns"):
        release(place, "omop", rows=3)


def test_the_pipeline_is_loaded_once(release, tmp_path, monkeypatch):
    loaded, load = [], Settings.open
    monkeypatch.setattr(Settings, "open", lambda settings: loaded.append(settings) or load(settings))
    place = (make_duckdb(tmp_path / "cdm.duckdb", {**ROWS, "note": [note(1), note(2)]}), "")
    assert release(place, rows=1)["partitions"]["processed"] == 2
    assert len(loaded) == 1


def test_dictionaries_of_the_hospital_are_used_as_well(database, release, tmp_path):
    folder = tmp_path / "hospital"

    def build(*terms):
        with StoreWriter(folder) as writer:
            writer.add_institution([LocalEntry(term, "CLINICIAN", "staff.name") for term in terms])
            writer.add_patient("QF-771903", [LocalEntry("Ysolde", "RELATIVE", "relatives.name")])
            writer.add_patient("other", [LocalEntry("Ravenswood", "PATIENT", "patients.surname")])
            writer.commit({})

    build("Tanqueray Bo")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    text = f"{TEXT} Ysolde called Tanqueray Bo about Ravenswood."
    place = database({**ROWS, "note": [note(1, text)]})
    summary = release(place, dictionaries=str(folder))
    assert summary["rows"] == {"read": 1, "released": 1, "quarantined": 0}
    (row,) = read(tmp_path)
    assert [word for word in (*CANARIES, "Ysolde", "Tanqueray") if word in str(row)] == []
    assert "Ravenswood" in row["note_text"]  # of another patient
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    build("Tanqueray Bo", "Hollis Vane")
    with pytest.raises(ConfigError, match="dictionaries"):
        release(place, dictionaries=str(folder))


def test_names_of_clinicians_that_are_common_words(database, release, tmp_path):
    rows = {**ROWS, "provider": [(3, "Rosa Blanco Luna", None, None, None)]}
    text = "Visto por Rosa Blanco Luna. Luna Rosa llega mañana. Manchas de color rosa y blanco."
    release(database({**rows, "note": [note(1, text)]}))
    (row,) = read(tmp_path)
    assert "Rosa Blanco" not in row["note_text"]
    assert row["note_text"].endswith("Manchas de color rosa y blanco.")


@pytest.mark.parametrize(
    ("lang", "city", "text", "kept"),
    [
        ("en", "Northern", "Lives in Northern. Walked to the {} end of the ward.", "northern"),
        ("en", "Reading", "Moved to Reading. A second {} was 120/80.", "reading"),
        ("es", "Norte", "Reside en Norte. La ventana da al {} y hay ruido.", "norte"),
        ("es", "Grado", "Reside en Grado. Quemadura de segundo {} en la mano.", "grado"),
        ("fi", "Pohjoinen", "Kotikunta Pohjoinen. Tuuli on {} ja heikko.", "pohjoinen"),
        ("fi", "Pohjoinen", "Palasi kotiin Pohjoisesta. Myrsky tulee {}.", "pohjoisesta"),
    ],
)
def test_places_that_are_ordinary_words_are_replaced_where_they_are_capitalised(
    release, tmp_path, lang, city, text, kept
):
    rows = {**ROWS, "location": [(5, "12 Larkspur Crescent", None, city, "62704")]}
    place = make_duckdb(tmp_path / "cdm.duckdb", {**rows, "note": [note(1, text.format(kept))]})
    release((place, ""), pipeline=lang)
    (row,) = read(tmp_path)
    assert kept in row["note_text"]
    assert kept.title() not in row["note_text"]
    assert row["note_text"].endswith(text.partition("{}")[2])


def test_a_place_that_is_an_ordinary_word_is_replaced_in_a_note_without_capitals(release, tmp_path):
    rows = {**ROWS, "location": [(5, None, None, "Norte", None)]}
    release((make_duckdb(tmp_path / "cdm.duckdb", {**rows, "note": [note(1, "reside en norte, sin cambios")]}), ""))
    assert "norte" not in read(tmp_path)[0]["note_text"]


def test_missing_tables_and_columns_are_named(database, release):
    tables = {name: columns for name, columns in TABLES.items() if name != "provider"}
    with pytest.raises(InputError, match="provider'"):
        release(database({}, tables))


def test_a_missing_column_is_named(database, release):
    tables = {**TABLES, "location": "location_id INT, address_1 TEXT, address_2 TEXT, zip TEXT"}
    with pytest.raises(InputError, match="table 'location': no column 'city'"):
        release(database({}, tables))


def test_i2b2(database, release, tmp_path):
    place = database(
        {
            "observation_fact": [
                (1, 70, 17, "LOINC:11506-3", "doc3", "2024-11-30 10:20", "@", 1, "B", None, None, None, None, TEXT),
                (2, 70, 17, "LOINC:8867-4", "doc3", "2024-11-30", "@", 1, "N", "E", None, "/min", None, None),
                (3, 70, 17, "QF-771903", "doc3", "2024-11-30", "@", 1, "B", None, None, None, None, TEXT),
            ],
            "patient_dimension": [(17, "1950-03-02", "62704", "F")],
            "patient_mapping": [("QF-771903", "MRN", 17)],
            "provider_dimension": [("doc3", "Zebedee Okonkwo")],
        },
        I2B2,
    )
    release(place, "i2b2")
    rows = sorted(read(tmp_path), key=lambda row: row["concept_cd"] or "")
    assert [row["concept_cd"] for row in rows] == [None, "LOINC:11506-3"]
    assert "QF-771903" not in str(rows) + str(read(tmp_path, "note_nlp"))
    assert "Okonkwo" not in str(rows)
    assert rows[0]["start_date"].date().isoformat() in rows[0]["observation_blob"]


def test_a_run_needs_a_key_and_a_database(cli, tmp_path):
    where = make_duckdb(tmp_path / "cdm.duckdb", ROWS)
    result = cli("run", "--pipeline", "es", "--data-model", "omop", "--input", where, "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "--key" in result.output
    result = cli("run", "--pipeline", "es", "--data-model", "omop", "--input", tmp_path, "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "reads a database" in result.output


@pytest.mark.parametrize(
    "text", ["", "extends = 'omop'\nx = 1", "extends = 'omop'\n[note.columns]\nnote_id = 'text'", "?"]
)
def test_a_wrong_data_model_is_refused(tmp_path, text):
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(ConfigError, match="data model"):
        read_model(tmp_path / "own.toml")


def test_ids_of_one_kind_stay_different():
    ids = TableIds(KEY)
    numbers = [*range(300), 2**31, 2**62]
    made = [ids.number("note", number) for number in numbers]
    assert len(set(made)) == len(numbers)
    assert all(0 <= number < 2**31 for number in made[:300])
    assert ids.number("person", 5) != ids.number("note", 5)
