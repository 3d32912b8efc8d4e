"""Replacement values from a language model that sees each value alone: a baseline for the evaluation of surrogates.

It is not a strategy for releases: nothing keeps the forms of a person's name consistent, and the model may have
memorized the values it writes. The prompt in ``resources/surrogates/llm`` is that of the paper on SDM-M-DID
(Self-Decoded Model of Medical De-identification).
"""

import json
import tomllib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from .backends import Backend, BackendError, Message

__all__ = ["PROMPT", "load_replacing_prompt", "replace_values"]

PROMPT = "replace.v1"
_KEY = "value"
_SCHEMA = {
    "type": "object",
    "properties": {_KEY: {"type": "string"}},
    "required": [_KEY],
    "additionalProperties": False,
}
_TOKENS = 128  # of an answer


def load_replacing_prompt(name: str = PROMPT) -> dict[str, Any]:
    """Load a prompt.

    name (str): name of a prompt that ships.
    RETURNS (dict): "id", "system", "user" with the placeholders {kind} and {value}, and "kinds": label → its name in
        the prompt.
    """
    path = files("spacy_deid") / "resources" / "surrogates" / "llm" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def replace_values(backend: Backend, values: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str | None]:
    """Ask for a replacement of each value.

    backend (Backend): the model.
    values (Iterable[tuple[str, str]]): canonical labels and values; duplicates are asked for once.
    RETURNS (dict): (label, value) → the stripped replacement; None if the answer is not usable.
    RAISES: ConfigError (D731) if the server of the model is neither this machine nor allowed.
    """
    prompt = load_replacing_prompt()
    return {one: _ask(backend, prompt, *one) for one in dict.fromkeys(values)}


def _ask(backend: Backend, prompt: dict[str, Any], label: str, value: str) -> str | None:
    """Ask for one value. Placeholders are not filled with `str.format`, because a value may contain braces."""
    head, _, tail = prompt["user"].replace("{kind}", prompt["kinds"].get(label, _KEY)).partition("{value}")
    spoken: list[Message] = [
        {"role": "system", "content": prompt["system"]},
        {"role": "user", "content": f"{head}{value}{tail}"},
    ]
    try:
        answer = json.loads(backend.complete(spoken, _SCHEMA, max_tokens=_TOKENS), strict=False)
    except (BackendError, ValueError, RecursionError):
        return None
    said = answer.get(_KEY) if isinstance(answer, dict) else None
    return said.strip() if isinstance(said, str) else None
