"""Read medical terms and their kinds from the file formats of public terminologies, such as SNOMED CT and ICD-10.

There is one reader per format; `READERS` lists them by name. An invalid row is skipped and counted. If more than half
of the rows are invalid, the file probably has another format and is refused. Concepts that are not medical (persons,
occupations, places …) are left out.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import ConfigError, Errors
from .dictionary import FORMS, KINDS, MedicalTerm

_MOST_BROKEN = 0.5
_NDC_COLUMNS = ("PRODUCTNDC", "PROPRIETARYNAME", "NONPROPRIETARYNAME", "SUBSTANCENAME")
_ORANGE_BOOK_COLUMNS = ("Ingredient", "Trade_Name", "Appl_No")
_NOT_ICD10_DISEASE = re.compile(r"[U-Z]\d\d")
_ORDER = re.compile(r"(\d{5}) ([A-Z][0-9A-Z]{2,6}) +([01]) (.{60}) (.+)")
_QUALIFIER = re.compile(r"\s*(\[[^\]]*\]|\([^)]*\))")


class TerminologySource:
    """The settings for reading a terminology file, and the counts of its rows, which the reader updates.

    lang (str): ISO 639-1 code of the terms to read.
    kind (str): kind to give to the terms if the format does not state it, one of `dictionary.KINDS`.
    encoding (str): text encoding of the file.
    rows (int): number of rows read so far, including invalid ones.
    broken (int): number of invalid rows, which were skipped.
    first (tuple[int, str]): number of the first invalid row and the reason; (0, "") if there is none.
    left_out (int): number of valid terms that were left out, because their concept is inactive or not medical or they
        are in another language.
    """

    def __init__(self, lang: str, kind: str = "disease", encoding: str = "utf-8") -> None:
        self.lang = lang
        self.kind = kind
        self.encoding = encoding
        self.rows = 0
        self.broken = 0
        self.left_out = 0
        self.first: tuple[int, str] = (0, "")

    def skip(self, row: int, reason: str) -> None:
        """Count an invalid row as skipped.

        row (int): number of the row in the file.
        reason (str): why it is invalid, without the content of the row.
        """
        if not self.broken:
            self.first = row, reason
        self.broken += 1

    def check(self, path: Path, format: str) -> None:
        """Check, after reading, that the file had the expected format.

        path (Path): the file, for the error message.
        format (str): name of the expected format, for the error message.
        RAISES: ConfigError if more than half of the rows were invalid (D702) or there were no rows (D700).
        """
        if not self.rows:
            raise ConfigError(Errors.D700.format(path=path, format=format, reason="no rows"))
        if self.broken > _MOST_BROKEN * self.rows:
            row, reason = self.first
            raise ConfigError(
                Errors.D702.format(path=path, count=self.broken, rows=self.rows, row=row, reason=reason, format=format)
            )


def lines(path: Path, source: TerminologySource) -> Iterator[tuple[int, str]]:
    """Read the lines of a file. A line that cannot be decoded is skipped and counted as an invalid row.

    path (Path): the file.
    source (TerminologySource): encoding of the file. Its counts of rows and invalid rows are updated only for lines
        that cannot be decoded.
    YIELDS (tuple[int, str]): line number, and the line without its line break.
    """
    with path.open("rb") as file:
        for row, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if row == 1 and source.encoding == "utf-8" else source.encoding)
            except UnicodeDecodeError:
                source.rows += 1
                source.skip(row, f"not {source.encoding}")
                continue
            yield row, text.rstrip("\r\n")


def require(header: Sequence[str], columns: Sequence[str], path: Path, format: str) -> dict[str, int]:
    """Find the indices of required columns in the header of a file. Upper and lower case are not distinguished.

    header (Sequence[str]): names of the columns in the file.
    columns (Sequence[str]): names of the required columns.
    path (Path): the file, for the error message.
    format (str): name of the expected format, for the error message.
    RETURNS (dict[str, int]): required column → its index in the header.
    RAISES: ConfigError (D700) if a column is missing; it names the first one.
    """
    places = {column.strip().lower(): place for place, column in enumerate(header)}
    for column in columns:
        if column.lower() not in places:
            raise ConfigError(Errors.D700.format(path=path, format=format, reason=f"no column '{column}' in row 1"))
    return {column: places[column.lower()] for column in columns}


def read_word_list(path: Path, source: TerminologySource) -> Iterator[MedicalTerm]:
    """Read a list of medical terms from a CSV file with the columns "term", "kind" and optionally "form".

    path (Path): the CSV file.
    source (TerminologySource): the encoding; its counts of rows are updated.
    YIELDS (MedicalTerm): the terms.
    RAISES: ConfigError (D700) if a column is missing.
    """
    reader = csv.reader(line for _, line in lines(path, source))
    header = [column.strip().lower() for column in next(reader, [])]
    require(header, ("term", "kind"), path, "a list of terms")
    for cells in reader:
        if not cells:
            continue
        source.rows += 1
        values = dict(zip(header, (cell.strip() for cell in cells), strict=False))
        form = values.get("form") or "term"
        if len(cells) > len(header) or not values["term"] or values.get("kind") not in KINDS or form not in FORMS:
            source.skip(reader.line_num, f"no term, a kind that is not of {', '.join(KINDS)}, or an unknown form")
            continue
        yield MedicalTerm(values["term"], values["kind"], form)


def read_code_list(path: Path, source: TerminologySource) -> Iterator[MedicalTerm]:
    """Read a CSV list of codes with a column "code" and one per language ("name_fi", "name_en") or one column "name".

    If the kind is "disease", the codes are taken for ICD-10, and codes from U on are left out: external causes, places
    and circumstances of life ("Koulu").

    path (Path): the CSV file.
    source (TerminologySource): language and kind of the terms; its counts of rows and terms are updated.
    YIELDS (MedicalTerm): the names; a name that contains brackets is also yielded without them.
    RAISES: ConfigError (D700) if there is no column of codes or of names in the language.
    """
    reader = csv.reader(line for _, line in lines(path, source))
    header = _header(reader, path)
    wanted = f"name_{source.lang}" if f"name_{source.lang}" in header else "name"
    places = require(header, ("code", wanted), path, "a CSV list of codes")
    while (cells := _next(reader, source)) is not None:
        if len(cells) != len(header):
            source.skip(reader.line_num, f"{len(cells)} columns where the header has {len(header)}")
            continue
        code, name = cells[places["code"]], cells[places[wanted]].strip()
        if name in ("", "NA") or (source.kind == "disease" and _NOT_ICD10_DISEASE.match(code)):
            source.left_out += 1
        else:
            yield from _names(name, source.kind)


def read_cms_order(path: Path, source: TerminologySource) -> Iterator[MedicalTerm]:
    """Read the list of ICD-10 codes that the CMS publishes as a fixed-width "order file": ``icd10cm_order_2024.txt``,
    ``icd10pcs_order_2024.txt``.

    Columns by position: order number 1–5, code 7–13, billable 15, short description 17–76, long description from 78
    (CMS, "ICD-10-CM Order File Format").

    path (Path): the file.
    source (TerminologySource): kind of the terms; its counts of rows and terms are updated.
    YIELDS (MedicalTerm): the long descriptions; one that contains brackets is also yielded without them.
    """
    for row, line in lines(path, source):
        source.rows += 1
        if (found := _ORDER.fullmatch(line.rstrip())) is None:
            source.skip(row, "not order number, code, flag and two descriptions in their places")
        elif source.kind == "disease" and _NOT_ICD10_DISEASE.match(found[2]):
            source.left_out += 1
        else:
            yield from _names(found[5].strip(), source.kind)


def _names(name: str, kind: str) -> Iterator[MedicalTerm]:
    """Yield a name, and the name without its brackets."""
    yield MedicalTerm(name, kind)
    if (bare := _QUALIFIER.sub("", name).strip()) and bare != name:
        yield MedicalTerm(bare, kind)


def _header(reader: Any, path: Path) -> list[str]:
    """Read the first row, in lower case. RAISES: ConfigError (D700) if it is not CSV."""
    try:
        return [column.strip().lower() for column in next(reader, [])]
    except csv.Error:
        raise ConfigError(Errors.D700.format(path=path, format="a CSV list of codes", reason="not CSV")) from None


def _next(reader: Any, source: TerminologySource) -> list[str] | None:
    """Return the next row that is not empty, skipping and counting rows that are not CSV; None at the end."""
    while True:
        try:
            cells = next(reader, None)
        except csv.Error:
            source.rows += 1
            source.skip(reader.line_num, "not CSV")
            continue
        if cells is None or cells:
            source.rows += cells is not None
            return cells


def read_ndc(path: Path, source: TerminologySource) -> Iterator[MedicalTerm]:
    """Read the FDA's National Drug Code directory (``product.txt``, public domain, tab-separated).

    path (Path): the file. The default encoding, UTF-8, is replaced by Windows-1252.
    source (TerminologySource): the encoding; its counts of rows are updated.
    YIELDS (MedicalTerm): brand names, generic names and substances, each once.
    RAISES: ConfigError (D700) if a column is missing.
    """
    yield from _read_products(path, source, "\t", _NDC_COLUMNS, "an NDC product file")


def read_orange_book(path: Path, source: TerminologySource) -> Iterator[MedicalTerm]:
    """Read the FDA's Orange Book (``products.txt``, public domain, separated by "~").

    path (Path): the file. The default encoding, UTF-8, is replaced by Windows-1252.
    source (TerminologySource): the encoding; its counts of rows are updated.
    YIELDS (MedicalTerm): ingredients and trade names, each once.
    RAISES: ConfigError (D700) if a column is missing.
    """
    yield from _read_products(path, source, "~", _ORANGE_BOOK_COLUMNS, "an Orange Book products file")


def _read_products(
    path: Path, source: TerminologySource, separator: str, columns: tuple[str, ...], format: str
) -> Iterator[MedicalTerm]:
    """Yield the distinct names of drugs in a table of products, from all columns except the codes."""
    if source.encoding == "utf-8":
        source.encoding = "cp1252"
    numbered = lines(path, source)
    _, first = next(numbered, (1, ""))
    header = first.split(separator)
    places = require(header, columns, path, format)
    names = [places[column] for column in columns if column not in ("PRODUCTNDC", "Appl_No")]
    seen: set[str] = set()
    for row, line in numbered:
        source.rows += 1
        cells = line.split(separator)
        if len(cells) != len(header):
            source.skip(row, f"{len(cells)} columns where the header has {len(header)}")
            continue
        for name in (part.strip() for place in names for part in cells[place].split(";")):
            if name and name.casefold() not in seen:
                seen.add(name.casefold())
                yield MedicalTerm(name, "drug")


def _by_name(names: Mapping[str, str]) -> dict[str, str]:
    """Invert a table "kind → names, separated by |" to "name → kind"."""
    return {name: kind for kind, listed in names.items() for name in listed.split("|")}


_SEMANTIC_TYPES: Mapping[str, str] = _by_name(
    {
        "disease": (
            "disease or syndrome|neoplastic process|mental or behavioral dysfunction|"
            "congenital abnormality|pathologic function|injury or poisoning|anatomical abnormality|"
            "cell or molecular dysfunction"
        ),
        "sign": "sign or symptom",
        "finding": "finding",
        "drug": (
            "pharmacologic substance|antibiotic|clinical drug|organic chemical|hormone|vitamin|immunologic factor"
        ),
        "anatomy": "body part, organ, or organ component|body location or region|tissue|cell",
        "procedure": "diagnostic procedure|therapeutic or preventive procedure",
        "test": "laboratory procedure|laboratory or test result",
        "device": "medical device",
        "gene": "gene or genome",
        "organism": "bacterium|virus|fungus",
    }
)
_GONE = ("Obsolete_Concept", "Retired_Concept")
_OBO_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)*)"\s+(EXACT|NARROW|BROAD|RELATED)\b')
_ESCAPE = re.compile(r"\\(.)")
_SCOPES = ("EXACT", "NARROW")
_RF2_COLUMNS = ("id", "active", "conceptId", "languageCode", "typeId", "term")
_RF2_FULL_NAME = "900000000000003001"
_RF2_SYNONYM = "900000000000013009"

# Semantic tags of medical concepts. Concepts with other tags (person, occupation, geographic location …) are left out.
_SEMANTIC_TAGS: Mapping[str, str] = _by_name(
    {
        "disease": "disorder|disease|morphologic abnormality|trastorno|anomalía morfológica",
        "finding": "finding|situation|hallazgo|situación",
        "anatomy": "body structure|cell structure|cell|estructura corporal|estructura celular|célula",
        "procedure": "procedure|regime/therapy|procedimiento|régimen/tratamiento",
        "drug": (
            "substance|product|medicinal product|medicinal product form|clinical drug|sustancia|producto|"
            "producto medicinal|forma de producto medicinal|fármaco de uso clínico"
        ),
        "device": "physical object|objeto físico",
        "organism": "organism|organismo",
        "test": "observable entity|specimen|entidad observable|espécimen",
        "score": (
            "assessment scale|staging scale|tumor staging|escala de evaluación|escala de estadificación|"
            "estadificación tumoral"
        ),
        "other": "qualifier value|calificador",
    }
)


def read_nci(path: Path, source: TerminologySource) -> Iterator[MedicalTerm]:
    """Read the flat file of the NCI Thesaurus (``Thesaurus.txt``; National Cancer Institute, EVS; CC BY 4.0).

    It is tab-separated and has no header: code, concept IRI, parents, synonyms (separated by "|"), definition, display
    name, concept status, semantic types (separated by "|"), concept in subset. Files before 2018 have neither the IRI
    nor the subset.

    path (Path): the file.
    source (TerminologySource): the encoding; its counts of rows and terms are updated.
    YIELDS (MedicalTerm): the distinct terms of each concept. Names of genes get the form "symbol", which matches only
        in capitals.
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
    source (TerminologySource): kind of the terms; its counts are updated. Each name or synonym counts as a row.
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
    """Yield the terms of one stanza, given as its numbered lines."""
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
    source (TerminologySource): language, and kind of the concepts whose full name is not in the file; its counts of
        rows and terms are updated.
    YIELDS (MedicalTerm): the terms of active descriptions in the language; full names without their semantic tags.
    RAISES: ConfigError (D700) if a column is missing.
    """
    tags = {
        concept: (term.rpartition(" (")[2].removesuffix(")") if term.endswith(")") else "")
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
    """Yield the concept, type, term and language of each active row."""
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


Reader = Callable[[Path, TerminologySource], Iterator[MedicalTerm]]

READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "cms-order": read_cms_order,
        "icd": read_code_list,
        "ndc": read_ndc,
        "nci": read_nci,
        "obo": read_obo,
        "orange-book": read_orange_book,
        "rf2": read_rf2,
        "words": read_word_list,
    }
)
"""Format → its reader."""


def read_terminology(format: str, path: Path, source: TerminologySource) -> Iterator[MedicalTerm]:
    """Read the medical terms of a terminology file, and check at the end that the file had the expected format.

    format (str): name of the file format, a key of `READERS`.
    path (Path): the file.
    source (TerminologySource): language, kind and encoding; its counts of rows and terms are updated.
    YIELDS (MedicalTerm): the terms.
    RAISES: ConfigError for an unknown format (D708), a missing file (D707) or a file of another format (D700, D702).
    """
    if format not in READERS:
        raise ConfigError(Errors.D708.format(value=format, known=", ".join(READERS)))
    if not path.is_file():
        raise ConfigError(Errors.D707.format(path=path, reason="no such file"))
    yield from READERS[format](path, source)
    source.check(path, format)
