"""De-identify one resource: split it by the profile, and put it together again.

`Splitter.split` checks a resource and copies what the profile keeps. Each value to de-identify becomes a `Slot`: text,
HTML and files are items for `Deidentifier.pipe`; names, numbers and dates have labels, and `release_values` releases
all those of a resource in one call of `Deidentifier.release`, so policy, style and surrogates are those of the notes.
`join` fills the slots, marks required elements without a value as masked, and checks the result.
"""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

from ..deidentifier import Deidentifier
from ..documents import File
from ..errors import Errors, InputError, NotDeidentified
from ..offsets import apply_edits
from ..results import Result
from ..spans import Evidence
from .definitions import Element, check_resource, decode_base64, is_valid, load_definitions
from .identities import Identities, Person, find_values
from .json_values import Number
from .profile import DATE, KEEP, TYPE, Profile, ResourceRule, Rule
from .references import References, read_reference

GROUP = "deid/fhir"
"""Span group of the labelled values of a resource."""

_ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
_OBSERVATION_VALUE = "http://terminology.hl7.org/CodeSystem/v3-ObservationValue"
_BETWEEN = "\n.\n"  # between labelled values: the period separates words of two values
_DAY = len("2000-01-31")
_OLDEST = 89  # years; 45 CFR 164.514(b)(2)(i)(C)
_YEARS = frozenset({"a", "year", "years", "yr"})

SUFFIXES: Mapping[str, str] = {
    "text/plain": ".txt",
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/rtf": ".rtf",
    "application/rtf": ".rtf",
    "application/pdf": ".pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.oasis.opendocument.text": ".odt",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/tiff": ".tif",
}
"""Content type of an attachment → suffix of the file that it is read as. Other attachments are removed."""

_CONTACTS = {"phone": "PHONE", "sms": "PHONE", "pager": "PHONE", "fax": "FAX", "email": "EMAIL", "url": "URL"}
# HL7 table 0203, https://terminology.hl7.org/CodeSystem-v2-0203.html
_IDENTIFIERS = {"MR": "MRN", "PI": "MRN", "PT": "MRN", "SS": "SSN", "SB": "SSN", "DL": "LICENSE", "MD": "LICENSE"}
_IDENTIFIERS |= {"NPI": "LICENSE", "PRN": "LICENSE", "LN": "LICENSE", "PPN": "NATIONAL_ID", "NI": "NATIONAL_ID"}
_IDENTIFIERS |= {"AN": "ACCOUNT", "VN": "ENCOUNTER_ID", "EI": "EMPLOYEE_ID", "MB": "HEALTH_PLAN", "SN": "DEVICE"}
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
    kind (str): "value", "text", "narrative" or "file".
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
            raise InputError(Errors.D983.format(path=path))
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
            if isinstance(value, str) and len(value) >= _DAY:
                return value[:_DAY]
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
        return None if self._identities.finds_identifier(value, patient) else value

    def _date(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> Slot:
        """Make a slot of a date. The time of day is kept."""
        return self._slot(Slot(value[:_DAY], path, element, "DATE", "value", value[_DAY:]))

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
        is_here = place is not None and place.type == "Binary" and not place.base
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
        self._label(full, load_definitions().elements("HumanName")["text"], path, self._roles[-1])

    def _contact(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> Slot:
        """Make a slot of a phone number or an address."""
        return self._label(value, element, path, _CONTACTS.get(str(parent.get("system", "")), "ID_OTHER"))

    def _identifier(self, value: str, element: Element, path: str, parent: Mapping[str, Any]) -> Slot:
        """Make a slot of a number, with the label of its type, or else that of the resource."""
        codes = [str(code) for code in find_values(parent, "type.coding.code")]
        owner = _OWNERS.get(self._roles[-1], "ID_OTHER")
        label = next((_IDENTIFIERS[code] for code in codes if code in _IDENTIFIERS), owner)
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
        kept = self._extensions(item.get("extension", ()), path, must_know=False) if item else []
        return {"extension": kept} if kept else None


def _limit_age(value: Mapping[str, Any], tree: dict[str, Any]) -> None:
    """Replace an age over 89 years by "90 or more" (45 CFR 164.514(b)(2)(i)(C))."""
    number, unit = tree.get("value"), str(value.get("code", value.get("unit", "a"))).lower()
    if isinstance(number, Number) and unit in _YEARS and float(number.text) > _OLDEST:
        tree |= {"value": Number(str(_OLDEST + 1)), "comparator": ">="}


# --- release ---


def release_values(deid: Deidentifier, draft: Draft) -> None:
    """De-identify the labelled values of a resource, all at once, so that they are consistent.

    deid (Deidentifier): the deidentifier.
    draft (Draft): the resource; its slots of the kind "value" are filled.
    RAISES: NotDeidentified (D985) if a step did not run.
    """
    slots = [slot for slot in draft.slots if slot.kind == "value"]
    if not slots:
        return
    text, places = "", []
    for slot in slots:
        places.append((len(text), len(text) + len(slot.source)))
        text += slot.source + _BETWEEN
    evidence = [
        Evidence(start, end, slot.label, "fhir", 1.0, "fhir", True)
        for slot, (start, end) in zip(slots, places, strict=True)
    ]
    result = deid.release(text, {GROUP: evidence}, draft.ehr)
    check_result(result, draft.path)
    for slot, (start, end) in zip(slots, places, strict=True):
        inside = [edit for edit in result.edits if start <= edit.start and edit.end <= end]
        moved = [type(edit)(edit.start - start, edit.end - start, edit.label, edit.replacement) for edit in inside]
        released = apply_edits(slot.source, moved)
        if slot.label == "DATE":
            released = released + slot.kept if len(released) == _DAY else released
        slot.released = released if is_valid(released, slot.element) else None


def fill(slot: Slot, result: Result, path: str) -> None:
    """Fill a slot with the result of `Deidentifier.pipe`.

    slot (Slot): a slot of a text, a narrative or a file.
    result (Result): its result.
    path (str): position of the resource, for the message.
    RAISES: NotDeidentified (D985) if it was not released.
    """
    check_result(result, path)
    if slot.kind == "text":
        slot.released = result.text if result.text.strip() else None
    elif slot.kind == "narrative":
        slot.released = _to_div(result.copy)
    else:
        slot.released = base64.b64encode(result.copy).decode("ascii")


def check_result(result: Result, path: str) -> None:
    """Raise an error if an item was not released. RAISES: NotDeidentified (D985)."""
    if not result.ok:
        raise NotDeidentified(Errors.D985.format(path=path, reason=result.reason))


def _to_div(page: bytes) -> str | None:
    """Return the ``<div>`` of a narrative from a released HTML page, as XHTML; None if nothing is left."""
    from lxml import etree
    from lxml.html import document_fromstring

    body = document_fromstring(page.decode("utf-8")).find("body")
    if body is None:
        return None
    divs = [item for item in body if item.tag == "div"]
    if len(divs) == 1 and len(body) == 1:
        root = divs[0]
        root.tail = None
    else:
        root, body.tag = body, "div"
    text: str = etree.tostring(root, encoding="unicode", method="xml")
    shown = "".join(root.itertext()).strip()
    return re.sub(r"^<div\b", '<div xmlns="http://www.w3.org/1999/xhtml"', text, count=1) if shown else None


# --- join ---


def join(draft: Draft, profile: Profile, style: str) -> dict[str, Any]:
    """Put a resource together from its parts.

    draft (Draft): the parts, with filled slots.
    profile (Profile): the allow-list.
    style (str): the style of the run, for the security label.
    RETURNS (dict[str, Any]): the released resource.
    RAISES: InputError (D981) if it is not valid.
    """
    finish = partial(_finish, draft)
    resource: dict[str, Any] = finish(draft.tree, draft.type)
    if profile.security_label:
        code = "PSEUDED" if style == "surrogate" else "REDACTED"
        meta = resource.pop("meta", {})
        labels = [*meta.get("security", ()), {"system": _OBSERVATION_VALUE, "code": code}]
        head: dict[str, Any] = {key: resource.pop(key) for key in ("resourceType", "id") if key in resource}
        resource = {**head, "meta": meta | {"security": labels}, **resource}
    check_resource(resource, draft.path)
    return resource


def _finish(draft: Draft, tree: dict[str, Any], owner: str) -> dict[str, Any]:
    """Copy a tree with the values of its slots, without empty elements, and mark required ones as masked."""
    elements = load_definitions().elements(owner)
    made: dict[str, Any] = {}
    for name, item in tree.items():
        if name == "resourceType":
            made[name] = item
            continue
        if name.startswith("_"):
            continue
        element = elements[name]
        values = [_finish_value(draft, one, element) for one in (item if element.many else [item])]
        others = _as_list(tree.get("_" + name), element.many, len(values))
        kept = [(value, other) for value, other in zip(values, others, strict=True) if value is not None or other]
        if any(value is not None for value, _ in kept):
            made[name] = [value for value, _ in kept] if element.many else kept[0][0]
        if any(other for _, other in kept):
            made["_" + name] = [other for _, other in kept] if element.many else kept[0][1]
        if not kept and element.least:
            made |= _mask(element)
    if owner in ("Attachment", "Binary") and "data" in made:
        data = decode_base64(made["data"]) or b""
        if owner == "Attachment":
            made["size"] = Number(str(len(data)))
            made["hash"] = base64.b64encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode("ascii")
    return made


def _finish_value(draft: Draft, value: Any, element: Element) -> Any:
    """Return a released value; None if nothing is left of it."""
    if isinstance(value, Slot):
        if value.released is None:
            draft.removed[value.path] += 1
        return value.released
    if not isinstance(value, dict):
        return value
    owner = value["resourceType"] if element.type == "Resource" else element.type
    return _finish(draft, value, owner) or None


def _as_list(item: Any, many: bool, length: int) -> list[Any]:
    """Return the extensions of primitive values as a list with one item per value."""
    items = list(item or []) if many else [item]
    return [*items, *[None] * (length - len(items))]


def _mask(element: Element) -> dict[str, Any]:
    """Return a required element without a value: an extension says that it is masked."""
    absent = {"extension": [{"url": _ABSENT, "valueCode": "masked"}]}
    primitive = element.type in load_definitions().primitives
    return {("_" if primitive else "") + element.name: [absent] if element.many else absent}
