"""Draw a stratified sample in two or three passes over a table. Texts are read only in the last pass.

1. Count the documents and words of each stratum. The text is read here only if no column has the number of words.
2. Collect the candidates of each stratum.
3. Read the candidates, search them for identifiers of their own patient, and choose the notes of the sample.

The choice prefers patients that are not in the sample yet, then notes with identifiers of their own patient, then the
random order. The random order is that of a hash of the seed and the note id, so it does not depend on the order of the
table. The pool of a stratum, its set of candidates, keeps the first notes of the first patients in this order, so that
different patients are available if the stratum has them, and the first notes of all patients to fill up. Its size does
not grow with the table.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from ..errors import Errors, InputError
from ..notes.source import Columns, NoteKey, NoteSource, as_id, as_text, require_columns
from ..patient_ids import normal_id
from .sample import UNDATED, Group, IdentifierFinder, Sample, SampledNote, Settings, allocate, make_period


class Candidate(NamedTuple):
    """A note that may be drawn.

    order (int): its position in the random order.
    patient (str): its patient; a note without a patient id counts as a patient of its own.
    known (bool): whether it has a patient id.
    key (NoteKey): key with which its text can be read from the table.
    group (int): index of its stratum.
    """

    order: int
    patient: str
    known: bool
    key: NoteKey
    group: int


def draw_order(seed: int, value: str) -> int:
    """Compute the position of a note or patient in the random order: 64 bits of a hash of the seed and its id."""
    data = f"{seed}/{value}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


class CandidatePool:
    """Collects the candidates of a stratum in bounded memory: the first patients and notes in the random order.

    size (int): maximal number of patients whose notes are kept, and of notes kept regardless of their patient.
    per_patient (int): maximal number of notes kept for each of these patients.
    """

    def __init__(self, size: int, per_patient: int) -> None:
        self._size, self._per_patient = size, per_patient
        self._patients: dict[int, list[Candidate]] = {}
        self._last: list[int] = []  # heap of the negative positions of patients, the last one on top
        self._notes: list[tuple[int, int, Candidate]] = []  # heap of notes, the last one on top

    def add(self, candidate: Candidate, patient_order: int) -> None:
        """Add a note if it is among the first in the random order.

        candidate (Candidate): the note.
        patient_order (int): position of its patient in the random order.
        """
        entry = (-candidate.order, -candidate.key.row, candidate)
        if len(self._notes) < self._size:
            heapq.heappush(self._notes, entry)
        else:
            heapq.heappushpop(self._notes, entry)
        self._add_patient(candidate, patient_order)

    def _add_patient(self, candidate: Candidate, order: int) -> None:
        """Add a note if its patient is among the first in the random order."""
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
        """Iterate over the candidates in the random order, each once."""
        notes = {c.key.row: c for kept in self._patients.values() for c in kept}
        notes |= {candidate.key.row: candidate for _, _, candidate in self._notes}
        return iter(sorted(notes.values(), key=lambda c: (c.order, c.key.row)))


_MAX_GROUPS = 50_000
_UNTYPED = "untyped"


def make_sample(
    source: NoteSource, columns: Columns, settings: Settings, find: IdentifierFinder | None = None
) -> Sample:
    """Draw a stratified sample of notes from a table.

    source (NoteSource): table of notes.
    columns (Columns): names of its columns.
    settings (Settings): settings of the sample.
    find (Optional[IdentifierFinder]): tests whether a note contains identifiers of its own patient, because such notes
        are preferred; None to draw without this preference.
    RETURNS (Sample): the drawn notes, and counts of the table and its strata.
    RAISES: InputError for a missing column (D741), a text that is not a string (D742), a table without notes (D743),
        too many strata (D744), a repeated id (D745), a table that changed between the passes (D746) or dates that
        cannot be parsed (D751).
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
    """The three passes of drawing one sample, and what is kept between them."""

    def __init__(self, source: NoteSource, columns: Columns, settings: Settings) -> None:
        self._source, self._columns, self._settings = source, columns, settings
        self._period = make_period(settings.period, settings.date_format)
        self._groups: dict[tuple[str, str], Group] = {}
        self._ordered: list[Group] = []
        self.rows = 0
        self.skipped: Counter[str] = Counter()
        self._read_words = not columns.words
        self._empty: set[int] = set()  # positions of notes without words, if texts were read

    def count(self) -> list[Group]:
        """Pass 1: count the documents and words of each stratum; return the strata, sorted by type and period."""
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
        """Yield row numbers with note id, patient id, type, date and, on request, the column that gives the length."""
        columns = self._columns
        length = (columns.words or columns.text) if with_length else columns.words
        fields = [columns.note_id, columns.patient_id, columns.note_type, columns.date, length]
        asked = [name for name in fields if name]
        places = [asked.index(name) if name else -1 for name in fields]
        for row, values in enumerate(self._source.scan(asked), start=1):
            yield row, tuple(values[place] if place >= 0 else None for place in places)

    def _order(self, note_id: Any, row: int) -> int:
        """Return the position of a note in the random order, which does not depend on the order of the rows."""
        return draw_order(self._settings.seed, f"note/{as_id(note_id) or row}")

    def _words(self, length: Any, row: int) -> int:
        """Return the number of words of a note. RAISES: InputError (D742) if it cannot be determined."""
        try:
            if self._read_words:
                return len(as_text(length).split())
            return 0 if length is None or length != length else max(0, int(length))
        except (TypeError, ValueError, OverflowError):
            reason = "the text is not a string" if self._read_words else "the number of words is not a number"
            raise InputError(Errors.D742.format(source=self._source.name, row=row, reason=reason)) from None

    def _group(self, kind: Any, day: Any) -> Group:
        """Return the stratum of a note. RAISES: InputError (D744) for too many strata."""
        period = self._period(day) if self._columns.date else ""
        key = (as_id(kind) or _UNTYPED, period)
        if key not in self._groups:
            if len(self._groups) == _MAX_GROUPS:
                reason = {"limit": _MAX_GROUPS, "column": self._columns.note_type}
                raise InputError(Errors.D744.format(source=self._source.name, **reason))
            self._groups[key] = Group(*key)
        return self._groups[key]

    def collect(self) -> list[list[Candidate]]:
        """Pass 2: collect the candidates of each stratum, in the order of the strata."""
        settings = self._settings
        numbers = {id(group): i for i, group in enumerate(self._ordered)}
        pools = [CandidatePool(group.planned * settings.pool, settings.per_patient) for group in self._ordered]
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
            candidate = Candidate(order, owner, patient is not None, NoteKey(row, note_id), number)
            pools[number].add(candidate, draw_order(settings.seed, f"patient/{number}/{owner}"))
            left[number] -= 1
        candidates = [list(pool) for pool in pools]
        self._refuse_duplicates(candidates)
        if missing := sum(map(abs, left)):
            raise InputError(Errors.D746.format(source=self._source.name, count=missing))
        return candidates

    def _refuse_duplicates(self, candidates: Sequence[Sequence[Candidate]]) -> None:
        """Check that the note ids of the candidates are unique. RAISES: InputError (D745) if not."""
        rows: dict[str, int] = {}
        for candidate in (c for pool in candidates for c in pool):
            ident = as_id(candidate.key.note_id)
            if ident is not None and ident in rows:
                both = sorted((rows[ident], candidate.key.row))
                raise InputError(Errors.D745.format(source=self._source.name, rows=f"{both[0]} and {both[1]}"))
            if ident is not None:
                rows[ident] = candidate.key.row

    def choose(self, candidates: Sequence[Sequence[Candidate]], find: IdentifierFinder | None) -> list[SampledNote]:
        """Pass 3: choose notes among the candidates, starting with the strata that have the fewest patients."""
        identified = self._identified(candidates, find) if find else {}
        taken: Counter[str] = Counter()
        chosen: list[list[Candidate]] = [[] for _ in candidates]
        for number in sorted(range(len(candidates)), key=lambda i: (len({c.patient for c in candidates[i]}), i)):
            chosen[number] = _choose(candidates[number], self._ordered[number].planned, identified, taken)
            taken.update(candidate.patient for candidate in chosen[number])
        return self._finish([c for part in chosen for c in part], identified, find is not None)

    def _identified(self, candidates: Sequence[Sequence[Candidate]], find: IdentifierFinder) -> dict[int, bool | None]:
        """Search the candidates whose patient is known. RETURNS (dict): row → whether the note contains identifiers of
        its own patient, as `find` returns it.
        """
        owners = {c.key.row: c.patient for pool in candidates for c in pool if c.known}
        keys = [c.key for pool in candidates for c in pool if c.known]
        return {row: find(owners[row], text) for row, text in self._texts(keys)}

    def _texts(self, keys: Sequence[NoteKey]) -> Iterator[tuple[int, str]]:
        """Yield row and text of notes. RAISES: InputError (D742, D745, D746) if one is invalid, repeated, missing."""
        seen: set[int] = set()
        for row, value in self._source.texts(keys, self._columns):
            if row in seen:
                raise InputError(Errors.D745.format(source=self._source.name, rows=f"{row} and another"))
            seen.add(row)
            try:
                text = as_text(value)
                text.encode("utf-8")  # JSON can contain half of a surrogate pair, which cannot be exported
            except (TypeError, UnicodeEncodeError):
                reason = "the text is not a string or contains half of a surrogate pair"
                raise InputError(Errors.D742.format(source=self._source.name, row=row, reason=reason)) from None
            yield row, text
        if missing := len(keys) - len(seen):
            raise InputError(Errors.D746.format(source=self._source.name, count=missing))

    def _finish(
        self, chosen: Sequence[Candidate], identified: Mapping[int, bool | None], looked: bool
    ) -> list[SampledNote]:
        """Create the notes of the sample from the chosen candidates and update the counts of the strata."""
        texts = dict(self._texts([candidate.key for candidate in chosen]))
        drawn = []
        for number, candidate in enumerate(chosen, start=1):
            group, key = self._ordered[candidate.group], candidate.key
            patient = candidate.patient if candidate.known else None
            found = identified.get(key.row) if looked else None
            drawn.append(
                SampledNote(f"n{number:06}", as_id(key.note_id), patient, group, key.row, found, texts[key.row])
            )
        _describe(self._ordered, chosen, drawn, looked)
        return drawn


def _choose(
    candidates: Iterable[Candidate], count: int, identified: Mapping[int, bool | None], taken: Mapping[str, int]
) -> list[Candidate]:
    """Choose `count` notes: of patients with few notes so far first, then with identifiers, then by random order."""
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


def _describe(
    groups: Sequence[Group], chosen: Sequence[Candidate], drawn: Sequence[SampledNote], looked: bool
) -> None:
    """Set the number of drawn notes, of their patients and of notes with identifiers of each stratum."""
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
