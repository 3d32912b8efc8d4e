"""From the values of rows to the entries of a dictionary: expanded, labelled, and filtered by what is ambiguous."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..background.ambiguity import Ambiguity
from ..dictionaries.entries import LocalEntry
from ..dictionaries.normalise import normal_form
from .cleaning import NAMES
from .expand import Form, expand, expand_person, person_parts
from .mapping import Column, Table
from .name_parts import split_full
from .report import BuildReport

__all__ = ["Cell", "EntryMaker"]

_KEPT = 200_000  # values whose entries are kept
_SEEN = 2_000_000  # values of the institution that are known to have been added; 150 MB
_LISTED = frozenset({"clinic", "location", "organization", "term", "city", "state"})  # these may stand in a report
_FILTERED = _LISTED | {"street"}
_OF_ALL = frozenset({"surname", "former", "full", "street"})  # of a patient, what the institution's dictionary takes
_ROLES_OF_ALL = {"PATIENT": "PERSON", "RELATIVE": "PERSON"}  # in other patients' notes


class Cell(NamedTuple):
    """A clean value and its column."""

    column: Column
    value: str

    def __repr__(self) -> str:
        """The column without the value."""
        return f"Cell({self.column.rule!r})"


class EntryMaker:
    """Makes entries, and counts what it does.

    report (BuildReport): where it counts.
    ambiguity (Mapping[str, Ambiguity]): what is ambiguous, by language.
    """

    def __init__(self, report: BuildReport, ambiguity: Mapping[str, Ambiguity]) -> None:
        self._report = report
        self._ambiguity = ambiguity
        self._seen: set[int] = set()
        self._of_value = lru_cache(_KEPT)(self._own_value)

    def patient(self, rows: Iterable[tuple[Table, int, Sequence[Cell]]]) -> list[LocalEntry]:
        """The entries of one patient.

        rows (Iterable): table, number of the row there and cells, for all rows of the patient.
        RETURNS (list[LocalEntry]): without repetition.
        """
        entries: dict[tuple[str, str], LocalEntry] = {}
        persons: dict[tuple[object, ...], list[Cell]] = {}
        lang = ""
        for table, row, cells in rows:
            lang = lang or table.lang
            for cell in cells:
                for entry in self._of_value(cell.column, _ordered(table, cell), table.lang):
                    _keep(entries, entry)
                if cell.column.kind in NAMES:
                    whose = cell.column.person
                    key = (whose,) if whose == "patient" else (table.name, row, whose)
                    persons.setdefault(key, []).append(Cell(cell.column, _ordered(table, cell)))
        for names in persons.values():
            for entry in self._combined(names, lang):
                _keep(entries, entry)
        for entry in entries.values():
            tally = self._report.columns[entry.rule]
            tally.forms += 1
            tally.conditional += bool(entry.condition)
        return list(entries.values())

    def institution(self, table: Table, cells: Sequence[Cell]) -> Iterator[LocalEntry]:
        """The entries of one row of the institution; nothing for values that came before.

        table (Table): the table.
        cells (Sequence[Cell]): the row.
        YIELDS (LocalEntry): entries, without those that are ambiguous.
        """
        persons: dict[str, list[Cell]] = {}
        for cell in cells:
            if cell.column.kind in NAMES:
                persons.setdefault(cell.column.person, []).append(Cell(cell.column, _ordered(table, cell)))
            elif self._is_new(cell):
                yield from self._filtered(cell, expand(cell.column.kind, cell.value, table.lang), table.lang)
        for names in persons.values():
            if self._is_new(*names):
                for cell in names:
                    yield from self._filtered(cell, expand(cell.column.kind, cell.value, table.lang), table.lang)
                yield from self._sure(self._combined(names, table.lang))

    def of_all_patients(self, table: Table, cells: Sequence[Cell]) -> Iterator[LocalEntry]:
        """The names and streets of a patient that are looked for in all notes.

        table (Table): the table.
        cells (Sequence[Cell]): the row.
        YIELDS (LocalEntry): entries, without those that are ambiguous.
        """
        for column, value in cells:
            if column.kind in _OF_ALL and self._is_new(cell := Cell(column, value)):
                for entry in self._filtered(cell, expand(column.kind, value, table.lang), table.lang):
                    yield entry._replace(label=_ROLES_OF_ALL.get(entry.label, entry.label))

    def _own_value(self, column: Column, value: str, lang: str) -> tuple[LocalEntry, ...]:
        """The entries of one value of a patient."""
        return tuple(self._own(column, form, lang) for form in expand(column.kind, value, lang))

    def _own(self, column: Column, form: Form, lang: str) -> LocalEntry:
        """An entry of a patient: a name that is ambiguous counts in the context of a name."""
        ambiguous = form.weak or (column.kind in NAMES and self._ambiguity[lang].is_weak_name(form.text))
        return LocalEntry(form.text, column.label, column.rule, "name" if ambiguous else "")

    def _combined(self, names: Sequence[Cell], lang: str) -> Iterator[LocalEntry]:
        """The entries that need several parts of a person's name. They bear the rule of the surname's column."""
        if len(names) < 2:
            return
        parts: dict[str, list[str]] = {}
        for cell in names:
            kind = "full" if cell.column.kind == "clinician" else cell.column.kind
            parts.setdefault(kind, []).append(cell.value)
        column = next((cell.column for cell in names if cell.column.kind in ("surname", "full")), names[0].column)
        for form in expand_person(person_parts(parts, lang), lang):
            yield self._own(column, form, lang)

    def _sure(self, entries: Iterable[LocalEntry]) -> Iterator[LocalEntry]:
        """The entries that need no context; the others are counted."""
        for entry in entries:
            tally = self._report.columns[entry.rule]
            if entry.condition:
                tally.dropped += 1
            else:
                tally.forms += 1
                yield entry

    def _filtered(self, cell: Cell, forms: Sequence[Form], lang: str) -> Iterator[LocalEntry]:
        """The forms of a value of the institution, less those that are common words."""
        column = cell.column
        tally = self._report.columns[column.rule]
        if column.kind in NAMES:
            yield from self._sure(self._own(column, form, lang) for form in forms)
            return
        words = self._ambiguity[lang]
        filtered = column.kind in _FILTERED
        if filtered and words.is_common(normal_form(cell.value)):
            tally.dropped += len(forms)
            if column.kind in _LISTED:
                rate = words.counts.per_million(cell.value) if words.counts else 0.0
                self._report.drop_phrase(column.rule, cell.value, rate)
            return
        for form in forms:
            if filtered and words.is_common(form.text):
                tally.dropped += 1
                continue
            tally.forms += 1
            yield LocalEntry(form.text, column.label, column.rule)

    def _is_new(self, *cells: Cell) -> bool:
        """Whether values come for the first time, as far as is remembered."""
        key = hash(tuple((cell.column.rule, cell.value) for cell in cells))
        if key in self._seen:
            return False
        if len(self._seen) >= _SEEN:
            self._seen.clear()
        self._seen.add(key)
        return True


def _keep(entries: dict[tuple[str, str], LocalEntry], entry: LocalEntry) -> None:
    """Keep an entry, unless its term is there with the same label. One without condition goes before one with."""
    key = (entry.term, entry.label)
    known = entries.get(key)
    if known is None or (known.condition and not entry.condition):
        entries[key] = entry


def _ordered(table: Table, cell: Cell) -> str:
    """A full name with a comma where the table puts the surname first without."""
    value = cell.value
    if not (table.surname_first and cell.column.kind in ("full", "clinician")) or "," in value:
        return value
    parts = split_full(value, table.lang, surname_first=True)
    return f"{parts['surname'][0]}, {parts['given'][0]}" if len(parts) == 2 else value
