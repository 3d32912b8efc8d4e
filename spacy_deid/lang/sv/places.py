"""Make surrogates of Swedish street addresses and postal codes. Institutions get a tag instead of a surrogate."""

import re

from ..places import Exchange, PlaceConventions, PostalCodes, listed, place_words, redraw_code
from ..text import DIGITS, Draw, match_style, redraw

_STREET = re.compile(
    r"(?P<name>[^\W\d_][^\d,]*?)(?P<rest>(?:\s+\d.*|,.*)?)",
    re.DOTALL,
)
_KINDS = ("gatan", "vägen", "gränd", "stigen", "torget", "allén", "backen", "leden", "plan", "gata", "väg")


def draw_street(address: str, draw: Draw) -> str:
    """Draw a random Swedish street address to replace another one.

    address (str): the original without punctuation around it: "Storgatan 12 B, lgh 1102".
    draw (Draw): source of random numbers.
    RETURNS (str): address with the same kind of street (its last part, "-gatan"), and another name, numbers and doors.
    """
    found = _STREET.fullmatch(address)
    name, rest = (found["name"], found["rest"]) if found else (address, "")
    kind = next((end for end in _KINDS if name.lower().endswith(end)), "gatan")
    stems = listed(place_words("sv")["streets"], "stems")
    others = [stem for stem in stems if not name.lower().startswith(stem.lower())]
    return match_style(draw.choice(others) + kind, name) + redraw(rest, draw, letters="ABCDEF")


def rewrite_code(code: str, area: str, draw: Draw, exchange: Exchange) -> str:
    """Draw a random postal code to replace another one; no code begins with 0 (PostNord)."""
    return draw.choice(DIGITS[1:]) + redraw_code(code[1:], draw)


PLACES = PlaceConventions(
    generic_before="kommun|län|landskapet|ön",
    generic_after="kommun|län|stad",
    street=draw_street,
)
POSTAL_CODES = PostalCodes(
    rewrite=rewrite_code, in_address=re.compile(r"(?<![\w.,-])(?:SE?-)?\d{3} ?\d{2}(?=\s+[A-ZÅÄÖ])")
)
