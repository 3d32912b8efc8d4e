"""Read numbers that are written in words, as in dictation, and write their surrogates in words.

"seis cinco dos cero ocho uno" is read as 652081, so the number has the same surrogate as in figures. Each word or
group of words stands for as many digits in the surrogate as in the original: "noventa y seis" for two. The words are
those of the dates (table ``spoken`` of ``calendar.toml``) and of the table ``dictated``: other words for zero, a word
for "double", dashes, hundreds, thousands and millions. A mention with any other word is not read.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ...lang import get_language
from ...lang.text import fold

_GAP = re.compile(r"[\s,.;:-]*")
_END = r"(?![^\W_])"


class Piece(NamedTuple):
    """A part of a dictated number.

    start, end (int): offsets of its words in the mention.
    digits (str): the digits that it stands for, or the separator "-".
    """

    start: int
    end: int
    digits: str


class Dictated:
    """A number in words, with methods to read and to write it.

    text (str): the mention.
    pieces (Sequence[Piece]): its parts, in order.
    words (Words): the words of its language.
    """

    def __init__(self, text: str, pieces: Sequence[Piece], words: "Words") -> None:
        self._text, self._pieces, self._words = text, pieces, words

    def __repr__(self) -> str:
        return f"Dictated({len(self._pieces)} pieces)"

    @property
    def figures(self) -> str:
        """The number in figures."""
        return "".join(piece.digits for piece in self._pieces)

    def write(self, figures: str) -> str | None:
        """Return the mention with the words of another number.

        figures (str): the number, with the same separators. Additional digits belong to the first piece.
        RETURNS (Optional[str]): the new mention; None if the number does not have the form of the original.
        """
        more = len(figures) - len(self.figures)
        if more < 0 or not figures:
            return None
        out, last, at = [], 0, 0
        zero = next((self._text[p.start : p.end].lower() for p in self._pieces if p.digits == "0"), "")
        for piece in self._pieces:
            width = len(piece.digits) + (more if piece.digits != "-" and not at else 0)
            new, at = figures[at : at + width], at + width
            old = self._text[piece.start : piece.end]
            if (piece.digits == "-") != (new == "-"):
                return None
            made = old if new == "-" else self._words.say(new, zero, doubled=self._words.has_double(old))
            if made is None:
                return None
            out += [self._text[last : piece.start], made.upper() if old.isupper() else made]
            last = piece.end
        made = "".join([*out, self._text[last:]])
        return made[0].upper() + made[1:] if self._text[0].isupper() else made


class Words:
    """The words of a language for dictated numbers.

    rows (Sequence[Sequence[str]]): lists of the numbers from 0 to 99.
    data (Mapping[str, Any]): the table ``dictated``; {} if there is none.
    """

    def __init__(self, rows: Sequence[Sequence[str]], data: Mapping[str, Any]) -> None:
        self._row, self._data = rows[0], data
        self._small = {fold(word): value for row in rows for value, word in enumerate(row)}
        self._small |= dict.fromkeys(map(fold, data.get("zero", ())), 0)
        self._hundreds = {fold(word): 100 * i for i, word in enumerate(data.get("hundreds", ()), 1)}
        if self._hundreds:
            self._hundreds[fold(data["hundred"])] = 100
        self._short = {fold(short): self._small[fold(word)] for word, short in data.get("apocope", {}).items()}
        self._thousand = {fold(data["thousand"])} if "thousand" in data else set[str]()
        self._millions = set(map(fold, data.get("millions", ())))
        dashes, doubles = map(fold, data.get("dashes", ())), [fold(data["double"])] if "double" in data else []
        self._dashes, self._doubles = set(dashes), set(doubles)
        known = [*self._small, *self._hundreds, *self._short, *self._thousand, *self._millions, *self._dashes]
        known = sorted({*known, *doubles}, key=len, reverse=True)
        self._token = re.compile("(" + "|".join(re.escape(word).replace("\\ ", r"\s+") for word in known) + ")" + _END)

    def __repr__(self) -> str:
        return "Words(…)"

    def read(self, text: str) -> list[Piece] | None:
        """Divide a mention into the parts of a number; None if it has another word."""
        tokens = list[tuple[int, int, str]]()
        plain, at = _fold_in_place(text), 0
        while at < len(plain):
            at = _GAP.match(plain, at).end()  # type: ignore[union-attr]
            if at == len(plain):
                break
            found = self._token.match(plain, at)
            if not found:
                return None
            tokens.append((found.start(), found.end(), " ".join(found[0].split())))
            at = found.end()
        return self._join(tokens)

    def _join(self, tokens: Sequence[tuple[int, int, str]]) -> list[Piece] | None:
        """Make the parts of a number of its words: "once", "mil", "doscientos", "ocho" are one."""
        pieces, i = list[Piece](), 0
        while i < len(tokens):
            start, end, word = tokens[i]
            if word in self._dashes:
                pieces.append(Piece(start, end, "-"))
                i += 1
            elif word in self._doubles:
                value = self._small.get(tokens[i + 1][2], 10) if i + 1 < len(tokens) else 10
                if value > 9:
                    return None
                pieces.append(Piece(start, tokens[i + 1][1], str(value) * 2))
                i += 2
            else:
                value, following = self._number([token[2] for token in tokens], i)
                if following == i:
                    return None
                pieces.append(Piece(start, tokens[following - 1][1], str(value)))
                i = following
        return pieces

    def _number(self, words: Sequence[str], i: int) -> tuple[int, int]:
        """Read a number in words from index `i`: (value, index after it)."""
        total, start = 0, i
        for unit, names in ((1_000_000, self._millions), (1000, self._thousand)):
            value, following = self._group(words, i)
            if following < len(words) and words[following] in names and (following > i or unit == 1000):
                total, i = total + (value if following > i else 1) * unit, following + 1
        value, following = self._group(words, i)
        return (total + value, following) if not (value == 0 and following > i > start) else (total, i)

    def _group(self, words: Sequence[str], i: int) -> tuple[int, int]:
        """Read a number below a thousand from index `i`: (value, index after it)."""
        value = 0
        if i < len(words) and words[i] in self._hundreds:
            value, i = self._hundreds[words[i]], i + 1
            if i < len(words) and self._small.get(words[i], 0) == 0 and words[i] not in self._short:
                return value, i
        if i < len(words):
            small = self._small.get(words[i], self._short.get(words[i]))
            if small is not None:
                return value + small, i + 1
        return value, i

    def has_double(self, text: str) -> bool:
        """Return whether a part of a number is a digit that is said twice, such as "double oh"."""
        return fold(text).split()[0] in self._doubles

    def say(self, digits: str, zero: str, doubled: bool) -> str | None:
        """Say digits in words: two as one number, more as hundreds and thousands if the language has the words.

        digits (str): the digits.
        zero (str): the word for zero; "" for the usual one.
        doubled (bool): whether the original is a digit that is said twice. Two different digits are said one by one.
        RETURNS (Optional[str]): the words; None for a number beyond the words of the language.
        """
        zero = zero or self._row[0]
        if doubled:
            words = [zero if digit == "0" else self._row[int(digit)] for digit in digits]
            same = len(words) == 2 and words[0] == words[1]
            return f"{self._data['double']} {words[0]}" if same else " ".join(words)
        lead = len(digits) - len(digits.lstrip("0"))
        rest = digits[lead:]
        words = [zero] * lead
        if rest:
            said = self._say_number(int(rest))
            if said is None:
                return None
            words.append(said)
        return " ".join(words)

    def _say_number(self, value: int) -> str | None:
        """Say a number greater than zero; None if the language has no words for it."""
        if value < 100:
            return self._row[value]
        if not self._hundreds or value >= 10**9:
            return None
        millions, rest = divmod(value, 10**6)
        thousands, last = divmod(rest, 1000)
        out = []
        if millions:
            one, many = self._data["millions"]
            out.append(f"{self._say_group(millions, short=True)} {one if millions == 1 else many}")
        if thousands:
            before = "" if thousands == 1 else self._say_group(thousands, short=True) + " "
            out.append(before + self._data["thousand"])
        if last:
            out.append(self._say_group(last))
        return " ".join(out)

    def _say_group(self, value: int, short: bool = False) -> str:
        """Say a number from 1 to 999.

        short (bool): whether "one" at the end is shortened, as before "mil".
        """
        hundreds, rest = divmod(value, 100)
        words = [self._data["hundreds"][hundreds - 1]] if hundreds and rest else []
        if hundreds and not rest:
            words = [self._data["hundred"] if hundreds == 1 else self._data["hundreds"][hundreds - 1]]
        if rest:
            said = self._row[rest]
            for word, shortened in self._data.get("apocope", {}).items() if short else ():
                if said == word or said.endswith(f" {word}"):
                    said = said[: -len(word)] + shortened
            words.append(said)
        return " ".join(words)


def read_dictated(text: str, lang: str) -> Dictated | None:
    """Read a number that is written in words.

    text (str): the mention.
    lang (str): ISO 639-1 code.
    RETURNS (Optional[Dictated]): the number. None if the mention has figures or a word that is no number, or if the
        language has no words for numbers.
    """
    if not text or any(char.isdecimal() for char in text) or sum(map(str.isalpha, text)) < len(text) / 2:
        return None
    words = _words(lang)
    pieces = words.read(text) if words else None
    return Dictated(text, pieces, words) if words and pieces else None


@lru_cache(maxsize=8)
def _words(lang: str) -> Words | None:
    """Load the words of a language; None if it has none."""
    data = get_language(lang).read_toml("calendar.toml")
    rows = [[number.strip() for number in row.split(",")] for row in data.get("spoken", {}).get("numbers", ())]
    return Words(rows, data.get("dictated", {})) if rows else None


def _fold_in_place(text: str) -> str:
    """Fold the characters of a text one by one, so that offsets stay the same."""
    return "".join(folded if len(folded := fold(char)) == 1 else char for char in text)
