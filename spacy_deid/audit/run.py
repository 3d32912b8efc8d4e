"""Run an audit: read the notes, search them, estimate leak rates, and format the result as a table.

By chance, a note contains identifiers of people who live in the same place, have the same age and similar names more
often than those of other people. As a control, each note is therefore searched for other patients, drawn from those
with notes of the same type, ward, language or other group: chance hits are as likely for them as for its own patient.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

from ..errors import Errors, InputError
from ..notes.source import Columns, NoteSource, as_id, as_text, require_columns
from ..patient_ids import normal_id
from ..processes import follow_parent
from .estimate import FacetTotals, Rate
from .search import ALL, Facet, Note, NoteHits, Searcher

_BATCH = 64
_AHEAD = 8  # batches per process that are submitted at once
_SIZE = 300  # patients per panel, limited to save memory
_PANELS = 2_000  # maximum number of panels; later groups use the panel of all patients


class PatientPanels:
    """Keeps a random selection of patients for each group of notes, from which control patients are drawn.

    The selection depends on the seed and the patient ids, not on the order of the notes.

    seed (int): random seed.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._panels: dict[Hashable, _Panel] = {}
        self._all = _Panel()

    def add(self, group: Hashable, patient: str) -> None:
        """Add a patient to the selection of a group.

        group (Hashable): a group in which the patient has a note.
        patient (str): id of the patient.
        """
        data = f"{self._seed}/{patient}".encode("utf-8", "surrogatepass")
        order = int.from_bytes(blake2b(data, digest_size=8).digest(), "big")
        self._all.add(order, patient)
        if group in self._panels or len(self._panels) < _PANELS:
            self._panels.setdefault(group, _Panel()).add(order, patient)

    def draw(self, group: Hashable, own: str, count: int, rng: Random) -> tuple[str, ...]:
        """Draw other patients from a group, or from all patients if the group is too small.

        group (Hashable): group of the note to search.
        own (str): id of its own patient, who is not drawn.
        count (int): number of patients.
        rng (Random): random number generator.
        RETURNS (tuple[str, ...]): the patients; fewer if there are not enough.
        """
        panel = self._panels.get(group, self._all)
        return draw_other_patients((panel if len(panel) > count else self._all).patients(), own, count, rng)


class _Panel:
    """A random selection of at most `_SIZE` patients: those with the smallest hashes."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []  # heap with the last patient on top
        self._known: set[str] = set()
        self._sorted: list[str] | None = None

    def __len__(self) -> int:
        """Return the number of selected patients."""
        return len(self._heap)

    def add(self, order: int, patient: str) -> None:
        """Select a patient if its hash `order` is among the smallest."""
        if patient in self._known:
            return
        self._sorted = None
        self._known.add(patient)
        if len(self._heap) < _SIZE:
            heapq.heappush(self._heap, (-order, patient))
        else:
            self._known.remove(heapq.heappushpop(self._heap, (-order, patient))[1])

    def patients(self) -> list[str]:
        """Return the selected patients, sorted by id."""
        if self._sorted is None:
            self._sorted = sorted(patient for _, patient in self._heap)
        return self._sorted


def draw_other_patients(patients: list[str], own: str, count: int, rng: Random) -> tuple[str, ...]:
    """Draw patients other than a given one, without replacement.

    patients (list[str]): ids to draw from.
    own (str): id that is not drawn.
    count (int): number of patients.
    rng (Random): random number generator.
    RETURNS (tuple[str, ...]): the patients; fewer if there are not enough.
    """
    drawn = rng.sample(patients, min(count + 1, len(patients)))
    return tuple(patient for patient in drawn if patient != own)[:count]


_GROUPS = 1_000  # maximum number of groups in one column; a column with more values contains ids
_NONE = {"type": "untyped"}


class NoteReader:
    """Reads a table of notes twice: first to find the patients and draw control patients, then to read the notes.

    source (NoteSource): table of notes.
    columns (Columns): names of its columns; those of note id and note type may be "".
    by (Sequence[str]): further columns to group notes by.
    draws, seed (int): number of control patients per note, and random seed; see `AuditSettings`.
    RAISES: InputError (D741) for a missing column.
    """

    def __init__(self, source: NoteSource, columns: Columns, by: Sequence[str], draws: int, seed: int) -> None:
        self._source, self._columns, self._draws, self._seed = source, columns, draws, seed
        self._groups = {"type": columns.note_type, **{f"column:{name}": name for name in by}}
        self._values: dict[str, set[str]] = {name: set() for name in self._groups}
        named = (columns.note_id, columns.patient_id, columns.text, *self._groups.values())
        self._asked = [name for name in dict.fromkeys(named) if name]
        require_columns(source, self._asked)
        self._panels = PatientPanels(seed)
        self.patients: dict[str, int] = {}
        self.notes = 0
        self.skipped: Counter[str] = Counter()

    def find_patients(self, knows: Callable[[str], bool]) -> None:
        """First pass: number the patients that can be searched for, and select the control patients.

        knows (Callable): returns whether the patient index contains a patient id.
        RAISES: InputError (D761) if a group column has too many values.
        """
        known: dict[str, bool] = {}
        asked = [name for name in dict.fromkeys((self._columns.patient_id, *self._groups.values())) if name]
        for values in self._source.scan(asked):
            given = dict(zip(asked, values, strict=True))
            patient = normal_id(given[self._columns.patient_id]) or None
            if patient is not None and patient not in known:
                known[patient] = knows(patient)
            if patient is not None and known[patient]:
                self._panels.add(self._facets(given), patient)
        self.patients = {patient: i for i, patient in enumerate(sorted(p for p, held in known.items() if held))}

    def read(self) -> Iterator[tuple[Note, str | None]]:
        """Second pass: yield the notes that can be searched, with their ids. The others are counted in `skipped`.

        RAISES: InputError for a text that is not a string (D742), or a group column with too many values (D761).
        """
        for row, values in enumerate(self._source.scan(self._asked), start=1):
            given = dict(zip(self._asked, values, strict=True))
            self.notes += 1
            patient = normal_id(given[self._columns.patient_id]) or None
            try:
                text = as_text(given[self._columns.text])
            except TypeError:
                reason = "the text is not a string"
                raise InputError(Errors.D742.format(source=self._source.name, row=row, reason=reason)) from None
            if patient not in self.patients or not text.strip():
                known = "empty" if patient in self.patients else "patient not in the index"
                self.skipped["no patient id" if patient is None else known] += 1
                continue
            note_id = as_id(given.get(self._columns.note_id))
            # A database may return its rows in a different order each time.
            rng, facets = Random(f"{self._seed}/{note_id or row}"), self._facets(given)
            yield Note(row, patient, facets, text, self._panels.draw(facets, patient, self._draws, rng)), note_id

    def _facets(self, given: Mapping[str, Any]) -> tuple[Facet, ...]:
        """Return the groups of a note. RAISES: InputError (D761) if a group column has too many values."""
        facets = tuple(
            Facet(name, as_id(given.get(column)) or _NONE.get(name, "none")) for name, column in self._groups.items()
        )
        for name, value in facets:
            self._values[name].add(value)
            if len(self._values[name]) > _GROUPS:
                where = {"column": self._groups[name], "limit": _GROUPS}
                raise InputError(Errors.D761.format(source=self._source.name, **where))
        return facets


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Settings of an audit.

    draws (int): number of other patients that each note is searched for, to estimate chance hits.
    fuzzy (bool): whether to search for misspelt names.
    seed (int): random seed of the control patients.
    n_process (int): number of processes.
    by (tuple[str, ...]): columns to group notes by, in addition to their type.
    """

    draws: int = 5
    fuzzy: bool = True
    seed: int = 0
    n_process: int = 1
    by: tuple[str, ...] = ()


@dataclass(slots=True)
class Audit:
    """The result of an audit: counts and leak rates, without text.

    settings (AuditSettings): settings of the audit.
    rates (dict[Facet, Rate]): leak rates by facet, a subset of the hits such as those of one note type.
    notes (int): number of all notes.
    skipped (Counter): notes that could not be audited, by reason.
    patients (int): number of patients of the audited notes.
    """

    settings: AuditSettings
    rates: dict[Facet, Rate] = field(default_factory=dict)
    notes: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    patients: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON, with the facets that have most notes first."""
        by: dict[str, dict[str, Any]] = {}
        for facet, rate in sorted(self.rates.items(), key=lambda item: (item[0].by, -item[1].notes, item[0].name)):
            by.setdefault(facet.by, {})[facet.name] = rate.as_dict()
        settings = {key: value for key, value in asdict(self.settings).items() if key != "n_process"}
        audited = self.notes - self.skipped.total()
        counts = {"notes": self.notes, "audited": audited, "skipped": dict(sorted(self.skipped.items()))}
        return {"settings": settings, **counts, "patients": self.patients, "leaks": by}


def run_audit(
    source: NoteSource,
    columns: Columns,
    store: Path,
    settings: AuditSettings,
    take: Callable[[NoteHits, str | None, str], None] = lambda found, note_id, text: None,
) -> Audit:
    """Search de-identified notes for identifiers of their own patients and estimate leak rates.

    source (NoteSource): table of notes.
    columns (Columns): names of its columns; those of note id and note type may be "".
    store (Path): folder of the dictionaries, with the patient index.
    settings (AuditSettings): settings of the audit.
    take (Callable): called for every note with a hit, with the hits, the note id (None if unknown) and the text.
    RETURNS (Audit): counts and leak rates.
    RAISES: InputError for a missing column (D741), a text that is not a string (D742), no note that can be audited
        (D760), or a group column that contains ids (D761).
    """
    reader = NoteReader(source, columns, settings.by, settings.draws, settings.seed)
    searcher = Searcher(store, settings.fuzzy)
    reader.find_patients(searcher.knows)
    totals = FacetTotals(len(reader.patients))
    with ExitStack() as stack:
        search = _searching(searcher, settings.n_process, stack)
        for (note, note_id), found in search(reader.read()):
            totals.add(reader.patients[note.patient], found.counts)
            if found.hits:
                take(found, note_id, note.text)
    if not len(totals):
        skipped = ", ".join(f"{count} {reason}" for reason, count in reader.skipped.items()) or "no rows"
        raise InputError(Errors.D760.format(source=source.name, skipped=skipped))
    rates = totals.rates()
    return Audit(settings, rates, reader.notes, reader.skipped, rates[ALL].patients)


_Item = tuple[Note, str | None]
_Searching = Callable[[Iterator[_Item]], Iterator[tuple[_Item, NoteHits]]]


def _searching(searcher: Searcher, n_process: int, stack: ExitStack) -> _Searching:
    """Return a function that searches notes, in this process or in `n_process` worker processes."""
    if n_process == 1:
        return lambda items: ((item, searcher.search(item[0])) for item in items)
    pool = stack.enter_context(get_context("spawn").Pool(n_process, _start, (searcher,)))

    def search(items: Iterator[_Item]) -> Iterator[tuple[_Item, NoteHits]]:
        batches = iter(lambda: list(islice(items, _BATCH)), [])
        # A pool reads its whole input at once, so it is given a few batches at a time.
        while some := list(islice(batches, _AHEAD * n_process)):
            found = pool.map(_search, [[note for note, _ in batch] for batch in some], chunksize=1)
            for batch, results in zip(some, found, strict=True):
                yield from zip(batch, results, strict=True)

    return search


_searcher: Searcher | None = None


def _start(searcher: Searcher) -> None:
    """Initialize a worker process: keep its searcher, and end the process when its parent ends."""
    global _searcher
    follow_parent()
    _searcher = searcher


def _search(notes: list[Note]) -> list[NoteHits]:
    """Search a batch of notes in a worker process."""
    assert _searcher is not None
    return [_searcher.search(note) for note in notes]


_TITLES = {"all": "", "type": "by note type", "source": "by source", "kind": "by kind", "form": "by form"}
_COLUMN = "column:"
_WIDTH = 36


def format_audit(report: Mapping[str, Any]) -> str:
    """Format the result of an audit as plain text tables, one per kind of facet.

    report (Mapping): the result of `Audit.as_dict`.
    RETURNS (str): lines of text.
    """
    lines = [f"{report['audited']} of {report['notes']} notes audited, of {report['patients']} patients"]
    lines += [f"{count} notes left out: {reason}" for reason, count in report["skipped"].items()]
    columns = {by: f"by {by.removeprefix(_COLUMN)}" for by in report["leaks"] if by.startswith(_COLUMN)}
    for by, title in (_TITLES | columns).items():
        rates = report["leaks"].get(by, {})
        head = f"{'notes':>8}{'hits':>7}{'chance':>9}{'leak rate':>11}   95 % interval"
        if rates:
            lines += ["", f"{_cut(title)}{head}"]
        for name, rate in rates.items():
            chance = "–" if rate["expected"] is None else f"{rate['expected']:.4f}"
            figures = f"{rate['notes']:>8}{rate['hits']:>7}{chance:>9}{rate['leak_rate']:>11.4f}"
            lines.append(f"{_cut(name)}{figures}   [{rate['interval'][0]:.4f}, {rate['interval'][1]:.4f}]")
    return "\n".join(lines) + "\n"


def _cut(name: str) -> str:
    """Pad or cut a name to the width of its column."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)
    return f"{shown[: _WIDTH - 1]:<{_WIDTH}}"
