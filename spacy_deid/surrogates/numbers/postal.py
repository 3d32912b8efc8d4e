"""Postal codes.

United States: the first three digits stay where more than 20,000 people live in the area that they name, and become
000 elsewhere (HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(B)); all other digits are drawn. The populations are those of
the Census Bureau's ZIP code tabulation areas, American Community Survey 2018 – 2022, added up by
``scripts/zip_areas.py``. An area that has none there (post boxes, the armed forces), or that HHS listed as small by
the census of 2000, counts as small.

Spain and Finland: the first two digits name a province or a sorting area. They are exchanged for others by a keyed
order, so that two codes of one province have surrogates of one province; the rest is drawn. United Kingdom: the
letters of the post town are exchanged in the same way. Elsewhere digits stand for digits and letters for letters.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from ..keys import Draw
from .chance import Chance
from .kind import DIGITS, LETTERS, numbered
from .layout import Layout

__all__ = ["PostalCode", "is_small_area", "read_postal_code"]

LIMIT = 20_000
# "Guidance Regarding Methods for De-identification of Protected Health Information", HHS, 2012.
_HHS_2000 = frozenset("036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893".split())
_US = re.compile(r"\d{5}(?:\d{4})?")
_UK = re.compile(r"([A-Z]{1,2})(\d[A-Z\d]?)(\d[A-Z]{2})")
_INWARD = "ABDEFGHJLNPQRSTUWXYZ"  # letters of the second half of a British code
_UK_AREAS = (
    "AB AL BA BB BD BH BL BN BR BS BT CA CB CF CH CM CO CR CT CV CW DA DD DE DG DH DL DN DT DY EH EN EX FK FY GL "
    "GU HA HD HG HP HR HU HX IG IP IV KA KT KY LA LD LE LL LN LS LU ME MK ML NE NG NN NP NR OL OX PA PE PH PL PO "
    "PR RG RH RM SA SE SG SK SL SM SN SO SP SR SS ST SW SY TA TD TF TN TQ TR TS TW UB WA WD WF WN WR WS WV YO B E "
    "G L M N S W"
).split()
_AREAS = {"es": tuple(numbered(1, 52, 2)), "fi": tuple(numbered(0, 99, 2))}
_TRIES = 200


@cache
def _populations() -> dict[str, int]:
    """First three digits of a ZIP code → people who live there."""
    path = files("spacy_deid") / "resources" / "surrogates" / "zip_areas.csv"
    rows = (line.split(",") for line in path.read_text(encoding="utf8").splitlines()[1:])
    return {prefix: int(people) for prefix, people in rows}


def is_small_area(prefix: str) -> bool:
    """Whether at most 20,000 people live in the area of a ZIP code, or nobody knows.

    prefix (str): the first three digits.
    """
    return prefix in _HHS_2000 or _populations().get(prefix, 0) <= LIMIT


def read_postal_code(text: str, lang: str) -> "PostalCode | None":
    """Read a postal code.

    text (str): the mention.
    lang (str): ISO 639-1 code; it tells the country.
    RETURNS (Optional[PostalCode]): None if words stand there.
    """
    layout = Layout(text)
    if layout.has_words or not any(char.isdecimal() for char in layout.code):
        return None
    return PostalCode(layout, lang)


class PostalCode:
    """A postal code that was read.

    layout (Layout): where it stands.
    lang (str): ISO 639-1 code.
    """

    def __init__(self, layout: Layout, lang: str) -> None:
        self._layout, self._lang = layout, lang
        self.identity = layout.code

    def __repr__(self) -> str:
        return "PostalCode(…)"

    def write(self, value: str) -> str:
        """Write a surrogate in the place of the original."""
        return self._layout.write(value)

    def candidates(self, chance: Chance, variant: int) -> Iterator[str]:
        """Surrogates, best first."""
        code, apart = self.identity, str(variant)
        match = _UK.fullmatch(code)
        for attempt in range(_TRIES):
            draw = chance.draw("postal code", code, apart, str(attempt))
            if self._lang == "en" and _US.fullmatch(code):
                yield ("000" if is_small_area(code[:3]) else code[:3]) + _other(code[3:], draw)
            elif self._lang == "en" and match:
                alike = [area for area in _UK_AREAS if len(area) == len(match[1])]
                inward = draw.choice(DIGITS) + draw.choice(_INWARD) + draw.choice(_INWARD)
                yield _exchange(match[1], alike, chance, apart) + _district(match[2], draw) + inward
            elif len(code) == 5 and code[:2] in _AREAS.get(self._lang, ()):
                yield _exchange(code[:2], _AREAS[self._lang], chance, apart) + self._local(code, draw)
            else:
                yield _other(code, draw)

    def _local(self, code: str, draw: Draw) -> str:
        """The last three digits: Finnish codes of places end as they did, Spanish ones are never 000."""
        if self._lang == "fi":
            return draw.choice(DIGITS) + draw.choice(DIGITS) + code[-1]
        return f"{1 + draw.below(999):03}"


def _exchange(area: str, areas: Sequence[str], chance: Chance, variant: str) -> str:
    """Another area, by a keyed ring of all: no two of them become the same."""
    if area not in areas:
        return chance.draw("areas", area, variant).choice(areas)
    ring = chance.draw("areas", str(len(areas)), variant).shuffled(areas)
    return ring[(ring.index(area) + 1) % len(ring)]


def _district(district: str, draw: Draw) -> str:
    """The district of a British code: its first digit is none of 0."""
    return draw.choice(DIGITS[1:]) + _other(district[1:], draw)


def _other(code: str, draw: Draw) -> str:
    """Digits for digits, letters for letters."""
    return "".join(draw.choice(DIGITS if char in DIGITS else LETTERS) for char in code)
