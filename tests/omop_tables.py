"""A small database in OMOP CDM 5.4, in DuckDB or in PostgreSQL, with names in every table that can have one."""

from contextlib import closing
from pathlib import Path
from typing import Any

GIVEN, FAMILY, CLINICIAN, STREET = "Wilhelmina", "Quillfeather", "Okonkwo", "Larkspur Crescent"
CANARIES = (GIVEN, FAMILY, CLINICIAN, STREET, "QF-771903", "1950-03-02", "2024-11-30")
TEXT = f"Seen on 2024-11-30: {GIVEN} {FAMILY}, record QF-771903, by Dr {CLINICIAN}. Pulse 72/min."

TABLES = {
    "person": "person_id BIGINT, gender_concept_id INT, year_of_birth INT, month_of_birth INT, day_of_birth INT, "
    "birth_datetime TIMESTAMP, location_id INT, person_source_value VARCHAR(50)",
    "person_name": "person_id BIGINT, given_name VARCHAR(50), family_name VARCHAR(50)",
    "location": "location_id INT, address_1 VARCHAR(50), address_2 VARCHAR(50), city VARCHAR(50), zip VARCHAR(9)",
    "provider": "provider_id INT, provider_name VARCHAR(255), npi VARCHAR(20), dea VARCHAR(20), "
    "provider_source_value VARCHAR(50)",
    "care_site": "care_site_id INT, care_site_name VARCHAR(255)",
    "note": "note_id BIGINT, person_id BIGINT, note_date DATE, note_datetime TIMESTAMP, note_type_concept_id INT, "
    "note_class_concept_id INT, note_title VARCHAR(250), note_text TEXT, encoding_concept_id INT, "
    "language_concept_id INT, provider_id BIGINT, visit_occurrence_id BIGINT, visit_detail_id BIGINT, "
    "note_source_value VARCHAR(50), note_event_id BIGINT",
}
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "person": [(17, 8532, 1950, 3, 2, None, 5, "QF-771903"), (18, 8507, 1960, 1, 1, None, None, None)],
    "person_name": [(17, GIVEN, FAMILY)],
    "location": [(5, f"12 {STREET}", None, "Springfield", "62704")],
    "provider": [(3, f"Zebedee {CLINICIAN}", "1234567893", None, "doc3")],
    "care_site": [(1, "Larchmont Infirmary")],
}
MODEL = """
extends = "omop"

[[people]]
table = "person_name"
source = "patient"
person = "person_id"
columns = { given_name = "given", family_name = "surname" }
"""


def note(number: int, text: str | None = TEXT, person: int | None = 17, title: str = "Letter") -> tuple[Any, ...]:
    """A row of the table of the notes."""
    day = "2024-11-30"
    return (number, person, day, f"{day} 10:20:30", 32817, 44814637, title, text, 0, 4180186, 3, 900, None, "Rpt", 1)


def fill(run: Any, tables: dict[str, str], rows: dict[str, list[tuple[Any, ...]]], mark: str) -> None:
    """Create tables and insert rows. `run` takes a statement and values."""
    for table, columns in tables.items():
        run(f"CREATE TABLE {table} ({columns})", ())
        for row in rows.get(table, []):
            run(f"INSERT INTO {table} VALUES ({', '.join([mark] * len(row))})", row)


def make_duckdb(path: Path, rows: dict[str, list[tuple[Any, ...]]], tables: dict[str, str] = TABLES) -> str:
    """Write a DuckDB file. RETURNS: its path."""
    import duckdb

    with closing(duckdb.connect(str(path))) as connection:
        fill(lambda text, values: connection.execute(text, values or None), tables, rows, "?")
    return str(path)


def make_postgres(
    url: str, schema: str, rows: dict[str, list[tuple[Any, ...]]], tables: dict[str, str] = TABLES
) -> str:
    """Create the tables in a new schema of a PostgreSQL server. RETURNS: the URL of the server."""
    import psycopg

    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path TO {schema}")
        with connection.transaction():
            fill(lambda text, values: connection.execute(text, values or None), tables, rows, "%s")
    return url
