"""Finds the EHR context of notes: the id, name and sex of the patient and the date of the note.

The context is read from rows, from a table of files (``--context``) or from file names, and stored in ``doc._.ehr``,
where dictionaries and surrogates use it. No message quotes a value.
"""

import csv
import io
import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import typer

from ..ehr_fields import FIELDS, RowFields, check_values
from ..errors import ConfigError, Errors, InputError
from ..io import Job, decode, read_bytes
from ..patient_ids import loose_id, normal_id
from .options import PatientField

_COMPARED = 1_000_000  # number of patients per run whose ids are compared
_SHOWN = 5  # pairs of similar ids whose notes are named


PatientFrom = Literal["name", "folder"]
PatientIdFrom = Annotated[
    PatientFrom | None,
    typer.Option(help="Take the patient's id from the name of the file (without suffix) or of its folder."),
]


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """Options of a command: where the patient and the date of a note are found."""

    panel: ClassVar[str] = "EHR context"

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
    def fields(self) -> RowFields:
        """The keys of a row that contain the EHR context."""
        return RowFields(self.patient_field, self.date_field, self.name_field, self.sex_field)

    def read(self) -> "FileContext":
        """Read the EHR context of files; see `read_file_context`."""
        return read_file_context(self.patient_id_from, self.context)


@dataclass(frozen=True, slots=True)
class FileContext:
    """Finds the EHR context of a file, in its path or in a table.

    patient_from (Optional[PatientFrom]): part of a path that is the patient's id: "name" or "folder"; None for none.
    table (Optional[Mapping[str, Mapping[str, Any]]]): path of a file → its row (column → value); None for no table.
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
            ehr = check_values(row, {field: field for field in row})
        if self.patient_from is not None:
            name = job.source.stem if self.patient_from == "name" else job.source.absolute().parent.name
            ehr["patient_id"] = name
        return ehr


def read_file_context(patient_from: PatientFrom | None, table: Path | None) -> FileContext:
    """Read the table of ``--context``.

    patient_from (Optional[PatientFrom]): part of a path that is the patient's id: "name" or "folder".
    table (Optional[Path]): a CSV file with a header (comma or semicolon), or a JSONL file, in UTF-8. The column "file"
        has the path of a file within the folder that is redacted, or its name if the file itself is given.
    RETURNS (FileContext): finds the EHR context of each file.
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
    """Read the rows of a CSV or JSONL table.

    YIELDS (tuple[int, dict[str, Any]]): line number and row.
    RAISES: InputError (D402) if the file cannot be read, a line is not a JSON object, or a row does not have as many
        columns as the header.
    """
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


class SimilarIds:
    """Finds patient ids of a run that differ only in leading zeros, case or white space.

    They are treated as different patients. If they belong to one patient, for example because a
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
        place (str): where the note is, for the warning: a file and, if it has rows, a row. It must not be an id.
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
        """Return a warning that names notes with such ids; "" if there are none."""
        if not self.count:
            return ""
        return Errors.D424.format(count=self.count, places="; ".join(self._pairs))
