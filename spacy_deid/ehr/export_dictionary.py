"""Make a dictionary of the persons in an export, such as resources of FHIR or messages of HL7 v2, and search with it.

The values are cleaned and expanded as those of the tables of an EHR; see `cleaning`, `expansion` and `entry_maker`.
Values of a patient and of relatives become terms of this patient. Those of clinicians, organizations and locations
become terms of the institution, which are searched for in all text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..background.counts import Ambiguity
from ..dictionaries.normalise import normal_form, normalise
from ..dictionaries.search import search_note, select_patient_terms
from ..dictionaries.store import LocalStore, StoreWriter
from ..dictionaries.terms import OWN_PREFIX, PERSONS, LocalEntry
from ..errors import ConfigError, Errors
from ..patient_ids import normal_id
from .cleaning import NAMES, clean
from .entry_maker import Cell, EntryMaker, surname_column
from .expansion import expand
from .mapping import Column, Source, Table
from .report import BuildReport

_NAME_KINDS = ("given", "surname", "former", "full")
_KINDS = {
    "phone": "PHONE",
    "email": "EMAIL",
    "id": "MRN",
    "street": "STREET",
    "zip": "ZIP",
    "city": "CITY",
    "birth_date": "DATE",
    "organization": "ORGANIZATION",
    "location": "LOCATION_OTHER",
}
_ROLES = {
    "patient": "PATIENT",
    "relative": "RELATIVE",
    "clinician": "CLINICIAN",
    "organization": "PERSON",
    "location": "PERSON",
}
_SCREENED = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON", "MRN", "PHONE", "EMAIL", "STREET"})
_WORD = re.compile(r"[^\W\d_]{3,}")
_LONGEST = 5  # words of a name
_COLLECTED = 5_000  # patients whose persons are collected before they are written
_SHORTEST = 4  # letters of a term that kept codes, addresses and shared texts are screened for


class Person(NamedTuple):
    """What an export says about a patient, as the EHR context of all text about the patient.

    patient_id (str): the id from which surrogates are derived.
    name (str): full name; "" if there is none.
    sex (str): "female", "male", "other" or "unknown"; "" if it is not stated.
    """

    patient_id: str
    name: str = ""
    sex: str = ""

    def __repr__(self) -> str:
        return "Person(…)"

    def ehr(self, note_date: str = "") -> dict[str, Any]:
        """Return the EHR context, with the date of the note if it is known."""
        values = {"patient_id": self.patient_id, "name": self.name, "sex": self.sex, "note_date": note_date}
        return {key: value for key, value in values.items() if value}


def _table(source: str, lang: str, prefix: str) -> Table:
    """Return the description of the values of one kind of person or institution, as of a table of an EHR."""
    role, name = _ROLES[source], f"{prefix}_{source}"
    columns = [Column(kind, kind, role, source, f"{name}.{kind}") for kind in _NAME_KINDS]
    columns += [Column(kind, kind, label, source, f"{name}.{kind}") for kind, label in _KINDS.items()]
    own = "id" if source in ("patient", "relative") else ""
    return Table(name, Source(name), tuple(columns), lang, patient_id=own)


class ExportDictionary:
    """The dictionary of an export. Terms are added first, then `finish` opens it.

    lang (str): language of the notes, ISO 639-1.
    standard (str): name of the standard of the export, such as "fhir". The rules of the entries begin with it.
    """

    def __init__(self, lang: str, standard: str) -> None:
        self._lang = lang
        self._standard = standard
        self._tables = {source: _table(source, lang, standard) for source in _ROLES}
        self._maker = EntryMaker(BuildReport(list(self._tables.values())), {lang: Ambiguity.of(lang)})
        self._store: LocalStore | None = None
        self._collected: dict[str, dict[tuple[Cell, ...], None]] = {}

    def cells(self, source: str, values: Iterable[tuple[str, str]]) -> list[Cell]:
        """Clean the values of one person or institution.

        source (str): "patient", "relative", "clinician", "organization" or "location".
        values (Iterable[tuple[str, str]]): kind and text of each value. Kinds are "given", "surname", "former",
            "full", "phone", "email", "id", "street", "zip", "city", "birth_date" (ISO 8601), "organization" and
            "location".
        RETURNS (list[Cell]): the usable values, without placeholders.
        """
        columns = {column.kind: column for column in self._tables[source].columns}
        cleaned = ((kind, *clean(kind, text, self._lang)) for kind, text in values)
        return [Cell(columns[kind], value) for kind, value, reason in cleaned if not reason]

    def add_institution(self, writer: StoreWriter, source: str, cells: Sequence[Cell]) -> None:
        """Add the terms of a clinician, an organization or a location to the institution's dictionary."""
        writer.add_institution(self._maker.institution(self._tables[source], cells))

    def add_patient(self, writer: StoreWriter, patient_id: str, people: Sequence[Sequence[Cell]]) -> None:
        """Add the terms of a patient and of persons in the patient's records, each with the values of one person."""
        if normal_id(patient_id):
            writer.add_patient(patient_id, self._entries(people))

    def collect(self, writer: StoreWriter, patient_id: str, people: Iterable[Sequence[Cell]]) -> None:
        """Collect persons in the records of a patient, whom several records can name, and write them later.

        writer (StoreWriter): the dictionary.
        patient_id (str): the patient's id.
        people (Iterable[Sequence[Cell]]): the values of each person.
        """
        self._collected.setdefault(patient_id, {}).update((tuple(cells), None) for cells in people)
        if len(self._collected) > _COLLECTED:
            self._write_collected(writer)

    def _write_collected(self, writer: StoreWriter) -> None:
        """Add the terms of the collected persons."""
        for patient_id, people in self._collected.items():
            self.add_patient(writer, patient_id, list(people))
        self._collected.clear()

    def finish(self, writer: StoreWriter, folder: Path) -> None:
        """Write what was collected, make the dictionary current and open it.

        writer (StoreWriter): the dictionary.
        folder (Path): its folder.
        """
        self._write_collected(writer)
        writer.commit({"sources": {self._standard: "export"}})
        self.open(folder)

    def open(self, folder: Path) -> None:
        """Open a dictionary that was finished before, in this process or in another one.

        folder (Path): its folder.
        RAISES: ConfigError as `LocalStore.open`.
        """
        self._store = LocalStore.open(folder)

    def _entries(self, people: Sequence[Sequence[Cell]]) -> Iterator[LocalEntry]:
        """Yield the terms of a patient: the variants of each value, and those that combine the parts of a name."""
        for cells in people:
            for column, value in cells:
                yield from self._forms(column, expand(column.kind, value, self._lang), value)
            names = [cell for cell in cells if cell.column.kind in NAMES]
            if len(names) > 1:
                yield from self._forms(surname_column(names), self._maker.combined(names, self._lang))

    def _forms(self, column: Column, forms: Sequence[Any], value: str = "") -> Iterator[LocalEntry]:
        """Yield an entry for each variant. A name that is also a common word matches where it is capitalised if it is
        that of the patient or a relative; initials, and such names of others, match only next to other names. A place
        that is also an ordinary word matches only where it is capitalised."""
        for form in forms:
            if column.kind in NAMES:
                weak = self._maker.is_weak(form, self._lang)
                by_capital = not form.weak and column.label in ("PATIENT", "RELATIVE")
            else:
                weak = by_capital = self._maker.is_ordinary(column, value, form, self._lang)
            yield LocalEntry(form.text, column.label, column.rule, weak * ("capital" if by_capital else "name"))

    @property
    def store(self) -> LocalStore:
        """LocalStore: The dictionary. RAISES: ConfigError (D989) before `finish`."""
        if self._store is None:
            raise ConfigError(Errors.D989)
        return self._store

    def finds_identifier(self, text: str, patient_id: str, *, own_only: bool = False) -> bool:
        """Whether a value that would be kept contains a name or a number of a person in the export.

        text (str): the value, such as a code or an address.
        patient_id (str): the patient whom the resource is about; "" for none.
        own_only (bool): whether to search only for what belongs to this patient. A published code such as "admit" is
            no name of a clinician.
        RETURNS (bool): True if it contains one, in any spelling of the dictionary.
        """
        if len(text) < _SHORTEST:
            return False
        own = select_patient_terms(self.store, patient_id).own
        matches = search_note(self.store, own, text, normalise(text), None)
        matches = [match for match in matches if not own_only or match.rule.startswith(OWN_PREFIX)]
        return any(match.label in _SCREENED and match.end - match.start >= _SHORTEST for match in matches)

    def has_weak_name(self, text: str, patient_id: str) -> bool:
        """Whether a released text has a word that may be a name of the patient, but is also a common word.

        Such a name is replaced where it is capitalised or next to other names. In a text without capitals, any such
        word can be the name.

        text (str): the released text.
        patient_id (str): the patient whom it is about.
        RETURNS (bool): True if a person should look at the text.
        """
        own = select_patient_terms(self.store, patient_id).own
        weak = {entry.term for entry in own.entries if entry.condition and entry.label in PERSONS} if own else set()
        words = set(_WORD.findall(text)) if weak else set()
        has_capitals = text != text.lower()
        return any(normal_form(word) in weak for word in words if not (has_capitals and word[0].islower()))

    def names_anyone(self, text: str) -> bool:
        """Whether a released text contains a name or a number of any person in the export.

        Resources that are about no patient, such as a Medication, are not searched for the names of all patients. So
        they are checked after their release. Single names that are also common words are not checked.

        text (str): the released text.
        RETURNS (bool): True if up to five consecutive words of it are one.
        """
        words = [word for part in text.split() if (word := part.strip(".,;:!?()[]<>\"'"))]
        spans = ((i, i + size) for size in range(1, _LONGEST + 1) for i in range(len(words) - size + 1))
        singles = {normal_form(part) for part in _WORD.findall(text)}
        layers = [layer for layer in (self.store, self.store.base) if layer]
        return any(not singles.isdisjoint(layer.single_names) for layer in layers) or any(
            " ".join(words[start:end]) in self.store.identities for start, end in spans
        )
