"""llama.cpp in this process, by llama-cpp-python."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from ..errors import ConfigError, Errors
from .backends import BackendError, Message

__all__ = ["InProcess", "fingerprint"]

_SAMPLES, _SAMPLE = 64, 65536
_SYSTEM: Sequence[Message] = ({"role": "system", "content": "a"}, {"role": "user", "content": "b"})


class InProcess:
    """A GGUF file. It answers one question at a time, whoever asks."""

    slots = 1

    def __init__(
        self,
        path: str | Path,
        *,
        temperature: float = 0.0,
        grammar: str | None = None,
        context: int = 8192,
        threads: int | None = None,
        gpu_layers: int = 0,
    ) -> None:
        """Load a model; see `backends.open_backend`.

        RAISES: ConfigError if it cannot be loaded (D733), the grammar cannot be read (D738), or llama-cpp-python is
            not installed (D737).
        """
        try:
            library: Any = import_module("llama_cpp")
        except ImportError:
            raise ConfigError(Errors.D737.format(package="llama-cpp-python", extra="llm-inprocess")) from None
        self._lock, self.temperature = Lock(), temperature
        cores = threads or os.cpu_count()
        sizes = {"n_ctx": context, "n_threads": cores, "n_threads_batch": cores, "n_gpu_layers": gpu_layers}
        try:
            self._llama = library.Llama(model_path=str(path), verbose=False, **sizes)
        except Exception as error:  # the library raises ValueError for all kinds of damage, and others for some
            reason = f"llama.cpp cannot load it ({type(error).__name__})"
            raise ConfigError(Errors.D733.format(path=path, reason=reason)) from None
        self._name, self._library = f"{Path(path).name}#{fingerprint(path)}", library
        self._given = self._read_grammar(grammar) if grammar else None
        self._made: tuple[str, Any] | None = None
        self._has_system = self._takes(_SYSTEM)

    def _takes(self, messages: Sequence[Message]) -> bool:
        """Whether the model's template takes a conversation. Those of Gemma and Mistral refuse the role "system"."""
        template = self._llama.metadata.get("tokenizer.chat_template")
        try:
            formatter = self._library.llama_chat_format.Jinja2ChatFormatter
            return not template or bool(formatter(template, eos_token="", bos_token="")(messages=messages))
        except Exception:  # whatever a template raises
            return False

    def _read_grammar(self, text: str) -> Any:
        """Compile a GBNF grammar. One that is wrong would end the process when it is used, so it is tried before.

        RAISES: ConfigError (D738).
        """
        vocabulary = self._library.llama_model_get_vocab(self._llama.model)
        sampler = self._library.llama_sampler_init_grammar(vocabulary, text.encode("utf-8"), b"root")
        if not sampler:
            wanted = "a grammar in GBNF that has a 'root'"
            raise ConfigError(Errors.D738.format(setting="grammar", wanted=wanted))
        self._library.llama_sampler_free(sampler)
        return self._library.LlamaGrammar.from_string(text, verbose=False)

    def _hold_to(self, schema: Mapping[str, Any]) -> Any:
        """The grammar of a schema, made anew only if it is another than before."""
        if self._given is not None:
            return self._given
        text = json.dumps(schema)
        if self._made is None or self._made[0] != text:
            self._made = text, self._library.LlamaGrammar.from_json_schema(text, verbose=False)
        return self._made[1]

    @property
    def name(self) -> str:
        """The file's name and fingerprint."""
        return self._name

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any], *, max_tokens: int = 2048, seed: int = 0
    ) -> str:
        """Ask once; see `backends.Backend.complete`.

        RAISES: BackendError (D732) if there is no answer, as when the prompt is longer than the context.
        """
        with self._lock:
            try:
                answer = self._llama.create_chat_completion(
                    messages=[dict(message) for message in (messages if self._has_system else _merge(messages))],
                    grammar=self._hold_to(schema),
                    temperature=self.temperature,
                    seed=seed,
                    max_tokens=max_tokens,
                )
                choice = answer["choices"][0]
            except Exception as error:  # a message of the library could quote the prompt
                too_long = "exceed context window" in str(error)
                reason = "the prompt is longer than 'context'" if too_long else "llama.cpp failed"
                raise self._error(f"{reason} ({type(error).__name__})", too_long=too_long) from None
        if choice["finish_reason"] == "length":
            raise self._error("its answer was cut off", too_long=True)
        return str(choice["message"]["content"] or "")

    def _error(self, reason: str, *, too_long: bool = False) -> BackendError:
        """An error that names the file alone."""
        return BackendError(Errors.D732.format(name=self._name, reason=reason), too_long=too_long)


def _merge(messages: Sequence[Message]) -> Sequence[Message]:
    """A conversation in which the user says first what the system would."""
    if len(messages) < 2 or messages[0]["role"] != "system":
        return messages
    first, second, *rest = messages
    return [{**second, "content": f"{first['content']}\n\n{second['content']}"}, *rest]


def fingerprint(path: str | Path) -> str:
    """Tell a model by its size and samples from all over the file: a whole one of 40 GB takes minutes to read.

    path (str | Path): the file.
    RETURNS (str): twelve hexadecimal digits.
    """
    size = os.path.getsize(path)
    found = hashlib.sha256(str(size).encode())
    with open(path, "rb") as file:
        for i in range(_SAMPLES):
            file.seek(max(0, size - _SAMPLE) * i // (_SAMPLES - 1))
            found.update(file.read(_SAMPLE))
    return found.hexdigest()[:12]
