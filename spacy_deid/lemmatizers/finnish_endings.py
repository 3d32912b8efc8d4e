"""Endings of Finnish words, and the stem that each stands on."""

from collections.abc import Iterator
from math import log
from types import MappingProxyType

__all__ = ["CLITIC", "NOMINATIVE", "OTHER_FORM", "split_clitic", "split_endings"]

_LOCAL = "ssa ssä sta stä lla llä lta ltä".split()
_PERSONS = "ni si mme nne nsa nsä".split()
_CLITICS = tuple("kinko kinkö kohan köhän kin kaan kään ko kö han hän pa pä".split())
_LEAST = 2  # letters of a stem
# How often names stand in a case: rough shares of the proper nouns of running text, in nats.
_SHARES = {"n": 0.25, "lle": 0.04, "t": 0.01, "ksi": 0.005, "tta": 0.002, "ttä": 0.002, "na": 0.01, "nä": 0.01}
_SHARES |= dict.fromkeys(_LOCAL, 0.03)
_POSSESSED = 0.002
NOMINATIVE, OTHER_FORM, CLITIC = log(0.3), log(0.05), log(0.01)
"""The same for a word as it stands, for a partitive or illative, and what a clitic adds."""


def _endings() -> Iterator[tuple[str, str, float]]:
    """(ending, stem that it stands on, share). A possessive suffix stands on the strong stem or behind a case."""
    yield from ((ending, "strong" if ending in ("na", "nä") else "weak", share) for ending, share in _SHARES.items())
    for person in _PERSONS:
        yield person, "strong", _POSSESSED
        yield from ((case + person, "weak", _POSSESSED / 10) for case in ("lle", "kse", *_LOCAL))
        yield from ((case + person, "strong", _POSSESSED / 10) for case in ("na", "nä"))
    yield from ((case + case[-1] + "n", "weak", _POSSESSED / 10) for case in (*_LOCAL, "lle", "kse"))
    yield from ((case + case[-1] + "n", "strong", _POSSESSED / 10) for case in ("na", "nä"))


_SLOTS = MappingProxyType({ending: (slot, log(share)) for ending, slot, share in _endings()})
_LENGTHS = tuple(sorted({len(ending) for ending in _SLOTS}))


def split_endings(word: str) -> list[tuple[str, str, float]]:
    """Take off every ending that a word may have.

    word (str): lower case.
    RETURNS (list[tuple[str, str, float]]): (slot, stem, log share of the case); the word itself as "whole" is the
        first.
    """
    found = [("whole", word, OTHER_FORM)]
    most = len(word) - _LEAST
    for length in _LENGTHS:
        if length > most:
            break
        known = _SLOTS.get(word[-length:])
        if known:
            found.append((known[0], word[:-length], known[1]))
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
