"""Read English corpora that list the identifiers beside the text, and repeat labelled notes with other persons.

ASQ-PHI            short clinical queries, with type and value of each identifier (MIT; Weatherhead et al. 2026)
ACI-Bench          visit notes, with the names of patient and doctor in a table (CC BY 4.0; Yim et al. 2023)
presidio-research  sentences with offsets and labels of its own scheme (MIT)

A few hundred labelled notes contain few names, and a model memorizes them. `retell` keeps the sentences of a note and
replaces its names, hospitals, towns and numbers; mentions of one person remain mentions of one person.
"""

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

from spacy_deid.errors import Errors, InputError
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.documents import read_text
from spacy_deid.synth.corpus import render_template
from spacy_deid.synth.language import Language, Template, load_language
from spacy_deid.synth.markup import parse

QUERY_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "NAME": "PATIENT",
        "GEOGRAPHIC_LOCATION": "CITY",
        "DATE": "DATE",
        "MEDICAL_RECORD_NUMBER": "MRN",
        "HEALTH_PLAN_BENEFICIARY_NUMBER": "HEALTH_PLAN",
        "PHONE_NUMBER": "PHONE",
        "FAX_NUMBER": "FAX",
        "EMAIL_ADDRESS": "EMAIL",
        "SOCIAL_SECURITY_NUMBER": "SSN",
        "ACCOUNT_NUMBER": "ACCOUNT",
        "CERTIFICATE_LICENSE_NUMBER": "LICENSE",
        "URL": "URL",
        "IP_ADDRESS": "IP_ADDRESS",
        "UNIQUE_IDENTIFIER": "ID_OTHER",
    }
)
_PRESIDIO = MappingProxyType(
    {
        "PERSON": "PERSON",
        "STREET_ADDRESS": "STREET",
        "GPE": "CITY",
        "ORGANIZATION": "ORGANIZATION",
        "CREDIT_CARD": "ACCOUNT",
        "IBAN_CODE": "ACCOUNT",
        "DATE_TIME": "DATE",
        "PHONE_NUMBER": "PHONE",
        "AGE": "AGE",
        "EMAIL_ADDRESS": "EMAIL",
        "ZIP_CODE": "ZIP",
        "DOMAIN_NAME": "URL",
        "US_SSN": "SSN",
        "IP_ADDRESS": "IP_ADDRESS",
        "US_DRIVER_LICENSE": "NATIONAL_ID",
    }
)
_TITLE = re.compile(r"(?:Dr|Drs|Prof|Mr|Mrs|Ms|Miss)\.?\s+", re.IGNORECASE)
_BEFORE_DOCTOR = re.compile(r"(?:\bDrs?\.?|\bdoctor|\bprof(?:essor)?\.?|\bnurse)\s+$", re.IGNORECASE)
_PLACE_EDGE = re.compile(r",\s*|\s+in\s+")
_STREET = re.compile(
    r"\d+ .+|.+ (?:Street|St|Avenue|Ave|Road|Rd|Drive|Dr|Lane|Ln|Blvd|Boulevard|Way|Court|Ct|Place|Pl)\.?$"
)
_FACILITY = re.compile(
    r"\b(?:hosp\w*|medical|med|clinics?|health\w*|cent(?:er|re)|general|presbyterian|mem(?:orial)?|er|icu|institute|"
    r"university|children'?s|healthcenter|st\.?|mt\.?|mount|saint)\b",
    re.IGNORECASE,
)


def find_values(text: str, value: str) -> list[tuple[int, int]]:
    """Find all occurrences of a value as whole words, whatever the type of apostrophe.

    RETURNS (list[tuple[int, int]]): character offsets.
    """
    pattern = re.escape(value.strip()).replace("’", "'").replace("'", "['’]")
    return [match.span() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text)] if value.strip() else []


def keep_free(entities: Iterable[Entity]) -> list[Entity]:
    """Drop entities that overlap an earlier one.

    entities (Iterable[Entity]): the most certain first.
    RETURNS (list[Entity]): disjoint entities in document order.
    """
    kept: list[Entity] = []
    for entity in entities:
        if all(entity.end <= other.start or entity.start >= other.end for other in kept):
            kept.append(entity)
    return sorted(kept)


# ---------------------------------------------------------------- ASQ-PHI


def split_query(text: str) -> str:
    """Assign a query to the half "train" or "dev" by the hash of its text."""
    return "train" if int(hashlib.sha256(text.encode()).hexdigest(), 16) % 2 == 0 else "dev"


def read_asq_phi(path: str | Path, split: str | None = None, *, parts: bool = True) -> list[AnnotatedText]:
    """Read the queries of ASQ-PHI. A listed value that does not occur in its query is ignored.

    path (str | Path): the text file.
    split (str | None): "train" or "dev" for one half, None for all.
    parts (bool): whether "St. Luke's Hospital in Boston, MA" is split into hospital, town and state, and titles are
        left out of names. Otherwise each listed value is one entity.
    RETURNS (list[AnnotatedText]): the queries, named by their number in the file.
    RAISES: InputError if the file cannot be read (D303), a record is malformed (D620) or an identifier has an unknown
        type (D621).
    """
    path = Path(path)
    records = read_text(path).split("===QUERY===")[1:]
    notes = []
    for number, record in enumerate(records, 1):
        query, mark, listed = record.partition("===PHI_TAGS===")
        if not mark:
            raise InputError(Errors.D620.format(path=path, record=number, reason="no line '===PHI_TAGS==='"))
        text = query.strip()
        if split in (None, split_query(text)):
            values = _query_values(listed, path, number)
            notes.append(AnnotatedText(f"query{number:04}", text, tuple(_query_entities(text, values, parts))))
    return notes


def _query_values(listed: str, path: Path, number: int) -> list[tuple[str, str]]:
    """Parse the type and value of each identifier of a query."""
    values = []
    for line in filter(None, map(str.strip, listed.splitlines())):
        try:
            row = json.loads(line)
            kind, value = row["identifier_type"], str(row["value"])
        except (ValueError, KeyError, TypeError):
            reason = "a line is no JSON with 'identifier_type' and 'value'"
            raise InputError(Errors.D620.format(path=path, record=number, reason=reason)) from None
        if kind not in QUERY_TYPES:
            raise InputError(Errors.D621.format(path=path, record=number, known=", ".join(QUERY_TYPES)))
        values.append((kind, value))
    return values


def _query_entities(text: str, values: list[tuple[str, str]], parts: bool) -> list[Entity]:
    """Return the entities of a query; the longest values first, so that "John" does not split "John Smith"."""
    found: list[Entity] = []
    for kind, value in sorted(values, key=lambda item: -len(item[1])):
        for start, end in find_values(text, value):
            if not parts:
                found.append(Entity(start, end, QUERY_TYPES[kind]))
            elif kind == "NAME":
                found.append(_query_name(text, start, end))
            elif kind == "GEOGRAPHIC_LOCATION":
                found += _query_places(text, start, end)
            else:
                marks = len(value) - len(value.lstrip("#"))
                found.append(Entity(start + marks, end, QUERY_TYPES[kind]))
    return keep_free(found)


def _query_name(text: str, start: int, end: int) -> Entity:
    """Return a name without its title; a person with the title of a doctor is a clinician."""
    title = _TITLE.match(text, start)
    if title and title.end() < end:
        start = title.end()
    return Entity(start, end, "CLINICIAN" if _BEFORE_DOCTOR.search(text[:start]) else "PATIENT")


def _query_places(text: str, start: int, end: int) -> Iterator[Entity]:
    """Yield the parts of a place: "St. Luke's Hospital in Boston, MA" has three."""
    at = start
    for edge in [*_PLACE_EDGE.finditer(text, start, end), None]:
        stop = edge.start() if edge else end
        if at < stop:
            yield Entity(at, stop, _place_label(text[at:stop], text[:at]))
        at = edge.end() if edge else end


def _place_label(value: str, before: str) -> str:
    """Return the label of a place by its words, the lists of places, and the preceding word."""
    states, towns, hospitals, _ = _known_places()
    if re.fullmatch(r"\d{5}(?:-\d{4})?", value):
        return "ZIP"
    if value in states:
        return "STATE"
    if _STREET.fullmatch(value):
        return "STREET"
    if _FACILITY.search(value) or value in hospitals or (before.endswith(" at ") and value not in towns):
        return "HOSPITAL"
    return "CITY"


@lru_cache(maxsize=1)
def _known_places() -> tuple[frozenset[str], ...]:
    """Return states, towns, hospitals and countries of the lists. A name of both a state and a town is a town."""
    lists = load_language("en").lists
    towns = frozenset(row["city"] for row in lists["places"])
    states = frozenset(row[key] for row in lists["places"] for key in ("state", "region")) - towns
    return states, towns, *(frozenset(row["text"] for row in lists[name]) for name in ("hospitals", "countries"))


# ---------------------------------------------------------------- ACI-Bench


def read_aci_bench(notes: str | Path, metadata: str | Path) -> list[AnnotatedText]:
    """Read visit notes, with all mentions of the names of patient and doctor in the metadata.

    notes (str | Path): CSV with the columns encounter_id and note.
    metadata (str | Path): CSV with encounter_id, doctor_name, patient_firstname and patient_familyname.
    RETURNS (list[AnnotatedText]): the notes, named by their encounter.
    RAISES: InputError if a file cannot be read (D303), or a column or an encounter is missing (D620).
    """
    known = {row["encounter_id"]: row for row in _read_csv(Path(metadata), ("encounter_id", *_NAME_COLUMNS))}
    texts = []
    for number, row in enumerate(_read_csv(Path(notes), ("encounter_id", "note")), 1):
        if row["encounter_id"] not in known:
            raise InputError(Errors.D620.format(path=notes, record=number, reason="the metadata lack its encounter"))
        names = known[row["encounter_id"]]
        entities = [e for column, label in _NAME_COLUMNS.items() for e in _mentions(row["note"], names[column], label)]
        texts.append(AnnotatedText(row["encounter_id"], row["note"], tuple(_join(row["note"], keep_free(entities)))))
    return texts


_NAME_COLUMNS = {"patient_firstname": "PATIENT", "patient_familyname": "PATIENT", "doctor_name": "CLINICIAN"}


def _read_csv(path: Path, columns: Iterable[str]) -> list[dict[str, str]]:
    """Read the rows of a CSV file. RAISES: InputError (D620) if a column is missing."""
    rows = list(csv.DictReader(io.StringIO(read_text(path), newline="")))
    missing = [column for column in columns if not rows or rows[0].get(column) is None]
    if missing:
        raise InputError(Errors.D620.format(path=path, record=1, reason=f"no column {', '.join(missing)}"))
    return rows


def _mentions(text: str, name: str, label: str) -> Iterator[Entity]:
    """Yield the capitalized mentions of the words of a name; the metadata has names in lower case, too."""
    for word in re.findall(r"[^\W\d_][\w'-]+", _TITLE.sub("", name)):
        for start, end in find_values(text, word) + find_values(text, word.capitalize()):
            if text[start].isupper():
                yield Entity(start, end, label)


def _join(text: str, entities: list[Entity]) -> list[Entity]:
    """Join adjacent given names and surnames to one entity."""
    joined: list[Entity] = []
    for entity in entities:
        last = joined[-1] if joined else None
        if last and last.label == entity.label and re.fullmatch(r" (?:[A-Z]\. )?", text[last.end : entity.start]):
            joined[-1] = Entity(last.start, entity.end, entity.label)
        else:
            joined.append(entity)
    return joined


# ---------------------------------------------------------------- presidio-research


def read_presidio(path: str | Path) -> list[AnnotatedText]:
    """Read sentences of presidio-research.

    Sentences with an address over several lines are left out, because its single span contains street, town, postal
    code and country.

    path (str | Path): the JSON file.
    RETURNS (list[AnnotatedText]): the sentences, named by their number; titles and nationalities have no label.
    RAISES: InputError if the file cannot be read (D303) or a record is malformed (D620).
    """
    path = Path(path)
    try:
        records: list[dict[str, Any]] = json.loads(read_text(path))
    except ValueError:
        raise InputError(Errors.D303.format(path=path, reason="not valid JSON")) from None
    notes = []
    for number, record in enumerate(records, 1):
        try:
            spans = [(s["entity_type"], s["start_position"], s["end_position"]) for s in record["spans"]]
            text = record["full_text"]
        except (KeyError, TypeError):
            raise InputError(Errors.D620.format(path=path, record=number, reason="no text with spans")) from None
        if not any("\n" in text[start:end] for _, start, end in spans):
            found = [Entity(i, j, _presidio_label(kind, text[i:j])) for kind, i, j in spans if kind in _PRESIDIO]
            notes.append(AnnotatedText(f"sentence{number:04}", text, tuple(keep_free(found))))
    return notes


def _presidio_label(kind: str, value: str) -> str:
    """Return the canonical label; GPE of presidio may be a country, a state or a town."""
    states, _, _, countries = _known_places()
    if kind == "GPE" and (value in countries or value in states):
        return "COUNTRY" if value in countries else "STATE"
    return _PRESIDIO[kind]


# ---------------------------------------------------------------- retelling

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
    """Repeat a note with other persons: its entities become slots of a template, which is filled again.

    note (AnnotatedText): a note with disjoint entities. A note that contains brackets of the template language is
        returned unchanged.
    language (Language): source of names and places.
    rng (Random): random generator.
    name (str): name of the new note.
    split (str): "train" or "test": determines the rare names that are used.
    RETURNS (AnnotatedText): the new note. Dates, ages and labels without a slot are unchanged.
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
    """Return the slot that replaces a value, of the same form and case."""
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
    """Guess the sex of the patient from pronouns and nouns."""
    female = len(re.findall(r"\b(?:she|her|female|woman|mrs|ms)\b", text, re.IGNORECASE))
    male = len(re.findall(r"\b(?:he|his|him|male|man|mr)\b", text, re.IGNORECASE))
    return "female" if female > male else "male"
