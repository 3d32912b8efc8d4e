"""Find the terms of word lists in a text, all at once, with the offsets of the original text.

A term matches only if it starts and ends at word edges. A matcher can have a million terms.

An Aho-Corasick automaton (Aho and Corasick 1975; pyahocorasick) reads a normalised text once and reports every key at
every position. All keys are needed, not only the longest, because a shorter one may end at a word edge where the
longest does not. Matches inside longer matches are dropped at the end.

A key is not a whole term but its shortest prefix that no other term shares, as in a Patricia tree (Morrison 1968): a
node takes 48 bytes, and most nodes of a million names are tails that lead to a single term. The terms are stored in
one string, and when a key is found, the text after it is compared with the rest of its term in that string.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import ahocorasick
import numpy as np
import srsly
from numpy.typing import NDArray

from ..errors import ConfigError, Errors
from .normalise import Normalised, normalise
from .terms import MAX_LENGTH, Entry, list_name, read_list

_VERSION = 1  # of the serialized format

# The length and the number of a term share one integer, of which the automaton silently keeps only 32 bits.
_BITS = MAX_LENGTH.bit_length()
_LENGTH = (1 << _BITS) - 1
_MAX_TERMS = 1 << (31 - _BITS)

Tags = tuple[tuple[str, str], ...]  # label and rule of each list that contains a term
Integers = NDArray[np.int64]


FUZZY = "~"
"""Suffix of the rule of a match whose spelling differs from the term: "patients.surname~"."""


class Match(NamedTuple):
    """A term that was found in a text.

    start, end (int): character offsets in the original text, end exclusive.
    label (str): canonical label of the term.
    rule (str): the list or the "table.column" that the term is from.
    """

    start: int
    end: int
    label: str
    rule: str


class TermMatcher:
    """Finds the terms of one or more lists in texts. It can be serialized and pickled.

    lists (dict[str, str]): name of a list → SHA-256 digest of its content.
    """

    def __init__(self) -> None:
        self.lists: dict[str, str] = {}  # name → digest of the content
        self._build({})

    def __len__(self) -> int:
        """Return the number of distinct terms."""
        return len(self._tag_of)

    @property
    def labels(self) -> set[str]:
        """The labels of all terms."""
        return {label for tags in self._tags for label, _ in tags}

    def add_lists(self, paths: Sequence[str | Path], label: str | None = None) -> None:
        """Add list files. If one of them is invalid, nothing is added.

        paths (Sequence[str or Path]): .csv or .jsonl files.
        label (str): label of the rows without one; None if every row must have a label.
        RAISES: ConfigError, see `read_list`, or if two lists have the same name (D156).
        """
        names = set(self.lists)
        for path in paths:
            if (name := list_name(path)) in names:
                raise ConfigError(Errors.D156.format(path=path, name=name))
            names.add(name)
        self.add([(list_name(path), read_list(path, label)) for path in paths])

    def add(self, lists: Iterable[tuple[str, Iterable[Entry]]]) -> None:
        """Add checked terms to existing or new lists. The automaton is rebuilt, so add several lists in one call.

        lists (Iterable[tuple[str, Iterable[Entry]]]): the name and the terms of each list.
        RAISES: ConfigError (D159) if there are too many terms.
        """
        tagged = dict(zip(self._terms(), (self._tags[number] for number in self._tag_of), strict=True))
        shared: dict[Tags, Tags] = {}
        digests = {}
        for name, entries in lists:
            digest = hashlib.sha256(self.lists.get(name, "").encode())
            for term, label, rule in entries:
                digest.update(f"{term}\n{label}\n{rule}\n".encode())
                tags = tuple(sorted({*tagged.get(term, ()), (label, rule)}))
                tagged[term] = shared.setdefault(tags, tags)
            digests[name] = digest.hexdigest()
        self._build(tagged)
        self.lists |= digests

    def find(self, text: str, folded: Normalised | None = None) -> list[Match]:
        """Find the terms in a text. A match inside another match is dropped; matches can overlap.

        text (str): the original text.
        folded (Normalised): the same text, normalised; None to compute it.
        RETURNS (list[Match]): the matches in text order. A term that has several labels or rules gives one match for
            each.
        """
        if not text or not self:
            return []
        folded = folded or normalise(text)
        starts, ends, numbers = self._find(folded)
        kept = find_outer(starts, ends)
        first, last = folded.original(starts.take(kept), ends.take(kept))
        tags = self._tag_of.take(numbers.take(kept)).tolist()
        return [
            Match(start, end, label, rule)
            for start, end, i in zip(first, last, tags, strict=True)
            for label, rule in self._tags[i]
        ]

    def _find(self, folded: Normalised) -> tuple[Integers, Integers, Integers]:
        """Find all terms at word edges of a normalised text. RETURNS (tuple): starts, ends and term numbers, each of
        shape (k,).

        The automaton reports about once in ten characters. Most reports are rejected by the word edges, for all of
        them at once: looking up each term is a cache miss, and a Python loop would take longer than the automaton.
        """
        reports = np.fromiter(chain.from_iterable(self._automaton.iter(folded.text)), dtype=np.int64)
        after, values = reports[::2] + 1, reports[1::2]
        starts = after - (values & _LENGTH)
        at = np.flatnonzero(folded.edges.take(starts))
        starts, after, numbers = starts.take(at), after.take(at), values.take(at) >> _BITS
        places = self._places.take(numbers)
        ends = starts + (places & _LENGTH)
        held = folded.edges.take(
            ends, mode="clip"
        )  # an end beyond the text is rejected when the rest of the term is compared
        unread = np.flatnonzero(held & (ends > after))
        held[unread] = self._match_rest(folded.text, starts.take(unread), places.take(unread))
        at = np.flatnonzero(held)
        return starts.take(at), ends.take(at), numbers.take(at)

    def _match_rest(self, text: str, starts: Integers, places: Integers) -> list[bool]:
        """Return for each term whose prefix was found whether the rest of the term follows in the text."""
        offsets, ends = places >> _BITS, (places >> _BITS) + (places & _LENGTH)
        triples = zip(starts.tolist(), offsets.tolist(), ends.tolist(), strict=True)
        return [text.startswith(self._joined[offset:end], start) for start, offset, end in triples]

    def _build(self, tagged: dict[str, Tags]) -> None:
        """Build the automaton, which maps the prefix of each term to the number of the term and the prefix length.
        RAISES: ConfigError (D159) if there are too many terms."""
        if len(tagged) > _MAX_TERMS:
            raise ConfigError(Errors.D159.format(limit=_MAX_TERMS))
        terms = sorted(tagged)
        self._tags = sorted(set(tagged.values()))
        numbers = {tags: number for number, tags in enumerate(self._tags)}
        self._tag_of = np.fromiter((numbers[tagged.pop(term)] for term in terms), dtype=np.int32)
        self._joined = "".join(terms)
        lengths = np.fromiter(map(len, terms), dtype=np.int64)
        self._places = (np.cumsum(lengths) - lengths) << _BITS | lengths
        self._automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        for i, length in enumerate(_distinct(terms)):
            self._automaton.add_word(terms[i][:length], i << _BITS | length)
        self._automaton.make_automaton()

    def _terms(self) -> Iterator[str]:
        """Yield the normal forms of all terms, sorted."""
        places = map(int, self._places)
        return (self._joined[place >> _BITS : (place >> _BITS) + (place & _LENGTH)] for place in places)

    def to_bytes(self) -> bytes:
        """Serialize the matcher. The result does not depend on the order in which the lists were added.

        RETURNS (bytes): msgpack of the names of the lists, the terms, and their labels and rules.
        """
        message = {
            "version": _VERSION,
            "lists": dict(sorted(self.lists.items())),
            "tags": self._tags,
            "terms": list(self._terms()),
            "tag_of": self._tag_of.tolist(),
        }
        data: bytes = srsly.msgpack_dumps(message)
        return data

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "terms") -> "TermMatcher":
        """Create a matcher from serialized terms.

        data (bytes): the result of `to_bytes`.
        name (str): name of the data in error messages.
        RETURNS (TermMatcher): a matcher with the same terms, lists and tags.
        RAISES: ConfigError (D157) if the data are damaged or have another version.
        """
        try:
            message = srsly.msgpack_loads(data)
        except ValueError:
            message = None
        if not isinstance(message, dict) or message.get("version") != _VERSION:
            raise ConfigError(Errors.D157.format(name=name))
        matcher = cls()
        tags: list[Tags] = [tuple((label, rule) for label, rule in pairs) for pairs in message["tags"]]
        matcher._build({term: tags[i] for term, i in zip(message["terms"], message["tag_of"], strict=True)})
        matcher.lists = message["lists"]
        return matcher

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the result of `to_bytes`, which is half the size of a pickled automaton and as fast to load."""
        return TermMatcher.from_bytes, (self.to_bytes(),)


def find_outer(starts: Integers, ends: Integers) -> Integers:
    """Find the spans that are not inside another span. Of equal spans, one is kept.

    starts, ends (NDArray): offsets of the k spans, end exclusive. Shape (k,).
    RETURNS (NDArray): indices of the m spans that are kept, ordered by start. Shape (m,).
    """
    order = np.lexsort((-ends, starts))
    ordered = ends.take(order)
    beyond = np.ones(len(order), dtype=bool)
    beyond[1:] = ordered[1:] > np.maximum.accumulate(ordered)[:-1]
    return order[beyond]


def _distinct(terms: Sequence[str]) -> Iterator[int]:
    """Yield the length of each term's shortest prefix that no other term shares, or the whole length if there is
    none."""
    before = 0
    for term, following in zip(terms, chain(islice(terms, 1, None), [""]), strict=False):
        after = _shared(term, following)
        yield min(max(before, after) + 1, len(term))
        before = after


def _shared(first: str, second: str) -> int:
    """Return the length of the common prefix of two strings."""
    for i, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return i
    return min(len(first), len(second))
