"""An audit from beginning to end: who the patients are, what their notes hold, what that says."""

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
from .estimate import Rate, Totals
from .reading import NoteReader
from .search import ALL, Facet, Found, Note, Searcher

_BATCH = 64
_AHEAD = 8  # batches in the hands of each process


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """How to audit.

    draws (int): other patients that a note is searched for, to know what chance finds.
    fuzzy (bool): whether to look for what nearly is an identifier. seed (int): seed of the draws.
    bootstrap (int): replicates. n_process (int): processes.
    by (tuple[str, ...]): columns that notes are told apart by, beside their type.
    """

    draws: int = 5
    fuzzy: bool = True
    seed: int = 0
    bootstrap: int = 1000
    n_process: int = 1
    by: tuple[str, ...] = ()


@dataclass(slots=True)
class Audit:
    """What an audit found: counts and rates, nothing of a note.

    settings (AuditSettings): how it was done. rates (dict[Facet, Rate]): by facet. notes (int): all notes.
    skipped (Counter): notes that could not be audited, by reason. patients (int): of audited notes.
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
    take: Callable[[Found, str | None, str], None] = lambda found, note_id, text: None,
) -> Audit:
    """Search de-identified notes for their own patients' identifiers.

    source (NoteSource): the notes. columns (Columns): its columns; the note id and type may be "".
    store (Path): the local dictionaries. settings (AuditSettings): how to audit.
    take (Callable): is given every note with a hit: what was found, its id and its text.
    RETURNS (Audit): counts and rates.
    RAISES: InputError for a missing column (D741), a text that is none (D742), no note that can be audited (D760), or
        a column of groups that is one of ids (D761).
    """
    reader = NoteReader(source, columns, settings.by, settings.draws, settings.seed)
    searcher = Searcher(store, settings.fuzzy)
    reader.find_patients(searcher.knows)
    totals = Totals(len(reader.patients))
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
_Searching = Callable[[Iterator[_Item]], Iterator[tuple[_Item, Found]]]


def _searching(searcher: Searcher, n_process: int, stack: ExitStack) -> _Searching:
    """Search in this process or in several."""
    if n_process == 1:
        return lambda items: ((item, searcher.search(item[0])) for item in items)
    pool = stack.enter_context(get_context("spawn").Pool(n_process, _start, (searcher,)))

    def search(items: Iterator[_Item]) -> Iterator[tuple[_Item, Found]]:
        batches = iter(lambda: list(islice(items, _BATCH)), [])
        # A pool reads its input to the end at once; it is given some at a time.
        while some := list(islice(batches, _AHEAD * n_process)):
            found = pool.map(_search, [[note for note, _ in batch] for batch in some], chunksize=1)
            for batch, results in zip(some, found, strict=True):
                yield from zip(batch, results, strict=True)

    return search


_searcher: Searcher | None = None


def _start(searcher: Searcher) -> None:
    """Give a process its searcher. It ends with the audit."""
    global _searcher
    follow_parent()
    _searcher = searcher


def _search(notes: list[Note]) -> list[Found]:
    """Search in a process of its own."""
    assert _searcher is not None
    return [_searcher.search(note) for note in notes]


_TITLES = {"all": "", "type": "by note type", "source": "by source", "kind": "by kind", "form": "by form"}
_COLUMN = "column:"
_WIDTH = 36


def format_audit(report: Mapping[str, Any]) -> str:
    """Write an audit as a table.

    report (Mapping): what `Audit.as_dict` gives.
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
    """One line."""
    chance = "–" if rate["expected"] is None else f"{rate['expected']:.4f}"
    figures = f"{rate['notes']:>8}{rate['hits']:>7}{chance:>9}{rate['leak_rate']:>11.4f}"
    return f"{_cut(name)}{figures}   {_ends(rate['wilson']):<18}{_ends(rate['bootstrap'])}".rstrip()


def _cut(name: str) -> str:
    """A name in its column of the table."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)
    return f"{shown[: _WIDTH - 1]:<{_WIDTH}}"


def _ends(ends: Sequence[float] | None) -> str:
    """An interval."""
    return f"[{ends[0]:.4f}, {ends[1]:.4f}]" if ends else ""
