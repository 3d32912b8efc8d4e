"""Read and write JSON without a change of numbers: "1.00" stays "1.00", because FHIR decimals have a precision."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..errors import Errors, InputError

_DEEPEST = 100
"""Levels of nested objects and lists. The deepest resource in the R4 examples has 25."""


class Number(NamedTuple):
    """A number of a JSON text, as it is written there.

    text (str): the characters of the number, such as "1.00".
    """

    text: str


def _refuse_constant(name: str) -> Any:
    """Refuse NaN and Infinity, which Python reads but JSON does not have."""
    raise ValueError


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with a repeated key: another reader could take the other value."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError
    return made


def read_json(text: str) -> dict[str, Any]:
    """Parse a JSON object.

    text (str): the JSON text.
    RETURNS (dict[str, Any]): the object. Numbers are of the class `Number`.
    RAISES: InputError (D980) if it is not a JSON object, repeats a key, or is nested too deeply. The message quotes
        nothing.
    """
    try:
        found = json.loads(
            text,
            parse_float=Number,
            parse_int=Number,
            parse_constant=_refuse_constant,
            object_pairs_hook=_make_object,
        )
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or _is_too_deep(found):
        raise InputError(Errors.D980)
    return found


def _is_too_deep(value: Any) -> bool:
    """Whether objects and lists are nested in more than `_DEEPEST` levels."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [child for item in level for child in _children(item)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterator[Any]:
    """Yield the objects and lists in an object or a list."""
    items = value.values() if isinstance(value, dict) else value
    return (item for item in items if isinstance(item, dict) or type(item) is list)


def write_json(value: Any, indent: int | None = None) -> str:
    """Write a value as JSON.

    value (Any): dicts, lists, strings, booleans, None and `Number`.
    indent (Optional[int]): spaces per level; None to write everything in one line.
    RETURNS (str): the JSON text. Numbers have the characters that were read.
    """
    return "".join(_write(value, indent, "\n"))


def _write(value: Any, indent: int | None, line: str) -> Iterator[str]:
    """Yield the pieces of a JSON text. `line` is a line break with the current indentation."""
    if isinstance(value, Number):
        yield value.text
        return
    if not isinstance(value, dict | list) or not value:
        yield json.dumps(value, ensure_ascii=False)
        return
    is_object = isinstance(value, dict)
    inner = line + " " * (indent or 0)
    start = inner if indent else ""
    separator = "," + (inner if indent else "")
    colon = ": " if indent else ":"
    yield ("{" if is_object else "[") + start
    for i, item in enumerate(value.items() if isinstance(value, dict) else value):
        if i:
            yield separator
        if is_object:
            yield json.dumps(item[0], ensure_ascii=False) + colon
        yield from _write(item[1] if is_object else item, indent, inner)
    yield (line if indent else "") + ("}" if is_object else "]")
