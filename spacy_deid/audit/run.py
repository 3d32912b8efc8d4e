"""Run an audit: read the notes, search them, estimate leak rates, and format the result as a table."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError
from ..notes.source import Columns, NoteSource
from ..processes import follow_parent
from .estimate import FacetTotals, Rate
from .reading import NoteReader
from .search import ALL, Facet, Note, NoteHits, Searcher

_BATCH = 64
_AHEAD = 8  # batches per process that are submitted at once


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Settings of an audit.

    draws (int): number of other patients that each note is searched for, to estimate chance hits.
    fuzzy (bool): whether to search for misspelt names.
    seed (int): random seed.
    bootstrap (int): number of bootstrap replicates.
    n_process (int): number of processes.
    by (tuple[str, ...]): columns to group notes by, in addition to their type.
    """

    draws: int = 5
    fuzzy: bool = True
    seed: int = 0
    bootstrap: int = 1000
    n_process: int = 1
    by: tuple[str, ...] = ()


@dataclass(slots=True)
class Audit:
    """The result of an audit: counts and rates, no text.

    settings (AuditSettings): its settings.
    rates (dict[Facet, Rate]): rates by facet.
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
        """Plain values for JSON: the rates by facet, those with most notes first."""
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
    """Search de-identified notes for identifiers of their own patients.

    source (NoteSource): the notes.
    columns (Columns): its columns; note id and note type may be "".
    store (Path): folder of the dictionaries.
    settings (AuditSettings): the settings.
    take (Callable): called for every note with a hit, with the result, the note id and the text.
    RETURNS (Audit): counts and rates.
    RAISES: InputError for a missing column (D741), a text that is not a string (D742), no note that can be audited
        (D760),
        or a group column that contains ids (D761).
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
    rates = totals.rates(settings.bootstrap, settings.seed)
    return Audit(settings, rates, reader.notes, reader.skipped, rates[ALL].patients)


_Item = tuple[Note, str | None]
_Searching = Callable[[Iterator[_Item]], Iterator[tuple[_Item, NoteHits]]]


def _searching(searcher: Searcher, n_process: int, stack: ExitStack) -> _Searching:
    """Create the function that searches notes, in this process or in several."""
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
    """Create the searcher of a worker process, which ends with the audit."""
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
    """Format an audit as a table.

    report (Mapping): the result of `Audit.as_dict`.
    RETURNS (str): lines of text.
    """
    lines = [f"{report['audited']} of {report['notes']} notes audited, of {report['patients']} patients"]
    lines += [f"{count} notes left out: {reason}" for reason, count in report["skipped"].items()]
    columns = {by: f"by {by.removeprefix(_COLUMN)}" for by in report["leaks"] if by.startswith(_COLUMN)}
    for by, title in (_TITLES | columns).items():
        rates = report["leaks"].get(by, {})
        head = f"{'notes':>8}{'hits':>7}{'chance':>9}{'leak rate':>11}   {'Wilson 95 %':<18}bootstrap 95 %"
        if rates:
            lines += ["", f"{_cut(title)}{head}"]
        lines += [_row(name, rate) for name, rate in rates.items()]
    return "\n".join(lines) + "\n"


def _row(name: str, rate: Mapping[str, Any]) -> str:
    """Format one line."""
    chance = "–" if rate["expected"] is None else f"{rate['expected']:.4f}"
    figures = f"{rate['notes']:>8}{rate['hits']:>7}{chance:>9}{rate['leak_rate']:>11.4f}"
    return f"{_cut(name)}{figures}   {_ends(rate['wilson']):<18}{_ends(rate['bootstrap'])}".rstrip()


def _cut(name: str) -> str:
    """Pad or cut a name to the width of its column."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)
    return f"{shown[: _WIDTH - 1]:<{_WIDTH}}"


def _ends(ends: Sequence[float] | None) -> str:
    """Format an interval."""
    return f"[{ends[0]:.4f}, {ends[1]:.4f}]" if ends else ""
