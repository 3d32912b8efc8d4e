"""Find surrogates for Finnish telephone numbers.

No range is set apart for fiction (Traficom, regulation 32), so surrogates have prefixes that are not assigned. Mobile
numbers begin with 04 or 050, of which 049 belonged to the NMT network until 2002; 059, 069 and 089 are not used.
Numbers of the areas 02 to 09 begin with 1 to 8, those of the areas 013 to 019 as well; 011, 012 and most of 07 are no
areas. The package phonenumbers regards none of the prefixes as valid.
"""

from ..phones import NumberingPlan, NumberRange, PhoneConventions

_MOBILE = ("049", "049", "059")
_LANDLINES = ("059", "069", "089", "099", "0901", "0903", "0905", "0907", "072", "074", "076", "078")
_LONG_AREAS = tuple("011 012 0130 0139 0140 0149 0150 0159 0160 0169 0170 0179 0190 0199".split())


def find_unassigned(number: str) -> NumberRange | None:
    """Return the unassigned mobile, service or landline numbers for a national number of 5 to 12 digits, else None."""
    if not 5 <= len(number) <= 12:
        return None
    if number[:2] in ("04", "05") and "040" <= number[:3] <= "050":
        return _numbers(_MOBILE, len(number))
    return _numbers(_LONG_AREAS if number[:2] == "01" else _LANDLINES, len(number))


def _numbers(prefixes: tuple[str, ...], length: int) -> NumberRange:
    """Return the numbers of a length that begin with one of the prefixes; the range has the digits after the shortest
    one, of which the last are left out."""
    return NumberRange(prefixes, length - min(map(len, prefixes)))


PHONES = PhoneConventions(
    plans={"358": NumberingPlan(find_unassigned, "0")},
    home_country=lambda number: "358" if number[:1] == "0" else None,
    extension_words=("alanumero",),
)
