"""Corrections of predicted spans: plausibility, edges, roles of persons, and further mentions of found names.

The classifier has learned the words around an identifier, so on a line that looks like a form it may give "viudo" the
label of the number that usually occurs there. `admit` relabels, shortens or drops implausible predictions. Two files
define what each label requires, independent of the weights: ``resources/admission/common.toml`` for all languages, and
``lang/XX/admission.toml`` with the words of a language. A prediction is dropped only if its text is known to identify
nobody; otherwise it stays covered under another label.

A header says "Nombre: Nadia" and the prose says "Nadia duerme mal": the first mention is easy to find, the second is
not. Each word of a name that was found is therefore searched for in the whole note; see `propagate_names`.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

import numpy as np
from spacy.attrs import IS_ALPHA, IS_LOWER, IS_UPPER, LENGTH, LOWER
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc

from ..lang import get_language, shared_words
from .decoding import Decoded

_CLOSING = frozenset(".,;:!?)]}-–—/")
_DIGITS = 6  # of the shorter of two telephone numbers in one span
_PLACES = 3  # decimals of a result


def widen(spans: Decoded, dense: np.ndarray) -> Decoded:
    """Convert spans over tokens that are not white space to spans over all tokens. White space inside is included.

    spans (Decoded): spans over the tokens that are not white space.
    dense (ndarray): index in the Doc of each token that is not white space.
    RETURNS (Decoded): spans of tokens.
    """
    return [(int(dense[start]), int(dense[end - 1]) + 1, label, score) for start, end, label, score in spans]


def trim(doc: Doc, spans: Decoded) -> Decoded:
    """Trim spans: closing punctuation before the first word, and white space at both ends.

    Replacing a line break would join two lines. Opening punctuation is kept ("+358 40", "(212) 555"), and so is
    punctuation after the last word, because it may belong to it ("4 izq."). The word for "number" at the end of a name
    is removed, and so are the decimals of a result in the preceding column ("13,2 03/05/2019"). Spans without a letter
    or digit are dropped.

    doc (Doc): the note.
    spans (Decoded): spans.
    RETURNS (Decoded): trimmed spans.
    """
    trimmed = []
    for start, end, label, score in spans:
        start += _decimals(doc, start, end)
        while start < end and (doc[start].is_space or doc[start].text in _CLOSING):
            start += 1
        while start < end and (doc[end - 1].is_space or doc[end - 1].text.startswith("Nº")):
            end -= 1
        if any(char.isalnum() for char in doc[start:end].text):
            trimmed.append((start, end, label, score))
    return trimmed


def _decimals(doc: Doc, start: int, end: int) -> int:
    """Return the number of tokens (0 or 1) at the start of a span that are the decimals of a preceding number."""
    if not (start > 1 and end - start > 1 and doc[start].is_digit and len(doc[start]) <= _PLACES):
        return 0
    number, mark = doc[start - 2], doc[start - 1]
    alone = start == 2 or bool(doc[start - 3].whitespace_) or doc[start - 3].is_space
    inside = number.is_digit and mark.text in ",." and not number.whitespace_ and not mark.whitespace_
    ends = bool(doc[start].whitespace_) or doc[start + 1].is_space
    return int(alone and inside and ends and any(char.isalnum() for char in doc[start + 1 : end].text))


def split_contacts(doc: Doc, spans: Decoded, contacts: Collection[int]) -> Decoded:
    """Split two addresses or numbers in one span: "ana@x.es eva@x.es", "956 013 059 y 956 013 060".

    An e-mail address contains no space; two numbers are separated by a word. Only that space or word is uncovered.

    doc (Doc): the note.
    spans (Decoded): spans.
    contacts (Collection[int]): indices of the labels of e-mail addresses, telephone and fax numbers.
    RETURNS (Decoded): the spans; each part has the label and probability of the whole.
    """
    between = shared_words("note_words.toml", "numbers", "conjunctions")
    parted: Decoded = []
    for start, end, label, score in spans:
        edges = [start]
        for i in range(start, end) if label in contacts else ():
            both = doc[edges[-1] : i], doc[i + 1 : end]
            if doc[i].lower_ in between and all(sum(map(str.isdigit, part.text)) >= _DIGITS for part in both):
                edges += [i, i + 1]
            elif doc[i].whitespace_ and i + 1 < end and "@" in doc[start:end].text:
                edges += [i + 1, i + 1]
        edges.append(end)
        parted += [(a, b, label, score) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]
    return parted


def join_names(
    doc: Doc, spans: Decoded, persons: Collection[int], echoes: Collection[tuple[int, int, int, float]] = ()
) -> Decoded:
    """Join the parts of a name that were predicted with different roles: "Ada" as a patient and "Okafor" as a
    clinician.

    Only capitalized words are joined: "hermana" and "Ana" are separate facts about a relative. The longer part
    determines the role; if both are equally long, the first.

    doc (Doc): the note.
    spans (Decoded): spans in the order of the text.
    persons (Collection[int]): indices of the labels of persons.
    echoes (Collection[tuple]): spans that were found through another mention; they are joined to a part of the same
        role, too.
    RETURNS (Decoded): the spans; a joined span has the lowest probability of its parts.
    """
    joined: Decoded = []
    for start, end, label, score in spans:
        first, last, role, sure = joined[-1] if joined else (0, 0, -1, 0.0)
        parts = label != role or (start, end, label, score) in echoes or (first, last, role, sure) in echoes
        names = parts and {label, role} <= set(persons)
        if names and last == start and doc[first].text[:1].isupper() and doc[start].text[:1].isupper():
            longer = role if last - first >= end - start else label
            joined[-1] = (first, end, longer, min(sure, score))
        else:
            joined.append((start, end, label, score))
    return joined


def settle_roles(doc: Doc, spans: Decoded, persons: Collection[int]) -> Decoded:
    """Assign each name the same role in the whole note.

    A mention is decided by a vote of all mentions that contain its words, weighted by probability. So "Okafor" may be
    decided by "Ada Okafor", but not the other way round. A mention with a title ("Dr. Okafor") keeps its role.

    doc (Doc): the note.
    spans (Decoded): disjoint spans.
    persons (Collection[int]): indices of the labels of persons.
    RETURNS (Decoded): the same spans, some with another role.
    """
    names = [
        frozenset(token.lower_ for token in doc[start:end] if token.is_alpha and len(token) > 1)
        if label in persons
        else frozenset()
        for start, end, label, _ in spans
    ]
    mentions: defaultdict[frozenset[str], Counter[int]] = defaultdict(Counter)
    for (*_, label, score), name in zip(spans, names, strict=True):
        mentions[name][label] += score  # type: ignore[assignment]
    having = defaultdict(list)
    for name in mentions:
        for word in name:
            having[word].append(name)
    titles = shared_words("note_words.toml", "names", "titles")
    roles: dict[frozenset[str], int] = {}
    settled: Decoded = []
    for (start, end, label, score), name in zip(spans, names, strict=True):
        before = start - 2 if start > 1 and doc[start - 1].text == "." else start - 1
        titled = before >= 0 and doc[before].lower_.rstrip(".") in titles
        if name and not titled:
            if name not in roles:
                rarest = min(name, key=lambda word: len(having[word]))
                votes = sum((mentions[other] for other in having[rarest] if name <= other), Counter())
                roles[name] = votes.most_common(1)[0][0]
            label = roles[name]
        settled.append((start, end, label, score))
    return settled


_SHORTEST = 3  # characters of a word that is looked for again
_CERTAIN = 2  # places at which a known word must have been found to be looked for again


def propagate_names(
    doc: Doc,
    spans: Sequence[tuple[int, int, int, float]],
    persons: Collection[int],
    forms: Callable[[str], Collection[str]] | None = None,
    is_known: Callable[[str], bool] | None = None,
) -> list[tuple[int, int, int, float]]:
    """Find further mentions of the words of names.

    A word is searched for if it has at least three letters, is not in lower case, and never occurs in lower case in
    the note: "del" in "Ana del Río" is not searched for, nor is "Cruz" if the note has "cruz roja". In a note mostly
    in capitals names look like other words, so nothing is searched for.

    One mistake must not cover a common word in the whole note. A known word, such as a field key or a drug, is
    therefore found again only if it was found as a name at two places, or next to another word of a name.

    doc (Doc): the note.
    spans (Sequence[tuple]): spans that were found: start token, end token, label index, probability.
    persons (Collection[int]): indices of the labels of persons.
    forms (Optional[Callable]): name → its case forms, in a language with cases: "Virtanen" is found as "Virtasella".
    is_known (Optional[Callable]): word → whether it is a known word that is usually no name; see
        `medical.known_words`. None if no word is known.
    RETURNS (list[tuple]): further spans, disjoint from the given ones; each has the label and probability of the first
        span that contains its first word.
    """
    if not any(label in persons for _, _, label, _ in spans):
        return []
    lower, alpha, small, capitals, length = doc.to_array([LOWER, IS_ALPHA, IS_LOWER, IS_UPPER, LENGTH]).T
    words = (alpha == 1) & (length >= _SHORTEST)
    if 2 * np.count_nonzero(words & (capitals == 1)) > np.count_nonzero(words):
        return []
    free, written = np.ones(len(doc), dtype=bool), words & (small == 0)
    common = set(lower[small == 1].tolist())
    known: dict[int, tuple[int, float]] = {}
    places: Counter[int] = Counter()
    origin: dict[int, tuple[int, str]] = {}  # form of a word of a name → the word
    read: set[int] = set()  # a name stands in a long note a thousand times, and its cases take long to make
    for start, end, label, score in spans:
        free[start:end] = False
        for token in doc[start:end] if label in persons else ():
            places[token.lower] += 1
            if written[token.i] and token.orth not in read:
                read.add(token.orth)
                name = token.text if token.is_title else token.text.capitalize()
                names = [token.lower, *([hash_string(form.lower()) for form in forms(name)] if forms else [])]
                new = [name for name in names if name not in common and name not in known]
                known |= dict.fromkeys(new, (label, score))
                origin |= dict.fromkeys(new, (token.lower, token.lower_))
    unread = np.flatnonzero(free & written)
    again = unread[[word in known for word in lower[unread].tolist()]]
    runs = np.split(again, np.flatnonzero(np.diff(again) != 1) + 1) if len(again) else []
    if is_known:

        def is_weak(form: int) -> bool:
            word, text = origin[form]
            return places[word] < _CERTAIN and is_known(text)

        runs = [run for run in runs if not all(map(is_weak, lower[run].tolist()))]
    return [(int(run[0]), int(run[-1]) + 1, *known[int(lower[run[0]])]) for run in runs]


_NUMBER = re.compile(r"[\d./-]+")
_PAIR = re.compile(r"\d{1,4}[./-]\d{1,4}(?:[./-]\d{1,4})?[-/]\d{1,4}[./-]\d{1,4}(?:[./-]\d{1,4})?")  # "3/5/19-8/5/19"
_YEARS = re.compile(r"(?:19|20)\d\d(?:[./-](?:19|20)\d\d)+")
_TIME = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d")
_DATE_DIGITS = 8
_REACH = 40  # characters around a guess in which a phrase is looked for
_ZIP_DIGITS = 5
_FULL_NAME = 3  # words of a given name and two surnames
_PHONE_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Admission:
    """The plausibility rules of one language.

    numbers, names, dates, ages, streets (frozenset[str]): canonical labels; common.toml defines what they require.
    nothing (frozenset[str]): lower-case phrases that identify nobody.
    phrases (str): the same phrases, one per line. Most predictions are part of none, which one search tells.
    keys (frozenset[str]): field keys, which identify nobody before a colon.
    describing (frozenset[str]): words that describe a person and cannot be a number.
    ends (frozenset[str]): field keys that end a preceding name.
    courtesy (frozenset[str]): titles without their period that a guess does not include if a full name follows.
    contacts (Mapping[str, str]): key that ends a street → label of the text after it.
    places (Mapping[str, str]): "zip" and "city" → their labels.
    """

    numbers: frozenset[str]
    names: frozenset[str]
    dates: frozenset[str]
    ages: frozenset[str]
    streets: frozenset[str]
    nothing: frozenset[str] = frozenset()
    phrases: str = ""
    keys: frozenset[str] = frozenset()
    describing: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    courtesy: frozenset[str] = frozenset()
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
    phrases = "\n".join(sorted(words.get("nothing", ())))
    return Admission(**words, phrases=phrases, contacts=contacts, places=data.get("places", {}))


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
        start += _courtesy(doc, start, end, rules)
        marks = []
        for i in range(start, end):
            token = doc[i]
            if i > start and token.lower_ in rules.ends and token.text[0].isupper():
                marks.append((i, i + 1, label))
            elif token.lower_ in rules.contacts and i + 1 < end and doc[i + 1].is_digit:
                marks.append((i, i + 1, rules.contacts[token.lower_]))
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


def _courtesy(doc: Doc, start: int, end: int, rules: Admission) -> int:
    """Return the number of tokens of a title at the start of a full name: "D. Ana Gil Ruiz". Before fewer words, the
    "D." may be the initial of a given name.
    """
    if doc[start].lower_.rstrip(".") not in rules.courtesy:
        return 0
    length = 2 if end - start > 1 and doc[start + 1].text == "." else 1
    following = doc[start + length : start + length + _FULL_NAME]
    return length if sum(token.is_title for token in following) == _FULL_NAME else 0


def _address_marks(doc: Doc, start: int, end: int, rules: Admission) -> list[tuple[int, int, str]]:
    """Return where the parts of an address end, as (first excluded token, first token of the next part, its label)."""
    marks, numbered = [], False
    for i in range(start + 1, end):
        token = doc[i]
        if token.lower_ in rules.contacts and (
            sum(map(str.isdigit, doc[i + 1 : end].text)) >= _PHONE_DIGITS or "@" in doc[i + 1 : end].text
        ):
            marks.append((i, i + 1, rules.contacts[token.lower_]))
        elif numbered and not marks and rules.places and _is_postal_code(doc, i, end):
            marks.append((i, i, rules.places["zip"]))
            if i + 1 < end and doc[i + 1].lower_ not in rules.contacts:
                marks.append((i + 1, i + 1, rules.places["city"]))
        numbered |= token.is_digit
    return marks


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
    if text not in rules.phrases:
        return False
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
