"""Build the dictionary entries of patients: group the rows by patient, clean and expand their values, and write the
entries to files.

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
from ..errors import Errors, InputError, describe_system
from .cleaning import NAMES, clean
from .entry_maker import Cell, EntryMaker, mark_surname, surname_column
from .expansion import Form, expand
from .mapping import Column, EhrMapping, Table
from .report import BuildReport

_PARTS = 64
_HELD = 256  # rows to buffer per file


class PartitionedRow(NamedTuple):
    """A row of a patient table, as it is stored in `RowPartitions`.

    table (int): index of the table in the mapping.
    row (int): number of the row in the source, for error messages.
    values (tuple[str, ...]): the cells as text, in the order of the table's columns.
    """

    table: int
    row: int
    values: tuple[str, ...]

    def __repr__(self) -> str:
        """Show the table and row numbers without the values."""
        return f"PartitionedRow(table={self.table}, row={self.row})"


class RowPartitions:
    """Stores rows in 64 temporary files by a hash of the patient id, so that all rows of a patient are in one file.

    The files are unlinked when they are created, so that nothing remains when the process ends, however it ends.

    folder (Path): the folder for the files, with enough space for all rows.
    rows (int): number of rows written so far.
    RAISES: InputError (D402) if the files cannot be created.
    """

    def __init__(self, folder: Path) -> None:
        self.rows = 0
        self._held: list[list[tuple[object, ...]]] = [[] for _ in range(_PARTS)]
        try:
            self._files = [tempfile.TemporaryFile(dir=folder) for _ in range(_PARTS)]  # noqa: SIM115 - closed by exit
        except OSError as error:
            raise InputError(Errors.D402.format(path=folder, reason=describe_system(error))) from None

    def __enter__(self) -> "RowPartitions":
        """Return the object itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the files, which deletes their content."""
        for file in self._files:
            file.close()

    def add(self, patient_id: str, row: PartitionedRow) -> None:
        """Write a row to the file of its patient.

        patient_id (str): the normalised id of the patient.
        row (PartitionedRow): the row.
        """
        part = zlib.crc32(patient_id.encode("utf-8", "surrogatepass")) % _PARTS
        held = self._held[part]
        held.append((patient_id, *row))
        self.rows += 1
        if len(held) == _HELD:
            self._write(part)

    def parts(self) -> Iterator[bytes]:
        """Read each file and empty it. YIELDS (bytes): the content of a file, to be passed to `read_partition`."""
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
    """Group the rows of one partition by patient.

    data (bytes): the content of a file, as yielded by `RowPartitions.parts`.
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
    """The settings and data that every worker process gets to build the entries of patients.

    mapping (EhrMapping): the tables, and what each of their columns contains.
    ambiguity (Mapping[str, Ambiguity]): language code → test by word frequencies of whether a name is also a common
        word.
    folder (Path): the folder in which each worker writes its files.
    tags (list[Tag]): the tags (label, rule and condition) of all entries; the first one has number 1.
    update (bool): whether the build updates existing dictionaries, so that the ids of the new patients are needed.
    old (Path | None): folder of existing dictionaries whose entries are added to those of the same patient; None to
        replace them.
    """

    mapping: EhrMapping
    ambiguity: Mapping[str, Ambiguity]
    folder: Path
    tags: list[Tag]
    update: bool = False
    old: Path | None = None


@dataclass
class PartResult:
    """The result of building the patients of one partition.

    report (BuildReport): the counts of this partition.
    part (PatientPart): the file to which the patients were written.
    institution (list[LocalEntry]): entries made from these patients for the institution's dictionary.
    patient_ids (list[str]): ids of the patients; only filled if dictionaries are updated.
    repeated (dict): table with the setting duplicates = "error" → number of rows that repeat a patient id, and number
        of the first such row.
    skipped (Counter): (rule, reason) → number of entries that cannot be searched for and were left out.
    """

    report: BuildReport
    part: PatientPart = field(init=False)
    institution: list[LocalEntry] = field(default_factory=list, repr=False)
    patient_ids: list[str] = field(default_factory=list, repr=False)
    repeated: dict[str, tuple[int, int]] = field(default_factory=dict)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)


class _Value(NamedTuple):
    """The result of cleaning and expanding one value of a patient record.

    text (str): the cleaned value; "" if it was skipped.
    reason (str): why it was skipped; "" if it was not.
    packed (Packed): its spelling variants, serialized.
    forms, conditional (int): number of variants, and how many of them match only in the context of a name.
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
    """Builds the entries of the patients in one partition after the other, keeping caches of expanded values between
    them.

    plan (BuildPlan): the settings of the build.
    """

    def __init__(self, plan: BuildPlan) -> None:
        self._plan = plan
        tags = Tags(list(plan.tags))
        self._numbers = {
            c.rule: {condition: tags.number(LocalEntry("", c.label, c.rule, condition)) for condition in CONDITIONS}
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
        """Write the entries of the patients of one partition to a file.

        number (int): number of the partition, which becomes a part of the file name.
        data (bytes): the rows of the partition, as yielded by `RowPartitions.parts`.
        RETURNS (PartResult): the file, entries for the institution's dictionary, and counts.
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
        """Check the first rows of a table, so that a wrong mapping is found before all rows are read.

        table (Table): the table.
        rows (Sequence[Sequence[str]]): the cells of the rows as text, in the order of the table's columns.
        RAISES: InputError (D183) if a column has many invalid values and no valid one.
        """
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
        return _Value(cleaned, "", *self._pack(column, forms, table.lang, cleaned))

    def _combine(self, names: Sequence[Cell], lang: str) -> Packed:
        """Pack the variants that combine several parts of a person's name."""
        column = surname_column(names)
        packed, forms, conditional = self._pack(column, self._maker.combined(names, lang), lang)
        tally = self._report.columns[column.rule]
        tally.forms += forms
        tally.conditional += conditional
        return packed

    def _pack(self, column: Column, forms: Sequence[Form], lang: str, value: str = "") -> tuple[Packed, int, int]:
        """Serialize variants that can be searched for. RETURNS (tuple[Packed, int, int]): the serialized terms, their
        number, and the number of those that match only in the context of a name, or where they are capitalised.
        """
        numbers = self._numbers[column.rule]
        is_name, is_weak, is_ordinary = column.kind in NAMES, self._maker.is_weak, self._maker.is_ordinary
        ready: list[TaggedTerm] = []
        weak = 0
        for form in forms:
            if len(form.text) > MAX_LENGTH:
                self._skipped[column.rule, LONG] += 1
            elif is_name and is_weak(form, lang):
                ready.append((form.text, numbers["name"]))
                weak += 1
            elif is_too_general(form.text):
                self._skipped[column.rule, GENERAL] += 1
            elif not is_name and is_ordinary(column, value, form, lang):
                ready.append((form.text, numbers["capital"]))
                weak += 1
            else:
                ready.append((form.text, numbers[""]))
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
    """List all tags (label, rule and condition) that entries of patients can have, so that workers can number them.

    tables (Sequence[Table]): the tables; only those with a patient id count.
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
