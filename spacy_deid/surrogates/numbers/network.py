"""Addresses of networks that lead nowhere.

IPv4: 192.0.2.0/24, 198.51.100.0/24 and 203.0.113.0/24 (RFC 5737). IPv6: 2001:db8::/32 (RFC 3849). MAC addresses:
00-00-5E-00-53-00 to 00-00-5E-00-53-FF (RFC 9542). All are set apart for documentation. Ports, the lengths of networks
and leading zeros stay; of an IPv6 address the groups that are written stay groups.
"""

import ipaddress
import re
from collections.abc import Iterator

from .chance import Chance

__all__ = ["Address", "read_address"]

_V4 = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d{1,3}){3})(?!\.?\d)")
_V6 = re.compile(r"(?<![\w:])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")
_MAC = re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])")
_MAC_DOTS = re.compile(r"(?<![\w.])[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}(?![\w.])")
_V4_BLOCKS = ("192.0.2.", "198.51.100.", "203.0.113.")
_MAC_BLOCK = "00005E0053"
_HEX = "0123456789abcdef"
_TRIES = 2000  # of some 750 addresses, so that nearly all of them are found


def read_address(text: str) -> "Address | None":
    """Read an IP or MAC address.

    text (str): the mention; a port or the length of a network behind the address stays.
    RETURNS (Optional[Address]): None if there is none.
    """
    for kind, pattern in (("mac", _MAC), ("mac", _MAC_DOTS), ("v4", _V4), ("v6", _V6)):
        match = pattern.search(text)
        if match and (kind == "mac" or _is_ip(match[0])):
            return Address(text, match.span(), kind)
    return None


def _is_ip(text: str) -> bool:
    """Whether the parts of an address are in range; zeros before them are let be."""
    try:
        ipaddress.ip_address(_bare(text))
    except ValueError:
        return False
    return True


def _bare(text: str) -> str:
    """Without leading zeros, which the library refuses in IPv4."""
    return re.sub(r"(?<![\dA-Fa-f:.])0+(?=\d)|(?<=\.)0+(?=\d)", "", text) if "." in text else text


class Address:
    """An address that was read.

    text (str): the mention.
    span (tuple[int, int]): where the address stands in it.
    kind (str): "v4", "v6" or "mac".
    """

    def __init__(self, text: str, span: tuple[int, int], kind: str) -> None:
        self._text, self._span, self._kind = text, span, kind
        old = text[slice(*span)]
        plain = (
            "".join(c for c in old if c.isalnum()).upper() if kind == "mac" else str(ipaddress.ip_address(_bare(old)))
        )
        self.identity = f"{kind}:{plain}"

    def __repr__(self) -> str:
        return f"Address({self._kind})"

    def candidates(self, chance: Chance, variant: int) -> Iterator[str]:
        """Surrogates, best first. An IPv6 address is given by keyed digits, written as far as there is room."""
        for attempt in range(_TRIES):
            draw = chance.draw(self._kind, self.identity, str(variant), str(attempt))
            if self._kind == "v4":
                yield f"{draw.choice(_V4_BLOCKS)}{1 + draw.below(254)}"
            elif self._kind == "mac":
                yield f"{_MAC_BLOCK}{draw.below(256):02X}"
            else:
                yield "".join([draw.choice(_HEX[1:]), *(draw.choice(_HEX) for _ in range(23))])

    def write(self, value: str) -> str:
        """Write a surrogate in the place of the original."""
        start, end = self._span
        old = self._text[start:end]
        if self._kind == "mac":
            signs = iter(value)
            new = "".join(next(signs) if char.isalnum() else char for char in old)
        else:
            new = value if self._kind == "v4" else _write_v6(old, value)
        return self._text[:start] + (new.lower() if old == old.lower() else new.upper()) + self._text[end:]


def _write_v6(old: str, digits: str) -> str:
    """An address of the documentation prefix with the groups of another one, "::" where that has it."""
    head, gap, tail = old.partition("::")
    groups = [len(group) for group in f"{head}:{tail}".split(":") if group]
    widths = groups[2:] if len(groups) > 2 else [4]
    at, new = 0, []
    for width in widths:
        new.append(digits[at] + digits[at + 1 : at + width])
        at += width
    first = max(len([g for g in head.split(":") if g]) - 2, 0)
    if not gap:
        return ":".join(["2001", "db8", *new])
    return f"2001:db8{''.join(':' + g for g in new[:first])}::{':'.join(new[first:])}"
