"""What a kind of identifiers is: what in its codes may vary, and what follows from the rest."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .chance import Parts

__all__ = ["DIGITS", "LETTERS", "Kind", "numbered", "plain_parts", "spread"]

DIGITS = "0123456789"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CONSONANTS = "BCDFGHJKLMNPQRSTVWXZ"
_SILENT = re.compile(f"[{CONSONANTS}]{{3,}}")

Finish = Callable[[str], str | None]


def _as_it_is(code: str) -> str:
    return code


class Kind(NamedTuple):
    """A kind of identifiers.

    name (str): of the kind; part of the context of draws.
    pattern (str): regular expression of its codes.
    parts (Callable[[str], Parts]): what may stand in each part of a code.
    finish (Callable): puts the check digits in; None for a code that is never given. A code with other check digits is
        not of the kind.
    labels (frozenset[str]): labels of mentions that may be of the kind; empty: all.
    langs (frozenset[str]): languages of notes that have the kind; empty: all.
    text (str): regular expression of what it looks like with its separators; "" for anything.
    drawn (bool): whether surrogates are drawn from what `parts` names, because originals are not among them.
    """

    name: str
    pattern: str
    parts: Callable[[str], Parts]
    finish: Finish = _as_it_is
    labels: frozenset[str] = frozenset()
    langs: frozenset[str] = frozenset()
    text: str = ""
    drawn: bool = False

    def fits(self, code: str, text: str, label: str, lang: str) -> bool:
        """Whether a code is of this kind.

        code (str): letters and digits.
        text (str): the mention.
        label (str): canonical label.
        lang (str): ISO 639-1 code.
        """
        return bool(
            re.fullmatch(self.pattern, code)
            and (not self.labels or label in self.labels)
            and (not self.langs or lang in self.langs)
            and re.search(self.text, text)
            and self.finish(code) == code
        )


def spread(pattern: str) -> Parts:
    """The parts of a pattern: "#" is any digit, "@" any letter, everything else stays."""
    return [{"#": DIGITS, "@": LETTERS}.get(char, char) for char in pattern]


def numbered(first: int, last: int, width: int) -> Sequence[str]:
    """The numbers of a range, with leading zeros."""
    return [f"{number:0{width}}" for number in range(first, last + 1)]


def plain_parts(code: str) -> Parts:
    """What may stand in a code of no known kind: letters for letters, digits for digits.

    Leading zeros stay, and the first digit behind them is none: numbers that count keep their length that way. Three
    consonants or more in a row stay consonants, as no surrogate may be read as a word.
    """
    parts: list[str] = [DIGITS if char in DIGITS else LETTERS for char in code]
    for run in _SILENT.finditer(code):
        parts[run.start() : run.end()] = [CONSONANTS] * len(run[0])
    for i, char in enumerate(code):
        if char in DIGITS:
            parts[i] = "0" if char == "0" else DIGITS[1:]
            if char != "0":
                break
    return parts if any(len(options) > 1 for options in parts) else spread("#" * len(code))
