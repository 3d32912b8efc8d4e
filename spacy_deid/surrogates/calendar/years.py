"""What is left of a date where the year alone may stay.

Source: 45 CFR 164.514(b)(2)(i)(C), and the guidance of HHS on it (question "What are examples of dates that are not
permitted"): a year that tells an age over 89 is reported as "on or before" the year that tells 90.
"""

from collections.abc import Sequence
from datetime import date

from .grammar import Atom
from .reading import Reading, full_year
from .shifting import OLDEST
from .words import Words

__all__ = ["year_of"]

# What tells no date: these stay where the rules say no more than "year".
_HARMLESS = {"year": frozenset({"kept", "weekday"}), "safe_harbor": frozenset({"kept"})}
_WHOLE = frozenset({"year", "decade", "kept"})


def year_of(reading: Reading, words: Words, style: str, note: date | None, today: date) -> str | None:
    """What is left of a mention.

    reading (Reading): settled.
    words (Words): the language.
    style (str): "year" or "safe_harbor".
    note (Optional[date]): the date that ages are counted from.
    today (date): a date of the note, or one that stands for it.
    RETURNS (Optional[str]): the year of four figures, or the first and the last; the text itself if it tells no more
        than years; None if it names no year, or no one knows whether the year tells an age over 89.
    """
    if all(atom.kind in _HARMLESS[style] for atom in reading.atoms):
        return reading.text
    years = [year for atom in reading.atoms for year in _years(reading, atom, today)]
    if not years or note is None:
        return None
    latest = note.year - OLDEST
    young = [year for year in years if year > latest]
    if len(young) == len(years) and all(atom.kind in _WHOLE for atom in reading.atoms):
        return reading.text
    return _span(young, "" if len(young) == len(years) else str(words.settings["or_earlier"]).format(year=latest))


def _span(years: Sequence[int], earlier: str) -> str:
    """The first and the last of some years, the oldest in words."""
    ends = [earlier] if earlier else [str(min(years))]
    return "-".join(dict.fromkeys([*ends, *([str(max(years))] if years else [])]))


def _years(reading: Reading, atom: Atom, today: date) -> list[int]:
    """The years that an atom names. A decade without a century may lie in the last one that it fits."""
    if written := reading.piece(atom, "e"):
        return [full_year(written, today, born=True)]
    if not (written := reading.piece(atom, "y")):
        return []
    year = full_year(written, today, reading.born)
    second = reading.piece(atom, "z")
    return [year, year + (int(second) - year) % 100] if second else [year]
