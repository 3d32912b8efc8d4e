"""Measure what is left of planted identifiers in released documents of CDA.

    python -m benchmarks.cda made

Each document is about a made patient: a summary with sections, or a letter in a nonXMLBody. The header names the
patient, a relative, a clinician and a hospital, and the texts name them too, partly in sentences without a cue: in
paragraphs, lists, tables, titles, texts of entries and documents in base64. It counts the identifiers that are left in
any text or attribute, and checks that documents are valid afterwards, that codes, units and numbers stay, and that
references still lead to the same elements. Recall with the dictionary of the headers is that of all documents, recall
without is that of their sentences.
"""

import base64
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from benchmarks.fhir import SENTENCES, Metrics, _left, _person, write_figures
from spacy_deid import Deidentifier
from spacy_deid.cda.run import CdaDeidentifier
from spacy_deid.cda.structure import name_of, parse_document
from spacy_deid.dictionaries.terms import name_words
from spacy_deid.evaluation.rows import command_line
from spacy_deid.surrogates.keys import ProjectKey

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

LOINC = 'codeSystem="2.16.840.1.113883.6.1"'
CODED = ("code", "codeSystem", "unit")


@app.callback()
def main() -> None:
    """Measure documents of CDA."""


@app.command()
def made(
    context: typer.Context,
    documents: Annotated[int, typer.Option(help="Number of documents.")] = 500,
    lang: Annotated[str, typer.Option(help="Pipeline and language of the names.")] = "en",
    metrics: Metrics = Path("metrics/standards.json"),
) -> None:
    """Release made documents and search for what was planted."""
    draw = Random(17)
    words = sorted(word.title() for word in name_words(lang) if word.isalpha() and len(word) > 4)
    people = [_person(draw, words, i) for i in range(documents)]
    export = [_document(person, i) for i, person in enumerate(people)]
    key = ProjectKey(bytes(range(32)))
    deid = Deidentifier(lang, style="surrogate", key=key)
    texts = [(" ".join(SENTENCES).format(**person), {"patient_id": person["number"]}) for person in people]
    without = Counter[str]()
    for person, result in zip(people, deid.pipe(texts), strict=True):
        without.update(_left(person, result.text))
    began = time.perf_counter()
    within, unnoticed, status, lost = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    with CdaDeidentifier(deid, key=key) as cda:
        cda.read(export)
        for person, data, outcome in zip(people, export, cda.release(export), strict=True):
            status[outcome.status] += 1
            if outcome.data is None:
                typer.echo(outcome.reason)
                continue
            before, after = parse_document(data, ""), parse_document(outcome.data, "")
            left = _left(person, _all_text(after))
            within.update(left)
            unnoticed.update(left if outcome.status == "released" else [])
            lost["codes"] += sum((_facts(before) - _facts(after)).values())
            lost["references"] += _references(before) != _references(after)
            lost["shape"] += [one.tag for one in before.iter()] != [one.tag for one in after.iter()]
    seconds = time.perf_counter() - began
    planted = documents * len(_left(people[0], " ".join(SENTENCES).format(**people[0])))
    typer.echo(f"{dict(status)}; left: {dict(within)}; without the dictionary: {dict(without)}")
    figures: list[tuple[str, float, float | None, str]] = [
        ("planted identifiers left", within.total(), 0, "lower"),
        ("planted identifiers left without a warning", unnoticed.total(), 0, "lower"),
        ("recall in documents with the dictionary of the headers", 1 - within.total() / planted, 1, "higher"),
        ("recall in their sentences without the dictionary", 1 - without.total() / planted, None, "higher"),
        ("documents not released", documents - status["released"] - status["review"], 0, "lower"),
        ("documents with a warning", status["review"], None, "lower"),
        ("codes, units and numbers changed", lost["codes"], 0, "lower"),
        ("documents with a reference that leads elsewhere", lost["references"], 0, "lower"),
        ("documents with an element lost", lost["shape"], 0, "lower"),
        ("documents per second", documents / seconds, None, "higher"),
    ]
    data_set = f"{documents} made documents of CDA, {lang}"
    write_figures(metrics, figures, data_set, command_line("benchmarks.cda made", context))


def _document(person: Mapping[str, str], number: int) -> bytes:
    """Make a document: every fourth has a body in base64."""
    lines = [sentence.format(**person) for sentence in SENTENCES]
    given, family, clinician = person["given"], person["family"], f"Okonkwo-{person['clinician']}"
    text = " ".join(lines)
    name = f"<name><given>{given}</given><family>{family}</family></name>"
    doctor = (
        f'<id root="1.2.36.9" extension="{number}"/><assignedPerson><name><given>Z</given><family>{clinician}</family>'
        "</name></assignedPerson>"
    )
    rows = "".join(f'<tr ID="r{i}"><td>{i}</td><td>{line}</td></tr>' for i, line in enumerate(lines))
    items = "".join(f'<item><content ID="i{i}">{line}</content></item>' for i, line in enumerate(lines))
    narrative = (
        f'<paragraph ID="p-{person["number"]}">{text}</paragraph><list>{items}</list><table><thead><tr><th>No</th>'
        f"<th>Note</th></tr></thead><tbody>{rows}</tbody></table><paragraph>{given[:3]}<content>{given[3:]}</content> "
        f"rests, says <linkHtml href='#r1'>okonkwo-{person['clinician']}</linkHtml></paragraph>"
    )
    entry = (
        f'<entry><observation classCode="OBS" moodCode="EVN"><id root="1.2.36.8" extension="O{number}"/>'
        f'<code code="8867-4" {LOINC} displayName="Heart rate"><originalText>rate of {family}'
        f'<reference value="#p-{person["number"]}"/></originalText></code><text><reference value="#r2"/></text>'
        f'<statusCode code="completed"/><effectiveTime value="20241129"/>'
        f'<value xsi:type="PQ" value="{60 + number % 40}.0" unit="/min"/></observation></entry>'
        f'<entry><observation classCode="OBS" moodCode="EVN"><code code="75325-1" {LOINC}/><statusCode '
        f'code="completed"/><value xsi:type="CD" code="38341003" codeSystem="2.16.840.1.113883.6.96" '
        f'displayName="Hypertension"/></observation></entry>'
        f'<entry><act classCode="ACT" moodCode="EVN"><code code="48767-8" {LOINC}/><text>{text}</text></act></entry>'
    )
    body = (
        f'<structuredBody><component><section><code code="8648-8" {LOINC}/><title>Course of {given} {family}</title>'
        f"<text>{narrative}</text>{entry}</section></component></structuredBody>"
    )
    if number % 4 == 3:
        content = base64.b64encode(text.encode()).decode()
        body = f'<nonXMLBody><text mediaType="text/plain" representation="B64">{content}</text></nonXMLBody>'
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <typeId root="2.16.840.1.113883.1.3" extension="POCD_HD000040"/>
  <id root="1.2.36.7" extension="D{number}"/>
  <code code="34133-9" {LOINC} displayName="Summary of episode note"/>
  <title>Letter about {given} {family}</title>
  <effectiveTime value="20241130101500+0100"/>
  <confidentialityCode code="N" codeSystem="2.16.840.1.113883.5.25"/>
  <recordTarget><patientRole><id root="1.2.36" extension="{person["number"]}"/>
    <telecom value="tel:{person["phone"]}"/><patient>{name}<birthTime value="19500302"/></patient>
  </patientRole></recordTarget>
  <author><time value="20241130"/><assignedAuthor>{doctor}</assignedAuthor></author>
  <custodian><assignedCustodian><representedCustodianOrganization><id root="1.2.36.6"/><name>Hospital</name>
    </representedCustodianOrganization></assignedCustodian></custodian>
  <legalAuthenticator><time value="20241130"/><signatureCode code="S"/><assignedEntity>{doctor}</assignedEntity>
    </legalAuthenticator>
  <participant typeCode="IND"><associatedEntity classCode="NOK"><associatedPerson><name><given>{person["relative"]}
    </given><family>{family}</family></name></associatedPerson></associatedEntity></participant>
  <component>{body}</component>
</ClinicalDocument>""".encode()


def _all_text(root: Any) -> str:
    """Return all texts and attributes of a document, with its file decoded. Texts of a block are joined as they are
    read: inline elements do not divide words."""
    found = []
    for element in root.iter():
        found += [str(value) for value in element.attrib.values()]
        text = "".join(element.itertext()) if name_of(element.tag) in ("paragraph", "item", "td") else element.text
        found += [text or "", element.tail or ""]
        if element.get("representation") == "B64":
            found.append(base64.b64decode(element.text).decode())
    return " ".join(found)


def _facts(root: Any) -> Counter[tuple[str, str, str]]:
    """Count the codes, units and numbers of a document."""
    facts: Counter[tuple[str, str, str]] = Counter()
    for element in root.iter():
        name = name_of(element.tag)
        facts.update((name, key, element.get(key)) for key in CODED if key in element.attrib)
        if "unit" in element.attrib:
            facts[name, "value", element.get("value")] += 1
    return facts


def _references(root: Any) -> list[int]:
    """Return for each reference of a document the position of the element that it leads to; -1 for none."""
    places = {element.get("ID"): i for i, element in enumerate(root.iter()) if element.get("ID")}
    keys = [element.get("href") or element.get("value") for element in root.iter()]
    return [places.get(key[1:], -1) for key in keys if key and key[0] == "#"]


if __name__ == "__main__":
    app()
