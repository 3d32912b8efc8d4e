"""Read the mapping file, which states what each column of each EHR table contains. A hospital writes this TOML file.

    lang = "es"

    [sources.patients]
    path = "patients.csv"            # .csv, .csv.gz, .tsv or .parquet; relative to the mapping file; may contain "*"
    encoding = "cp1252"

    [sources.clinics]
    url_env = "EHR_URL"              # the environment variable with the URL of the database
    query = "SELECT name FROM clinic WHERE active"

    [tables.patients]
    source = "patients"
    patient_id = "nhc"               # without it, the values go into the institution's dictionary

    [tables.patients.columns]
    nhc = "id:MRN"                   # kind, or kind:LABEL
    apellido1 = "surname"
    "madre" = "relative.full"        # a relative of the patient

The file contains no database URL and no password.
"""

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..dictionaries.normalise import normal_form
from ..errors import ConfigError, Errors
from ..labels import LABELS
from .expansion import KINDS
from .value_formats import load_language

ROLES = MappingProxyType({"patient": "PATIENT", "relative": "RELATIVE", "clinician": "CLINICIAN", "person": "PERSON"})
"""The persons that a column can describe, with the label of their names. A number distinguishes several:
"relative2.given".
"""

DUPLICATES = ("merge", "first", "error")
"""How to treat a patient id that occurs in several rows of a table."""

_LABELS = MappingProxyType(
    {
        "birth_date": "DATE",
        "date": "DATE",
        "phone": "PHONE",
        "email": "EMAIL",
        "id": "ID_OTHER",
        "street": "STREET",
        "zip": "ZIP",
        "city": "CITY",
        "state": "STATE",
        "clinic": "HOSPITAL",
        "location": "LOCATION_OTHER",
        "organization": "ORGANIZATION",
        "clinician": "CLINICIAN",
        "term": "OTHER",
    }
)
_TOP = ("lang", "sources", "tables", "placeholders")
_SOURCE = ("path", "encoding", "delimiter", "url_env", "table", "query", "may_be_empty")
_TABLE = ("source", "patient_id", "lang", "duplicates", "institution", "date_format", "columns", "surname_first")
_COLUMN = ("kind", "separator", "date_format")


@dataclass(frozen=True, slots=True)
class Source:
    """The file or the database from which the rows of a table are read: a [sources.NAME] of the mapping file.

    name (str): name of the source in the mapping.
    path (Path | None): a file, or a glob pattern for several files; None for a database.
    url_env (str): the environment variable that contains the URL of the database; "" for a file.
    table, query (str): the database table or the query to read; exactly one of them is set for a database.
    encoding (str): text encoding of a CSV file.
    delimiter (str): character between the cells of a CSV file; "" for the default of the file's suffix.
    may_be_empty (bool): whether a source without rows is accepted; otherwise it is an error.
    """

    name: str
    path: Path | None = None
    url_env: str = ""
    table: str = ""
    query: str = ""
    encoding: str = "utf-8"
    delimiter: str = ""
    may_be_empty: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """What a column of a table contains, and how its values are read and labelled.

    name (str): name of the column in the table.
    kind (str): one of `expansion.KINDS`.
    label (str): canonical label of its detections.
    person (str): the person whom the column describes, such as "patient", "relative2" or "clinician". Parts of a name
        are combined if they belong to the same person.
    rule (str): "table.column", which is recorded with each detection.
    separator (str): separates several values in one cell; "" if a cell has one value.
    date_format (str): format for ``strptime``; "" for ISO 8601 or the language's numeric dates.
    """

    name: str
    kind: str
    label: str
    person: str
    rule: str
    separator: str = ""
    date_format: str = ""

    def split(self, cell: str) -> list[str]:
        """Split a cell into its values.

        cell (str): the cell.
        RETURNS (list[str]): one value, or several if the column has a separator.
        """
        return cell.split(self.separator) if self.separator else [cell]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the EHR and its columns: a [tables.NAME] of the mapping file.

    name (str): name of the table in the mapping.
    source (Source): the file or database that contains the rows.
    columns (tuple[Column, ...]): the columns to read.
    lang (str): ISO 639-1 code of the language by whose conventions the values are written.
    patient_id (str): the column with the patient id; "" for a table whose values go into the institution's dictionary.
    duplicates (str): how rows that repeat a patient id are treated, one of `DUPLICATES`.
    institution (bool): whether a patient's values are added to the institution's dictionary too.
    surname_first (bool): whether full names without a comma start with the surname.
    """

    name: str
    source: Source
    columns: tuple[Column, ...]
    lang: str
    patient_id: str = ""
    duplicates: str = "merge"
    institution: bool = False
    surname_first: bool = False

    @property
    def wanted(self) -> list[str]:
        """The names of the columns to read from the source, each once, including that of the patient id."""
        ids = [self.patient_id] if self.patient_id else []
        return list(dict.fromkeys([*ids, *(column.name for column in self.columns)]))

    @property
    def places(self) -> list[int]:
        """For each of `columns`, the index of its name in `wanted`."""
        return [self.wanted.index(column.name) for column in self.columns]


@dataclass(frozen=True, slots=True)
class EhrMapping:
    """The checked content of a mapping file.

    path (Path): the file.
    tables (tuple[Table, ...]): the tables; those of the institution come first.
    placeholders (frozenset[str]): normal forms of values that mean "missing", in addition to those of the package.
    """

    path: Path
    tables: tuple[Table, ...]
    placeholders: frozenset[str]


def read_mapping(path: str | Path) -> EhrMapping:
    """Read a mapping file and check everything that can be checked without opening the tables.

    path (str or Path): a TOML file.
    RETURNS (EhrMapping): the mapping.
    RAISES: ConfigError if the file cannot be read or a value is invalid (D170), a key (D171), a kind (D172), a source
        (D173), a label (D001) or a language (D184) is unknown.
    """
    path = Path(path)
    data = _load(path)
    _check_keys(path, "at its top", data, _TOP)
    lang = str(data.get("lang", ""))
    sources = {name: _source(path, name, value) for name, value in _section(path, data, "sources").items()}
    tables = [_table(path, name, value, sources, lang) for name, value in _section(path, data, "tables").items()]
    words = data.get("placeholders", [])
    if not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        raise _wrong(path, "'placeholders' must be a list of strings")
    return EhrMapping(
        path, tuple(sorted(tables, key=lambda t: bool(t.patient_id))), frozenset(map(normal_form, words))
    )


def _load(path: Path) -> dict[str, Any]:
    """Parse the TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _wrong(path, f"cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise _wrong(path, "not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise _wrong(path, f"not valid TOML: {error}") from None


def _section(path: Path, data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the tables of a section; there must be at least one."""
    section = data.get(key)
    if not isinstance(section, dict) or not section or not all(isinstance(value, dict) for value in section.values()):
        raise _wrong(path, f"at least one [{key}.NAME] is required")
    return section


def _source(path: Path, name: str, data: Mapping[str, Any]) -> Source:
    """Read a source: a file, or a table or query of a database."""
    place = f"source '{name}'"
    _check_keys(path, place, data, _SOURCE)
    _check_types(path, place, data, flags=("may_be_empty",))
    if ("path" in data) == ("url_env" in data):
        raise _wrong(path, f"{place} needs either 'path' or 'url_env'")
    if "url_env" in data and ("table" in data) == ("query" in data):
        raise _wrong(path, f"{place} needs either 'table' or 'query'")
    if "://" in data.get("url_env", ""):
        raise _wrong(path, f"{place}: 'url_env' must be the name of an environment variable, not a URL")
    values = {key: value for key, value in data.items() if key != "path"}
    return Source(name, path=path.parent / data["path"] if "path" in data else None, **values)


def _table(path: Path, name: str, data: Mapping[str, Any], sources: Mapping[str, Source], lang: str) -> Table:
    """Convert a [tables.NAME] of the mapping file, and check it. RAISES: ConfigError."""
    place = f"table '{name}'"
    _check_keys(path, place, data, _TABLE)
    _check_types(path, place, data, flags=("institution", "surname_first"), tables=("columns",))
    if data.get("source") not in sources:
        raise ConfigError(
            Errors.D173.format(path=path, table=name, source=data.get("source", ""), known=", ".join(sources))
        )
    duplicates = data.get("duplicates", "merge")
    if duplicates not in DUPLICATES:
        raise _wrong(path, f"{place}: 'duplicates' must be one of {', '.join(DUPLICATES)}")
    lang = data.get("lang", lang)
    if not lang:
        raise _wrong(path, f"{place} has no language: set 'lang' there or at the top")
    load_language(lang)
    if not data.get("columns"):
        raise _wrong(path, f"{place} needs at least one column in [tables.{name}.columns]")
    columns = [_column(path, name, key, value, data) for key, value in data["columns"].items()]
    flags = {key: data[key] for key in ("patient_id", "institution", "surname_first") if key in data}
    return Table(name, sources[data["source"]], tuple(columns), lang, duplicates=duplicates, **flags)


def _column(path: Path, table: str, name: str, data: Any, of_table: Mapping[str, Any]) -> Column:
    """Read a column: "kind", "kind:LABEL", "person.kind", or a table with more keys."""
    place = f"table '{table}', column '{name}'"
    spec = {"kind": data} if isinstance(data, str) else data
    if not isinstance(spec, dict) or not isinstance(spec.get("kind"), str):
        raise _wrong(path, f"{place} has no kind. Known kinds: {', '.join(KINDS)}")
    _check_keys(path, place, spec, _COLUMN)
    _check_types(path, place, spec)
    what, _, label = spec["kind"].partition(":")
    whose, _, kind = what.rpartition(".")
    role = whose.rstrip("0123456789") or "patient"
    if role in KINDS or kind in ROLES:
        role, whose, kind = ("relative", kind, "full") if kind == "relative" else (role, whose, kind)
    if kind not in KINDS or role not in ROLES:
        known = f"{', '.join(KINDS)}; names can have a prefix: {', '.join(f'{role}.' for role in ROLES)}"
        raise ConfigError(Errors.D172.format(path=path, place=place, kind=what, known=known))
    default = _LABELS.get(kind) or (ROLES[role] if whose or of_table.get("patient_id") else "PERSON")
    if label and label not in LABELS:
        raise ConfigError(Errors.D001.format(label=label, scheme="canonical", known=", ".join(LABELS)))
    person = "clinician" if kind == "clinician" else whose or "patient"
    dates = spec.get("date_format", of_table.get("date_format", ""))
    return Column(
        name, kind, label or default, person, f"{table}.{name}", spec.get("separator", ""), date_format=dates
    )


def _check_keys(path: Path, place: str, data: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse unknown keys, so that a typo does not go unnoticed."""
    for key in data:
        if key not in known:
            raise ConfigError(Errors.D171.format(path=path, place=place, key=key, known=", ".join(known)))


def _check_types(
    path: Path, place: str, data: Mapping[str, Any], flags: Collection[str] = (), tables: Iterable[str] = ()
) -> None:
    """Check that flags are booleans, tables are tables and all other values are strings."""
    for key, value in data.items():
        wanted = bool if key in flags else dict if key in tables else str
        if not isinstance(value, wanted):
            word = {bool: "true or false", dict: "a table", str: "text"}[wanted]
            raise _wrong(path, f"{place}: '{key}' must be {word}")


def _wrong(path: Path, reason: str) -> ConfigError:
    """Make the error for an invalid mapping."""
    return ConfigError(Errors.D170.format(path=path, reason=reason))
