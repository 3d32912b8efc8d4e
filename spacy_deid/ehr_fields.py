"""Checks and converts the EHR context of a note: the patient's id, name and sex, and the date of the note.

The context comes from the row of a table and is stored in ``doc._.ehr``, where dictionaries and surrogates use it. No
error message quotes a value.
"""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from .errors import Errors, InputError
from .patient_ids import normal_id

FIELDS = ("patient_id", "note_date", "name", "sex")
_SEXES = ("female", "male")
_UNKNOWN_SEXES = ("other", "unknown")  # the other values of FHIR's administrative gender


class RowFields(NamedTuple):
    """Names the columns of a table, or the keys of JSONL rows, that contain the EHR context.

    patient_id, note_date, name, sex (Optional[str]): column of each value; None if the table has no such column.
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
        return check_values({field: record.get(key) for field, key in keys.items()}, keys)


def check_values(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Check and convert the values of an EHR context. Empty values are left out, but an empty patient id is an error.

    values (Mapping[str, Any]): field of the EHR context → value.
    names (Mapping[str, str]): field → its key or column, for the error message.
    RETURNS (dict[str, Any]): field → converted value.
    RAISES: InputError (D422) that names the key of an invalid value.
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
    """Convert a patient id to its normal form. RAISES: ValueError if it is empty."""
    patient = normal_id(value) if isinstance(value, str | int | float | Decimal) else ""
    if not patient:
        raise ValueError
    return patient


def _read_date(value: Any) -> str:
    """Convert a date, or a string in ISO 8601 with or without a time, to YYYY-MM-DD. RAISES: ValueError."""
    if isinstance(value, date):  # a datetime is a date, too
        return value.isoformat()[:10]
    text = _read_text(value)
    return date.fromisoformat(text[:10]).isoformat() if text else ""


def _read_sex(value: Any) -> str:
    """Return "female" or "male", or "" for an unknown sex. RAISES: ValueError for any other value."""
    sex = _read_text(value).lower()
    if sex and sex not in (*_SEXES, *_UNKNOWN_SEXES):
        raise ValueError
    return sex if sex in _SEXES else ""


def _read_text(value: Any) -> str:
    """Strip a string; "" for None. RAISES: ValueError for any other type."""
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
