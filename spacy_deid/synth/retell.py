"""An annotated note told again of other people: its entities become slots of a template, which is filled anew.

A few hundred labelled notes hold few names, and a model learns them by heart. Told again, the sentences stay and the
names, hospitals, towns and numbers change; whoever was one person in the note is one person again.
"""

import re
from collections.abc import Mapping
from random import Random
from types import MappingProxyType

from ..evaluation import AnnotatedText
from .inject import render_template
from .language import Language, Template
from .markup import parse

__all__ = ["retell"]

_WHO = MappingProxyType({"PATIENT": "patient", "CLINICIAN": "clinician", "RELATIVE": "relative", "PERSON": "person"})
_WHAT: Mapping[str, str] = MappingProxyType(
    {
        "HOSPITAL": "hospital.name",
        "HEALTH_CENTER": "center.name",
        "CITY": "patient.city",
        "MRN": "patient.mrn",
        "PHONE": "patient.phone",
        "FAX": "center.fax",
        "EMAIL": "patient.email",
        "SSN": "patient.ssn",
        "HEALTH_PLAN": "patient.member_id",
        "ACCOUNT": "patient.account",
        "LICENSE": "clinician.license",
        "ORGANIZATION": "patient.employer",
        "STREET": "patient.street",
    }
)
_SHORT = re.compile(r"[^\W\d_]+ [A-Z]\.?")
_BRIEF = re.compile(r"[A-Z]\. [^\W\d_]+")
_TITLED = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Miss|Prof)\.?\s*$")
_MARKS = re.compile(r"[{}]|\[\[|\]\]|<<|>>")


def retell(note: AnnotatedText, language: Language, rng: Random, name: str, split: str = "train") -> AnnotatedText:
    """Tell a note again.

    note (AnnotatedText): a note with disjoint entities. One that holds marks of the template language comes back as it
        is.
    language (Language): whose names and places are used.
    rng (Random): the source of chance.
    name (str): name of the new note.
    split (str): "train" or "test": which rare names may be used.
    RETURNS (AnnotatedText): the new note. Dates, ages and what no slot is known for stay as they were.
    """
    if _MARKS.search(note.text):
        return AnnotatedText(name, note.text, note.entities)
    pieces, last = [], 0
    for entity in note.entities:
        before, value = note.text[: entity.start], note.text[entity.start : entity.end]
        pieces += [note.text[last : entity.start], _slot(entity.label, value, before)]
        last = entity.end
    nodes = parse("".join(pieces) + note.text[last:], name)
    template = Template(name, nodes, split, {"sex": _sex(note.text), "age": "18..95"})
    return render_template(template, language, rng, split, name)


def _slot(label: str, value: str, before: str) -> str:
    """The slot that stands for a value, with its shape and its capitals."""
    if label not in _WHO:
        return f"{{{_WHAT[label]}@{label}}}" if label in _WHAT else f"<<{label}:{value}>>"
    what = "given"
    if _SHORT.fullmatch(value):
        what = "short"
    elif _BRIEF.fullmatch(value):
        what = "brief"
    elif " " in value:
        what = "called"
    elif _TITLED.search(before):
        what = "surname"
    letters = ":upper" if value.isupper() and len(value) > 2 else ":lower" if value.islower() else ""
    return f"{{{_WHO[label]}.{what}{letters}@{label}}}"


def _sex(text: str) -> str:
    """The sex that the pronouns and words of a text tell of."""
    female = len(re.findall(r"\b(?:she|her|female|woman|mrs|ms)\b", text, re.IGNORECASE))
    male = len(re.findall(r"\b(?:he|his|him|male|man|mr)\b", text, re.IGNORECASE))
    return "female" if female > male else "male"
