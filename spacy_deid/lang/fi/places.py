"""Make surrogates of Finnish places: streets, acronyms and postal codes."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from csv import DictReader
from functools import cache

from ..places import (
    Exchange,
    PlaceConventions,
    PostalCodes,
    listed,
    place_words,
    read_list,
    redraw_code,
    word_set,
)
from ..text import DIGITS, Draw, fold, match_style, redraw, tokens
from .inflection import CASES, inflect
from .institutions import replace_institution

_BACK, _NEUTRAL = "AOU", "EI"
_SWEDISH_KINDS = ("gatan", "vagen", "granden", "stigen", "esplanaden", "torget", "allen")
_SORTING_AREAS = tuple(f"{number:02}" for number in range(100))


def acronym_vowels(word: str) -> str:
    """Return the vowels that a surrogate of an acronym can have, so that a case ending still fits ("TAYS:ssa").

    Finnish endings have back vowels if the word has one, else front vowels (vowel harmony).
    """
    return _BACK if any(letter in _BACK for letter in word.upper()) else _NEUTRAL + "Y"


def draw_street(address: str, draw: Draw) -> str:
    """Draw a random Finnish street address to replace another one.

    address (str): the original without punctuation around it. The name ends in the kind of street, which can be
        inflected ("Hallakadulla").
    draw (Draw): source of random numbers.
    RETURNS (str): address with the same ending and adjectives, and another first part and other numbers.
    """
    words = place_words("fi")["streets"]
    small = word_set(words, "small")
    out: list[str] = []
    done = False
    for gap, word in tokens(redraw(address, draw, letters="ABCDEF")):
        if not word or not word[0].isalpha() or len(word) < 2 or fold(word) in small:
            out.append(gap + word)
            continue
        end = _kind_of_street(word)
        if end and not done:
            done = True
            stems = listed(words, "swedish" if fold(end).endswith(_SWEDISH_KINDS) else "stems")
            out.append(gap + match_style(str(draw.choice(stems)), word[: -len(end)]) + word[-len(end) :])
        elif not done and len(out) and gap.strip():
            out.append(gap + match_style(str(draw.choice(listed(words, "stems"))), word))
        elif not done:
            out.append(gap + "")  # the first word of a name such as "Aleksis Kiven katu" is left out
    made = "".join(out).strip()
    if done:
        return " ".join(made.split(" ")) if "  " in address else re.sub(r" {2,}", " ", made)
    name = match_style(str(draw.choice(listed(words, "stems"))) + "tie", address)
    numbers = re.search(r"\s+\d.*", address, re.DOTALL)
    return name + (redraw(numbers.group(), draw, letters="ABCDEF") if numbers else "")


@cache
def _kinds_of_street() -> frozenset[str]:
    """Return the words for kinds of streets in all cases, folded."""
    types = str(place_words("fi")["streets"]["types"]).split()
    return frozenset(fold(inflect(word, case, kind="noun")) for word in types for case in CASES[:-1])


def _kind_of_street(word: str) -> str:
    """Return the longest ending of a word that is a kind of street; "" if there is none, or nothing before it."""
    folded = fold(word)
    if len(folded) != len(word):
        return ""
    return next((word[i:] for i in range(2, len(word) - 1) if folded[i:] in _kinds_of_street()), "")


@cache
def codes_by_town() -> Mapping[str, Sequence[str]]:
    """Map towns to their postal codes. The codes of a town begin with the same three digits (Posti)."""
    codes: dict[str, list[str]] = defaultdict(list)
    for row in DictReader(read_list("fi", "synth/lists/places.csv")):
        codes[row["city"]].append(row["zip"])
    return codes


def _has_area(code: str) -> bool:
    return len(code) == 5


def rewrite_code(code: str, area: str, draw: Draw, exchange: Exchange) -> str:
    """Draw a random Finnish postal code to replace another one.

    code (str): letters and digits of the original.
    area (str): first three digits of the codes of the town that replaces the original town; "" if it is not known. The
        first two digits, the sorting area, are then exchanged for others, the same for all codes of an area.
    draw (Draw): source of random numbers.
    exchange (Exchange): replaces a sorting area.
    RETURNS (str): code with the last digit of the original, which distinguishes codes of towns from those of post
        boxes.
    """
    if area:
        return area + draw.choice(DIGITS) + code[-1]
    if len(code) == 5 and code[:2] in _SORTING_AREAS:
        local = draw.choice(DIGITS) + draw.choice(DIGITS) + code[-1]
        return exchange(code[:2], _SORTING_AREAS) + local
    return redraw_code(code, draw)


PLACES = PlaceConventions(
    acronym_vowels=acronym_vowels,
    acronym_keeps_last=True,
    street=draw_street,
    replace_institution=replace_institution,
    not_acronyms=frozenset({"pes"}),
)
POSTAL_CODES = PostalCodes(rewrite=rewrite_code, has_area=_has_area, towns=codes_by_town)
