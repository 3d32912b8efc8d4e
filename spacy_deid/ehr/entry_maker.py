"""Convert the values of EHR rows to dictionary entries: expand them into spelling variants, label the variants, and
drop those that are common words.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..background.counts import Ambiguity
from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import LocalEntry
from .cleaning import NAMES
from .expansion import Form, expand, expand_person, person_parts, split_full
from .mapping import Column, Table
from .place_words import is_ordinary_place
from .report import BuildReport

_SEEN = 2_000_000  # values of the institution to remember, about 150 MB
_LISTED = frozenset({"clinic", "location", "organization", "term", "city", "state"})  # kinds that the report may list
_FILTERED = _LISTED | {"street"}
_OF_ALL = frozenset(
    {"surname", "former", "full", "street"}
)  # kinds of a patient's values that the institution's dictionary can contain
_SURNAMES = frozenset({"surname", "former"})
_SHORTEST_SURNAME = 3  # letters of a surname that is found after a title although it is a common word
_ROLES_OF_ALL = {"PATIENT": "PERSON", "RELATIVE": "PERSON"}  # labels in other patients' notes


class Cell(NamedTuple):
    """A cleaned value of a patient record, and the column that it is from."""

    column: Column
    value: str

    def __repr__(self) -> str:
        """Show the column without the value."""
        return f"Cell({self.column.rule!r})"


class EntryMaker:
    """Makes dictionary entries from cleaned values, and counts those added to or dropped from the institution's
    dictionary.

    report (BuildReport): the report whose counts are updated.
    ambiguity (Mapping[str, Ambiguity]): language code → test by word frequencies of whether a name is also a common
        word.
    """

    def __init__(self, report: BuildReport, ambiguity: Mapping[str, Ambiguity]) -> None:
        self.report = report
        self._ambiguity = ambiguity
        self._seen: set[int] = set()

    def is_weak(self, form: Form, lang: str) -> bool:
        """Whether a variant of a name counts only in the context of a name, because it is an initial or a common word.

        form (Form): the variant.
        lang (str): ISO 639-1 code.
        RETURNS (bool): True if the entry needs the condition "name"; see `LocalEntry`.
        """
        return form.weak or self._ambiguity[lang].is_weak_name(form.basis or form.text)

    def is_ordinary(self, column: Column, value: str, form: Form, lang: str) -> bool:
        """Whether a variant of a place or an institution counts only where it is capitalised; see `place_words`.

        column (Column): the column of the value.
        value (str): the value.
        form (Form): the variant.
        lang (str): ISO 639-1 code.
        RETURNS (bool): True if the entry needs the condition "capital".
        """
        return is_ordinary_place(column, value, form.text, lang, self._ambiguity[lang])

    def combined(self, names: Sequence[Cell], lang: str) -> Sequence[Form]:
        """Expand a person's name into the variants that combine several of its parts, such as "Virtanen, Anna".

        names (Sequence[Cell]): the parts of one person's name.
        lang (str): ISO 639-1 code.
        RETURNS (Sequence[Form]): the variants; empty for a single part. Their entries get the label and the rule of
            the column that `surname_column` returns.
        """
        if len(names) < 2:
            return ()
        parts: dict[str, list[str]] = {}
        for cell in names:
            kind = "full" if cell.column.kind == "clinician" else cell.column.kind
            parts.setdefault(kind, []).append(cell.value)
        return expand_person(person_parts(parts, lang), lang)

    def institution(self, table: Table, cells: Sequence[Cell]) -> Iterator[LocalEntry]:
        """Make the entries of one row of an institution table. Values that occurred in earlier rows are skipped.

        table (Table): the table.
        cells (Sequence[Cell]): the cleaned values of the row.
        YIELDS (LocalEntry): the entries, without those that are also common words; a surname that is one has the
            condition "name", so that "Dr. Moreno" is found.
        """
        persons: dict[str, list[Cell]] = {}
        for cell in cells:
            if cell.column.kind in NAMES:
                persons.setdefault(cell.column.person, []).append(Cell(cell.column, mark_surname(table, cell)))
            elif self._is_new(cell):
                yield from self._filtered(cell, expand(cell.column.kind, cell.value, table.lang), table.lang)
        for names in persons.values():
            if self._is_new(*names):
                for cell in names:
                    forms = expand(cell.column.kind, cell.value, table.lang)
                    if cell.column.kind in _SURNAMES:
                        yield from self._titled(self._named(cell.column, forms, table.lang))
                    else:
                        yield from self._filtered(cell, forms, table.lang)
                yield from self._sure(self._named(surname_column(names), self.combined(names, table.lang), table.lang))

    def of_all_patients(self, table: Table, cells: Sequence[Cell]) -> Iterator[LocalEntry]:
        """Make entries of the institution's dictionary from a patient's surnames, full names and streets, so that they
        are found in the notes of all patients.

        table (Table): the table.
        cells (Sequence[Cell]): the cleaned values of a row.
        YIELDS (LocalEntry): the entries, without those that are also common words.
        """
        for column, value in cells:
            if column.kind in _OF_ALL and self._is_new(cell := Cell(column, value)):
                for entry in self._filtered(cell, expand(column.kind, value, table.lang), table.lang):
                    yield entry._replace(label=_ROLES_OF_ALL.get(entry.label, entry.label))

    def _named(self, column: Column, forms: Iterable[Form], lang: str) -> Iterator[LocalEntry]:
        """Make entries from variants of a name."""
        for form in forms:
            yield LocalEntry(form.text, column.label, column.rule, "name" if self.is_weak(form, lang) else "")

    def _titled(self, entries: Iterable[LocalEntry]) -> Iterator[LocalEntry]:
        """Keep the entries without a condition and, with their condition, surnames of one word."""
        for entry in entries:
            if entry.condition and entry.term.isalpha() and len(entry.term) >= _SHORTEST_SURNAME:
                self.report.columns[entry.rule].forms += 1
                yield entry
            else:
                yield from self._sure([entry])

    def _sure(self, entries: Iterable[LocalEntry]) -> Iterator[LocalEntry]:
        """Keep the entries without a condition; count the others as dropped."""
        for entry in entries:
            tally = self.report.columns[entry.rule]
            if entry.condition:
                tally.dropped += 1
            else:
                tally.forms += 1
                yield entry

    def _filtered(self, cell: Cell, forms: Sequence[Form], lang: str) -> Iterator[LocalEntry]:
        """Make entries from the variants of an institution value, except those that are common words."""
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
            ordinary = self.is_ordinary(column, cell.value, form, lang)
            yield LocalEntry(form.text, column.label, column.rule, "capital" if ordinary else "")

    def _is_new(self, *cells: Cell) -> bool:
        """Whether a combination of values occurs for the first time. The number of remembered combinations is limited,
        so True can be returned again for an old one."""
        key = hash(tuple((cell.column.rule, cell.value) for cell in cells))
        if key in self._seen:
            return False
        if len(self._seen) >= _SEEN:
            self._seen.clear()
        self._seen.add(key)
        return True


def surname_column(names: Sequence[Cell]) -> Column:
    """Choose the column whose label and rule the entries get that combine several parts of a name.

    names (Sequence[Cell]): the parts of a person's name.
    RETURNS (Column): the column of the surname or full name, else the first column.
    """
    return next((cell.column for cell in names if cell.column.kind in ("surname", "full")), names[0].column)


def mark_surname(table: Table, cell: Cell) -> str:
    """Insert a comma after the surname of a full name ("Virtanen, Anna"), by which `expand` recognizes this order.

    This is done only for tables whose full names begin with the surname.

    table (Table): the table.
    cell (Cell): the value and its column.
    RETURNS (str): the value with a comma, or unchanged if it needs none.
    """
    value = cell.value
    if not (table.surname_first and cell.column.kind in ("full", "clinician")) or "," in value:
        return value
    parts = split_full(value, table.lang, surname_first=True)
    return f"{parts['surname'][0]}, {parts['given'][0]}" if len(parts) == 2 else value
