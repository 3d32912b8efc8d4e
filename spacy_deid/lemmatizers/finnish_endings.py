"""Endings of Finnish words, and the stem that each stands on."""

from collections.abc import Iterator
from types import MappingProxyType

__all__ = ["split_clitic", "split_endings"]

_WEAK = "ssa ssä sta stä lla llä lta ltä".split()
_PERSONS = "ni si mme nne nsa nsä".split()
_CLITICS = tuple("kinko kinkö kohan köhän kin kaan kään ko kö han hän pa pä".split())
_LEAST = 2  # letters of a stem


def _endings() -> Iterator[tuple[str, str]]:
    """(ending, stem that it stands on). A possessive suffix stands on the strong stem or behind a case."""
    for ending in ("n", "t", "ksi", "lle", "tta", "ttä", *_WEAK):
        yield ending, "weak"
    for ending in ("na", "nä", *_PERSONS):
        yield ending, "strong"
    for person in _PERSONS:
        yield from ((case + person, "weak") for case in ("lle", "kse", *_WEAK))
        yield from ((case + person, "strong") for case in ("na", "nä"))
    yield from ((case + case[-1] + "n", "weak") for case in _WEAK)
    yield from (("lleen", "weak"), ("kseen", "weak"), ("naan", "strong"), ("nään", "strong"))


_SLOTS = MappingProxyType(dict(_endings()))
_LENGTHS = tuple(sorted({len(ending) for ending in _SLOTS}))


def split_endings(word: str) -> list[tuple[str, str]]:
    """Take off every ending that a word may have.

    word (str): lower case.
    RETURNS (list[tuple[str, str]]): (slot, stem); the word itself as "whole" is the first.
    """
    found = [("whole", word)]
    most = len(word) - _LEAST
    for length in _LENGTHS:
        if length > most:
            break
        slot = _SLOTS.get(word[-length:])
        if slot:
            found.append((slot, word[:-length]))
    return found


def split_clitic(word: str) -> str | None:
    """Take a clitic off: "virtanenkin", "juhako", "annelihan".

    word (str): lower case.
    RETURNS (Optional[str]): the word without it; None if there is none.
    """
    for clitic in _CLITICS:
        if word.endswith(clitic) and len(word) - len(clitic) > _LEAST:
            return word[: -len(clitic)]
    return None
