"""Language models that answer in JSON: llama.cpp in this process, or a server that speaks OpenAI's protocol.

Nothing remote is ever the default: what is no file must be given, and lie on this machine or on a list of hosts that
are allowed. An error names the host or the file, never what was asked or answered.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..errors import ConfigError, DeidError, Errors

__all__ = ["Backend", "BackendError", "Message", "open_backend", "shape_name"]

Message = Mapping[str, str]  # "role" ("system", "user" or "assistant") and "content", as in OpenAI's protocol


class BackendError(DeidError):
    """A language model gave no usable answer. Asking again may help, or asking about less."""

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        """Set up.

        message (str): what went wrong, without content.
        too_long (bool): whether question and answer were longer than the model holds, or the answer was cut off.
        """
        super().__init__(message)
        self.too_long = too_long


class Backend(Protocol):
    """What answers. Several threads may ask at once."""

    @property
    def name(self) -> str:
        """The model, for the trace: its name with a fingerprint or a host."""

    @property
    def slots(self) -> int:
        """How many questions are answered at the same time; 0 if that is not known."""

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any], *, max_tokens: int = 2048, seed: int = 0
    ) -> str:
        """Ask once.

        messages (Sequence[Message]): the conversation.
        schema (Mapping): JSON schema that the answer is held to, as far as the model's server does so.
        max_tokens (int): longest answer.
        seed (int): of the sampling, which at temperature 0 has no part in it.
        RETURNS (str): the answer as it came: JSON if all went well; to be parsed with ``strict=False`` and checked.
        RAISES: BackendError if there is no answer.
        """


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
    """Open a language model. A server is asked nothing yet; a file is loaded.

    location (str): path of a GGUF file, or address of a server ("http://127.0.0.1:8080").
    allow (Sequence[str]): hosts other than this machine that the server may be: names, addresses or networks
        ("llm.hospital.example", "10.1.0.0/16").
    model (Optional[str]): name of the model on the server; None if it has but one.
    timeout (float): seconds that a server may take for an answer.
    response_format (str): how a server is told the schema: "json_schema" (OpenAI, vLLM, Ollama, llama-server),
        "json_object" (llama-server, llama-cpp-python), or "auto": the first that it takes.
    temperature (float): of the sampling; 0 always takes the likeliest token.
    grammar (Optional[str]): GBNF that holds the answer in place of the schema; llama.cpp alone knows it.
    context (int): tokens of prompt and answer together, in process.
    threads (Optional[int]): threads in process; None for as many as there are cores.
    gpu_layers (int): layers that go to a GPU, in process; -1 for all.
    key_variable (Optional[str]): environment variable that holds the server's key.
    ca_file (Optional[str]): certificates of those who may vouch for a server, in PEM; None for those of certifi.
    RETURNS (Backend): the model.
    RAISES: ConfigError if the address is wrong, remote and not allowed (D731), a file cannot be loaded (D733), or a
        package is missing (D737).
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
    from .in_process import InProcess

    return InProcess(
        location, temperature=temperature, grammar=grammar, context=context, threads=threads, gpu_layers=gpu_layers
    )


def shape_name(value: object) -> str:
    """The name of a JSON value's type, for messages that must not show the value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
