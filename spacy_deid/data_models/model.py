"""Read a data model: the table of the notes, what is done with its columns, and the tables of the persons.

``resources/data_models/omop.toml`` ships with the package and explains the keys.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from ..errors import ConfigError, Errors

SHIPPED = ("omop", "i2b2")
"""Names of the data models that ship with the package."""

TEXT, DATE, DATETIME, NUMBER, CODE, ID, HASH, KEEP, DROP = "text date datetime number code id hash keep drop".split()
"""What can be done with a column. "id" and "hash" are followed by a colon and a kind: "id:person"."""

SOURCES = ("patient", "relative", "clinician", "organization", "location")
KINDS = frozenset("given surname former full phone email id street zip city birth_date organization location".split())

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"-?[0-9]{1,19}")
_ACTION = re.compile(r"text|date|datetime|number|code|keep|drop|(?:id|hash):[a-z_]+")
_NOTE = frozenset({"table", "where", "id", "text", "person", "date", "type", "columns"})
_PEOPLE = frozenset({"table", "source", "person", "through", "where", "columns", "birth", "identity", "sex"})
_THROUGH = frozenset({"table", "column", "key", "person"})
_SEX = frozenset({"column", "female", "male"})
_TOP = frozenset({"name", "extends", "note", "people", "without"})


@dataclass(frozen=True, slots=True)
class PeopleTable:
    """A table that describes persons or institutions.

    table (str): its name.
    source (str): what a row describes, one of `SOURCES`.
    columns (Mapping[str, str]): column → kind of its values, one of `KINDS`.
    person (str): column with the patient's id, as in the notes; "" for institutions, and for a table with `through`.
    through (Mapping[str, str]): "table", "column", "key" and "person" of another table that leads to the patient.
    where (str): SQL condition; "" for all rows.
    birth (Sequence[str]): columns with the year, month and day of birth; empty if there are none.
    identity (str): column with the id from which surrogates are derived; "" if the table has none.
    sex (Mapping): "column" with the sex, and its values for "female" and "male"; empty if there is none.
    """

    table: str
    source: str
    columns: Mapping[str, str] = field(default_factory=dict)
    person: str = ""
    through: Mapping[str, str] = field(default_factory=dict)
    where: str = ""
    birth: Sequence[str] = ()
    identity: str = ""
    sex: Mapping[str, Any] = field(default_factory=dict)

    @property
    def read(self) -> list[str]:
        """Names of the columns that are read, without those of another table."""
        names = [self.person, *self.columns, *self.birth, self.identity, self.sex.get("column", "")]
        return list(dict.fromkeys(filter(None, names)))


@dataclass(frozen=True, slots=True)
class DataModel:
    """A checked data model.

    name (str): its name, for reports.
    table (str): table of the notes.
    id, text, person, date (str): columns with the id, the text, the patient and the date of a note.
    columns (Mapping[str, str]): column → what is done with it. Columns that are dropped are not in it.
    people (Sequence[PeopleTable]): the tables of the persons.
    type (str): column with the type of a note; "" if there is none.
    where (str): SQL condition of the notes; "" for all rows.
    schema (str): schema of the database with all tables; "" for the default one.
    """

    name: str
    table: str
    id: str
    text: str
    person: str
    date: str
    columns: Mapping[str, str]
    people: Sequence[PeopleTable]
    type: str = ""
    where: str = ""
    schema: str = ""

    def columns_with(self, *actions: str) -> list[str]:
        """Return the columns with one of some actions, in order. Kinds after a colon do not matter."""
        return [name for name, action in self.columns.items() if action.partition(":")[0] in actions]

    @property
    def patients(self) -> list[PeopleTable]:
        """The tables that describe patients. The first of them decides which patients exist."""
        found = [each for each in self.people if each.source == "patient"]
        return sorted(found, key=lambda each: not each.person)

    def qualify(self, table: str) -> str:
        """Return the name of a table with that of the schema."""
        return f"{self.schema}.{table}" if self.schema else table

    @property
    def query(self) -> str:
        """SELECT statement of the notes, with the names of the columns as the model spells them."""
        names = dict.fromkeys([*self.columns, self.person, *filter(None, [self.type])])
        selected = ", ".join(f"{name} AS {name}" for name in names)
        where = f" WHERE {self.where}" if self.where else ""
        return f"SELECT {selected} FROM {self.qualify(self.table)}{where}"

    def to_json(self) -> dict[str, Any]:
        """Return the model as plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Create a model from the value of `to_json`."""
        return cls(**{**data, "people": tuple(PeopleTable(**each) for each in data["people"])})


def is_whole_number(value: str) -> bool:
    """Whether a value of a database is a whole number that fits into 64 bits, such as a concept id."""
    return bool(_NUMBER.fullmatch(value)) and abs(int(value)) < 2**63


def read_model(name: str | Path, schema: str = "") -> DataModel:
    """Read a data model.

    name (Union[str, Path]): one of `SHIPPED`, or a TOML file.
    schema (str): schema of the database with all tables; "" for the default one.
    RETURNS (DataModel): the model.
    RAISES: ConfigError (D870) if it cannot be read, has an unknown key or value, or lacks one.
    """
    if schema and not all(map(_NAME.fullmatch, schema.split("."))):
        raise _wrong("", f"'{schema}' is not the name of a schema")
    return _check(str(name), _read(str(name), []), schema)


def _read(name: str, seen: list[str]) -> dict[str, Any]:
    """Read a file and the one that it extends. RAISES: ConfigError (D870)."""
    try:
        if name in SHIPPED:
            text = (files("spacy_deid") / "resources" / "data_models" / f"{name}.toml").read_text(encoding="utf-8")
        else:
            text = Path(name).read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        known = f"; models of the package: {', '.join(SHIPPED)}"
        raise _wrong(name, f"cannot be read ({type(error).__name__}){known}") from None
    except (ValueError, RecursionError) as error:
        raise _wrong(name, f"not valid TOML: {error}") from None
    _known(name, data, _TOP, "the file")
    if "extends" not in data:
        return data
    if name in seen or not isinstance(data["extends"], str):
        raise _wrong(name, "'extends' must name another data model")
    base = _read(data["extends"], [*seen, name])
    note = {**base.get("note", {}), **data.get("note", {})}
    note["columns"] = {**base.get("note", {}).get("columns", {}), **data.get("note", {}).get("columns", {})}
    people = [each for each in base.get("people", []) if each.get("table") not in data.get("without", [])]
    return {
        **base,
        "name": data.get("name", base.get("name")),
        "note": note,
        "people": people + data.get("people", []),
    }


def _check(name: str, data: Mapping[str, Any], schema: str) -> DataModel:
    """Check the values of a data model. RAISES: ConfigError (D870)."""
    note = data.get("note")
    if not isinstance(note, dict) or not isinstance(note.get("columns"), dict):
        raise _wrong(name, "[note] and [note.columns] are required")
    _known(name, note, _NOTE, "[note]")
    _identifier(name, note.get("table"), "[note]")
    for column, action in note["columns"].items():
        _identifier(name, column, "[note.columns]")
        if not isinstance(action, str) or not _ACTION.fullmatch(action):
            raise _wrong(name, f"[note.columns] {column}: unknown action")
    columns = {column: action for column, action in note["columns"].items() if action != DROP}
    for role, actions in (("id", (ID, NUMBER)), ("text", (TEXT,)), ("date", (DATE, DATETIME))):
        if str(columns.get(note.get(role), "")).partition(":")[0] not in actions:
            raise _wrong(name, f"[note] {role}: must be a column of [note.columns] with the action {actions[0]}")
    for role in ("person", *(["type"] if "type" in note else [])):
        _identifier(name, note.get(role), f"[note] {role}")
    people = data.get("people", [])
    if not isinstance(people, list) or not all(isinstance(each, dict) for each in people):
        raise _wrong(name, "[[people]] must be a list of tables")
    made = tuple(_check_people(name, each) for each in people)
    if not any(each.source == "patient" and each.person for each in made):
        raise _wrong(name, "[[people]]: one table with the source 'patient' and 'person' is required")
    rest = {role: note.get(role, "") for role in ("type", "where")}
    roles = {role: note[role] for role in ("table", "id", "text", "person", "date")}
    return DataModel(str(data.get("name") or name), **roles, columns=columns, people=made, **rest, schema=schema)


def _check_people(name: str, data: Mapping[str, Any]) -> PeopleTable:
    """Check the description of a table of persons. RAISES: ConfigError (D870)."""
    place = f"[[people]] {data.get('table')}"
    _known(name, data, _PEOPLE, place)
    _identifier(name, data.get("table"), place)
    through, sex, columns = data.get("through", {}), data.get("sex", {}), data.get("columns", {})
    if not all(isinstance(each, dict) for each in (through, sex, columns)):
        raise _wrong(name, f"{place}: 'through', 'sex' and 'columns' must be tables")
    if data.get("source") not in SOURCES:
        raise _wrong(name, f"{place}: source must be one of {', '.join(SOURCES)}")
    if (data["source"] in SOURCES[:2]) != (("person" in data) != bool(through)):
        raise _wrong(name, f"{place}: patients and relatives need either 'person' or 'through', others neither")
    if (through and set(through) != _THROUGH) or (sex and set(sex) != _SEX):
        raise _wrong(name, f"{place}: 'through' or 'sex' lacks a key or has an unknown one")
    if not set(columns.values()) <= KINDS or len(data.get("birth", [])) not in (0, 3):
        raise _wrong(name, f"{place}: unknown kind of a column, or 'birth' does not name three columns")
    optional = [data[key] for key in ("person", "identity") if key in data]
    for column in (*columns, *optional, *data.get("birth", []), *through.values(), *([sex["column"]] if sex else [])):
        _identifier(name, column, place)
    if sex:
        sex = {"column": sex["column"], **{key: [str(one) for one in sex[key]] for key in ("female", "male")}}
    return PeopleTable(**{**data, "sex": sex})


def _known(name: str, data: Mapping[str, Any], known: frozenset[str], place: str) -> None:
    """Check that a table has no unknown keys. RAISES: ConfigError (D870)."""
    if unknown := sorted(set(data) - known):
        raise _wrong(name, f"{place}: unknown key '{unknown[0]}'")


def _identifier(name: str, value: Any, place: str) -> None:
    """Check the name of a table or column, which becomes part of a statement. RAISES: ConfigError (D870)."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise _wrong(name, f"{place}: the name of a table or column is missing or has invalid characters")


def _wrong(name: str, reason: str) -> ConfigError:
    """Return an error that names the file."""
    return ConfigError(Errors.D870.format(path=name, reason=reason))
