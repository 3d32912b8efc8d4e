"""Find terms that are broken up: by a hyphen at the end of a line, by spaces, or by other groups of digits.

`rejoin_lines` removes the hyphens at the ends of lines, so that the joined text can be searched for all terms a second
time. `CompactText` compares letters and digits only, also those that a scanner confuses.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .matcher import FUZZY, Match
from .normalise import Normalised, classify, code_points, normal_form
from .terms import LocalEntry

NUMBER_GAP = 3
"""Maximal number of characters of the note between two digits."""

_BREAK = re.compile(r"(?<=[^\W_])[-\u00ad\u2010\u2011\u00ac][ \t\r]*\n[ \t>|]*(?=[^\W_])")
_SHORTEST_SPLIT = 6  # letters and digits; shorter sequences occur by chance
_SHORTEST_NUMBER = 5
_SHORTEST_DATE = 8
_GAP = 8  # maximal number of characters of the note between two letters
_DIGITS = str.maketrans("oilszbgq", "01152899")  # letters that a scanner confuses with digits
_NUMBERS = frozenset(
    "PHONE FAX SSN NATIONAL_ID MRN ENCOUNTER_ID INSURANCE_ID HEALTH_PLAN ACCOUNT LICENSE EMPLOYEE_ID VEHICLE DEVICE "
    "BIOMETRIC ID_OTHER".split()
)


class Rejoined(NamedTuple):
    """A text without the hyphens at the ends of its lines.

    text (str): the text with n characters.
    origin (NDArray): the offset of each character in the original text. Shape (n,).
    breaks (NDArray): the offsets in the joined text where a hyphen was removed. Shape (k,).
    """

    text: str
    origin: NDArray[np.int64]
    breaks: NDArray[np.int64]

    def restore(self, matches: Iterable[Match]) -> list[Match]:
        """Map the matches that were broken to the original text, and mark their rules with `FUZZY`.

        matches (Iterable[Match]): matches in the joined text.
        RETURNS (list[Match]): the matches that contain a removed hyphen; the others are in the original as well.
        """
        found = []
        for match in matches:
            at = int(np.searchsorted(self.breaks, match.start, side="right"))
            if at < len(self.breaks) and self.breaks[at] < match.end:
                start, end = int(self.origin[match.start]), int(self.origin[match.end - 1]) + 1
                found.append(Match(start, end, match.label, match.rule.removesuffix(FUZZY) + FUZZY))
        return found


def rejoin_lines(text: str) -> Rejoined | None:
    """Remove the hyphens that break words at the ends of lines, and the line breaks after them.

    text (str): a note.
    RETURNS (Rejoined | None): the joined text; None if no word is broken.
    """
    spans = [found.span() for found in _BREAK.finditer(text)]
    if not spans:
        return None
    kept = np.ones(len(text), dtype=bool)
    for start, end in spans:
        kept[start:end] = False
    origin = np.flatnonzero(kept)
    starts = np.array([start for start, _ in spans])
    return Rejoined(_BREAK.sub("", text), origin, np.searchsorted(origin, starts))


class CompactTerm(NamedTuple):
    """A term reduced to its letters and digits, to find it where it is broken up.

    letters (str): letters and digits of the term, normalised.
    tags (Sequence[tuple[str, str]]): (label, rule) of each dictionary entry with this term.
    """

    letters: str
    tags: Sequence[tuple[str, str]]

    def __repr__(self) -> str:
        """Show the labels and rules without the term."""
        return f"CompactTerm(letters=…, tags={self.tags!r})"


def compact_terms(entries: Iterable[LocalEntry], kept: Callable[[str, str], bool] | None = None) -> list[CompactTerm]:
    """Reduce terms to letters and digits.

    entries (Iterable[LocalEntry]): entries of a patient; those with a condition are left out.
    kept (Callable): takes a label and the letters and digits of a term, and returns whether to keep the term; None to
        keep those with at least 6 letters and digits.
    RETURNS (list[CompactTerm]): the distinct terms.
    """
    kept = kept or (lambda label, letters: len(letters) >= _SHORTEST_SPLIT)
    terms: dict[str, dict[tuple[str, str], None]] = {}
    for entry in entries:
        letters = "" if entry.condition else "".join(filter(str.isalnum, normal_form(entry.term)))
        if letters and kept(entry.label, letters):
            terms.setdefault(letters, {})[entry.label, entry.rule] = None
    return [CompactTerm(letters, list(tags)) for letters, tags in terms.items()]


def number_terms(entries: Iterable[LocalEntry]) -> list[CompactTerm]:
    """Reduce the numbers that may be written in other groups to letters and digits.

    entries (Iterable[LocalEntry]): entries of a patient.
    RETURNS (list[CompactTerm]): the distinct numbers.
    """
    return compact_terms(entries, _is_number)


def scanned_terms(terms: Iterable[CompactTerm]) -> list[CompactTerm]:
    """Write the letters of terms that a scanner confuses with digits as digits; short terms are left out.

    terms (Iterable[CompactTerm]): terms.
    RETURNS (list[CompactTerm]): terms for a `CompactText` with `scanned`.
    """
    kept = (term for term in terms if len(term.letters) >= _SHORTEST_SPLIT)
    return [CompactTerm(term.letters.translate(_DIGITS), term.tags) for term in kept]


def _is_number(label: str, letters: str) -> bool:
    """Return whether a term is a number that may be written in other groups."""
    if label == "DATE":
        return letters.isdigit() and len(letters) >= _SHORTEST_DATE
    long = len(letters) >= _SHORTEST_NUMBER
    return label in _NUMBERS and long and 2 * sum(char.isdigit() for char in letters) >= len(letters)


class CompactText:
    """A text reduced to its letters and digits, to find terms that are broken up. A match must start and end at word
    edges, and must not contain a wide gap.

    folded (Normalised): the normalised text.
    gap (int): maximal number of characters between two letters; by default a line break with indentation.
    scanned (bool): whether letters that a scanner confuses with digits count as digits.
    """

    def __init__(self, folded: Normalised, gap: int = _GAP, *, scanned: bool = False) -> None:
        self._folded = folded
        codes = code_points(folded.text)
        self._places = np.flatnonzero(classify(codes))
        self._text = codes.take(self._places).tobytes().decode("utf-32-le", "surrogatepass")
        if scanned:
            self._text = self._text.translate(_DIGITS)
        # Indices of letters that are followed by a wide gap.
        self._wide = np.flatnonzero(np.diff(folded.origin.take(self._places)) > gap + 1)

    def find(self, terms: Iterable[CompactTerm]) -> list[Match]:
        """Find terms by comparing letters and digits only.

        terms (Iterable[CompactTerm]): terms of one patient.
        RETURNS (list[Match]): the matches, including terms that are not broken up.
        """
        stretches = [(start, len(term.letters), term) for term in terms for start in self._starts(term.letters)]
        if not stretches:
            return []
        starts, lengths = np.array([stretch[:2] for stretch in stretches]).T
        ends = starts + lengths
        first, last = self._places.take(starts), self._places.take(ends - 1) + 1
        # A match starts and ends at word edges and contains no wide gap.
        held = self._folded.edges.take(first) & self._folded.edges.take(last)
        held &= np.searchsorted(self._wide, starts) == np.searchsorted(self._wide, ends - 1)
        kept = np.flatnonzero(held)
        spans = zip(kept.tolist(), *self._folded.original(first.take(kept), last.take(kept)), strict=True)
        return [Match(start, end, label, rule) for i, start, end in spans for label, rule in stretches[i][2].tags]

    def _starts(self, letters: str) -> Iterator[int]:
        """Yield all positions of a string among the letters and digits, overlapping ones included."""
        start = self._text.find(letters)
        while start >= 0:
            yield start
            start = self._text.find(letters, start + 1)
