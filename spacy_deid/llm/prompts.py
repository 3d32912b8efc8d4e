"""Prompts as files: what a language model is told, in which version, and how each label is put into words.

A file is TOML::

    id = "en/one_shot.v2"        # goes into the trace
    base = "zero_shot.v2"        # optional: a prompt beside it, whose keys this one takes unless it has its own
    system = "…"                 # what the model is; "" for models that know no such role
    user = "… {labels} … {text}" # the question; both places must be there. "{mark}" is the line around the text
    [labels]                     # canonical label → its description, in the language of the prompt
    [canaries]                   # canonical label → sentence with "{}" in which a canary of the label is planted
    [[example]]                  # any number: a text, and the answer to it
    text = "…"
    answer = { PATIENT = ["…"] }
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Errors
from ..labels import LABELS
from ..lang import all_languages
from .backends import Message

__all__ = ["Prompt", "Shot", "load_prompt", "shipped_prompts"]

_KEYS = {"id", "base", "system", "user", "labels", "canaries", "example"}
# "<|im_end|>", "</s>", "[/INST]": a note with one could end the question and answer it itself
_MARK = re.compile(r"(?<=[<\[])(?=[<|｜/]|[A-Za-z_][\w.:-]{0,40}[>\]])")


@dataclass(frozen=True, slots=True)
class Shot:
    """An example: a text and the answer to it.

    text (str): an invented note.
    answer (Mapping): label → strings.
    """

    text: str
    answer: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt.

    id (str): name with version.
    system (str): what the model is.
    user (str): the question, with the places {labels} and {text}, and {mark} where the lines are explained that the
        text stands between.
    labels (Mapping[str, str]): label → description.
    canaries (Mapping[str, str]): label → sentence with the place {} for a canary; see `llm.canaries`.
    examples (tuple[Shot, ...]): examples; none for zero-shot.
    """

    id: str
    system: str
    user: str
    labels: Mapping[str, str]
    canaries: Mapping[str, str] = field(default_factory=dict)
    examples: tuple[Shot, ...] = ()

    def messages(self, text: str, labels: Sequence[str]) -> list[Message]:
        """The conversation that asks about a text.

        text (str): the text. What it has of the marks of chats gets a blank, so that no model takes it for one. If
            the prompt explains {mark}, the text stands between two lines that depend on it, so that no text can
            contain the line that ends it.
        labels (Sequence[str]): labels to ask for.
        RETURNS (list[Message]): system, the examples as question and answer, and the question.
        """
        spoken: list[Message] = [{"role": "system", "content": self.system}] if self.system else []
        for shot in self.examples:
            answer = {label: list(shot.answer.get(label, ())) for label in labels}
            spoken.append({"role": "user", "content": self._ask(shot.text, labels)})
            spoken.append({"role": "assistant", "content": json.dumps(answer, ensure_ascii=False)})
        return [*spoken, {"role": "user", "content": self._ask(text, labels)}]

    def _ask(self, text: str, labels: Sequence[str]) -> str:
        """The question. The places are filled by hand: braces of a note are no places."""
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
    """The prompts that come with the package.

    RETURNS (dict[str, Path]): "en/zero_shot.v2" → file, in the order of the names.
    """
    return {
        f"{language.code}/{path.stem}": path
        for language in all_languages("prompts")
        for path in sorted(language.resource("prompts").glob("*.toml"))
    }


def load_prompt(prompt: str, lang: str) -> Prompt:
    """Load a prompt.

    prompt (str): name of one that ships ("zero_shot.v2"), or path of a file.
    lang (str): language, which chooses among those that ship.
    RETURNS (Prompt): the prompt.
    RAISES: ConfigError if there is none (D735), or the file is wrong (D734).
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
        raise ConfigError(Errors.D734.format(path=path, reason=f"'{missing[0]}' is missing, or no string"))
    if missing := [place for place in ("{labels}", "{text}") if data["user"].count(place) != 1]:
        raise ConfigError(Errors.D734.format(path=path, reason=f"'user' must have the place {missing[0]} once"))
    shots = tuple(Shot(shot["text"], shot["answer"]) for shot in data.get("example", ()))
    canaries = data.get("canaries", {})
    if wrong := [label for label, sentence in canaries.items() if str(sentence).count("{}") != 1]:
        raise ConfigError(
            Errors.D734.format(path=path, reason=f"the canary of {wrong[0]} must have the place {{}} once")
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
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(Errors.D734.format(path=path, reason=f"not TOML: {error}")) from None
    except (TypeError, AttributeError, KeyError):
        wrong, labels = [None], []
    if wrong:
        raise ConfigError(Errors.D734.format(path=path, reason="an example has a 'text' and an 'answer'")) from None
    if unknown := sorted({*data} - _KEYS) or sorted({*labels} - {*LABELS}):
        raise ConfigError(Errors.D734.format(path=path, reason=f"unknown key or label '{unknown[0]}'"))
    return data
