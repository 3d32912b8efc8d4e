"""Build the dictionary entries of patients: group the rows by patient, clean and expand the values, write them to a
file.

Rows arrive table by table but are needed patient by patient. They are distributed over a fixed number of temporary
files by a hash of the patient id, and each file is then processed as a whole, in this process or in another one. The
entries of values that repeat (given names, birth dates, towns) are cached by column, because a million patients have
only some ten thousand given names.
"""

import gc
import io
import marshal
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from ..background.counts import Ambiguity
from ..dictionaries.patients import Packed, PatientPart, PatientWriter, pack, unpack
from ..dictionaries.store import LocalStore
from ..dictionaries.terms import (
    CONDITIONS,
    GENERAL,
    LONG,
    MAX_LENGTH,
    LocalEntry,
    Tag,
    TaggedTerm,
    Tags,
    is_too_general,
)
from ..errors import Errors, InputError
from .cleaning import NAMES, clean
from .entry_maker import Cell, EntryMaker, mark_surname, surname_column
from .expansion import Form, expand
from .mapping import Column, EhrMapping, Table
from .report import BuildReport

_PARTS = 64
_HELD = 256  # rows to buffer per file


class PartitionedRow(NamedTuple):
    """A row of a table.

    table (int): number of the table.
    row (int): number of the row in the table.
    values (tuple[str, ...]): the cells as text, in the order of the table's columns.
    """

    table: int
    row: int
    values: tuple[str, ...]

    def __repr__(self) -> str:
        """Show the table and row numbers without the values."""
        return f"PartitionedRow(table={self.table}, row={self.row})"


class RowPartitions:
    """Temporary files that distribute rows by patient. They are unlinked when they are created, so that nothing
    remains when the process ends, however it ends.

    folder (Path): a folder with enough space.
    rows (int): number of rows written so far.
    RAISES: InputError (D402) if the files cannot be created.
    """

    def __init__(self, folder: Path) -> None:
        self.rows = 0
        self._held: list[list[tuple[object, ...]]] = [[] for _ in range(_PARTS)]
        try:
            self._files = [tempfile.TemporaryFile(dir=folder) for _ in range(_PARTS)]  # noqa: SIM115 - closed by exit
        except OSError as error:
            raise InputError(Errors.D402.format(path=folder, reason=error.strerror)) from None

    def __enter__(self) -> "RowPartitions":
        """Return the partitions."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the files, which deletes their content."""
        for file in self._files:
            file.close()

    def add(self, patient_id: str, row: PartitionedRow) -> None:
        """Write a row.

        patient_id (str): the patient of the row.
        row (PartitionedRow): the row.
        """
        part = zlib.crc32(patient_id.encode("utf-8", "surrogatepass")) % _PARTS
        held = self._held[part]
        held.append((patient_id, *row))
        self.rows += 1
        if len(held) == _HELD:
            self._write(part)

    def parts(self) -> Iterator[bytes]:
        """Yield the content of each file for `read_partition`, and empty the file. All rows of a patient are in the
        same file.
        """
        for part, file in enumerate(self._files):
            self._write(part)
            file.seek(0)
            data = file.read()
            file.truncate(0)
            yield data

    def _write(self, part: int) -> None:
        """Write the buffered rows of a file."""
        marshal.dump(self._held[part], self._files[part])
        self._held[part] = []


def read_partition(data: bytes) -> dict[str, list[PartitionedRow]]:
    """Group the rows of one file by patient.

    data (bytes): the content of the file, from `RowPartitions.parts`.
    RETURNS (dict[str, list[PartitionedRow]]): rows by patient id, in the order in which they were added.
    """
    found: dict[str, list[PartitionedRow]] = {}
    file = io.BytesIO(data)
    while file.tell() < len(data):
        for patient_id, *row in marshal.load(file):
            found.setdefault(patient_id, []).append(PartitionedRow(*row))
    return found


_REPEATING = frozenset(
    {"given", "middle", "surname", "former", "nickname", "birth_date", "date", "zip", "city", "state"}
)
_KEPT = 50_000  # values to cache per column
_NOTHING = Packed("", b"")


class BuildPlan(NamedTuple):
    """What each worker process needs to build patients.

    mapping (EhrMapping): the content of the tables' columns.
    ambiguity (Mapping[str, Ambiguity]): word frequencies by language.
    folder (Path): the folder to write to.
    tags (list[Tag]): the tags by number, from 1.
    update (bool): whether to return the ids of the patients.
    old (Path | None): dictionaries whose terms of a patient are kept.
    """

    mapping: EhrMapping
    ambiguity: Mapping[str, Ambiguity]
    folder: Path
    tags: list[Tag]
    update: bool = False
    old: Path | None = None


@dataclass
class PartResult:
    """The result of building one partition.

    report (BuildReport): counts.
    part (PatientPart): the file with the patients.
    institution (list[LocalEntry]): entries for the institution's dictionary.
    patient_ids (list[str]): ids of the patients; only filled for an update.
    repeated (dict): name of a table that must have each patient once → number of repeated rows, and the first of them.
    skipped (Counter): rule and reason → number of skipped entries.
    """

    report: BuildReport
    part: PatientPart = field(init=False)
    institution: list[LocalEntry] = field(default_factory=list, repr=False)
    patient_ids: list[str] = field(default_factory=list, repr=False)
    repeated: dict[str, tuple[int, int]] = field(default_factory=dict)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)


class _Value(NamedTuple):
    """The result of cleaning and expanding a value.

    text (str): the cleaned value; "" if it was skipped.
    reason (str): why it was skipped.
    packed (Packed): its variants.
    forms, conditional (int): number of variants, and how many of them count only in the context of a name.
    """

    text: str
    reason: str
    packed: Packed
    forms: int
    conditional: int

    def __repr__(self) -> str:
        """Show the counts."""
        return f"_Value(reason={self.reason!r}, forms={self.forms}, conditional={self.conditional})"


class PatientBuilder:
    """Builds the patients of one partition after the other.

    plan (BuildPlan): the settings.
    """

    def __init__(self, plan: BuildPlan) -> None:
        self._plan = plan
        tags = Tags(list(plan.tags))
        self._numbers = {
            c.rule: tuple(tags.number(LocalEntry("", c.label, c.rule, condition)) for condition in CONDITIONS)
            for t in plan.mapping.tables
            if t.patient_id
            for c in t.columns
        }
        self._maker = EntryMaker(BuildReport(plan.mapping.tables), plan.ambiguity)
        self._known: dict[str, dict[str, _Value]] = {c.rule: {} for t in plan.mapping.tables for c in t.columns}
        self._old = LocalStore.open(plan.old).patients if plan.old else None
        self._report = BuildReport(plan.mapping.tables)
        self._skipped: Counter[tuple[str, str]] = Counter()

    def build(self, number: int, data: bytes) -> PartResult:
        """Build the patients of a partition.

        number (int): number of the partition; part of the file name.
        data (bytes): rows, as `RowPartitions.parts` yields them.
        RETURNS (PartResult): the file and the counts.
        """
        self._maker.report = self._report = BuildReport(self._plan.mapping.tables)
        self._skipped = Counter()
        result = PartResult(self._report, skipped=self._skipped)
        with closing(PatientWriter(self._plan.folder / f"patients-{number}")) as writer, _without_gc():
            for patient_id, rows in read_partition(data).items():
                self._add(patient_id, rows, writer, result)
            result.part = writer.part()
        return result

    def probe(self, table: Table, rows: Sequence[Sequence[str]]) -> None:
        """Check some rows of a table, to find a wrong mapping before all rows are read. RAISES: InputError (D183)."""
        self._report = BuildReport(self._plan.mapping.tables)
        for row in rows:
            for column, cell in zip(table.columns, row, strict=True):
                for text in column.split(cell):
                    self._count(column, self._value(table, column, text))
        self._report.check(table, some=True)

    def _add(self, patient_id: str, rows: list[PartitionedRow], writer: PatientWriter, result: PartResult) -> None:
        """Write the entries of one patient."""
        kept = self._unrepeated(rows, result.repeated)
        packed: list[Packed] = []
        persons: dict[tuple[object, ...], list[Cell]] = {}
        lang = ""
        for row in kept:
            table = self._plan.mapping.tables[row.table]
            lang = lang or table.lang
            cells = list(self._cells(table, row, packed))
            for cell in cells:
                if cell.column.kind in NAMES:
                    key = (cell.column.person,) if cell.column.person == "patient" else (*row[:2], cell.column.person)
                    persons.setdefault(key, []).append(Cell(cell.column, mark_surname(table, cell)))
            if table.institution:
                result.institution += self._maker.of_all_patients(table, cells)
        packed += [self._combine(names, lang) for names in persons.values() if len(names) > 1]
        if packed:
            old = self._old.tagged_terms(patient_id) if self._old else []
            writer.add(patient_id, [pack(chain(old, *map(unpack, packed)))] if old else packed)
            self._report.patients += 1
        if self._plan.update:
            result.patient_ids.append(patient_id)

    def _cells(self, table: Table, row: PartitionedRow, packed: list[Packed]) -> Iterator[Cell]:
        """Yield the cleaned cells of a row, and append their variants to `packed`."""
        for column, cell in zip(table.columns, row.values, strict=True):
            for text in column.split(cell):
                value = self._value(table, column, text)
                self._count(column, value)
                if value.text:
                    packed.append(value.packed)
                    yield Cell(column, value.text)

    def _count(self, column: Column, value: _Value) -> None:
        """Count a value in the report."""
        tally = self._report.columns[column.rule]
        if value.reason:
            tally.skipped[value.reason] += 1
            return
        tally.used += 1
        tally.forms += value.forms
        tally.conditional += value.conditional

    def _value(self, table: Table, column: Column, text: str) -> _Value:
        """Clean and expand a value, or return the cached result."""
        known = self._known[column.rule]
        if (value := known.get(text)) is not None:
            return value
        value = self._make(table, column, text)
        if column.kind in _REPEATING:
            if len(known) >= _KEPT:
                known.clear()
            known[text] = value
        return value

    def _make(self, table: Table, column: Column, text: str) -> _Value:
        """Clean and expand a value."""
        cleaned, reason = clean(column.kind, text, table.lang, column.date_format, self._plan.mapping.placeholders)
        if reason:
            return _Value("", reason, _NOTHING, 0, 0)
        forms = expand(column.kind, mark_surname(table, Cell(column, cleaned)), table.lang)
        return _Value(cleaned, "", *self._pack(column, forms, table.lang))

    def _combine(self, names: Sequence[Cell], lang: str) -> Packed:
        """Pack the variants that combine several parts of a person's name."""
        column = surname_column(names)
        packed, forms, conditional = self._pack(column, self._maker.combined(names, lang), lang)
        tally = self._report.columns[column.rule]
        tally.forms += forms
        tally.conditional += conditional
        return packed

    def _pack(self, column: Column, forms: Sequence[Form], lang: str) -> tuple[Packed, int, int]:
        """Pack variants. RETURNS (tuple[Packed, int, int]): the packed terms, their number, and the number with a
        condition.
        """
        plain, conditional = self._numbers[column.rule]
        is_name, is_weak = column.kind in NAMES, self._maker.is_weak
        ready: list[TaggedTerm] = []
        weak = 0
        for form in forms:
            if len(form.text) > MAX_LENGTH:
                self._skipped[column.rule, LONG] += 1
            elif is_name and is_weak(form, lang):
                ready.append((form.text, conditional))
                weak += 1
            elif is_too_general(form.text):
                self._skipped[column.rule, GENERAL] += 1
            else:
                ready.append((form.text, plain))
        return pack(ready), len(ready), weak

    def _unrepeated(self, rows: list[PartitionedRow], repeated: dict[str, tuple[int, int]]) -> list[PartitionedRow]:
        """Return the rows of a patient that the tables' `duplicates` settings keep, and count repetitions."""
        if len(rows) == 1:
            return rows
        seen: set[int] = set()
        kept = []
        for row in rows:
            table = self._plan.mapping.tables[row.table]
            again = row.table in seen
            seen.add(row.table)
            self._report.repeated[table.name] += again
            if again and table.duplicates == "error":
                count, first = repeated.get(table.name, (0, row.row))
                repeated[table.name] = (count + 1, min(first, row.row))
            if not again or table.duplicates == "merge":
                kept.append(row)
        return kept


def patient_tags(tables: Sequence[Table]) -> list[Tag]:
    """List all tags that the patients of the tables can have.

    tables (Sequence[Table]): the tables.
    RETURNS (list[Tag]): for each column one tag per condition.
    """
    columns = [column for table in tables if table.patient_id for column in table.columns]
    return [Tag(column.label, column.rule, condition) for column in columns for condition in CONDITIONS]


@contextmanager
def _without_gc() -> Iterator[None]:
    """Disable the garbage collector, which would traverse the large caches repeatedly. The code creates no reference
    cycles.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
