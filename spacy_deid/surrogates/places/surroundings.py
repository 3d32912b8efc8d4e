"""What the other places of a note say of one: a slip of a town's name, a short form of it, a note from abroad."""

from collections.abc import Iterable

from rapidfuzz.distance import OSA

from ..persons import fold
from .gazetteer import ABROAD, Place

__all__ = ["Surroundings"]

_KNOWN = 2  # band of a town that makes sure that a note is from home: villages have namesakes abroad
_SLIP = 6  # letters of a town's name that may have a slip of the pen


class Surroundings:
    """The places of a note that lists have.

    home (Iterable[str]): codes of the countries that stay, because the towns of the lists lie there; without any,
        the surroundings say nothing.
    """

    def __init__(self, home: Iterable[str]) -> None:
        self._home = {ABROAD + code for code in home}
        self._towns: dict[str, Place] = {}
        self._countries: set[str] = set()
        self._at_home = False

    def __repr__(self) -> str:
        return f"Surroundings({len(self._towns)} towns)"

    def add(self, place: Place) -> None:
        """Note a place of the note."""
        if not self._home:
            return
        if place.kind == "country":
            self._countries.add(place.region)
        elif not place.region.startswith(ABROAD):
            self._at_home |= place.band >= _KNOWN
            self._towns[fold(place.name)] = place

    def stays(self, place: Place) -> bool:
        """Whether a place is the country of the towns: it stays, as they do not go elsewhere."""
        return place.kind == "country" and place.region in self._home

    @property
    def abroad(self) -> str:
        """The foreign country that alone the note names, "" if it names none or others, or a town at home."""
        alone = len(self._countries) == 1 and not self._countries & self._home and not self._at_home
        return next(iter(self._countries)) if alone else ""

    @property
    def region(self) -> str:
        """The region at home that all places of the note lie in, "" if there are none or several."""
        regions = {place.region for place in self._towns.values()}
        return regions.pop() if len(regions) == 1 else ""

    def meant(self, name: str) -> Place | None:
        """The town of the note that a name is a slip or a short form of: "Santiago" of "Santiago de Compostela".

        name (str): as written.
        RETURNS (Optional[Place]): None if there is none, or more than one.
        """
        word = fold(name)
        meant = {p for town, p in self._towns.items() if town.startswith(word + " ") or self._is_slip(word, town)}
        return meant.pop() if len(meant) == 1 else None

    @staticmethod
    def _is_slip(word: str, town: str) -> bool:
        """Whether a word is one slip away from a town."""
        return word != town and min(len(word), len(town)) >= _SLIP and OSA.distance(word, town, score_cutoff=1) == 1
