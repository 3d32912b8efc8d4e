"""Read and write annotated notes as JSON: JSONL files, and tasks for Label Studio.

JSONL holds one note per line, ``{"id", "text", "entities": [{"start", "end", "label"}]}``. "text" may be left out; the
reader then needs the texts. A file for Label Studio is one JSON list of tasks, with the entities found by a pipeline
as predictions. Offsets count characters in both.

Source: Label Studio documentation, "Import pre-annotated data" and "Labels".
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from ..errors import Errors, InputError
from ..labels import LABELS
from .documents import AnnotatedText, Entity, index_documents, relabel
from .files import check_quote, read_label, read_offset, read_text, write_text


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
    """Parse a line of a JSONL file."""
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
    """Parse an entity of a JSONL record."""
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
    """Write notes as JSONL.

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
    """Write notes as tasks for Label Studio.

    documents (Iterable[AnnotatedText]): documents to write; their entities become predictions.
    path (Path): the file.
    scheme (str): label scheme of the file.
    model (str): name of the model that found the entities; "" to write no predictions.
    RETURNS (Path): the file.
    """
    tasks = [_make_task(document, scheme, model) for document in documents]
    write_text(path, json.dumps(tasks, ensure_ascii=False, indent=1) + "\n")
    return path


def _make_task(document: AnnotatedText, scheme: str, model: str) -> dict[str, Any]:
    """Create a Label Studio task from a note."""
    task: dict[str, Any] = {"data": {"text": document.text, "name": document.name}}
    if model:
        result = [
            {
                "id": f"e{number}",
                "from_name": "label",
                "to_name": "text",
                "type": "labels",
                "value": {
                    "start": entity.start,
                    "end": entity.end,
                    "text": document.text[entity.start : entity.end],
                    "labels": [entity.label],
                },
            }
            for number, entity in enumerate(relabel(document.entities, scheme), start=1)
        ]
        task["predictions"] = [{"model_version": model, "result": result}]
    return task


def make_config(labels: Iterable[str] = tuple(LABELS)) -> str:
    """Create the labelling configuration for the tasks.

    labels (Iterable[str]): labels of the tasks.
    RETURNS (str): XML.
    """
    lines = [f"    <Label value={quoteattr(label)}/>" for label in labels]
    head = ["<View>", '  <Labels name="label" toName="text">']
    tail = ["  </Labels>", '  <Text name="text" value="$text" granularity="character"/>', "</View>", ""]
    return "\n".join(head + lines + tail)
