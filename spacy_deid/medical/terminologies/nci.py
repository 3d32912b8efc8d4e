"""NCI Thesaurus, flat file (``Thesaurus.txt``; National Cancer Institute, EVS), CC BY 4.0.

Tab-separated, no header: code, concept IRI, parents, synonyms (parted by "|"), definition, display name, concept
status, semantic type (parted by "|"), concept in subset. Files before 2018 have neither the IRI nor the subset.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ..dictionary import MedicalTerm
from .rows import Reading, lines

__all__ = ["read_nci"]

_KINDS: Mapping[str, str] = {
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


def read_nci(path: Path, reading: Reading) -> Iterator[MedicalTerm]:
    """Read display names and synonyms of concepts that are medicine.

    path (Path): the flat file.
    reading (Reading): the account.
    YIELDS (MedicalTerm): the terms of a concept, each once; genes in capitals only.
    """
    for row, line in lines(path, reading):
        reading.rows += 1
        cells = line.split("\t")
        if len(cells) not in (7, 8, 9) or not cells[0].startswith("C"):
            reading.skip(row, f"{len(cells)} columns, or no concept code")
            continue
        at = 1 if cells[1].startswith(("http", "<http")) else 0
        synonyms, display, status, types = (cells[place + at] for place in (2, 4, 5, 6))
        kind = next((_KINDS[name] for name in types.lower().split("|") if name in _KINDS), "")
        if not kind or any(gone in status for gone in _GONE):
            reading.left_out += 1
            continue
        form = "symbol" if kind == "gene" else "term"
        for text in dict.fromkeys(filter(None, [display, *synonyms.split("|")])):
            yield MedicalTerm(text, kind, form)
