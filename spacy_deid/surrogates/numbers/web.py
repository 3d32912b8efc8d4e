"""Web addresses that belong to nobody: example.org, example.com, example.net and .test (RFC 2606, RFC 6761).

The scheme, "www.", the port, and the shape of the path stay: as many steps, the same marks between words, the endings
of files, digits for digits. All words in it are replaced. Two addresses of one host have one surrogate host.
"""

import re
from collections.abc import Iterator

from ..domains import WORDS
from ..keys import Draw
from .chance import Chance
from .kind import DIGITS

__all__ = ["WebAddress", "read_web_address"]

_SHAPE = re.compile(
    r"(?P<scheme>\s*(?:[a-z][a-z0-9+.-]*://)?)(?:[^\s/@]*@)?(?P<www>(?:www\d?\.)?)"
    r"(?P<host>[^\s/:?#]+)(?P<port>(?::\d+)?)(?P<rest>(?:[/?#].*)?)",
    re.IGNORECASE | re.DOTALL,
)
_PIECE = re.compile(r"%[0-9A-Fa-f]{2}|\d+|[^\W\d_]+")
_FILES = frozenset("html htm php asp aspx jsp pdf jpg jpeg png gif svg xml json txt doc docx xls xlsx csv zip".split())
_HOSTS = ("example.org", "example.com", "example.net", "test")
_TRIES = 200


def read_web_address(text: str) -> "WebAddress | None":
    """Read a web address.

    text (str): the mention.
    RETURNS (Optional[WebAddress]): None if it is none.
    """
    match = _SHAPE.fullmatch(text)
    return WebAddress(match) if match and "." in match["host"] else None


class WebAddress:
    """A web address that was read.

    match (re.Match[str]): its parts.
    """

    def __init__(self, match: re.Match[str]) -> None:
        self._match = match
        self.identity = (match["host"] + match["port"] + match["rest"].rstrip("/")).casefold()

    def __repr__(self) -> str:
        return "WebAddress(…)"

    def candidates(self, chance: Chance, variant: int) -> Iterator[str]:
        """Surrogates, best first: host, port and path."""
        host = self._match["host"].casefold()
        for attempt in range(_TRIES):
            context = (str(variant), str(attempt))
            yield _host(chance.draw("host", host, *context)) + self._match["port"] + self._path(chance, context)

    def write(self, value: str) -> str:
        """Write a surrogate in the place of the original."""
        slash = self._match["rest"][len(self._match["rest"].rstrip("/")) :]
        shout = self._match["host"].isupper() and self._match["rest"].upper() == self._match["rest"]
        return self._match["scheme"] + self._match["www"] + (value.upper() if shout else value) + slash

    def _path(self, chance: Chance, context: tuple[str, str]) -> str:
        """A path of the same shape."""
        rest = self._match["rest"].rstrip("/")
        draw = chance.draw("path", rest.casefold(), *context)
        ending = re.search(r"\.([A-Za-z0-9]{2,4})(?=$|[?#])", rest)
        kept = ending.start(1) if ending and ending[1].casefold() in _FILES else -1
        return _PIECE.sub(lambda m: m[0] if m.start() == kept else _other(m[0], draw), rest)


def _host(draw: Draw) -> str:
    """A host that is nobody's."""
    return f"{draw.choice(WORDS)}-{draw.choice(WORDS)}.{draw.choice(_HOSTS)}"


def _other(piece: str, draw: Draw) -> str:
    """A word for a word, digits for digits; nothing for what stands for a sign."""
    if piece[0] == "%":
        return "%20"
    if piece.isdecimal():
        return "".join(draw.choice(DIGITS) for _ in piece)
    if len(piece) == 1:
        return draw.choice("bcdfghjkmnpqrstvwxz")
    word = draw.choice(WORDS)
    return word.upper() if piece.isupper() else word.title() if piece[0].isupper() else word
