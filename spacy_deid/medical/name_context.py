"""Whether a name in a note is a person's or a disease's: what its neighbours say.

"Parkinson" is a neurologist after "Dr.", a patient before "walked", a disease after "history of". The neighbours are
data, one file a language. Where they say nothing the name is a person's: what is released cannot be taken back.
"""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import function_words

__all__ = ["NameContext", "Unlisted", "given_names"]

_FOLDER = files("spacy_deid") / "resources" / "recovery" / "context"
_REACH = 70  # characters to each side
_COMMONEST = 2500  # of each list of given names; rarer ones are words, too: "Early", "Sign"
_UPPER = "A-ZÀ-ÖØ-ÞĀ-Ž"
_CAP = rf"[{_UPPER}][^\W\d_]+(?:['’](?!s\b)[^\W\d_]+)?"
_SENTENCE = re.compile(r"(?:^|[.!?:;\n]\s*|[-•*]\s+)$")
_INITIAL = re.compile(rf"(?<!\w)(?:[{_UPPER}]\.[ -]?){{1,3}}$|(?<![\w.])(?!I |A |O |Y |E )[{_UPPER}] $")
_WORD_BEFORE = re.compile(r"(?<!\w)([^\W\d_][\w'’-]*)[ ]$")
_WORD_AFTER = re.compile(rf"[ ]({_CAP})")
_GIVEN_AFTER = re.compile(rf",[ ]?({_CAP})")
_LETTERS_AFTER = re.compile(rf"[ ][{_UPPER}]{{1,2}}\.?(?=[,.;)\n]|$)")
_POSSESSIVE = re.compile(r"(?:['’]s|s['’])$")
_POSSESSIVE_END = re.compile(r"[ ]?(?:[.,;:)/\n]|$|and\b|or\b)")
_AT = re.compile(r"(?<!\w)(?:at|by|with|to|from|near|via|of|in)[ ]$", re.IGNORECASE)
_OWNED = re.compile(r"['’]s|s['’]")
_CHAIN = re.compile(rf"{_CAP}[-–]{_CAP}")
_LOWER_BEFORE = re.compile(r"(?<![\w'’-])[a-zà-öø-ÿ]{2,}[ (]{1,2}$")
_TECHNICAL = frozenset({"anatomy", "device", "organism", "procedure", "score", "test", "unit"})
_JOINED = re.compile(rf"(?<![\w-])({_CAP})(?:['’]s)?(?:[ ]|[-–/]|[ ](?:and|or|y|e|ja)[ ])$")
_JOINS = re.compile(rf"(?:[ ]|[-–/]|[ ](?:y|e)[ ])({_CAP})(?!\w)")
_LISTED = re.compile(r"[ ]?(?:,|;|/|\+|\band\b|\by\b|\be\b|\bja\b|\bsekä\b|\bor\b)[ ]?")


class Unlisted(NamedTuple):
    """An eponym that no dictionary has, told by its head word alone: "Xanthou syndrome"."""

    start: int
    end: int
    rule: str


@cache
def given_names() -> frozenset[str]:
    """The commonest given names of all languages that ship, in normal form, without function words."""
    names: set[str] = set()
    for source in (files("spacy_deid") / "resources" / "names").iterdir():
        if source.name.endswith(("_female.csv", "_male.csv")):
            rows = source.read_text(encoding="utf8").splitlines()[1 : _COMMONEST + 1]
            names.update(normal_form(row.rpartition(",")[0]) for row in rows)
    return frozenset(names - function_words())


@cache
def _common_words(lang: str) -> frozenset[str]:
    """Surnames so common that a head word alone does not make them eponyms, and function words."""
    source = files("spacy_deid") / "resources" / "names" / f"{lang}_surname.csv"
    rows = source.read_text(encoding="utf8").splitlines()[1 : _COMMONEST + 1] if source.is_file() else []
    return function_words() | {normal_form(row.rpartition(",")[0]) for row in rows}


@cache
def _eponym_words() -> frozenset[str]:
    """The words of the eponyms that ship."""
    source = files("spacy_deid") / "resources" / "medical" / "eponyms.csv"
    names = (row.partition(",")[0] for row in source.read_text(encoding="utf8").splitlines()[1:])
    return frozenset(normal_form(word) for name in names for word in re.findall(r"[^\W\d_]{2,}", name))


def _read(lang: str) -> dict[str, Any]:
    """The data of a language, after those of all languages."""
    data: dict[str, Any] = tomllib.loads((_FOLDER / "common.toml").read_text(encoding="utf8"))
    path = _FOLDER / f"{lang}.toml"
    own = tomllib.loads((path if path.is_file() else _FOLDER / "en.toml").read_text(encoding="utf8"))
    for key, value in own.items():
        data[key] = [*data.get(key, []), *value] if isinstance(value, list) else value
    return data


def _left(parts: Iterable[str], tail: str) -> re.Pattern[str]:
    """What stands right before a name."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)}){tail}$", re.IGNORECASE)


def _right(parts: Iterable[str]) -> re.Pattern[str]:
    """What stands right behind a name."""
    return re.compile(rf"(?:{'|'.join(parts)})", re.IGNORECASE)


class NameContext:
    """Reads the neighbours of names in one language.

    lang (str): language code; one without data is read as English.
    """

    def __init__(self, lang: str) -> None:
        data = _read(lang)
        self.lang = lang
        initials = rf"(?:[{_UPPER}]\.[ ]?){{0,3}}"
        self._title = _left(data["titles"], rf"\.?[ªº]?\.?[ ]{{1,2}}{initials}")
        self._doctor = _left(data["doctors"], rf"\.?[ªº]?\.?[ ]{{1,2}}{initials}")
        self._role = _left(data["roles"], "[ ,:]{1,2}")
        self._key = _left(data["keys"], r"\.?[ ]?:[ ]{0,4}")
        self._credentials = _right(data["credentials"])
        self._verb = _right([rf"(?:['’]s)?[ ](?:{'|'.join(data['verbs'])})"])
        self._place_before = _left(data["institutions_before"], "[ ](?:de la |del |de |of |for |para )?")
        self._place_after = _right(data["institutions_after"])
        self._before = _left(data["before"], "[ ]?(?<=[ :])")
        self._after = _right(data["after"])
        self._signs = re.compile(rf"(?:{'|'.join(data['signs'])})(?:['’]s|in|n|ia|a)?", re.IGNORECASE)
        self._sign_before = _left(data["signs_before"], "")
        self._sign_after = _right(data["signs_after"])
        self._possessive = bool(data["possessive"])
        self._unlisted = _unlisted(lang, data)
        self._heading = _left(data["headings"], r":[^.:\n]{0,60}(?:[,;/]|\by|\bja|\band)[ ]")

    def person(self, text: str, start: int, end: int, *, headed: bool = False) -> str:
        """Tell whether the neighbours of a name make it a person's.

        text (str): the note.
        start, end (int): characters of the name, with its head word if it has one.
        headed (bool): whether it has a head word, as in "Parkinson's disease".
        RETURNS (str): what makes it so: "title", "initial", "key", "given", "credentials", "institution"; "" if
            nothing does.
        """
        left, right = text[max(0, start - _REACH) : start], text[end : end + _REACH]
        left = left.rpartition("\n")[2]
        if self._title.search(left):
            return "title"
        if self._place_before.search(left) or self._place_after.match(right):
            return "institution"
        if self._key.search(left) and not self._before.search(left):
            return "key"
        if _INITIAL.search(left):
            return "initial"
        if self._given_before(left):
            return "given"
        return "" if headed else self._behind(right)

    def clinician(self, text: str, start: int) -> bool:
        """Whether a clinician's title stands before a name.

        text (str): the note.
        start (int): where the name begins.
        RETURNS (bool): True after "Dr.", not after "Mr.".
        """
        return bool(self._doctor.search(text[max(0, start - _REACH) : start].rpartition("\n")[2]))

    def _given_before(self, left: str) -> bool:
        """Whether a given name stands right before."""
        match = _WORD_BEFORE.search(left)
        if match is None or not match[1][0].isupper() or self._before.search(left):
            return False
        return normal_form(match[1]) in given_names()

    def _behind(self, right: str) -> str:
        """What follows a person's surname: letters of a degree, a given name, another surname."""
        if self._credentials.match(right) or _LETTERS_AFTER.match(right):
            return "credentials"
        if (match := _GIVEN_AFTER.match(right)) and normal_form(match[1]) in given_names():
            return "given"
        return "given" if _WORD_AFTER.match(right) and not self._after.match(right) else ""

    def medical(self, text: str, start: int, end: int, terms: Iterable[tuple[int, int]] = (), kind: str = "") -> str:
        """Tell whether the neighbours of a bare name make it a disease's, and no person's.

        text (str): the note.
        start, end (int): characters of the name.
        terms (Iterable[tuple[int, int]]): other medical terms of the note.
        kind (str): what the name alone would be: of a device or a test much less is asked than of a disease.
        RETURNS (str): what makes it so: "before", "after", "sign", "possessive", "chain", "technical", "listed"; "" if nothing
            does.
        """
        if self.person(text, start, end):
            return ""
        left, right = text[max(0, start - _REACH) : start].rpartition("\n")[2], text[end : end + _REACH]
        if self._before.search(left):
            return "before"
        if self.sign(text, start, end):
            return "sign"
        if self.acts(text, start, end) or self._capital_before(left):
            return ""
        if self._after.match(right):
            return "after"
        if _CHAIN.fullmatch(text[start:end]):
            return "chain"
        if kind in _TECHNICAL and _LOWER_BEFORE.search(left) and not _AT.search(left):
            return "technical"
        if self._possessive and _POSSESSIVE.search(text[start:end]) and _POSSESSIVE_END.match(right):
            return "" if _AT.search(left) else "possessive"
        return "listed" if self._heading.search(left) or _listed(text, start, end, terms) else ""

    def sign(self, text: str, start: int, end: int) -> bool:
        """Whether a name is that of a sign or test with its result: "Murphy negative"."""
        if not self._signs.fullmatch(text, start, end) or self.person(text, start, end) in ("title", "key", "initial"):
            return False
        left, right = text[max(0, start - _REACH) : start], text[end : end + _REACH]
        return bool(self._sign_before.search(left) or self._sign_after.match(right))

    def acts(self, text: str, start: int, end: int) -> bool:
        """Whether a name has a role before or a person's verb behind: "daughter Bell", "Bell walked".

        text (str): the note.
        start, end (int): characters of the name.
        RETURNS (bool): True if it has.
        """
        left, right = text[max(0, start - _REACH) : start].rpartition("\n")[2], text[end : end + _REACH]
        return bool(self._role.search(left) or self._verb.match(right))

    def _capital_before(self, left: str) -> bool:
        """Whether a word with a capital stands right before, inside a sentence: a given name that no list has."""
        match = _WORD_BEFORE.search(left)
        if match is None or not match[1][0].isupper() or (match[1].isupper() and len(match[1]) <= 5):
            return False
        return not _SENTENCE.search(left[: match.start()])

    def signs(self, text: str) -> list[Unlisted]:
        """The names of signs and tests that stand with their result.

        text (str): the note.
        RETURNS (list[Unlisted]): in the order of the text.
        """
        found = (m.span() for m in self._signs.finditer(text) if _free(text, *m.span()) and m[0][0].isupper())
        return [Unlisted(start, end, "eponym:result") for start, end in found if self.sign(text, start, end)]

    def unlisted(self, text: str) -> list[Unlisted]:
        """Names that their head word makes eponyms, whoever bears them: "Xanthou syndrome", "síndrome de Xanthou".

        text (str): the note.
        RETURNS (list[Unlisted]): the name with its head, in the order of the text.
        """
        found = []
        for match in self._unlisted.finditer(text):
            tier = str(match.lastgroup)
            left = text[max(0, match.start() - _REACH) : match.start()].rpartition("\n")[2]
            if self._bears(tier, match[0], match[tier], left):
                found.append(Unlisted(match.start(), match.end(), f"eponym:{tier}"))
        return found

    def widen(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Take in the other name of an eponym that has two, if it is one of the eponyms: "Watson and Schwartz test".

        text (str): the note.
        start, end (int): characters of a name with its head word.
        RETURNS (tuple[int, int]): characters, more or the same.
        """
        match = _JOINED.search(text, max(0, start - _REACH), start)
        if match and normal_form(match[1]) in _eponym_words() - given_names():
            start = match.start()
        match = _JOINS.match(text, end)
        if match and self.lang == "es" and normal_form(match[1]) in _eponym_words() - given_names():
            end = match.end()
        return start, end

    def _bears(self, tier: str, phrase: str, name: str, left: str) -> bool:
        """Whether a phrase names its inventor: by a chain of names, by a thing nobody owns, or by what is before it."""
        words = [normal_form(word) for word in re.findall(_CAP, name)]
        known = all(word in _eponym_words() for word in words)
        if not known and all(word in given_names() for word in words):
            return False
        if tier in ("chain", "organ"):
            return True
        common = bool(_common_words(self.lang).intersection(words)) and not (known and not _OWNED.search(phrase))
        owned = self._possessive and bool(_OWNED.search(phrase))
        if tier == "thing":
            return not owned if phrase.endswith("syndrome") else not common and (known or not owned)
        return bool(self._before.search(left)) and not common


def _free(text: str, start: int, end: int) -> bool:
    """Whether a word begins and ends here."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() or after.isalnum() or before == "-")


def _listed(text: str, start: int, end: int, terms: Iterable[tuple[int, int]]) -> bool:
    """Whether a name stands in a list between or beside other medical terms."""
    for first, last in terms:
        if last <= start and start - last <= 5 and _LISTED.fullmatch(text, last, start):
            return True
        if first >= end and first - end <= 5 and _LISTED.fullmatch(text, end, first):
            return True
    return False


def _unlisted(lang: str, data: dict[str, Any]) -> re.Pattern[str]:
    """Names and their head words, in groups: a chain of names with any head, a name with a thing, of an organ, or any.

    lang (str): in Spanish the head comes first.
    data (dict): the head words.
    """
    heads, things, organs = ("|".join(data[key]) for key in ("heads", "objects", "organs"))
    chain = rf"{_CAP}(?:[-–/]{_CAP}){{1,3}}"
    if lang == "es":
        link = r"(?:[ ](?:(?!de\b|del\b)[a-záéíóúñ]{3,15}|[IVX]{1,4}|[A-D]?\d{1,2})){0,2}[ ](?:de |del |tipo )?"
        tail = rf"(?![\w-]|[ ]{_CAP})"
        tiers = [f"(?i:{heads}){link}(?P<chain>{chain})", f"(?i:{things}){link}(?P<thing>{_CAP})"]
        tiers += [f"(?i:{heads}){link}(?P<name>{_CAP})"]
        return re.compile(rf"(?<!\w)(?:{'|'.join(tiers)}){tail}")
    if lang == "fi":
        link = "(?:(?<=n)[ ]|-)"
        tiers = [f"(?P<chain>{chain}){link}(?i:{heads})", f"(?P<thing>{_CAP}){link}(?i:{things})"]
        tiers += [f"(?P<name>{_CAP}){link}(?i:{heads})"]
        return re.compile(rf"(?<![\w-])(?:{'|'.join(tiers)})(?!\w)")
    link = r"(?:['’]s)?(?:[- ](?:type|like)|[ ][a-z]+(?:ic|al|oid|ous|enzyme))?[ ]"
    tiers = [f"(?P<chain>{chain}){link}(?i:{heads}|{things})", f"(?P<thing>{_CAP}){link}(?i:{things})"]
    tiers += [f"(?P<name>{_CAP}){link}(?i:{heads})", rf"(?i:{organs})[ ]of[ ](?P<organ>{_CAP})"]
    return re.compile(rf"(?<![\w-])(?:{'|'.join(tiers)})(?!\w)")
