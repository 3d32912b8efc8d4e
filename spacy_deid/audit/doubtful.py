"""Names that are words as well, such as "May" and "Iglesias", where no context says that they are names.

A de-identifier must not redact every "may". An audit can count them: it looks at those with a capital that is not that
of a sentence, and what is no name among them is chance, which is taken off.
"""

from collections.abc import Iterable

from ..dictionaries.entries import LocalEntry, Tag
from ..dictionaries.matcher import Match
from ..dictionaries.normalise import Normalised
from ..dictionaries.patients import PatientTerms

__all__ = ["Doubtful"]

_SHORTEST = 3  # letters; initials are everywhere
_STARTS = frozenset(".!?\n\r-–—*•>")  # what stands before the first word of a sentence, a line or an item


class Doubtful:
    """The names of one patient that count only in a name's context.

    entries (Iterable[LocalEntry]): all entries of the patient.
    """

    def __init__(self, entries: Iterable[LocalEntry]) -> None:
        words = [e for e in entries if e.condition and len(e.term) >= _SHORTEST and e.term.isalpha()]
        self._terms = PatientTerms((entry.term, Tag(entry.label, entry.rule, "")) for entry in words)

    def find(self, text: str, folded: Normalised) -> list[Match]:
        """Find the names that are written with a capital, but not at the start of a sentence.

        text (str): the original.
        folded (Normalised): the same text, folded.
        RETURNS (list[Match]): those with a context among them.
        """
        return [match for match in self._terms.find(text, folded) if _is_marked(text, match.start)]


def _is_marked(text: str, start: int) -> bool:
    """Whether a word has a capital that its place does not explain."""
    if not text[start].isupper():
        return False
    while start and text[start - 1] in " \t\xa0":
        start -= 1
    return start > 0 and text[start - 1] not in _STARTS
