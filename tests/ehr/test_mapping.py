"""The mapping file: valid content, and errors that name the place."""

from importlib import resources
from pathlib import Path

import pytest
from ehr_tables import MAPPING

from spacy_deid.ehr.mapping import read_mapping
from spacy_deid.errors import ConfigError

GOOD = MAPPING.format(source='path = "patients.csv"')


def columns(mapped):
    return {column.rule: (column.kind, column.label, column.person) for t in mapped.tables for column in t.columns}


def test_the_mapping_that_ships_is_read():
    path = Path(str(resources.files("spacy_deid"))) / "resources" / "ehr" / "mapping.toml"
    mapped = read_mapping(path)
    assert [table.name for table in mapped.tables] == ["centres", "staff", "patients", "aliases"]
    assert columns(mapped)["patients.madre"] == ("full", "RELATIVE", "relative")
    assert columns(mapped)["staff.apellidos"] == ("surname", "CLINICIAN", "clinician")
    assert all((path.parent / table.source.path.name).is_file() for table in mapped.tables)


def test_kinds_labels_and_persons(mapping):
    mapped = mapping(
        GOOD.replace(
            'phone = "phone"',
            'phone = "phone"\nhome = "street:LOCATION_OTHER"\ncontact = "relative2.given"\nmother = "relative"\n'
            'gp = "clinician"\nalias = {kind = "nickname", separator = ";"}\n'
            'since = {kind = "date", date_format = "%Y"}',
        )
    )
    found = columns(mapped)
    assert found["patients.mrn"] == ("id", "MRN", "patient")
    assert found["patients.surname"] == ("surname", "PATIENT", "patient")
    assert found["patients.home"][:2] == ("street", "LOCATION_OTHER")
    assert found["patients.contact"] == ("given", "RELATIVE", "relative2")
    assert found["patients.mother"] == ("full", "RELATIVE", "relative")
    assert found["patients.gp"] == ("clinician", "CLINICIAN", "clinician")
    by_name = {column.name: column for column in mapped.tables[0].columns}
    assert by_name["alias"].split("Lali; Ola") == ["Lali", " Ola"]
    assert by_name["since"].date_format == "%Y"


def test_columns_are_read_once_and_in_order(mapping):
    table = mapping().tables[0]
    assert table.wanted == ["mrn", "given", "surname", "born", "phone"]
    assert table.places == [0, 1, 2, 3, 4]


def test_names_of_a_table_without_patients_are_of_persons(mapping):
    mapped = mapping(GOOD.replace('patient_id = "mrn"\n', ""))
    assert columns(mapped)["patients.surname"] == ("surname", "PERSON", "patient")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('lang = "es"', "", "no language"),
        ('lang = "es"', 'lang = "xx"', "no name expansion for language 'xx'"),
        ('lang = "es"', 'lang = "es"\nplaceholder = []', "unknown key 'placeholder'.*placeholders"),
        ('lang = "es"', 'lang = "es"\nplaceholders = [1]', "must be a list of strings"),
        ("[sources.patients]", "[sources.other]", "unknown source 'patients'. Defined sources: other"),
        ('path = "patients.csv"', "", "needs either 'path' or 'url_env'"),
        ('path = "patients.csv"', 'url_env = "EHR_URL"', "needs either 'table' or 'query'"),
        ('path = "patients.csv"', 'url_env = "postgresql://u:geheim@h/x"\ntable = "t"', "not a URL"),
        ('path = "patients.csv"', 'path = "patients.csv"\nmay_be_empty = "yes"', "must be true or false"),
        ('path = "patients.csv"', 'path = ["patients.csv"]', "must be text"),
        ('patient_id = "mrn"', 'patient = "mrn"', "unknown key 'patient'.*patient_id"),
        (
            'patient_id = "mrn"',
            'patient_id = "mrn"\nduplicates = "ignore"',
            "'duplicates' must be one of merge, first, error",
        ),
        ('"id:MRN"', '"id:NUMBER"', "unknown label 'NUMBER'"),
        ('"surname"', '"lastname"', "column 'surname': unknown kind 'lastname'.*surname"),
        ('"surname"', '"cousin.surname"', "unknown kind 'cousin.surname'"),
        ('"surname"', "1", "has no kind"),
        ('"surname"', '{kind = "surname", format = "x"}', "unknown key 'format'"),
        ("[tables.patients.columns]", "[tables.patients.other]", "unknown key 'other'"),
        ('phone = "phone"', "phone = ", "not valid TOML"),
        ("[tables.patients]", "[table.patients]", "unknown key 'table'"),
    ],
)
def test_errors_of_a_mapping_name_the_place(mapping, old, new, message):
    assert old in GOOD
    with pytest.raises(ConfigError, match=message) as error:
        mapping(GOOD.replace(old, new))
    assert "geheim" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"), [(None, "cannot be read"), (b"\xff", "not UTF-8"), (b"", "at least one")]
)
def test_an_unreadable_mapping_is_named(tmp_path, data, message):
    if data is not None:
        (tmp_path / "mapping.toml").write_bytes(data)
    with pytest.raises(ConfigError, match=message):
        read_mapping(tmp_path / "mapping.toml")


def test_a_table_needs_columns(mapping):
    text = GOOD.partition("[tables.patients.columns]")[0] + "[tables.patients.columns]\n"
    with pytest.raises(ConfigError, match="at least one column"):
        mapping(text)
