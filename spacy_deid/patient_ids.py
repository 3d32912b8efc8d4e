"""Normalizes patient ids, so that all parts of the package treat different spellings of an id as one patient.

- White space at both ends, zero-width characters and byte-order marks are removed, and the Unicode form is NFKC, so
  that full-width digits become ASCII digits.
- A whole number is written without a decimal point, whatever its type: 123, 123.0 and "123" are one id.
- Case and leading zeros are kept: "00123" and "123" may be two patients, and to merge two patients is worse than to
  split one. `loose_id` ignores these differences, so that a run can warn of similar ids.
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
    """Convert a patient id to its normal form, in which ids are compared: a number is written without ".0" (12.0 →
    "12"), a text is normalized to Unicode NFKC, and invisible characters and white space around it are removed. Case
    and leading zeros are kept.

    value (Any): the id as text or number, as found in a table or given by a caller.
    RETURNS (str): the normal form; "" if there is no id: for None, NaN, an infinite number, a bool, or blank text.
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

    patient_id (str): result of `normal_id`.
    RETURNS (str): the reduced form. Use it only to warn, because two patients may share it.
    """
    return _ZEROS.sub("", _WHOLE.sub(r"\1", _SPACES.sub("", patient_id.casefold())))


def _is_missing(value: Any) -> bool:
    """Whether a value means "missing" in a table: NaN, NaT or pandas.NA."""
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return True
