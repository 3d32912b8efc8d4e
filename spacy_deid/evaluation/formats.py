"""Read and write annotated notes as JSONL, .spacy files, Label Studio tasks, and folders of any known format.

JSONL holds one note per line, ``{"id", "text", "entities": [{"start", "end", "label"}]}``. Without "text", the
reader must be given the texts. Offsets count characters. A file for Label Studio is one JSON list of tasks, with the
entities found by a pipeline as predictions (Label Studio documentation, "Import pre-annotated data").

.spacy files hold Docs for training. ``doc.ents`` consists of whole tokens without overlap. Entities are therefore
widened to whole tokens and trimmed where they overlap; no token of an entity is lost. What changed is returned as a
`Conflict` or a count. The name of a document is kept in ``doc.user_data["deid/name"]``.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from ..errors import ConfigError, Errors, InputError
from ..labels import LABELS, SCHEMES
from ..spans import Candidate, union_filter
from .cas import TYPE_SYSTEM, is_cas_json, parse_layer, read_cas, write_cas_json, write_xmi
from .documents import (
    AnnotatedText,
    Entity,
    check_quote,
    index_documents,
    read_label,
    read_offset,
    read_text,
    relabel,
    write_text,
)
from .standoff import read_brat, read_i2b2, write_brat, write_i2b2

FORMATS = {
    "brat": (".ann", ".txt"),
    "i2b2": (".xml",),
    "jsonl": (".jsonl",),
    "spacy": (".spacy",),
    "cas": (".json",),
    "xmi": (".xmi",),
}
# formats with one or more files per note
WRITERS = MappingProxyType({"brat": write_brat, "i2b2": write_i2b2, "cas": write_cas_json, "xmi": write_xmi})
_FORMAT_OF = {suffix: name for name, suffixes in FORMATS.items() for suffix in suffixes}
NAME = "deid/name"


def detect_format(path: Path) -> str:
    """Detect the format of a folder or file by file suffix.

    path (Path): folder or file.
    RETURNS (str): a key of `FORMATS`.
    RAISES: InputError if the path does not exist (D303), or has files of no format or of several formats (D306).
    """
    found = sorted({_FORMAT_OF[file.suffix] for file in _files(path)})
    if len(found) != 1:
        what = " and ".join(found) or "no file of a known format"
        raise InputError(Errors.D306.format(path=path, found=what, known=", ".join(FORMATS)))
    return found[0]


def annotation_files(path: Path, format: str) -> list[Path]:
    """List the files of a format in a folder, or the file itself.

    JSON files that are not CAS, and the type system file of XMI, are left out.

    path (Path): folder or file.
    format (str): a key of `FORMATS`.
    RETURNS (list[Path]): files in sorted order.
    RAISES: InputError (D303) if the path does not exist.
    """
    return [file for file in _files(path) if file.suffix in FORMATS[format]]


def read_folder(
    path: str | Path,
    format: str | None = None,
    *,
    scheme: str = "canonical",
    check_text: bool = True,
    layer: str | None = None,
) -> list[AnnotatedText]:
    """Read all documents of a folder, or of one file. Subfolders and hidden files are ignored.

    path (str | Path): folder or file.
    format (str): a key of `FORMATS`; None to detect it by suffix.
    scheme (str): label scheme of the files.
    check_text (bool): whether to check that the text quoted in brat and i2b2 files is the text at the offsets.
    layer (str | None): layer and feature of a CAS that hold the identifiers, "TYPE:FEATURE"; None to find them, see
        `cas.find_layer`.
    RETURNS (list[AnnotatedText]): documents sorted by name, with canonical labels.
    RAISES: ConfigError for an unknown format (D314) or scheme (D002), or an invalid layer (D758); InputError naming
        file and line for malformed input (D301–D306, D753–D759), an incomplete .txt/.ann pair (D307) or a name that
        occurs twice (D308).
    """
    path = Path(path)
    _check_scheme(scheme)
    format = _check_format(format) if format else detect_format(path)
    files = annotation_files(path, format)
    if not files:
        raise InputError(Errors.D306.format(path=path, found=f"no file of format {format}", known=", ".join(FORMATS)))
    documents: list[AnnotatedText] = []
    if format == "brat":
        stems = _check_pairs(path, files)
        documents = [read_brat(stem, scheme=scheme, check_text=check_text) for stem in stems]
    elif format == "i2b2":
        documents = [read_i2b2(file, scheme=scheme, check_text=check_text) for file in files]
    elif format in ("cas", "xmi"):
        where = parse_layer(layer)
        documents = [read_cas(file, scheme=scheme, layer=where) for file in files]
    else:
        read = read_jsonl if format == "jsonl" else read_docbin
        documents = [document for file in files for document in read(file, scheme=scheme)]
    return sorted(index_documents(documents).values(), key=lambda document: document.name)


def write_folder(
    documents: Iterable[AnnotatedText],
    folder: str | Path,
    format: str,
    *,
    scheme: str = "canonical",
    include_text: bool = True,
    tokenizer: Callable[[str], Doc] | None = None,
) -> int:
    """Write documents to a folder, which is created if missing.

    documents (Iterable[AnnotatedText]): documents to write.
    folder (str | Path): target folder. "jsonl" and "spacy" write one file named "documents", the other formats one or
        two files per document.
    format (str): a key of `FORMATS`.
    scheme (str): label scheme of the files.
    include_text (bool): whether JSONL includes the texts.
    tokenizer (Callable[[str], Doc]): tokenizer for "spacy"; None for that of a blank multi-language pipeline.
    RETURNS (int): number of entities trimmed because they overlap; always 0 except for "spacy".
    RAISES: ConfigError for an unknown format (D314) or scheme (D002); InputError as the writers.
    """
    folder = Path(folder)
    _check_scheme(scheme)
    _check_format(format)
    named = index_documents(documents).values()
    folder.mkdir(parents=True, exist_ok=True)
    if format == "spacy":
        return write_docbin(named, folder / "documents.spacy", tokenizer or spacy.blank("xx").make_doc, scheme=scheme)
    if format == "jsonl":
        write_jsonl(named, folder / "documents.jsonl", scheme=scheme, include_text=include_text)
        return 0
    for document in named:
        WRITERS[format](document, folder, scheme=scheme)
    return 0


def _files(path: Path) -> list[Path]:
    """List the files of a known format in a folder in sorted order, or the file itself."""

    def has_format(file: Path) -> bool:
        if file.suffix == ".json":
            return is_cas_json(file)
        return file.suffix in _FORMAT_OF and file.name != TYPE_SYSTEM

    if path.is_file():
        return [path] if has_format(path) else []
    if not path.is_dir():
        raise InputError(Errors.D303.format(path=path, reason="no such folder or file (check the path)"))
    files = (file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    return sorted(filter(has_format, files))


def _check_pairs(path: Path, files: list[Path]) -> list[Path]:
    """Check that each .txt file has an .ann file and vice versa. RETURNS (list[Path]): the .ann files."""
    if path.is_file():
        return [path]
    notes, annotations = ({file.stem for file in files if file.suffix == suffix} for suffix in (".txt", ".ann"))
    for alone, has, missing in ((notes - annotations, ".txt", ".ann"), (annotations - notes, ".ann", ".txt")):
        if alone:
            names = ", ".join(f"{name}{has}" for name in sorted(alone)[:5])
            raise InputError(Errors.D307.format(path=path, names=names, missing=missing))
    return [path / f"{name}.ann" for name in sorted(notes)]


def _check_format(format: str) -> str:
    """Check that a format is known, and return its name. RAISES: ConfigError (D314) if it is not."""
    if format not in FORMATS:
        raise ConfigError(Errors.D314.format(format=format, known=", ".join(FORMATS)))
    return format


def _check_scheme(scheme: str) -> None:
    """Check a label scheme before files are read or written. RAISES: ConfigError (D002) if it is unknown."""
    if scheme not in SCHEMES:
        raise ConfigError(Errors.D002.format(scheme=scheme, known=", ".join(SCHEMES)))


# ---------------------------------------------------------------- JSON


def read_jsonl(
    path: Path, *, scheme: str = "canonical", texts: Mapping[str, str] | None = None
) -> list[AnnotatedText]:
    """Read notes from a JSONL file. Unknown keys are ignored, so records may also hold scores or note types.

    path (Path): the file.
    scheme (str): label scheme of the file.
    texts (Mapping[str, str]): text by id, for records without a text.
    RETURNS (list[AnnotatedText]): notes in the order of the file, with canonical labels.
    RAISES: InputError naming file and line for malformed input (D301–D304), or for an id that occurs twice (D308).
    """
    lines = enumerate(read_text(path).split("\n"), start=1)
    documents = [_read_note(line, scheme, texts or {}, path, number) for number, line in lines if line.strip()]
    return list(index_documents(documents).values())


def _read_note(line: str, scheme: str, texts: Mapping[str, str], path: Path, number: int) -> AnnotatedText:
    """Convert a line of a JSONL file to a note. RAISES: InputError naming file and line if it is malformed."""

    def invalid(reason: str) -> InputError:
        return InputError(Errors.D302.format(path=path, line=number, reason=reason))

    try:
        record = json.loads(line.removeprefix("\ufeff") if number == 1 else line)
    except (ValueError, RecursionError):
        raise invalid("not JSON") from None  # the exception holds the line, and with it the note
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        raise invalid("'id' must be a string")
    text = record.get("text", texts.get(record["id"]))
    if not isinstance(text, str):
        raise invalid("'text' must be a string")
    found, entities = [], record.get("entities")
    if not isinstance(entities, list) or not all(isinstance(entity, dict) for entity in entities):
        raise invalid("'entities' must be a list of objects")
    for item in entities:
        label = item.get("label")
        if not isinstance(label, str):
            raise invalid("'label' must be a string")
        start, end = (read_offset(item.get(key), path, number) for key in ("start", "end"))
        found.append(Entity(start, end, read_label(label, scheme, path, number)))
        check_quote(text, found[-1:], text[start:end], path, number)
    return AnnotatedText(record["id"], text, tuple(found))


def write_jsonl(
    documents: Iterable[AnnotatedText], path: Path, *, scheme: str = "canonical", include_text: bool = True
) -> Path:
    """Write annotated notes to a JSONL file.

    documents (Iterable[AnnotatedText]): documents to write.
    path (Path): the file.
    scheme (str): label scheme of the file.
    include_text (bool): whether to write the texts.
    RETURNS (Path): the file.
    RAISES: InputError (D308) if a name occurs twice.
    """
    lines = []
    for document in index_documents(documents).values():
        record: dict[str, Any] = {"id": document.name}
        if include_text:
            record["text"] = document.text
        entities = relabel(document.entities, scheme)
        record["entities"] = [{"start": e.start, "end": e.end, "label": e.label} for e in entities]
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    write_text(path, "".join(lines))
    return path


def write_tasks(documents: Iterable[AnnotatedText], path: Path, *, scheme: str = "canonical", model: str = "") -> Path:
    """Write notes as tasks for Label Studio, with their entities as predictions.

    documents (Iterable[AnnotatedText]): documents to write.
    path (Path): the file.
    scheme (str): label scheme of the file.
    model (str): name of the model that found the entities; "" to write no predictions.
    RETURNS (Path): the file.
    """
    tasks = []
    for document in documents:
        task: dict[str, Any] = {"data": {"text": document.text, "name": document.name}}
        if model:
            result: list[dict[str, Any]] = []
            for number, entity in enumerate(relabel(document.entities, scheme), start=1):
                quote = document.text[entity.start : entity.end]
                span = {"start": entity.start, "end": entity.end, "text": quote, "labels": [entity.label]}
                names = {"id": f"e{number}", "from_name": "label", "to_name": "text", "type": "labels"}
                result.append({**names, "value": span})
            task["predictions"] = [{"model_version": model, "result": result}]
        tasks.append(task)
    write_text(path, json.dumps(tasks, ensure_ascii=False, indent=1) + "\n")
    return path


def make_config(labels: Iterable[str] = tuple(LABELS)) -> str:
    """Create the labelling configuration of Label Studio, as XML.

    labels (Iterable[str]): labels of the tasks.
    RETURNS (str): XML.
    """
    lines = [f"    <Label value={quoteattr(label)}/>" for label in labels]
    head = ["<View>", '  <Labels name="label" toName="text">']
    tail = ["  </Labels>", '  <Text name="text" value="$text" granularity="character"/>', "</View>", ""]
    return "\n".join(head + lines + tail)


# ---------------------------------------------------------------- spaCy Docs


@dataclass(frozen=True, slots=True)
class Conflict:
    """An entity that ``doc.ents`` cannot represent as annotated. It contains offsets and no text.

    kind (str): "misaligned" if the entity begins or ends inside a token, "overlapping" if it shares tokens with
        another.
    entity (Entity): the entity as annotated.
    start, end (int): character offsets of the whole tokens that overlap it; equal if there are none.
    """

    kind: Literal["misaligned", "overlapping"]
    entity: Entity
    start: int
    end: int

    @property
    def trimmed(self) -> bool:
        """Whether the entity lost tokens to another entity, or overlaps no token."""
        return self.kind == "overlapping" or self.start == self.end

    def __str__(self) -> str:
        """Describe the conflict for a warning, by offsets and label."""
        where = f"{self.entity.start}:{self.entity.end} {self.entity.label}"
        if self.start == self.end:
            return f"{where}: nothing but blanks between tokens"
        if self.kind == "misaligned":
            return f"{where}: not at the edges of tokens, widened to {self.start}:{self.end}"
        return f"{where}: overlaps another entity, and keeps those of its tokens that the longer one does not hold"


def align_entities(doc: Doc, entities: list[Entity]) -> tuple[list[Span], list[Conflict]]:
    """Convert entities to disjoint spans of whole tokens. Every token that overlaps an entity is in a span.

    doc (Doc): Doc of the annotated text.
    entities (list[Entity]): entities, with the labels that the spans get.
    RETURNS (tuple[list[Span], list[Conflict]]): disjoint spans in document order, and the entities that were changed.
    """
    widened = [doc.char_span(e.start, e.end, label=e.label, alignment_mode="expand") for e in entities]
    touching = [(entity, span) for entity, span in zip(entities, widened, strict=True) if span]
    candidates = [Candidate(span.start, span.end, span.label_, (-len(span),)) for _, span in touching]
    spans = [Span(doc, c.start, c.end, label=c.label) for c in union_filter(candidates)]
    conflicts = [
        Conflict("misaligned", entity, *((span.start_char, span.end_char) if span else (entity.start, entity.start)))
        for entity, span in zip(entities, widened, strict=True)
        if not span or (span.start_char, span.end_char) != (entity.start, entity.end)
    ]
    left = Counter((span.start, span.end, span.label_) for span in spans)
    for entity, span in touching:
        key = (span.start, span.end, span.label_)
        if not left[key]:
            conflicts.append(Conflict("overlapping", entity, span.start_char, span.end_char))
        left[key] -= bool(left[key])
    return spans, conflicts


def make_docs(
    documents: Iterable[AnnotatedText], tokenizer: Callable[[str], Doc], *, scheme: str = "canonical"
) -> tuple[list[Doc], int]:
    """Create Docs whose ``ents`` are the gold entities, widened to whole tokens.

    Where entities overlap, the one with more tokens is kept whole and the other one keeps its remaining tokens; see
    `align_entities`.

    documents (Iterable[AnnotatedText]): annotated notes.
    tokenizer (Callable[[str], Doc]): ``nlp.make_doc`` or a tokenizer.
    scheme (str): label scheme of the Docs.
    RETURNS (tuple[list[Doc], int]): Docs in the given order, and the number of trimmed entities.
    """
    docs, trimmed = [], 0
    for document in documents:
        doc = tokenizer(document.text)
        spans, conflicts = align_entities(doc, relabel(document.entities, scheme))
        doc.set_ents(spans)
        doc.user_data[NAME] = document.name
        docs.append(doc)
        trimmed += sum(conflict.trimmed for conflict in conflicts)
    return docs, trimmed


def from_doc(doc: Doc, name: str = "", *, scheme: str = "canonical") -> AnnotatedText:
    """Create an annotated note from the entities of a Doc.

    doc (Doc): Doc with entities in ``ents``.
    name (str): name of the document; "" for the name stored in the Doc.
    scheme (str): label scheme of ``doc.ents``.
    RETURNS (AnnotatedText): note with canonical labels.
    RAISES: InputError (D304) for a label that is not in the scheme.
    """
    name = name or str(doc.user_data.get(NAME, ""))
    found = [Entity(e.start_char, e.end_char, read_label(e.label_, scheme, Path(name), 1)) for e in doc.ents]
    return AnnotatedText(name, doc.text, tuple(found))


def read_docbin(path: Path, *, scheme: str = "canonical") -> list[AnnotatedText]:
    """Read annotated notes from a .spacy file (a DocBin).

    path (Path): the file.
    scheme (str): label scheme of the file.
    RETURNS (list[AnnotatedText]): notes in the order of the file, with canonical labels; Docs without a name get a
        number.
    RAISES: InputError if the file is not a DocBin (D303), a name occurs twice (D308) or a label is unknown (D304).
    """
    try:
        docs = list(DocBin().from_disk(path).get_docs(Vocab()))
    except Exception:  # msgpack and zlib raise many types, some with the bytes in the message
        raise InputError(Errors.D303.format(path=path, reason="not a DocBin")) from None
    named = [
        from_doc(doc, str(doc.user_data.get(NAME, f"{path.stem}-{i}")), scheme=scheme) for i, doc in enumerate(docs)
    ]
    return list(index_documents(named).values())


def write_docbin(
    documents: Iterable[AnnotatedText], path: Path, tokenizer: Callable[[str], Doc], *, scheme: str = "canonical"
) -> int:
    """Write a .spacy file for ``spacy train`` and ``spacy evaluate``.

    documents (Iterable[AnnotatedText]): annotated notes.
    path (Path): the file.
    tokenizer (Callable[[str], Doc]): ``nlp.make_doc`` or a tokenizer.
    scheme (str): label scheme of the file.
    RETURNS (int): number of entities trimmed because they overlap a longer one.
    """
    docs, trimmed = make_docs(index_documents(documents).values(), tokenizer, scheme=scheme)
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    return trimmed
