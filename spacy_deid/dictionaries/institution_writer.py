"""Writes the files of an `Institution`: sorted runs of hashes that are merged, so that memory is bounded."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .entries import Tag, Tags
from .hashing import Hashes, Words
from .normalise import code_points

__all__ = ["CONTINUES", "FIRST", "RUN", "SET", "InstitutionWriter", "Marks", "map_file"]

Marks = NDArray[np.uint32]
Number = TypeVar("Number", bound=np.generic)

CONTINUES = np.uint32(1 << 31)
"""Terms go on from this node."""

FIRST = np.uint32(1 << 30)
"""It is the first word of a term."""

SET = np.uint32((1 << 30) - 1)
"""Number of the set of tags of the term that ends here; 0 if none does."""

RUN = 4_000_000
"""Nodes that are held before they are sorted and written: 100 MB."""

_BATCH = 20_000  # terms that are hashed together
_PARTS = 64  # pieces that sorted runs are merged in


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
        if self._held >= RUN:
            self._spill()

    def finish(self) -> list[tuple[Tag, ...]]:
        """Write the files. RETURNS (list): sets of tags by number."""
        self._hash()
        self._spill()
        sets: dict[tuple[int, ...], int] = {(): 0} | {(i,): i for i in range(1, len(self._tags.known) + 1)}
        with open(self._folder / "keys", "wb") as keys, open(self._folder / "values", "wb") as values:
            for some_keys, some_values in self._merge(sets):
                self.terms += int(np.count_nonzero(some_values & SET))
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
        firsts = keys[(values & FIRST) != 0]
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
    marks = np.full(len(ends), CONTINUES, dtype=np.uint32)
    last = ends == lasts.take(owners)
    marks[last] = np.array(numbers, dtype=np.uint32).take(owners[last])
    keys = words.hash(starts.take(owners), ends)
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    return np.concatenate((keys, keys.take(first))), np.append(marks, np.full(len(first), FIRST))


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
    is_tag = marks < FIRST
    flags = np.bitwise_or.reduceat(np.where(is_tag, np.uint32(0), marks), begins)
    counts = np.add.reduceat(is_tag.astype(np.int64), begins)
    numbers = marks.take(begins)  # tags sort before the flags
    numbers[counts == 0] = 0
    for i in np.flatnonzero(counts > 1).tolist():
        several = tuple(marks[begins[i] : begins[i] + counts[i]].tolist())
        numbers[i] = sets.setdefault(several, len(sets))
    return keys.take(begins), flags | numbers
