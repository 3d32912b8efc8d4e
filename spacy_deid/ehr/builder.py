"""Build dictionaries from the tables of an electronic health record system, in one pass and in bounded memory.

Entries from tables of the institution (staff, clinics) are written to the store directly. Rows of patient tables are
first grouped by patient, because the names, addresses and identifiers of a patient are spread over several tables. The
new dictionaries replace the old ones only when they are complete, so an aborted build leaves the old ones in place.

Worker processes are spawned, not forked: the table readers have threads, which can deadlock a forked process. At most
as many partitions of rows are in memory as there are workers.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ..background.counts import LIMIT, Ambiguity, PhraseCounts
from ..dictionaries.store import StoreWriter
from ..errors import Errors, InputError
from ..patient_ids import normal_id
from ..processes import follow_parent
from .cleaning import as_text, clean
from .entry_maker import Cell, EntryMaker
from .mapping import EhrMapping, Table
from .patients import BuildPlan, PartitionedRow, PartResult, PatientBuilder, RowPartitions, patient_tags
from .report import BuildReport
from .sources import read_rows

_FEW = 20_000  # with fewer rows, starting processes takes longer than the work

_BUILDERS: list[PatientBuilder] = []  # one item in a worker process


def build_parts(plan: BuildPlan, scratch: RowPartitions, processes: int) -> Iterator[PartResult]:
    """Build the dictionary entries of all patients, one partition of rows after the other, in worker processes.

    plan (BuildPlan): the settings of the build.
    scratch (RowPartitions): the rows of the patient tables, partitioned by patient.
    processes (int): maximal number of worker processes. With 1, or with few rows, no worker is started.
    YIELDS (PartResult): the result of each partition, in the order of the partitions.
    RAISES: InputError (D188) if a worker process dies.
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


def _begin(plan: BuildPlan) -> None:
    """Create the builder of a worker process, which ends when its parent ends."""
    follow_parent()
    _BUILDERS[:] = [PatientBuilder(plan)]


def _build(number: int, data: bytes) -> PartResult:
    """Build a partition in a worker process."""
    return _BUILDERS[0].build(number, data)


_PROBED = 500  # rows of a table to check before all are read
_STEP = 50_000  # rows or patients between two progress calls

Progress = Callable[[str, int], None]


@dataclass(frozen=True)
class Settings:
    """Settings of a dictionary build.

    background (PhraseCounts | None): word counts of a background corpus; None for the counts shipped for each
        language.
    limit (float): occurrences per million words above which a phrase is ambiguous.
    update (bool): whether to start from the existing dictionaries.
    replace (bool): in an update, whether to drop the old entries of the patients that the tables contain.
    fuzzy (bool): whether damaged names and numbers of the patient count as matches; stored in the dictionary.
    processes (int): number of worker processes; a small number of patients is always built in this process.
    """

    background: PhraseCounts | None = None
    limit: float = LIMIT
    update: bool = False
    replace: bool = False
    fuzzy: bool = True
    processes: int = 1


def build_dictionary(
    mapping: EhrMapping,
    folder: str | Path,
    report_path: str | Path,
    settings: Settings | None = None,
    progress: Progress = lambda what, count: None,
) -> BuildReport:
    """Build the dictionaries of an institution and its patients from the tables of an EHR system.

    mapping (EhrMapping): the tables to read, and what each of their columns contains.
    folder (str or Path): folder of the dictionaries. Existing dictionaries are replaced when the build is complete.
    report_path (str or Path): file for the report, readable only by its owner.
    settings (Settings): the settings of the build; None for the defaults.
    progress (Callable): called now and then with a description and the number of rows or patients so far.
    RETURNS (BuildReport): the numbers of rows, values and entries, by table and column.
    RAISES: ConfigError or InputError as `read_rows` and `StoreWriter`. InputError if a patient id is repeated in a
        table that must not repeat it (D181), most values of a column are invalid for its kind (D183), or no value
        could be used (D186).
    """
    settings = settings or Settings()
    folder, report_path = Path(folder).absolute(), Path(report_path)
    folder.parent.mkdir(parents=True, exist_ok=True)
    report = BuildReport(mapping.tables)
    langs = {table.lang for table in mapping.tables}
    limits = {lang: _ambiguity(lang, settings) for lang in langs}
    sources = {
        table.source.name: table.source.path.name if table.source.path else f"${table.source.url_env}"
        for table in mapping.tables
    }
    counts = {lang: words.counts.total if words.counts else 0 for lang, words in sorted(limits.items())}
    about = {
        "mapping": mapping.path.name,
        "sources": sources,
        "limit_per_million": settings.limit,
        "background_words": counts,
        "update": settings.update,
        "fuzzy": settings.fuzzy,
    }
    with StoreWriter(folder, update=settings.update) as writer, RowPartitions(folder.parent) as scratch:
        shared, tags = writer.share(patient_tags(mapping.tables))
        old = folder if settings.update and not settings.replace and writer.has_old else None
        plan = BuildPlan(mapping, limits, shared, tags, settings.update, old)
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
    """Return the test for common words of a language, by the frequencies in the settings or those of the package."""
    if settings.background is not None:
        return Ambiguity(settings.background, settings.limit)
    return Ambiguity.of(lang, settings.limit)


class _Build:
    """Reads the tables of one build: writes entries of the institution to the store, and partitions patients' rows."""

    def __init__(self, plan: BuildPlan, writer: StoreWriter, report: BuildReport, progress: Progress) -> None:
        self._plan = plan
        self._writer = writer
        self._report = report
        self._maker = EntryMaker(report, plan.ambiguity)
        self._progress = progress

    def read(self, number: int, table: Table, scratch: RowPartitions) -> None:
        """Read a table: write its entries to the store, or its rows to the partitions if it is a patient table."""
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
        """Write the entries of an institution table to the store. YIELDS (int): the number of rows of each batch."""
        for batch in read_rows(table):
            for texts in _texts(table, batch.rows):
                cells = list(self._clean(table, texts))
                self._writer.add_institution(self._maker.institution(table, cells))
            yield len(batch.rows)

    def _clean(self, table: Table, texts: Sequence[str]) -> Iterator[Cell]:
        """Yield the usable values of a row; count the others."""
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

    def _read_patients(self, number: int, table: Table, scratch: RowPartitions) -> Iterator[int]:
        """Write the rows of a patient table to the partitions. YIELDS (int): the number of rows of each batch."""
        place = table.wanted.index(table.patient_id)
        probed = False
        for batch in read_rows(table):
            texts = _texts(table, batch.rows)
            if not probed:
                PatientBuilder(self._plan).probe(table, texts[:_PROBED])
                probed = True
            for at, (row, values) in enumerate(zip(batch.rows, texts, strict=True), batch.first):
                if patient_id := normal_id(as_text(row[place])):
                    scratch.add(patient_id, PartitionedRow(number, at, values))
                else:
                    self._report.without_id[table.name] += 1
            yield len(batch.rows)

    def add_patients(self, scratch: RowPartitions, processes: int) -> None:
        """Build the entries of all patients and write them to the store.

        RAISES: InputError if a patient has more than one row in a table that must have one (D181), or too many values
            of a column are invalid (D183).
        """
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
    """Convert the cells of rows to text, in the order of the table's columns."""
    places = table.places
    return [tuple([as_text(row[place]) for place in places]) for row in rows]
