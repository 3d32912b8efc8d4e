"""The rows of the patient index, and what writes them.

A row is compressed: the numbers of the tags, the terms and, last, the id of the patient. Before it stand its length
and the number of its terms. The index beside the rows is two files of numbers: hashes of the ids, sorted, and where
each row begins.
"""

import hashlib
import shutil
import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import ahocorasick
import numpy as np

from ..patient_ids import normal_id
from .conditions import Flags, settle
from .institution import map_file
from .matcher import Match
from .normalise import Normalised, normalise
from .terms import MAX_LENGTH, LocalEntry, Ready, Tag

HEAD = struct.Struct("<II")
"""Before each row: its bytes, its terms."""

_NUMBER = array("I").itemsize
_LEVEL = 1  # of compression
_COPIED = 1 << 22  # bytes that are copied at once


class Row(NamedTuple):
    """A row of the index.

    patient_id (str): the id.
    terms (list[Ready]): terms and the numbers of their tags.
    """

    patient_id: str
    terms: list[Ready]

    def __repr__(self) -> str:
        """The number of terms."""
        return f"Row({len(self.terms)} terms)"


def read_row(data: bytes, count: int) -> Row:
    """Read a row.

    data (bytes): what a writer compressed.
    count (int): how many terms it has.
    RETURNS (Row): the row.
    """
    data = zlib.decompress(data)
    numbers, text = data[: count * _NUMBER], data[count * _NUMBER :].decode("utf-8", "surrogatepass")
    *terms, patient_id = text.split("\n", count)
    return Row(patient_id, list(zip(terms, array("I", numbers), strict=True)))


class Packed(NamedTuple):
    """Terms as they are written. A value's can be kept for all patients who have it.

    text (str): the terms, each with a line break behind it.
    numbers (bytes): numbers of their tags, of 32 bits.
    """

    text: str
    numbers: bytes

    def __repr__(self) -> str:
        """The number of terms."""
        return f"Packed({len(self.numbers) // _NUMBER} terms)"


def pack(ready: Iterable[Ready]) -> Packed:
    """Pack terms, each with the same tag once.

    ready (Iterable[Ready]): the terms.
    RETURNS (Packed): the terms.
    """
    kept = dict.fromkeys(ready)
    numbers = array("I", [number for _, number in kept])
    return Packed("".join([f"{term}\n" for term, _ in kept]), numbers.tobytes())


def unpack(packed: Packed) -> Iterator[Ready]:
    """The terms and the numbers of their tags.

    packed (Packed): what `pack` made.
    RETURNS (Iterator[Ready]): terms and numbers.
    """
    return zip(packed.text.split("\n")[:-1], array("I", packed.numbers), strict=True)


class PatientPart(NamedTuple):
    """Rows that another process wrote, to be joined to others.

    path (Path): the file.
    hashes, offsets (bytes): of each row, numbers of 64 bits.
    terms (int): how many terms there are.
    """

    path: Path
    hashes: bytes
    offsets: bytes
    terms: int


class PatientWriter:
    """Writes rows of a `PatientIndex` from a stream. It holds 16 bytes a row in memory.

    path (Path): the file; it is replaced.
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
        """Write a row that is compressed already.

        hashed (int): hash of the patient id.
        terms (int): how many terms it has.
        data (bytes): the row.
        """
        self._file.write(HEAD.pack(len(data), terms) + data)
        self._hashes.append(hashed)
        self._offsets.append(self._size)
        self._size += HEAD.size + len(data)
        self.terms += terms

    def part(self) -> PatientPart:
        """Close the file. RETURNS (PatientPart): what another writer needs to take the rows."""
        self._file.close()
        return PatientPart(self._path, self._hashes.tobytes(), self._offsets.tobytes(), self.terms)

    def take(self, part: PatientPart) -> None:
        """Take the rows that another writer wrote, and remove its file.

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
        """Write the index beside the rows. RETURNS (int): the number of patients."""
        self._file.close()
        hashes, offsets = np.array(self._hashes), np.array(self._offsets)
        order = np.argsort(hashes, kind="stable")
        self._path.with_name("patient-hashes").write_bytes(hashes.take(order).tobytes())
        self._path.with_name("patient-offsets").write_bytes(offsets.take(order).tobytes())
        return len(np.unique(hashes))

    def close(self) -> None:
        """Let the file go, written or not."""
        self._file.close()


def hash_id(patient_id: str) -> int:
    """A number of 64 bits for an id.

    patient_id (str): the id.
    RETURNS (int): the number.
    """
    data = patient_id.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


# A length and a number of a term share one integer; the automaton keeps 32 bits of it.
_BITS = MAX_LENGTH.bit_length()
_MASK = (1 << _BITS) - 1


class PatientTerms:
    """The terms of one patient. Its repr shows none of them.

    terms (Iterable[tuple[str, Tag]]): normal forms and their tags.
    """

    def __init__(self, terms: Iterable[tuple[str, Tag]]) -> None:
        self._terms = list(terms)
        tags: dict[str, list[Tag]] = {}
        for term, tag in self._terms:
            tags.setdefault(term, []).append(tag)
        self._tags = [tuple(found) if len(found) == 1 else _drop_needless(found) for found in tags.values()]
        self._flags = Flags.of(self._tags)
        self._automaton = ahocorasick.Automaton(ahocorasick.STORE_INTS)
        for i, term in enumerate(tags):
            self._automaton.add_word(term, i << _BITS | len(term))
        self._automaton.make_automaton()

    def __len__(self) -> int:
        """The number of different terms."""
        return len(self._tags)

    @property
    def entries(self) -> list[LocalEntry]:
        """The terms in normal form."""
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
        numbers = values.take(held) >> _BITS
        tags = [self._tags[i] for i in numbers.tolist()]
        return settle(text, folded, starts.take(held), ends.take(held), tags, self._flags.take(numbers), own=True)


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
        return PatientTerms((term, self._tags[i - 1]) for row in own for term, i in row.terms) if own else None

    def __contains__(self, patient_id: str) -> bool:
        """Whether there is a patient of whom there are terms."""
        return any(row.terms for row in self._own(patient_id))

    def ready(self, patient_id: str) -> list[Ready]:
        """What was written of a patient.

        patient_id (str): the id.
        RETURNS (list[Ready]): terms and numbers of tags; empty if there is no such patient.
        """
        return [ready for row in self._own(patient_id) for ready in row.terms]

    def ids(self) -> Iterator[str]:
        """Yield the id of each row, in the order of the file."""
        return (self._read(offset).patient_id for offset in np.sort(self._offsets).tolist())

    def terms(self) -> Iterator[tuple[str, Tag]]:
        """Yield the terms of all patients with their tags, in the order of the file."""
        for offset in np.sort(self._offsets).tolist():
            yield from ((term, self._tags[number - 1]) for term, number in self._read(offset).terms)

    def copy(self, writer: PatientWriter, left_out: Set[str]) -> None:
        """Copy the rows as they are.

        writer (PatientWriter): where they go; its tags begin with those of this index.
        left_out (Set[str]): ids of patients whose rows are left out.
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
        """The number of terms of a row, and the row as it is compressed."""
        start = offset + HEAD.size
        size, count = HEAD.unpack(self._rows[offset:start].tobytes())
        return count, self._rows[start : start + size].tobytes()

    def _read(self, offset: int) -> Row:
        """Read a row."""
        count, data = self._compressed(offset)
        return read_row(data, count)


def _drop_needless(tags: Iterable[Tag]) -> tuple[Tag, ...]:
    """Drop repeated tags, and those with a condition whose label and rule are there without."""
    kept = dict.fromkeys(tags)
    return tuple(tag for tag in kept if not (tag.condition and tag._replace(condition="") in kept))
