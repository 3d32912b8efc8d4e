"""The patient index: a small number of terms for each of many patients, in a memory-mapped file.

A row has the id of a patient, the terms and the numbers of their tags, compressed to about a quarter. It is preceded
by its length and its number of terms. A sorted file of id hashes gives the offset of each row; a patient may have
several rows. A note is searched only for the terms of its own patient: the row is read and made into a small
automaton, which is faster than searching the text for each term. All processes share the files.

Names are also found with a spelling error: one letter replaced, missing, added or swapped; up to two errors in a long
name. The distance is optimal string alignment (Damerau 1964; rapidfuzz). Short words must match exactly, because
changing one letter of a short name usually gives another name. Numbers must match exactly too.
"""

import hashlib
import re
import shutil
import struct
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import ahocorasick
import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

from ..patient_ids import normal_id
from .conditions import TagFlags, resolve_matches
from .institution import map_file
from .matcher import Match
from .normalise import Normalised, normalise
from .terms import MAX_LENGTH, LocalEntry, Tag, TaggedTerm

HEAD = struct.Struct("<II")
"""Header of each row: number of bytes, number of terms."""

_NUMBER = array("I").itemsize
_LEVEL = 1  # compression level
_COPIED = 1 << 22  # bytes per copy step


class Row(NamedTuple):
    """A row of the index.

    patient_id (str): the id.
    terms (list[TaggedTerm]): terms with the numbers of their tags.
    """

    patient_id: str
    terms: list[TaggedTerm]

    def __repr__(self) -> str:
        """Show the number of terms."""
        return f"Row({len(self.terms)} terms)"


def read_row(data: bytes, count: int) -> Row:
    """Decompress a row.

    data (bytes): the compressed row.
    count (int): its number of terms.
    RETURNS (Row): the row.
    """
    data = zlib.decompress(data)
    numbers, text = data[: count * _NUMBER], data[count * _NUMBER :].decode("utf-8", "surrogatepass")
    *terms, patient_id = text.split("\n", count)
    return Row(patient_id, list(zip(terms, array("I", numbers), strict=True)))


class Packed(NamedTuple):
    """Terms in the form in which they are written. The packed terms of a value can be shared by all patients who have
    it.

    text (str): the terms, each followed by a line break.
    numbers (bytes): numbers of their tags, 32 bits each.
    """

    text: str
    numbers: bytes

    def __repr__(self) -> str:
        """Show the number of terms."""
        return f"Packed({len(self.numbers) // _NUMBER} terms)"


def pack(ready: Iterable[TaggedTerm]) -> Packed:
    """Pack terms; repetitions are dropped.

    ready (Iterable[TaggedTerm]): the terms.
    RETURNS (Packed): the packed terms.
    """
    kept = dict.fromkeys(ready)
    numbers = array("I", [number for _, number in kept])
    return Packed("".join([f"{term}\n" for term, _ in kept]), numbers.tobytes())


def unpack(packed: Packed) -> Iterator[TaggedTerm]:
    """Unpack terms.

    packed (Packed): the result of `pack`.
    RETURNS (Iterator[TaggedTerm]): terms with the numbers of their tags.
    """
    return zip(packed.text.split("\n")[:-1], array("I", packed.numbers), strict=True)


class PatientPart(NamedTuple):
    """Rows that another process wrote, to be appended to the index.

    path (Path): the file.
    hashes, offsets (bytes): id hash and offset of each row, 64 bits each.
    terms (int): number of terms.
    """

    path: Path
    hashes: bytes
    offsets: bytes
    terms: int


class PatientWriter:
    """Writes the rows of a `PatientIndex` from a stream. It needs 16 bytes of memory per row.

    path (Path): the file; an existing one is replaced.
    terms (int): number of terms written so far.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open(path, "wb")  # noqa: SIM115 - closed by finish or close
        self._hashes, self._offsets = array("Q"), array("Q")
        self._size = 0
        self.terms = 0

    def add(self, patient_id: str, packed: Sequence[Packed]) -> None:
        """Write a row.

        patient_id (str): the id.
        packed (Sequence[Packed]): the terms.
        """
        numbers = b"".join([terms.numbers for terms in packed])
        text = "".join([terms.text for terms in packed]) + patient_id
        data = zlib.compress(numbers + text.encode("utf-8", "surrogatepass"), _LEVEL)
        self.add_row(hash_id(patient_id), len(numbers) // _NUMBER, data)

    def add_row(self, hashed: int, terms: int, data: bytes) -> None:
        """Write a compressed row.

        hashed (int): hash of the patient id.
        terms (int): number of terms.
        data (bytes): the compressed row.
        """
        self._file.write(HEAD.pack(len(data), terms) + data)
        self._hashes.append(hashed)
        self._offsets.append(self._size)
        self._size += HEAD.size + len(data)
        self.terms += terms

    def part(self) -> PatientPart:
        """Close the file. RETURNS (PatientPart): the rows, for `take` of another writer."""
        self._file.close()
        return PatientPart(self._path, self._hashes.tobytes(), self._offsets.tobytes(), self.terms)

    def take(self, part: PatientPart) -> None:
        """Append the rows that another writer wrote, and remove its file.

        part (PatientPart): the rows.
        """
        with part.path.open("rb") as file:
            shutil.copyfileobj(file, self._file, _COPIED)
        part.path.unlink()
        self._hashes.frombytes(part.hashes)
        offsets = np.frombuffer(part.offsets, dtype=np.uint64) + np.uint64(self._size)
        self._offsets.frombytes(offsets.tobytes())
        self._size = self._file.tell()
        self.terms += part.terms

    def finish(self) -> int:
        """Write the index files. RETURNS (int): number of patients."""
        self._file.close()
        hashes, offsets = np.array(self._hashes), np.array(self._offsets)
        order = np.argsort(hashes, kind="stable")
        self._path.with_name("patient-hashes").write_bytes(hashes.take(order).tobytes())
        self._path.with_name("patient-offsets").write_bytes(offsets.take(order).tobytes())
        return len(np.unique(hashes))

    def close(self) -> None:
        """Close the file, whether it is finished or not."""
        self._file.close()


def hash_id(patient_id: str) -> int:
    """Hash a patient id.

    patient_id (str): the id.
    RETURNS (int): 64 bits of its BLAKE2b hash.
    """
    data = patient_id.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


# The length and the number of a term share one integer, of which the automaton keeps 32 bits.
_BITS = MAX_LENGTH.bit_length()
_MASK = (1 << _BITS) - 1


class PatientTerms:
    """The terms of one patient.

    terms (Iterable[tuple[str, Tag]]): normal forms and their tags.
    """

    def __init__(self, terms: Iterable[tuple[str, Tag]]) -> None:
        self._terms = list(terms)
        tags: dict[str, list[Tag]] = {}
        for term, tag in self._terms:
            tags.setdefault(term, []).append(tag)
        self._tags = [tuple(found) if len(found) == 1 else _drop_needless(found) for found in tags.values()]
        self._flags = TagFlags.of(self._tags)
        self._automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        for i, term in enumerate(tags):
            self._automaton.add_word(term, i << _BITS | len(term))
        self._automaton.make_automaton()

    def __len__(self) -> int:
        """The number of distinct terms."""
        return len(self._tags)

    @property
    def entries(self) -> list[LocalEntry]:
        """The terms as entries, in normal form."""
        return [LocalEntry(term, *tag) for term, tag in dict.fromkeys(self._terms)]

    def __repr__(self) -> str:
        """Show the number of terms, none of them."""
        return f"PatientTerms({len(self)} terms)"

    def find(self, text: str, folded: Normalised | None = None) -> list[Match]:
        """Find the terms of a text; see `Institution.find`.

        text (str): the original.
        folded (Normalised): the same text, normalised; computed if not given.
        RETURNS (list[Match]): matches in text order; a term with several tags gives one match for each.
        """
        if not text or not self._tags:
            return []
        folded = folded or normalise(text)
        reports = np.fromiter(chain.from_iterable(self._automaton.iter(folded.text)), dtype=np.int64)
        ends, values = reports[::2] + 1, reports[1::2]
        starts = ends - (values & _MASK)
        held = np.flatnonzero(folded.edges.take(starts) & folded.edges.take(ends))
        numbers = values.take(held) >> _BITS
        tags = [self._tags[i] for i in numbers.tolist()]
        return resolve_matches(
            text, folded, starts.take(held), ends.take(held), tags, self._flags.take(numbers), own=True
        )


class PatientIndex:
    """The patient index, opened for reading.

    folder (Path): the folder of the files.
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
        """Read the terms of a patient.

        patient_id (str): the id.
        RETURNS (PatientTerms): the terms; None if the patient is not in the index.
        """
        own = self._own(patient_id)
        return PatientTerms((term, self._tags[i - 1]) for row in own for term, i in row.terms) if own else None

    def __contains__(self, patient_id: str) -> bool:
        """Whether the index has terms of a patient."""
        return any(row.terms for row in self._own(patient_id))

    def tagged_terms(self, patient_id: str) -> list[TaggedTerm]:
        """Read the stored terms of a patient.

        patient_id (str): the id.
        RETURNS (list[TaggedTerm]): terms with the numbers of their tags; empty if the patient is not in the index.
        """
        return [ready for row in self._own(patient_id) for ready in row.terms]

    def ids(self) -> Iterator[str]:
        """Yield the patient id of each row, in file order."""
        return (self._read(offset).patient_id for offset in np.sort(self._offsets).tolist())

    def terms(self) -> Iterator[tuple[str, Tag]]:
        """Yield the terms of all patients with their tags, in file order."""
        for offset in np.sort(self._offsets).tolist():
            yield from ((term, self._tags[number - 1]) for term, number in self._read(offset).terms)

    def copy(self, writer: PatientWriter, left_out: Set[str]) -> None:
        """Copy the rows to a writer.

        writer (PatientWriter): the writer; its tags must start with those of this index.
        left_out (Set[str]): ids of patients to leave out.
        """
        left_out = {normal_id(patient_id) for patient_id in left_out}
        hashes = {hash_id(patient_id) for patient_id in left_out}
        order = np.argsort(self._offsets)
        for hashed, offset in zip(self._hashes[order].tolist(), self._offsets[order].tolist(), strict=True):
            if hashed not in hashes or self._read(offset).patient_id not in left_out:
                writer.add_row(hashed, *self._compressed(offset))

    def _own(self, patient_id: str) -> list[Row]:
        """The rows of a patient."""
        patient_id = normal_id(patient_id)
        wanted = np.uint64(hash_id(patient_id))
        first, last = np.searchsorted(self._hashes, wanted), np.searchsorted(self._hashes, wanted, side="right")
        rows = [self._read(offset) for offset in self._offsets[first:last].tolist()]
        return [row for row in rows if row.patient_id == patient_id]

    def _compressed(self, offset: int) -> tuple[int, bytes]:
        """The number of terms of a row, and its compressed data."""
        start = offset + HEAD.size
        size, count = HEAD.unpack(self._rows[offset:start].tobytes())
        return count, self._rows[start : start + size].tobytes()

    def _read(self, offset: int) -> Row:
        """Read a row."""
        count, data = self._compressed(offset)
        return read_row(data, count)


def _drop_needless(tags: Iterable[Tag]) -> tuple[Tag, ...]:
    """Drop repeated tags, and conditional tags whose label and rule occur without a condition."""
    kept = dict.fromkeys(tags)
    return tuple(tag for tag in kept if not (tag.condition and tag._replace(condition="") in kept))


FUZZY = "~"
"""Suffix of the rule of a fuzzy match: "patients.surname~"."""

_LABELS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON", "CITY", "STREET"})
_SHORTEST = 6  # minimal length of a name with one error
_LONG = 10  # minimal length of a name with two errors
_MOST = 2
_TEXT_WORD = re.compile(r"[^\W\d_][^\W_]*")
_NAME_WORD = re.compile(r"[^\W\d_]+")


class FuzzyNames(NamedTuple):
    """Words of names to search for.

    words (Sequence[str]): n normalised words.
    lengths (NDArray): their lengths. Shape (n,).
    tags (Sequence): labels and rules of each word.
    """

    words: Sequence[str]
    lengths: NDArray[np.int64]
    tags: Sequence[tuple[tuple[str, str], ...]]

    def __repr__(self) -> str:
        """Show the number of words."""
        return f"FuzzyNames({len(self.words)} words)"


class CandidateWords:
    """The words of a text that could be misspelt names, with their places. They can be compared with several lists of
    names.

    folded (Normalised): the text.
    known (Callable): whether a normalised word is a word of the language, which is then not taken for a misspelt name.
    """

    def __init__(self, folded: Normalised, known: Callable[[str], bool] | None = None) -> None:
        self._folded = folded
        self._places: dict[str, list[tuple[int, int]]] = {}
        for word in _TEXT_WORD.finditer(folded.text):
            if len(word[0]) >= _SHORTEST - 1:
                self._places.setdefault(word[0], []).append(word.span())
        self._words = [word for word in self._places if not (known and known(word))]

    def find(self, names: FuzzyNames) -> list[Match]:
        """Find misspelt names.

        names (FuzzyNames): the names of one patient.
        RETURNS (list[Match]): matches in text order. Their rules end with `FUZZY`.
        """
        if not self._words or not names.words:
            return []
        found: list[tuple[int, int, tuple[tuple[str, str], ...]]] = []
        for i, j in _alike(self._words, names):
            found += ((start, end, names.tags[j]) for start, end in self._places[self._words[i]])
        if not found:
            return []
        found.sort()
        starts, ends = (np.array(column) for column in list(zip(*found, strict=True))[:2])
        first, last = self._folded.original(starts, ends)
        return [
            Match(start, end, label, rule + FUZZY)
            for start, end, (_, _, tags) in zip(first, last, found, strict=True)
            for label, rule in tags
        ]


def fuzzy_find(
    text: str,
    entries: Iterable[LocalEntry],
    folded: Normalised | None = None,
    known: Callable[[str], bool] | None = None,
) -> list[Match]:
    """Find misspelt names in a text. Correctly spelled names are left to the exact search.

    text (str): the original.
    entries (Iterable[LocalEntry]): the entries of one patient; those with a condition are ignored.
    folded (Normalised): the same text, normalised; computed if not given.
    known (Callable): see `CandidateWords`.
    RETURNS (list[Match]): see `CandidateWords.find`.
    """
    return CandidateWords(folded or normalise(text), known).find(fuzzy_names(tuple(entries)))


@lru_cache(64)
def fuzzy_names(entries: tuple[LocalEntry, ...]) -> FuzzyNames:
    """Collect the words of names that may be misspelt.

    entries (tuple[LocalEntry, ...]): entries of one patient; those with a condition are left out.
    RETURNS (FuzzyNames): the words.
    """
    tags: dict[str, dict[tuple[str, str], None]] = {}
    # A combined name ("olalla villaseca") has the rule of one part; the entry of each single part has its own rule.
    for entry in sorted(entries, key=lambda entry: entry.term.count(" ")):
        if entry.label not in _LABELS or entry.condition:
            continue
        found = [word for word in _NAME_WORD.findall(entry.term) if len(word) >= _SHORTEST]
        for word in found if " " not in entry.term else [word for word in found if word not in tags]:
            tags.setdefault(word, {})[entry.label, entry.rule] = None
    return FuzzyNames(list(tags), np.array([len(word) for word in tags]), [tuple(tag) for tag in tags.values()])


def _alike(words: Sequence[str], names: FuzzyNames) -> Iterable[tuple[int, int]]:
    """Pair each word that is similar but not equal to a name with the most similar name."""
    distances = cdist(words, names.words, scorer=OSA.distance, score_cutoff=_MOST, dtype=np.uint8)
    allowed = np.where(names.lengths >= _LONG, _MOST, 1)
    first, initial = (np.array([word[0] for word in column]) for column in (words, names.words))
    initials = first[:, None] == initial
    near = (distances <= allowed) & (initials | (distances <= 1)) & ~(distances == 0).any(axis=1)[:, None]
    nearest = np.where(near, distances, _MOST + 1).argmin(axis=1)
    rows = np.flatnonzero(near.any(axis=1))
    return zip(rows.tolist(), nearest.take(rows).tolist(), strict=True)
