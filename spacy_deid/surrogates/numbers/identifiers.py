"""Identifiers of any kind: read, permuted within their kind, written as they were."""

import re
from collections.abc import Iterator
from datetime import date

from .chance import LEAST, Chance, decode, encode
from .finnish import Hetu, MoveBirth
from .kind import Kind, plain_parts, spread
from .layout import Layout
from .national import KINDS

__all__ = ["Identifier", "read_identifier"]

_OID = re.compile(r"\s*[0-2](?:\.\d+){3}(?=\.)")
_CIP = re.compile(r"([A-Z]{4})(\d\d)(\d\d)(\d\d)(\d{4})")
_WOMAN = 40  # added to the day of birth of a woman
_TRIES = 200
_STEPS = 500
_RUN = re.compile(r"[A-Z]{3,}")
_RUDE = re.compile(r"[AEIOUY]|KKK|SSS|FCK|FKK|CNT|NGR|NZS")


def read_identifier(text: str, label: str, lang: str, move: MoveBirth) -> "Identifier | Hetu | None":
    """Read an identifier.

    text (str): the mention.
    label (str): canonical label.
    lang (str): ISO 639-1 code.
    move (Callable[[date], date]): moves dates of birth that stand within identifiers.
    RETURNS: None for words, which are no identifier: letters in their place would be no word.
    """
    if lang == "fi" and (hetu := Hetu.read(text, move)):
        return hetu
    root = _OID.match(text)
    layout = Layout(text, (root.end() if root else 0, len(text)))
    if not any(char.isdecimal() for char in layout.code) or layout.has_words:
        return None
    kinds = [kind for kind in KINDS if kind.fits(layout.code, text, label, lang)] if not root else []
    cip = _cip(layout.code, move) if lang == "es" else None
    return Identifier(layout, cip or next(iter(kinds), Kind("plain", "", plain_parts)))


def _cip(code: str, move: MoveBirth) -> Kind | None:
    """The number of a health card of a Spanish region: letters of the name, date of birth, a serial number."""
    match = _CIP.fullmatch(code)
    if not match:
        return None
    year, month, day = (int(match[i]) for i in (2, 3, 4))
    plus = _WOMAN if day > _WOMAN else 0
    try:
        born = move(date((1900 if year > 30 else 2000) + year, month, day - plus))
    except ValueError:
        return None
    moved = f"{born.year % 100:02}{born.month:02}{born.day + plus:02}"
    return Kind("CIP", "", lambda _: [*spread("@@@@"), [moved], *spread("####")])


class Identifier:
    """An identifier that was read.

    layout (Layout): where its code stands.
    kind (Kind): what it is.
    """

    def __init__(self, layout: Layout, kind: Kind) -> None:
        self._layout, self._kind = layout, kind
        self.identity = layout.code

    def __repr__(self) -> str:
        return f"Identifier({self._kind.name})"

    def write(self, value: str) -> str:
        """Write a code in the place of the original."""
        return self._layout.write(value)

    def candidates(self, chance: Chance, variant: int) -> Iterator[str]:
        """Surrogates, best first.

        chance (Chance): of the patient.
        variant (int): 0, or another number for one drawn apart.
        YIELDS (str): codes.
        """
        shape = "".join("#" if char.isdecimal() else "@" for char in self.identity)
        for attempt in range(_TRIES):
            code = self._propose(chance, self._kind.name, shape, str(variant), str(attempt))
            if code is not None:
                yield code

    def _propose(self, chance: Chance, *context: str) -> str | None:
        """One surrogate; None if none came out that is ever given."""
        parts = self._kind.parts(self.identity)
        if self._kind.drawn:
            draw = chance.draw(*context, self.identity)
            return self._finish("".join(draw.choice(options) for options in parts))
        number, size = encode(self.identity, parts)
        # Cycle walking: what must not come out is permuted again, so that two originals still differ.
        for _ in range(_STEPS if size >= LEAST else 1):
            number = chance.permute(number, size, *context)
            if (code := self._finish(decode(number, parts))) is not None:
                return code
        return None

    def _finish(self, code: str) -> str | None:
        """Put check digits in. None for what is never given, and for letters that may be read as a word."""
        finished = self._kind.finish(code)
        return None if finished is None or any(map(_RUDE.search, _RUN.findall(finished))) else finished
