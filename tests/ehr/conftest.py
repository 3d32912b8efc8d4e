"""Fixtures: dictionaries built from the tables of a small hospital."""

import json

import pytest
from ehr_tables import MAPPING, write_csv, write_duckdb, write_gz, write_parquet, write_postgres, write_sqlite

from spacy_deid.dictionaries.store import LocalStore
from spacy_deid.ehr.builder import Settings, build_dictionary
from spacy_deid.ehr.mapping import read_mapping


@pytest.fixture
def mapping(tmp_path):
    """Write a mapping and read it: its text, or where the patients of the template are."""

    def write(text="", source='path = "patients.csv"'):
        path = tmp_path / "mapping.toml"
        path.write_text(text or MAPPING.format(source=source), encoding="utf-8")
        return read_mapping(path)

    return write


@pytest.fixture
def build(mapping, tmp_path):
    """Build from a mapping's text, or from the patients in patients.csv; the store and the report are returned."""

    def run(text="", *, rows=None, progress=lambda what, count: None, **settings):
        if not text:
            write_csv(tmp_path / "patients.csv", rows)
        report = tmp_path / "report.json"
        build_dictionary(mapping(text), tmp_path / "local", report, Settings(**settings), progress)
        return LocalStore.open(tmp_path / "local"), json.loads(report.read_text(encoding="utf-8"))

    return run


@pytest.fixture(params=["csv", "tsv", "gz", "cp1252", "utf16", "parquet", "sqlite", "query", "duckdb", "postgres"])
def patients(request, mapping, tmp_path, monkeypatch):
    """The table of patients in one kind of source."""
    return _SOURCES[request.param](request, mapping, tmp_path, monkeypatch).tables[0]


def _file(name, write, keys=""):
    def make(request, mapping, folder, monkeypatch):
        write(folder / name)
        return mapping(source=f'path = "{name}"\n{keys}')

    return make


def _database(name, write, address, keys='table = "patients"'):
    def make(request, mapping, folder, monkeypatch):
        write(folder / name)
        monkeypatch.setenv("EHR_URL", address.format(path=folder / name))
        return mapping(source=f'url_env = "EHR_URL"\n{keys}')

    return make


def _postgres(request, mapping, folder, monkeypatch):
    url = request.getfixturevalue("postgres_url")
    write_postgres(url)
    monkeypatch.setenv("EHR_URL", url)
    return mapping(source='url_env = "EHR_URL"\ntable = "records.patients"')


_SOURCES = {
    "csv": _file("patients.csv", write_csv),
    "tsv": _file("patients.tsv", lambda path: write_csv(path, delimiter="\t")),
    "gz": _file("patients.csv.gz", write_gz),
    "cp1252": _file(
        "patients.csv",
        lambda path: write_csv(path, encoding="cp1252", delimiter=";"),
        'encoding = "cp1252"\ndelimiter = ";"',
    ),
    "utf16": _file("patients.csv", lambda path: write_csv(path, encoding="utf-16"), 'encoding = "utf-16"'),
    "parquet": _file("patients.parquet", write_parquet),
    "sqlite": _database("ehr.db", write_sqlite, "sqlite:///{path}"),
    "query": _database("ehr.db", write_sqlite, "sqlite:///{path}", 'query = "SELECT * FROM patients ORDER BY mrn"'),
    "duckdb": _database("ehr.duckdb", write_duckdb, "duckdb:///{path}"),
    "postgres": _postgres,
}
