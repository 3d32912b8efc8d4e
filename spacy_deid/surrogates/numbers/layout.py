"""What of an identifier is replaced, and how a replacement is written in its place.

The code of an identifier is its letters and digits: capitals, without accents, separators and words around it. Two
ways to write an identifier have the same code. A new code is written with the separators, the case and the kind of
digits of the text that it replaces.
"""

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["Layout"]

# Words that say what a number is. They may stand within a mention, and tell nothing of whom it belongs to.
_WORDS = frozenset(
    "acc account anexo asiakasnumero cip colegiado col cuenta dea dni dob ein emp ext exp expediente fax fn gtin hc "
    "henkilötunnus hetu historia hsn iban icn id imei mac mbi mobile mrn nass nct nhc nhs nie nif nim nino no npi nro "
    "nss num numero número nuhsa nuss pin potilasnumero puh ref s/n sn sns sotu ssn tel tlf tfno udi vin "
    "y-tunnus".split()
)
_TOKEN = re.compile(r"(?<![^\W_])(?:[^\W\d_]+(?:[/-][^\W\d_]+)?(?=[\s.:#º°ª-]|$)|[^\W\d_]{2,}(?=\d))")
_MASK = re.compile(r"(?<![^\W\d_])[xX]{2,}(?![^\W\d_])")
_AND = re.compile(r"(?<=\d)\s+(?:y|e|o|u|and|or|ja|tai|sekä|a|to|al)\s+(?=\d)")
_WORD = re.compile(r"(?<!\S)[^\W\d_]{2,}(?=[\s.,:;]|$)")


class Layout:
    """The positions of an identifier that hold its code.

    text (str): the mention.
    spans (tuple[int, int]): the parts of it that are looked at; none given: all of it.
    """

    __slots__ = ("code", "positions", "text")

    def __init__(self, text: str, *spans: tuple[int, int]) -> None:
        self.text = text
        kept = {i for first, last in _kept(text) for i in range(first, last)}
        inside = (i for first, last in spans or ((0, len(text)),) for i in range(first, last))
        self.positions = [i for i in inside if i not in kept and _counts(text[i])]
        self.code = "".join(_plain(text[i]) for i in self.positions)

    def __repr__(self) -> str:
        return f"Layout(length={len(self.text)})"

    @property
    def has_words(self) -> bool:
        """Whether words stand in the text that are neither numbers nor names of numbers."""
        inside = set(self.positions)
        words = (m for m in _WORD.finditer(self.text) if m.start() in inside)
        return any(m[0].islower() or (len(m[0]) > 3 and not m[0].isupper()) for m in words)

    def write(self, code: str) -> str:
        """Write a code of the same length in the place of the old one.

        code (str): letters A to Z and digits 0 to 9.
        RETURNS (str): the text with the new code.
        """
        small = self.text.islower()
        out = list(self.text)
        for i, char in zip(self.positions, code, strict=True):
            out[i] = _like(self.text[i], char, small)
        return "".join(out)


def _kept(text: str) -> Iterator[tuple[int, int]]:
    """Where words that say what a number is stand, words between two, and digits that are hidden: "xxx-xx-1234"."""
    yield from (m.span() for m in _TOKEN.finditer(text) if m[0].casefold() in _WORDS)
    if any(char.isdecimal() for char in text):
        yield from (m.span() for m in _MASK.finditer(text))
        yield from (m.span() for m in _AND.finditer(text))


def _counts(char: str) -> bool:
    """Whether a character belongs to a code. The marks of "1º" and "2ª" are letters to Unicode."""
    return char.isdecimal() or (char.isalpha() and char not in "ªº")


def _plain(char: str) -> str:
    """A character as codes have it. A letter that is none of A to Z without its accent stands for one of them."""
    if char.isdecimal():
        return str(int(char))
    base = unicodedata.normalize("NFKD", char)[0].upper()[0]
    return base if "A" <= base <= "Z" else chr(ord("A") + ord(base) % 26)


def _like(old: str, new: str, small: bool) -> str:
    """A new character in the case, or in the kind of digits, of the old one."""
    if new.isdecimal():
        return chr(ord(old) - int(old) + int(new)) if old.isdecimal() else new
    return new.lower() if old.islower() or (small and old.isdecimal()) else new
