"""Normalize a note before rules are matched, and map offsets of the normalized text back to the note.

Rules are written for "12-03-2020" and "número"; notes contain non-breaking hyphens, narrow spaces, "nu\\u0301mero",
CRLF and full-width digits. Normalization replaces these by plain spaces, dashes, digits and line breaks, composes
accents, and removes invisible characters.
"""

import re
import unicodedata
from dataclasses import dataclass

_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_LINES = "\x0b\x0c\x85\u2028\u2029"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63"
_QUOTES = "\u2018\u2019\u02bc\u00b4"
_PLAIN = (
    dict.fromkeys(map(ord, _SPACES), " ")
    | dict.fromkeys(map(ord, _LINES), "\n")
    | dict.fromkeys(map(ord, _DASHES), "-")
    | dict.fromkeys(map(ord, _QUOTES), "'")
    | {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
)
# Zero-width characters and soft hyphens hide inside numbers and names that were pasted from the web.
_HIDDEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_MARKS = "\u0300-\u036f"
_ODD = re.compile(f"[\r{_SPACES}{_LINES}{_DASHES}{_QUOTES}\uff01-\uff5e]")
_LONG = re.compile(f"[^\\W\\d_][{_MARKS}]+|[{_HIDDEN}]")
_MAY_BE_LONG = re.compile(f"[{_MARKS}{_HIDDEN}]")


def _base(char: str) -> str:
    """Return a letter without its accent, in lower case: "É" → "e", but "ß" → "ß"."""
    low = char.lower()
    base = unicodedata.normalize("NFD", low)[0]
    return base if base.isalpha() and base.isascii() else low


# Letters that are not folded: "dña" is not "DNA", "älä" is not "ala".
_OWN = "ñäöåø"
_FOLD = {code: _base(chr(code)) for code in range(0xC0, 0x250) if chr(code) not in _OWN}
_FOLD = {code: base for code, base in _FOLD.items() if len(base) == 1}


@dataclass(frozen=True, slots=True)
class NormalizedText:
    """A normalized note.

    text (str): the normalized text, in its original case and with accents.
    folded (str): `text` in lower case and without accents, of the same length.
    origin (Optional[list[int]]): offset in the note of each character of `text` and of its end; None if the offsets
        are the same.
    """

    text: str
    folded: str
    origin: list[int] | None

    def to_note(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of `text` to the note.

        start, end (int): character offsets in `text`, end exclusive.
        RETURNS (tuple[int, int]): character offsets in the note.
        """
        return (start, end) if self.origin is None else (self.origin[start], self.origin[end])

    def __repr__(self) -> str:
        return f"NormalizedText({len(self.text)} characters)"


def fold(text: str) -> str:
    """Convert a text to lower case without accents: "Médico" → "medico".

    text (str): any text.
    RETURNS (str): the folded text, of the same length.
    """
    low = text.lower()
    if len(low) != len(text):  # "İ".lower() has two characters
        low = "".join(char if len(char.lower()) != 1 else char.lower() for char in text)
    return low if low.isascii() else low.translate(_FOLD)


def normalize_text(text: str) -> NormalizedText:
    """Normalize the spaces, dashes, digits, accents and line breaks of a note, so that rules can be matched.

    text (str): the note.
    RETURNS (NormalizedText): the normalized text, whose offsets can be mapped back to the note.
    """
    origin = None
    if _MAY_BE_LONG.search(text):
        text, origin = _compose(text)
    if _ODD.search(text):
        text = text.replace("\r\n", " \n").replace("\r", "\n").translate(_PLAIN)
    return NormalizedText(text, fold(text), origin)


def _compose(text: str) -> tuple[str, list[int]]:
    """Compose accents and remove hidden characters. RETURNS (tuple): the text, and the origin of each character."""
    pieces: list[str] = []
    origin: list[int] = []
    last = 0
    for match in _LONG.finditer(text):
        start, end = match.span()
        hidden = match.group() in _HIDDEN
        composed = "" if hidden else unicodedata.normalize("NFC", match.group())
        pieces += [text[last:start], composed]
        origin += range(last, start)
        if composed:
            # Characters that were not composed keep their offsets: the first one the start, the others up to the end.
            origin += [start, *range(end - len(composed) + 1, end)]
        last = end
    pieces.append(text[last:])
    origin += range(last, len(text) + 1)
    return "".join(pieces), origin
