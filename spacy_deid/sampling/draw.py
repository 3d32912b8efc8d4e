"""The notes that a group's part of the sample is chosen from, kept while a table streams by.

Notes stand in the order of the hash of their ids under the seed: a random one that does not depend on the order of the
table. A pool keeps the first notes of the first patients, so that distinct patients are there if the group has
them, and the first notes of all, to fill up from if it has not. Its size does not grow with the table.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from ..errors import Errors, InputError
from ..notes.source import Columns, Key, NoteSource, as_id, as_text, require_columns
from ..patient_ids import normal_id
from .sample import UNDATED, Drawn, Finder, Group, Sample, Settings, allocate, make_period


class Candidate(NamedTuple):
    """A note that may be drawn. Candidates sort in their random order.

    order (int): where it stands. patient (str): whose it is; a note of nobody is a patient of its own.
    known (bool): whether it has a patient. key (Key): how to find it. group (int): number of its group.
    """

    order: int
    patient: str
    known: bool
    key: Key
    group: int


def draw_order(seed: int, value: str) -> int:
    """Where something stands in the order of a seed.

    seed (int): the seed. value (str): an id.
    RETURNS (int): 64 bits.
    """
    data = f"{seed}/{value}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


class Pool:
    """The candidates of a group.

    size (int): how many patients, and how many notes of any, are kept.
    per_patient (int): how many notes of one patient are kept for the choice between them.
    """

    def __init__(self, size: int, per_patient: int) -> None:
        self._size, self._per_patient = size, per_patient
        self._patients: dict[int, list[Candidate]] = {}
        self._last: list[int] = []  # heap of the patients' orders, negative, so that the last one is on top
        self._notes: list[tuple[int, int, Candidate]] = []  # heap of notes, the last one on top

    def add(self, candidate: Candidate, patient_order: int) -> None:
        """Offer a note.

        candidate (Candidate): the note. patient_order (int): where its patient stands.
        """
        entry = (-candidate.order, -candidate.key.row, candidate)
        if len(self._notes) < self._size:
            heapq.heappush(self._notes, entry)
        else:
            heapq.heappushpop(self._notes, entry)
        self._add_patient(candidate, patient_order)

    def _add_patient(self, candidate: Candidate, order: int) -> None:
        """Keep a note if its patient is among the first."""
        kept = self._patients.get(order)
        if kept is None:
            if len(self._patients) == self._size:
                if order > -self._last[0]:
                    return
                del self._patients[-heapq.heappop(self._last)]
            heapq.heappush(self._last, -order)
            kept = self._patients[order] = []
        kept.append(candidate)
        if len(kept) > self._per_patient:
            kept.remove(max(kept, key=lambda c: (c.order, c.key.row)))

    def __iter__(self) -> Iterator[Candidate]:
        """The candidates, each once, in their order."""
        notes = {c.key.row: c for kept in self._patients.values() for c in kept}
        notes |= {candidate.key.row: candidate for _, _, candidate in self._notes}
        return iter(sorted(notes.values(), key=lambda c: (c.order, c.key.row)))


_MAX_GROUPS = 50_000
_UNTYPED = "untyped"


def make_sample(source: NoteSource, columns: Columns, settings: Settings, find: Finder | None = None) -> Sample:
    """Draw a sample.

    source (NoteSource): the table. columns (Columns): its columns. settings (Settings): how to draw.
    find (Optional[Finder]): tells notes that hold their own patient's identifiers; None to draw without.
    RETURNS (Sample): the notes and the frame.
    RAISES: InputError for a missing column (D741), a text that is none (D742), a table without notes (D743), too many
        groups (D744), an id that stands twice (D745), a table that changed meanwhile (D746) or no date that can be
        read (D751).
    """
    require_columns(source, columns.named())
    drawing = _Drawing(source, columns, settings)
    sample = Sample(settings, drawing.count())
    sample.rows, sample.skipped = drawing.rows, drawing.skipped
    allocate(sample.groups, settings.size, settings.least, settings.weighting)
    candidates = drawing.collect()
    sample.notes = drawing.choose(candidates, find)
    return sample


class _Drawing:
    """One run over a table."""

    def __init__(self, source: NoteSource, columns: Columns, settings: Settings) -> None:
        self._source, self._columns, self._settings = source, columns, settings
        self._period = make_period(settings.period, settings.date_format)
        self._groups: dict[tuple[str, str], Group] = {}
        self._ordered: list[Group] = []
        self.rows = 0
        self.skipped: Counter[str] = Counter()
        self._read_words = not columns.words
        self._empty: set[int] = set()  # notes without words, as far as text was read

    def count(self) -> list[Group]:
        """Count the groups."""
        undated = 0
        for row, (note_id, _, kind, day, length) in self._scan(with_length=True):
            self.rows = row
            words = self._words(length, row)
            if self._columns.note_id and as_id(note_id) is None:
                self.skipped["no note id"] += 1
            elif not words:
                self.skipped["empty"] += 1
                self._empty.add(self._order(note_id, row))
            else:
                group = self._group(kind, day)
                group.documents += 1
                group.words += words
                undated += group.period == UNDATED
        if not self._groups:
            skipped = ", ".join(f"{count} {reason}" for reason, count in self.skipped.items()) or "none skipped"
            raise InputError(Errors.D743.format(source=self._source.name, rows=self.rows, skipped=skipped))
        if self._columns.date and undated == sum(group.documents for group in self._groups.values()):
            raise InputError(Errors.D751.format(source=self._source.name, rows=undated))
        self._ordered = [self._groups[key] for key in sorted(self._groups)]
        return self._ordered

    def _scan(self, with_length: bool) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Rows with their numbers: note id, patient id, type, date, and on demand what tells the length."""
        columns = self._columns
        length = (columns.words or columns.text) if with_length else columns.words
        fields = [columns.note_id, columns.patient_id, columns.note_type, columns.date, length]
        asked = [name for name in fields if name]
        places = [asked.index(name) if name else -1 for name in fields]
        for row, values in enumerate(self._source.scan(asked), start=1):
            yield row, tuple(values[place] if place >= 0 else None for place in places)

    def _order(self, note_id: Any, row: int) -> int:
        """Where a note stands in the random order. Databases give their rows in another order each time."""
        return draw_order(self._settings.seed, f"note/{as_id(note_id) or row}")

    def _words(self, length: Any, row: int) -> int:
        """The number of words of a note."""
        try:
            if self._read_words:
                return len(as_text(length).split())
            return 0 if length is None or length != length else max(0, int(length))
        except (TypeError, ValueError, OverflowError):
            reason = "the text is not a string" if self._read_words else "the number of words is not a number"
            raise InputError(Errors.D742.format(source=self._source.name, row=row, reason=reason)) from None

    def _group(self, kind: Any, day: Any) -> Group:
        """The group of a note."""
        period = self._period(day) if self._columns.date else ""
        key = (as_id(kind) or _UNTYPED, period)
        if key not in self._groups:
            if len(self._groups) == _MAX_GROUPS:
                reason = {"limit": _MAX_GROUPS, "column": self._columns.note_type}
                raise InputError(Errors.D744.format(source=self._source.name, **reason))
            self._groups[key] = Group(*key)
        return self._groups[key]

    def collect(self) -> list[list[Candidate]]:
        """Keep the candidates of each group."""
        settings = self._settings
        numbers = {id(group): i for i, group in enumerate(self._ordered)}
        pools = [Pool(group.planned * settings.pool, settings.per_patient) for group in self._ordered]
        left = [group.documents for group in self._ordered]
        for row, (note_id, patient_id, kind, day, length) in self._scan(with_length=False):
            patient, order = normal_id(patient_id) or None, self._order(note_id, row)
            counted = order not in self._empty if self._read_words else bool(self._words(length, row))
            if not counted or (self._columns.note_id and as_id(note_id) is None):
                continue
            group = self._group(kind, day)
            if id(group) not in numbers or row > self.rows:
                raise InputError(Errors.D746.format(source=self._source.name, count=1))
            owner = patient or f"row/{row}"
            number = numbers[id(group)]
            candidate = Candidate(order, owner, patient is not None, Key(row, note_id), number)
            pools[number].add(candidate, draw_order(settings.seed, f"patient/{number}/{owner}"))
            left[number] -= 1
        candidates = [list(pool) for pool in pools]
        self._refuse_duplicates(candidates)
        if missing := sum(map(abs, left)):
            raise InputError(Errors.D746.format(source=self._source.name, count=missing))
        return candidates

    def _refuse_duplicates(self, candidates: Sequence[Sequence[Candidate]]) -> None:
        """Make sure that the ids of the candidates are ids; those of other notes do not matter."""
        rows: dict[str, int] = {}
        for candidate in (c for pool in candidates for c in pool):
            ident = as_id(candidate.key.note_id)
            if ident is not None and ident in rows:
                both = sorted((rows[ident], candidate.key.row))
                raise InputError(Errors.D745.format(source=self._source.name, rows=f"{both[0]} and {both[1]}"))
            if ident is not None:
                rows[ident] = candidate.key.row

    def choose(self, candidates: Sequence[Sequence[Candidate]], find: Finder | None) -> list[Drawn]:
        """Choose among the candidates, the groups with the fewest patients to choose from first."""
        identified = self._identified(candidates, find) if find else {}
        taken: Counter[str] = Counter()
        chosen: list[list[Candidate]] = [[] for _ in candidates]
        for number in sorted(range(len(candidates)), key=lambda i: (len({c.patient for c in candidates[i]}), i)):
            chosen[number] = _choose(candidates[number], self._ordered[number].planned, identified, taken)
            taken.update(candidate.patient for candidate in chosen[number])
        return self._finish([c for part in chosen for c in part], identified, find is not None)

    def _identified(self, candidates: Sequence[Sequence[Candidate]], find: Finder) -> dict[int, bool | None]:
        """By row, whether a candidate holds identifiers of its own patient. No text is kept."""
        owners = {c.key.row: c.patient for pool in candidates for c in pool if c.known}
        keys = [c.key for pool in candidates for c in pool if c.known]
        return {row: find(owners[row], text) for row, text in self._texts(keys)}

    def _texts(self, keys: Sequence[Key]) -> Iterator[tuple[int, str]]:
        """Read texts. RAISES: InputError as `make_sample`."""
        seen: set[int] = set()
        for row, value in self._source.texts(keys, self._columns):
            if row in seen:
                raise InputError(Errors.D745.format(source=self._source.name, rows=f"{row} and another"))
            seen.add(row)
            try:
                text = as_text(value)
                text.encode("utf-8")  # JSON can say half of a surrogate pair, and no other format can
            except (TypeError, UnicodeEncodeError):
                reason = "the text is not a string, or holds half of a surrogate pair"
                raise InputError(Errors.D742.format(source=self._source.name, row=row, reason=reason)) from None
            yield row, text
        if missing := len(keys) - len(seen):
            raise InputError(Errors.D746.format(source=self._source.name, count=missing))

    def _finish(self, chosen: Sequence[Candidate], identified: Mapping[int, bool | None], looked: bool) -> list[Drawn]:
        """Read the texts of what was chosen and note in the groups what was drawn."""
        texts = dict(self._texts([candidate.key for candidate in chosen]))
        drawn = []
        for number, candidate in enumerate(chosen, start=1):
            group, key = self._ordered[candidate.group], candidate.key
            patient = candidate.patient if candidate.known else None
            found = identified.get(key.row) if looked else None
            drawn.append(Drawn(f"n{number:06}", as_id(key.note_id), patient, group, key.row, found, texts[key.row]))
        _describe(self._ordered, chosen, drawn, looked)
        return drawn


def _choose(
    candidates: Iterable[Candidate], count: int, identified: Mapping[int, bool | None], taken: Mapping[str, int]
) -> list[Candidate]:
    """Choose by how often a patient is there already, then by identifiers, then by the order of the seed."""
    by_patient: dict[str, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda c: (not identified.get(c.key.row), c.order, c.key.row)):
        by_patient.setdefault(candidate.patient, []).append(candidate)
    ranked = [
        (
            taken.get(patient, 0) + i,
            not identified.get(candidate.key.row),
            candidate.order,
            candidate.key.row,
            candidate,
        )
        for patient, notes in by_patient.items()
        for i, candidate in enumerate(notes)
    ]
    return [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:-1])[:count]]


def _describe(groups: Sequence[Group], chosen: Sequence[Candidate], drawn: Sequence[Drawn], looked: bool) -> None:
    """Note in each group what was drawn from it."""
    patients: dict[int, set[str]] = {}
    for candidate in chosen:
        patients.setdefault(candidate.group, set()).add(candidate.patient)
    for i, group in enumerate(groups):
        group.patients = len(patients.get(i, ()))
        group.with_identifiers = 0 if looked else None
    for note in drawn:
        note.group.drawn += 1
        if looked:
            note.group.with_identifiers = (note.group.with_identifiers or 0) + bool(note.identified)
