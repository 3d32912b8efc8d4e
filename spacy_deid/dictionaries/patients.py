"""Store the terms of each patient in an index on disk, and search a note for the terms of its own patient.

The index is a memory-mapped file of rows, which all processes share. A row contains the id of a patient, the patient's
terms and the numbers of their tags (label, rule and condition; see `terms.Tag`). It is compressed to about a quarter
and preceded by its length and its number of terms. A patient may have several rows. A second file contains the sorted
hashes of the ids and a third one the offset of the row of each hash. To search a note, the rows of its patient are
read and an Aho-Corasick automaton is built from their terms, which is faster than searching the text for each term.

Names and numbers that are broken up, scanned or misspelt are found by `damaged`, names with initials by `complete`.
"""

import hashlib
import shutil
import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import ahocorasick
import numpy as np

from ..patient_ids import normal_id
from .complete import complete_names, find_initials
from .conditions import TagFlags, resolve_matches
from .damaged import DamagedTerms
from .institution import map_file
from .matcher import Match
from .normalise import Normalised, normalise
from .terms import MAX_LENGTH, PERSONS, LocalEntry, Tag, TaggedTerm

HEAD = struct.Struct("<II")
"""Header of each row: the number of its compressed bytes and the number of its terms."""

_NUMBER = array("I").itemsize
_LEVEL = 1  # compression level
_COPIED = 1 << 22  # bytes per copy step


class Row(NamedTuple):
    """A row of the patient index, decompressed. A patient who was added in several parts has several rows.

    patient_id (str): the normalised id of the patient.
    terms (list[TaggedTerm]): the normal forms of the terms, each with the number of its tag.
    """

    patient_id: str
    terms: list[TaggedTerm]

    def __repr__(self) -> str:
        """Return a description without the id and the terms."""
        return f"Row({len(self.terms)} terms)"


def read_row(data: bytes, count: int) -> Row:
    """Decompress a row of the patient index.

    data (bytes): the compressed row, without its header.
    count (int): the number of terms in its header.
    RETURNS (Row): the patient id and the terms.
    """
    data = zlib.decompress(data)
    numbers, text = data[: count * _NUMBER], data[count * _NUMBER :].decode("utf-8", "surrogatepass")
    *terms, patient_id = text.split("\n", count)
    return Row(patient_id, list(zip(terms, array("I", numbers), strict=True)))


class Packed(NamedTuple):
    """Terms of a patient, serialized to be written to the index. The terms made from one value, such as a given name,
    are packed once and shared by all patients who have this value.

    text (str): the terms, each followed by a line break.
    numbers (bytes): the number of the tag of each term, 32 bits each.
    """

    text: str
    numbers: bytes

    def __repr__(self) -> str:
        """Return a description without the terms."""
        return f"Packed({len(self.numbers) // _NUMBER} terms)"


def pack(ready: Iterable[TaggedTerm]) -> Packed:
    """Serialize terms of a patient, so that `PatientWriter.add` can write them. Repeated terms are dropped.

    ready (Iterable[TaggedTerm]): normal forms with the numbers of their tags (label, rule and condition).
    RETURNS (Packed): the serialized terms.
    """
    kept = dict.fromkeys(ready)
    numbers = array("I", [number for _, number in kept])
    return Packed("".join([f"{term}\n" for term, _ in kept]), numbers.tobytes())


def unpack(packed: Packed) -> Iterator[TaggedTerm]:
    """Deserialize terms that `pack` serialized.

    packed (Packed): the result of `pack`.
    RETURNS (Iterator[TaggedTerm]): the normal forms with the numbers of their tags.
    """
    return zip(packed.text.split("\n")[:-1], array("I", packed.numbers), strict=True)


class PatientPart(NamedTuple):
    """A file of index rows that another process wrote, to be appended to the index with `PatientWriter.take`.

    path (Path): the file with the rows.
    hashes, offsets (bytes): the hash of the patient id and the offset in the file of each row, 64 bits each.
    terms (int): the number of terms in all rows.
    """

    path: Path
    hashes: bytes
    offsets: bytes
    terms: int


class PatientWriter:
    """Writes the files of a `PatientIndex`, one row at a time. It keeps only 16 bytes per row in memory. The index is
    complete after `finish`.

    path (Path): the file for the rows; an existing one is replaced. The other files are written next to it.
    terms (int): the number of terms written so far.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open(path, "wb")  # noqa: SIM115 - closed by finish or close
        self._hashes, self._offsets = array("Q"), array("Q")
        self._size = 0
        self.terms = 0

    def add(self, patient_id: str, packed: Sequence[Packed]) -> None:
        """Write a row with terms of a patient.

        patient_id (str): the normalised id of the patient; see `normal_id`.
        packed (Sequence[Packed]): the terms.
        """
        numbers = b"".join([terms.numbers for terms in packed])
        text = "".join([terms.text for terms in packed]) + patient_id
        data = zlib.compress(numbers + text.encode("utf-8", "surrogatepass"), _LEVEL)
        self.add_row(hash_id(patient_id), len(numbers) // _NUMBER, data)

    def add_row(self, hashed: int, terms: int, data: bytes) -> None:
        """Write a row that is already compressed.

        hashed (int): the hash of the patient id, from `hash_id`.
        terms (int): the number of terms in the row.
        data (bytes): the compressed row, without a header.
        """
        self._file.write(HEAD.pack(len(data), terms) + data)
        self._hashes.append(hashed)
        self._offsets.append(self._size)
        self._size += HEAD.size + len(data)
        self.terms += terms

    def part(self) -> PatientPart:
        """Close the file and describe its rows.

        RETURNS (PatientPart): the file and its rows, which another writer can append with `take`.
        """
        self._file.close()
        return PatientPart(self._path, self._hashes.tobytes(), self._offsets.tobytes(), self.terms)

    def take(self, part: PatientPart) -> None:
        """Append the rows that another writer wrote, and remove its file.

        part (PatientPart): the rows, as returned by `PatientWriter.part` of the other writer.
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
        """Close the file of rows, and write the files with the hashes of the ids and the offsets of the rows.

        RETURNS (int): the number of distinct patients.
        """
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
    """Compute the hash by which the rows of a patient are found in the index.

    patient_id (str): the normalised id; see `normal_id`.
    RETURNS (int): the 64-bit BLAKE2b hash of the id.
    """
    data = patient_id.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


# The length and the number of a term share one integer, of which the automaton keeps 32 bits.
_BITS = MAX_LENGTH.bit_length()
_MASK = (1 << _BITS) - 1


class PatientTerms:
    """Finds the terms of one patient in texts.

    terms (Iterable[tuple[str, Tag]]): the normal form and the tag of each term.
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
        """Return the number of distinct terms."""
        return len(self._tags)

    @property
    def entries(self) -> list[LocalEntry]:
        """The terms as dictionary entries, in normal form and without repetitions."""
        return [LocalEntry(term, *tag) for term, tag in dict.fromkeys(self._terms)]

    @cached_property
    def weak(self) -> "PatientTerms":
        """The single words among the names with a condition, which are also words. Here they have none."""
        names = (entry for entry in self.entries if entry.condition and entry.label in PERSONS)
        words = (entry for entry in names if len(entry.term) > 2 and entry.term.isalpha())
        return PatientTerms((entry.term, Tag(entry.label, entry.rule, "")) for entry in words)

    @cached_property
    def damaged(self) -> DamagedTerms:
        """The names and numbers that are also searched for in a damaged form."""
        return DamagedTerms(self.entries)

    @cached_property
    def _initials(self) -> frozenset[str]:
        """The first letters of the names."""
        return find_initials(self.entries)

    def complete(self, text: str, matches: Iterable[Match]) -> list[Match]:
        """Extend matches of names over initials of the patient, particles between two names, and genitives.

        text (str): the note.
        matches (Iterable[Match]): matches of this patient.
        RETURNS (list[Match]): the matches in text order.
        """
        return complete_names(text, matches, self._initials)

    def __repr__(self) -> str:
        """Return a description with the number of terms, without the terms."""
        return f"PatientTerms({len(self)} terms)"

    def find(self, text: str, folded: Normalised | None = None) -> list[Match]:
        """Find the patient's terms in a text. A match inside another match is dropped; matches can overlap.

        text (str): the original text.
        folded (Normalised): the same text, normalised; None to compute it.
        RETURNS (list[Match]): the matches in text order; a term with several tags gives one match for each tag.
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
    """Reads the terms of patients from the index that a `PatientWriter` wrote.

    folder (Path): the folder with the files of the index.
    tags (Sequence[Tag]): the tags of the dictionary; the first one has number 1.
    """

    def __init__(self, folder: Path, tags: Sequence[Tag]) -> None:
        self._tags = tags
        self._rows = map_file(folder / "patients", np.uint8)
        self._hashes = map_file(folder / "patient-hashes", np.uint64)
        self._offsets = map_file(folder / "patient-offsets", np.uint64)

    def __len__(self) -> int:
        """Return the number of rows, which can be greater than the number of patients."""
        return len(self._hashes)

    def find(self, patient_id: str) -> PatientTerms | None:
        """Read the terms of a patient and prepare them for searching.

        patient_id (str): the id in any spelling; it is normalised.
        RETURNS (PatientTerms): the terms; None if the patient is not in the index.
        """
        own = self._own(patient_id)
        return PatientTerms((term, self._tags[i - 1]) for row in own for term, i in row.terms) if own else None

    def __contains__(self, patient_id: str) -> bool:
        """Return whether the index has at least one term of a patient."""
        return any(row.terms for row in self._own(patient_id))

    def tagged_terms(self, patient_id: str) -> list[TaggedTerm]:
        """Read the terms of a patient as they are stored, to write them to another index.

        patient_id (str): the id in any spelling; it is normalised.
        RETURNS (list[TaggedTerm]): terms with the numbers of their tags; empty if the patient is not in the index.
        """
        return [ready for row in self._own(patient_id) for ready in row.terms]

    def ids(self) -> Iterator[str]:
        """Yield the patient id of each row, in file order. The id of a patient with several rows is repeated."""
        return (self._read(offset).patient_id for offset in np.sort(self._offsets).tolist())

    def terms(self) -> Iterator[tuple[str, Tag]]:
        """Yield the terms of all patients with their tags, in file order."""
        for offset in np.sort(self._offsets).tolist():
            yield from ((term, self._tags[number - 1]) for term, number in self._read(offset).terms)

    def copy(self, writer: PatientWriter, left_out: Set[str]) -> None:
        """Copy the rows to the writer of a new index.

        writer (PatientWriter): the writer of the new index. Rows are copied with the numbers of their tags, so the
            tags of the new index must begin with those of this one, in the same order.
        left_out (Set[str]): the ids of the patients whose rows are not copied.
        """
        left_out = {normal_id(patient_id) for patient_id in left_out}
        hashes = {hash_id(patient_id) for patient_id in left_out}
        order = np.argsort(self._offsets)
        for hashed, offset in zip(self._hashes[order].tolist(), self._offsets[order].tolist(), strict=True):
            if hashed not in hashes or self._read(offset).patient_id not in left_out:
                writer.add_row(hashed, *self._compressed(offset))

    def _own(self, patient_id: str) -> list[Row]:
        """Read all rows of a patient."""
        patient_id = normal_id(patient_id)
        wanted = np.uint64(hash_id(patient_id))
        first, last = np.searchsorted(self._hashes, wanted), np.searchsorted(self._hashes, wanted, side="right")
        rows = [self._read(offset) for offset in self._offsets[first:last].tolist()]
        return [row for row in rows if row.patient_id == patient_id]

    def _compressed(self, offset: int) -> tuple[int, bytes]:
        """Return the number of terms of the row at an offset, and its compressed data."""
        start = offset + HEAD.size
        size, count = HEAD.unpack(self._rows[offset:start].tobytes())
        return count, self._rows[start : start + size].tobytes()

    def _read(self, offset: int) -> Row:
        """Read and decompress the row at an offset."""
        count, data = self._compressed(offset)
        return read_row(data, count)


def _drop_needless(tags: Iterable[Tag]) -> tuple[Tag, ...]:
    """Drop repeated tags, and tags with a condition if the same label and rule also occur without it."""
    kept = dict.fromkeys(tags)
    return tuple(tag for tag in kept if not (tag.condition and tag._replace(condition="") in kept))
