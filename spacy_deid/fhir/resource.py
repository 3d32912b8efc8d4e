"""Split a resource by the profile: copy what is kept, and make a `Slot` of each value to de-identify.

Text, narratives and files are items for `Deidentifier.pipe`. Names, numbers and dates have a label; all those of a
resource are released in one call of `Deidentifier.release`; see `joining`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from ..documents import File
from ..ehr.export_dictionary import Person
from ..errors import Errors, InputError
from ..exports import IDENTIFIER_LABELS, SUFFIXES
from .definitions import Element, check_resource, decode_base64, load_definitions
from .identities import Identities, find_values
from .json_values import Number
from .profile import DATE, KEEP, TYPE, Profile, ResourceRule, Rule
from .references import References, read_reference

DAY = len("2000-01-31")
"""Length of a date without time."""

_OLDEST = 89  # years; 45 CFR 164.514(b)(2)(i)(C)
_YEARS = frozenset({"a", "year", "years", "yr"})

_CONTACTS = {"phone": "PHONE", "sms": "PHONE", "pager": "PHONE", "fax": "FAX", "email": "EMAIL", "url": "URL"}
_OWNERS = {"PATIENT": "MRN", "CLINICIAN": "LICENSE"}  # label of a person → of a number without a type
_TARGETS = {"Patient": "PATIENT", "RelatedPerson": "RELATIVE", "Practitioner": "CLINICIAN", "Person": "PERSON"}
_TARGETS |= {"PractitionerRole": "CLINICIAN", "Organization": "ORGANIZATION", "Location": "LOCATION_OTHER"}


@dataclass(slots=True)
class Slot:
    """A value to de-identify.

    source (Union[str, File]): the value.
    path (str): the element, by names of the definitions, for messages.
    element (Element): its definition.
    label (str): canonical label of the whole value; "" for text and files.
    kind (str): "value", "text", "narrative" or "file"; "context" for a value that is in no element and only makes
        other values consistent.
    kept (str): end of the value that is not de-identified: the time of a date.
    released (Any): the de-identified value; None if there is none.
    """

    source: Any = field(repr=False)
    path: str
    element: Element
    label: str = ""
    kind: str = "text"
    kept: str = ""
    released: Any = field(default=None, repr=False)


@dataclass(slots=True)
class Draft:
    """A resource that was split.

    type (str): type of the resource.
    path (str): its position in a file, for messages.
    tree (dict): the copy, with slots.
    slots (list[Slot]): all slots in it.
    person (Optional[Person]): the patient; None if it is about none.
    note_date (str): date of the notes in it, in ISO 8601; "" if it is unknown.
    removed (Counter): element → number of values that were removed.
    """

    type: str
    path: str
    tree: dict[str, Any] = field(default_factory=dict, repr=False)
    slots: list[Slot] = field(default_factory=list, repr=False)
    person: Person | None = None
    note_date: str = ""
    removed: Counter[str] = field(default_factory=Counter)

    @property
    def is_about_a_patient(self) -> bool:
        """Whether the texts in it were searched for the names of its patient."""
        return self.person is not None and not self.person.patient_id.startswith("\0")

    @property
    def ehr(self) -> dict[str, Any]:
        """The EHR context of everything in the resource. One that is about no patient has an identity of its own."""
        person = self.person or Person("")
        return {key: value for key, value in person.ehr(self.note_date).items() if key != "sex" or value in _SEXES}


_SEXES = frozenset({"female", "male", "other", "unknown"})


class Splitter:
    """Splits resources.

    profile (Profile): the allow-list.
    identities (Identities): the persons of the export.
    references (References): surrogates of ids.
    limits_ages (bool): whether ages over 89 become "90 or more".
    """

    def __init__(
        self, profile: Profile, identities: Identities, references: References, *, limits_ages: bool = True
    ) -> None:
        self.limits_ages = limits_ages
        self.profile = profile
        self.identities = identities
        self.references = references

    def split(self, resource: dict[str, Any], path: str, full_url: str = "") -> Draft:
        """Check a resource and split it.

        resource (dict[str, Any]): the resource, whose type is in the profile.
        path (str): its position in a file, for messages.
        full_url (str): its address in a Bundle; "" if it has none.
        RETURNS (Draft): the parts.
        RAISES: InputError if it is not a resource of R4 (D981), refers to several patients (D983), or has an unknown
            modifier extension (D984).
        """
        check_resource(resource, path)
        kind = resource["resourceType"]
        rule = self.profile.resources[kind]
        patients = self.identities.find_patients(resource, full_url)
        if len(patients) > 1:
            raise InputError(Errors.D983.format(path=path or kind))
        if kind == "Binary" and not patients:  # its text would be searched without the names of its patient
            raise InputError(Errors.D981.format(path=path or kind, reason="no attachment of the export refers to it"))
        draft = Draft(kind, path)
        if patients:
            draft.person = self.identities.person(patients[0])
        elif rule.source or kind == "PractitionerRole":  # shared by patients: an identity of its own
            draft.person = Person(f"\0{kind} {self.references.new_id(kind, str(resource.get('id', full_url)))}")
        draft.note_date = _find_date(resource, rule) or (date.today().isoformat() if rule.source == "patient" else "")
        draft.tree = _Walk(self, draft, resource).resource(resource)
        return draft


def _find_date(resource: Mapping[str, Any], rule: ResourceRule) -> str:
    """Return the date of the notes in a resource; "" if no element has a full date."""
    for path in rule.dated:
        for value in find_values(resource, path):
            if isinstance(value, str) and len(value) >= DAY:
                return value[:DAY]
    return ""


class _Walk:
    """Copies one resource and the resources that it contains, and collects the slots."""

    def __init__(self, splitter: Splitter, draft: Draft, root: dict[str, Any]) -> None:
        self._profile = splitter.profile
        self._identities = splitter.identities
        self._references = splitter.references
        self._limits_ages = splitter.limits_ages
        self._draft = draft
        contained = [item for item in root.get("contained", ()) if item["resourceType"] in self._profile.resources]
        self._contained = {str(item.get("id")): item["resourceType"] for item in contained}
        self._rule = ResourceRule()
        self._roles: list[str] = ["PERSON"]
        self._actions = {
            KEEP: self._keep,
            DATE: self._date,
            "display": self._display,
            "target": self._target,
            "reference": self._reference,
            "id": lambda value, *_: self._references.new_id("uid", value),
            "narrative": self._narrative,
            "file": self._file,
            "url": self._url,
            "text": lambda value, element, path, *_: self._slot(Slot(value, path, element)),
            "name": lambda value, element, path, *_: self._label(value, element, path, self._roles[-1]),
            "contact": self._contact,
            "identifier": self._identifier,
        }

    def resource(self, value: dict[str, Any], *, contained: bool = False) -> dict[str, Any]:
        """Copy a resource, with a new id."""
        kind = value["resourceType"]
        before, self._rule = self._rule, self._profile.resources[kind]
        self._roles.append(self._rule.role)
        rules = dict(self._profile.rules[kind])
        for name in ("meta", "text", "contained"):
            rules.setdefault(name, Rule(TYPE))
        rules.setdefault("language", Rule(KEEP))
        tree: dict[str, Any] = {"resourceType": kind}
        if "id" in value:
            tree["id"] = self._references.new_id("#" if contained else kind, value["id"])
        tree |= self._object(value, kind, rules, kind)
        self._roles.pop()
        self._rule = before
        return tree

    def _object(self, value: dict[str, Any], owner: str, rules: Mapping[str, Rule], path: str) -> dict[str, Any]:
        """Copy the elements of a resource or of a value of a complex type that have rules."""
        elements = load_definitions().elements(owner)
        tree: dict[str, Any] = {}
        for key, item in value.items():
            name = key.removeprefix("_")
            if name in ("resourceType", "id"):
                continue
            place = f"{path}.{name}"
            if key in ("extension", "modifierExtension"):
                if kept := self._extensions(item, place, must_know=key == "modifierExtension"):
                    tree[key] = kept
                continue
            rule, element = rules.get(name), elements[name]
            if rule is None or (rule.action == TYPE and element.type not in ("Resource", *self._profile.rules)):
                self._draft.removed[place] += 1
                tree.setdefault(name, [] if element.many else None)
                continue
            if key != name:
                tree[key] = self._primitive_extensions(item, place)
                tree.setdefault(name, [] if element.many else None)
                continue
            role = self._rule.roles.get(place.partition(".")[2])
            self._roles += [role] if role else []
            made = [self._value(one, element, rule, place, value) for one in (item if element.many else [item])]
            tree[name] = made if element.many else made[0]
            if role:
                self._roles.pop()
        if owner == "HumanName" and "family" in value and "given" in value:
            self._add_full_name(value, path)
        if owner == "Age" and self._limits_ages:
            _limit_age(value, tree)
        return tree

    def _value(self, value: Any, element: Element, rule: Rule, path: str, parent: Mapping[str, Any]) -> Any:
        """Copy one value: None if it is removed, or a slot."""
        if value is None:
            return None
        if element.type == "Resource":
            if value["resourceType"] in self._profile.resources:
                return self.resource(value, contained=True)
            self._draft.removed[path] += 1
            return None
        if rule.action == TYPE:
            return self._object(value, element.type, self._profile.rules[element.type], path)
        if rule.action == "label":
            return self._label(value, element, path, rule.label)
        made = self._actions[rule.action](value, element, path, parent)
        if made is None:
            self._draft.removed[path] += 1
        return made

    # --- actions: value, its definition, its path and the object that it is in → a value, a slot, or None ---

    def _slot(self, slot: Slot) -> Slot:
        """Add a slot."""
        self._draft.slots.append(slot)
        return slot

    def _label(self, value: str, element: Element, path: str, label: str) -> Slot:
        """Make a slot of a value that is an identifier as a whole."""
        return self._slot(Slot(value, path, element, label, "value"))

    def _keep(self, value: Any, element: Element, path: str, parent: Mapping[str, Any]) -> Any:
        """Keep a value, unless it is a string that contains an identifier of a person in the export."""
        if not isinstance(value, str) or element.codes or element.type == "time":
            return value
        patient = self._draft.person.patient_id if self._draft.person else ""
        published = str(parent.get("system", "")).startswith(self._profile.display_systems)
        shared = not self._draft.is_about_a_patient and not published
        is_code = published and element.type == "code"
        found = self._identities.dictionary.finds_identifier(value, patient, own_only=is_code) or (
            shared and self._identities.dictionary.names_anyone(value)
        )
        return None if found else value

    def _date(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> Slot:
        """Make a slot of a date. The time of day is kept."""
        return self._slot(Slot(value[:DAY], path, element, "DATE", "value", value[DAY:]))

    def _display(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> Any:
        """Keep the display of a known code system; others are free text."""
        if str(parent.get("system", "")).startswith(self._profile.display_systems) and "code" in parent:
            return self._keep(value, element, path, parent)
        return self._slot(Slot(value, path, element))

    def _target(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> Slot:
        """Make a slot of the name of what a reference refers to, with the label of its type."""
        text = parent.get("reference")
        place = read_reference(text) if isinstance(text, str) else None
        kind = self._identities.type_of(place) if place else ""
        if isinstance(text, str) and text.startswith("#"):
            kind = self._contained.get(text[1:], "")
        if not kind and isinstance(parent.get("type"), str):
            kind = parent["type"].rpartition("/")[2]
        possible = [kind] if kind else self._allowed_targets(path)
        label = next((_TARGETS[name] for name in possible if name in _TARGETS), "")
        return self._label(value, element, path, label) if label else self._slot(Slot(value, path, element))

    def _allowed_targets(self, path: str) -> Sequence[str]:
        """Return the types that the reference at a path can refer to, by the definitions."""
        *names, _ = path.split(".")
        owner, element = names[0], None
        for name in names[1:]:
            element = load_definitions().elements(owner).get(name) if load_definitions().has(owner) else None
            if element is None:
                return ()
            owner = element.type
        return element.targets if element else ()

    def _reference(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> str | None:
        """Rewrite a reference. One to a contained resource that was removed is removed too."""
        if value.startswith("#") and value[1:] and value[1:] not in self._contained:
            return None
        return self._references.rewrite(value)

    def _url(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> str | None:
        """Rewrite the address of a Binary of the same export; others are removed."""
        place = read_reference(value)
        is_here = place is not None and self._identities.has_binary(place)
        return self._references.rewrite(value) if is_here else None

    def _narrative(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> Slot:
        """Make a slot of a narrative, as an HTML file."""
        page = f"<html><body>{value}</body></html>".encode()
        return self._slot(Slot(File(page, "narrative.html"), path, element, kind="narrative"))

    def _file(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> Slot | None:
        """Make a slot of an attachment. One with an unknown content type is removed."""
        media = str(parent.get("contentType", "")).partition(";")[0].strip().lower()
        data = decode_base64(value)
        if media not in SUFFIXES or not data:
            return None
        return self._slot(Slot(File(data, f"attachment{SUFFIXES[media]}"), path, element, kind="file"))

    def _add_full_name(self, value: dict[str, Any], path: str) -> None:
        """Add a slot of the full name, which is in no element, so that the parts get the surrogates of one person."""
        full = " ".join([*(part for part in value["given"] if part), value["family"]])
        element = load_definitions().elements("HumanName")["text"]
        self._slot(Slot(full, path, element, self._roles[-1], "context"))

    def _contact(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> Slot:
        """Make a slot of a phone number or an address."""
        return self._label(value, element, path, _CONTACTS.get(str(parent.get("system", "")), "ID_OTHER"))

    def _identifier(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> Slot:
        """Make a slot of a number, with the label of its type, or else that of the resource."""
        codes = [str(code) for code in find_values(parent, "type.coding.code")]
        owner = _OWNERS.get(self._roles[-1], "ID_OTHER")
        label = next((IDENTIFIER_LABELS[code] for code in codes if code in IDENTIFIER_LABELS), owner)
        return self._label(value, element, path, label)

    # --- extensions and ages ---

    def _extensions(self, items: Sequence[dict[str, Any]], path: str, *, must_know: bool) -> list[dict[str, Any]]:
        """Copy the extensions that the profile names. RAISES: InputError (D984) for another modifier extension."""
        kept = []
        for item in items:
            rules = self._profile.extensions.get(item["url"])
            if rules is None:
                if must_know:
                    raise InputError(Errors.D984.format(path=path))
                self._draft.removed[path] += 1
                continue
            kept.append(self._object(item, "Extension", rules, path))
        return kept

    def _primitive_extensions(self, item: Any, path: str) -> Any:
        """Copy the extensions of a primitive value, or of each value of a list; None where nothing is left."""
        if isinstance(item, list):
            return [self._primitive_extensions(one, path) for one in item]
        kept = self._extensions(item.get("extension", ()), f"{path}.extension", must_know=False) if item else []
        return {"extension": kept} if kept else None


def _limit_age(value: Mapping[str, Any], tree: dict[str, Any]) -> None:
    """Replace an age over 89 years by "90 or more" (45 CFR 164.514(b)(2)(i)(C))."""
    number, unit = tree.get("value"), str(value.get("code", value.get("unit", "a"))).lower()
    if isinstance(number, Number) and unit in _YEARS and float(number.text) > _OLDEST:
        tree |= {"value": Number(str(_OLDEST + 1)), "comparator": ">="}
