"""A hospital of four patients, whose table can be written to every kind of source."""

import csv
import gzip
import sqlite3
from contextlib import closing
from datetime import date

import pytest

COLUMNS = ("mrn", "given", "surname", "born", "phone")
ROWS = [
    ("1000234", "Olalla", "Zarzaquemada", date(1957, 3, 12), "612 345 678"),
    ("1000235", "Íker", "Quebrantado Goñi", date(1984, 11, 2), None),
    ("1000236", "Rosa", "Villaseca", date(1990, 1, 30), "+34 945 12 34 56"),
    ("1000237", "Ndu", "Más", date(2001, 7, 4), "677000111"),
]
CANARIES = (
    "Zarzaquemada",
    "zarzaquemada",
    "Quebrantado",
    "quebrantado",
    "Villaseca",
    "1000234",
    "612345678",
    "Olalla",
)
MAPPING = """
lang = "es"
[sources.patients]
{source}
[tables.patients]
source = "patients"
patient_id = "mrn"
[tables.patients.columns]
mrn = "id:MRN"
given = "given"
surname = "surname"
born = "birth_date"
phone = "phone"
"""


def cells(row):
    return ["" if cell is None else cell.isoformat() if isinstance(cell, date) else cell for cell in row]


def write_csv(path, rows=None, columns=COLUMNS, encoding="utf-8", delimiter=","):
    with open(path, "w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(cells(row) for row in (ROWS if rows is None else rows))


def write_parquet(path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    columns = dict(zip(COLUMNS, map(list, zip(*ROWS, strict=True)), strict=True))
    write_table(pa.table({**columns, "mrn": [int(mrn) for mrn in columns["mrn"]]}), path)


def write_sqlite(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE patients ({', '.join(COLUMNS)})")
        rows = [[int(row[0]), *cells(row)[1:]] for row in ROWS]
        connection.executemany("INSERT INTO patients VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()


def write_duckdb(path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE patients (mrn BIGINT, given TEXT, surname TEXT, born DATE, phone TEXT)")
        connection.executemany("INSERT INTO patients VALUES (?, ?, ?, ?, ?)", ROWS)


def write_postgres(url):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE SCHEMA IF NOT EXISTS records"))
        connection.execute(sqlalchemy.text("DROP TABLE IF EXISTS records.patients"))
        kinds = '"MRN" BIGINT, given TEXT, surname TEXT, born DATE, phone TEXT'
        connection.execute(sqlalchemy.text(f"CREATE TABLE records.patients ({kinds})"))
        insert = sqlalchemy.text("INSERT INTO records.patients VALUES (:mrn, :given, :surname, :born, :phone)")
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]
        connection.execute(insert, [row | {"mrn": int(row["mrn"])} for row in rows])
    engine.dispose()


def write_gz(path):
    write_csv(path.with_suffix(""))
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
