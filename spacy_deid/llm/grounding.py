"""Answers put back into the text. A language model says *what*, the code finds *where*: its offsets are never asked.

A string is looked for in the whole note, at the edges of words: as it is written, in any case, and with slips of the
pen. A bare number is not enough: the house number 12 must not black out a
haemoglobin of 12 (in Wiest et al. 2024 house numbers cost most of the precision). It counts beside its address, beside
a word of age, or if it is long enough to be a number of somebody.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Found", "Grounding", "ground"]

_ADDRESS = frozenset({"STREET", "CITY", "STATE", "ZIP", "TERRITORY", "COUNTRY", "LOCATION_OTHER"})
# what a bare number of a label must stand beside; of any other label: beside one of its own
_NEIGHBOURS = dict.fromkeys(_ADDRESS, _ADDRESS) | {"STREET": frozenset({"STREET", "LOCATION_OTHER"})}
_BARE = re.compile(r"(?:\d{1,4}[a-zA-Z]?|[a-zA-Z]\d?|\d{1,3} ?[-/–] ?\d{1,3})[.,;:ºª°]*")
_LONG = 4  # digits from which on a bare number is looked for everywhere, if it is no address and no age
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
_WORD = re.compile(r"\w+")
_SHORTEST = 4  # letters and digits of a string that is looked for with slips of the pen


@dataclass(frozen=True, slots=True)
class Found:
    """A string in its place. Holds offsets, never text.

    start, end (int): characters.
    label (str): canonical label.
    score (float): 1.0 if it stands there letter by letter, else how alike it is.
    rule (str): "exact", "case", "fuzzy" or "beside" (a bare number beside what it belongs to).
    """

    start: int
    end: int
    label: str
    score: float = 1.0
    rule: str = "exact"


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
    result = Grounding(strings=len(asked))
    bare = [(label, string) for label, string in asked if _is_bare(string, label)]
    windows = _Windows(text)
    for label, string in asked:
        if (label, string) in bare:
            continue
        found = list(_exact(text, string, label))
        if fuzzy is not None:
            found = _add_apart(found, windows.alike(string, label, fuzzy))
        result.found += found
        result.ungrounded += not found
    _place(text, bare, result)
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
    """Whether a string is a number, or a letter, that could be anything."""
    somebody = label not in _ADDRESS and label != "AGE" and sum(map(str.isdigit, string)) >= _LONG
    return bool(_BARE.fullmatch(string)) and not somebody


def _exact(text: str, string: str, label: str) -> Iterator[Found]:
    """Where a string stands at the edges of words, in any case, and with any white space: lines break anywhere."""
    if not any(map(str.isalnum, string)):
        return
    body = r"\s+".join(map(re.escape, string.split()))
    first = r"(?<!\w)" if string[0].isalnum() else ""
    last = r"(?!\w)" if string[-1].isalnum() else ""
    if string.isdigit() and len(string) <= _LONG:  # the 12 of 12.4 is another number
        first, last = r"(?<!\w)(?<!\d[.,])", r"(?!\w)(?![.,]\d)"
    for match in re.finditer(first + body + last, text, re.IGNORECASE):
        same = match.group().split() == string.split()
        yield Found(match.start(), match.end(), label, 1.0, "exact" if same else "case")


def _fold(string: str) -> str:
    """Letters and digits without case and accents."""
    apart = unicodedata.normalize("NFKD", string.casefold())
    return "".join(character for character in apart if character.isalnum())


class _Windows:
    """Runs of words of a text, made when they are first needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words: list[tuple[int, int, str]] = []
        self._runs: dict[int, tuple[list[tuple[int, int]], list[str]]] = {}

    def of(self, words: int) -> tuple[list[tuple[int, int]], list[str]]:
        """Every run of so many words: its place, and its letters."""
        if words not in self._runs:
            self._words = self._words or [(*m.span(), _fold(m.group())) for m in _WORD.finditer(self._text)]
            runs = list(zip(*(self._words[i:] for i in range(words)), strict=False))
            places = [(run[0][0], run[-1][1]) for run in runs]
            self._runs[words] = places, ["".join(letters for _, _, letters in run) for run in runs]
        return self._runs[words]

    def alike(self, string: str, label: str, fuzzy: float) -> list[Found]:
        """Where words stand that are like a string; the likest first. They may overlap."""
        from rapidfuzz import fuzz, process

        wanted, count, hits = _fold(string), len(_WORD.findall(string)), []
        for words in {count, count + 1, count - 1} - {0} if len(wanted) >= _SHORTEST else ():
            places, folded = self.of(words)
            for _, likeness, i in process.extract(wanted, folded, scorer=fuzz.ratio, score_cutoff=fuzzy, limit=None):
                if _digits(folded[i]) == _digits(wanted):  # another number is another number
                    hits.append(Found(*places[i], label, round(likeness / 100, 4), "fuzzy"))
        return sorted(hits, key=lambda item: (-item.score, item.start, item.end))


def _add_apart(found: list[Found], others: Iterable[Found]) -> list[Found]:
    """Add those of others that overlap none before them. What is given is disjoint, and in the order of the text."""
    for other in others:
        at = bisect_right(found, other.start, key=lambda item: item.start)
        after_last = at == 0 or found[at - 1].end <= other.start
        if after_last and (at == len(found) or other.end <= found[at].start):
            found.insert(at, other)
    return found


def _digits(string: str) -> str:
    """The digits of a string."""
    return "".join(filter(str.isdigit, string))


def _place(text: str, bare: Sequence[tuple[str, str]], result: Grounding) -> None:
    """Find bare numbers beside what they belong to; one that is placed can hold the next, as in "12, 3 B"."""
    left = {key: list(_exact(text, key[1], key[0])) for key in bare}
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
