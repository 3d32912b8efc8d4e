"""Decide whether a name in a note is that of a person or of a medical term, by the words around it.

"Parkinson" is a neurologist after "Dr.", a patient before "walked", and a disease after "history of". These words are
data: ``resources/recovery/context/common.toml`` for all languages, and ``name_context.toml`` for each language. If the
words around a name decide nothing, the name counts as a person's, because a wrongly released name cannot be recalled.

`NameContext` decides on names that the medical dictionary contains; `unlisted_eponyms` finds those that it lacks.
"""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from ..dictionaries.normalise import normal_form
from ..dictionaries.terms import function_words, is_person_name, name_words
from ..lang import FALLBACK, get_language, resource_folders
from .use import MedicalUse, SpanIndex

_MOST_FREQUENT = 2500  # per list of names; rarer given names are words, too: "Early", "Sign"


@cache
def given_names() -> frozenset[str]:
    """Load the 2,500 most frequent female and male given names of each language, in normal form, without function
    words."""
    names: set[str] = set()
    for language in resource_folders("names"):
        for part in ("female", "male"):
            names |= _most_frequent(language.read_text(f"names/{part}.csv"))
    return frozenset(names - function_words())


@cache
def common_words(lang: str) -> frozenset[str]:
    """Load the words that a head word alone does not make an eponym: function words and the most frequent surnames.

    lang (str): ISO 639-1 code of the list of surnames.
    RETURNS (frozenset[str]): the words in normal form.
    """
    return function_words() | _most_frequent(get_language(lang).read_text("names/surname.csv"))


@cache
def eponym_words() -> frozenset[str]:
    """Load the words of the names in ``eponyms.csv``, in normal form, without abbreviations ("St.")."""
    names = (name for name, _ in _eponyms())
    return frozenset(normal_form(word) for name in names for word in re.findall(r"\b[^\W\d_]{2,}\b(?!\.)", name))


@cache
def eponym_names(lang: str) -> frozenset[str]:
    """Load the words that readers take for an eponym rather than for a person's name.

    These are all words of eponyms except the most frequent surnames of the language, and all one-word eponyms that are
    medical without a head word.

    lang (str): ISO 639-1 code.
    RETURNS (frozenset[str]): the words in normal form.
    """
    alone = {normal_form(name) for name, kind in _eponyms() if kind != "never"}
    return frozenset({name for name in alone if " " not in name} | (eponym_words() - common_words(lang)))


@cache
def unfit_words(lang: str) -> frozenset[str]:
    """Load the words that must not be used as surrogates for names: eponyms and offensive words.

    lang (str): ISO 639-1 code.
    RETURNS (frozenset[str]): the words in normal form.
    """
    from ..surrogates.forbidden import offensive_words  # not needed where names are only read

    return eponym_names(lang) | offensive_words(lang)


@cache
def _eponyms() -> tuple[tuple[str, str], ...]:
    """The listed eponyms: name, and whether it is medical without a head word ("always", "context" or "never")."""
    source = files("spacy_deid") / "resources" / "medical" / "eponyms.csv"
    rows = (row.split(",") for row in source.read_text(encoding="utf8").splitlines()[1:])
    return tuple((name, alone) for name, _, alone in rows)


def _most_frequent(table: str) -> frozenset[str]:
    """The first names of a table "name,count", which is sorted by count."""
    return frozenset(normal_form(row.rpartition(",")[0]) for row in table.splitlines()[1 : _MOST_FREQUENT + 1])


REACH = 70  # characters that are examined on each side of a name
UPPER = "A-ZÀ-ÖØ-ÞĀ-Ž"
CAPITALISED = rf"[{UPPER}][^\W\d_]+(?:['’](?!s\b)[^\W\d_]+)?"

_SENTENCE = re.compile(r"(?:^|[.!?:;\n]\s*|[-•*]\s+)$")
_INITIAL = re.compile(rf"(?<!\w)(?:[{UPPER}]\.[ -]?){{1,3}}$|(?<![\w.])(?!I |A |O |Y |E )[{UPPER}] $")
_WORD_BEFORE = re.compile(r"(?<!\w)([^\W\d_][\w'’-]*)[ ]$")
_WORD_AFTER = re.compile(rf"[ ]({CAPITALISED})")
_GIVEN_AFTER = re.compile(rf",[ ]?({CAPITALISED})")
_LETTERS_AFTER = re.compile(rf"[ ][{UPPER}]{{1,2}}\.?(?=[,.;)\n]|$)")
_POSSESSIVE = re.compile(r"(?:['’]s|s['’])$")
_POSSESSIVE_END = re.compile(r"[ ]?(?:[.,;:)/\n]|$|and\b|or\b)")
_AT = re.compile(r"(?<!\w)(?:at|by|with|to|from|near|via|of|in)[ ]$", re.IGNORECASE)
_ABBREVIATED = re.compile(r"[ ]\((?!MD)([A-Z])[A-Z]{0,2}[SD]\)")  # "Noonan (NS)"
_CHAIN = re.compile(rf"{CAPITALISED}[-–]{CAPITALISED}")
_LOWER_BEFORE = re.compile(r"(?<![\w'’-])([a-zà-öø-ÿ]{2,})[ (]{1,2}$")
_ARTICLES = frozenset({"the", "an", "el", "la", "un", "una", "del", "al"})
_TECHNICAL = frozenset({"anatomy", "device", "organism", "procedure", "score", "test", "unit"})
# after a drug: an amount with its unit, or one that is no age
_DOSE = re.compile(r"[ ](?:\d{1,5}(?:[.,]\d{1,3})?[ ]?(?:mg|mcg|µg|g|ml|UI|IU|ky)(?!\w)|[1-9]\d{2}(?![\d/.-]))")
_LONGEST_HEAD = 8  # characters before a name that an abbreviated head word and a space take
_APART = 6  # characters: between names in a list, a comma or "and"
_LISTED = re.compile(r"[ ]?(?:,|;|/|\+|\band\b|\by\b|\be\b|\bja\b|\bsekä\b|\bor\b)[ ]?")
# From the word for an institution to a name in its name: "Instituto Colombiano del".
_OF = rf"(?:[ ](?:de|del|la|las|los|el|y|e|of|the|for|para|and|(?-i:[{UPPER}])[\w'’-]*)){{0,4}}[ ]"


class NameContext:
    """Decides by the surrounding words whether a name in a note is that of a person or of a medical term.

    All offsets are character offsets in the note; only `REACH` characters on each side of the name are read.
    """

    def __init__(self, lang: str) -> None:
        """Compile the expressions of a language.

        lang (str): ISO 639-1 code. For a language without ``name_context.toml``, the English expressions are used.
        """
        data = read_context(lang)
        self.lang = lang
        initials = rf"(?:[{UPPER}]\.[ ]?){{0,3}}"
        self._title = pattern_before(data["titles"], rf"\.?[ªº]?\.?[ ]{{1,2}}{initials}")
        self._doctor = pattern_before(data["doctors"], rf"\.?[ªº]?\.?[ ]{{1,2}}{initials}")
        self._role = pattern_before(data["roles"], "[ ,:]{1,2}")
        self._key = pattern_before(data["keys"], r"\.?[ ]?:[ ]{0,4}")
        self._credentials = pattern_after(data["credentials"])
        self._verb = pattern_after([rf"(?:['’]s)?[ ](?:{'|'.join(data['verbs'])})"])
        self._place_before = pattern_before(data["institutions_before"], _OF)
        self._place_after = pattern_after(data["institutions_after"])
        introduced = [*data["before"], *data.get("bare_introducers", ())]
        self._before = pattern_before(introduced, "[ ]?(?<=[ :-])")
        self._after = pattern_after(data["after"])
        capital = rf"(?<![^\W_])(?=(?-i:[{UPPER}]))"
        self._signs = re.compile(rf"{capital}(?:{'|'.join(data['signs'])})(?:['’]s|in|n|ia|a)?", re.IGNORECASE)
        self._sign_before = pattern_before(data["signs_before"], "")
        self._sign_after = pattern_after(data["signs_after"])
        self._possessive = bool(data["possessive"])
        heads = "|".join(data.get("ambiguous_heads", ())) or "(?!)"
        self._ambiguous_head = re.compile(rf"(?<!\w)(?:{heads})[ ]", re.IGNORECASE)
        self._heading = pattern_before(data["headings"], r":[^.:\n]{0,60}(?:[,;/]|\by|\bja|\band)[ ]")

    def person(self, text: str, start: int, end: int, *, headed: bool = False) -> str:
        """Find evidence in the surrounding words that a name is that of a person or an institution.

        text (str): the note.
        start, end (int): span of the name and of its head word, if it has one.
        headed (bool): whether the span includes a head word, as in "Parkinson's disease".
        RETURNS (str): the type of the first evidence: "title" ("Dr."), "institution", "key" ("Surname:"), "initial",
            "given" (a given name) or "credentials" ("MD"); "" if there is none.
        """
        left, right = _line(text, start), text[end : end + REACH]
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
        """Check whether a clinician's title precedes a name.

        text (str): the note.
        start (int): offset of the name.
        RETURNS (bool): True after "Dr.", False after "Mr.".
        """
        return bool(self._doctor.search(_line(text, start)))

    def introduced(self, text: str, start: int) -> bool:
        """Check whether words that introduce a disease ("severe", "history of") precede a name.

        text (str): the note.
        start (int): offset of the name.
        RETURNS (bool): True if such words precede it.
        """
        return bool(self._before.search(_line(text, start)))

    def _given_before(self, left: str) -> bool:
        """Whether the last word of `left`, the text before a name on its line, is a given name."""
        match = _WORD_BEFORE.search(left)
        if match is None or not match[1][0].isupper() or self._before.search(left):
            return False
        return normal_form(match[1]) in given_names()

    def _behind(self, right: str) -> str:
        """The evidence after a surname that it is a person's: a degree, a given name, another surname; "" if none."""
        if self._credentials.match(right) or _LETTERS_AFTER.match(right):
            return "credentials"
        if (match := _GIVEN_AFTER.match(right)) and normal_form(match[1]) in given_names():
            return "given"
        return "given" if _WORD_AFTER.match(right) and not self._after.match(right) else ""

    def medical(self, text: str, start: int, end: int, terms: SpanIndex[Any], kind: str = "") -> str:
        """Find evidence in the surrounding words that a name without a head word is a medical term.

        text (str): the note.
        start, end (int): span of the name.
        terms (SpanIndex): other medical terms of the note.
        kind (str): kind of the medical term (`dictionary.KINDS`); "" if unknown. For a device or a test, less evidence
            is required than for a disease.
        RETURNS (str): the type of evidence: "before" or "after" (words that precede or follow medical terms), "sign"
            (a test with its result), "possessive", "chain" (two names with a hyphen), "technical" (an article before
            the name of a device or test), "dose" (an amount after a drug) or "listed" (next to another medical term);
            "" if there is no evidence, or if the name is a person's.
        """
        if self.person(text, start, end):
            return ""
        if self.introduced(text, start):
            return "before"
        if kind == "drug" and _DOSE.match(text, end):
            return "dose"
        if self.sign(text, start, end):
            return "sign"
        if kind in _TECHNICAL and _CHAIN.fullmatch(text, start, end):  # "Por Swan-Ganz se mide": no couple is meant
            return "chain"
        if self.acts(text, start, end) or self._capital_before(_line(text, start)):
            return ""
        name, left, right = text[start:end], _line(text, start), text[end : end + REACH]
        if self._after.match("'s" + right if _POSSESSIVE.search(name) else right):
            return "after"
        return self._looks(name, left, right, kind) or (
            "listed" if self._heading.search(left) or _listed(text, start, end, terms) else ""
        )

    def _looks(self, name: str, left: str, right: str, kind: str) -> str:
        """Look for evidence in the spelling of a name and the words next to it that it belongs to a medical term.

        name (str): the name.
        left, right (str): text of the line before the name, and text after it.
        kind (str): kind of the medical term, as in `evidence`.
        RETURNS (str): "chain", "after", "technical" or "possessive", as in `evidence`; "" if there is no evidence.
        """
        if _CHAIN.fullmatch(name):
            return "chain"
        if (match := _ABBREVIATED.match(right)) and match[1] == name[0]:
            return "after"
        word = _LOWER_BEFORE.search(left)
        if kind in _TECHNICAL and word and (word[1] in _ARTICLES or word[1] not in function_words()):
            return "technical"
        ends = self._possessive and _POSSESSIVE.search(name) and _POSSESSIVE_END.match(right)
        return "possessive" if ends and not _AT.search(left) else ""

    def sign(self, text: str, start: int, end: int) -> bool:
        """Check whether a name is that of a clinical sign or test next to its result: "Murphy negative".

        text (str): the note.
        start, end (int): span of the name.
        RETURNS (bool): True if it is, and nothing before it indicates a person.
        """
        if not self._signs.fullmatch(text, start, end) or self.person(text, start, end) in ("title", "key", "initial"):
            return False
        left, right = text[max(0, start - REACH) : start], text[end : end + REACH]
        return bool(self._sign_before.search(left) or self._sign_after.match(right))

    def ambiguous(self, text: str, start: int, end: int) -> bool:
        """Check whether a head word can be the abbreviation of a profession, and the name can be that of a person.

        text (str): the note.
        start, end (int): span of a medical term.
        RETURNS (bool): True for "enf. Cid", which can be a disease or a nurse ("enfermera"); False for "enf. Crohn".
        """
        phrase = _line(text, start) + text[start:end]
        match = self._ambiguous_head.search(phrase, max(0, len(phrase) - (end - start) - _LONGEST_HEAD))
        if match is None:
            return False
        names = name_words(self.lang)
        return any(normal_form(word) in names for word in re.findall(CAPITALISED, phrase[match.end() :]))

    def acts(self, text: str, start: int, end: int) -> bool:
        """Check whether a person's role precedes a name or an activity follows it: "daughter Bell", "Bell walked".

        text (str): the note.
        start, end (int): span of the name.
        RETURNS (bool): True if either is the case, so that the name is a person's.
        """
        left, right = _line(text, start), text[end : end + REACH]
        role = self._role.search(left)
        if role and (left.endswith(", ") or _POSSESSIVE.search(text[start:end])):
            role = None if self._nobodys(text[start:end]) else role
        return bool(role or self._verb.match(right))

    def _nobodys(self, name: str) -> bool:
        """Whether no word of a name is in a list of names: "brother, Perthes as a child", "father Dupuytren's"."""
        return not any(is_person_name(normal_form(word)) for word in re.findall(CAPITALISED, name))

    def _capital_before(self, left: str) -> bool:
        """Whether a capitalised word, possibly an unlisted given name, precedes a name within a sentence."""
        match = _WORD_BEFORE.search(left)
        if match is None or not match[1][0].isupper() or (match[1].isupper() and len(match[1]) <= 5):
            return False
        return not _SENTENCE.search(left[: match.start()])

    def signs(self, text: str, start: int = 0, end: int | None = None) -> list[MedicalUse]:
        """Find the names of clinical signs and tests that are next to their result ("Murphy negative").

        text (str): the note.
        start, end (int): the stretch of the note that is searched; the whole note by default.
        RETURNS (list[MedicalUse]): the names in the order of the text, with the rule "eponym:result".
        """
        matches = self._signs.finditer(text, start, len(text) if end is None else end)
        found = (match.span() for match in matches if _free(text, *match.span()))
        return [MedicalUse(start, end, "eponym:result") for start, end in found if self.sign(text, start, end)]


def _line(text: str, start: int) -> str:
    """The text before a name on its line, at most `REACH` characters."""
    return text[max(0, start - REACH) : start].rpartition("\n")[2]


def _free(text: str, start: int, end: int) -> bool:
    """Whether a stretch of text begins and ends at word boundaries."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() or after.isalnum() or before == "-")


def _listed(text: str, start: int, end: int, terms: SpanIndex[Any]) -> bool:
    """Whether only a comma, a slash or a conjunction separates a name from another medical term."""
    for term in terms(start - _APART, end + _APART):
        if term.end <= start and _LISTED.fullmatch(text, term.end, start):
            return True
        if term.start >= end and _LISTED.fullmatch(text, end, term.start):
            return True
    return False


@cache
def read_context(lang: str) -> dict[str, Any]:
    """Read the expressions that distinguish persons' names from medical terms, of all languages and of one language.

    lang (str): ISO 639-1 code. For a language without ``name_context.toml``, the English expressions are read.
    RETURNS (dict[str, Any]): key of ``name_context.toml`` → list of regular expressions, or a setting.
    """
    common = files("spacy_deid") / "resources" / "recovery" / "context" / "common.toml"
    data: dict[str, Any] = tomllib.loads(common.read_text(encoding="utf8"))
    name = "name_context.toml"
    for key, value in (get_language(lang).read_toml(name) or get_language(FALLBACK).read_toml(name)).items():
        data[key] = [*data.get(key, []), *value] if isinstance(value, list) else value
    return data


def pattern_before(alternatives: Iterable[str], tail: str) -> re.Pattern[str]:
    """Compile a pattern for the words before a name.

    alternatives (Iterable[str]): regular expressions for the words.
    tail (str): regular expression for the characters between the words and the name.
    RETURNS (re.Pattern): a case-insensitive pattern, anchored at the end. Use `search` on the text before the name.
    """
    return re.compile(rf"(?<!\w)(?:{'|'.join(alternatives)}){tail}$", re.IGNORECASE)


def pattern_after(alternatives: Iterable[str]) -> re.Pattern[str]:
    """Compile a pattern for the words after a name.

    alternatives (Iterable[str]): regular expressions for the words, with the space before them.
    RETURNS (re.Pattern): a case-insensitive pattern. Use `match` on the text after the name.
    """
    return re.compile(rf"(?:{'|'.join(alternatives)})", re.IGNORECASE)
