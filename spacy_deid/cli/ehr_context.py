"""The EHR context of notes: the id, name and sex of the patient and the date of the note.

It is read from rows, from a table of files (``--context``) or from file names, and stored in ``doc._.ehr``, where
dictionaries and surrogates use it. No message quotes a value.
"""

import csv
import io
import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from ..errors import ConfigError, Errors, InputError
from ..io import Job, decode, read_bytes
from ..patient_ids import loose_id, normal_id
from .options import PatientField

FIELDS = ("patient_id", "note_date", "name", "sex")
_SEXES = ("female", "male")
_UNKNOWN_SEXES = ("other", "unknown")  # as FHIR's administrative gender has them
_COMPARED = 1_000_000  # patients of a run whose ids are compared
_SHOWN = 5  # pairs of similar ids whose notes are named


PatientFrom = Literal["name", "folder"]
PatientIdFrom = Annotated[
    PatientFrom | None,
    typer.Option(help="Take the patient's id from the name of the file (without suffix) or of its folder."),
]


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """EHR context.

    Where the patient and the date of a note are found.
    """

    patient_field: PatientField = None
    date_field: Annotated[
        str | None, typer.Option(help="Key of the note's date (ISO 8601) in each row, for surrogates.")
    ] = None
    name_field: Annotated[
        str | None, typer.Option(help="Key of the patient's full name in each row, for surrogates.")
    ] = None
    sex_field: Annotated[
        str | None, typer.Option(help="Key of the patient's sex in each row: female, male, other or unknown.")
    ] = None
    context: Annotated[
        Path | None,
        typer.Option(
            help="CSV or JSONL table with a row per file: 'file' and any of patient_id, note_date, name and sex."
        ),
    ] = None
    patient_id_from: PatientIdFrom = None

    @property
    def fields(self) -> "RowFields":
        """The keys of the EHR context in a row."""
        return RowFields(self.patient_field, self.date_field, self.name_field, self.sex_field)

    def read(self) -> "FileContext":
        """Read the EHR context of files; see `read_file_context`."""
        return read_file_context(self.patient_id_from, self.context)


class RowFields(NamedTuple):
    """Keys of the EHR context in the rows of a JSONL file.

    patient_id, note_date, name, sex (Optional[str]): key of each value; None if rows do not have it.
    """

    patient_id: str | None = None
    note_date: str | None = None
    name: str | None = None
    sex: str | None = None

    def read(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Read the EHR context of a row, for ``doc._.ehr``. Empty values are left out.

        RAISES: InputError (D422) naming the key, if the patient id is missing or a value is not valid.
        """
        keys = {field: key for field, key in self._asdict().items() if key}
        return _check_values({field: record.get(key) for field, key in keys.items()}, keys)


@dataclass(frozen=True, slots=True)
class FileContext:
    """The EHR context of files.

    patient_from (Optional[PatientFrom]): what part of a path is the patient's id; None for no part.
    table (Optional[Mapping[str, Mapping[str, Any]]]): file → column → value; None without a table.
    """

    patient_from: PatientFrom | None = None
    table: Mapping[str, Mapping[str, Any]] | None = None

    def read(self, job: Job) -> dict[str, Any]:
        """Read the EHR context of a file, for ``doc._.ehr``.

        RAISES: InputError if the table has no row for the file (D423), or as `RowFields.read`.
        """
        ehr: dict[str, Any] = {}
        if self.table is not None:
            row = self.table.get(_key(job.relative.as_posix()))
            if row is None:
                raise InputError(Errors.D423)
            ehr = _check_values(row, {field: field for field in row})
        if self.patient_from is not None:
            name = job.source.stem if self.patient_from == "name" else job.source.absolute().parent.name
            ehr["patient_id"] = name
        return ehr


def read_file_context(patient_from: PatientFrom | None, table: Path | None) -> FileContext:
    """Read the table of ``--context``.

    patient_from (Optional[PatientFrom]): what part of a path is the patient's id.
    table (Optional[Path]): a CSV file with a header (comma or semicolon), or a JSONL file, in UTF-8. The column "file"
        has the path of a file within the folder that is redacted, or its name if the file itself is given.
    RETURNS (FileContext): the EHR context of files.
    RAISES: ConfigError if the patient id is given twice (D412); InputError if the table cannot be read (D402).
    """
    if table is None:
        return FileContext(patient_from)
    rows: dict[str, Mapping[str, Any]] = {}
    for number, row in _read_table(table):
        file = row.pop("file", None)
        if unknown := sorted(str(name) for name in set(row) - set(FIELDS)):
            known = ", ".join(("file", *FIELDS))
            raise InputError(Errors.D402.format(path=table, reason=f"unknown column '{unknown[0]}'. Known: {known}"))
        if not isinstance(file, str) or not file:
            raise InputError(Errors.D402.format(path=table, reason=f"row {number}: no file"))
        if _key(file) in rows:
            raise InputError(Errors.D402.format(path=table, reason=f"row {number}: its file has a row already"))
        if patient_from and "patient_id" in row:
            raise ConfigError(Errors.D412.format(first="patient-id-from", second="context with a column patient_id"))
        rows[_key(file)] = row
    return FileContext(patient_from, rows)


def _read_table(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the rows of a table. YIELDS: line number and row."""
    text = decode(read_bytes(path), "utf-8", str(path))[0].removeprefix("\ufeff")
    if path.suffix.lower() == ".jsonl":
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    row = None
                if not isinstance(row, dict):
                    raise InputError(Errors.D402.format(path=path, reason=f"row {number}: not a JSON object"))
                yield number, row
        return
    header = text.partition("\n")[0]
    delimiter = ";" if header.count(";") > header.count(",") else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                reason = f"row {reader.line_num}: not as many columns as the header"
                raise InputError(Errors.D402.format(path=path, reason=reason))
            yield reader.line_num, dict(row)
    except csv.Error:
        raise InputError(Errors.D402.format(path=path, reason=f"row {reader.line_num}: broken")) from None


def _key(file: str) -> str:
    """Normalize a path for comparison: some systems store letters and their accents as separate characters."""
    return unicodedata.normalize("NFC", file.replace("\\", "/").removeprefix("./"))


def _check_values(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Check and convert values. Empty ones are left out, except a patient id, which must be present.

    values (Mapping[str, Any]): field of the EHR context → value.
    names (Mapping[str, str]): field → its key or column, for the error.
    RETURNS (dict[str, Any]): field → converted value.
    RAISES: InputError (D422).
    """
    ehr: dict[str, Any] = {}
    for field, value in values.items():
        read, wanted = _READERS[field]
        try:
            found = read(value)
        except ValueError:
            raise InputError(Errors.D422.format(name=names[field], wanted=wanted)) from None
        if found:
            ehr[field] = found
    return ehr


def _read_patient(value: Any) -> str:
    """Read a patient id. RAISES: ValueError if it is empty."""
    patient = normal_id(value) if isinstance(value, str | int | float) else ""
    if not patient:
        raise ValueError
    return patient


def _read_date(value: Any) -> str:
    """Read a date in ISO 8601, with or without a time. RAISES: ValueError."""
    text = _read_text(value)
    return date.fromisoformat(text[:10]).isoformat() if text else ""


def _read_sex(value: Any) -> str:
    """Read a sex, "" if it is unknown. RAISES: ValueError."""
    sex = _read_text(value).lower()
    if sex and sex not in (*_SEXES, *_UNKNOWN_SEXES):
        raise ValueError
    return sex if sex in _SEXES else ""


def _read_text(value: Any) -> str:
    """Read a string, "" for null. RAISES: ValueError."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError
    return value.strip()


_READERS = {
    "patient_id": (_read_patient, "patient id"),
    "note_date": (_read_date, "date in ISO 8601, as 2024-11-30"),
    "name": (_read_text, "text"),
    "sex": (_read_sex, "sex: female, male, other or unknown"),
}


class SimilarIds:
    """Finds patient ids of a run that differ only in leading zeros, case or white space.

    Such ids are different patients wherever ids are compared. If they belong to one patient, for example because a
    spreadsheet dropped the zeros, the patient gets two identities, and dictionaries apply to only some of the notes.
    """

    def __init__(self) -> None:
        self.count = 0
        self._first: dict[int, tuple[int, str]] = {}
        self._seen: set[int] = set()
        self._pairs: list[str] = []

    def add(self, ehr: Mapping[str, Any], place: str) -> None:
        """Add the patient of a note.

        ehr (Mapping[str, Any]): the EHR context of the note.
        place (str): where the note is: a file, and a row if it has rows. Not an id.
        """
        if "patient_id" not in ehr:
            return
        patient = normal_id(ehr["patient_id"])
        own, loose = hash(patient), hash(loose_id(patient))
        if loose not in self._first:
            if len(self._first) < _COMPARED:
                self._first[loose] = own, place
            return
        first, where = self._first[loose]
        if own != first and own not in self._seen:
            self._seen.add(own)
            self.count += 1
            if len(self._pairs) < _SHOWN:
                self._pairs.append(f"{where} and {place}")

    def describe(self) -> str:
        """A warning that names the notes with such ids, "" if there are none."""
        if not self.count:
            return ""
        return Errors.D424.format(count=self.count, places="; ".join(self._pairs))
