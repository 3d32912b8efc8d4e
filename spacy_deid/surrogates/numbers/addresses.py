"""Replace network and web addresses by addresses from reserved ranges, which do not exist in any network.

- IPv4: 192.0.2.0/24, 198.51.100.0/24 and 203.0.113.0/24 (RFC 5737). IPv6: 2001:db8::/32 (RFC 3849). MAC addresses:
  00-00-5E-00-53-00 to 00-00-5E-00-53-FF (RFC 9542). Ports and prefix lengths are kept. An IPv6 address keeps the
  number and length of its groups.
- Web addresses: example.org, example.com, example.net and .test (RFC 2606, RFC 6761). The scheme, "www.", the port and
  the structure of the path are kept: its segments, punctuation and file extensions. All words in it are replaced by
  words and digits by digits. Addresses with the same host get the same surrogate host.
- Domains of e-mail addresses: the endings of RFC 2606 and RFC 6761 (example, test, example.com, example.net,
  example.org), RFC 6762 (local), RFC 9476 (alt), IANA (example.edu), and the ICANN board's resolution of 2024-07-29
  (internal).
"""

import ipaddress
import re
from collections.abc import Iterator

from ...lang.text import DIGITS
from ..keys import Draw, FormatPreservingCipher

_V4 = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d{1,3}){3})(?!\.?\d)")
_V6 = re.compile(r"(?<![\w:])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")
_MAC = re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])")
_MAC_DOTS = re.compile(r"(?<![\w.])[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}(?![\w.])")
_V4_BLOCKS = ("192.0.2.", "198.51.100.", "203.0.113.")
_MAC_BLOCK = "00005E0053"
_HEX = "0123456789abcdef"
_TRIES = 2000  # for some 750 addresses, so that nearly all of them are drawn
_URL = re.compile(
    r"(?P<scheme>\s*(?:[a-z][a-z0-9+.-]*://)?)(?:[^\s/@]*@)?(?P<www>(?:www\d?\.)?)"
    r"(?P<host>[^\s/:?#]+)(?P<port>(?::\d+)?)(?P<rest>(?:[/?#].*)?)",
    re.IGNORECASE | re.DOTALL,
)
_PIECE = re.compile(r"%[0-9A-Fa-f]{2}|\d+|[^\W\d_]+")
_FILES = frozenset("html htm php asp aspx jsp pdf jpg jpeg png gif svg xml json txt doc docx xls xlsx csv zip".split())
_HOSTS = ("example.org", "example.com", "example.net", "test")
_WEB_TRIES = 200
_ENDS = ("example.com", "example.org", "example.net", "example.edu", "example", "test", "internal", "local", "alt")
_MOST_LABELS = 4
# Common nouns for the labels of a domain.
_WORDS = (
    "acorn amber anchor apple arch aspen autumn basin beacon birch bluff bramble breeze bridge brook canyon cedar "
    "cloud clover coast comet copper coral cove crane creek crest dawn delta drift dune eagle echo elm ember fern "
    "field finch fjord flint forest garden glade grove harbor hazel heron hill horizon island ivory jasmine juniper "
    "lake lantern larch laurel linden lotus maple marble meadow mesa mill mist moss north oak ocean olive orchard "
    "otter pearl pebble pine plain planet pond prairie quartz rain raven reed ridge river robin sage shore sky slate "
    "spring spruce star stone stream summit sunset thistle tide timber trail valley violet wave willow winter wren"
).split()


def draw_domain(draw: Draw, labels: int) -> str:
    """Draw a domain that cannot exist on the internet, for the surrogate of an e-mail address.

    draw (Draw): the stream of random numbers.
    labels (int): number of parts between dots in the original, such as 3 for "mail.hospital.es". The new domain
        has as many parts, but at least two and at most four.
    RETURNS (str): the domain, in lower case.
    """
    labels = min(max(labels, 2), _MOST_LABELS)
    end = draw.choice(_ENDS)
    return ".".join([*draw.shuffled(_WORDS)[: labels - end.count(".") - 1], end])


def read_address(text: str) -> "Address | None":
    """Find an IP or MAC address in a mention.

    text (str): the mention. Text around the address, such as a port or a prefix length, is kept by `Address.write`.
    RETURNS (Optional[Address]): the first address found; None if there is none.
    """
    for kind, pattern in (("mac", _MAC), ("mac", _MAC_DOTS), ("v4", _V4), ("v6", _V6)):
        if match := pattern.search(text):
            try:
                return Address(text, match.span(), kind)
            except ValueError:  # a part of an IP address is not in range
                continue
    return None


def _bare(text: str) -> str:
    """Remove leading zeros from the parts of an IPv4 address, because `ipaddress` does not accept them."""
    return re.sub(r"(?<![\dA-Fa-f:.])0+(?=\d)|(?<=\.)0+(?=\d)", "", text) if "." in text else text


class Address:
    """An IP or MAC address in a mention, which can be replaced by one from a reserved range; see `ParsedNumber`.

    text (str): the mention.
    span (tuple[int, int]): position of the address in it.
    kind (str): "v4", "v6" or "mac".
    RAISES: ValueError if a part of an IP address is not in range.
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

    def candidates(self, cipher: FormatPreservingCipher, variant: int) -> Iterator[str]:
        """Yield random surrogates: IPv4 or MAC addresses; for IPv6, the digits from which `write` makes one."""
        for attempt in range(_TRIES):
            draw = cipher.draw(self._kind, self.identity, str(variant), str(attempt))
            if self._kind == "v4":
                yield f"{draw.choice(_V4_BLOCKS)}{1 + draw.below(254)}"
            elif self._kind == "mac":
                yield f"{_MAC_BLOCK}{draw.below(256):02X}"
            else:
                yield "".join([draw.choice(_HEX[1:]), *(draw.choice(_HEX) for _ in range(23))])

    def write(self, value: str) -> str:
        """Return the mention with the address replaced by a surrogate, in the format of the original."""
        start, end = self._span
        old = self._text[start:end]
        if self._kind == "mac":
            signs = iter(value)
            new = "".join(next(signs) if char.isalnum() else char for char in old)
        else:
            new = value if self._kind == "v4" else _write_v6(old, value)
        return self._text[:start] + (new.lower() if old == old.lower() else new.upper()) + self._text[end:]


def _write_v6(old: str, digits: str) -> str:
    """Write an IPv6 address of the documentation range with the groups and the "::" of another address."""
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


# --- web addresses ---


def read_web_address(text: str) -> "WebAddress | None":
    """Parse a web address into scheme, host, port and path.

    text (str): the mention.
    RETURNS (Optional[WebAddress]): the address; None if the text is not a web address.
    """
    match = _URL.fullmatch(text)
    return WebAddress(match) if match and "." in match["host"] else None


class WebAddress:
    """A web address, with methods to replace its host and path; see `ParsedNumber`.

    match (re.Match[str]): its parts.
    """

    def __init__(self, match: re.Match[str]) -> None:
        self._match = match
        self.identity = (match["host"] + match["port"] + match["rest"].rstrip("/")).casefold()

    def __repr__(self) -> str:
        return "WebAddress(…)"

    def candidates(self, cipher: FormatPreservingCipher, variant: int) -> Iterator[str]:
        """Yield random surrogates: host, port and path, without the scheme and "www." of the original."""
        host, rest = self._match["host"].casefold(), self._match["rest"].rstrip("/")
        ending = re.search(r"\.([A-Za-z0-9]{2,4})(?=$|[?#])", rest)
        kept = ending.start(1) if ending and ending[1].casefold() in _FILES else -1
        for attempt in range(_WEB_TRIES):
            context = (str(variant), str(attempt))
            for_host, for_path = cipher.draw("host", host, *context), cipher.draw("path", rest.casefold(), *context)
            new_host = f"{for_host.choice(_WORDS)}-{for_host.choice(_WORDS)}.{for_host.choice(_HOSTS)}"
            pieces, last = [], 0
            for piece in _PIECE.finditer(rest):
                new = piece[0] if piece.start() == kept else _redraw_piece(piece[0], for_path)
                pieces += [rest[last : piece.start()], new]
                last = piece.end()
            yield new_host + self._match["port"] + "".join([*pieces, rest[last:]])

    def write(self, value: str) -> str:
        """Return the mention with a surrogate and with the scheme, "www." and final slash of the original."""
        slash = self._match["rest"][len(self._match["rest"].rstrip("/")) :]
        shout = self._match["host"].isupper() and self._match["rest"].upper() == self._match["rest"]
        return self._match["scheme"] + self._match["www"] + (value.upper() if shout else value) + slash


def _redraw_piece(piece: str, draw: Draw) -> str:
    """Replace a piece of a path: a word by a random word, digits by digits, a percent-encoded character by "%20"."""
    if piece[0] == "%":
        return "%20"
    if piece.isdecimal():
        return "".join(draw.choice(DIGITS) for _ in piece)
    if len(piece) == 1:
        return draw.choice("bcdfghjkmnpqrstvwxz")
    word = draw.choice(_WORDS)
    return word.upper() if piece.isupper() else word.title() if piece[0].isupper() else word
