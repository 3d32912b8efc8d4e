"""The words that Finnish forms are led back to: names, places, and a few hundred nouns of notes."""

import csv
from collections.abc import Iterator

from ..lang import get_language
from ..lang.fi.declension_lists import DECLENSIONS
from .forms import lower_form

__all__ = ["read_names"]

_PERSONS = (("female", "given"), ("male", "given"), ("surname", "surname"))
_PLACES = (
    "synth/lists/places.csv",
    "synth/lists/villages.txt",
    "synth/lists/countries.txt",
    "names/world_places.txt",
)
_NOUNS = ("synth/lists/professions.txt",)
_PLACE_COUNT = 10_000  # as many bearers as a frequent name has
_NOUN_COUNT = 500


def read_names() -> Iterator[tuple[str, str, int]]:
    """Read the lists.

    YIELDS (tuple[str, str, int]): (word in lower case, kind, bearers); kinds as `lang.inflection` has them.
    """
    for stem, kind in _PERSONS:
        for row in csv.DictReader(_lines(f"names/{stem}.csv")):
            if row["name"].isalpha() and len(row["name"]) > 1:
                yield lower_form(row["name"]), kind, int(row["count"])
    for path in _PLACES:
        places = {line.partition(",")[0] for line in _lines(path)} - {"city"}
        yield from ((lower_form(place), "place", _PLACE_COUNT) for place in sorted(places) if _is_name(place))
    nouns = {lower_form(line.split()[-1]) for path in _NOUNS for line in _lines(path) if line.strip()}
    for noun in sorted(nouns | set(DECLENSIONS)):
        if noun.isalpha():
            yield noun, "noun", _NOUN_COUNT


def _lines(path: str) -> list[str]:
    """The lines of a resource."""
    return get_language("fi").read_text(path).splitlines()


def _is_name(text: str) -> bool:
    """Whether a place is one word, perhaps of two parts."""
    return text.replace("-", "").isalpha()
