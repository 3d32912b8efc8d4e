"""Clean the values of a patient record, and skip invalid ones and placeholders: "UNKNOWN", "-", "0000000", 1900-01-01.

A placeholder in a dictionary would redact every "unknown" and every "test" in every note. For a skipped value the
reason is returned, which never contains the value.
"""

import re
from collections.abc import Collection, Mapping
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from types import MappingProxyType
from typing import Any

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import MAX_LENGTH, function_words, is_too_general
from ..lang import all_languages
from .value_formats import load_language, read_phone

NAMES = frozenset({"given", "middle", "surname", "former", "nickname", "full", "clinician"})
"""Kinds of values that are names of persons."""

_ANY_LANGUAGE = "-|n/a|na|n.a.|nan|none|null|xx|xxx|xxxx|xxxxx"

PLACEHOLDERS = frozenset(
    normal_form(word)
    for line in (_ANY_LANGUAGE, *(line for lang in all_languages() for line in lang.read_lines("placeholders.txt")))
    for word in line.split("|")
) - {""}
"""Normal forms of values that mean that the value is missing."""

_ALSO_NAMES = frozenset(
    {"dummy", "na", "nan", "nc", "nn", "same", "sample", "sd", "tester"}
)  # placeholders that are also rare names
_SHORTEST: Mapping[str, int] = MappingProxyType(
    {"id": 3, "phone": 5, "zip": 3, "clinic": 3, "location": 3, "organization": 3}
)
_NUMBERS = frozenset({"id", "phone", "zip"})
_BARE_NUMBER = 5  # a shorter number could be a dose, year or room
_NO_BIRTH = frozenset({date(1, 1, 1), date(1753, 1, 1), date(1800, 1, 1), date(1900, 1, 1), date(1901, 1, 1)})
_FIRST_YEAR, _LAST_YEAR = 1800, 2200
_ORDERS = {"d": ("%d/%m/%Y", "%d/%m/%y"), "m": ("%m/%d/%Y", "%m/%d/%y")}
_COUNTING = "01234567890123456789"


def as_text(value: Any) -> str:
    """Convert a cell to text without surrounding space: numbers in decimal, dates in ISO 8601.

    value (Any): the cell as a reader returned it.
    RETURNS (str): the text; "" for null, NaN, infinity, bytes and containers.
    """
    if isinstance(value, str):
        return value.strip()
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, bool | int):
        return str(int(value))
    if isinstance(value, float | Decimal):
        if not isfinite(value):
            return ""
        return str(int(value)) if value == int(value) else str(value)
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    # the text of a UUID is its value, that of bytes and containers is not
    is_opaque = isinstance(value, bytes | bytearray | memoryview | list | dict | set | tuple)
    return "" if is_opaque else str(value).strip()


def clean(
    kind: str, value: str, lang: str, date_format: str = "", extra: Collection[str] = frozenset()
) -> tuple[str, str]:
    """Clean a value of a patient record, or return the reason why it must be skipped.

    kind (str): kind of the value, one of `expansion.KINDS`.
    value (str): the text from `as_text`.
    lang (str): ISO 639-1 code.
    date_format (str): format of dates for ``strptime``; "" for ISO 8601 or the language's numeric dates.
    extra (Collection[str]): further placeholders, as normal forms.
    RETURNS (tuple[str, str]): the cleaned value and "", or "" and the reason.
    """
    plain = normal_form(value)
    if not value.strip():
        return "", "empty"
    listed = plain in PLACEHOLDERS and not (kind in NAMES and plain in _ALSO_NAMES)
    if not plain or listed or plain in extra or _is_filler(plain, kind):
        return "", "placeholder"
    if len(plain) > MAX_LENGTH:
        return "", "too long"
    if not plain.isascii() and any("\ud800" <= char <= "\udfff" for char in plain):
        return "", "broken text"
    if kind in ("birth_date", "date"):
        day = read_date(value, lang, date_format)
        if day in _NO_BIRTH or (day and day.year == 9999):
            return "", "placeholder"
        return (day.isoformat(), "") if day and _FIRST_YEAR <= day.year <= _LAST_YEAR else ("", f"no {kind}")
    reason = _find_fault(kind, value, plain, lang)
    return ("", reason) if reason else (" ".join(value.split()), "")


def _find_fault(kind: str, value: str, plain: str, lang: str) -> str:
    """The reason why a value is invalid for its kind, or ""."""
    if kind == "phone" and not read_phone(value, load_language(lang).region)[1]:
        return "no phone"
    if kind == "email" and not re.fullmatch(r"[^@\s]+@[^@\s]+", plain):
        return "no email"
    if kind in NAMES:
        return "" if any(char.isalpha() for char in plain) else f"no {kind}"
    marks = sum(char.isalnum() for char in plain)
    if marks < _SHORTEST.get(kind, 2) or (kind == "id" and plain.isdigit() and marks < _BARE_NUMBER):
        return "too short"
    words = plain.split()
    if kind not in _NUMBERS and (is_too_general(plain) or all(word in function_words() for word in words)):
        return "too general"
    return ""


def _is_filler(plain: str, kind: str) -> bool:
    """Whether a value is a filler such as "0000000", "xxxx", "---" or "123456789"."""
    letters = [char for char in plain if char.isalnum()]
    if not letters or (len(letters) > 2 and len(set(letters)) == 1):
        return True
    joined = "".join(letters)
    return kind in ("id", "phone") and len(joined) > 4 and (joined in _COUNTING or joined in _COUNTING[::-1])


def read_date(value: str, lang: str, date_format: str = "") -> date | None:
    """Parse a date of a patient record.

    value (str): the date as the record stores it.
    lang (str): ISO 639-1 code; decides whether an ambiguous date has the day or the month first.
    date_format (str): format for ``strptime``; if given, no other format is tried.
    RETURNS (date | None): the date, or None if the value is not one. A two-digit year is never in the future.
    """
    text = value.strip()
    if date_format:
        return _parse(text, date_format)
    try:
        return date.fromisoformat(text[:10] if len(text) > 10 and text[10:11] in "T " else text)
    except ValueError:
        pass
    unified = re.sub(r"[.\-\s]+", "/", text.partition(" ")[0].strip("."))
    first = load_language(lang).orders[0][0]
    day = next((day for pattern in _ORDERS[first] if (day := _parse(unified, pattern))), None)
    ahead = day is not None and len(unified.rpartition("/")[2]) == 2 and day > date.today()
    return day.replace(year=day.year - 100) if day and ahead else day  # a two-digit year that would be in the future


def _parse(text: str, pattern: str) -> date | None:
    """Parse a date in one format; None if it does not match."""
    try:
        return datetime.strptime(text, pattern).date()
    except ValueError:
        return None
