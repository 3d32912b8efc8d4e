"""Find out whom a document is about, and make a dictionary of the persons in it.

The header names the patient, relatives, clinicians and organizations, and the entries of the body can name more.
Values of the patient and of relatives become terms of this patient. Clinicians, organizations and locations become
terms of the institution. Those of clinicians also become terms of the patient, because a name that is also a common
word is searched for only in the notes of a patient.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any

from ..dictionaries.store import StoreWriter
from ..ehr.entry_maker import Cell
from ..ehr.export_dictionary import ExportDictionary, Person
from ..exports import read_timestamp
from ..patient_ids import normal_id
from .profile import Profile, TypeRule
from .structure import children, find, name_of, wrong

_SEXES = {"F": "female", "M": "male", "UN": "other"}  # AdministrativeGender, 2.16.840.1.113883.5.1
_OLD_NAMES = frozenset({"BR", "SP"})  # EntityNamePartQualifier: name at birth, name of a spouse
_SCHEMES = ("tel:", "fax:", "sms:", "mailto:", "x-text-fax:", "x-text-tel:")
_DAY = len("2000-01-31")
_OTHER = "patient"  # the owner of numbers that belong to no person, such as that of an encounter


class Identities:
    """The persons of an export.

    profile (Profile): says which elements describe persons.
    lang (str): language of the texts, ISO 639-1.
    root (str): root of the identifier in patientRole/id that is the patient's id; "" for the first one.
    """

    def __init__(self, profile: Profile, lang: str, root: str = "") -> None:
        self._profile = profile
        self._root = root
        self.dictionary = ExportDictionary(lang, "cda")

    def __repr__(self) -> str:
        return "Identities(…)"

    def read(self, document: Any, writer: StoreWriter) -> None:
        """Read what a document says about persons.

        document: the root element.
        writer (StoreWriter): the dictionary to add terms to.
        RAISES: InputError as `find_person`.
        """
        patient_id = self.find_person(document).patient_id
        found = [(source, cells) for source, cells in self._people(document) if cells]
        for source, cells in found:
            if source in ("clinician", "organization", "location"):
                self.dictionary.add_institution(writer, source, cells)
        own = (cells for source, cells in found if source not in ("organization", "location"))
        self.dictionary.collect(writer, patient_id, own)

    def find_person(self, document: Any) -> Person:
        """Find whom a document is about.

        document: the root element.
        RETURNS (Person): the patient.
        RAISES: InputError (D979) if the document is about several patients, or no identifier names the patient.
        """
        path = "ClinicalDocument/recordTarget/patientRole"
        roles = list(find(document, "recordTarget/patientRole"))
        ids = {self._patient_id(role) for role in roles}
        if len(ids) != 1:
            raise wrong(path, "the document is about several patients")
        patient_id = ids.pop()
        if not normal_id(patient_id):
            raise wrong(f"{path}/id", "it has no identifier of the patient")
        names = [name for role in roles for name in find(role, "patient/name")]
        names.sort(key=lambda name: "L" not in name.get("use", "L").split())
        full = next((text for name in names if (text := full_name(name))), "")
        sex = next((code.get("code", "") for code in find(roles[0], "patient/administrativeGenderCode")), "")
        return Person(patient_id, full, _SEXES.get(sex, ""))

    def _patient_id(self, role: Any) -> str:
        """Return the patient's id of a patientRole: the extension of an id, or else its root."""
        ids = [item for item in children(role, "id") if not item.get("nullFlavor")]
        if self._root:
            ids = [item for item in ids if item.get("root") == self._root]
        extension = next((item.get("extension") for item in ids if item.get("extension", "").strip()), "")
        return str(extension or next((item.get("root", "") for item in ids), "")).strip()

    def _people(self, document: Any) -> Iterator[tuple[str, list[Cell]]]:
        """Yield the persons and institutions of a document: kind, and usable values."""
        found: list[tuple[str, list[tuple[str, str]]]] = [(_OTHER, [])]
        self._collect(document, self._profile.types["ClinicalDocument"], found[0][1], found)
        for source, values in found:
            yield source, self.dictionary.cells(source, values)

    def _collect(
        self,
        element: Any,
        rule: TypeRule,
        values: list[tuple[str, str]],
        found: list[tuple[str, list[tuple[str, str]]]],
    ) -> None:
        """Collect the values of an element and of what it contains. A type with a source begins another person."""
        if rule.source:
            values = []
            found.append((rule.source, values))
        for part, kind in rule.kinds.items():
            if part[0] == "@":
                values += _named(kind, element.get(part[1:], ""))
            elif part == "#":
                texts = [element.text, *(child.tail for child in element)]
                values += _named(kind, " ".join(text for text in texts if text))
            for child in children(element, part):
                old = kind == "surname" and bool(_OLD_NAMES & set(child.get("qualifier", "").split()))
                values += _named("former" if old else kind, child.text or "")
        for child in element:
            name = name_of(child.tag)
            done = rule.parts.get(name)
            if name == "birthTime":
                values += _birth_dates(child.get("value", ""))
            if done is not None and done.action == "type":
                self._collect(child, self._profile.type_of(done.name, child.get("classCode", "")), values, found)


def full_name(name: Any) -> str:
    """Return a name as a text: given names and family name, or else the text of the element."""
    parts = [child.text.strip() for key in ("given", "family") for child in children(name, key) if child.text]
    return " ".join(filter(None, parts)) or " ".join((name.text or "").split())


def split_contact(value: str) -> tuple[str, str]:
    """Split the address of a telecom into its scheme, such as "tel:", and the rest."""
    scheme = next((known for known in _SCHEMES if value.lower().startswith(known)), "")
    return value[: len(scheme)], value[len(scheme) :]


def _named(kind: str, text: str) -> list[tuple[str, str]]:
    """Return a value with its kind; nothing for an empty one."""
    text = " ".join(text.split())
    if kind == "phone":
        _, text = split_contact(text)
        kind = "email" if "@" in text else kind
    return [(kind, text)] if text else []


def _birth_dates(text: str) -> list[tuple[str, str]]:
    """Return a date of birth, and its digits as an identifier, because notes do not write dates so but fields do."""
    found = read_timestamp(text)
    try:
        day = date.fromisoformat(found[0]).isoformat() if found and len(found[0]) == _DAY else ""
    except ValueError:
        return []
    return [("birth_date", day), ("id", day.replace("-", ""))] if day else []
