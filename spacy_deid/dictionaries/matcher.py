"""Finding a million terms at once, at word edges, with exact offsets.

The terms' normal forms stand in an Aho-Corasick automaton (Aho and Corasick 1975; pyahocorasick), which reads a
normalised text once and reports every term that ends at every place. It is asked for all of them, not for the
longest alone: where the longest fails at a word edge, a shorter one may hold. What fails and what lies within a
longer match is then dropped in numpy.

A term costs nothing but its nodes in the automaton: its value is one integer, which packs the term's length and the
number of its set of tags (label and rule).
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import ahocorasick
import numpy as np
import srsly
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from .normalise import normalise
from .terms import MAX_LENGTH, Entry, list_name, read_list

__all__ = ["Match", "TermMatcher"]

_BITS = MAX_LENGTH.bit_length()
_LENGTH = (1 << _BITS) - 1
_MAX_SETS = 1 << (31 - _BITS)  # pyahocorasick keeps 32 bits of an integer and drops the rest without a word
_VERSION = 1  # of what is saved

Tag = tuple[str, str]


class Match(NamedTuple):
    """One term in one text.

    start, end (int): characters of the original, end exclusive.
    label (str): canonical label.
    rule (str): name of the list or rule.
    """

    start: int
    end: int
    label: str
    rule: str


class TermMatcher:
    """Terms of one or more lists, and their automaton."""

    def __init__(self) -> None:
        self.lists: dict[str, str] = {}  # name → digest of the content
        self._automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        self._sets: list[tuple[Tag, ...]] = []
        self._numbers: dict[tuple[Tag, ...], int] = {}

    def __len__(self) -> int:
        """The number of terms, each counted once."""
        return len(self._automaton)

    def add_list(self, path: str | Path, label: str | None = None) -> None:
        """Add a list file. It is read twice, and nothing of it is added unless all of it is right.

        path (str or Path): a .csv or .jsonl file.
        label (str): label of the rows that have none.
        RAISES: ConfigError as `read_list`, or if there is a list of this name (D156).
        """
        if (name := list_name(path)) in self.lists:
            raise ConfigError(Errors.D156.format(path=path, name=name))
        if not sum(1 for _ in read_list(path, label)):
            raise ConfigError(Errors.D152.format(path=path, row=1, reason="no terms follow"))
        self.add(name, read_list(path, label))

    def add(self, name: str, entries: Iterable[Entry]) -> None:
        """Add checked terms, to a list that is there or to a new one.

        name (str): name of the list.
        entries (Iterable[Entry]): its terms.
        RAISES: ConfigError if there are too many combinations of lists and labels (D157).
        """
        digest = hashlib.sha256(self.lists.get(name, "").encode())
        automaton = self._automaton
        for term, label, rule in entries:
            digest.update(f"{term}\n{label}\n{rule}\n".encode())
            known = automaton.get(term, None)
            tags = () if known is None else self._sets[known >> _BITS]
            if (label, rule) not in tags:
                number = self._number(tuple(sorted((*tags, (label, rule)))))
                automaton.add_word(term, number << _BITS | len(term))
        automaton.make_automaton()
        self.lists[name] = digest.hexdigest()

    def find(self, text: str) -> list[Match]:
        """Find the terms of a text. Of matches that lie within one another the longest stays; others may overlap.

        text (str): the original.
        RETURNS (list[Match]): in the order of the text; a term with several tags is there once for each.
        """
        if not self._automaton or not text:
            return []
        folded = normalise(text)
        pairs = chain.from_iterable(self._automaton.iter(folded.text))
        hits = np.fromiter(pairs, dtype=np.int64).reshape(-1, 2)
        ends, values = hits[:, 0] + 1, hits[:, 1]
        starts = ends - (values & _LENGTH)
        held = np.flatnonzero(folded.edges[starts] & folded.edges[ends])
        held = held[_longest(starts[held], ends[held])]
        return [
            Match(*folded.original(start, end), label, rule)
            for start, end, value in zip(
                starts[held].tolist(), ends[held].tolist(), values[held].tolist(), strict=True
            )
            for label, rule in self._sets[value >> _BITS]
        ]

    def to_bytes(self) -> bytes:
        """Write the terms; equal terms give equal bytes, in whatever order they were added.

        RETURNS (bytes): msgpack of the lists, the tags and the terms.
        """
        tags = sorted(self._sets)
        renumbered = {self._numbers[tag_set]: i for i, tag_set in enumerate(tags)}
        terms = sorted((term, renumbered[value >> _BITS]) for term, value in self._items())
        columns = {"terms": [term for term, _ in terms], "sets": [number for _, number in terms]}
        lists = dict(sorted(self.lists.items()))
        data: bytes = srsly.msgpack_dumps({"version": _VERSION, "lists": lists, "tags": tags, **columns})
        return data

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "terms") -> "TermMatcher":
        """Read what `to_bytes` wrote.

        data (bytes): msgpack.
        name (str): what the error calls it.
        RETURNS (TermMatcher): the same terms, lists and tags.
        RAISES: ConfigError (D158) if it is damaged or of another version.
        """
        try:
            message = srsly.msgpack_loads(data)
        except ValueError:
            message = None
        if not isinstance(message, dict) or message.get("version") != _VERSION:
            raise ConfigError(Errors.D158.format(name=name))
        matcher = cls()
        numbers = [matcher._number(tuple((label, rule) for label, rule in tags)) for tags in message["tags"]]
        for term, i in zip(message["terms"], message["sets"], strict=True):
            matcher._automaton.add_word(term, numbers[i] << _BITS | len(term))
        matcher._automaton.make_automaton()
        matcher.lists = message["lists"]
        return matcher

    def _items(self) -> Iterator[tuple[str, int]]:
        """The terms and their values."""
        items: Callable[[], Iterator[tuple[str, int]]] = self._automaton.items
        return items()

    def _number(self, tags: tuple[Tag, ...]) -> int:
        """The number of a set of tags, new or known."""
        if tags not in self._numbers:
            if len(self._sets) >= _MAX_SETS:
                raise ConfigError(Errors.D157.format(limit=_MAX_SETS))
            self._numbers[tags] = len(self._sets)
            self._sets.append(tags)
        return self._numbers[tags]


def _longest(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of the matches that lie within no other, by start: those that reach beyond all that began before."""
    order = np.lexsort((-ends, starts))
    reach = np.maximum.accumulate(np.append(0, ends[order]))
    return order[ends[order] > reach[:-1]]
