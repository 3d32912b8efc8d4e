"""Terminologies of concepts: NCI Thesaurus, ontologies in OBO format, SNOMED CT in Release Format 2.

Concepts that are not medicine (persons, occupations, places …) are left out.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...errors import ConfigError, Errors
from ..dictionary import MedicalTerm
from .tables import TerminologySource, lines, require

_SEMANTIC_TYPES: Mapping[str, str] = {
    "disease or syndrome": "disease",
    "neoplastic process": "disease",
    "mental or behavioral dysfunction": "disease",
    "congenital abnormality": "disease",
    "pathologic function": "disease",
    "injury or poisoning": "disease",
    "anatomical abnormality": "disease",
    "cell or molecular dysfunction": "disease",
    "sign or symptom": "sign",
    "finding": "finding",
    "pharmacologic substance": "drug",
    "antibiotic": "drug",
    "clinical drug": "drug",
    "organic chemical": "drug",
    "hormone": "drug",
    "vitamin": "drug",
    "immunologic factor": "drug",
    "body part, organ, or organ component": "anatomy",
    "body location or region": "anatomy",
    "tissue": "anatomy",
    "cell": "anatomy",
    "diagnostic procedure": "procedure",
    "therapeutic or preventive procedure": "procedure",
    "laboratory procedure": "test",
    "laboratory or test result": "test",
    "medical device": "device",
    "gene or genome": "gene",
    "bacterium": "organism",
    "virus": "organism",
    "fungus": "organism",
}
_GONE = ("Obsolete_Concept", "Retired_Concept")
_OBO_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)"\s+(EXACT|NARROW|BROAD|RELATED)\b')
_ESCAPE = re.compile(r"\\(.)")
_SCOPES = ("EXACT", "NARROW")
_RF2_COLUMNS = ("id", "active", "conceptId", "languageCode", "typeId", "term")
_RF2_FULL_NAME = "900000000000003001"
_RF2_SYNONYM = "900000000000013009"

# Semantic tags of what is medicine. What is not here (person, occupation, geographic location, …) is left out.
_SEMANTIC_TAGS: Mapping[str, str] = {
    "disorder": "disease",
    "disease": "disease",
    "finding": "finding",
    "morphologic abnormality": "disease",
    "body structure": "anatomy",
    "cell structure": "anatomy",
    "cell": "anatomy",
    "procedure": "procedure",
    "regime/therapy": "procedure",
    "substance": "drug",
    "product": "drug",
    "medicinal product": "drug",
    "medicinal product form": "drug",
    "clinical drug": "drug",
    "physical object": "device",
    "organism": "organism",
    "observable entity": "test",
    "specimen": "test",
    "assessment scale": "score",
    "staging scale": "score",
    "tumor staging": "score",
    "situation": "finding",
    "qualifier value": "other",
    # those of the Spanish edition, whose full names are in Spanish
    "trastorno": "disease",
    "hallazgo": "finding",
    "anomalía morfológica": "disease",
    "estructura corporal": "anatomy",
    "estructura celular": "anatomy",
    "célula": "anatomy",
    "procedimiento": "procedure",
    "régimen/tratamiento": "procedure",
    "sustancia": "drug",
    "producto": "drug",
    "producto medicinal": "drug",
    "forma de producto medicinal": "drug",
    "fármaco de uso clínico": "drug",
    "objeto físico": "device",
    "organismo": "organism",
    "entidad observable": "test",
    "espécimen": "test",
    "escala de evaluación": "score",
    "escala de estadificación": "score",
    "estadificación tumoral": "score",
    "situación": "finding",
    "calificador": "other",
}


def read_nci(path: Path, source: TerminologySource) -> Iterator[MedicalTerm]:
    """Read the flat file of the NCI Thesaurus (``Thesaurus.txt``; National Cancer Institute, EVS; CC BY 4.0).

    It is tab-separated and has no header: code, concept IRI, parents, synonyms (separated by "|"), definition, display
    name, concept status, semantic types (separated by "|"), concept in subset. Files before 2018 have neither the IRI
    nor the subset.

    path (Path): the file.
    source (TerminologySource): collects the counts.
    YIELDS (MedicalTerm): the terms of a concept, each once; genes in capitals only.
    """
    for row, line in lines(path, source):
        source.rows += 1
        cells = line.split("\t")
        if len(cells) not in (7, 8, 9) or not cells[0].startswith("C"):
            source.skip(row, f"{len(cells)} columns, or no concept code")
            continue
        at = 1 if cells[1].startswith(("http", "<http")) else 0
        synonyms, display, status, types = (cells[place + at] for place in (2, 4, 5, 6))
        kind = next((_SEMANTIC_TYPES[name] for name in types.lower().split("|") if name in _SEMANTIC_TYPES), "")
        if not kind or any(gone in status for gone in _GONE):
            source.left_out += 1
            continue
        form = "symbol" if kind == "gene" else "term"
        for text in dict.fromkeys(filter(None, [display, *synonyms.split("|")])):
            yield MedicalTerm(text, kind, form)


def read_obo(path: Path, source: TerminologySource) -> Iterator[MedicalTerm]:
    """Read an ontology in OBO format 1.2 or 1.4 (Disease Ontology, Human Phenotype Ontology, Uberon).

    Only ``[Term]`` stanzas that are not obsolete are read: their names, exact and narrow synonyms.

    path (Path): the ontology.
    source (TerminologySource): kind of the terms; collects the counts. A row is a name or synonym.
    YIELDS (MedicalTerm): the terms.
    RAISES: ConfigError (D700) if the first line is not "format-version:".
    """
    numbered = lines(path, source)
    _, first = next(numbered, (1, ""))
    if not first.startswith("format-version:"):
        raise ConfigError(Errors.D700.format(path=path, format="OBO", reason="row 1 is not 'format-version:'"))
    stanza: list[tuple[int, str]] = []
    for row, line in numbered:
        if line.startswith("["):
            yield from _stanza_terms(stanza, source)
            stanza = []
        stanza.append((row, line))
    yield from _stanza_terms(stanza, source)


def _stanza_terms(stanza: list[tuple[int, str]], source: TerminologySource) -> Iterator[MedicalTerm]:
    """The terms of one stanza."""
    if not stanza or stanza[0][1].strip() != "[Term]":
        return
    if any(line.startswith("is_obsolete: true") for _, line in stanza):
        source.left_out += 1
        return
    for row, line in stanza:
        tag, _, value = line.partition(": ")
        if tag not in ("name", "synonym"):
            continue
        source.rows += 1
        if tag == "name":
            yield MedicalTerm(value.strip(), source.kind)
        elif (found := _OBO_SYNONYM.match(value)) is None:
            source.skip(row, "a synonym without quotes or scope")
        elif found[2] in _SCOPES:
            yield MedicalTerm(_ESCAPE.sub(r"\1", found[1]).strip(), source.kind)
        else:
            source.left_out += 1


def read_rf2(path: Path, source: TerminologySource) -> Iterator[MedicalTerm]:
    """Read a description file of SNOMED CT, Release Format 2 (``sct2_Description_Snapshot-en_INT_20240101.txt``).

    It is tab-separated, unquoted, UTF-8 (SNOMED International, "SNOMED CT Release File Specifications", 4.2.2). Only
    the fully specified name of a concept ends in its semantic tag, so the file is read twice: for the kinds of the
    concepts, then for the terms. A national extension describes concepts whose full names are in the international
    file; set `TerminologySource.kind` for those.

    path (Path): the file.
    source (TerminologySource): language, and kind of concepts without a full name; collects the counts.
    YIELDS (MedicalTerm): terms of active descriptions in the language, full names without their tags.
    RAISES: ConfigError (D700) if a column is missing.
    """
    tags = {
        concept: _semantic_tag(term)
        for concept, type_id, term, _ in _descriptions(path, TerminologySource(source.lang))
        if type_id == _RF2_FULL_NAME
    }
    for concept, type_id, term, language in _descriptions(path, source):
        tag = tags.get(concept)
        kind = _SEMANTIC_TAGS.get(tag, "") if tag is not None else source.kind
        if language != source.lang or not kind or type_id not in (_RF2_FULL_NAME, _RF2_SYNONYM):
            source.left_out += 1
            continue
        yield MedicalTerm(term.rpartition(" (")[0] if type_id == _RF2_FULL_NAME else term, kind)


def _descriptions(path: Path, source: TerminologySource) -> Iterator[tuple[int, str, str, str]]:
    """Concept, type, term and language of the active rows."""
    numbered = lines(path, source)
    _, first = next(numbered, (1, ""))
    header = first.split("\t")
    places = require(header, _RF2_COLUMNS, path, "an RF2 description file")
    for row, line in numbered:
        source.rows += 1
        cells = line.split("\t")
        if len(cells) != len(header):
            source.skip(row, f"{len(cells)} columns where the header has {len(header)}")
            continue
        concept, active, term = (cells[places[column]] for column in ("conceptId", "active", "term"))
        if not concept.isdigit() or active not in ("0", "1") or not term:
            source.skip(row, "a concept that is no number, an 'active' that is neither 0 nor 1, or no term")
        elif active == "1":
            yield int(concept), cells[places["typeId"]], term, cells[places["languageCode"]]
        else:
            source.left_out += 1


def _semantic_tag(term: str) -> str:
    """The semantic tag at the end of a fully specified name."""
    return term.rpartition(" (")[2].removesuffix(")") if term.endswith(")") else ""
