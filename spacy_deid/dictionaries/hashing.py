"""Hashes of every stretch of a text at the cost of a subtraction and a product each.

A stretch of code points c₀ … cₖ has the hash Σ v(cᵢ)·Bⁱ mod 2⁶⁴ (Karp and Rabin 1987), where v is a fixed random
64-bit number of each code point. It is the difference of two sums from the beginning of the text, times a power of
1/B; B is odd, so the power exists. B ≡ 5 (mod 8), so that a transposition, Bⁱ − Bʲ, keeps all but a few random bits.

A hash is no secret: whoever knows a name can make its hash and look for it.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from .normalise import classify

__all__ = ["Hashes", "Words", "find_words", "hash_text"]

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_CODES = 0x110000
_KEPT = 1 << 17  # powers that are kept between texts; a longer text makes its own

_POWERS: dict[int, Hashes] = {}


class Words:
    """Where words of a folded text start and end, and the hash of every stretch between.

    starts (NDArray): characters that a term may start at, in order.
    ends (NDArray): characters that a term, or a part of it, may end before, in order.
    hard (NDArray): whether each end is an edge whatever the case: "McDonald" has a soft edge after "Mc" that
        "MCDONALD" has not. Terms are cut at hard edges alone.
    """

    def __init__(self, codes: NDArray[np.uint32], edges: NDArray[np.bool_] | None = None) -> None:
        hard, inner = find_words(codes)
        known = hard if edges is None else edges
        self.sums = hash_text(codes)
        self.starts = np.flatnonzero(known[:-1] & inner)
        self.ends = np.flatnonzero((known | hard)[1:] & inner) + 1
        self.hard = hard.take(self.ends)
        self._inverse = _powers(_INVERSE, len(codes) + 1)

    def hash(self, starts: Integers, ends: Integers) -> Hashes:
        """The hashes of stretches.

        starts, ends (NDArray): characters, end exclusive. Shape (k,).
        RETURNS (NDArray): Shape (k,), uint64.
        """
        return (self.sums.take(ends) - self.sums.take(starts)) * self._inverse.take(starts)


def find_words(codes: NDArray[np.uint32]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find the edges that the folded characters alone show: beside a mark, and between letters and digits.

    codes (NDArray): folded code points. Shape (n,).
    RETURNS (tuple[NDArray, NDArray]): whether there is an edge before each character and at the end, shape (n + 1,);
        whether each character is not a space, shape (n,).
    """
    kinds = classify(codes)
    edges = np.ones(len(codes) + 1, dtype=bool)
    edges[1:-1] = (kinds[1:] != kinds[:-1]) | (kinds[1:] == 0)
    return edges, codes != ord(" ")


def hash_text(codes: NDArray[np.uint32]) -> Hashes:
    """Sum v(cᵢ)·Bⁱ from the beginning to each character.

    codes (NDArray): code points. Shape (n,).
    RETURNS (NDArray): Shape (n + 1,), uint64; the first is 0.
    """
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum(_values().take(codes) * _powers(_BASE, len(codes)), out=sums[1:])
    return sums


@cache
def _values() -> Hashes:
    """A random number of each code point: the finalizer of splitmix64 (Steele, Lea and Flood 2014)."""
    x = np.arange(1, _CODES + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _powers(base: int, count: int) -> Hashes:
    """The first powers of a number, from 1."""
    powers = _POWERS.get(base)
    if powers is None or len(powers) < count:
        size = max(count, _KEPT)
        powers = np.full(size, base, dtype=np.uint64)
        powers[0] = 1
        powers = np.multiply.accumulate(powers)
        if size == _KEPT:
            _POWERS[base] = powers
    return powers[:count]
