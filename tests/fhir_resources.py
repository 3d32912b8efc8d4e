"""Resources that are made from the definitions of R4, with a name in every element that can have one."""

import base64
import json

from spacy_deid.fhir.definitions import load_definitions
from spacy_deid.fhir.json_values import read_json

GIVEN, FAMILY, RELATIVE, CLINICIAN = "Wilhelmina", "Quillfeather", "Ostrander", "Okonkwo"
CANARIES = (GIVEN, FAMILY, RELATIVE, CLINICIAN, "QF-771903", "+34 600 111 222", "1950-03-02")
SENTENCE = f"Seen with {GIVEN} {FAMILY} and Bob {RELATIVE} by Zebedee {CLINICIAN}, record QF-771903."
_DEEPEST = 4

PATIENT = {
    "resourceType": "Patient",
    "id": "p1",
    "identifier": [{"system": "urn:oid:1.2.36", "value": "QF-771903"}],
    "name": [{"family": FAMILY, "given": [GIVEN]}],
    "telecom": [{"system": "phone", "value": "+34 600 111 222"}],
    "gender": "female",
    "birthDate": "1950-03-02",
    "contact": [{"name": {"family": RELATIVE, "given": ["Bob"]}}],
}
PRACTITIONER = {"resourceType": "Practitioner", "id": "d1", "name": [{"family": CLINICIAN, "given": ["Zebedee"]}]}
PLAIN = {
    "boolean": "true",
    "integer": "7",
    "decimal": "7.00",
    "positiveInt": "7",
    "unsignedInt": "7",
    "date": '"2020-05-06"',
    "dateTime": '"2020-05-06T10:20:30+01:00"',
    "instant": '"2020-05-06T10:20:30.5Z"',
    "time": '"10:20:30"',
}
PLANTED = {
    "code": FAMILY,
    "id": FAMILY,
    "uri": f"http://example.org/{FAMILY}",
    "url": f"http://example.org/{FAMILY}",
    "canonical": f"http://example.org/{FAMILY}",
    "oid": "urn:oid:1.2.3",
    "uuid": "urn:uuid:c757873d-ec9a-4326-a141-556f43239520",
    "string": SENTENCE,
    "markdown": SENTENCE,
    "xhtml": f'<div xmlns="http://www.w3.org/1999/xhtml"><p>{GIVEN} <b>{FAMILY}</b></p></div>',
    "base64Binary": base64.b64encode(SENTENCE.encode()).decode(),
}


def parse(value):
    """The resource as it is read from a file: numbers keep their characters. A text is JSON."""
    return read_json(value if isinstance(value, str) else json.dumps(value))


def make_resource(kind, turn=0):
    """The JSON text of a resource with every element; of a choice of types it has the one with the number `turn`."""
    return _object(kind, turn, 0, {})


def _object(kind, turn, depth, fixed):
    definitions = load_definitions()
    parts = {"resourceType": f'"{kind}"'} if kind in definitions.resources else {}
    choices = {}
    for element in definitions.elements(kind).values():
        if element.choice:
            choices.setdefault(element.choice, []).append(element)
    chosen = {name: elements[turn % len(elements)].name for name, elements in choices.items()}
    for element in definitions.elements(kind).values():
        if element.choice and chosen[element.choice] != element.name:
            continue
        if (depth >= _DEEPEST and not element.least) or element.name in ("modifierExtension", "implicitRules"):
            continue
        made = fixed.get(element.name) or _value(element, turn, depth)
        if made is not None:
            parts[element.name] = f"[{made}]" if element.many else made
    if not parts:
        parts["id"] = '"x"'
    if kind == "Reference":
        parts["reference"] = '"Patient/p1"'
        parts.pop("type", None)
    if kind in ("Attachment", "Binary"):
        parts["contentType"] = '"text/plain"'
    return "{" + ", ".join(f'"{name}": {made}' for name, made in parts.items()) + "}"


def _value(element, turn, depth):
    if element.codes:
        return json.dumps(sorted(element.codes)[turn % len(element.codes)])
    if element.type in PLAIN:
        return PLAIN[element.type]
    if element.type in PLANTED:
        return json.dumps(PLANTED[element.type])
    if element.type == "Extension":
        return json.dumps({"url": f"http://example.org/{FAMILY}", "valueString": SENTENCE}) if depth < 3 else None
    if element.type == "Resource":
        return json.dumps({"resourceType": "Basic", "code": {"text": SENTENCE}})
    if depth >= _DEEPEST and element.type in ("Identifier", "Reference"):
        return json.dumps({"display" if element.type == "Reference" else "value": SENTENCE})
    return _object(element.type, turn, depth + 1, {}) if depth < _DEEPEST + 3 else None
