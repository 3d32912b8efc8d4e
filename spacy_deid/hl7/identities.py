"""Find out whom messages are about, and make a dictionary of the persons in them.

PID and MRG describe the patient, NK1, GT1 and IN1 relatives, and other fields name clinicians and organizations.
Values of the patient and of relatives become terms of this patient. Clinicians and organizations become terms of the
institution, and those of a patient's messages also terms of the patient, because a name that is also a common word is
searched for only in the notes of a patient.
"""

from collections.abc import Iterator
from datetime import date

from ..dictionaries.store import StoreWriter
from ..ehr.entry_maker import Cell
from ..ehr.export_dictionary import ExportDictionary, Person
from ..errors import Errors, InputError
from ..patient_ids import normal_id
from .messages import Encoding, Message, Segment, read_text
from .profile import Profile, SegmentRule

_SEXES = {"F": "female", "M": "male", "O": "other", "A": "other", "U": "unknown"}  # HL7 table 0001
_SOURCES = {"PATIENT": "patient", "RELATIVE": "relative"}
_RECORD_NUMBER = "MR"  # HL7 table 0203
_BORN = 7  # PID-7
_OLD_NAMES = frozenset({"M", "B"})  # maiden name and name at birth, HL7 table 0200
_NUMBERS = frozenset(
    {"SSN", "LICENSE", "HEALTH_PLAN", "INSURANCE_ID", "ENCOUNTER_ID", "ACCOUNT", "NATIONAL_ID", "MRN"}
)


class Identities:
    """The persons of an export.

    profile (Profile): says which fields describe persons.
    lang (str): language of the notes, ISO 639-1.
    authority (str): namespace of the assigning authority (CX.4) of the identifier in PID-3 that is the patient's id;
        "" for the record number (type MR), or else the first identifier.
    """

    def __init__(self, profile: Profile, lang: str, authority: str = "") -> None:
        self._profile = profile
        self._authority = authority
        self.dictionary = ExportDictionary(lang, "hl7")

    def __repr__(self) -> str:
        return "Identities(…)"

    def read(self, message: Message, path: str, writer: StoreWriter) -> None:
        """Read what a message says about persons.

        message (Message): the message.
        path (str): its position, for messages.
        writer (StoreWriter): the dictionary to add terms to.
        RAISES: InputError as `find_person`, and (D993) for a damaged escape sequence.
        """
        found = list(self._people(message, path))
        for source, cells in found:
            if source in ("clinician", "organization"):
                self.dictionary.add_institution(writer, source, cells)
        patient_id = self.find_person(message, path).patient_id
        self.dictionary.collect(writer, patient_id, (cells for source, cells in found if source != "organization"))

    def find_person(self, message: Message, path: str) -> Person:
        """Find whom a message is about.

        message (Message): the message.
        path (str): its position, for messages.
        RETURNS (Person): the patient.
        RAISES: InputError (D994) if the message names no patient or several.
        """
        segments = [segment for segment in message.segments if segment.name == "PID"]
        ids = {self._patient_id(segment, message.encoding) for segment in segments}
        if len(ids) != 1:
            reason = "it is about several patients" if ids else "it has no segment PID"
            raise InputError(Errors.D994.format(path=path, reason=reason))
        patient_id = ids.pop()
        if not normal_id(patient_id):
            raise InputError(Errors.D994.format(path=path, reason="PID-3 has no identifier of the patient"))
        family, given, *_ = [*_split(segments[0].get(5), message.encoding), "", ""]
        name = " ".join(part for part in (given, family.replace(message.encoding.subcomponent, " ")) if part.strip())
        sex = _split(segments[0].get(8), message.encoding)[0].upper()
        return Person(patient_id, _plain(name, message.encoding), _SEXES.get(sex, ""))

    def _patient_id(self, segment: Segment, encoding: Encoding) -> str:
        """Return the patient's id of a PID segment: from PID-3, or from PID-2 as in versions before 2.3."""
        ids = [_split(text, encoding) + [""] * 5 for text in segment.get(3).split(encoding.repetition)]
        if self._authority:
            ids = [parts for parts in ids if parts[3].split(encoding.subcomponent)[0] == self._authority]
        ids.sort(key=lambda parts: parts[4] != _RECORD_NUMBER)
        found = next((parts[0] for parts in ids if parts[0].strip()), "")
        return _plain(found or ("" if self._authority else _split(segment.get(2), encoding)[0]), encoding).strip()

    def _people(self, message: Message, path: str) -> Iterator[tuple[str, list[Cell]]]:
        """Yield the persons and organizations of a message: kind, and usable values."""
        for segment in message.segments:
            rule = self._profile.segments.get(segment.name)
            if rule is None:
                continue
            values: dict[str, list[tuple[str, str]]] = {}
            for source, found in self._values(segment, rule, message.encoding):
                if rule.source and source == rule.source:  # one person, whose values are in several fields
                    values.setdefault(source, []).extend(found)
                elif cells := self.dictionary.cells(source, found):
                    yield source, cells
            for source, found in values.items():
                if cells := self.dictionary.cells(source, found):
                    yield source, cells

    def _values(
        self, segment: Segment, rule: SegmentRule, encoding: Encoding
    ) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the values of each repetition of each field that describes a person or an organization."""
        for number, done in rule.fields.items():
            raw = segment.get(number)
            if not raw:
                continue
            person = _SOURCES.get(rule.role_of(number), "clinician")
            name = done.name
            if done.action == "value":
                given = self._profile.values.get(segment.get(2))
                name = given.name if given else ""
            if done.action == "label" and name in _NUMBERS:
                yield (rule.source or "patient"), [("id", _plain(_split(raw, encoding)[0], encoding))]
            if done.action == "date" and rule.source and segment.name == "PID":
                day = _birth_date(raw) if number == _BORN else ""
                # without hyphens as an identifier, because notes do not write dates so but fields do
                yield person, [("birth_date", day), ("id", day.replace("-", ""))] if day else []
            kind = self._profile.types.get(name) if done.action in ("type", "value") else None
            kinds = kind.kinds if kind else {}
            for text in raw.split(encoding.repetition) if kinds else ():
                parts = _split(text, encoding)
                found = [(kinds[i], _plain(part, encoding)) for i, part in enumerate(parts, 1) if part and i in kinds]
                if name == "XPN" and len(parts) > 6 and parts[6] in _OLD_NAMES:
                    found = [("former" if kind == "surname" else kind, value) for kind, value in found]
                if "organization" in kinds.values():
                    yield "organization", found
                elif set(kinds.values()) == {"id"}:
                    yield (rule.source or "patient"), found
                else:
                    yield person, found


def _split(text: str, encoding: Encoding) -> list[str]:
    """Split the first repetition of a field into its components."""
    return text.split(encoding.repetition)[0].split(encoding.component)


def _plain(text: str, encoding: Encoding) -> str:
    """Return the text of a component, with spaces between subcomponents."""
    return read_text(text, encoding, "").text


def _birth_date(text: str) -> str:
    """Return the date of a field in ISO 8601; "" if it has no full date."""
    try:
        return date.fromisoformat(f"{text[:4]}-{text[4:6]}-{text[6:8]}").isoformat()
    except ValueError:
        return ""
