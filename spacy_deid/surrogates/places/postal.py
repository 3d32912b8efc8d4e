"""Postal codes: those of the region that stands for the original's own, as the towns are.

United States: the state becomes the one that its towns get in the note. It is the one that stands before the code, or
the one that has its first three digits (USPS, Domestic Mail Manual, L002). The new first three digits name an area of
that state where more than 20,000 people live, as no other may be told (HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(B));
the rest is drawn. The three digits of no state stay, or become 000 if the area is small. The populations are those of
the Census Bureau's ZIP code tabulation areas, American Community Survey 2018 – 2022, added up by
``scripts/zip_areas.py``. An area that has none there (post boxes, the armed forces), or that HHS listed as small by
the census of 2000, counts as small.

Finland: the code is one of the town that stands for its own (`finnish_postal`). Where nobody knows the town, the first
two digits, the sorting area, are exchanged for others by a keyed order, so that two codes of
one area have surrogates of one area; the rest is drawn. United Kingdom: the letters of the post town are exchanged in
the same way. Spanish codes go with the provinces (`geography`). Elsewhere digits stand for digits and letters for
letters.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from ...lang import get_language
from ..keys import Draw
from ..mention import Mention
from ..numbers.chance import Chance
from ..numbers.kind import DIGITS, LETTERS, numbered
from ..numbers.layout import Layout
from .finnish_postal import finnish_areas
from .gazetteer import load_words
from .geography import Geography
from .state import Note

__all__ = ["is_small_area", "replace_postal_code", "state_of"]

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
_FINNISH_AREAS = tuple(numbered(0, 99, 2))
_TRIES = 200
_STATE = re.compile(r"([A-Z]{2}|[A-Z][a-z]+(?: [A-Z][a-z]+)?)[\s,.]*$")  # what stands before "TX 79468"


@cache
def _populations() -> dict[str, int]:
    """First three digits of a ZIP code → people who live there."""
    rows = (line.split(",") for line in get_language("en").read_lines("zip_areas.csv")[1:])
    return {prefix: int(people) for prefix, people in rows}


def is_small_area(prefix: str) -> bool:
    """Whether at most 20,000 people live in the area of a ZIP code, or nobody knows.

    prefix (str): the first three digits.
    """
    return prefix in _HHS_2000 or _populations().get(prefix, 0) <= LIMIT


def replace_postal_code(mention: Mention, note: Note, geography: Geography, chance: Chance) -> str | None:
    """Replace a postal code.

    mention (Mention): label ZIP.
    note (Note): what the surrogates of the note share.
    geography (Geography): the places of the note; its language tells the country.
    chance (Chance): of the patient.
    RETURNS (Optional[str]): None if words stand there.
    """
    layout = Layout(mention.text)
    if layout.has_words or not any(char.isdecimal() for char in layout.code):
        return None
    code = PostalCode(layout.code, geography.lang, _areas(layout.code, mention, geography))
    decision = ("zip", code.identity, mention.variant)
    options = code.candidates(chance, mention.variant)
    made = note.once(decision, lambda: next((new for new in options if note.take("zip", layout.write(new))), None))
    return None if made is None else layout.write(made)


def state_of(code: str) -> str | None:
    """The state that has the first three digits of a ZIP code; None if none has."""
    return _states().get(code[:3])


def _areas(code: str, mention: Mention, geography: Geography) -> Sequence[str]:
    """The large areas of the state, or those of the town, that stands for that of a code; none if it has none."""
    if geography.lang == "fi":
        return finnish_areas(code, mention, geography) if len(code) == 5 else ()
    if geography.lang != "en" or not _US.fullmatch(code):
        return ()
    before = _STATE.search(mention.before)
    named = geography.find(before[1], "STATE") if before else None
    states = _states()
    state = named[0].region if named and named[0].region in states.values() else state_of(code)
    other = geography.region(state, mention.variant) if state else None
    return [area for area, found in states.items() if found == other and not is_small_area(area)]


@cache
def _states() -> Mapping[str, str]:
    """First three digits of a ZIP code → state."""
    ranges = (
        (state, *span.split("-")) for state, spans in load_words("en")["zip_areas"].items() for span in spans.split()
    )
    return {area: state for state, *ends in ranges for area in numbered(int(ends[0]), int(ends[-1]), 3)}


class PostalCode:
    """A postal code that was read.

    identity (str): letters and digits.
    lang (str): ISO 639-1 code.
    areas (Sequence[str]): first three digits that a code may get; none: a ZIP code keeps its own, or has 000.
    """

    def __init__(self, identity: str, lang: str, areas: Sequence[str]) -> None:
        self.identity, self._lang, self._areas = identity, lang, areas

    def __repr__(self) -> str:
        return "PostalCode(…)"

    def candidates(self, chance: Chance, variant: int) -> Iterator[str]:
        """Surrogates, best first."""
        code, apart = self.identity, str(variant)
        match = _UK.fullmatch(code)
        for attempt in range(_TRIES):
            draw = chance.draw("postal code", code, apart, str(attempt))
            if self._lang == "en" and _US.fullmatch(code):
                yield self._area(chance, apart) + f"{1 + draw.below(99):02}" + _other(code[5:], draw)
            elif self._lang == "en" and match:
                alike = [area for area in _UK_AREAS if len(area) == len(match[1])]
                inward = draw.choice(DIGITS) + draw.choice(_INWARD) + draw.choice(_INWARD)
                yield _exchange(match[1], alike, chance, apart) + _district(match[2], draw) + inward
            elif self._lang == "fi" and self._areas:
                yield self._area(chance, apart) + draw.choice(DIGITS) + code[-1]
            elif self._lang == "fi" and len(code) == 5 and code[:2] in _FINNISH_AREAS:
                local = draw.choice(DIGITS) + draw.choice(DIGITS) + code[-1]  # codes of places end as they did
                yield _exchange(code[:2], _FINNISH_AREAS, chance, apart) + local
            else:
                yield _other(code, draw)

    def _area(self, chance: Chance, variant: str) -> str:
        """The first three digits of a ZIP code: one area for all codes of an area."""
        own = self.identity[:3]
        if self._areas:
            return chance.draw("zip area", own, variant).choice(self._areas)
        return "000" if is_small_area(own) else own


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
