"""Rows of many tables, brought together by patient in bounded memory.

Rows come in the order of their tables and are needed patient by patient. They are written to a number of files by a
hash of the patient id, and each file is then read as a whole: of ten million rows, a sixty-fourth part.

The files have no name: they are unlinked as soon as they are open, so that nothing is left of them when the process
ends, in whatever way.
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

from ..background.ambiguity import Ambiguity
from ..dictionaries.patients import Packed, PatientPart, PatientWriter, pack, unpack
from ..dictionaries.store import LocalStore
from ..dictionaries.terms import CONDITIONS, GENERAL, LONG, MAX_LENGTH, LocalEntry, Ready, Tag, Tags, is_too_general
from ..errors import Errors, InputError
from .cleaning import NAMES, clean
from .entry_maker import Cell, EntryMaker, ordered, surname_column
from .expansion import Form, expand
from .mapping import Column, Mapped, Table
from .report import BuildReport

_PARTS = 64
_HELD = 256  # rows of a file that are written together


class StoredRow(NamedTuple):
    """A row of a table.

    table (int): number of the table.
    row (int): number of the row there.
    values (tuple[str, ...]): the cells as text, in the order of the table's columns.
    """

    table: int
    row: int
    values: tuple[str, ...]

    def __repr__(self) -> str:
        """The place of the row without its values."""
        return f"StoredRow(table={self.table}, row={self.row})"


class Scratch:
    """Files that rows are sorted into.

    folder (Path): where there is room. Only files without a name are made there.
    rows (int): how many rows were written.
    """

    def __init__(self, folder: Path) -> None:
        self.rows = 0
        self._held: list[list[tuple[object, ...]]] = [[] for _ in range(_PARTS)]
        try:
            self._files = [tempfile.TemporaryFile(dir=folder) for _ in range(_PARTS)]  # noqa: SIM115 - closed by exit
        except OSError as error:
            raise InputError(Errors.D402.format(path=folder, reason=error.strerror)) from None

    def __enter__(self) -> "Scratch":
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the files go, and with them what is in them."""
        for file in self._files:
            file.close()

    def add(self, patient_id: str, row: StoredRow) -> None:
        """Write a row.

        patient_id (str): whose it is.
        row (StoredRow): the row.
        """
        part = zlib.crc32(patient_id.encode("utf-8", "surrogatepass")) % _PARTS
        held = self._held[part]
        held.append((patient_id, *row))
        self.rows += 1
        if len(held) == _HELD:
            self._write(part)

    def parts(self) -> Iterator[bytes]:
        """Yield what each file holds, for `read_part`, and empty it. All rows of a patient are in the same file."""
        for part, file in enumerate(self._files):
            self._write(part)
            file.seek(0)
            data = file.read()
            file.truncate(0)
            yield data

    def _write(self, part: int) -> None:
        """Write the rows of a file that are held."""
        marshal.dump(self._held[part], self._files[part])
        self._held[part] = []


def read_part(data: bytes) -> dict[str, list[StoredRow]]:
    """Bring the rows of a file together by patient.

    data (bytes): what `Scratch.parts` gave.
    RETURNS (dict[str, list[StoredRow]]): rows by patient id, in the order in which they were added.
    """
    found: dict[str, list[StoredRow]] = {}
    file = io.BytesIO(data)
    while file.tell() < len(data):
        for patient_id, *row in marshal.load(file):
            found.setdefault(patient_id, []).append(StoredRow(*row))
    return found


_REPEATING = frozenset(
    {"given", "middle", "surname", "former", "nickname", "birth_date", "date", "zip", "city", "state"}
)
_KEPT = 50_000  # values of a column that are kept
_NOTHING = Packed("", b"")


class PartsPlan(NamedTuple):
    """What every process that builds patients has to know.

    mapping (Mapped): which column of which table holds what.
    ambiguity (Mapping[str, Ambiguity]): what is ambiguous, by language.
    folder (Path): where the files go.
    tags (list[Tag]): the tags by number.
    update (bool): whether to return the ids of the patients.
    old (Path | None): dictionaries whose terms of a patient are kept.
    """

    mapping: Mapped
    ambiguity: Mapping[str, Ambiguity]
    folder: Path
    tags: list[Tag]
    update: bool = False
    old: Path | None = None


@dataclass
class PartResult:
    """What became of a part.

    report (BuildReport): counts.
    part (PatientPart): the file of the patients.
    institution (list[LocalEntry]): what goes into the institution's dictionary.
    patient_ids (list[str]): the patients, in an update.
    repeated (dict): table whose patient ids must stand once → how many rows repeat one, and the first.
    skipped (Counter): rule and reason → how many entries were left out.
    """

    report: BuildReport
    part: PatientPart = field(init=False)
    institution: list[LocalEntry] = field(default_factory=list, repr=False)
    patient_ids: list[str] = field(default_factory=list, repr=False)
    repeated: dict[str, tuple[int, int]] = field(default_factory=dict)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)


class _Value(NamedTuple):
    """What became of a value.

    text (str): the clean value; "" if it was skipped.
    reason (str): why it was.
    packed (Packed): its forms.
    forms, conditional (int): how many there are, and how many of them count in the context of a name.
    """

    text: str
    reason: str
    packed: Packed
    forms: int
    conditional: int

    def __repr__(self) -> str:
        """The counts."""
        return f"_Value(reason={self.reason!r}, forms={self.forms}, conditional={self.conditional})"


class PatientBuilder:
    """Builds patients, a part after the other.

    plan (PartsPlan): how.
    """

    def __init__(self, plan: PartsPlan) -> None:
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
        """Build a part.

        number (int): its number, for the name of its file.
        data (bytes): rows, as `Scratch.parts` yields them.
        RETURNS (PartResult): what became of it.
        """
        self._maker.report = self._report = BuildReport(self._plan.mapping.tables)
        self._skipped = Counter()
        result = PartResult(self._report, skipped=self._skipped)
        with closing(PatientWriter(self._plan.folder / f"patients-{number}")) as writer, _without_gc():
            for patient_id, rows in read_part(data).items():
                self._add(patient_id, rows, writer, result)
            result.part = writer.part()
        return result

    def probe(self, table: Table, rows: Sequence[Sequence[str]]) -> None:
        """Look at some rows of a table, to find a wrong mapping before all is read. RAISES: InputError (D183)."""
        self._report = BuildReport(self._plan.mapping.tables)
        for row in rows:
            for column, cell in zip(table.columns, row, strict=True):
                for text in column.split(cell):
                    self._count(column, self._value(table, column, text))
        self._report.check(table, some=True)

    def _add(self, patient_id: str, rows: list[StoredRow], writer: PatientWriter, result: PartResult) -> None:
        """Add a patient."""
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
                    persons.setdefault(key, []).append(Cell(cell.column, ordered(table, cell)))
            if table.institution:
                result.institution += self._maker.of_all_patients(table, cells)
        packed += [self._combine(names, lang) for names in persons.values() if len(names) > 1]
        if packed:
            old = self._old.ready(patient_id) if self._old else []
            writer.add(patient_id, [pack(chain(old, *map(unpack, packed)))] if old else packed)
            self._report.patients += 1
        if self._plan.update:
            result.patient_ids.append(patient_id)

    def _cells(self, table: Table, row: StoredRow, packed: list[Packed]) -> Iterator[Cell]:
        """Yield the clean cells of a row, and add their forms."""
        for column, cell in zip(table.columns, row.values, strict=True):
            for text in column.split(cell):
                value = self._value(table, column, text)
                self._count(column, value)
                if value.text:
                    packed.append(value.packed)
                    yield Cell(column, value.text)

    def _count(self, column: Column, value: _Value) -> None:
        """Count a value."""
        tally = self._report.columns[column.rule]
        if value.reason:
            tally.skipped[value.reason] += 1
            return
        tally.used += 1
        tally.forms += value.forms
        tally.conditional += value.conditional

    def _value(self, table: Table, column: Column, text: str) -> _Value:
        """What becomes of a value."""
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
        forms = expand(column.kind, ordered(table, Cell(column, cleaned)), table.lang)
        return _Value(cleaned, "", *self._pack(column, forms, table.lang))

    def _combine(self, names: Sequence[Cell], lang: str) -> Packed:
        """The forms that need several parts of a person's name."""
        column = surname_column(names)
        packed, forms, conditional = self._pack(column, self._maker.combined(names, lang), lang)
        tally = self._report.columns[column.rule]
        tally.forms += forms
        tally.conditional += conditional
        return packed

    def _pack(self, column: Column, forms: Sequence[Form], lang: str) -> tuple[Packed, int, int]:
        """Pack forms. RETURNS (tuple[Packed, int, int]): and how many there are, and how many with a condition."""
        plain, conditional = self._numbers[column.rule]
        is_name, is_weak = column.kind in NAMES, self._maker.is_weak
        ready: list[Ready] = []
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

    def _unrepeated(self, rows: list[StoredRow], repeated: dict[str, tuple[int, int]]) -> list[StoredRow]:
        """The rows of a patient that the tables' policies keep; repetitions are counted."""
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


def tags_of(tables: Sequence[Table]) -> list[Tag]:
    """The tags that the patients of tables may need.

    tables (Sequence[Table]): the tables.
    RETURNS (list[Tag]): for each column one of each condition.
    """
    columns = [column for table in tables if table.patient_id for column in table.columns]
    return [Tag(column.label, column.rule, condition) for column in columns for condition in CONDITIONS]


@contextmanager
def _without_gc() -> Iterator[None]:
    """Keep the garbage collector from going through the kept values again and again; nothing here makes circles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
