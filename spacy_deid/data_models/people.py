"""Read the persons of a data warehouse: make the dictionary of their names, and find the patient of each note.

    FOLDER/dictionary     the terms of the patients and of the institution; see `ehr.export_dictionary`
    FOLDER/people.sqlite  the id, the name and the sex of each patient, and the ids of notes that occur twice
    FOLDER/content        a hash of what was read, so that a run notices when it changes

The folder can be read by its owner only, and is deleted when the run ends.
"""

import hashlib
import os
import shutil
import sqlite3
import weakref
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from ..dictionaries.store import LocalStore, StoreWriter
from ..ehr.cleaning import as_text
from ..ehr.export_dictionary import ExportDictionary, Person
from ..errors import Errors, InputError
from ..notes import open_source
from ..patient_ids import normal_id
from .model import ID, NUMBER, DataModel, PeopleTable, is_whole_number

DICTIONARY, CONTENT = "dictionary", "content"
"""Names in the folder of the persons."""

_DATABASE = "people.sqlite"
_SCHEMA = """
    CREATE TABLE people (key TEXT PRIMARY KEY, patient_id TEXT, name TEXT, sex TEXT);
    CREATE TABLE repeated (id TEXT PRIMARY KEY);
"""


class _Row(NamedTuple):
    """A row of a table of persons.

    key (str): the patient's id in the notes; "" for an institution.
    values (dict[str, str]): column → text.
    """

    key: str
    values: dict[str, str]


def prepare_people(
    model: DataModel, where: str, folder: Path, lang: str, dictionaries: str | Path | None = None
) -> None:
    """Read the tables of the persons, and write the folder of the persons.

    model (DataModel): the data model.
    where (str): the database, as for `notes.open_source`.
    folder (Path): the folder to write. One that is left from a run that was killed is replaced.
    lang (str): language of the notes, ISO 639-1.
    dictionaries (Optional[Union[str, Path]]): folder of the hospital's dictionaries, which are used as well.
    RAISES: InputError for a table that is missing or cannot be read (D871), a missing column (D741), or a database
        that cannot be read (D740, D748, D749).
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    _check_columns(model, where)
    store, content = folder / DICTIONARY, _Content()
    if dictionaries:
        content.add((Path(dictionaries) / "manifest.json").read_text(encoding="utf-8"))
    database = folder / _DATABASE
    os.close(os.open(database, os.O_CREAT | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(_SCHEMA)
        connection.execute("PRAGMA synchronous = OFF")
        for table in model.patients:
            first = table == model.patients[0]
            _add_identities(connection, table, _rows(model, where, table), first=first)
        _add_repeated(connection, model, where)
        connection.commit()
        dictionary = ExportDictionary(lang, model.name)
        base = LocalStore.open(dictionaries) if dictionaries else None
        with StoreWriter(store, base=base) as writer:
            for table in model.people:
                for row in _rows(model, where, table):
                    content.add(table.table, row.key, *row.values.values())
                    _add_terms(dictionary, writer, table, row, connection)
            dictionary.finish(writer, store)
    (folder / CONTENT).write_text(content.hex(), encoding="ascii")


class _Content:
    """A hash of rows that does not depend on their order, which a database does not guarantee."""

    def __init__(self) -> None:
        self._sum = 0

    def add(self, *values: str) -> None:
        """Add a row."""
        data = b"".join(len(value.encode()).to_bytes(8, "big") + value.encode() for value in values)
        self._sum += int.from_bytes(hashlib.sha256(data).digest(), "big")

    def hex(self) -> str:
        """Return the hash as hexadecimal digits."""
        return f"{self._sum % 2**256:064x}"


# --- statements ---


def _check_columns(model: DataModel, where: str) -> None:
    """Check that all tables and columns of a model exist. RAISES: InputError (D741, D871)."""
    tables = [(model.table, [*model.columns, model.person, *filter(None, [model.type])])]
    for each in model.people:
        tables.append((each.table, [*each.read, *filter(None, [each.through.get("key")])]))
        if each.through:
            tables.append((each.through["table"], [each.through["column"], each.through["person"]]))
    for table, columns in tables:
        found = _columns_of(model, where, table)
        for column in columns:
            if column.lower() not in found:
                raise InputError(Errors.D741.format(source=f"table '{table}'", column=column, known=", ".join(found)))


def _columns_of(model: DataModel, where: str, table: str) -> list[str]:
    """Return the names of the columns of a table in lower case. RAISES: InputError (D871) if it cannot be read."""
    with closing(open_source(where, query="SELECT 1 AS one")):
        pass  # the database itself can be read
    try:
        with closing(open_source(where, query=f"SELECT * FROM {model.qualify(table)}")) as source:
            return [name.lower() for name in source.columns]
    except InputError:
        raise InputError(Errors.D871.format(table=model.qualify(table), model=model.name)) from None


def _rows(model: DataModel, where: str, table: PeopleTable) -> Iterator[_Row]:
    """Yield the rows of a table of persons, with the patient's id in the notes."""
    columns = [name for name in table.read if name != table.person]
    selected = [f"t.{name} AS {name}" for name in columns]
    source = f"{model.qualify(table.table)} AS t"
    if through := table.through:
        source += f" JOIN {model.qualify(through['table'])} AS p ON p.{through['column']} = t.{through['key']}"
    key = f"p.{through['person']}" if through else f"t.{table.person}" if table.person else "NULL"
    condition = f" WHERE {table.where}" if table.where else ""
    query = f"SELECT {', '.join([f'{key} AS person_key', *selected])} FROM {source}{condition}"
    with closing(open_source(where, query=query)) as notes:
        for person, *values in notes.scan(["person_key", *columns]):
            yield _Row(normal_id(person), dict(zip(columns, map(as_text, values), strict=True)))


def _add_repeated(connection: sqlite3.Connection, model: DataModel, where: str) -> None:
    """Store the ids that several notes have."""
    query = f"SELECT {model.id} AS id FROM ({model.query}) AS n GROUP BY {model.id} HAVING COUNT(*) > 1"
    with closing(open_source(where, query=query)) as notes:
        ids = ((normal_id(value),) for (value,) in notes.scan(["id"]))
        connection.executemany("INSERT OR IGNORE INTO repeated VALUES (?)", ids)


# --- what the rows say ---


def _add_identities(connection: sqlite3.Connection, table: PeopleTable, rows: Iterator[_Row], *, first: bool) -> None:
    """Store the identity, the name and the sex of the patients in a table.

    A patient with several identities or names gets the first one by the alphabet, so that the order of the rows does
    not matter.

    connection (sqlite3.Connection): the database of the persons.
    table (PeopleTable): the table.
    rows (Iterator[_Row]): its rows.
    first (bool): whether the table decides which patients exist.
    """
    for row in rows:
        if not row.key:
            continue
        if first:
            connection.execute("INSERT OR IGNORE INTO people (key) VALUES (?)", [row.key])
        own = normal_id(row.values.get(table.identity, ""))
        chosen = row.values.get(table.sex.get("column", ""), "")
        sex = next((sex for sex in ("female", "male") if chosen in table.sex.get(sex, ())), "")
        for column, value in (("patient_id", own), ("name", _full_name(table, row)), ("sex", sex)):
            if value:
                connection.execute(
                    f"UPDATE people SET {column} = min(coalesce({column}, ?1), ?1) WHERE key = ?2", [value, row.key]
                )


def _values(table: PeopleTable, row: _Row) -> Iterator[tuple[str, str]]:
    """Yield kind and text of the values of a row."""
    yield from ((kind, row.values[column]) for column, kind in table.columns.items())
    with suppress(ValueError):
        year, month, day = (int(row.values[column]) for column in table.birth)
        yield "birth_date", date(year, month, day).isoformat()


def _full_name(table: PeopleTable, row: _Row) -> str:
    """Return the full name of a patient: "" if the row has none, or is about a former name only."""
    values = list(_values(table, row))
    parts = [" ".join(text for kind, text in values if kind == part and text) for part in ("given", "surname")]
    full = next((text for kind, text in values if kind == "full"), "")
    return full or (" ".join(parts) if all(parts) else "")


def _add_terms(
    dictionary: ExportDictionary,
    writer: StoreWriter,
    table: PeopleTable,
    row: _Row,
    connection: sqlite3.Connection,
) -> None:
    """Add the values of a row to the dictionary, unless the first table of the patients does not have its patient."""
    cells = dictionary.cells(table.source, _values(table, row))
    if table.source not in ("patient", "relative"):
        dictionary.add_institution(writer, table.source, cells)
    elif cells and (person := _find(connection, row.key)):
        dictionary.add_patient(writer, person.patient_id, [cells])


def _find(connection: sqlite3.Connection, key: str) -> Person | None:
    """Return a patient by the id in the notes; None if there is none. One without an identity is named by this id."""
    found = connection.execute("SELECT patient_id, name, sex FROM people WHERE key = ?", [key]).fetchone()
    return Person(found[0] or f"person {key}", found[1] or "", found[2] or "") if found else None


class People:
    """Finds the patient of each note, with the folder that `prepare_people` wrote.

    folder (Path): the folder.
    model (DataModel): the data model.
    lang (str): language of the notes, ISO 639-1.
    RAISES: ConfigError as `LocalStore.open`.
    """

    def __init__(self, folder: Path, model: DataModel, lang: str) -> None:
        self._model = model
        self._connection = sqlite3.connect(f"file:{folder / _DATABASE}?mode=ro", uri=True)
        weakref.finalize(self, self._connection.close)
        self.dictionary = ExportDictionary(lang, model.name)
        self.dictionary.open(folder / DICTIONARY)

    def __repr__(self) -> str:
        return "People(…)"

    def find(self, key: Any) -> Person | None:
        """Find a patient. RETURNS (Optional[Person]): None if the database has none with this id.

        key (Any): the patient's id in the notes.
        """
        return _find(self._connection, normal_id(key))

    def identify(self, record: Mapping[str, Any], ehr: Mapping[str, Any]) -> dict[str, Any]:
        """Check a note and complete its EHR context with what the database says about the patient.

        record (Mapping[str, Any]): column → value of the note.
        ehr (Mapping[str, Any]): "patient_id", the patient's id in the note, and "note_date".
        RETURNS (dict[str, Any]): the EHR context, with the identity, the name and the sex of the patient.
        RAISES: InputError (D872) naming the column if the note has no text, an id that another note has, an invalid
            number, or a patient who is not in the database.
        """
        model = self._model
        if record[model.text] is None:
            raise InputError(Errors.D872.format(column=model.text, reason="null"))
        found = self._connection.execute("SELECT 1 FROM repeated WHERE id = ?", [normal_id(record[model.id])])
        if found.fetchone():
            raise InputError(Errors.D872.format(column=model.id, reason="several notes have this id"))
        for column in model.columns_with(NUMBER, ID):
            value = record[column]
            negative = value is not None and model.columns[column] != NUMBER and value.startswith("-")
            if negative or (value is not None and not is_whole_number(value)):
                raise InputError(Errors.D872.format(column=column, reason="not a whole number that can be used"))
        person = self.find(record[model.person])
        if person is None:
            reason = f"table '{model.patients[0].table}' has no such patient"
            raise InputError(Errors.D872.format(column=model.person, reason=reason))
        return person.ehr(str(ehr.get("note_date", "")))
