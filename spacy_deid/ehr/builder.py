"""Dictionaries from the tables of a hospital's record system, in one stream and bounded memory.

Tables of the institution go straight to the store. Rows of patients are first brought together by patient, because a
patient's names, addresses and identifiers stand in several tables. What is written takes its place only when all of it
is there: a build that dies leaves the old dictionary.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..background.ambiguity import LIMIT, Ambiguity
from ..background.counts import PhraseCounts
from ..dictionaries.store import StoreWriter
from ..errors import Errors, InputError
from .cleaning import as_text, clean
from .make_entries import Cell, EntryMaker
from .mapping import Column, Mapped, Table
from .report import BuildReport
from .scratch import Scratch, StoredRow
from .sources import read_rows

__all__ = ["Settings", "build_dictionary"]

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
    """

    background: PhraseCounts | None = None
    limit: float = LIMIT
    update: bool = False
    replace: bool = False
    fuzzy: bool = False


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
        build = _Build(mapping, settings, writer, report, EntryMaker(report, limits), progress)
        for number, table in enumerate(mapping.tables):
            build.read(number, table, scratch)
        build.add_patients(scratch)
        if not report.used:
            report.write(report_path, about)
            raise InputError(Errors.D186.format(path=report_path))
        writer.commit({**about, **report.manifest()})
    report.write(report_path, about)
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

    def __init__(
        self,
        mapping: Mapped,
        settings: Settings,
        writer: StoreWriter,
        report: BuildReport,
        maker: EntryMaker,
        progress: Progress,
    ) -> None:
        self._mapping = mapping
        self._settings = settings
        self._writer = writer
        self._report = report
        self._maker = maker
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
        self._report.check(table)

    def _read_institution(self, table: Table) -> Iterator[int]:
        """Add a table of the institution. YIELDS (int): rows of each batch."""
        for batch in read_rows(table):
            for row in batch.rows:
                cells = [cell for _, cell in self._clean(table, row)]
                self._writer.add_institution(self._maker.institution(table, cells))
            yield len(batch.rows)

    def _read_patients(self, number: int, table: Table, scratch: Scratch) -> Iterator[int]:
        """Sort a table of patients. YIELDS (int): rows of each batch."""
        place = table.wanted.index(table.patient_id)
        for batch in read_rows(table):
            for at, row in enumerate(batch.rows, batch.first):
                patient_id = as_text(row[place])
                if not patient_id:
                    self._report.without_id[table.name] += 1
                    continue
                values = tuple((i, cell.value) for i, cell in self._clean(table, row))
                scratch.add(patient_id, StoredRow(number, at, values))
            yield len(batch.rows)

    def _clean(self, table: Table, row: Sequence[Any]) -> Iterator[tuple[int, Cell]]:
        """The values of a row that can be used, with the numbers of their columns; the others are counted."""
        wanted = table.wanted
        for i, column in enumerate(table.columns):
            tally = self._report.columns[column.rule]
            for text in _values(column, as_text(row[wanted.index(column.name)])):
                value, reason = clean(column.kind, text, table.lang, column.date_format, self._mapping.placeholders)
                if reason:
                    tally.skipped[reason] += 1
                else:
                    tally.used += 1
                    yield i, Cell(column, value)

    def add_patients(self, scratch: Scratch) -> None:
        """Add the patients. RAISES: InputError (D181)."""
        repeated: dict[str, tuple[int, int]] = {}
        for patient_id, rows in scratch.patients():
            kept = self._unrepeated(rows, repeated)
            if self._settings.replace:
                self._writer.remove_patient(patient_id)
            tables = [(self._mapping.tables[row.table], row) for row in kept]
            cells = [(table, row.row, _cells(table, row)) for table, row in tables]
            if entries := self._maker.patient(cells):
                self._writer.add_patient(patient_id, entries)
                self._report.patients += 1
            for table, _, values in cells:
                if table.institution:
                    self._writer.add_institution(self._maker.of_all_patients(table, values))
            if self._report.patients % _STEP == 0:
                self._progress("patients", self._report.patients)
        for name, (count, row) in repeated.items():
            raise InputError(Errors.D181.format(table=name, count=count, row=row))

    def _unrepeated(self, rows: list[StoredRow], repeated: dict[str, tuple[int, int]]) -> list[StoredRow]:
        """The rows of a patient that the tables' policies keep; repetitions are counted."""
        seen: set[int] = set()
        kept = []
        for row in rows:
            table = self._mapping.tables[row.table]
            again = row.table in seen
            seen.add(row.table)
            self._report.repeated[table.name] += again
            if again and table.duplicates == "error":
                count, first = repeated.get(table.name, (0, row.row))
                repeated[table.name] = (count + 1, min(first, row.row))
            if not again or table.duplicates == "merge":
                kept.append(row)
        return kept


def _values(column: Column, text: str) -> list[str]:
    """The values of a cell."""
    return text.split(column.separator) if column.separator else [text]


def _cells(table: Table, row: StoredRow) -> list[Cell]:
    """The cells of a row that was stored."""
    return [Cell(table.columns[i], value) for i, value in row.values]
