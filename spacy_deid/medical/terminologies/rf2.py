"""SNOMED CT, Release Format 2: the description file (``sct2_Description_Snapshot-en_INT_20240101.txt``).

Tab-separated, unquoted, UTF-8, CRLF (SNOMED International, "SNOMED CT Release File Specifications", 4.2.2). The
semantic tag of a concept stands in brackets at the end of its fully specified name alone, so the file is read twice:
once for the kinds of the concepts, once for the terms. The descriptions of a national extension name concepts whose
names stand in the international file; give ``kind`` for those.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..dictionary import MedicalTerm
from .rows import Reading, lines, require

__all__ = ["read_rf2"]

_COLUMNS = ("id", "active", "conceptId", "languageCode", "typeId", "term")
_FULL_NAME = "900000000000003001"
_SYNONYM = "900000000000013009"

# Semantic tags of what is medicine. What is not here (person, occupation, geographic location, …) is left out.
_KINDS: Mapping[str, str] = {
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


def read_rf2(path: Path, reading: Reading) -> Iterator[MedicalTerm]:
    """Read active descriptions of one language.

    path (Path): the description file.
    reading (Reading): language, kind of concepts without a full name, and account.
    YIELDS (MedicalTerm): the terms, those of full names without their tags.
    RAISES: ConfigError (D700) if the header is another one.
    """
    tags = {
        concept: _tag(term)
        for concept, type_id, term, _ in _rows(path, Reading(reading.lang))
        if type_id == _FULL_NAME
    }
    for concept, type_id, term, language in _rows(path, reading):
        tag = tags.get(concept)
        kind = _KINDS.get(tag, "") if tag is not None else reading.kind
        if language != reading.lang or not kind or type_id not in (_FULL_NAME, _SYNONYM):
            reading.left_out += 1
            continue
        yield MedicalTerm(term.rpartition(" (")[0] if type_id == _FULL_NAME else term, kind)


def _rows(path: Path, reading: Reading) -> Iterator[tuple[int, str, str, str]]:
    """Concept, type, term and language of the active rows."""
    source = lines(path, reading)
    _, first = next(source, (1, ""))
    header = first.split("\t")
    places = require(header, _COLUMNS, path, "an RF2 description file")
    for row, line in source:
        reading.rows += 1
        cells = line.split("\t")
        if len(cells) != len(header):
            reading.skip(row, f"{len(cells)} columns where the header has {len(header)}")
            continue
        concept, active, term = (cells[places[column]] for column in ("conceptId", "active", "term"))
        if not concept.isdigit() or active not in ("0", "1") or not term:
            reading.skip(row, "a concept that is no number, an 'active' that is neither 0 nor 1, or no term")
        elif active == "1":
            yield int(concept), cells[places["typeId"]], term, cells[places["languageCode"]]
        else:
            reading.left_out += 1


def _tag(term: str) -> str:
    """The semantic tag at the end of a fully specified name."""
    return term.rpartition(" (")[2].removesuffix(")") if term.endswith(")") else ""
