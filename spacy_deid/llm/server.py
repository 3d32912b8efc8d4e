"""Use a language model on a server that implements OpenAI's protocol: llama-server, llama-cpp-python, vLLM or Ollama.

`Endpoint` checks that notes are sent only to this machine or an allowed host, `Deadline` limits the duration of a
request, and `Server` sends prompts to the model.
"""

import ipaddress
import json
import os
import socket
import ssl
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Timer
from types import TracebackType
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ..errors import ConfigError, Errors
from .backends import BackendError, Message

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Endpoint:
    """The address of a server, which is only used if it is on this machine or explicitly allowed.

    Connections use the IP address that was checked; the name is not resolved again.
    """

    def __init__(self, url: str, allow: Sequence[str] = (), *, loopback: bool = True) -> None:
        """Parse an address.

        url (str): "http://HOST:PORT" or "https://…", with or without the path "/v1".
        allow (Sequence[str]): host names, addresses or networks that are allowed besides this machine.
        loopback (bool): whether this machine is allowed.
        RAISES: ConfigError (D731) if the address is invalid.
        """
        parts, self._loopback = _split(url), loopback
        self.scheme, self.host = parts.scheme, _in_ascii(str(parts.hostname).rstrip("."))
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        self.path = parts.path.rstrip("/") or "/v1"
        self._names = {_in_ascii(entry.lower().rstrip(".")) for entry in allow}
        self._networks = [network for entry in allow if (network := _network(entry))]

    def resolve(self) -> str:
        """Look up the IP address of the host, and check that notes are allowed to be sent there.

        RETURNS (str): the IP address to connect to, as written in a URL.
        RAISES: ConfigError (D731) if any of its addresses is neither on this machine nor allowed.
        """
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError:
            raise ConfigError(Errors.D731.format(host=self.host, reason="host not found")) from None
        addresses = [ipaddress.ip_address(str(item[4][0]).partition("%")[0]) for item in found]
        if not all(map(self._allowed, addresses)):
            reason = "the host is not this machine. To send notes there, add it to 'allow'"
            raise ConfigError(Errors.D731.format(host=self.host, reason=reason))
        # servers on this machine usually listen on the IPv4 address only
        first = min(addresses, key=lambda address: address.version)
        return f"[{first}]" if first.version == 6 else str(first)

    def _allowed(self, address: Address) -> bool:
        """Return whether connections to an address of the host are allowed."""
        named = self.host.lower() in self._names
        return (
            (self._loopback and address.is_loopback) or named or any(address in network for network in self._networks)
        )


def _split(url: str) -> SplitResult:
    """Split an address into its parts. Errors do not quote it, because it may contain a password."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(Errors.D731.format(host="address", reason="not a valid URL")) from None
    reason = ""
    if parts.scheme not in ("http", "https") or not host:
        reason = "the address must have the form http://HOST:PORT"
    elif "@" in parts.netloc:
        reason = "the address must not contain a key. Set 'key_variable' to the environment variable with the key"
    elif parts.query or parts.fragment:
        reason = "the address must not have a query or fragment"
    if reason:
        raise ConfigError(Errors.D731.format(host=host or "address", reason=reason))
    return parts


def _in_ascii(host: str) -> str:
    """Return the ASCII form of a host name: "münchen.example" is "xn--mnchen-3ya.example"."""
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise ConfigError(Errors.D731.format(host="address", reason="invalid host name")) from None


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return the network of an entry of the allow list; None if the entry is a host name."""
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None


_OPENED = frozenset(("connection.connect_tcp.complete", "connection.start_tls.complete"))


class Deadline:
    """A total time limit for a request: closes its connections when the time is over.

    The timeouts of HTTP libraries restart with every byte, so a server that sends a byte now and then would never time
    out.

    over (bool): whether the time is over.
    """

    def __init__(self, seconds: float) -> None:
        """Initialize the deadline. The time starts with the ``with`` block.

        seconds (float): the time limit.
        """
        self.over = False
        self._sockets: list[socket.socket] = []
        self._timer = Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> "Deadline":
        """Start the timer."""
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Cancel the timer. Open connections stay open."""
        self._timer.cancel()

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Register an opened connection; passed to httpx as the request extension "trace".

        event (str): event of the library.
        info (Mapping): event data; "return_value" is the connection.
        """
        if event in _OPENED:
            self._sockets.append(info["return_value"].get_extra_info("socket"))
            if self.over:
                self._end()

    def _end(self) -> None:
        """Shut down the registered connections, so that reading from them ends."""
        self.over = True
        for opened in list(self._sockets):
            with suppress(OSError):  # it was closed, or TLS has taken it over
                opened.shutdown(socket.SHUT_RDWR)


FORMATS = ("json_schema", "json_object")
_LONGEST = 4_000_000  # bytes of an answer: a faulty server must not fill the memory
_REFUSED = (400, 404, 415, 422, 500, 501)  # status codes of servers that do not support a response format


class Server:
    """A language model on a server with OpenAI's protocol; implements `backends.Backend`.

    It uses no proxy, follows no redirects, and contacts only the host that `Endpoint` has checked.
    """

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
        """Set up the connection; see `backends.open_backend`.

        RAISES: ConfigError if the address is invalid or not allowed (D731), the response format is unknown (D738), the
            API key is missing (D731), the certificates cannot be read (D738), or the package httpx is missing (D737).
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
        host = f"[{self.endpoint.host}]" if ":" in self.endpoint.host else self.endpoint.host
        self._headers = {"Host": f"{host}:{self.endpoint.port}", **_key(key_variable, self.endpoint.host)}
        # trust_env: a proxy of the environment would be another host that reads the note
        rest: dict[str, Any] = {"verify": _trust(ca_file)} if ca_file else {}
        # a connection for each request, so that a deadline ends no other
        rest["limits"] = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(trust_env=False, follow_redirects=False, timeout=httpx.Timeout(timeout), **rest)
        weakref.finalize(self, self._client.close)

    @property
    def model(self) -> str:
        """str: Name of the model on the server, requested from the server if it was not given.

        RAISES: ConfigError (D731) if the server has several models; BackendError (D732) if it does not list them.
        """
        if self._model is None:
            status, answer = self._send("GET", "/models", None)
            data: Any = answer if status == 200 else {}
            try:
                names = [str(item["id"]) for item in data["data"]]
            except (KeyError, TypeError):
                raise self._error("it does not list its models. Set 'model'") from None
            if len(names) != 1:
                reason = f"it has {len(names)} models. Set 'model' to one of them"
                raise ConfigError(Errors.D731.format(host=self.endpoint.host, reason=reason))
            self._model = names[0]
        return self._model

    @property
    def name(self) -> str:
        """str: Model and host, to be recorded with detections."""
        return f"{self.model.replace(os.sep, '/').rpartition('/')[2]}@{self.endpoint.host}"

    def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any], *, max_tokens: int = 2048, seed: int = 0
    ) -> str:
        """Return the answer of the model to a conversation; see `backends.Backend.complete`.

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
        """Send the question with each response format until the server accepts one, and keep using that one."""
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
        """Return the text of the model's answer."""
        if 300 <= status < 400:
            raise self._error(f"it redirects to another address (status {status}), which is not followed")
        if status != 200:
            # in the words of llama-server, llama-cpp-python and vLLM alike
            too_long = status == 400 and "context" in json.dumps(answer)
            raise self._error(f"HTTP status {status}", too_long=too_long)
        try:
            choice = answer["choices"][0]
            content, reason = choice["message"]["content"], choice.get("finish_reason")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise self._error("the response does not follow OpenAI's protocol") from None
        if reason == "length":
            raise self._error("the answer was cut off", too_long=True)
        if not isinstance(content, str):
            raise self._error("the response contains no text")
        return content

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[int, Any]:
        """Send a request to the address that was just checked. Returns the status, and the body if it is JSON."""
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
                        raise self._error(f"the response is longer than {_LONGEST} bytes")
                status = response.status_code
        except self._errors as error:
            raise self._error(_reason(error, self.timeout, deadline.over)) from None
        try:
            return status, json.loads(data, strict=False)
        except (ValueError, RecursionError):
            return status, None

    def _error(self, reason: str, *, too_long: bool = False) -> BackendError:
        """Make an error that names only the host."""
        return BackendError(Errors.D732.format(name=self.endpoint.host, reason=reason), too_long=too_long)


def _reason(error: Exception, timeout: float, over: bool) -> str:
    """Describe a failed request without the message of the library."""
    kind = type(error).__name__
    if over or "Timeout" in kind:
        return f"no answer within {timeout:g} seconds"
    origin: BaseException = error
    while before := origin.__cause__ or origin.__context__:
        origin = before
    if isinstance(origin, ssl.SSLError):
        return "TLS failed: the certificate is for another host or from an unknown authority (see 'ca_file')"
    return "cannot connect" if kind == "ConnectError" else f"the connection was interrupted ({kind})"


def _format(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a request that asks for an answer with a schema."""
    if name == "json_schema":
        wanted = {"name": "answer", "strict": True, "schema": dict(schema)}
        return {"response_format": {"type": name, "json_schema": wanted}}
    return {"response_format": {"type": name, "schema": dict(schema)}}


def _trust(path: str) -> ssl.SSLContext:
    """Load the certificates of a file."""
    try:
        return ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError):
        wanted = "a PEM file with certificates"
        raise ConfigError(Errors.D738.format(setting="ca_file", wanted=wanted)) from None


def _key(variable: str | None, host: str) -> dict[str, str]:
    """Return the header with the API key, without a trailing line break."""
    if variable is None:
        return {}
    key = os.environ.get(variable, "").strip()
    if not (key and key.isascii() and key.isprintable()):
        raise ConfigError(Errors.D731.format(host=host, reason=f"the environment variable {variable} contains no key"))
    return {"Authorization": f"Bearer {key}"}
