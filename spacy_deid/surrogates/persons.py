"""Which mentions of a note name the same person, from the words of the names alone."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence

__all__ = ["fold", "number_mentions", "number_persons"]

_WORD = re.compile(r"\w+")
_TITLES = frozenset("d da dn dr dra doctor doctora don doña ms miss mr mrs prof sr sra srta tri lkt".split())


def fold(text: str) -> str:
    """Fold case, accents and spacing, so that two spellings of one value are equal."""
    plain = text.lower() if text.isascii() else text.translate(_PLAIN)
    return plain if plain.isalnum() else " ".join(plain.split())


class _Plain(dict[int, int | str]):
    """Each character without its accents and case, found when it is first met: whole texts take five times as long."""

    def __missing__(self, code: int) -> int | str:
        """Fold a character."""
        folded = "".join(
            c for c in unicodedata.normalize("NFKD", chr(code)) if not unicodedata.combining(c)
        ).casefold()
        self[code] = plain = ord(folded) if len(folded) == 1 else folded
        return plain


_PLAIN = _Plain()


def number_mentions(mentions: Sequence[str]) -> list[int]:
    """Number values by first appearance; the same value, folded, has the same number.

    mentions (Sequence[str]): values in the order of the text.
    RETURNS (list[int]): numbers from 1.
    """
    seen: dict[str, int] = {}
    return [seen.setdefault(fold(mention), len(seen) + 1) for mention in mentions]


def number_persons(mentions: Sequence[str]) -> list[int]:
    """Number persons by first appearance.

    A mention belongs to a fuller one that has all its words (an initial stands for a word that begins with it). Where
    several fuller names fit, as "García" fits "Ana García" and "Luis García", it is the one mentioned last before it.

    mentions (Sequence[str]): names in the order of the text.
    RETURNS (list[int]): numbers from 1.
    """
    words = [_words(mention) for mention in mentions]
    different = list(dict.fromkeys(words))
    holders = _holders(different)
    near = {w: min((holders[word] for word in w), key=len) for w in different}
    persons = {w for w in different if not any(len(w) < len(o) and _within(w, o) for o in near[w])}
    fits = {w: [o for o in near[w] if o in persons and _within(w, o)] for w in different}
    numbers: dict[frozenset[str], int] = {}
    last: dict[frozenset[str], int] = {}
    out = []
    for i, w in enumerate(words):
        person = max(fits[w], key=lambda p: last.get(p, -1))
        last[person] = i
        out.append(numbers.setdefault(person, len(numbers) + 1))
    return out


def _words(name: str) -> frozenset[str]:
    """The folded words of a name, less titles; never empty."""
    words = frozenset(_WORD.findall(fold(name)))
    return words - _TITLES or words or frozenset({fold(name)})


def _holders(names: Sequence[frozenset[str]]) -> Mapping[str, list[frozenset[str]]]:
    """Which names hold a word, or a word that begins with a letter; so that not every pair of names is compared."""
    holders: dict[str, list[frozenset[str]]] = defaultdict(list)
    for name in names:
        for key in name | {word[:1] for word in name}:
            holders[key].append(name)
    return holders


def _within(part: frozenset[str], whole: frozenset[str]) -> bool:
    """Whether every word of a name is a word of the other, or the initial of one."""
    return all(w in whole or (len(w) == 1 and any(o.startswith(w) for o in whole)) for w in part)
