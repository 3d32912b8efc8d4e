"""Normalize patient ids. Dictionaries, surrogates, salts, vault and audit compare ids in the form of `normal_id`.

- Text is stripped of white space at both ends and brought to Unicode form NFKC, so that digits of full width are
  digits; zero-width characters and byte-order marks go.
- A whole number is written without a decimal point, whatever its type: 123, 123.0 and "123" are one id.
- Case and leading zeros stay: "00123" and "123" may be two patients, and to mix up two patients is worse than to split
  one. `loose_id` tells such ids from really different ones, for a warning.
"""

import re
import unicodedata
from decimal import Decimal
from math import isfinite
from numbers import Integral, Real
from typing import Any

_INVISIBLE = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")
_SPACES = re.compile(r"\s+")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_WHOLE = re.compile(r"(\d)\.0+\Z")


def normal_id(value: Any) -> str:
    """The normal form of a patient id.

    value (Any): the id as text or number, however a table, a row or a caller gives it.
    RETURNS (str): the id; "" if there is none: for None, NaN, an infinite number, a truth value, or empty text.
    """
    if isinstance(value, str):
        text = value
    elif value is None or isinstance(value, bool) or _is_missing(value):
        return ""
    elif isinstance(value, Integral):
        text = str(int(value))
    elif isinstance(value, Real | Decimal):
        number = value if isinstance(value, Decimal) else float(value)
        if not isfinite(number):
            return ""
        text = str(int(number)) if number == int(number) else str(value)
    else:
        text = str(value)
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return text.strip()


def loose_id(patient_id: str) -> str:
    """Reduce an id to a form that ignores leading zeros, case, white space and ".0" at the end.

    patient_id (str): what `normal_id` gave.
    RETURNS (str): the reduced form. Use it only to warn, because two patients may share it.
    """
    return _ZEROS.sub("", _WHOLE.sub(r"\1", _SPACES.sub("", patient_id.casefold())))


def _is_missing(value: Any) -> bool:
    """Whether a value is NaN, NaT or the like."""
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return True
