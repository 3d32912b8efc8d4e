"""A server that speaks OpenAI's protocol: llama-server, llama-cpp-python, vLLM, Ollama."""

import json
import os
import ssl
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ConfigError, Errors
from .backends import BackendError, Message
from .deadline import Deadline
from .endpoint import Endpoint

__all__ = ["FORMATS", "Server"]

FORMATS = ("json_schema", "json_object")
_LONGEST = 4_000_000  # bytes of an answer: a server that talks nonsense must not fill the memory
_REFUSED = (400, 404, 415, 422, 500, 501)  # what servers say of a format that they do not know


class Server:
    """Asks a server. Uses no proxy, follows no redirect, and knows no host but the one that was checked."""

    def __init__(
        self,
        location: str,
        *,
        allow: Sequence[str] = (),
        model: str | None = None,
        timeout: float = 300.0,
        response_format: str = "auto",
        temperature: float = 0.0,
        grammar: str | None = None,
        key_variable: str | None = None,
        ca_file: str | None = None,
    ) -> None:
        """Set up; see `backends.open_backend`.

        RAISES: ConfigError for an address that is wrong or not allowed (D731), an unknown format (D738), a key that
            is not there (D731), certificates that cannot be read (D738), or without the package httpx (D737).
        """
        try:
            import httpx
        except ImportError:
            raise ConfigError(Errors.D737.format(package="httpx", extra="llm")) from None
        if response_format not in ("auto", *FORMATS):
            wanted = f"one of auto, {', '.join(FORMATS)}"
            raise ConfigError(Errors.D738.format(setting="response_format", wanted=wanted))
        self.endpoint = Endpoint(location, allow)
        self.endpoint.resolve()
        self.slots, self.temperature, self.timeout = 0, temperature, timeout
        self._grammar, self._model, self._errors = grammar, model, (httpx.HTTPError, httpx.StreamError, OSError)
        self._formats = FORMATS if response_format == "auto" else (response_format,)
        self._headers = {"Host": _host(self.endpoint), **_key(key_variable, self.endpoint.host)}
        # trust_env: a proxy of the environment would be another host that reads the note
        rest: dict[str, Any] = {"verify": _trust(ca_file)} if ca_file else {}
        # a connection for each request, so that a deadline ends no other
        rest["limits"] = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(trust_env=False, follow_redirects=False, timeout=httpx.Timeout(timeout), **rest)
        weakref.finalize(self, self._client.close)

    @property
    def model(self) -> str:
        """The model's name on the server, asked for if it was not given.

        RAISES: ConfigError (D731) if the server has several; BackendError (D732) if it does not say.
        """
        if self._model is None:
            status, answer = self._send("GET", "/models", None)
            self._model = self._only_model(answer if status == 200 else None)
        return self._model

    def _only_model(self, answer: Any) -> str:
        """The one model of a list."""
        try:
            names = [str(item["id"]) for item in answer["data"]]
        except (KeyError, TypeError):
            raise self._error("it does not say which model it has. Give the model's name") from None
        if len(names) != 1:
            reason = f"it has {len(names)} models. Give the name of one"
            raise ConfigError(Errors.D731.format(host=self.endpoint.host, reason=reason))
        return names[0]

    @property
    def name(self) -> str:
        """The model and the host, for the trace."""
        return f"{self.model.replace(os.sep, '/').rpartition('/')[2]}@{self.endpoint.host}"

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any], *, max_tokens: int = 2048, seed: int = 0
    ) -> str:
        """Ask once; see `backends.Backend.complete`.

        RAISES: BackendError (D732) if there is no usable answer; ConfigError (D731) if the host is no longer allowed.
        """
        body = {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            "temperature": self.temperature,
            "seed": seed,
            "max_tokens": max_tokens,
        }
        return self._content(*self._ask(body, schema))

    def _ask(self, body: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[int, Any]:
        """Ask in one format after the other until the server takes one, and stay with that."""
        if self._grammar:
            return self._send("POST", "/chat/completions", {**body, "grammar": self._grammar})
        status, answer = 0, None
        for name in self._formats:
            status, answer = self._send("POST", "/chat/completions", {**body, **_format(name, schema)})
            if status == 200:
                self._formats = (name,)
            if status not in _REFUSED:
                break
        return status, answer

    def _content(self, status: int, answer: Any) -> str:
        """What the model said."""
        if 300 <= status < 400:
            raise self._error(f"it answers with status {status}, which points elsewhere; that is not followed")
        if status != 200:
            # in the words of llama-server, llama-cpp-python and vLLM alike
            too_long = status == 400 and "context" in json.dumps(answer)
            raise self._error(f"it answers with status {status}", too_long=too_long)
        try:
            choice = answer["choices"][0]
            content, reason = choice["message"]["content"], choice.get("finish_reason")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise self._error("its answer is not of OpenAI's form") from None
        if reason == "length":
            raise self._error("its answer was cut off", too_long=True)
        if not isinstance(content, str):
            raise self._error("its answer holds no text")
        return content

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, Any]:
        """Send a request to the address that was just checked. Gives the status, and the body if it is JSON."""
        place = f"{self.endpoint.scheme}://{self.endpoint.resolve()}:{self.endpoint.port}{self.endpoint.path}{path}"
        data, deadline = bytearray(), Deadline(self.timeout)
        extensions: dict[str, Any] = {"trace": deadline.watch}
        if self.endpoint.scheme == "https":
            extensions["sni_hostname"] = self.endpoint.host
        rest: dict[str, Any] = {"headers": self._headers, "json": body, "extensions": extensions}
        try:
            with deadline, self._client.stream(method, place, **rest) as response:
                for piece in response.iter_bytes():
                    data += piece
                    if len(data) > _LONGEST:
                        raise self._error(f"its answer is longer than {_LONGEST} bytes")
                status = response.status_code
        except self._errors as error:
            raise self._error(_reason(error, self.timeout, deadline.over)) from None
        try:
            return status, json.loads(data, strict=False)
        except (ValueError, RecursionError):
            return status, None

    def _error(self, reason: str, *, too_long: bool = False) -> BackendError:
        """An error that names the host alone."""
        return BackendError(Errors.D732.format(name=self.endpoint.host, reason=reason), too_long=too_long)


def _reason(error: Exception, timeout: float, over: bool) -> str:
    """What went wrong on the way, without the message of the library."""
    kind = type(error).__name__
    if over or "Timeout" in kind:
        return f"no answer within {timeout:g} seconds"
    if isinstance(_origin(error), ssl.SSLError):
        return "its certificate is not for this host, of no authority that is known ('ca_file'), or it speaks no TLS"
    return "nothing answers there" if kind == "ConnectError" else f"the connection broke ({kind})"


def _origin(error: BaseException) -> BaseException:
    """The error that others were made of."""
    while before := error.__cause__ or error.__context__:
        error = before
    return error


def _format(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a request that holds the answer to a schema."""
    if name == "json_schema":
        wanted = {"name": "answer", "strict": True, "schema": dict(schema)}
        return {"response_format": {"type": name, "json_schema": wanted}}
    return {"response_format": {"type": name, "schema": dict(schema)}}


def _host(endpoint: Endpoint) -> str:
    """The header "Host": the connection itself goes to a number."""
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{host}:{endpoint.port}"


def _trust(path: str) -> ssl.SSLContext:
    """The certificates of a file."""
    try:
        return ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError):
        wanted = "a file of certificates in PEM"
        raise ConfigError(Errors.D738.format(setting="ca_file", wanted=wanted)) from None


def _key(variable: str | None, host: str) -> dict[str, str]:
    """The header with the server's key, without the line end that a file gives it."""
    if variable is None:
        return {}
    key = os.environ.get(variable, "").strip()
    if not (key and key.isascii() and key.isprintable()):
        raise ConfigError(Errors.D731.format(host=host, reason=f"the environment variable {variable} holds no key"))
    return {"Authorization": f"Bearer {key}"}
