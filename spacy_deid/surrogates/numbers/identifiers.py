"""Replace identifiers by others of the same kind and format that were never issued to anybody.

The code of an identifier consists of its letters and digits in capitals, without accents and separators. All spellings
of an identifier have the same code. The code is permuted with the key of the patient among all codes of its kind. The
new code is written with the separators, case and script of digits of the original. The kinds of identifiers are in
`spacy_deid.lang.identifiers` and in the languages; they say which codes of a kind are never issued. A code without a
known kind, such as a record number, is never replaced by a code that is valid as one of the known kinds. The year in
a record number is moved (`records`).
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import cache

from ...lang import all_languages, get_language
from ...lang.identifiers import INTERNATIONAL, BirthNumber, IdentifierKind, MoveDate, Parts, spread
from ...lang.text import DIGITS, LETTERS
from ..keys import SMALLEST_DOMAIN, Draw, FormatPreservingCipher
from . import records

CONSONANTS = "BCDFGHJKLMNPQRSTVWXZ"
_CONSONANT_RUN = re.compile(f"[{CONSONANTS}]{{3,}}")
_OID = re.compile(r"\s*[0-2](?:\.\d+){3}(?=\.)")
_TRIES = 200
_STEPS = 500  # of cycle walking
_TRIES_WITH_PREFIX = 20  # before other letters are drawn
_ABBREVIATIONS = "AAABBCCCDDEEFFGHHHIILLLMMMNNOPPPRRSSSTTUV"  # as frequent as in the abbreviations of names
_SHORTEST_WORD = 3  # letters
_NO_VOWELS = str.maketrans("", "", "AEIOU")
_RUN = re.compile(r"[A-Z]{3,}")
_THOUSANDS = re.compile(r"\d{1,3}([.,'’ \u00a0])\d{3}(?:\1\d{3})*")
_RUDE = re.compile(r"[AEIOUY]|KKK|SSS|FCK|FKK|CNT|NGR|NZS")

_TOKEN = re.compile(r"(?<![^\W_])(?:[^\W\d_]+(?:[/-][^\W\d_]+)?(?=[\s.:#º°ª-]|$)|[^\W\d_]{2,}(?=\d))")
_MASK = re.compile(r"(?<![^\W\d_])[xX]{2,}(?![^\W\d_])")
_WORD = re.compile(r"(?<!\S)[^\W\d_]{2,}(?=[\s.,:;]|$)")


class Layout:
    """Locates the letters and digits of an identifier in a mention, and writes other ones in the same positions.

    text (str): the mention.
    spans (tuple[int, int]): parts of the mention that can contain the code; the whole mention if none is given.
    code (str): the letters and digits found, as A to Z and 0 to 9.
    positions (list[int]): offset in the text of each character of the code.
    """

    __slots__ = ("code", "positions", "text")

    def __init__(self, text: str, *spans: tuple[int, int]) -> None:
        self.text = text
        words, conjunction = _words_of_numbers()
        # These stay: names of numbers, words between two numbers, masked digits ("xxx-xx-1234").
        spans_kept = [m.span() for m in _TOKEN.finditer(text) if m[0].casefold() in words]
        if any(char.isdecimal() for char in text):
            spans_kept += [m.span() for pattern in (_MASK, conjunction) for m in pattern.finditer(text)]
        kept = {i for first, last in spans_kept for i in range(first, last)}
        inside = (i for first, last in spans or ((0, len(text)),) for i in range(first, last))
        # Unicode calls the marks of "1º" and "2ª" letters.
        self.positions = [
            i for i in inside if i not in kept and (text[i].isdecimal() or (text[i].isalpha() and text[i] not in "ªº"))
        ]
        self.code = "".join(_plain(text[i]) for i in self.positions)

    def __repr__(self) -> str:
        return f"Layout(length={len(self.text)})"

    @property
    def plain_text(self) -> str:
        """The text with the characters of the code as A to Z and 0 to 9, at the same offsets."""
        out = list(self.text)
        for i, char in zip(self.positions, self.code, strict=True):
            out[i] = char
        return "".join(out)

    @property
    def has_words(self) -> bool:
        """Whether the text contains words that are neither part of a code nor names of numbers such as "MRN"."""
        inside = set(self.positions)
        words = (m for m in _WORD.finditer(self.text) if m.start() in inside)
        return any(m[0].islower() or (len(m[0]) > 3 and not m[0].isupper()) for m in words)

    def write(self, code: str) -> str:
        """Replace the code in the text by another one, in the case of the original.

        code (str): letters A to Z and digits 0 to 9. If it has more characters than the old one, the additional ones
            are written before the others; groups of three digits are formed anew.
        RETURNS (str): the text with the new code.
        """
        more = len(code) - len(self.positions)
        first, last = (self.positions[0], self.positions[-1] + 1) if self.positions else (0, 0)
        if more and (grouped := _THOUSANDS.fullmatch(self.text[first:last])):
            head = (len(code) - 1) % 3 + 1
            groups = [code[:head], *(code[i : i + 3] for i in range(head, len(code), 3))]
            return self.text[:first] + grouped[1].join(groups) + self.text[last:]
        small = self.text.islower()
        out = list(self.text)
        for i, new in zip(self.positions, code[more:], strict=True):
            old = self.text[i]
            if old.isdecimal() and new.isdecimal():
                out[i] = chr(ord(old) - int(old) + int(new))  # in the script of the old digit
            elif not new.isdecimal() and (old.islower() or (small and old.isdecimal())):
                out[i] = new.lower()
            else:
                out[i] = new
        out.insert(first, code[:more])
        return "".join(out)


@cache
def _words_of_numbers() -> tuple[frozenset[str], re.Pattern[str]]:
    """Return words that are kept, in all languages: names of numbers, and a pattern of conjunctions between two
    numbers.
    """
    conventions = [language.identifiers for language in all_languages()]
    conjunctions = "|".join(word for each in conventions for word in each.conjunctions)
    return frozenset().union(*(each.words for each in conventions)), re.compile(
        rf"(?<=\d)\s+(?:{conjunctions})\s+(?=\d)"
    )


def _plain(char: str) -> str:
    """Convert a letter or digit of any script to A to Z or 0 to 9; accents are removed, other letters mapped to A
    to Z.
    """
    if char.isdecimal():
        return str(int(char))
    base = unicodedata.normalize("NFKD", char)[0].upper()[0]
    return base if "A" <= base <= "Z" else chr(ord("A") + ord(base) % 26)


def move_birth(days: int, latest: int) -> MoveDate:
    """Create a function that shifts the dates of birth that are encoded in identifiers.

    days (int): offset of the patient's dates in days.
    latest (int): dates of birth before this year would reveal an age over 89, so they are moved to it; 0 if unknown.
    RETURNS (MoveDate): a function that returns the shifted date, with a year between 1800 and 2099.
    """

    def move(born: date) -> date:
        moved = born + timedelta(days)
        year = min(max(moved.year, latest, 1800), 2099)
        return moved if year == moved.year else moved.replace(year=year, day=min(moved.day, 28))

    return move


def plain_parts(code: str) -> Parts:
    """Return the characters that can replace each character of a code of unknown kind: letters or digits.

    Leading zeros are kept, and the first digit after them is never 0, so that serial numbers keep their length. Three
    or more consonants in a row are replaced by consonants, so that the surrogate cannot be read as a word.

    code (str): letters and digits.
    RETURNS (Parts): possible values of each character.
    """
    parts: list[str] = [DIGITS if char in DIGITS else LETTERS for char in code]
    for run in _CONSONANT_RUN.finditer(code):
        parts[run.start() : run.end()] = [CONSONANTS] * len(run[0])
    for i, char in enumerate(code):
        if char in DIGITS:
            parts[i] = "0" if char == "0" else DIGITS[1:]
            if char != "0":
                break
    return parts if any(len(options) > 1 for options in parts) else spread("#" * len(code))


_PLAIN = IdentifierKind("plain", "", plain_parts)
_UNKNOWN = frozenset({_PLAIN.name, records.NAME})
_STATE_NUMBERS = frozenset({"NATIONAL_ID", "INSURANCE_ID", "ACCOUNT", "DEVICE", "VEHICLE", "SSN", "ID_OTHER"})


@cache
def identifier_kinds(lang: str) -> Sequence[IdentifierKind]:
    """Return the kinds of identifiers that can occur in notes of a language, in the order in which they are tried.

    lang (str): language code.
    RETURNS (Sequence[IdentifierKind]): kinds of the language, those recognized in every language, international ones.
    """
    abroad = [kind for language in all_languages() for kind in language.identifiers.kinds_abroad]
    return [*get_language(lang).identifiers.kinds, *abroad, *INTERNATIONAL]


def read_identifier(
    text: str, label: str, lang: str, move: MoveDate, years: int
) -> "Identifier | BirthIdentifier | None":
    """Find the code of an identifier in a mention, and determine its kind.

    text (str): the mention.
    label (str): canonical label.
    lang (str): ISO 639-1 code of the note's language.
    move (MoveDate): a function that shifts dates of birth within identifiers; see `move_birth`.
    years (int): number of years by which the year in a record number is moved, not 0.
    RETURNS (Optional[Union[Identifier, BirthIdentifier]]): the identifier; None if no surrogate can be made, because
        the mention has no digits, or contains words.
    """
    conventions = get_language(lang).identifiers
    if found := conventions.find_birth_number(text):
        return BirthIdentifier(text, found, move)
    root = _OID.match(text)
    layout = Layout(text, (root.end() if root else 0, len(text)))
    if not any(char.isdecimal() for char in layout.code) or layout.has_words:
        return None
    kinds = identifier_kinds(lang) if not root else ()
    kind = conventions.dated_kind(layout.code, move)
    kind = kind or next((kind for kind in kinds if kind.fits(layout.code, text, label)), None)
    if kind is None and label in _STATE_NUMBERS and not root:
        # A number with a typing error has the form of its kind, and its surrogate must not be valid either.
        kind = next((kind for kind in kinds if kind.is_checked and kind.has_form(layout.code, text, label)), None)
    if kind is None and label == "NATIONAL_ID" and (parts := conventions.overlong(layout.code)):
        kind = IdentifierKind("overlong", "", lambda _: parts, drawn=True)
    if kind is None and label in records.LABELS and not root:
        segments = records.find_segments(layout.plain_text, layout.positions, years, move)
        if segments:
            kind = records.record_kind(layout.code, segments, plain_parts)
    return Identifier(layout, kind or _PLAIN, kinds, keeps_letter=label in records.LABELS)


def is_valid_elsewhere(code: str, text: str, own: IdentifierKind, kinds: Sequence[IdentifierKind]) -> bool:
    """Whether a surrogate is valid as an identifier of another kind than its own, so that it may be issued.

    code (str): letters and digits of the surrogate.
    text (str): the surrogate as written.
    own (IdentifierKind): kind of the surrogate. It is not considered, because its surrogates are never issued.
    kinds (Sequence[IdentifierKind]): the kinds to consider, whatever label and separators they require.
    RETURNS (bool): True if the check digits of one of the kinds are right, or it is a national number of any language.
    """
    others = (kind for kind in kinds if kind.is_checked and kind.name != own.name)
    if any(re.fullmatch(kind.pattern, code) and kind.finish(code) == code for kind in others):
        return True
    return own.name in _UNKNOWN and any(language.identifiers.find_birth_number(text) for language in all_languages())


class BirthIdentifier:
    """A national number with an encoded date of birth, which is shifted like all dates; see `ParsedNumber`.

    text (str): the mention.
    number (BirthNumber): the number in it.
    move (MoveDate): moves dates of birth.
    """

    def __init__(self, text: str, number: BirthNumber, move: MoveDate) -> None:
        self._text, self._number, self._move = text, number, move
        self.identity = number.code

    def __repr__(self) -> str:
        return f"BirthIdentifier({self._number.name})"

    def candidates(self, cipher: FormatPreservingCipher, variant: int) -> Iterator[str]:
        """Yield numbers with the shifted date of birth and each possible serial number, shuffled with the key."""
        number, born = self._number, self._move(self._number.born)
        for serial in cipher.draw(number.name, self.identity, str(variant)).shuffled(number.serials):
            yield number.compose(born, serial)

    def write(self, value: str) -> str:
        """Return the mention with the number replaced by a surrogate, in the case of the original."""
        start, end = self._number.start, self._number.end
        old = self._text[start:end]
        return self._text[:start] + (value.lower() if old != old.upper() else value) + self._text[end:]


class Identifier:
    """An identifier of a known kind, with methods to replace its code; see `ParsedNumber`.

    layout (Layout): positions of its code.
    kind (IdentifierKind): kind of its code.
    kinds (Sequence[IdentifierKind]): kinds of which the surrogate must not be a valid code, except its own.
    is_plain (bool): whether the code is of no known kind and has no year.
    has_year (bool): whether it is a record number with a year.
    keeps_letter (bool): whether a single letter before a code of no known kind is kept, as in "S25-04417". It tells a
        biopsy or a visit, which identifies nobody.
    """

    def __init__(
        self,
        layout: Layout,
        kind: IdentifierKind,
        kinds: Sequence[IdentifierKind],
        *,
        keeps_letter: bool = False,
    ) -> None:
        self._layout, self._kind, self._kinds, self._keeps_letter = layout, kind, kinds, keeps_letter
        self.identity = layout.code
        self.is_plain, self.has_year = kind is _PLAIN, kind.name == records.NAME

    def __repr__(self) -> str:
        return f"Identifier({self._kind.name})"

    def write(self, value: str) -> str:
        """Return the mention with the code replaced by a surrogate."""
        return self._layout.write(value)

    def candidates(self, cipher: FormatPreservingCipher, variant: int) -> Iterator[str]:
        """Yield possible new codes of the same kind, the preferred one first.

        cipher (FormatPreservingCipher): cipher of the patient.
        variant (int): variant of the surrogate.
        YIELDS (str): codes.
        """
        if self._kind.name in _UNKNOWN:
            yield from self._candidates_with_prefix(cipher, variant)
            return
        shape = "".join("#" if char.isdecimal() else "@" for char in self.identity)
        parts = self._kind.parts(self.identity)
        for attempt in range(_TRIES):
            context = (self._kind.name, shape, str(variant), str(attempt))
            if self._kind.drawn:
                draw = cipher.draw(*context, self.identity)
                made = self._finish("".join(draw.choice(options) for options in parts))
            else:
                made = self._permute(cipher, parts, context, self._finish)
            if made is not None:
                yield made

    def _candidates_with_prefix(self, cipher: FormatPreservingCipher, variant: int) -> Iterator[str]:
        """Yield possible new codes of a number of no known kind.

        The letters before the first digit depend on nothing but themselves, so that all numbers of a series ("SF-001",
        "SF-002") have the same new letters. Only when many candidates were refused are they drawn again.
        """
        code = self.identity
        width = len(code) - len(code.lstrip(LETTERS))
        prefix, rest = code[:width], code[width:]
        shape = prefix + "".join("#" if char.isdecimal() else "@" for char in rest)
        parts = [*([char] for char in prefix), *self._kind.parts(code)[width:]]
        if not any(len(options) > 1 for options in parts):
            parts[width:] = spread("#" * len(rest))
        for attempt in range(_TRIES):
            draw = cipher.draw("prefix", prefix, str(variant), str(attempt // _TRIES_WITH_PREFIX))
            keeps = self._keeps_letter and attempt < _TRIES // 2
            new = draw_prefix(prefix, draw, keeps_letter=keeps)
            context = (self._kind.name, shape, str(variant), str(attempt))
            made = self._permute(cipher, parts, context, lambda code, new=new: self._finish(new + code[width:]))  # type: ignore[misc]
            if made is not None:
                yield made

    def _permute(
        self,
        cipher: FormatPreservingCipher,
        parts: Parts,
        context: Sequence[str],
        finish: Callable[[str], str | None],
    ) -> str | None:
        """Permute the code among all codes of its kind until `finish` accepts one; None if it accepts none."""
        permuted, size = encode(self.identity, parts)
        for _ in range(_STEPS if size >= SMALLEST_DOMAIN else 1):
            # Cycle walking: an unusable code is permuted again, so that the surrogates of two originals still differ.
            permuted = cipher.permute(permuted, size, *context)
            if (code := finish(decode(permuted, parts))) is not None:
                return code
        return None

    def _finish(self, code: str) -> str | None:
        """Compute the check digits of a code and make it one that is never issued. None if it may be an identifier of
        another kind, or its letters could be read as a word.
        """
        finished = self._kind.finish(code)
        if finished is None:
            return None
        made = self._kind.void(finished)
        if any(map(_RUDE.search, _RUN.findall(made))):
            return None
        return None if is_valid_elsewhere(made, self._layout.write(made), self._kind, self._kinds) else made


def draw_prefix(prefix: str, draw: Draw, *, keeps_letter: bool) -> str:
    """Draw other letters for those before the first digit of a number: "TK" → "HL".

    The letters are those that abbreviations often have; three or more are consonants, so that they are no word.

    prefix (str): the letters, in capitals; "" for none.
    draw (Draw): stream of random numbers.
    keeps_letter (bool): whether a single letter is kept.
    RETURNS (str): as many letters.
    """
    if not prefix or (keeps_letter and len(prefix) == 1):
        return prefix
    letters = _ABBREVIATIONS if len(prefix) < _SHORTEST_WORD else _ABBREVIATIONS.translate(_NO_VOWELS)
    while True:
        made = "".join(draw.choice(letters) for _ in prefix)
        if made != prefix:
            return made


def encode(code: str, parts: Parts) -> tuple[int, int]:
    """Convert a code to a number: its position in an enumeration of all codes of its kind.

    code (str): letters and digits.
    parts (Parts): possible values of each part of the code.
    RETURNS (tuple[int, int]): (position, number of codes).
    RAISES: ValueError if a part of the code is not one of its possible values.
    """
    number, size, at = 0, 1, 0
    for options in parts:
        width = len(options[0])
        if len(options) > 1:
            number = number * len(options) + options.index(code[at : at + width])
            size *= len(options)
        at += width
    return number, size


def decode(number: int, parts: Parts) -> str:
    """Convert a position in the enumeration of all codes back to the code: the inverse of `encode`."""
    out = []
    for options in reversed(parts):
        number, i = divmod(number, len(options)) if len(options) > 1 else (number, 0)
        out.append(options[i])
    return "".join(reversed(out))
