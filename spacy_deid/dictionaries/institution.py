"""The institution dictionary: millions of terms in a file that is mapped into memory and never read as a whole.

The terms are a tree whose edges are words: "ana maria ruiz" is a node after "ana" and "ana maria". A node is nothing
but the 64-bit hash of the stretch of text that leads to it, with the tags of the term that ends there. The hashes lie
sorted in a file, an index tells where those with the same leading bits begin, and a table with a byte for each hash of
a first word, which fits into the processor's cache, turns most of a note's words away.

A note is searched in steps, for all its words at once: does a term begin with this word, with these two, … Few words
are left after the first step.

An Aho-Corasick automaton over the same terms, as `TermMatcher` has it, is as fast; but it must be read and built
before the first note, for as long as ten seconds a million terms, and each process has its own of 300 MB a million.
The file is there at once, is shared by all processes, and has no name in it. `benchmarks/dictionaries.py` measures
both. Two stretches with the same hash are taken for one: among five million nodes, one false hit is to be expected in
some 10¹² words.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .conditions import settle
from .entries import Tag, Tags
from .hashing import Hashes, Integers, Words
from .matcher import Match
from .normalise import Normalised, code_points, normalise

__all__ = ["Institution", "InstitutionWriter"]

Marks = NDArray[np.uint32]
Number = TypeVar("Number", bound=np.generic)

_CONTINUES = np.uint32(1 << 31)  # terms go on from this node
_FIRST = np.uint32(1 << 30)  # it is the first word of a term
_SET = np.uint32((1 << 30) - 1)  # number of the set of tags of the term that ends here; 0 if none does

_BATCH = 20_000  # terms that are hashed together
_RUN = 4_000_000  # nodes that are held before they are sorted and written: 100 MB
_PARTS = 64  # pieces that sorted runs are merged in


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
        return settle(text, folded, starts, ends, [self._sets[i] for i in values.tolist()], own=False)

    def _find(self, folded: Normalised) -> tuple[Integers, Integers, Marks]:
        """Starts, ends and sets of all terms that stand at word edges of a folded text."""
        words = Words(code_points(folded.text), folded.edges)
        starts = words.starts
        steps = np.searchsorted(words.ends, starts, side="right")
        found: list[tuple[Integers, Integers, Marks]] = []
        step = 0
        while len(starts):
            ends = words.ends.take(steps)
            hashes = words.hash(starts, ends)
            values = self._look_up(hashes) if step else self._look_up_first(hashes)
            hit = np.flatnonzero(((values & _SET) != 0) & folded.edges.take(ends))
            found.append((starts.take(hit), ends.take(hit), values.take(hit) & _SET))
            # Past a soft edge a term may go on though no node ends there: "Mc|Donald".
            on = ((values & _CONTINUES) != 0) | (~words.hard.take(steps) & (ends - starts < 256))
            on[steps + 1 >= len(words.ends)] = False
            starts, steps = starts[on], steps[on] + 1
            step += 1
        return _join(found)

    def _look_up_first(self, hashes: Hashes) -> Marks:
        """The values of first words, 0 for those that are none."""
        values = np.zeros(len(hashes), dtype=np.uint32)
        at = np.flatnonzero(self._first.take((hashes >> self._first_shift).astype(np.int64)))
        values[at] = self._look_up(hashes.take(at))
        return values

    def _look_up(self, hashes: Hashes) -> Marks:
        """The values of nodes, 0 for hashes that are none."""
        values = np.zeros(len(hashes), dtype=np.uint32)
        buckets = (hashes >> self._shift).astype(np.int64)
        places = self._index.take(buckets).astype(np.int64)
        ends = self._index.take(buckets + 1).astype(np.int64)
        left = np.flatnonzero(places < ends)
        while len(left):
            here = places.take(left)
            same = self._keys.take(here) == hashes.take(left)
            values[left[same]] = self._values.take(here[same])
            places[left] += 1
            left = left[~same & (here + 1 < ends.take(left))]
        return values

    def rows(self) -> Iterator[tuple[Hashes, Marks]]:
        """Yield hashes and marks of the nodes, each tag of a term as a row of its own, as a writer takes them."""
        numbers = {tag: i for i, (tag,) in enumerate((tags for tags in self._sets if len(tags) == 1), 1)}
        several = [[numbers[tag] for tag in tags] for tags in self._sets]
        for start in range(0, len(self._keys), _RUN):
            keys, values = self._keys[start : start + _RUN], self._values[start : start + _RUN]
            sets = values & _SET
            for flag in (_CONTINUES, _FIRST):
                at = np.flatnonzero(values & flag)
                yield keys.take(at), np.full(len(at), flag, dtype=np.uint32)
            at = np.flatnonzero(sets)
            counts = np.array([len(tags) for tags in several], dtype=np.int64).take(sets.take(at))
            tags = np.array([tag for i in sets.take(at).tolist() for tag in several[i]], dtype=np.uint32)
            yield keys.take(np.repeat(at, counts)), tags


class InstitutionWriter:
    """Writes the files of an `Institution` from a stream, in bounded memory.

    folder (Path): an empty folder.
    tags (Tags): the tags of the dictionary.
    """

    def __init__(self, folder: Path, tags: Tags) -> None:
        self._folder = folder
        self._tags = tags
        self._terms: list[str] = []
        self._numbers: list[int] = []
        self._pending: list[tuple[Hashes, Marks]] = []
        self._runs: list[Path] = []
        self._held = 0
        self.terms = 0

    def add(self, term: str, number: int) -> None:
        """Add the normal form of a term with the number of its tag."""
        self._terms.append(term)
        self._numbers.append(number)
        if len(self._terms) == _BATCH:
            self._hash()

    def add_rows(self, keys: Hashes, marks: Marks) -> None:
        """Add nodes."""
        self._pending.append((keys, marks))
        self._held += len(keys)
        if self._held >= _RUN:
            self._spill()

    def finish(self) -> list[tuple[Tag, ...]]:
        """Write the files. RETURNS (list): sets of tags by number."""
        self._hash()
        self._spill()
        sets: dict[tuple[int, ...], int] = {(): 0} | {(i,): i for i in range(1, len(self._tags.known) + 1)}
        with open(self._folder / "keys", "wb") as keys, open(self._folder / "values", "wb") as values:
            for some_keys, some_values in self._merge(sets):
                self.terms += int(np.count_nonzero(some_values & _SET))
                keys.write(some_keys.tobytes())
                values.write(some_values.tobytes())
        for run in self._runs:
            run.unlink()
        self._write_index()
        return [tuple(self._tags.known[number - 1] for number in numbers) for numbers in sets]

    def _hash(self) -> None:
        """Turn the terms that wait into nodes."""
        if self._terms:
            self.add_rows(*_make_nodes(self._terms, self._numbers))
            self._terms, self._numbers = [], []

    def _spill(self) -> None:
        """Write the nodes that are held as a sorted run: the hashes, and then the marks."""
        if self._held:
            keys, marks = _sort_rows(self._pending)
            path = self._folder / f"run-{len(self._runs)}"
            path.write_bytes(keys.tobytes() + marks.tobytes())
            self._runs.append(path)
        self._pending, self._held = [], 0

    def _merge(self, sets: dict[tuple[int, ...], int]) -> Iterator[tuple[Hashes, Marks]]:
        """Yield hashes and values in order, a piece of the range of hashes at a time."""
        runs = []
        for path in self._runs:
            data = np.memmap(path, dtype=np.uint32, mode="r")
            count = len(data) // 3
            runs.append((np.asarray(data[: 2 * count]).view(np.uint64), np.asarray(data[2 * count :])))
        bounds = np.arange(1, _PARTS, dtype=np.uint64) * np.uint64((1 << 64) // _PARTS)
        cuts = [[0, *np.searchsorted(keys, bounds).tolist(), len(keys)] for keys, _ in runs]
        for part in range(_PARTS):
            pieces = [
                (keys[cut[part] : cut[part + 1]], marks[cut[part] : cut[part + 1]])
                for (keys, marks), cut in zip(runs, cuts, strict=True)
            ]
            yield _unite(*_sort_rows(pieces), sets)

    def _write_index(self) -> None:
        """Write where the hashes with the same leading bits begin, and which hashes are of first words."""
        keys, values = map_file(self._folder / "keys", np.uint64), map_file(self._folder / "values", np.uint32)
        bits = max(len(keys).bit_length(), 1)
        bounds = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
        index = np.append(np.searchsorted(keys, bounds), len(keys)).astype(np.uint32)
        (self._folder / "index").write_bytes(index.tobytes())
        firsts = keys[(values & _FIRST) != 0]
        bits = min(max(len(firsts).bit_length() + 4, 8), 23)
        table = np.zeros(1 << bits, dtype=bool)
        table[(firsts >> np.uint64(64 - bits)).astype(np.int64)] = True
        (self._folder / "first").write_bytes(table.tobytes())


def map_file(path: Path, kind: type[Number]) -> NDArray[Number]:
    """Map a file of numbers into memory, read-only."""
    if not path.stat().st_size:
        return np.zeros(0, dtype=kind)
    return np.asarray(np.memmap(path, dtype=kind, mode="r"))


def _make_nodes(terms: list[str], numbers: list[int]) -> tuple[Hashes, Marks]:
    """The nodes of terms: one at each end of a word, the last with the tag.

    A line break parts the terms: no normal form has one.
    """
    codes = code_points("\n".join(terms) + "\n")
    words = Words(codes)
    lengths = np.fromiter(map(len, terms), dtype=np.int64)
    lasts = np.cumsum(lengths + 1) - 1
    starts = lasts - lengths
    ends = words.ends[codes.take(words.ends - 1) != ord("\n")]
    owners = np.searchsorted(lasts, ends)
    marks = np.full(len(ends), _CONTINUES, dtype=np.uint32)
    last = ends == lasts.take(owners)
    marks[last] = np.array(numbers, dtype=np.uint32).take(owners[last])
    keys = words.hash(starts.take(owners), ends)
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    return np.concatenate((keys, keys.take(first))), np.append(marks, np.full(len(first), _FIRST))


def _sort_rows(pieces: Sequence[tuple[Hashes, Marks]]) -> tuple[Hashes, Marks]:
    """Sort rows by hash and mark, each once."""
    keys = np.concatenate([keys for keys, _ in pieces] or [np.zeros(0, dtype=np.uint64)])
    marks = np.concatenate([marks for _, marks in pieces] or [np.zeros(0, dtype=np.uint32)])
    order = np.lexsort((marks, keys))
    keys, marks = keys.take(order), marks.take(order)
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]) | (marks[1:] != marks[:-1])
    return keys[new], marks[new]


def _unite(keys: Hashes, marks: Marks, sets: dict[tuple[int, ...], int]) -> tuple[Hashes, Marks]:
    """Unite the rows of each hash: its flags, and the number of the set of its tags, which is new or known."""
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, dtype=np.int64)
    if not len(begins):
        return keys, marks
    is_tag = marks < _FIRST
    flags = np.bitwise_or.reduceat(np.where(is_tag, np.uint32(0), marks), begins)
    counts = np.add.reduceat(is_tag.astype(np.int64), begins)
    numbers = marks.take(begins)  # tags sort before the flags
    numbers[counts == 0] = 0
    for i in np.flatnonzero(counts > 1).tolist():
        several = tuple(marks[begins[i] : begins[i] + counts[i]].tolist())
        numbers[i] = sets.setdefault(several, len(sets))
    return keys.take(begins), flags | numbers


def _join(found: list[tuple[Integers, Integers, Marks]]) -> tuple[Integers, Integers, Marks]:
    """Join what the steps found."""
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint32)
    starts, ends, values = zip(*found, strict=True)
    return np.concatenate(starts), np.concatenate(ends), np.concatenate(values)
