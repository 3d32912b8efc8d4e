"""Find out whom the resources of an export are about, and make a dictionary of the persons in it.

Names, addresses, numbers and dates of birth of a Patient and of its RelatedPersons become terms of this patient, which
are searched for in all text of the patient's compartment. So do names that only a reference or an annotation of the
compartment states, such as the display "Dr Adam Careful" of an author. Practitioners, Organizations and Locations
become terms of the institution, which are searched for everywhere. The terms are expanded into the ways in which notes
write them, as for dictionaries that are made from tables; see `ehr.expansion`.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ..background.counts import Ambiguity
from ..dictionaries.normalise import normal_form, normalise
from ..dictionaries.search import search_note, select_patient_terms
from ..dictionaries.store import KnownIdentities, LocalStore, StoreWriter
from ..dictionaries.terms import LocalEntry
from ..ehr.cleaning import NAMES, clean
from ..ehr.entry_maker import Cell, EntryMaker, surname_column
from ..ehr.expansion import expand
from ..ehr.mapping import Column, Source, Table
from ..ehr.report import BuildReport
from ..errors import ConfigError, Errors
from ..patient_ids import normal_id
from .definitions import Element, load_definitions
from .json_values import write_json
from .profile import Profile, ResourceRule
from .references import Place, read_reference

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
_ROLES = {"patient": "PATIENT", "relative": "RELATIVE", "clinician": "CLINICIAN", "organization": "PERSON"}
_ROLES["location"] = "PERSON"
_STATED = {"Patient": "patient", "RelatedPerson": "relative", "Person": "relative"}
_STATED |= {"Practitioner": "clinician", "PractitionerRole": "clinician"}
"""Type of the target of a reference → the kind of person whose name the reference displays."""

_SCREENED = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON", "MRN", "PHONE", "EMAIL", "STREET"})
_WORD = re.compile(r"[^\W\d_]{3,}")
_LONGEST = 5  # words of a name
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


def _table(source: str, lang: str) -> Table:
    """Return the description of the values of one kind of resource, as of a table of an EHR."""
    role = _ROLES[source]
    columns = [Column(kind, kind, role, source, f"fhir_{source}.{kind}") for kind in _NAME_KINDS]
    columns += [Column(kind, kind, label, source, f"fhir_{source}.{kind}") for kind, label in _KINDS.items()]
    own = "id" if source in ("patient", "relative") else ""
    return Table(f"fhir_{source}", Source(f"fhir_{source}"), tuple(columns), lang, patient_id=own)


class Identities:
    """The persons of an export.

    profile (Profile): says which types of resources describe persons, and where a resource names its patient.
    lang (str): language of the notes, ISO 639-1.
    system (str): the system of the identifier that is the patient's id; "" for the id of the Patient resource.
    """

    def __init__(self, profile: Profile, lang: str, system: str = "") -> None:
        self._profile = profile
        self._system = system
        self._lang = lang
        self._tables = {source: _table(source, lang) for source in _ROLES}
        self._maker = EntryMaker(BuildReport(list(self._tables.values())), {lang: Ambiguity.of(lang)})
        self._patients: dict[str, Person] = {}
        self._aliases: dict[str, str] = {}
        self._about: dict[str, str] = {}
        self._binaries: set[str] = set()
        self._waiting: list[tuple[str, list[list[Cell]]]] = []
        self._stated: set[int] = set()  # hashes of the patients and names of `_waiting`, to add each only once
        self._store: LocalStore | None = None

    def __repr__(self) -> str:
        return f"Identities({len(self._patients)} patients)"

    # --- the first pass: read all resources ---

    def read(
        self, resource: Mapping[str, Any], full_url: str, writer: StoreWriter, *, contained: bool = False
    ) -> None:
        """Read what a resource says about persons. Resources are read in any order.

        resource (Mapping[str, Any]): the resource, which may be damaged.
        full_url (str): its address in a Bundle; "" if it has none.
        writer (StoreWriter): the dictionary to add terms to.
        contained (bool): whether it is contained in another resource.
        """
        kind = resource.get("resourceType")
        rule = self._profile.resources.get(kind) if isinstance(kind, str) else None
        for item in _objects(resource.get("contained")):
            self.read(item, "", writer, contained=True)
        if rule is None or not isinstance(kind, str):
            return
        self._read_stated(resource, kind, rule, full_url)
        key = _contained_key(resource) if contained else _own_key(resource, full_url)
        place = read_reference(full_url)
        if place is not None and not place.type and key != place.key:
            self._aliases[place.key] = key
        if rule.source == "patient":
            self._patients[key] = self._person(resource, key)
            self._waiting.append((key, self._people("patient", resource)))
        elif rule.source == "relative":
            for patient in self._find_about(resource, rule.about):
                self._waiting.append((patient, self._people("relative", resource)))
        elif rule.source:
            for cells in self._people(rule.source, resource):
                writer.add_institution(self._maker.institution(self._tables[rule.source], cells))
        elif kind == "Binary":
            self._binaries.add(key)
        elif kind in ("DocumentReference", "Media", "DiagnosticReport", "Communication"):
            for patient in self._find_about(resource, rule.about):
                self._about.update((url, patient) for url in _binaries(resource))
        if len(self._waiting) > 10_000 and not self._system:
            self._write_waiting(writer)

    def _read_stated(self, resource: Mapping[str, Any], kind: str, rule: ResourceRule, full_url: str) -> None:
        """Read the persons that a resource about a patient names without a resource of their own: in the display of a
        reference, as the author of an annotation, or in a contained Patient or RelatedPerson."""
        own = [_own_key(resource, full_url)] if rule.source == "patient" else []
        patients = own or self._find_about(resource, rule.about)
        people = [
            [Cell(next(column for column in self._tables[source].columns if column.kind == "full"), value)]
            for source, text in self._find_stated(resource, kind)
            for value, reason in [clean("full", text, self._lang)]
            if not reason
        ]
        for item in _objects(resource.get("contained")):
            if item.get("resourceType") in ("Patient", "RelatedPerson"):
                people += self._people("relative", item)
        for patient in filter(None, patients):
            new = [cells for cells in people if hash((patient, *cells)) not in self._stated]
            self._stated.update(hash((patient, *cells)) for cells in new)
            self._waiting += [(patient, new)] if new else []

    def _find_stated(self, value: Mapping[str, Any], owner: str) -> Iterator[tuple[str, str]]:
        """Yield kind and name of each person that an element of a resource or of a complex value names."""
        definitions = load_definitions()
        elements = definitions.elements(owner) if definitions.has(owner) else {}
        for name, item in value.items():
            element = elements.get(name)
            if element is None:
                continue
            if name == "authorString" or (owner, name) == ("FamilyMemberHistory", "name"):
                yield from (("clinician" if name == "authorString" else "relative", text) for text in _strings(item))
            for part in _objects(item):
                if element.type == "Reference" and (source := self._stated_source(part, element)):
                    yield from ((source, text) for text in _strings(part.get("display")))
                yield from self._find_stated(part, str(part.get("resourceType", element.type)))

    def _stated_source(self, reference: Mapping[str, Any], element: Element) -> str:
        """Return the kind of person that a reference names; "" for anything else. A reference without a known target
        names the first kind of person that the element can refer to."""
        text, kind = reference.get("reference"), reference.get("type")
        place = read_reference(text) if isinstance(text, str) else None
        target = self.type_of(place) if place else kind.rpartition("/")[2] if isinstance(kind, str) else ""
        return next((_STATED[name] for name in ([target] if target else element.targets) if name in _STATED), "")

    def finish(self, writer: StoreWriter, folder: Path) -> None:
        """Write the terms of the patients and open the dictionary.

        writer (StoreWriter): the dictionary, which is made current.
        folder (Path): its folder.
        """
        self._write_waiting(writer)
        writer.commit({"sources": {"fhir": "resources"}})
        self._store = LocalStore.open(folder)
        self._known = KnownIdentities(self._store)
        self.__dict__.pop("_single_names", None)

    def _write_waiting(self, writer: StoreWriter) -> None:
        """Write the terms of patients and relatives whose patient is known by now."""
        for key, people in self._waiting:
            patient_id = self.person(key).patient_id
            if normal_id(patient_id):
                writer.add_patient(patient_id, self._entries(people))
        self._waiting.clear()

    def _person(self, resource: Mapping[str, Any], key: str) -> Person:
        """Return what a Patient says about the patient."""
        names = sorted(_objects(resource.get("name")), key=lambda name: name.get("use") != "official")
        full = next((text for name in names if (text := _full_name(name))), "")
        ids = [item for item in _objects(resource.get("identifier")) if item.get("system") == self._system]
        value = next((item["value"] for item in ids if isinstance(item.get("value"), str)), "") if self._system else ""
        sex = resource.get("gender")
        return Person(value or _default_id(key), full, sex if isinstance(sex, str) else "")

    def _people(self, source: str, resource: Mapping[str, Any]) -> list[list[Cell]]:
        """Return the usable values of each person in a resource: of the person itself, and of its contacts."""
        found = [list(self._cells(source, resource))]
        other = "relative" if source == "patient" else "organization"
        for contact in _objects(resource.get("contact")) if source in ("patient", "organization") else []:
            found.append(list(self._cells(other, contact)))
        return [cells for cells in found if cells]

    def _cells(self, source: str, resource: Mapping[str, Any]) -> Iterator[Cell]:
        """Yield the usable values of one person or institution."""
        table = self._tables[source]
        columns = {column.kind: column for column in table.columns}
        for kind, text in _values(source, resource):
            value, reason = clean(kind, text, self._lang)
            if not reason:
                yield Cell(columns[kind], value)

    def _entries(self, people: Sequence[Sequence[Cell]]) -> Iterator[LocalEntry]:
        """Yield the terms of a patient: the variants of each value, and those that combine the parts of a name."""
        for cells in people:
            for column, value in cells:
                yield from self._forms(column, expand(column.kind, value, self._lang))
            names = [cell for cell in cells if cell.column.kind in NAMES]
            if len(names) > 1:
                yield from self._forms(surname_column(names), self._maker.combined(names, self._lang))

    def _forms(self, column: Column, forms: Sequence[Any]) -> Iterator[LocalEntry]:
        """Yield an entry for each variant. A name that is also a common word matches where it is capitalised if it is
        that of the patient or a relative; initials, and such names of others, match only next to other names."""
        for form in forms:
            weak = column.kind in NAMES and self._maker.is_weak(form, self._lang)
            by_capital = not form.weak and column.label in ("PATIENT", "RELATIVE")
            yield LocalEntry(form.text, column.label, column.rule, weak * ("capital" if by_capital else "name"))

    # --- the second pass: look up ---

    @property
    def store(self) -> LocalStore:
        """LocalStore: The dictionary. RAISES: ConfigError (D989) before `finish`."""
        if self._store is None:
            raise ConfigError(Errors.D989)
        return self._store

    def person(self, key: str) -> Person:
        """Return what is known about a patient.

        key (str): the key of a reference to the patient.
        RETURNS (Person): the patient. One who is not in the export has only an id.
        """
        key = self._aliases.get(key, key)
        return self._patients.get(key) or Person(_default_id(key))

    def has_binary(self, place: Place) -> bool:
        """Whether the export has the Binary that a reference refers to."""
        return place.key in self._binaries

    def type_of(self, place: Place) -> str:
        """Return the type of the resource that a reference refers to; "" if it is unknown."""
        return place.type or self._aliases.get(place.key, "").partition("/")[0]

    def find_patients(self, resource: Mapping[str, Any], full_url: str) -> list[str]:
        """Find whom a resource is about.

        resource (Mapping[str, Any]): the resource.
        full_url (str): its address in a Bundle; "" if it has none.
        RETURNS (list[str]): the keys of the patients; empty for a resource that is about none.
        """
        kind = resource["resourceType"]
        rule = self._profile.resources[kind]
        key = _own_key(resource, full_url)
        if rule.source == "patient":
            return [key]
        if kind == "Binary":
            return [self._about[key]] if key in self._about else []
        return list(self._find_about(resource, rule.about))

    def _find_about(self, resource: Mapping[str, Any], paths: Sequence[str]) -> dict[str, None]:
        """Return the keys of the patients that the elements at some paths refer to."""
        found: dict[str, None] = {}
        contained = {str(item.get("id")): item for item in _objects(resource.get("contained"))}
        for path in paths:
            for reference in find_values(resource, path):
                text = reference.get("reference") if isinstance(reference, dict) else None
                if not isinstance(text, str):
                    continue
                if text.startswith("#"):
                    item = contained.get(text[1:], {})
                    found |= {_contained_key(item): None} if item.get("resourceType") == "Patient" else {}
                    continue
                place = read_reference(text)
                key = self._aliases.get(place.key, place.key) if place else ""
                if key.startswith("Patient/") or key in self._patients:
                    found[key] = None
        return found

    def finds_identifier(self, text: str, patient_id: str) -> bool:
        """Whether a value that would be kept contains a name or a number of a person in the export.

        text (str): the value, such as a code or an address.
        patient_id (str): the patient whom the resource is about; "" for none.
        RETURNS (bool): True if it contains one, in any spelling of the dictionary.
        """
        if len(text) < _SHORTEST:
            return False
        own = select_patient_terms(self.store, patient_id).own
        matches = search_note(self.store, own, text, normalise(text), None)
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
        weak = {entry.term for entry in own.entries if entry.condition} if own else set()
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
        return not singles.isdisjoint(self._single_names) or any(
            " ".join(words[start:end]) in self._known for start, end in spans
        )

    @cached_property
    def _single_names(self) -> frozenset[str]:
        """All single words that are names of patients or relatives and no common words."""
        terms = self.store.patients.terms()
        people = ((term, tag.condition) for term, tag in terms if tag.label in ("PATIENT", "RELATIVE"))
        return frozenset(
            term for term, condition in people if not condition and term.isalpha() and len(term) >= _SHORTEST
        )


def find_values(value: Any, path: str) -> Iterator[Any]:
    """Yield the values of an element, in all items of the lists on its path.

    value (Any): a resource or a part of it.
    path (str): names of elements, separated by periods.
    YIELDS: the values.
    """
    name, _, rest = path.partition(".")
    inner = value.get(name) if isinstance(value, dict) else None
    for item in inner if isinstance(inner, list) else [] if inner is None else [inner]:
        if rest:
            yield from find_values(item, rest)
        else:
            yield item


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, or a single object as a list. A resource may be damaged."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]


def _strings(value: Any) -> list[str]:
    """Return the strings of a list, or a single string as a list."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]


def _contained_key(resource: Mapping[str, Any]) -> str:
    """Return the key of a contained resource: a hash of its content, because its id is only valid in its container."""
    text = write_json(dict(resource))
    return "contained " + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _own_key(resource: Mapping[str, Any], full_url: str) -> str:
    """Return the key of references to a resource."""
    if isinstance(resource.get("id"), str):
        return f"{resource.get('resourceType')}/{resource['id']}"
    place = read_reference(full_url)
    return place.key if place else ""


def _default_id(key: str) -> str:
    """Return the id of a patient from the key of a reference: that of the Patient resource."""
    return key.removeprefix("Patient/")


def _full_name(name: Mapping[str, Any]) -> str:
    """Return a name as a text."""
    parts = " ".join([*_strings(name.get("given")), *_strings(name.get("family"))])
    return parts or " ".join(_strings(name.get("text")))


def _binaries(resource: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of the Binary resources that attachments of a resource refer to."""
    for path in ("content.attachment.url", "content.url", "presentedForm.url", "payload.contentAttachment.url"):
        for url in find_values(resource, path):
            place = read_reference(url) if isinstance(url, str) else None
            if place is not None and place.type == "Binary":
                yield place.key


def _values(source: str, resource: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield kind and text of everything that names a person or an institution in a resource."""
    if source in ("organization", "location"):
        for text in (*_strings(resource.get("name")), *_strings(resource.get("alias"))):
            yield source, text
    for name in _objects(resource.get("name")):
        surname = "former" if name.get("use") in ("old", "maiden") else "surname"
        yield from (("given", text) for text in _strings(name.get("given")))
        yield from ((surname, text) for text in _strings(name.get("family")))
        yield from (("full", text) for text in _strings(name.get("text")))
    for contact in _objects(resource.get("telecom")):
        kind = {"email": "email", "phone": "phone", "fax": "phone", "sms": "phone"}.get(
            str(contact.get("system")), "id"
        )
        yield from ((kind, text) for text in _strings(contact.get("value")))
    for address in _objects(resource.get("address")):
        yield from (("street", text) for text in _strings(address.get("line")))
        yield from (("city", text) for text in _strings(address.get("city")))
        yield from (("zip", text) for text in _strings(address.get("postalCode")))
    for item in _objects(resource.get("identifier")):
        yield from (("id", text) for text in _strings(item.get("value")))
    yield from (("birth_date", text) for text in _strings(resource.get("birthDate")) if len(text) == len("2000-01-31"))
