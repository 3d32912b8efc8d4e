"""All types of sources give the same rows, and errors do not quote values."""

import gzip
import re

import pytest
from ehr_tables import CANARIES, ROWS, cells, write_csv, write_sqlite

from spacy_deid.ehr import sources
from spacy_deid.ehr.cleaning import as_text
from spacy_deid.ehr.sources import read_rows
from spacy_deid.errors import InputError


def rows_of(table):
    return [tuple(map(as_text, row)) for batch in read_rows(table) for row in batch.rows]


def failure(table):
    with pytest.raises(InputError) as error:
        list(read_rows(table))
    text = f"{error.value}{error.value.__cause__}{error.value.__context__}"
    assert not any(value in text for value in CANARIES)
    return str(error.value)


def test_every_source_gives_the_same_rows(patients):
    assert rows_of(patients) == [tuple(cells(row)) for row in ROWS]


def test_rows_come_in_batches_with_their_numbers(mapping, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BATCH", 3)
    write_csv(tmp_path / "patients.csv")
    found = list(read_rows(mapping().tables[0]))
    assert [(batch.first, len(batch.rows)) for batch in found] == [(2, 3), (5, 1)]
    assert repr(found[0]) == "Batch('patients.csv', first=2, rows=3)"


def test_rows_of_a_database_come_in_batches(mapping, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BATCH", 3)
    write_sqlite(tmp_path / "ehr.db")
    monkeypatch.setenv("EHR_URL", f"sqlite:///{tmp_path}/ehr.db")
    found = list(read_rows(mapping(source='url_env = "EHR_URL"\ntable = "patients"').tables[0]))
    assert [(batch.first, len(batch.rows)) for batch in found] == [(1, 3), (4, 1)]


def test_several_files_of_a_pattern_are_one_table(mapping, tmp_path):
    write_csv(tmp_path / "patients-1.csv", ROWS[:1])
    write_csv(tmp_path / "patients-2.csv", ROWS[1:])
    assert len(rows_of(mapping(source='path = "patients-*.csv"').tables[0])) == 4


def test_columns_are_found_in_any_order_and_case_among_others(mapping, tmp_path):
    columns = ("PHONE", "Notes", "MRN", "Surname", "given", "born")
    rows = [(row[4], "x", row[0], row[2], row[1], row[3]) for row in ROWS]
    write_csv(tmp_path / "patients.csv", rows, columns)
    assert rows_of(mapping().tables[0]) == [tuple(cells(row)) for row in ROWS]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"mrn,given,surname,born\n1000234,Olalla,Zarzaquemada,1957-03-12\n", "has no column 'phone'"),
        (b"1000234,Olalla,Zarzaquemada,1957-03-12,612345678\n", "is its first line a header"),
        (b"mrn,given,surname,born,phone\n1000234,Olalla,Zarzaquemada\n", "row 2: 3 columns where the header has 5"),
        (b'mrn,given,surname,born,phone\n"1000234,Olalla,Zarzaquemada\n', "row .: invalid CSV"),
        ("mrn,given,surname,born,phone\n1000234,Íker,Zarzaquemada,,\n".encode("cp1252"), "row 2: not valid utf-8"),
        (b"mrn,given,surname,born,phone\n", "has no rows"),
        (b"", "has no column"),
    ],
)
def test_a_broken_file_is_named_by_row_and_column(mapping, tmp_path, data, message):
    (tmp_path / "patients.csv").write_bytes(data)
    assert re.search(message, failure(mapping().tables[0]))


@pytest.mark.parametrize(
    ("name", "data", "keys", "message"),
    [
        (
            "patients.csv",
            "mrn,given,surname,born,phone\n1000234,Íker,Goñi,,\n".encode(),
            'encoding = "cp1252"',
            "UTF-8",
        ),
        ("patients.csv", b"x", 'encoding = "nonsense"', "unknown text encoding"),
        ("patients.csv", "mrn".encode("utf-16")[:-1], 'encoding = "utf-16"', "not valid utf-16"),
        (
            "patients.csv.gz",
            gzip.compress(b"mrn,given,surname,born,phone\n", mtime=0)[:-9],
            "",
            "incomplete .gz file",
        ),
        ("patients.xlsx", b"x", "", "unsupported file type"),
        ("patients.parquet", b"Zarzaquemada", "", "not a Parquet file"),
        ("other.csv", b"x", 'path = "nowhere.csv"', "file not found: nowhere.csv"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(mapping, tmp_path, name, data, keys, message):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(data)
    source = keys if keys.startswith("path") else f'path = "{name}"\n{keys}'
    assert message in failure(mapping(source=source).tables[0])


def test_a_parquet_file_without_the_column_is_named(mapping, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pa.table({"mrn": [1], "given": ["Olalla"]}), tmp_path / "patients.parquet")
    assert "'surname', 'born', 'phone'" in failure(mapping(source='path = "patients.parquet"').tables[0])


def test_a_missing_environment_variable_is_named(mapping, monkeypatch):
    monkeypatch.delenv("EHR_URL", raising=False)
    assert "set the environment variable EHR_URL" in failure(
        mapping(source='url_env = "EHR_URL"\ntable = "patients"').tables[0]
    )


@pytest.mark.parametrize(
    ("address", "keys", "message"),
    [
        ("postgresql+psycopg://ana:geheim@127.0.0.1:1/ehr", 'table = "patients"', "OperationalError"),
        ("nonsense", 'table = "patients"', "ArgumentError"),
        ("nosuchdb://ana:geheim@localhost/x", 'table = "patients"', "NoSuchModuleError"),
        ("mysql+pymysql://ana:geheim@localhost/x", 'table = "patients"', "requires the package 'pymysql'"),
        ("sqlite:///{path}", 'table = "nowhere"', "OperationalError"),
        ("sqlite:///{path}", "query = \"SELECT surname FROM patients WHERE x = 'geheim'\"", "OperationalError"),
        ("sqlite:///{path}", 'query = "SELECT * FROM patients WHERE 1 = 2"', "has no rows"),
        ("sqlite:///{path}", 'query = "SELECT mrn FROM patients"', "has no column 'given'"),
        ("sqlite:////nowhere/missing.db", 'table = "patients"', "the SQLite file in EHR_URL does not exist"),
        ("duckdb:////nowhere/x.duckdb", 'table = "patients"', "the DuckDB file does not exist"),
    ],
)
def test_a_failing_database_is_named_without_its_message(mapping, tmp_path, monkeypatch, address, keys, message):
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("duckdb" if address.startswith("duckdb") else "psycopg")
    write_sqlite(tmp_path / "ehr.db")
    monkeypatch.setenv("EHR_URL", address.format(path=tmp_path / "ehr.db"))
    said = failure(mapping(source=f'url_env = "EHR_URL"\n{keys}').tables[0])
    assert message in said
    assert "geheim" not in said
    assert "'patients'" in said


def test_a_source_may_be_empty_if_the_mapping_says_so(mapping, tmp_path):
    write_csv(tmp_path / "patients.csv", [])
    assert rows_of(mapping(source='path = "patients.csv"\nmay_be_empty = true').tables[0]) == []


def test_a_package_that_is_missing_is_named(mapping):
    with pytest.raises(InputError, match=r"pip install 'spacy-deid\[ehr\]'"):
        sources.import_package(mapping().tables[0].source, "no_such_package", "no-such-package")


@pytest.mark.parametrize("address", ["sqlite:///{path}", "sqlite:///file:{path}?uri=true"])
def test_a_missing_sqlite_file_is_not_created(mapping, tmp_path, monkeypatch, address):
    pytest.importorskip("sqlalchemy")
    path = tmp_path / "missing.db"
    monkeypatch.setenv("EHR_URL", address.format(path=path))
    said = failure(mapping(source='url_env = "EHR_URL"\ntable = "patients"').tables[0])
    assert "the SQLite file in EHR_URL does not exist" in said
    assert "missing.db" not in said
    assert not path.exists()
