"""Find out whom the resources of an export are about, and make a dictionary of the persons in it.

Names, addresses, numbers and dates of birth of a Patient and of its RelatedPersons become terms of this patient, which
are searched for in all text of the patient's compartment. So do names that only a reference or an annotation of the
compartment states, such as the display "Dr Adam Careful" of an author. Practitioners, Organizations and Locations
become terms of the institution, which are searched for everywhere. The terms are expanded into the ways in which notes
write them, as for dictionaries that are made from tables; see `ehr.expansion`.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..dictionaries.store import StoreWriter
from ..ehr.entry_maker import Cell
from ..ehr.export_dictionary import ExportDictionary, Person
from .definitions import Element, load_definitions
from .json_values import write_json
from .profile import Profile, ResourceRule
from .references import Place, read_reference

_STATED = {"Patient": "patient", "RelatedPerson": "relative", "Person": "relative"}
_STATED |= {"Practitioner": "clinician", "PractitionerRole": "clinician"}
"""Type of the target of a reference → the kind of person whose name the reference displays."""


class Identities:
    """The persons of an export.

    profile (Profile): says which types of resources describe persons, and where a resource names its patient.
    lang (str): language of the notes, ISO 639-1.
    system (str): the system of the identifier that is the patient's id; "" for the id of the Patient resource.
    """

    def __init__(self, profile: Profile, lang: str, system: str = "") -> None:
        self._profile = profile
        self._system = system
        self.dictionary = ExportDictionary(lang, "fhir")
        self._patients: dict[str, Person] = {}
        self._aliases: dict[str, str] = {}
        self._about: dict[str, str] = {}
        self._binaries: set[str] = set()
        self._waiting: list[tuple[str, list[list[Cell]]]] = []
        self._stated: set[int] = set()  # hashes of the patients and names of `_waiting`, to add each only once

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
                self.dictionary.add_institution(writer, rule.source, cells)
        elif kind == "Binary":
            self._binaries.add(key)
        elif kind in ("DocumentReference", "Media", "DiagnosticReport", "Communication"):
            for patient in self._find_about(resource, rule.about):
                self._about.update((url, patient) for url in (key, *_binaries(resource)) if url)
        if len(self._waiting) > 10_000 and not self._system:
            self._write_waiting(writer)

    def _read_stated(self, resource: Mapping[str, Any], kind: str, rule: ResourceRule, full_url: str) -> None:
        """Read the persons that a resource about a patient names without a resource of their own: in the display of a
        reference, as the author of an annotation, or in a contained Patient or RelatedPerson."""
        own = [_own_key(resource, full_url)] if rule.source == "patient" else []
        patients = own or self._find_about(resource, rule.about)
        people = [
            cells
            for source, text in self._find_stated(resource, kind)
            if (cells := self.dictionary.cells(source, [("full", text)]))
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
        self.dictionary.finish(writer, folder)

    def _write_waiting(self, writer: StoreWriter) -> None:
        """Write the terms of patients and relatives whose patient is known by now."""
        for key, people in self._waiting:
            self.dictionary.add_patient(writer, self.person(key).patient_id, people)
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
        found = [self.dictionary.cells(source, _values(source, resource))]
        other = "relative" if source == "patient" else "organization"
        for contact in _objects(resource.get("contact")) if source in ("patient", "organization") else []:
            found.append(self.dictionary.cells(other, _values(other, contact)))
        return [cells for cells in found if cells]

    # --- the second pass: look up ---

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
            return self._find_owners(resource, key)
        return list(self._find_about(resource, rule.about))

    def _find_owners(self, binary: Mapping[str, Any], key: str) -> list[str]:
        """Return the keys of the patients of a Binary: those of the resource that has it as an attachment, or of the
        one in whose security context it is."""
        owners = [self._about[key]] if key in self._about else list(self._find_about(binary, ["securityContext"]))
        for text in find_values(binary, "securityContext.reference"):
            place = read_reference(text) if isinstance(text, str) else None
            owners += [self._about[place.key]] if place and place.key in self._about else []
        return list(dict.fromkeys(owners))

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
