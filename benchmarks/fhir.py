"""Measure what is left of planted identifiers in released resources of FHIR R4.

    python -m benchmarks.fhir made --patients 1000
    npm pack hl7.fhir.r4.examples@4.0.1 && tar xzf hl7.fhir.r4.examples-4.0.1.tgz
    python -m benchmarks.fhir examples package

``made`` releases patients with made names. Each has a Patient, a Practitioner, an Observation, a DocumentReference and
a Composition, whose texts name the patient, a relative, the clinician, the record number and the telephone number,
partly in sentences without a cue. It counts the planted identifiers that are left, and measures recall in the notes of
the Observations with the dictionary of the export, and in the same texts without it. ``examples`` releases the
official examples of the types in the profile, and those Bundles that have no definitions. Both check that codes and
numbers stay and that references still lead to their targets. A resource that is not valid after its release is not
released. Rows are written to metrics/standards.json.
"""

import base64
import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from spacy_deid import Deidentifier
from spacy_deid.dictionaries.terms import name_words
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.fhir.json_values import Number, read_json
from spacy_deid.fhir.profile import default_profile
from spacy_deid.fhir.references import read_reference
from spacy_deid.fhir.run import FhirDeidentifier, Outcome, Unit
from spacy_deid.surrogates.keys import ProjectKey

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)
Metrics = Annotated[Path, typer.Option(help="File of the metric rows.")]
LARGEST = 640_000  # bytes of a Bundle of examples; larger ones have definitions

SENTENCES = (
    "{given} {family} came with {relative} {family}. Pulse 72/min, blood pressure 120/80 mmHg.",
    "Discussed with okonkwo-{clinician}: {family} may go home. Sodium 138 mmol/l.",
    "Record {number}; call {phone}. Metformin 500 mg twice a day.",
    "{FAMILY} stable overnight, no fever",
)


@app.command()
def made(
    context: typer.Context,
    patients: Annotated[int, typer.Option(help="Number of patients.")] = 1000,
    lang: Annotated[str, typer.Option(help="Pipeline and language of the names.")] = "en",
    metrics: Metrics = Path("metrics/standards.json"),
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
    planted = sum(len(_left(person, text)) for person, (text, _) in zip(people, texts, strict=True))
    without = Counter[str]()
    for person, result in zip(people, deid.pipe(texts), strict=True):
        without.update(_left(person, result.text))
    began = time.perf_counter()
    with FhirDeidentifier(deid, key=key) as fhir:
        fhir.read(resources)
        outcomes = list(fhir.release(Unit(item) for item in resources))
    seconds = time.perf_counter() - began
    within, noted, unnoticed = Counter[str](), Counter[str](), Counter[str]()
    for person, resource, outcome in zip(owners, resources, outcomes, strict=True):
        if outcome.resource is None:
            continue
        left = _left_of(person, resource, outcome.resource)
        within.update(left)
        unnoticed.update(left if outcome.status == "released" else [])
        noted.update(_left(person, _all_text(outcome.resource["note"])) if outcome.type == "Observation" else [])
    typer.echo(f"left: {dict(within)}; without the dictionary: {dict(without)}")
    figures: list[tuple[str, float, float | None, str]] = [
        ("planted identifiers left", within.total(), 0, "lower"),
        ("planted identifiers left without a warning", unnoticed.total(), 0, "lower"),
        ("recall in notes with the dictionary of the export", 1 - noted.total() / planted, 1, "higher"),
        ("recall in notes without the dictionary", 1 - without.total() / planted, None, "higher"),
        *_checks(resources, outcomes),
        ("resources per second", len(resources) / seconds, None, "higher"),
    ]
    write_figures(metrics, figures, f"{patients} made patients, {lang}", command_line("benchmarks.fhir made", context))


@app.command()
def examples(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Unpacked hl7.fhir.r4.examples.")],
    metrics: Metrics = Path("metrics/standards.json"),
) -> None:
    """Release the official examples."""
    kinds = set(default_profile().resources)
    paths = [path for path in sorted(folder.glob("*.json")) if path.name.split("-")[0] in kinds]
    parsed = [read_json(path.read_text(encoding="utf-8")) for path in paths if path.stat().st_size < LARGEST]
    resources = [item for item in parsed if item["resourceType"] in kinds]
    bundles = [item for item in resources if item["resourceType"] == "Bundle"]
    singles = [item for item in resources if item["resourceType"] != "Bundle"]
    key = ProjectKey(bytes(range(32)))
    with FhirDeidentifier(Deidentifier("en", style="surrogate", key=key), key=key) as fhir:
        fhir.read(resources)
        outcomes = list(fhir.release(Unit(item, str(item.get("id", ""))) for item in singles))
        released = [fhir.release_bundle(item, str(item.get("id", ""))) for item in bundles]
    entries = [outcome for _, made in released for outcome in made]
    for outcome in (*outcomes, *entries):
        if outcome.status == "failed":
            typer.echo(outcome.reason)
    figures: list[tuple[str, float, float | None, str]] = [
        *_checks(singles, outcomes),
        ("Bundles not released", sum(bundle is None for bundle, _ in released), None, "lower"),
        ("entries of Bundles that failed", sum(outcome.status == "failed" for outcome in entries), None, "lower"),
    ]
    data = f"hl7.fhir.r4.examples 4.0.1, {len(singles)} resources and {len(bundles)} Bundles"
    write_figures(metrics, figures, data, command_line("benchmarks.fhir examples", context))


def _checks(
    resources: Sequence[dict[str, Any]], outcomes: Sequence[Outcome]
) -> Iterator[tuple[str, float, float | None, str]]:
    """Yield name, value, target and direction of what must hold for all released resources."""
    pairs = [(item, outcome.resource) for item, outcome in zip(resources, outcomes, strict=True) if outcome.resource]
    lost = sum(sum((_facts(before) - _facts(after)).values()) for before, after in pairs)
    moved = {f"{item['resourceType']}/{item['id']}": after["id"] for item, after in pairs if "id" in item}
    broken = sum(
        moved.get(old, new.rpartition("/")[2]) != new.rpartition("/")[2]
        for before, after in pairs
        for old, new in zip(_references(before), _references(after), strict=False)
        if len(list(_references(before))) == len(list(_references(after)))
    )
    yield "resources not released", len(outcomes) - len(pairs), 0, "lower"
    yield "resources with a warning", sum(outcome.status == "review" for outcome in outcomes), None, "lower"
    yield "codes and numbers changed", lost, 0, "lower"
    yield "references that lead elsewhere", broken, 0, "lower"


def _references(value: Any) -> Iterator[str]:
    """Yield the keys of the resources that a resource refers to, in order."""
    if isinstance(value, Mapping):
        text = value.get("reference")
        place = read_reference(text) if isinstance(text, str) else None
        if place is not None and place.type:
            yield place.key
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


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
    """Return what of a person is in a text as a whole word, as it was planted: with a capital, or in capitals."""
    words = set(re.findall(r"\w+", text))
    names = {
        part for part in ("given", "family", "relative", "clinician") if {person[part], person[part].upper()} & words
    }
    return sorted(names | {part for part in ("number", "phone") if person[part] in text})


def _left_of(person: Mapping[str, str], before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return what of a person is left in any element of a resource. What was in no element before cannot be left: a
    surrogate can be another name of the same patient by coincidence."""
    planted = _left(person, _all_text(before))
    return [part for part in _left(person, _all_text(after)) if part in planted]


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


def write_figures(
    path: Path, figures: Iterable[tuple[str, float, float | None, Any]], data: str, command: str
) -> None:
    """Print figures (name, value, target, direction) and write them as rows."""
    today = date.today().isoformat()
    rows = [
        MetricRow(name, round(value, 5), target, better, data, "", command, today)
        for name, value, target, better in figures
    ]
    for row in rows:
        typer.echo(f"{row.name}: {row.value:g}")
    replace_rows(path, rows)


if __name__ == "__main__":
    app()
