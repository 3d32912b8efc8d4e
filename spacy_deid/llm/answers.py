"""What a language model is to answer, as a JSON schema made from labels, and what it did answer, checked."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..labels import LABELS
from .backends import shape_name

__all__ = ["NoAnswer", "Strings", "answer_schema", "read_answer"]

Strings = Mapping[str, Sequence[str]]  # label → what stands in the text

_LONGEST = 1000  # characters of one string: more is no identifier, but a piece of the note
_MOST = 5000  # strings: each is looked for in the whole note


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

    Servers that hold a model to no schema may leave labels out, write them in small letters or twice, or give null or
    a lone string: that is read as it is meant. Labels that were not asked for are left out, but a list of strings
    under a name that is no label could be anybody's. Control characters in strings are let pass, because grammars do.

    answer (str): what the model said.
    labels (Sequence[str]): the labels that were asked for.
    RETURNS (dict): for each label the strings, without those that are empty.
    RAISES: NoAnswer if it is no JSON object, holds no label that was asked for, anything but strings, strings under
        other names, or thousands of them.
    """
    try:
        data: Any = json.loads(_unfenced(answer), strict=False, object_pairs_hook=_unite)
    except (ValueError, RecursionError):
        raise NoAnswer("its answer is not JSON") from None
    if not isinstance(data, dict):
        raise NoAnswer(f"its answer is {shape_name(data)} and not an object")
    if labels and not set(data) & set(labels):
        raise NoAnswer("its answer has none of the labels")
    if any(_holds_strings(data[key]) for key in set(data) - set(LABELS)):
        raise NoAnswer("its answer has strings under names that are no labels")
    found = {label: _strings(data.get(label, ()), label) for label in labels}
    if sum(map(len, found.values())) > _MOST:
        raise NoAnswer(f"its answer has more than {_MOST} strings")
    return found


def _unite(pairs: Sequence[tuple[str, Any]]) -> dict[str, list[Any]]:
    """All values of each label, however it is written: a label that comes twice must not lose the first."""
    united: dict[str, list[Any]] = {}
    for key, value in pairs:
        united.setdefault("_".join(key.upper().replace("-", " ").split()), []).append(value)
    return united


def _holds_strings(values: Sequence[Any]) -> bool:
    """Whether there is a list with a string among the values of a key."""
    return any(isinstance(value, list) and any(isinstance(item, str) for item in value) for value in values)


def _unfenced(answer: str) -> str:
    """An answer without the fence of a code block, which models put around JSON when nothing stops them."""
    answer = answer.strip()
    if answer.startswith("```") and answer.endswith("```"):
        return answer[3:-3].removeprefix("json")
    return answer


def _strings(values: Sequence[Any], label: str) -> list[str]:
    """The strings of a label."""
    lists = [[] if value is None else [value] if isinstance(value, str) else value for value in values]
    if not all(isinstance(value, list) and all(isinstance(item, str) for item in value) for value in lists):
        raise NoAnswer(f"its answer for {label} is no list of strings")
    found = [item for value in lists for item in value]
    if any(len(item) > _LONGEST for item in found):
        raise NoAnswer(f"a string of its answer for {label} is longer than {_LONGEST} characters")
    return [stripped for item in found if (stripped := item.strip())]
