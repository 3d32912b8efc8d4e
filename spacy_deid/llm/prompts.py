"""Load prompts for language models from files, and parse and check the answers.

A prompt file is TOML::

    id = "en/one_shot.v2"        # recorded in the trace
    base = "zero_shot.v2"        # optional: a prompt in the same folder whose keys are the defaults
    system = "…"                 # system message; "" for models without this role
    user = "… {labels} … {text}" # the question with both placeholders. "{mark}" is the line around the text
    [labels]                     # canonical label → description in the language of the prompt
    [canaries]                   # canonical label → sentence with "{}" for a canary of the label
    [[example]]                  # any number of texts with their answers
    text = "…"
    answer = { PATIENT = ["…"] }
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors
from ..labels import LABELS
from ..lang import all_languages
from .backends import Backend, BackendError, Message

_KEYS = {"id", "base", "system", "user", "labels", "canaries", "example"}
# "<|im_end|>", "</s>", "[/INST]": a note with one could end the question and answer it itself
_MARK = re.compile(r"(?<=[<\[])(?=[<|｜/]|[A-Za-z_][\w.:-]{0,40}[>\]])")


@dataclass(frozen=True, slots=True)
class Shot:
    """An example in a prompt: a text with the answer that the model should give.

    text (str): an invented note.
    answer (Mapping): label → identifiers in the text.
    """

    text: str
    answer: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt that asks a language model for the identifiers in a text.

    id (str): name with version, such as "en/one_shot.v2".
    system (str): system message; "" for none.
    user (str): template of the user message, with the placeholders {labels} and {text}. If it contains {mark}, the
        text is enclosed in two lines, which the template has to explain there.
    labels (Mapping[str, str]): label → description for the model.
    canaries (Mapping[str, str]): label → sentence with the placeholder {} for a canary; see `llm.extraction`.
    examples (tuple[Shot, ...]): examples; empty for zero-shot.
    """

    id: str
    system: str
    user: str
    labels: Mapping[str, str]
    canaries: Mapping[str, str] = field(default_factory=dict)
    examples: tuple[Shot, ...] = ()

    def messages(self, text: str, labels: Sequence[str]) -> list[Message]:
        """Return the conversation that asks for the identifiers of a text.

        text (str): the text. Chat markup in it ("<|im_end|>") is broken up with a space, so that the model does not
            interpret it. If the prompt uses {mark}, the text is enclosed in two lines that depend on the text, so that
            a text cannot contain its own end line.
        labels (Sequence[str]): labels of the identifiers to request.
        RETURNS (list[Message]): the system message, the examples as user messages with answers, and the user message
            with the text.
        """
        spoken: list[Message] = [{"role": "system", "content": self.system}] if self.system else []
        for shot in self.examples:
            answer = {label: list(shot.answer.get(label, ())) for label in labels}
            spoken.append({"role": "user", "content": self._ask(shot.text, labels)})
            spoken.append({"role": "assistant", "content": json.dumps(answer, ensure_ascii=False)})
        return [*spoken, {"role": "user", "content": self._ask(text, labels)}]

    def _ask(self, text: str, labels: Sequence[str]) -> str:
        """Return the user message for a text. `str.format` is not used to fill it, as a note can contain braces."""
        listed = "\n".join(f"- {label}: {self.labels.get(label) or LABELS[label].description}" for label in labels)
        note = _MARK.sub(" ", text)
        if "{mark}" in self.user:
            mark = f"#{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}#"
            note = f"{mark}\n{note}\n{mark}"
        else:
            mark = ""
        head, tail = (part.replace("{labels}", listed).replace("{mark}", mark) for part in self.user.split("{text}"))
        return f"{head}{note}{tail}"


def shipped_prompts() -> dict[str, Path]:
    """List the prompts that this package contains.

    RETURNS (dict[str, Path]): language and name of the prompt ("en/zero_shot.v2") → file, sorted by name.
    """
    return {
        f"{language.code}/{path.stem}": path
        for language in all_languages("prompts")
        for path in sorted(language.resource("prompts").glob("*.toml"))
    }


def load_prompt(prompt: str, lang: str) -> Prompt:
    """Load a prompt for the extraction of identifiers.

    prompt (str): name of a prompt in this package ("zero_shot.v2"), or path of a .toml file.
    lang (str): ISO 639-1 code of the language of the prompt; ignored for a path.
    RETURNS (Prompt): the prompt.
    RAISES: ConfigError if there is no such prompt (D735), or the file is invalid (D734).
    """
    shipped = shipped_prompts()
    if path := shipped.get(f"{lang}/{prompt}"):
        return _read(path)
    if prompt.endswith(".toml"):
        return _read(Path(prompt))
    raise ConfigError(Errors.D735.format(prompt=prompt, lang=lang, known=", ".join(shipped)))


def _read(path: Path) -> Prompt:
    """Read a file and the prompt that it is based on."""
    data = _parse(path)
    if base := data.pop("base", None):
        data = {**_parse(path.parent / f"{base}.toml"), **data}
    if missing := [key for key in ("id", "system", "user") if not isinstance(data.get(key), str)]:
        raise ConfigError(Errors.D734.format(path=path, reason=f"'{missing[0]}' must be a string"))
    if missing := [place for place in ("{labels}", "{text}") if data["user"].count(place) != 1]:
        raise ConfigError(
            Errors.D734.format(path=path, reason=f"'user' must contain the placeholder {missing[0]} exactly once")
        )
    shots = tuple(Shot(shot["text"], shot["answer"]) for shot in data.get("example", ()))
    canaries = data.get("canaries", {})
    if wrong := [label for label, sentence in canaries.items() if str(sentence).count("{}") != 1]:
        raise ConfigError(
            Errors.D734.format(
                path=path, reason=f"the canary of {wrong[0]} must contain the placeholder {{}} exactly once"
            )
        )
    return Prompt(data["id"], data["system"], data["user"], data.get("labels", {}), canaries, shots)


def _parse(path: Path) -> dict[str, Any]:
    """Parse a file and check its keys and labels."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        labels = [
            *data.get("labels", {}),
            *data.get("canaries", {}),
            *(label for shot in data.get("example", ()) for label in shot["answer"]),
        ]
        wrong = [shot for shot in data.get("example", ()) if not isinstance(shot["text"], str)]
    except (OSError, UnicodeDecodeError):
        raise ConfigError(Errors.D734.format(path=path, reason="cannot be read as UTF-8")) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(Errors.D734.format(path=path, reason=f"not TOML: {error}")) from None
    except (TypeError, AttributeError, KeyError):
        wrong, labels = [None], []
    if wrong:
        raise ConfigError(
            Errors.D734.format(path=path, reason="each example needs a 'text' and an 'answer'")
        ) from None
    if unknown := sorted({*data} - _KEYS) or sorted({*labels} - {*LABELS}):
        raise ConfigError(Errors.D734.format(path=path, reason=f"unknown key or label '{unknown[0]}'"))
    return data


Strings = Mapping[str, Sequence[str]]  # label → what stands in the text

_LONGEST = 1000  # characters of one string: more is no identifier, but a piece of the note
_MOST = 5000  # strings: each is looked for in the whole note


class NoAnswer(ValueError):
    """Raised if an answer of a language model does not have the requested form. The message does not quote it."""


def answer_schema(labels: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of an answer: a list of strings per label.

    labels (Sequence[str]): canonical labels.
    RETURNS (dict): the schema.
    """
    strings = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "properties": dict.fromkeys(labels, strings),
        "required": list(labels),
        "additionalProperties": False,
    }


def read_answer(answer: str, labels: Sequence[str]) -> dict[str, list[str]]:
    """Parse the answer of a language model, and check that it is a list of strings per label.

    A model whose server does not enforce the schema can omit labels, write them in lower case or twice, or give null
    or a single string; this is accepted. Labels that were not requested are ignored, but a list of strings under a key
    that is not a label is an error, because these strings can be identifiers. Control characters in strings are
    accepted, because grammars allow them.

    answer (str): raw answer of the model.
    labels (Sequence[str]): requested labels.
    RETURNS (dict): label → strings, without empty ones.
    RAISES: NoAnswer if the answer is not a JSON object, or contains no requested label, a value that is not a string,
        a string of more than 1,000 characters, strings under unknown keys, or more than 5,000 strings.
    """
    try:
        data: Any = json.loads(_unfenced(answer), strict=False, object_pairs_hook=_unite)
    except (ValueError, RecursionError):
        raise NoAnswer("the answer is not JSON") from None
    if not isinstance(data, dict):
        raise NoAnswer(f"the answer is {shape_name(data)}, not an object")
    if labels and not set(data) & set(labels):
        raise NoAnswer("the answer contains none of the labels")
    if any(
        any(isinstance(value, list) and any(isinstance(item, str) for item in value) for value in data[key])
        for key in set(data) - set(LABELS)
    ):
        raise NoAnswer("the answer contains strings under unknown labels")
    found = {label: _strings(data.get(label, ()), label) for label in labels}
    if sum(map(len, found.values())) > _MOST:
        raise NoAnswer(f"the answer has more than {_MOST} strings")
    return found


def _unite(pairs: Sequence[tuple[str, Any]]) -> dict[str, list[Any]]:
    """Collect all values of each label, however spelled, so that a repeated label does not overwrite the first."""
    united: dict[str, list[Any]] = {}
    for key, value in pairs:
        united.setdefault("_".join(key.upper().replace("-", " ").split()), []).append(value)
    return united


def _unfenced(answer: str) -> str:
    """Remove the code fence that models put around JSON."""
    answer = answer.strip()
    if answer.startswith("```") and answer.endswith("```"):
        return answer[3:-3].removeprefix("json")
    return answer


def _strings(values: Sequence[Any], label: str) -> list[str]:
    """Return the strings of a label."""
    lists = [[] if value is None else [value] if isinstance(value, str) else value for value in values]
    if not all(isinstance(value, list) and all(isinstance(item, str) for item in value) for value in lists):
        raise NoAnswer(f"the answer for {label} is not a list of strings")
    found = [item for value in lists for item in value]
    if any(len(item) > _LONGEST for item in found):
        raise NoAnswer(f"a string in the answer for {label} is longer than {_LONGEST} characters")
    return [stripped for item in found if (stripped := item.strip())]


def shape_name(value: object) -> str:
    """Return the name of a JSON value's type, for messages that must not show the value.

    value (object): a parsed JSON value.
    RETURNS (str): such as "a list".
    """
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


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
    """Load the prompt that asks a language model for a replacement of an identifier.

    name (str): name of a prompt in this package.
    RETURNS (dict): "id" and "system", the template "user" with the placeholders {kind} and {value}, and "kinds", which
        maps a label to its name in the prompt.
    """
    path = files("spacy_deid") / "resources" / "surrogates" / "llm" / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def replace_values(backend: Backend, values: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str | None]:
    """Let a language model invent a replacement for each of several identifiers.

    backend (Backend): the model.
    values (Iterable[tuple[str, str]]): pairs of canonical label and value; for a repeated pair only one request is
        made.
    RETURNS (dict): (label, value) → the stripped replacement; None if the answer is not usable.
    RAISES: ConfigError (D731) if the server of the model is neither this machine nor allowed.
    """
    prompt = load_replacing_prompt()
    return {one: _ask(backend, prompt, *one) for one in dict.fromkeys(values)}


def _ask(backend: Backend, prompt: dict[str, Any], label: str, value: str) -> str | None:
    """Request one replacement; None if the model fails or does not answer with a string. The prompt is not filled with
    `str.format`, because a value can contain braces.
    """
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
