"""Measure what is left of planted identifiers in released resources of FHIR R4.

    python -m benchmarks.fhir made --patients 1000
    npm pack hl7.fhir.r4.examples@4.0.1 && tar xzf hl7.fhir.r4.examples-4.0.1.tgz
    python -m benchmarks.fhir examples package

``made`` releases patients with made names. Each has a Patient, a Practitioner, an Observation, a DocumentReference and
a Composition, whose texts name the patient, a relative, the clinician, the record number and the telephone number,
partly in sentences without a cue. It counts the patients of whom something is left, with the dictionary of the export
and without. ``examples`` releases the official examples of the types in the profile. Both check that codes and numbers
stay; a resource that is not valid after its release counts as failed.
"""

import base64
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from spacy_deid import Deidentifier
from spacy_deid.dictionaries.terms import name_words
from spacy_deid.fhir.json_values import Number, read_json
from spacy_deid.fhir.profile import default_profile
from spacy_deid.fhir.run import FhirDeidentifier, Unit
from spacy_deid.surrogates.keys import ProjectKey

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)
Output = Annotated[Path, typer.Option(help="JSON file for the figures.")]

SENTENCES = (
    "{given} {family} came with {relative} {family}. Pulse 72/min, blood pressure 120/80 mmHg.",
    "Discussed with okonkwo-{clinician}: {family} may go home. Sodium 138 mmol/l.",
    "Record {number}; call {phone}. Metformin 500 mg twice a day.",
    "{FAMILY} stable overnight, no fever",
)


@app.command()
def made(
    patients: Annotated[int, typer.Option(help="Number of patients.")] = 1000,
    lang: Annotated[str, typer.Option(help="Pipeline and language of the names.")] = "en",
    output: Output = Path("metrics/standards.json"),
) -> None:
    """Release made patients and search for what was planted."""
    draw = Random(17)
    words = sorted(word.title() for word in name_words(lang) if word.isalpha() and len(word) > 4)
    people = [_person(draw, words, i) for i in range(patients)]
    resources = [read_json(json.dumps(item)) for person in people for item in _resources(person)]
    owners = [person for person in people for _ in _resources(person)]
    key = ProjectKey(bytes(range(32)))
    deid = Deidentifier(lang, style="surrogate", key=key)
    texts = [(" ".join(SENTENCES).format(**person), {"patient_id": person["id"]}) for person in people]
    without = Counter[str]()
    for person, result in zip(people, deid.pipe(texts), strict=True):
        without.update(_left(person, result.text))
    began = time.perf_counter()
    within, unnoticed, status, lost = Counter[str](), Counter[str](), Counter[str](), 0
    with FhirDeidentifier(deid, key=key) as fhir:
        fhir.read(resources)
        outcomes = fhir.release(Unit(item) for item in resources)
        for person, item, outcome in zip(owners, resources, outcomes, strict=True):
            status[outcome.status] += 1
            if outcome.resource is not None:
                left = _left(person, _all_text(outcome.resource))
                within.update(left)
                unnoticed.update(left if outcome.status == "released" else [])
                lost += sum((_facts(item) - _facts(outcome.resource)).values())
    planted = len(_left(people[0], " ".join(SENTENCES).format(**people[0])))
    _write(
        output,
        "made",
        {
            "patients": patients,
            "resources": len(resources),
            "status": dict(status),
            "planted_per_patient": planted,
            "left_in_resources": dict(within),
            "left_without_warning": dict(unnoticed),
            "left_in_text_without_dictionary": dict(without),
            "codes_and_numbers_lost": lost,
            "resources_per_second": round(len(resources) / (time.perf_counter() - began), 1),
        },
    )


@app.command()
def examples(
    folder: Annotated[Path, typer.Argument(help="Unpacked hl7.fhir.r4.examples.")],
    output: Output = Path("metrics/standards.json"),
) -> None:
    """Release the official examples."""
    kinds = set(default_profile().resources)
    paths = [path for path in sorted(folder.glob("*.json")) if path.name.split("-")[0] in kinds]
    parsed = [(path.name, read_json(path.read_text(encoding="utf-8"))) for path in paths]
    singles = [(name, item) for name, item in parsed if item["resourceType"] in kinds - {"Bundle"}]
    key = ProjectKey(bytes(range(32)))
    status: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    lost = 0
    with FhirDeidentifier(Deidentifier("en", style="surrogate", key=key), key=key) as fhir:
        fhir.read(item for _, item in singles)
        outcomes = fhir.release(Unit(item, name) for name, item in singles)
        for (name, item), outcome in zip(singles, outcomes, strict=True):
            status[outcome.status] += 1
            if outcome.resource is None:
                reasons[f"{name}: {outcome.reason}"] += 1
            else:
                lost += sum((_facts(item) - _facts(outcome.resource)).values())
    figures = {"resources": len(singles), "status": dict(status), "codes_and_numbers_lost": lost}
    _write(output, "examples", {**figures, "failed": sorted(reasons)})


def _person(draw: Random, words: list[str], number: int) -> dict[str, str]:
    """Make a patient with a relative and a clinician."""
    given, family, relative, clinician = draw.sample(words, 4)
    digits = f"{draw.randrange(10**8):08}"
    return {
        "id": f"mrn-{number}",
        "given": given,
        "family": family,
        "FAMILY": family.upper(),
        "relative": relative,
        "clinician": clinician,
        "number": digits,
        "phone": f"212-555-{draw.randrange(10**4):04}",
    }


def _resources(person: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the resources of a patient."""
    text = " ".join(SENTENCES).format(**person)
    about = {"reference": f"Patient/{person['id']}", "display": f"{person['given']} {person['family']}"}
    div = f'<div xmlns="http://www.w3.org/1999/xhtml"><p>{text}</p></div>'
    narrative = {"status": "generated", "div": div}
    code = {"coding": [{"system": "http://loinc.org", "code": "8867-4", "display": "Heart rate"}]}
    yield {
        "resourceType": "Patient",
        "id": person["id"],
        "text": narrative,
        "identifier": [{"system": "urn:oid:1.2.36", "value": person["number"]}],
        "name": [{"family": person["family"], "given": [person["given"]]}],
        "telecom": [{"system": "phone", "value": person["phone"]}],
        "contact": [{"name": {"family": person["family"], "given": [person["relative"]]}}],
        "birthDate": "1950-03-02",
    }
    yield {
        "resourceType": "Practitioner",
        "id": f"d-{person['id']}",
        "name": [{"family": f"Okonkwo-{person['clinician']}"}],
    }
    yield {
        "resourceType": "Observation",
        "id": f"o-{person['id']}",
        "status": "final",
        "code": {**code, "text": f"pulse of {person['family']}"},
        "subject": about,
        "performer": [{"reference": f"Practitioner/d-{person['id']}"}],
        "valueQuantity": {"value": 72, "unit": "/min", "system": "http://unitsofmeasure.org", "code": "/min"},
        "note": [{"text": text}],
    }
    yield {
        "resourceType": "DocumentReference",
        "status": "current",
        "subject": about,
        "content": [{"attachment": {"contentType": "text/plain", "data": base64.b64encode(text.encode()).decode()}}],
    }
    yield {
        "resourceType": "Composition",
        "status": "final",
        "type": code,
        "subject": about,
        "date": "2024-11-30",
        "author": [{"display": f"Dr Okonkwo-{person['clinician']}"}],
        "title": f"Letter about {person['given']} {person['family']}",
        "section": [{"text": narrative, "code": code}],
    }


def _left(person: Mapping[str, str], text: str) -> list[str]:
    """Return what of a person is in a text as a whole word."""
    words = set(text.lower().replace("<", " ").replace(">", " ").replace('"', " ").replace("-", " ").split())
    words = {word.strip(".,;:") for word in words}
    names = {part for part in ("given", "family", "relative", "clinician") if person[part].lower() in words}
    return sorted(names | {part for part in ("number", "phone") if person[part] in text})


def _all_text(value: Any) -> str:
    """Return all strings of a resource, and its attachments, decoded."""
    if isinstance(value, Number):
        return ""
    if isinstance(value, Mapping):
        data = value.get("data")
        decoded = base64.b64decode(data).decode("utf-8", "replace") if data else ""
        return " ".join([decoded, *map(_all_text, value.values())])
    if isinstance(value, list):
        return " ".join(map(_all_text, value))
    return str(value)


def _facts(value: Any, name: str = "") -> Counter[tuple[str, str]]:
    """Count the codes and numbers of a resource; positions and sizes of attachments are no facts about a patient."""
    if isinstance(value, Number):
        return Counter() if name in ("longitude", "latitude", "altitude", "size") else Counter([(name, value.text)])
    if isinstance(value, dict):
        left_out = ("extension", "modifierExtension", "contained", "meta", "signature")
        return sum((_facts(item, key) for key, item in value.items() if key not in left_out), Counter())
    if isinstance(value, list):
        return sum((_facts(item, name) for item in value), Counter())
    return Counter([(name, value)]) if name in ("code", "status", "gender") and isinstance(value, str) else Counter()


def _write(path: Path, name: str, figures: Mapping[str, Any]) -> None:
    """Add figures to the file and print them."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known.setdefault("fhir", {})[name] = dict(figures)
    path.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    typer.echo(json.dumps(figures, indent=2))


if __name__ == "__main__":
    app()
