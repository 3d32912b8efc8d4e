"""Store the millions of terms of an institution in a memory-mapped file, and find them in texts.

The terms form a trie whose edges are words: "ana maria ruiz" is a child of "ana maria", which is a child of "ana". A
node is stored as the 64-bit hash of the words on the path to it, with the tags (label, rule and condition) of the term
that consists of these words. The hashes are sorted in a file. An index contains, for each combination of leading bits,
the position of the first hash. A table of the hashes of first words, which fits into the processor's cache, rejects
most words of a note.

A note is searched for all its words at once: first for words that can start a term, of which there are few, then for
the terms that continue from them.

The alternative, `TermMatcher`, builds an Aho-Corasick automaton in the memory of each process before the first note.
The file needs no such preparation, is shared by all processes, and contains no names. `benchmarks/dictionaries.py`
measures both. Texts with equal hashes are not distinguished: with five million nodes, one false match is expected in
about 10¹² words.

The hash of the code points c₀ … cₖ is Σ v(cᵢ)·Bⁱ mod 2⁶⁴ (Karp and Rabin 1987), where v is a fixed random 64-bit
number per code point. The hash of any stretch of a text is the difference of two prefix sums times a power of 1/B,
which exists because B is odd. B ≡ 5 (mod 8), so that a transposition, Bⁱ − Bʲ, keeps all but a few random bits. A hash
is not secret: anyone who knows a name can compute its hash.

The file is written as sorted runs that are merged, so that memory is bounded.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .conditions import TagFlags, resolve_matches
from .matcher import Integers, Match
from .normalise import Normalised, classify, code_points, normalise
from .terms import Tag, Tags

Hashes = NDArray[np.uint64]

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_CODES = 0x110000
_KEPT = 1 << 17  # powers that are cached between texts

_POWERS: dict[int, Hashes] = {}


class WordHashes:
    """The word boundaries of a normalised text, and the hashes of any stretches of it.

    codes (NDArray): code points of the text. Shape (n,), uint32.
    edges (NDArray): whether a word can start or end before each character and at the end of the text, see
        `Normalised.edges`; None to use the hard edges. Shape (n + 1,), bool.
    starts (NDArray): offsets at which a term can start, ascending.
    ends (NDArray): exclusive end offsets of words, ascending.
    hard (NDArray): for each end, whether it is a hard edge, which does not depend on capitals. "McDonald" has a soft
        edge after "Mc" that "MCDONALD" does not have. Terms are split at hard edges only.
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
        """Compute the hashes of k stretches of the text, by which terms are looked up.

        starts, ends (NDArray): offsets of the stretches, end exclusive. Shape (k,).
        RETURNS (NDArray): the hashes. Shape (k,), uint64.
        """
        return (self.sums.take(ends) - self.sums.take(starts)) * self._inverse.take(starts)


def find_words(codes: NDArray[np.uint32]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find the word edges that do not depend on capitals: next to punctuation or a space, and between a letter and a
    digit.

    codes (NDArray): normalised code points. Shape (n,).
    RETURNS (tuple[NDArray, NDArray]): whether there is an edge before each character and at the end, shape (n + 1,);
        whether each character is not a space, shape (n,).
    """
    kinds = classify(codes)
    edges = np.ones(len(codes) + 1, dtype=bool)
    edges[1:-1] = (kinds[1:] != kinds[:-1]) | (kinds[1:] == 0)
    return edges, codes != ord(" ")


def hash_text(codes: NDArray[np.uint32]) -> Hashes:
    """Compute the prefix sums Σ v(cᵢ)·Bⁱ of a text, from which the hash of each stretch follows; see the module.

    codes (NDArray): code points of the text. Shape (n,).
    RETURNS (NDArray): the sums modulo 2⁶⁴; the first is 0. Shape (n + 1,), uint64.
    """
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum(_values().take(codes) * _powers(_BASE, len(codes)), out=sums[1:])
    return sums


@cache
def _values() -> Hashes:
    """Compute v(c), a pseudo-random number for each code point, by the finalizer of splitmix64 (Steele, Lea and Flood
    2014)."""
    x = np.arange(1, _CODES + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def value_of(codes: NDArray[np.uint32]) -> Hashes:
    """Return the numbers v(c) of code points.

    codes (NDArray): the code points. Shape (n,).
    RETURNS (NDArray): their numbers. Shape (n,), uint64.
    """
    return _values().take(codes)


def power(exponents: Integers) -> Hashes:
    """Compute powers of B modulo 2⁶⁴, by which hashes are moved to other offsets.

    exponents (NDArray): the exponents, which can be negative. Shape (k,).
    RETURNS (NDArray): the powers. Shape (k,), uint64.
    """
    last = int(np.abs(exponents).max(initial=0)) + 1
    forward, back = _powers(_BASE, last), _powers(_INVERSE, last)
    return np.where(exponents < 0, back.take(np.abs(exponents)), forward.take(np.abs(exponents)))


def _powers(base: int, count: int) -> Hashes:
    """Compute the first `count` powers of a number modulo 2⁶⁴, starting with 1."""
    powers = _POWERS.get(base)
    if powers is None or len(powers) < count:
        size = max(count, _KEPT)
        powers = np.full(size, base, dtype=np.uint64)
        powers[0] = 1
        powers = np.multiply.accumulate(powers)
        if size == _KEPT:
            _POWERS[base] = powers
    return powers[:count]


Marks = NDArray[np.uint32]
Number = TypeVar("Number", bound=np.generic)

CONTINUES = np.uint32(1 << 31)
"""Flag in the value of a node: longer terms continue from it."""

FIRST = np.uint32(1 << 30)
"""Flag in the value of a node: it is the first word of a term."""

SET = np.uint32((1 << 30) - 1)
"""Mask of the bits of a node's value that number its set of tags. They are 0 if no term ends at the node."""

RUN = 4_000_000
"""Number of nodes that are buffered before they are sorted and written, about 100 MB."""

_BATCH = 20_000  # terms that are hashed together
_PARTS = 64  # parts in which sorted runs are merged


class InstitutionWriter:
    """Writes the files of an `Institution` from a stream, in bounded memory.

    folder (Path): the folder to write to.
    tags (Tags): the tags of the dictionary, by which the numbers of `add` are resolved.
    terms (int): the number of terms; 0 until `finish` is called.
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
        """Add a term of the institution to the dictionary.

        term (str): the normal form of the term.
        number (int): the number of its tag in `tags`, from 1. A term can be added with several tags.
        """
        self._terms.append(term)
        self._numbers.append(number)
        if len(self._terms) == _BATCH:
            self._hash()

    def add_rows(self, keys: Hashes, marks: Marks) -> None:
        """Add nodes of the trie that are already hashed, such as those of an older dictionary.

        keys (NDArray): the hashes of the nodes; a node with several marks is repeated. Shape (k,), uint64.
        marks (NDArray): for each node the number of a tag, `CONTINUES` or `FIRST`. Shape (k,), uint32.
        """
        self._pending.append((keys, marks))
        self._held += len(keys)
        if self._held >= RUN:
            self._spill()

    def finish(self) -> list[tuple[Tag, ...]]:
        """Sort all nodes and write the files. RETURNS (list[tuple[Tag, ...]]): the sets of tags, in the order of the
        numbers that the nodes store; number 0 is the empty set."""
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
        all_keys, all_values = map_file(self._folder / "keys", np.uint64), map_file(self._folder / "values", np.uint32)
        bits = max(len(all_keys).bit_length(), 1)
        bounds = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
        index = np.append(np.searchsorted(all_keys, bounds), len(all_keys)).astype(np.uint32)
        (self._folder / "index").write_bytes(index.tobytes())
        firsts = all_keys[(all_values & FIRST) != 0]
        bits = min(max(len(firsts).bit_length() + 4, 8), 23)
        table = np.zeros(1 << bits, dtype=bool)
        table[(firsts >> np.uint64(64 - bits)).astype(np.int64)] = True
        (self._folder / "first").write_bytes(table.tobytes())
        return [tuple(self._tags.known[number - 1] for number in numbers) for numbers in sets]

    def _hash(self) -> None:
        """Convert the buffered terms to nodes: one for each word end of a term, of which the last one has the tag."""
        if self._terms:
            codes = code_points("\n".join(self._terms) + "\n")  # normal forms contain no line break
            words = WordHashes(codes)
            lengths = np.fromiter(map(len, self._terms), dtype=np.int64)
            lasts = np.cumsum(lengths + 1) - 1
            starts = lasts - lengths
            ends = words.ends[codes.take(words.ends - 1) != ord("\n")]
            owners = np.searchsorted(lasts, ends)
            marks = np.full(len(ends), CONTINUES, dtype=np.uint32)
            last = ends == lasts.take(owners)
            marks[last] = np.array(self._numbers, dtype=np.uint32).take(owners[last])
            keys = words.hash(starts.take(owners), ends)
            first = np.flatnonzero(np.diff(owners, prepend=-1))
            self.add_rows(np.concatenate((keys, keys.take(first))), np.append(marks, np.full(len(first), FIRST)))
            self._terms, self._numbers = [], []

    def _spill(self) -> None:
        """Sort the buffered nodes and write them to a temporary file: first the hashes, then the marks."""
        if self._held:
            keys, marks = _sort_rows(self._pending)
            path = self._folder / f"run-{len(self._runs)}"
            path.write_bytes(keys.tobytes() + marks.tobytes())
            self._runs.append(path)
        self._pending, self._held = [], 0

    def _merge(self, sets: dict[tuple[int, ...], int]) -> Iterator[tuple[Hashes, Marks]]:
        """Merge the sorted runs in one range of hashes after the other. Yields hashes and values in ascending
        order.
        """
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


def map_file(path: Path, kind: type[Number]) -> NDArray[Number]:
    """Map a file of numbers into memory, read-only.

    path (Path): the file.
    kind (type): NumPy type of the numbers.
    RETURNS (NDArray): the numbers; empty for an empty file.
    """
    if not path.stat().st_size:
        return np.zeros(0, dtype=kind)
    return np.asarray(np.memmap(path, dtype=kind, mode="r"))


def _sort_rows(pieces: Sequence[tuple[Hashes, Marks]]) -> tuple[Hashes, Marks]:
    """Sort rows by hash and mark, and drop duplicates."""
    keys = np.concatenate([keys for keys, _ in pieces] or [np.zeros(0, dtype=np.uint64)])
    marks = np.concatenate([marks for _, marks in pieces] or [np.zeros(0, dtype=np.uint32)])
    order = np.lexsort((marks, keys))
    keys, marks = keys.take(order), marks.take(order)
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]) | (marks[1:] != marks[:-1])
    return keys[new], marks[new]


def _unite(keys: Hashes, marks: Marks, sets: dict[tuple[int, ...], int]) -> tuple[Hashes, Marks]:
    """Combine all marks of each hash into one value: its flags, and the number of its set of tags, which is added to
    `sets` if it is new."""
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, dtype=np.int64)
    if not len(begins):
        return keys, marks
    is_tag = marks < FIRST
    flags = np.bitwise_or.reduceat(np.where(is_tag, np.uint32(0), marks), begins)
    counts = np.add.reduceat(is_tag.astype(np.int64), begins)
    numbers = marks.take(begins)  # numbers of tags are smaller than the flags
    numbers[counts == 0] = 0
    for i in np.flatnonzero(counts > 1).tolist():
        several = tuple(marks[begins[i] : begins[i] + counts[i]].tolist())
        numbers[i] = sets.setdefault(several, len(sets))
    return keys.take(begins), flags | numbers


_AHEAD = np.arange(6)  # word counts of the stretches that are looked up at once
_PROBES = np.arange(4)  # nodes of a bucket to compare at once


class Institution:
    """Finds the terms of an institution in texts, using the files that an `InstitutionWriter` wrote.

    folder (Path): the folder with the files.
    sets (Sequence): the sets of tags in the order of their numbers, as returned by `InstitutionWriter.finish`.
    """

    def __init__(self, folder: Path, sets: Sequence[tuple[Tag, ...]]) -> None:
        self._sets = sets
        self._keys = map_file(folder / "keys", np.uint64)
        self._values = map_file(folder / "values", np.uint32)
        self._index = map_file(folder / "index", np.uint32)
        self._first = map_file(folder / "first", np.bool_)
        self._shift = np.uint64(64 - (len(self._index) - 1).bit_length() + 1)
        self._first_shift = np.uint64(64 - len(self._first).bit_length() + 1)
        self._flags = TagFlags.of(sets)

    def __len__(self) -> int:
        """Return the number of nodes of the trie, which is 0 for an empty dictionary."""
        return len(self._keys)

    def find(self, text: str, folded: Normalised | None = None) -> list[Match]:
        """Find the terms in a text. A match inside another match is dropped; matches can overlap.

        text (str): the original text.
        folded (Normalised): the same text, normalised; None to compute it.
        RETURNS (list[Match]): the matches in text order; a term with several tags gives one match for each tag.
        """
        if not text or not len(self):
            return []
        folded = folded or normalise(text)
        starts, ends, values = self._find(folded)
        tags = [self._sets[i] for i in values.tolist()]
        return resolve_matches(text, folded, starts, ends, tags, self._flags.take(values), own=False)

    def _find(self, folded: Normalised) -> tuple[Integers, Integers, Marks]:
        """Find all terms at word edges of a normalised text. RETURNS (tuple): starts, ends and numbers of tag sets,
        shape (k,).

        Few words can start a term. From these, the stretches of one word, two words and so on are looked up all at
        once, and each start is followed as long as terms continue. The few that reach the last of these stretches are
        looked up again from there.
        """
        words = WordHashes(code_points(folded.text), folded.edges)
        starts = words.starts
        steps = np.searchsorted(words.ends, starts, side="right")
        at = np.flatnonzero(self.may_begin(words.hash(starts, words.ends.take(steps))) | ~words.hard.take(steps))
        starts, steps = starts.take(at), steps.take(at)
        found: list[tuple[Integers, Integers, Marks]] = []
        while len(starts):
            places = steps[:, None] + _AHEAD
            inside = places < len(words.ends)
            ends = words.ends.take(places, mode="clip")
            values = self.look_up(words.hash(np.repeat(starts, len(_AHEAD)), ends.ravel())).reshape(ends.shape)
            # A term may continue beyond a soft edge although no node ends there: "Mc|Donald".
            soft = ~words.hard.take(places, mode="clip") & (ends - starts[:, None] < 256)
            on = np.logical_and.accumulate((((values & CONTINUES) != 0) | soft) & inside, axis=1)
            reached = inside.copy()
            reached[:, 1:] &= on[:, :-1]
            row, column = np.nonzero(reached & ((values & SET) != 0) & folded.edges.take(ends))
            found.append((starts.take(row), ends[row, column], values[row, column] & SET))
            far = np.flatnonzero(on[:, -1])
            starts, steps = starts.take(far), steps.take(far) + len(_AHEAD)
            starts, steps = starts[steps < len(words.ends)], steps[steps < len(words.ends)]
        if not found:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint32)
        columns = zip(*found, strict=True)
        return np.concatenate(next(columns)), np.concatenate(next(columns)), np.concatenate(next(columns))

    def tags_of(self, value: np.uint32) -> tuple[Tag, ...]:
        """Return the tags of the term that ends at a node.

        value (np.uint32): the value of the node, from `look_up`.
        RETURNS (tuple[Tag, ...]): its label, rule and condition, possibly several; empty if no term ends at the node.
        """
        return self._sets[int(value & SET)]

    def may_begin(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Check which hashes can be those of first words of terms.

        hashes (NDArray): the hashes. Shape (k,).
        RETURNS (NDArray): the answers, a few of which are falsely positive. Shape (k,), bool.
        """
        return self._first.take((hashes >> self._first_shift).astype(np.int64))

    def look_up(self, hashes: Hashes) -> Marks:
        """Look up the nodes of hashes.

        hashes (NDArray): the hashes of stretches of a text. Shape (k,).
        RETURNS (NDArray): the values of their nodes; 0 for a hash that is not in the dictionary. Shape (k,), uint32.
        """
        buckets = (hashes >> self._shift).astype(np.int64)
        places = self._index.take(buckets).astype(np.int64)
        sizes = self._index.take(buckets + 1).astype(np.int64) - places
        values = self._compare(hashes, places, sizes)
        left = np.flatnonzero((sizes > len(_PROBES)) & (values == 0))
        while len(left):  # about one bucket in a hundred
            places[left] += len(_PROBES)
            sizes[left] -= len(_PROBES)
            values[left] = self._compare(hashes.take(left), places.take(left), sizes.take(left))
            left = left[(sizes.take(left) > len(_PROBES)) & (values.take(left) == 0)]
        return values

    def _compare(self, hashes: Hashes, places: Integers, sizes: Integers) -> Marks:
        """Compare each hash with the first few nodes from a position on. Returns the values of equal nodes, or 0."""
        probes = places[:, None] + _PROBES
        row, column = np.nonzero(
            (self._keys.take(probes, mode="clip") == hashes[:, None]) & (sizes[:, None] > _PROBES)
        )
        values = np.zeros(len(hashes), dtype=np.uint32)
        values[row] = self._values.take(probes[row, column])
        return values

    def rows(self) -> Iterator[tuple[Hashes, Marks]]:
        """Yield the hashes and marks of all nodes in batches, as arguments of `InstitutionWriter.add_rows`, to copy
        the dictionary. A node with several tags or flags is repeated for each.
        """
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
