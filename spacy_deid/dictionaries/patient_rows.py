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
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .entries import Ready

__all__ = ["HEAD", "Packed", "PatientPart", "PatientWriter", "Row", "hash_id", "pack", "read_row", "unpack"]

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
