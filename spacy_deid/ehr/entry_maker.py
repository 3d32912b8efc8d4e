"""From the values of rows to the entries of a dictionary: expanded, labelled, and filtered by what is ambiguous."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..background.ambiguity import Ambiguity
from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import LocalEntry
from .cleaning import NAMES
from .expansion import Form, expand, expand_person, person_parts, split_full
from .mapping import Column, Table
from .report import BuildReport

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
    """Makes entries, and counts what it does for the institution.

    report (BuildReport): where it counts.
    ambiguity (Mapping[str, Ambiguity]): what is ambiguous, by language.
    """

    def __init__(self, report: BuildReport, ambiguity: Mapping[str, Ambiguity]) -> None:
        self.report = report
        self._ambiguity = ambiguity
        self._seen: set[int] = set()

    def is_weak(self, form: Form, lang: str) -> bool:
        """Whether a form of a name counts in the context of a name alone.

        form (Form): the form.
        lang (str): ISO 639-1 code.
        """
        return form.weak or self._ambiguity[lang].is_weak_name(form.basis or form.text)

    def combined(self, names: Sequence[Cell], lang: str) -> Sequence[Form]:
        """The forms that need several parts of a person's name. They bear the rule of `surname_column`.

        names (Sequence[Cell]): the parts.
        lang (str): ISO 639-1 code.
        RETURNS (Sequence[Form]): forms.
        """
        if len(names) < 2:
            return ()
        parts: dict[str, list[str]] = {}
        for cell in names:
            kind = "full" if cell.column.kind == "clinician" else cell.column.kind
            parts.setdefault(kind, []).append(cell.value)
        return expand_person(person_parts(parts, lang), lang)

    def institution(self, table: Table, cells: Sequence[Cell]) -> Iterator[LocalEntry]:
        """The entries of one row of the institution; nothing for values that came before.

        table (Table): the table.
        cells (Sequence[Cell]): the row.
        YIELDS (LocalEntry): entries, without those that are ambiguous.
        """
        persons: dict[str, list[Cell]] = {}
        for cell in cells:
            if cell.column.kind in NAMES:
                persons.setdefault(cell.column.person, []).append(Cell(cell.column, ordered(table, cell)))
            elif self._is_new(cell):
                yield from self._filtered(cell, expand(cell.column.kind, cell.value, table.lang), table.lang)
        for names in persons.values():
            if self._is_new(*names):
                for cell in names:
                    yield from self._filtered(cell, expand(cell.column.kind, cell.value, table.lang), table.lang)
                yield from self._sure(self._named(surname_column(names), self.combined(names, table.lang), table.lang))

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

    def _named(self, column: Column, forms: Iterable[Form], lang: str) -> Iterator[LocalEntry]:
        """The entries of forms of names."""
        for form in forms:
            yield LocalEntry(form.text, column.label, column.rule, "name" if self.is_weak(form, lang) else "")

    def _sure(self, entries: Iterable[LocalEntry]) -> Iterator[LocalEntry]:
        """The entries that need no context; the others are counted."""
        for entry in entries:
            tally = self.report.columns[entry.rule]
            if entry.condition:
                tally.dropped += 1
            else:
                tally.forms += 1
                yield entry

    def _filtered(self, cell: Cell, forms: Sequence[Form], lang: str) -> Iterator[LocalEntry]:
        """The forms of a value of the institution, less those that are common words."""
        column = cell.column
        tally = self.report.columns[column.rule]
        if column.kind in NAMES:
            yield from self._sure(self._named(column, forms, lang))
            return
        words = self._ambiguity[lang]
        filtered = column.kind in _FILTERED
        if filtered and words.is_common(normal_form(cell.value)):
            tally.dropped += len(forms)
            if column.kind in _LISTED:
                rate = words.counts.per_million(cell.value) if words.counts else 0.0
                self.report.drop_phrase(column.rule, cell.value, rate)
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


def surname_column(names: Sequence[Cell]) -> Column:
    """The column whose rule the combinations of names bear.

    names (Sequence[Cell]): parts of a person's name.
    RETURNS (Column): that of the surname or full name, or the first.
    """
    return next((cell.column for cell in names if cell.column.kind in ("surname", "full")), names[0].column)


def ordered(table: Table, cell: Cell) -> str:
    """A value as `expand` wants it: a full name with a comma where the table puts the surname first without.

    table (Table): the table.
    cell (Cell): the value.
    RETURNS (str): the value.
    """
    value = cell.value
    if not (table.surname_first and cell.column.kind in ("full", "clinician")) or "," in value:
        return value
    parts = split_full(value, table.lang, surname_first=True)
    return f"{parts['surname'][0]}, {parts['given'][0]}" if len(parts) == 2 else value
