"""The patient index: for each patient a handful of terms, in a file that is mapped into memory.

A row holds the id of a patient with the terms and their tags. A sorted file of hashes of the ids tells where each row
begins; a patient may have several rows. A note is searched for the terms of its own patient alone: the row is read and
made into a small automaton, which takes less time than to search the text for each term by itself. All processes share
the files, and there is no connection that a fork could break.
"""

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import ahocorasick
import numpy as np

from .conditions import settle
from .entries import LocalEntry, Tag, Tags, check_entry
from .institution import map_file
from .matcher import Match
from .normalise import Normalised, normal_form, normalise
from .terms import MAX_LENGTH

__all__ = ["PatientIndex", "PatientTerms", "PatientWriter"]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
# A length and a number of a term share one integer; the automaton keeps 32 bits of it.
_BITS = MAX_LENGTH.bit_length()
_MASK = (1 << _BITS) - 1
_LENGTH = 4  # bytes before each row that say how long it is


class PatientTerms:
    """The terms of one patient. Its repr shows none of them.

    terms (Iterable[tuple[str, Tag]]): the terms as they were given, and their tags.
    """

    def __init__(self, terms: Iterable[tuple[str, Tag]]) -> None:
        self._terms = list(terms)
        tags: dict[str, list[Tag]] = {}
        for term, tag in self._terms:
            tags.setdefault(normal_form(term), []).append(tag)
        self._tags = [tuple(found) if len(found) == 1 else _drop_needless(found) for found in tags.values()]
        self._automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        for i, term in enumerate(tags):
            self._automaton.add_word(term, i << _BITS | len(term))
        self._automaton.make_automaton()

    def __len__(self) -> int:
        """The number of different terms."""
        return len(self._tags)

    @property
    def entries(self) -> list[LocalEntry]:
        """The terms as they were given, each spelling once."""
        return [LocalEntry(term, *tag) for term, tag in dict.fromkeys(self._terms)]

    def __repr__(self) -> str:
        """The number of terms."""
        return f"PatientTerms({len(self)} terms)"

    def find(self, text: str, folded: Normalised | None = None) -> list[Match]:
        """Find the terms of a text; see `Institution.find`.

        text (str): the original.
        folded (Normalised): the same text, folded, if it is at hand.
        RETURNS (list[Match]): in the order of the text; a term with several tags is there once for each.
        """
        if not text or not self._tags:
            return []
        folded = folded or normalise(text)
        reports = np.fromiter(chain.from_iterable(self._automaton.iter(folded.text)), dtype=np.int64)
        ends, values = reports[::2] + 1, reports[1::2]
        starts = ends - (values & _MASK)
        held = np.flatnonzero(folded.edges.take(starts) & folded.edges.take(ends))
        tags = [self._tags[i] for i in (values.take(held) >> _BITS).tolist()]
        return settle(text, folded, starts.take(held), ends.take(held), tags, own=True)


class PatientIndex:
    """The rows of a file.

    folder (Path): where the files are.
    tags (Sequence[Tag]): tags by number, from 1.
    """

    def __init__(self, folder: Path, tags: Sequence[Tag]) -> None:
        self._tags = tags
        self._rows = map_file(folder / "patients", np.uint8)
        self._hashes = map_file(folder / "patient-hashes", np.uint64)
        self._offsets = map_file(folder / "patient-offsets", np.uint64)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._hashes)

    def find(self, patient_id: str) -> PatientTerms | None:
        """Find a patient.

        patient_id (str): the id.
        RETURNS (PatientTerms): the terms, None if there is no such patient.
        """
        own = self._own(patient_id)
        return PatientTerms(term for row in own for term in row.terms) if own else None

    def __contains__(self, patient_id: str) -> bool:
        """Whether there is a patient of whom there are terms."""
        return any(row.terms for row in self._own(patient_id))

    def _own(self, patient_id: str) -> list["_Row"]:
        """The rows of a patient."""
        wanted = np.uint64(_hash(patient_id))
        first, last = np.searchsorted(self._hashes, wanted), np.searchsorted(self._hashes, wanted, side="right")
        rows = [self._read(int(offset)) for offset in self._offsets[first:last]]
        return [row for row in rows if row.patient_id == patient_id]

    def rows(self) -> Iterator["_Row"]:
        """Yield the rows in the order of the file."""
        offset = 0
        while offset < len(self._rows):
            row = self._read(offset)
            yield row
            offset = row.end

    def _read(self, offset: int) -> "_Row":
        """Read a row."""
        start = offset + _LENGTH
        end = start + int.from_bytes(self._rows[offset:start].tobytes(), "little")
        patient_id, terms, numbers = json.loads(self._rows[start:end].tobytes().decode("utf-8", "surrogatepass"))
        return _Row(patient_id, [(term, self._tags[i - 1]) for term, i in zip(terms, numbers, strict=True)], end)


class _Row(NamedTuple):
    """A row of the index."""

    patient_id: str
    terms: list[tuple[str, Tag]]
    end: int

    def __repr__(self) -> str:
        """The number of terms."""
        return f"_Row({len(self.terms)} terms)"

    @property
    def entries(self) -> list[LocalEntry]:
        """The terms as entries."""
        return [LocalEntry(term, *tag) for term, tag in self.terms]


class PatientWriter:
    """Writes the files of a `PatientIndex` from a stream. It holds 16 bytes a row in memory.

    folder (Path): an empty folder.
    tags (Tags): the tags of the dictionary.
    skipped (Counter): rule and reason → how many entries were left out; it is added to.
    """

    def __init__(self, folder: Path, tags: Tags, skipped: Counter[tuple[str, str]]) -> None:
        self._folder = folder
        self._tags = tags
        self._skipped = skipped
        self._file = open(folder / "patients", "wb")  # noqa: SIM115 - closed by finish or close
        self._hashes, self._offsets = array("Q"), array("Q")
        self._size = 0
        self.terms = 0

    def add(self, patient_id: str, entries: Iterable[LocalEntry]) -> None:
        """Write a row. Spellings that the normal form makes equal are written once."""
        kept: dict[tuple[str, int], str] = {}
        for entry in entries:
            number = self._tags.number(entry)
            if term := check_entry(entry, self._skipped):
                kept.setdefault((term, number), entry.term)
        row = _encode([patient_id, list(kept.values()), [number for _, number in kept]])
        data = row.encode("utf-8", "surrogatepass")
        self._file.write(len(data).to_bytes(_LENGTH, "little") + data)
        self._hashes.append(_hash(patient_id))
        self._offsets.append(self._size)
        self._size += _LENGTH + len(data)
        self.terms += len(kept)

    def finish(self) -> int:
        """Write the files. RETURNS (int): the number of patients."""
        self._file.close()
        hashes, offsets = np.array(self._hashes), np.array(self._offsets)
        order = np.argsort(hashes, kind="stable")
        (self._folder / "patient-hashes").write_bytes(hashes.take(order).tobytes())
        (self._folder / "patient-offsets").write_bytes(offsets.take(order).tobytes())
        return len(np.unique(hashes))

    def close(self) -> None:
        """Let the file go, written or not."""
        self._file.close()


def _drop_needless(tags: Iterable[Tag]) -> tuple[Tag, ...]:
    """Drop repeated tags, and those with a condition whose label and rule are there without."""
    kept = dict.fromkeys(tags)
    return tuple(tag for tag in kept if not (tag.condition and tag._replace(condition="") in kept))


def _hash(patient_id: str) -> int:
    """A number of 64 bits for an id."""
    data = patient_id.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
