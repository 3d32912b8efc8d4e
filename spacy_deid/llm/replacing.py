"""Values replaced by a language model that sees each value alone: a baseline to measure surrogates against.

It is no strategy of a release: nothing keeps one person's forms together, and nobody knows what a model takes from
what it has read. The prompt is that of a paper (SDM-M-DID, Self-Decoded Model of Medical De-identification), in
``resources/surrogates/llm``.
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

    name (str): one that ships.
    RETURNS (dict): "id", "system", "user" with the places {kind} and {value}, and "kinds": label → what it is called.
    """
    path = files("spacy_deid") / "resources" / "surrogates" / "llm" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def replace_values(backend: Backend, values: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str | None]:
    """Ask for another value in place of each.

    backend (Backend): the model.
    values (Iterable[tuple[str, str]]): canonical labels and values; equal ones are asked for once.
    RETURNS (dict): label and value → what the model says, without blanks around it; None where its answer cannot be
        used.
    RAISES: ConfigError (D731) if the model's server is neither this machine nor allowed.
    """
    prompt = load_replacing_prompt()
    return {one: _ask(backend, prompt, *one) for one in dict.fromkeys(values)}


def _ask(backend: Backend, prompt: dict[str, Any], label: str, value: str) -> str | None:
    """Ask for one value. The places are filled by hand: braces of a value are no places."""
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
