"""Plausibility rules for predictions of the classifier: implausible predictions are relabelled, shortened or dropped.

The classifier has learned the words around an identifier, so on a line that looks like a form it may give "viudo" the
label of the number that usually occurs there. Two files define what each label requires, independent of the weights:
``resources/admission/common.toml`` for all languages, and ``lang/XX/admission.toml`` with the words of a language. A
prediction is dropped only if its text is known to identify nobody; otherwise it stays covered under another label.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from spacy.tokens import Doc

from ..lang import get_language
from .decoding import Decoded

__all__ = ["Admission", "admit", "read_admission"]

_NUMBER = re.compile(r"[\d./-]+")
_PAIR = re.compile(r"\d{1,4}[./-]\d{1,4}(?:[./-]\d{1,4})?[-/]\d{1,4}[./-]\d{1,4}(?:[./-]\d{1,4})?")  # "3/5/19-8/5/19"
_YEARS = re.compile(r"(?:19|20)\d\d(?:[./-](?:19|20)\d\d)+")
_TIME = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d")
_DATE_DIGITS = 8
_REACH = 40  # characters around a guess in which a phrase is looked for
_ZIP_DIGITS = 5
_PHONE_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Admission:
    """The plausibility rules of one language.

    numbers, names, dates, ages, streets (frozenset[str]): canonical labels; common.toml defines what they require.
    nothing (frozenset[str]): lower-case phrases that identify nobody.
    keys (frozenset[str]): field keys, which identify nobody before a colon.
    describing (frozenset[str]): words that describe a person and cannot be a number.
    ends (frozenset[str]): field keys that end a preceding name.
    contacts (Mapping[str, str]): key that ends a street → label of the text after it.
    places (Mapping[str, str]): "zip" and "city" → their labels.
    """

    numbers: frozenset[str]
    names: frozenset[str]
    dates: frozenset[str]
    ages: frozenset[str]
    streets: frozenset[str]
    nothing: frozenset[str] = frozenset()
    keys: frozenset[str] = frozenset()
    describing: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    contacts: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)


@cache
def read_admission(lang: str) -> Admission:
    """Read the rules of a language.

    lang (str): language code; a language without a file has only the common rules.
    RETURNS (Admission): the rules.
    """
    common = files("spacy_deid") / "resources" / "admission" / "common.toml"
    data = tomllib.loads(common.read_text(encoding="utf8")) | get_language(lang).read_toml("admission.toml")
    contacts = {word: label for label, words in data.pop("contacts", {}).items() for word in words}
    words = {key: frozenset(value) for key, value in data.items() if isinstance(value, list)}
    return Admission(**words, contacts=contacts, places=data.get("places", {}))


def admit(doc: Doc, spans: Decoded, labels: Sequence[str]) -> Decoded:
    """Relabel, shorten or drop implausible predictions.

    doc (Doc): the note.
    spans (Decoded): the predictions, in the order of the text.
    labels (Sequence[str]): canonical labels by index. Labels that the classifier does not have are never assigned.
    RETURNS (Decoded): the remaining predictions with their probabilities, in the order of the text.
    """
    rules = read_admission(doc.lang_)
    number = {label: i for i, label in enumerate(labels)}
    admitted = []
    for start, end, label, score in spans:
        for first, last, name in _parts(doc, start, end, labels[label], rules):
            if not _is_nothing(doc, first, last, name, rules):
                name = _admissible(doc[first:last].text, name, rules)
                admitted.append((first, last, number.get(name, label), score))
    return admitted


def _parts(doc: Doc, start: int, end: int, label: str, rules: Admission) -> list[tuple[int, int, str]]:
    """Split a street before a postal code or telephone number, and a name before the next field key."""
    if label in rules.streets:
        marks = _address_marks(doc, start, end, rules)
    elif label in rules.names:
        marks = _name_marks(doc, start, end, label, rules)
    else:
        marks = []
    parts, first, name = [], start, label
    for last, after, following in [*marks, (end, end, label)]:
        while first < last and not doc[first].text[0].isalnum() and marks:
            first += 1
        before = last
        while before > first and marks and last < end and not doc[before - 1].text[-1].isalnum():
            before -= 1
        if first < before:
            parts.append((first, before, name))
        first, name = after, following
    return parts


def _name_marks(doc: Doc, start: int, end: int, label: str, rules: Admission) -> list[tuple[int, int, str]]:
    """Return where a name ends: at the next field key, or at a word for a telephone before a number."""
    marks = []
    for i in range(start, end):
        token = doc[i]
        if i > start and token.lower_ in rules.ends and token.text[0].isupper():
            marks.append((i, i + 1, label))
        elif token.lower_ in rules.contacts and i + 1 < end and doc[i + 1].is_digit:
            marks.append((i, i + 1, rules.contacts[token.lower_]))
    return marks


def _address_marks(doc: Doc, start: int, end: int, rules: Admission) -> list[tuple[int, int, str]]:
    """Return where the parts of an address end, as (first excluded token, first token of the next part, its label)."""
    marks, numbered = [], False
    for i in range(start + 1, end):
        token = doc[i]
        if token.lower_ in rules.contacts and _is_contact(doc[i + 1 : end].text):
            marks.append((i, i + 1, rules.contacts[token.lower_]))
        elif numbered and not marks and rules.places and _is_postal_code(doc, i, end):
            marks.append((i, i, rules.places["zip"]))
            if i + 1 < end and doc[i + 1].lower_ not in rules.contacts:
                marks.append((i + 1, i + 1, rules.places["city"]))
        numbered |= token.is_digit
    return marks


def _is_contact(text: str) -> bool:
    """Return whether a text is long enough for a telephone number, or contains an e-mail address."""
    return sum(map(str.isdigit, text)) >= _PHONE_DIGITS or "@" in text


def _is_postal_code(doc: Doc, i: int, end: int) -> bool:
    """Return whether a token has five digits and follows a space, at the end of an address or before a capitalized
    word.
    """
    token = doc[i]
    stands = token.is_digit and len(token) == _ZIP_DIGITS and (doc[i - 1].whitespace_ or doc[i - 1].is_space)
    return stands and (i + 1 == end or (doc[i + 1].text[0].isupper() and len(doc[i + 1]) > 1))


def _is_nothing(doc: Doc, start: int, end: int, label: str, rules: Admission) -> bool:
    """Return whether the words are known to identify nobody."""
    span = doc[start:end]
    text = span.text.lower()
    following = doc[end].text if end < len(doc) else ""
    if text in rules.keys and following == ":":
        return True
    if label in rules.ages and _is_minutes(doc, start, end):
        return True
    near = doc[max(0, start - _REACH) : end + _REACH]  # a token has a character at least
    first = max(0, span.start_char - _REACH)
    around = near.text[first - near.start_char : span.end_char + _REACH - near.start_char].lower()
    at = span.start_char - first
    return any(text in phrase and _holds(around, phrase, at, at + len(text)) for phrase in rules.nothing)


def _is_minutes(doc: Doc, start: int, end: int) -> bool:
    """Return whether a token is the minutes of a time of day: "35" in "08:35"."""
    if end - start > 1 or start < 2 or doc[start - 1].text != ":":
        return False
    time = doc[start - 2 : end].text
    return bool(_TIME.fullmatch(time))


def _holds(text: str, phrase: str, start: int, end: int) -> bool:
    """Return whether a text contains a phrase as whole words that includes the characters from start to end."""
    found = text.find(phrase)
    while 0 <= found <= start:
        last = found + len(phrase)
        if end <= last and not text[found - 1 : found].isalnum() and not text[last : last + 1].isalnum():
            return True
        found = text.find(phrase, found + 1)
    return False


def _admissible(text: str, label: str, rules: Admission) -> str:
    """Return the label, or the label that replaces it because the text is implausible for it."""
    digits = sum(map(str.isdigit, text))
    if label == "MRN" and text.lower() in rules.describing:
        return "OTHER"
    if label in rules.numbers and not digits and text.islower():
        return "OTHER"
    if label in rules.names and digits and not any(map(str.isalpha, text)):
        return "ID_OTHER"
    if label in rules.dates and digits > _DATE_DIGITS and _NUMBER.fullmatch(text):
        return label if _PAIR.fullmatch(text) or _YEARS.fullmatch(text) else "ID_OTHER"
    return label
