"""Finnish postal codes: those of the town that stands for the original's own.

Posti groups the codes of a town under the same first three digits. The town is the one that stands behind the code,
or the one of the list that has its code; what is taken is an area of the town's surrogate, or of its region where the
list has none for a village.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from ...lang import get_language
from ..mention import Mention
from .gazetteer import Place, load_gazetteer
from .geography import Geography

__all__ = ["finnish_areas"]

_DIGITS = 3  # digits that an area has in common
_WORD = re.compile(r"[^\W\d_][\w-]*")
_NEAR = 40  # characters behind a code that its town stands in


def finnish_areas(code: str, mention: Mention, geography: Geography) -> Sequence[str]:
    """The areas that a postal code may get.

    code (str): five digits.
    mention (Mention): the code, with what stands behind it.
    geography (Geography): the places of the note.
    RETURNS (Sequence[str]): first three digits; none if neither the code nor its town is known.
    """
    town = _town_behind(mention, geography) or _town_of(code, geography)
    made = geography.place(town, mention.variant) if town else None
    found = geography.find(made) if made else None
    if found is None:
        return ()
    return _areas().get(found[0].name) or _areas().get(found[0].region, ())


def _town_behind(mention: Mention, geography: Geography) -> Place | None:
    """The first town behind a code: "02100 Espoo", "Postinumero: 02100   Postitoimipaikka: Espoo"."""
    for word in _WORD.findall(mention.after[:_NEAR].partition("\n")[0]):
        found = geography.find(word)
        if found and found[0].kind == "city":
            return found[0]
    return None


def _town_of(code: str, geography: Geography) -> Place | None:
    """The town that a code lies in: of the same code, else of the same area."""
    names = (name for part in (code, code[:_DIGITS]) for name, codes in _codes().items() if _has(codes, part))
    found = (geography.find(name) for name in names)
    return next((place[0] for place in found if place), None)


def _has(codes: Sequence[str], part: str) -> bool:
    """Whether a code begins with some digits."""
    return any(code.startswith(part) for code in codes)


@cache
def _codes() -> Mapping[str, Sequence[str]]:
    """Town → its postal codes."""
    codes: dict[str, list[str]] = defaultdict(list)
    for row in csv.DictReader(get_language("fi").read_text("synth/lists/places.csv").splitlines()):
        codes[row["city"]].append(row["zip"])
    return codes


@cache
def _areas() -> Mapping[str, Sequence[str]]:
    """Town, and region, → the first three digits of its postal codes."""
    areas: dict[str, dict[str, None]] = defaultdict(dict)
    gazetteer = load_gazetteer("fi")
    for town, codes in _codes().items():
        own = {code[:_DIGITS]: None for code in codes}
        areas[town].update(own)
        for place in gazetteer.find(town):
            if place.kind == "city":
                areas[place.region].update(own)
    return {name: tuple(sorted(found)) for name, found in areas.items()}
