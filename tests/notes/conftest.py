"""Fixtures: the same notes in every type of table."""

import csv
import json
import sqlite3
from contextlib import closing
from datetime import date

import pytest

COLUMNS = ("note_id", "patient_id", "note_type", "date", "text")
ROWS = [
    (
        f"N{i}",
        f"P{i % 7}" if i % 11 else None,
        ("progress", "phone")[i % 2],
        date(2019 + i % 3, 1 + i % 12, 2),
        f"Nota {i}\nünö",
    )
    for i in range(50)
]


def write_csv(path):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([cell if cell is not None else "" for cell in row] for row in ROWS)
    return str(path)


def write_jsonl(path):
    records = [dict(zip(COLUMNS, row, strict=True)) | {"date": row[3].isoformat()} for row in ROWS]
    path.write_text("".join(json.dumps(record) + "\n\n" for record in records), encoding="utf-8")
    return str(path)


def write_parquet(path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    path.mkdir()
    columns = dict(zip(COLUMNS, map(list, zip(*ROWS, strict=True)), strict=True))
    table = pa.table(columns)
    write_table(table.slice(0, 30), path / "a.parquet", row_group_size=8)
    write_table(table.slice(30), path / "b.parquet", row_group_size=8)
    return str(path)


def write_sqlite(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f'CREATE TABLE "the notes" ({", ".join(COLUMNS)})')
        rows = [(*row[:3], row[3].isoformat(), row[4]) for row in ROWS]
        connection.executemany('INSERT INTO "the notes" VALUES (?, ?, ?, ?, ?)', rows)
    connection.close()
    return str(path)


def write_duckdb(path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            'CREATE TABLE "the notes" (note_id TEXT, patient_id TEXT, note_type TEXT, date DATE, text TEXT)'
        )
        connection.executemany('INSERT INTO "the notes" VALUES (?, ?, ?, ?, ?)', ROWS)
    return str(path)


def write_postgres(url):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text('CREATE SCHEMA IF NOT EXISTS "ehr"'))
        connection.execute(sqlalchemy.text('DROP TABLE IF EXISTS ehr."the notes"'))
        kinds = "note_id TEXT, patient_id TEXT, note_type TEXT, date DATE, text TEXT"
        connection.execute(sqlalchemy.text(f'CREATE TABLE ehr."the notes" ({kinds})'))
        insert = sqlalchemy.text(
            'INSERT INTO ehr."the notes" VALUES (:note_id, :patient_id, :note_type, :date, :text)'
        )
        connection.execute(insert, [dict(zip(COLUMNS, row, strict=True)) for row in ROWS])
    engine.dispose()
    return url


WRITERS = {
    "csv": (write_csv, "notes.csv"),
    "jsonl": (write_jsonl, "notes.jsonl"),
    "parquet": (write_parquet, "notes"),
    "sqlite": (write_sqlite, "notes.db"),
    "duckdb": (write_duckdb, "notes.duckdb"),
    "postgres": (write_postgres, ""),
}


@pytest.fixture
def rows():
    """The rows that every table holds."""
    return ROWS


@pytest.fixture(params=WRITERS)
def table(request, tmp_path):
    """Where the notes are, and the name of the table."""
    write, name = WRITERS[request.param]
    if request.param == "postgres":
        return write(request.getfixturevalue("postgres_url")), "ehr.the notes"
    return write(tmp_path / name), "the notes" if request.param in ("sqlite", "duckdb") else ""
