"""What is known of a note beside its text: its patient, its date, the patient's name and sex.

It goes to ``doc._.ehr``, where dictionaries and surrogates look. No message quotes a value.
"""

import csv
import io
import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ..errors import ConfigError, Errors, InputError
from ..io import Job, decode, read_bytes
from ..patient_ids import loose_id, normal_id

__all__ = ["AlikeIds", "Context", "FileFacts", "PatientFrom", "PatientIdFrom", "RowFields", "file_facts"]

FACTS = ("patient_id", "note_date", "name", "sex")
_SEXES = ("female", "male")
_UNKNOWN_SEXES = ("other", "unknown")  # as FHIR's administrative gender has them
_COMPARED = 1_000_000  # patients of a run whose ids are compared
_SHOWN = 5  # pairs of them that are named


class PatientFrom(StrEnum):
    """What of a file tells its patient."""

    name = "name"
    folder = "folder"


PatientIdFrom = Annotated[
    PatientFrom | None,
    typer.Option(help="A file's patient is told by its name (without suffix) or its folder's name."),
]
Context = Annotated[
    Path | None,
    typer.Option(
        "--context",
        help="CSV or JSONL table of what is known of each file: file, and any of patient_id, note_date, name, sex.",
    ),
]


class RowFields(NamedTuple):
    """Keys of a JSONL row that say what is known of its note; None for what rows do not say.

    patient_id, note_date, name, sex (Optional[str]): keys of the row.
    """

    patient_id: str | None = None
    note_date: str | None = None
    name: str | None = None
    sex: str | None = None

    def read(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Read what a row says.

        record (Mapping[str, Any]): the row.
        RETURNS (dict[str, Any]): for ``doc._.ehr``.
        RAISES: InputError (D422) naming the key, if there is no patient id where there must be one, or a value cannot
            be read.
        """
        fields = {fact: field for fact, field in self._asdict().items() if field}
        return _read_facts({fact: record.get(field) for fact, field in fields.items()}, fields)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is known of files.

    patient_from (Optional[PatientFrom]): what tells a file's patient; None if nothing does.
    table (Optional[Mapping[str, Mapping[str, Any]]]): file → column → value; None without a table.
    """

    patient_from: PatientFrom | None = None
    table: Mapping[str, Mapping[str, Any]] | None = None

    def of(self, job: Job) -> dict[str, Any]:
        """What is known of a file.

        job (Job): the file.
        RETURNS (dict[str, Any]): for ``doc._.ehr``.
        RAISES: InputError if the table does not have the file (D423), or as `RowFields.read`.
        """
        facts: dict[str, Any] = {}
        if self.table is not None:
            row = self.table.get(_key(job.relative.as_posix()))
            if row is None:
                raise InputError(Errors.D423)
            facts = _read_facts(row, {fact: fact for fact in row})
        if self.patient_from is not None:
            name = job.source.stem if self.patient_from == PatientFrom.name else job.source.absolute().parent.name
            facts["patient_id"] = name
        return facts


def file_facts(patient_from: PatientFrom | None, table: Path | None) -> FileFacts:
    """Read the table of what is known of files.

    patient_from (Optional[PatientFrom]): what tells a file's patient.
    table (Optional[Path]): a CSV file with a header (comma or semicolon), or a JSONL file, in UTF-8. "file" is the
        path within the folder that is redacted; of a file that is given itself, its name.
    RETURNS (FileFacts): what is known.
    RAISES: ConfigError if the patients are told twice (D412) or InputError if the table cannot be read (D402).
    """
    if table is None:
        return FileFacts(patient_from)
    rows: dict[str, Mapping[str, Any]] = {}
    for number, row in _read_table(table):
        file = row.pop("file", None)
        if unknown := sorted(str(name) for name in set(row) - set(FACTS)):
            known = ", ".join(("file", *FACTS))
            raise InputError(Errors.D402.format(path=table, reason=f"unknown column '{unknown[0]}'. Known: {known}"))
        if not isinstance(file, str) or not file:
            raise InputError(Errors.D402.format(path=table, reason=f"row {number}: no file"))
        if _key(file) in rows:
            raise InputError(Errors.D402.format(path=table, reason=f"row {number}: its file has a row already"))
        if patient_from and "patient_id" in row:
            raise ConfigError(Errors.D412.format(first="patient-id-from", second="context with a column patient_id"))
        rows[_key(file)] = row
    return FileFacts(patient_from, rows)


def _read_table(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a table with their line numbers."""
    text = decode(read_bytes(path), "utf-8", str(path))[0].removeprefix("\ufeff")
    if path.suffix.lower() == ".jsonl":
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield number, _parse(line, path, number)
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


def _parse(line: str, path: Path, number: int) -> dict[str, Any]:
    """Read a row of JSON."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise InputError(Errors.D402.format(path=path, reason=f"row {number}: not a JSON object"))
    return row


def _key(file: str) -> str:
    """A file's name for comparing: some systems write letters and their accents apart."""
    return unicodedata.normalize("NFC", file.replace("\\", "/").removeprefix("./"))


def _read_facts(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Check and convert values. Empty ones are left out, except a patient id, which must be there."""
    facts: dict[str, Any] = {}
    for fact, value in values.items():
        read, wanted = _READERS[fact]
        try:
            found = read(value)
        except ValueError:
            raise InputError(Errors.D422.format(name=names[fact], wanted=wanted)) from None
        if found:
            facts[fact] = found
    return facts


def _read_patient(value: Any) -> str:
    """Read a patient id. RAISES: ValueError if there is none."""
    patient = normal_id(value) if isinstance(value, str | int | float) else ""
    if not patient:
        raise ValueError
    return patient


def _read_date(value: Any) -> str:
    """Read a date in ISO 8601, perhaps with a time. RAISES: ValueError."""
    text = _read_text(value)
    return date.fromisoformat(text[:10]).isoformat() if text else ""


def _read_sex(value: Any) -> str:
    """Read a sex; "" if it is not known. RAISES: ValueError."""
    sex = _read_text(value).lower()
    if sex and sex not in (*_SEXES, *_UNKNOWN_SEXES):
        raise ValueError
    return sex if sex in _SEXES else ""


def _read_text(value: Any) -> str:
    """Read a text; "" for null. RAISES: ValueError."""
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


class AlikeIds:
    """Finds patient ids of a run that differ only in leading zeros, case or white space.

    They are two patients wherever ids are compared. If they are one patient, whose id lost its zeros in a spreadsheet,
    the notes get two identities and one half of them no dictionary.

    count (int): patients whose id is like that of another one.
    """

    def __init__(self) -> None:
        self.count = 0
        self._first: dict[int, tuple[int, str]] = {}
        self._told: set[int] = set()
        self._pairs: list[str] = []

    def add(self, facts: Mapping[str, Any], place: str) -> None:
        """Add the patient of a note.

        facts (Mapping[str, Any]): what is known of the note.
        place (str): what tells the note from others; no id.
        """
        if "patient_id" not in facts:
            return
        patient = normal_id(facts["patient_id"])
        own, loose = hash(patient), hash(loose_id(patient))
        if loose not in self._first:
            if len(self._first) < _COMPARED:
                self._first[loose] = own, place
            return
        first, where = self._first[loose]
        if own != first and own not in self._told:
            self._told.add(own)
            self.count += 1
            if len(self._pairs) < _SHOWN:
                self._pairs.append(f"{where} and {place}")

    def describe(self) -> str:
        """Say in which notes such ids are; "" if there are none."""
        if not self.count:
            return ""
        return Errors.D424.format(count=self.count, places="; ".join(self._pairs))
