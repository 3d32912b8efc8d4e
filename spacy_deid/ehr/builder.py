"""Building the parts of the patients in several processes.

Processes are spawned, not forked: the readers of tables have threads, and a fork of them may stand still. No more
parts are on the way than the processes can take, so that memory does not grow with the tables.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ..background.ambiguity import LIMIT, Ambiguity
from ..background.counts import PhraseCounts
from ..dictionaries.store import StoreWriter
from ..errors import Errors, InputError
from ..patient_ids import normal_id
from ..processes import follow_parent
from .cleaning import as_text, clean
from .entry_maker import Cell, EntryMaker
from .mapping import Mapped, Table
from .patients import PartResult, PartsPlan, PatientBuilder, Scratch, StoredRow, tags_of
from .report import BuildReport
from .sources import read_rows

_FEW = 20_000  # rows that take less time than a process to begin

_BUILDERS: list[PatientBuilder] = []  # of a process that was spawned


def build_parts(plan: PartsPlan, scratch: Scratch, processes: int) -> Iterator[PartResult]:
    """Build all parts.

    plan (PartsPlan): how.
    scratch (Scratch): the rows.
    processes (int): how many processes there may be; 1 for none but this one.
    YIELDS (PartResult): what became of each part, in their order.
    RAISES: InputError (D188) if a process dies.
    """
    if processes < 2 or scratch.rows <= _FEW:
        builder = PatientBuilder(plan)
        yield from (builder.build(number, data) for number, data in enumerate(scratch.parts()))
        return
    waiting: deque[Future[PartResult]] = deque()
    with ProcessPoolExecutor(processes, get_context("spawn"), _begin, (plan,)) as pool:
        try:
            for number, data in enumerate(scratch.parts()):
                waiting.append(pool.submit(_build, number, data))
                if len(waiting) > processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise InputError(Errors.D188) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(plan: PartsPlan) -> None:
    """Make the builder of a process, which ends with its parent."""
    follow_parent()
    _BUILDERS[:] = [PatientBuilder(plan)]


def _build(number: int, data: bytes) -> PartResult:
    """Build a part with it."""
    return _BUILDERS[0].build(number, data)


_PROBED = 500  # rows of a table that are looked at before all are read
_STEP = 50_000  # rows or patients between two words of progress

Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Settings:
    """How to build.

    background (PhraseCounts | None): counts of a background corpus; None for those that ship for each language.
    limit (float): occurrences in a million words above which a phrase is ambiguous.
    update (bool): whether to start from the dictionary that is there.
    replace (bool): in an update, whether what the old dictionary has of the patients in the tables is forgotten.
    fuzzy (bool): whether patients' names count with a slip of the pen too; it is remembered in the dictionary.
    processes (int): how many processes build patients; a small number of patients is built in this one.
    """

    background: PhraseCounts | None = None
    limit: float = LIMIT
    update: bool = False
    replace: bool = False
    fuzzy: bool = False
    processes: int = 1


def build_dictionary(
    mapping: Mapped,
    folder: str | Path,
    report_path: str | Path,
    settings: Settings | None = None,
    progress: Progress = lambda what, count: None,
) -> BuildReport:
    """Build the dictionaries of an institution and its patients.

    mapping (Mapped): which column of which table holds what.
    folder (str or Path): where the dictionaries go; what is there is replaced when all is done.
    report_path (str or Path): where the report goes; only its owner can read it.
    settings (Settings): how to build.
    progress (Callable): called with what is being read and how many rows or patients there were.
    RETURNS (BuildReport): counts.
    RAISES: ConfigError or InputError, as `read_rows` and `StoreWriter`; D181 for a patient id that stands twice, D183
        for a column of another kind, D186 if nothing was left.
    """
    settings = settings or Settings()
    folder, report_path = Path(folder).absolute(), Path(report_path)
    folder.parent.mkdir(parents=True, exist_ok=True)
    report = BuildReport(mapping.tables)
    langs = {table.lang for table in mapping.tables}
    limits = {lang: _ambiguity(lang, settings) for lang in langs}
    about = _about(mapping, settings, limits)
    with StoreWriter(folder, update=settings.update) as writer, Scratch(folder.parent) as scratch:
        shared, tags = writer.share(tags_of(mapping.tables))
        old = folder if settings.update and not settings.replace and writer.has_old else None
        plan = PartsPlan(mapping, limits, shared, tags, settings.update, old)
        build = _Build(plan, writer, report, progress)
        for number, table in enumerate(mapping.tables):
            build.read(number, table, scratch)
        build.add_patients(scratch, settings.processes)
        report.write(report_path, about)
        if not report.used:
            raise InputError(Errors.D186.format(path=report_path))
        writer.commit({**about, **report.manifest()})
    return report


def _ambiguity(lang: str, settings: Settings) -> Ambiguity:
    """What is ambiguous in a language."""
    if settings.background is not None:
        return Ambiguity(settings.background, settings.limit)
    return Ambiguity.of(lang, settings.limit)


def _about(mapping: Mapped, settings: Settings, limits: dict[str, Ambiguity]) -> dict[str, Any]:
    """What the manifest and the report say of the build: names of sources, never what a query or an address says."""
    sources = {
        table.source.name: table.source.path.name if table.source.path else f"${table.source.url_env}"
        for table in mapping.tables
    }
    counts = {lang: words.counts.total if words.counts else 0 for lang, words in sorted(limits.items())}
    return {
        "mapping": mapping.path.name,
        "sources": sources,
        "limit_per_million": settings.limit,
        "background_words": counts,
        "update": settings.update,
        "fuzzy": settings.fuzzy,
    }


class _Build:
    """One run over the tables."""

    def __init__(self, plan: PartsPlan, writer: StoreWriter, report: BuildReport, progress: Progress) -> None:
        self._plan = plan
        self._writer = writer
        self._report = report
        self._maker = EntryMaker(report, plan.ambiguity)
        self._progress = progress

    def read(self, number: int, table: Table, scratch: Scratch) -> None:
        """Read a table: to the store, or to the scratch files."""
        read = self._read_patients(number, table, scratch) if table.patient_id else self._read_institution(table)
        done = 0
        for rows in read:
            self._report.rows[table.name] += rows
            if self._report.rows[table.name] // _STEP > done:
                done = self._report.rows[table.name] // _STEP
                self._progress(f"table {table.name}, rows", self._report.rows[table.name])
        if not table.patient_id:
            self._report.check(table)

    def _read_institution(self, table: Table) -> Iterator[int]:
        """Add a table of the institution. YIELDS (int): rows of each batch."""
        for batch in read_rows(table):
            for texts in _texts(table, batch.rows):
                cells = list(self._clean(table, texts))
                self._writer.add_institution(self._maker.institution(table, cells))
            yield len(batch.rows)

    def _clean(self, table: Table, texts: Sequence[str]) -> Iterator[Cell]:
        """The values of a row that can be used; the others are counted."""
        for column, cell in zip(table.columns, texts, strict=True):
            tally = self._report.columns[column.rule]
            for text in column.split(cell):
                value, reason = clean(
                    column.kind, text, table.lang, column.date_format, self._plan.mapping.placeholders
                )
                if reason:
                    tally.skipped[reason] += 1
                else:
                    tally.used += 1
                    yield Cell(column, value)

    def _read_patients(self, number: int, table: Table, scratch: Scratch) -> Iterator[int]:
        """Sort a table of patients. YIELDS (int): rows of each batch."""
        place = table.wanted.index(table.patient_id)
        probed = False
        for batch in read_rows(table):
            texts = _texts(table, batch.rows)
            if not probed:
                PatientBuilder(self._plan).probe(table, texts[:_PROBED])
                probed = True
            for at, (row, values) in enumerate(zip(batch.rows, texts, strict=True), batch.first):
                if patient_id := normal_id(as_text(row[place])):
                    scratch.add(patient_id, StoredRow(number, at, values))
                else:
                    self._report.without_id[table.name] += 1
            yield len(batch.rows)

    def add_patients(self, scratch: Scratch, processes: int) -> None:
        """Add the patients. RAISES: InputError (D181, D183)."""
        repeated: dict[str, tuple[int, int]] = {}
        done = 0
        for result in build_parts(self._plan, scratch, processes):
            self._report.add(result.report)
            self._writer.take(result.part, result.patient_ids)
            self._writer.add_institution(result.institution)
            self._writer.skipped += result.skipped
            for name, (count, row) in result.repeated.items():
                known, first = repeated.get(name, (0, row))
                repeated[name] = (known + count, min(first, row))
            if self._report.patients // _STEP > done:
                done = self._report.patients // _STEP
                self._progress("patients", self._report.patients)
        for name, (count, row) in repeated.items():
            raise InputError(Errors.D181.format(table=name, count=count, row=row))
        for table in self._plan.mapping.tables:
            self._report.check(table)


def _texts(table: Table, rows: Sequence[Sequence[Any]]) -> list[tuple[str, ...]]:
    """The cells of rows as text, in the order of the table's columns."""
    places = table.places
    return [tuple([as_text(row[place]) for place in places]) for row in rows]
