"""What a language model is to answer, as a JSON schema made from labels, and what it did answer, checked."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .backends import shape_name

__all__ = ["NoAnswer", "Strings", "answer_schema", "read_answer"]

Strings = Mapping[str, Sequence[str]]  # label → what stands in the text

_LONGEST = 1000  # characters of one string: more is no identifier, but a piece of the note


class NoAnswer(ValueError):
    """An answer is not what was asked for. The message quotes nothing of it."""


def answer_schema(labels: Sequence[str]) -> dict[str, Any]:
    """The schema of an answer: for every label a list of strings.

    labels (Sequence[str]): canonical labels.
    RETURNS (dict): JSON schema.
    """
    strings = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "properties": dict.fromkeys(labels, strings),
        "required": list(labels),
        "additionalProperties": False,
    }


def read_answer(answer: str, labels: Sequence[str]) -> dict[str, list[str]]:
    """Read an answer and check its shape.

    Servers that hold a model to no schema may leave labels out, or give null or a lone string: that is read as it is
    meant. Control characters in strings are let pass, because grammars do.

    answer (str): what the model said.
    labels (Sequence[str]): the labels that were asked for.
    RETURNS (dict): for each label the strings, without those that are empty.
    RAISES: NoAnswer if it is no JSON object, holds no label that was asked for, or anything but strings.
    """
    try:
        data: Any = json.loads(_unfenced(answer), strict=False)
    except (ValueError, RecursionError):
        raise NoAnswer("its answer is not JSON") from None
    if not isinstance(data, dict):
        raise NoAnswer(f"its answer is {shape_name(data)} and not an object")
    if labels and not set(data) & set(labels):
        raise NoAnswer("its answer has none of the labels")
    return {label: _strings(data.get(label), label) for label in labels}


def _unfenced(answer: str) -> str:
    """An answer without the fence of a code block, which models put around JSON when nothing stops them."""
    answer = answer.strip()
    if answer.startswith("```") and answer.endswith("```"):
        return answer[3:-3].removeprefix("json")
    return answer


def _strings(value: Any, label: str) -> list[str]:
    """The strings of a label."""
    values = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise NoAnswer(f"its answer for {label} is no list of strings")
    if any(len(item) > _LONGEST for item in values):
        raise NoAnswer(f"a string of its answer for {label} is longer than {_LONGEST} characters")
    return [stripped for item in values if (stripped := item.strip())]
