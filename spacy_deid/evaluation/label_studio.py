"""Tasks for Label Studio: one JSON list, with what a pipeline found as predictions. Offsets count characters.

Source: Label Studio, "Import pre-annotated data" and "Labels" of a labelling configuration.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from ..labels import LABELS
from .documents import AnnotatedText, relabel
from .files import write_text

__all__ = ["make_config", "write_tasks"]


def write_tasks(documents: Iterable[AnnotatedText], path: Path, *, scheme: str = "canonical", model: str = "") -> Path:
    """Write notes as tasks.

    documents (Iterable[AnnotatedText]): what to write; entities become predictions.
    path (Path): the file.
    scheme (str): scheme to write the labels in.
    model (str): what found the entities; "" for no predictions.
    RETURNS (Path): the file.
    """
    tasks = [_make_task(document, scheme, model) for document in documents]
    write_text(path, json.dumps(tasks, ensure_ascii=False, indent=1) + "\n")
    return path


def _make_task(document: AnnotatedText, scheme: str, model: str) -> dict[str, Any]:
    """One task."""
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
    """The labelling configuration that fits the tasks.

    labels (Iterable[str]): as the tasks write them.
    RETURNS (str): XML.
    """
    lines = [f"    <Label value={quoteattr(label)}/>" for label in labels]
    head = ["<View>", '  <Labels name="label" toName="text">']
    tail = ["  </Labels>", '  <Text name="text" value="$text" granularity="character"/>', "</View>", ""]
    return "\n".join(head + lines + tail)
