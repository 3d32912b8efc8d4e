"""The institution dictionary: millions of terms in a file that is mapped into memory and never read as a whole.

The terms are a tree whose edges are words: "ana maria ruiz" is a node after "ana" and "ana maria". A node is nothing
but the 64-bit hash of the stretch of text that leads to it, with the tags of the term that ends there. The hashes lie
sorted in a file, an index tells where those with the same leading bits begin, and a table with a byte for each hash of
a first word, which fits into the processor's cache, turns most of a note's words away.

A note is searched for all its words at once: which may begin a term, and how far do terms go on from these? Few words
are left after the first question.

An Aho-Corasick automaton over the same terms, as `TermMatcher` has it, must be read and built before the first note,
and each process has its own. The file is there at once, is shared by all processes, and has no name in it.
`benchmarks/dictionaries.py` measures both. Two stretches with the same hash are taken for one: among five million
nodes, one false hit is to be expected in some 10¹² words.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .conditions import Flags, settle
from .entries import Tag
from .hashing import Hashes, Integers, Words
from .institution_writer import CONTINUES, FIRST, RUN, SET, Marks, map_file
from .matcher import Match
from .normalise import Normalised, code_points, normalise

__all__ = ["Institution"]

_AHEAD = np.arange(6)  # stretches that are looked up at once
_PROBES = np.arange(4)  # nodes of a bucket that are compared at once


class Institution:
    """The terms of a file.

    folder (Path): where the files are.
    sets (Sequence): sets of tags by number.
    """

    def __init__(self, folder: Path, sets: Sequence[tuple[Tag, ...]]) -> None:
        self._sets = sets
        self._keys = map_file(folder / "keys", np.uint64)
        self._values = map_file(folder / "values", np.uint32)
        self._index = map_file(folder / "index", np.uint32)
        self._first = map_file(folder / "first", np.bool_)
        self._shift = np.uint64(64 - (len(self._index) - 1).bit_length() + 1)
        self._first_shift = np.uint64(64 - len(self._first).bit_length() + 1)
        self._flags = Flags.of(sets)

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._keys)

    def find(self, text: str, folded: Normalised | None = None) -> list[Match]:
        """Find the terms of a text. Of matches that lie within one another the longest stays; others may overlap.

        text (str): the original.
        folded (Normalised): the same text, folded, if it is at hand.
        RETURNS (list[Match]): in the order of the text; a term with several tags is there once for each.
        """
        if not text or not len(self):
            return []
        folded = folded or normalise(text)
        starts, ends, values = self._find(folded)
        tags = [self._sets[i] for i in values.tolist()]
        return settle(text, folded, starts, ends, tags, self._flags.take(values), own=False)

    def _find(self, folded: Normalised) -> tuple[Integers, Integers, Marks]:
        """Starts, ends and sets of all terms that stand at word edges of a folded text.

        Few words begin a term. From these the stretches of one word, of two and so on are looked up all at once, and
        each start is followed for as long as terms go on from there; the few that reach the last of these stretches
        are looked up again from there.
        """
        words = Words(code_points(folded.text), folded.edges)
        starts = words.starts
        steps = np.searchsorted(words.ends, starts, side="right")
        at = np.flatnonzero(self._may_begin(words.hash(starts, words.ends.take(steps))) | ~words.hard.take(steps))
        starts, steps = starts.take(at), steps.take(at)
        found: list[tuple[Integers, Integers, Marks]] = []
        while len(starts):
            places = steps[:, None] + _AHEAD
            inside = places < len(words.ends)
            ends = words.ends.take(places, mode="clip")
            values = self._look_up(words.hash(np.repeat(starts, len(_AHEAD)), ends.ravel())).reshape(ends.shape)
            # Past a soft edge a term may go on though no node ends there: "Mc|Donald".
            soft = ~words.hard.take(places, mode="clip") & (ends - starts[:, None] < 256)
            on = np.logical_and.accumulate((((values & CONTINUES) != 0) | soft) & inside, axis=1)
            reached = inside.copy()
            reached[:, 1:] &= on[:, :-1]
            row, column = np.nonzero(reached & ((values & SET) != 0) & folded.edges.take(ends))
            found.append((starts.take(row), ends[row, column], values[row, column] & SET))
            far = np.flatnonzero(on[:, -1])
            starts, steps = starts.take(far), steps.take(far) + len(_AHEAD)
            starts, steps = starts[steps < len(words.ends)], steps[steps < len(words.ends)]
        return _join(found)

    def _may_begin(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Whether words may be the first of a term; a few that are none pass."""
        return self._first.take((hashes >> self._first_shift).astype(np.int64))

    def _look_up(self, hashes: Hashes) -> Marks:
        """The values of nodes, 0 for hashes that are none."""
        buckets = (hashes >> self._shift).astype(np.int64)
        places = self._index.take(buckets).astype(np.int64)
        sizes = self._index.take(buckets + 1).astype(np.int64) - places
        values = self._compare(hashes, places, sizes)
        left = np.flatnonzero((sizes > len(_PROBES)) & (values == 0))
        while len(left):  # one bucket in some hundred
            places[left] += len(_PROBES)
            sizes[left] -= len(_PROBES)
            values[left] = self._compare(hashes.take(left), places.take(left), sizes.take(left))
            left = left[(sizes.take(left) > len(_PROBES)) & (values.take(left) == 0)]
        return values

    def _compare(self, hashes: Hashes, places: Integers, sizes: Integers) -> Marks:
        """The values of the nodes among the first few at some places that have some hashes; 0 where there is none."""
        probes = places[:, None] + _PROBES
        row, column = np.nonzero(
            (self._keys.take(probes, mode="clip") == hashes[:, None]) & (sizes[:, None] > _PROBES)
        )
        values = np.zeros(len(hashes), dtype=np.uint32)
        values[row] = self._values.take(probes[row, column])
        return values

    def rows(self) -> Iterator[tuple[Hashes, Marks]]:
        """Yield hashes and marks of the nodes, each tag of a term as a row of its own, as a writer takes them."""
        numbers = {tag: i for i, (tag,) in enumerate((tags for tags in self._sets if len(tags) == 1), 1)}
        several = [[numbers[tag] for tag in tags] for tags in self._sets]
        for start in range(0, len(self._keys), RUN):
            keys, values = self._keys[start : start + RUN], self._values[start : start + RUN]
            sets = values & SET
            for flag in (CONTINUES, FIRST):
                at = np.flatnonzero(values & flag)
                yield keys.take(at), np.full(len(at), flag, dtype=np.uint32)
            at = np.flatnonzero(sets)
            counts = np.array([len(tags) for tags in several], dtype=np.int64).take(sets.take(at))
            tags = np.array([tag for i in sets.take(at).tolist() for tag in several[i]], dtype=np.uint32)
            yield keys.take(np.repeat(at, counts)), tags


def _join(found: list[tuple[Integers, Integers, Marks]]) -> tuple[Integers, Integers, Marks]:
    """Join what the steps found."""
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint32)
    starts, ends, values = zip(*found, strict=True)
    return np.concatenate(starts), np.concatenate(ends), np.concatenate(values)
