"""Open large language models, as a file in this process (llama.cpp) or on a server, behind one interface, `Backend`.

No remote server is contacted by default: a model is a file, or a server on this machine or on a host that is
explicitly allowed. Error messages name the host or the file, and never quote a prompt or an answer.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from ..errors import ConfigError, DeidError, Errors

Message = Mapping[str, str]  # "role" ("system", "user" or "assistant") and "content", as in OpenAI's protocol


class BackendError(DeidError):
    """Raised if a language model returns no usable answer. A repetition, or a shorter prompt, can help."""

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        """Initialize the error.

        message (str): what went wrong, without quoting the prompt or the answer.
        too_long (bool): whether prompt and answer exceeded the context, or the answer was cut off.
        """
        super().__init__(message)
        self.too_long = too_long


class Backend(Protocol):
    """The interface of a language model. Several threads can call it at once."""

    @property
    def name(self) -> str:
        """str: Name of the model with its fingerprint or host, to be recorded with detections."""

    @property
    def slots(self) -> int:
        """int: Number of prompts that the model can answer simultaneously; 0 if unknown."""

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any], *, max_tokens: int = 2048, seed: int = 0
    ) -> str:
        """Send a conversation to the model and return its answer, without repetitions.

        messages (Sequence[Message]): the conversation, which ends with the prompt to answer.
        schema (Mapping): JSON schema of the answer; whether it is enforced depends on the server.
        max_tokens (int): maximum length of the answer, in tokens.
        seed (int): random seed of the sampling; without effect at temperature 0.
        RETURNS (str): the raw answer, normally JSON. Parse it with ``strict=False`` and check its form.
        RAISES: BackendError if there is no usable answer.
        """


_SAMPLES, _SAMPLE = 64, 65536
_SYSTEM: Sequence[Message] = ({"role": "system", "content": "a"}, {"role": "user", "content": "b"})


class InProcess:
    """A language model in a GGUF file, which runs in this process with llama.cpp and answers one prompt at a time."""

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
        """Load a model; the arguments are those of `open_backend`.

        RAISES: ConfigError if the model cannot be loaded (D733), the grammar is invalid (D738), or llama-cpp-python is
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
        """Return whether the chat template of the model accepts a conversation. Those of Gemma and Mistral reject the
        role "system".
        """
        template = self._llama.metadata.get("tokenizer.chat_template")
        try:
            formatter = self._library.llama_chat_format.Jinja2ChatFormatter
            return not template or bool(formatter(template, eos_token="", bos_token="")(messages=messages))
        except Exception:  # whatever a template raises
            return False

    def _read_grammar(self, text: str) -> Any:
        """Compile a GBNF grammar. An invalid grammar would crash the process on use, so it is tested first."""
        vocabulary = self._library.llama_model_get_vocab(self._llama.model)
        sampler = self._library.llama_sampler_init_grammar(vocabulary, text.encode("utf-8"), b"root")
        if not sampler:
            wanted = "a GBNF grammar with a rule 'root'"
            raise ConfigError(Errors.D738.format(setting="grammar", wanted=wanted))
        self._library.llama_sampler_free(sampler)
        return self._library.LlamaGrammar.from_string(text, verbose=False)

    def _hold_to(self, schema: Mapping[str, Any]) -> Any:
        """Return the grammar of a schema; the last one is cached."""
        if self._given is not None:
            return self._given
        text = json.dumps(schema)
        if self._made is None or self._made[0] != text:
            self._made = text, self._library.LlamaGrammar.from_json_schema(text, verbose=False)
        return self._made[1]

    @property
    def name(self) -> str:
        """str: File name and fingerprint of the model."""
        return self._name

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any], *, max_tokens: int = 2048, seed: int = 0
    ) -> str:
        """Return the answer of the model to a conversation; see `Backend.complete`.

        RAISES: BackendError (D732) if there is no answer, for example because the prompt exceeds the context.
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
            raise self._error("the answer was cut off", too_long=True)
        return str(choice["message"]["content"] or "")

    def _error(self, reason: str, *, too_long: bool = False) -> BackendError:
        """Make an error that names only the file."""
        return BackendError(Errors.D732.format(name=self._name, reason=reason), too_long=too_long)


def _merge(messages: Sequence[Message]) -> Sequence[Message]:
    """Move the text of the system message to the start of the first user message."""
    if len(messages) < 2 or messages[0]["role"] != "system":
        return messages
    first, second, *rest = messages
    return [{**second, "content": f"{first['content']}\n\n{second['content']}"}, *rest]


def fingerprint(path: str | Path) -> str:
    """Compute a hash that identifies a model file, from its size and samples: reading all of 40 GB would take minutes.

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


def open_backend(
    location: str,
    *,
    allow: Sequence[str] = (),
    model: str | None = None,
    timeout: float = 300.0,
    response_format: str = "auto",
    temperature: float = 0.0,
    grammar: str | None = None,
    context: int = 8192,
    threads: int | None = None,
    gpu_layers: int = 0,
    key_variable: str | None = None,
    ca_file: str | None = None,
) -> Backend:
    """Open a language model. A file is loaded into memory; no request is sent to a server yet.

    location (str): path of a GGUF file, or address of a server ("http://127.0.0.1:8080").
    allow (Sequence[str]): hosts other than this machine that may be contacted: names, addresses or networks
        ("llm.hospital.example", "10.1.0.0/16").
    model (Optional[str]): name of the model on the server; None if the server has only one.
    timeout (float): time limit of a request to a server, in seconds.
    response_format (str): how the schema is sent to a server: "json_schema" (OpenAI, vLLM, Ollama, llama-server),
        "json_object" (llama-server, llama-cpp-python), or "auto" for the first one that the server accepts.
    temperature (float): sampling temperature; 0 always takes the most probable token.
    grammar (Optional[str]): GBNF grammar that constrains the answer instead of the schema; llama.cpp only.
    context (int): maximum number of tokens of prompt and answer together, in process.
    threads (Optional[int]): number of threads, in process; None for one per core.
    gpu_layers (int): number of layers on a GPU, in process; -1 for all.
    key_variable (Optional[str]): environment variable that contains the API key of the server.
    ca_file (Optional[str]): certificates of accepted authorities (PEM); None for those of certifi.
    RETURNS (Backend): the model.
    RAISES: ConfigError if the address is invalid, or remote and not allowed (D731), a file cannot be loaded (D733), or
        a package is missing (D737).
    """
    if "://" in location:
        from .server import Server

        return Server(
            location,
            allow=allow,
            model=model,
            timeout=timeout,
            response_format=response_format,
            temperature=temperature,
            grammar=grammar,
            key_variable=key_variable,
            ca_file=ca_file,
        )
    if not Path(location).is_file():
        raise ConfigError(Errors.D733.format(path=location, reason="no such file"))
    return InProcess(
        location, temperature=temperature, grammar=grammar, context=context, threads=threads, gpu_layers=gpu_layers
    )
