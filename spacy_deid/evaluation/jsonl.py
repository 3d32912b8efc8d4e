"""JSONL: one note a line, ``{"id", "text", "entities": [{"start", "end", "label"}]}``.

The text may be left out; then whoever reads the file has to have the texts.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError
from .documents import AnnotatedText, Entity, index_documents, relabel
from .files import check_quote, read_label, read_offset, read_text, write_text

__all__ = ["read_jsonl", "write_jsonl"]


def read_jsonl(
    path: Path, *, scheme: str = "canonical", texts: Mapping[str, str] | None = None
) -> list[AnnotatedText]:
    """Read notes. Keys that are not known are left alone: a record may hold scores or note types.

    path (Path): the file.
    scheme (str): scheme of the labels in the file.
    texts (Mapping[str, str]): text by id, for records that have none.
    RETURNS (list[AnnotatedText]): in the order of the file, with canonical labels.
    RAISES: InputError naming file and line for anything that cannot be read (D301–D304), or an id that stands twice
        (D308).
    """
    lines = enumerate(read_text(path).split("\n"), start=1)
    documents = [_read_line(line, scheme, texts or {}, path, number) for number, line in lines if line.strip()]
    return list(index_documents(documents).values())


def _read_line(line: str, scheme: str, texts: Mapping[str, str], path: Path, number: int) -> AnnotatedText:
    """Read one note."""
    try:
        record = json.loads(line.removeprefix("\ufeff") if number == 1 else line)
    except (ValueError, RecursionError):
        # The exception holds the line, and with it the note.
        raise InputError(Errors.D302.format(path=path, line=number, reason="not JSON")) from None
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        raise InputError(Errors.D302.format(path=path, line=number, reason="'id' must be a string"))
    text = record.get("text", texts.get(record["id"]))
    if not isinstance(text, str):
        raise InputError(Errors.D302.format(path=path, line=number, reason="'text' must be a string"))
    entities = record.get("entities")
    if not isinstance(entities, list) or not all(isinstance(entity, dict) for entity in entities):
        raise InputError(Errors.D302.format(path=path, line=number, reason="'entities' must be a list of objects"))
    found = [_read_entity(entity, text, scheme, path, number) for entity in entities]
    return AnnotatedText(record["id"], text, tuple(found))


def _read_entity(record: dict[str, Any], text: str, scheme: str, path: Path, number: int) -> Entity:
    """Read one entity."""
    label = record.get("label")
    if not isinstance(label, str):
        raise InputError(Errors.D302.format(path=path, line=number, reason="'label' must be a string"))
    start, end = (read_offset(record.get(key), path, number) for key in ("start", "end"))
    entity = Entity(start, end, read_label(label, scheme, path, number))
    check_quote(text, [entity], text[start:end], path, number)
    return entity


def write_jsonl(
    documents: Iterable[AnnotatedText], path: Path, *, scheme: str = "canonical", include_text: bool = True
) -> Path:
    """Write notes, one a line.

    documents (Iterable[AnnotatedText]): what to write.
    path (Path): the file.
    scheme (str): scheme to write the labels in.
    include_text (bool): whether the notes themselves are written.
    RETURNS (Path): the file.
    RAISES: InputError (D308) if a name stands twice.
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
