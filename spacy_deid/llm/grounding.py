"""Answers put back into the text. A language model says *what*, the code finds *where*: its offsets are never asked.

A string is looked for in the whole note (`matching`). A bare number is not enough: the house number 12 must not black
out a haemoglobin of 12 (in Wiest et al. 2024 house numbers cost most of the precision). It counts beside its address,
beside a word of age, or if it is long enough to be a number of somebody.
"""

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .matching import LONG_NUMBER, Found, Letters

__all__ = ["Found", "Grounding", "ground"]

_ADDRESS = frozenset({"STREET", "CITY", "STATE", "ZIP", "TERRITORY", "COUNTRY", "LOCATION_OTHER"})
# what a bare number of a label must stand beside; of any other label: beside one of its own
_NEIGHBOURS = dict.fromkeys(_ADDRESS, _ADDRESS) | {"STREET": frozenset({"STREET", "LOCATION_OTHER"})}
_BARE = re.compile(r"(?:\d{1,4}[a-zA-Z]?|[a-zA-Z]\d?|\d{1,3} ?[-/–] ?\d{1,3})[.,;:ºª°]*")
_DAY = re.compile(r"(?:[0-2]?\d|3[01])[-/–](?:0?\d|1[0-2])|(?:0?\d|1[0-2])[-/–](?:[0-2]?\d|3[01])")
_FAR = 24  # characters between a number and what it belongs to
# between a street and its number: "No.", "piso", a comma, but no end of a sentence or a line: a dose can stand there
_BESIDE = re.compile(
    r"[ \t,/#(–-]{0,3}"
    r"(?:(?:n[ºor]|no|nro|núm|num|number|apt|apto|flat|unit|suite|ste|piso|portal|esc|pta|puerta|as|asunto|hus|cp|zip|"
    r"postinumero|plz)\b[.ºª°:]*)?[ \t,/#(–-]{0,3}",
    re.IGNORECASE,
)
_GAP = re.compile(r"[ \t,]{0,3}")
_AFTER_AGE = re.compile(
    r"[\s-]*(?:years?|yrs?|y/?o|y\.?o\.?|yo|months?|años?|meses|mes|a\.|vuotias|vuotta|vuotiaa|-?v|kk|jahre|jährig|"
    r"monate)(?!\w)",
    re.IGNORECASE,
)
_BEFORE_AGE = re.compile(r"\b(?:aged?|edad|ikä|alter)\W{1,3}$", re.IGNORECASE)


@dataclass(slots=True)
class Grounding:
    """What came of the answers.

    found (list[Found]): in the order of the text.
    strings (int): different strings that the model gave.
    ungrounded (int): those of them that stand nowhere in the note.
    unplaced (int): bare numbers that do stand in it, but nowhere beside what they could belong to.
    """

    found: list[Found] = field(default_factory=list)
    strings: int = 0
    ungrounded: int = 0
    unplaced: int = 0


def ground(text: str, answers: Mapping[str, Sequence[str]], *, fuzzy: float | None = 90.0) -> Grounding:
    """Find the strings of answers in a text.

    text (str): the note.
    answers (Mapping): label → strings.
    fuzzy (Optional[float]): likeness from 0 to 100 at which words count as a string; None for no slips of the pen.
    RETURNS (Grounding): what was found, and how much was not.
    """
    asked = list(dict.fromkeys((label, string) for label, given in answers.items() for string in given))
    bare = [(label, string) for label, string in asked if _is_bare(string, label)]
    result, letters = Grounding(strings=len(asked)), Letters(text)
    # strings of as many words one after the other, because they are compared with the same runs of words
    for label, string in sorted(set(asked) - set(bare), key=lambda key: (len(key[1].split()), key)):
        found = letters.find(string, label, loose=fuzzy is not None)
        if fuzzy is not None:
            found = _add_apart(found, letters.alike(string, label, fuzzy))
        result.found += found
        result.ungrounded += not found
    _place(text, letters, bare, result)
    result.found = _join(text, sorted(set(result.found), key=lambda item: (item.start, item.end, item.label)))
    return result


def _join(text: str, found: Sequence[Found]) -> list[Found]:
    """Make one of a number and what it stands beside, where they have one label: street and number are an address."""
    joined: list[Found] = []
    for item in found:
        last = joined[-1] if joined else item
        if (
            joined
            and last.label == item.label
            and "beside" in (last.rule, item.rule)
            and _GAP.fullmatch(text, min(last.end, item.start), item.start)
        ):
            joined[-1] = Found(last.start, max(last.end, item.end), item.label, min(last.score, item.score), "beside")
        else:
            joined.append(item)
    return joined


def _is_bare(string: str, label: str) -> bool:
    """Whether a string is a number, or a letter, that could be anything. A day with its month could not."""
    somebody = label not in _ADDRESS and label != "AGE" and sum(map(str.isdigit, string)) >= LONG_NUMBER
    return bool(_BARE.fullmatch(string)) and not somebody and not (label == "DATE" and _DAY.fullmatch(string))


def _add_apart(found: list[Found], others: Iterable[Found]) -> list[Found]:
    """Add those of others that overlap none before them. What is given is disjoint, and in the order of the text."""
    for other in others:
        at = bisect_right(found, other.start, key=lambda item: item.start)
        after_last = at == 0 or found[at - 1].end <= other.start
        if after_last and (at == len(found) or other.end <= found[at].start):
            found.insert(at, other)
    return found


def _place(text: str, letters: Letters, bare: Sequence[tuple[str, str]], result: Grounding) -> None:
    """Find bare numbers beside what they belong to; one that is placed can hold the next, as in "12, 3 B"."""
    left = {key: letters.find(key[1], key[0], loose=False) for key in bare}
    result.ungrounded += sum(not spots for spots in left.values())
    placed: set[tuple[str, str]] = set()
    grown = True
    while grown:
        grown = False
        for key, spots in left.items():
            near = _age_words if key[0] == "AGE" else _Neighbours(result.found, _NEIGHBOURS.get(key[0], {key[0]}))
            fitting = [spot for spot in spots if near(text, spot.start, spot.end)]
            left[key] = list({*spots} - {*fitting})
            result.found += [Found(spot.start, spot.end, spot.label, 1.0, "beside") for spot in fitting]
            placed |= {key} if fitting else set()
            grown |= bool(fitting)
    result.unplaced += sum(bool(spots) and key not in placed for key, spots in left.items())


class _Neighbours:
    """Whether a number stands beside something that was found."""

    def __init__(self, found: Iterable[Found], labels: Container[str]) -> None:
        wanted = [item for item in found if item.label in labels]
        self._starts, self._ends = {item.start for item in wanted}, {item.end for item in wanted}

    def __call__(self, text: str, start: int, end: int) -> bool:
        """Whether what stands between is no more than there may be between a street and its number."""
        before = any(_BESIDE.fullmatch(text, at, start) for at in range(start - _FAR, start + 1) if at in self._ends)
        return before or any(
            _BESIDE.fullmatch(text, end, at) for at in range(end, end + _FAR + 1) if at in self._starts
        )


def _age_words(text: str, start: int, end: int) -> bool:
    """Whether a number stands beside a word of age."""
    return bool(_AFTER_AGE.match(text, end) or _BEFORE_AGE.search(text[max(0, start - 12) : start]))
