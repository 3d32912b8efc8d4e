"""Identifiers from a local large language model.

Nothing remote is ever the default: a model is a file, or a server on this machine or on a host that is explicitly
allowed. Error messages name the host or the file, never a question or an answer.
"""

from collections.abc import Sequence
from pathlib import Path

from ..errors import ConfigError, Errors
from .backends import Backend, InProcess
from .server import Server


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
    """Open a language model. A file is loaded; a server gets no request yet.

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
