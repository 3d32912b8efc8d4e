"""The patient index: for each patient a handful of terms, in a file that is mapped into memory.

A row holds the id of a patient with the terms and their tags, compressed to a quarter. A sorted file of hashes of the
ids tells where each row begins; a patient may have several rows. A note is searched for the terms of its own patient
alone: the row is read and made into a small automaton, which takes less time than to search the text for each term by
itself. All processes share the files, and there is no connection that a fork could break.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain
from pathlib import Path

import ahocorasick
import numpy as np

from ..patient_ids import normal_id
from .conditions import Flags, settle
from .entries import LocalEntry, Ready, Tag
from .institution_writer import map_file
from .matcher import Match
from .normalise import Normalised, normalise
from .patient_rows import HEAD, PatientWriter, Row, hash_id, read_row
from .terms import MAX_LENGTH

__all__ = ["PatientIndex", "PatientTerms"]

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
