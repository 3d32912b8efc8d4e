"""The fields of the EHR context of a note, and how the values of a table are checked and converted.

The EHR context is stored in ``doc._.ehr``, where dictionaries and surrogates use it. No error quotes a value.
"""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from .errors import Errors, InputError
from .patient_ids import normal_id

FIELDS = ("patient_id", "note_date", "name", "sex")
_SEXES = ("female", "male")
_UNKNOWN_SEXES = ("other", "unknown")  # as FHIR's administrative gender has them


class RowFields(NamedTuple):
    """The names of the columns of a table, or keys of JSONL rows, with the EHR context.

    patient_id, note_date, name, sex (Optional[str]): column of each value; None if the table does not have it.
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
    patient = normal_id(value) if isinstance(value, str | int | float | Decimal) else ""
    if not patient:
        raise ValueError
    return patient


def _read_date(value: Any) -> str:
    """Read a date, or a text in ISO 8601 with or without a time. RAISES: ValueError."""
    if isinstance(value, date):  # a datetime is a date, too
        return value.isoformat()[:10]
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
