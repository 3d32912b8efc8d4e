"""Where a server may be: on this machine, or on a host that was allowed. Checked before anything is sent."""

import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from ..errors import ConfigError, Errors

__all__ = ["Endpoint"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Endpoint:
    """The address of a server. What was checked is what is connected to: a name is not looked up a second time."""

    def __init__(self, url: str, allow: Sequence[str] = ()) -> None:
        """Read an address.

        url (str): "http://HOST:PORT" or "https://…", with or without the path "/v1".
        allow (Sequence[str]): names, addresses or networks that are allowed beside this machine.
        RAISES: ConfigError (D731).
        """
        parts = _split(url)
        self.scheme, self.host = parts.scheme, _in_ascii(str(parts.hostname).rstrip("."))
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        self.path = parts.path.rstrip("/") or "/v1"
        self._names = {_in_ascii(entry.lower().rstrip(".")) for entry in allow}
        self._networks = [network for entry in allow if (network := _network(entry))]

    def resolve(self) -> str:
        """Look the host up and make sure that the note may go there.

        RETURNS (str): the address to connect to, as it stands in a URL.
        RAISES: ConfigError (D731) if any of its addresses is neither of this machine nor allowed.
        """
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError:
            raise ConfigError(Errors.D731.format(host=self.host, reason="there is no such host")) from None
        addresses = [ipaddress.ip_address(str(item[4][0]).partition("%")[0]) for item in found]
        if not all(map(self._allowed, addresses)):
            reason = "it is not this machine. If notes may go there, name it in 'allow'"
            raise ConfigError(Errors.D731.format(host=self.host, reason=reason))
        # a server on this machine mostly listens on the older address alone
        first = min(addresses, key=lambda address: address.version)
        return f"[{first}]" if first.version == 6 else str(first)

    def _allowed(self, address: Address) -> bool:
        """Whether an address of the host may be connected to."""
        named = self.host.lower() in self._names
        return address.is_loopback or named or any(address in network for network in self._networks)


def _split(url: str) -> SplitResult:
    """Take an address apart. What does not belong into one is refused without being quoted: it could be a password."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(Errors.D731.format(host="an address", reason="it cannot be read")) from None
    reason = ""
    if parts.scheme not in ("http", "https") or not host:
        reason = "the address is not http://HOST:PORT"
    elif "@" in parts.netloc:
        reason = "a key does not belong into the address. Name the variable that holds it in 'key_variable'"
    elif parts.query or parts.fragment:
        reason = "the address ends with its path"
    if reason:
        raise ConfigError(Errors.D731.format(host=host or "an address", reason=reason))
    return parts


def _in_ascii(host: str) -> str:
    """A host's name as it is looked up and sent: "münchen.example" is "xn--mnchen-3ya.example".

    RAISES: ConfigError (D731) for a name that no host can have.
    """
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        raise ConfigError(Errors.D731.format(host="an address", reason="no host can have its name")) from None


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """The network that an entry of a list names; None if it is the name of a host."""
    try:
        return ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None
