"""Corrections of predicted spans: edges, roles of persons, and further mentions of names that were found.

A header says "Nombre: Nadia" and the prose says "Nadia duerme mal": the first mention is easy to find, the second is
not. Each word of a name that was found is therefore searched for in the whole note; see `propagate_names`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence

import numpy as np
from spacy.attrs import IS_ALPHA, IS_LOWER, IS_UPPER, LENGTH, LOWER
from spacy.strings import hash_string  # type: ignore[attr-defined]
from spacy.tokens import Doc, Token

from .decoding import Decoded

_CLOSING = frozenset(".,;:!?)]}-–—/")
_TITLES = frozenset(
    "dr dra drs dres doctor doctora prof profesor profesora professor d dña don doña sr sra srta mr mrs ms miss mx "
    "nurse sister sor enfermera enfermero tri tohtori dos dosentti professori rva rouva hra herra sh lääkäri".split()
)


# words between two telephone numbers, and the digits of the shorter
_BETWEEN = frozenset({"y", "o", "e", "and", "or", "ja", "tai"})
_DIGITS = 6
_PLACES = 3  # decimals of a result


def widen(spans: Decoded, dense: np.ndarray) -> Decoded:
    """Convert spans of dense tokens to spans of all tokens; white space inside a span belongs to it.

    spans (Decoded): spans of dense tokens.
    dense (ndarray): token indices of the dense tokens.
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
    parted: Decoded = []
    for start, end, label, score in spans:
        edges = [start]
        for i in range(start, end) if label in contacts else ():
            both = doc[edges[-1] : i], doc[i + 1 : end]
            if doc[i].lower_ in _BETWEEN and all(sum(map(str.isdigit, part.text)) >= _DIGITS for part in both):
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
    names = [_words(doc, start, end) if label in persons else frozenset() for start, end, label, _ in spans]
    mentions: defaultdict[frozenset[str], Counter[int]] = defaultdict(Counter)
    for (*_, label, score), name in zip(spans, names, strict=True):
        mentions[name][label] += score  # type: ignore[assignment]
    having = defaultdict(list)
    for name in mentions:
        for word in name:
            having[word].append(name)
    roles: dict[frozenset[str], int] = {}
    settled: Decoded = []
    for (start, end, label, score), name in zip(spans, names, strict=True):
        if name and not _has_title(doc, start):
            if name not in roles:
                rarest = min(name, key=lambda word: len(having[word]))
                votes = sum((mentions[other] for other in having[rarest] if name <= other), Counter())
                roles[name] = votes.most_common(1)[0][0]
            label = roles[name]
        settled.append((start, end, label, score))
    return settled


def _words(doc: Doc, start: int, end: int) -> frozenset[str]:
    """Return the lower-case words of a name, without initials."""
    return frozenset(token.lower_ for token in doc[start:end] if token.is_alpha and len(token) > 1)


def _has_title(doc: Doc, start: int) -> bool:
    """Return whether a title precedes a token, with or without a full stop."""
    before = start - 2 if start > 1 and doc[start - 1].text == "." else start - 1
    return before >= 0 and doc[before].lower_.rstrip(".") in _TITLES


_SHORTEST = 3  # characters of a word that is looked for again


def propagate_names(
    doc: Doc,
    spans: Sequence[tuple[int, int, int, float]],
    persons: Collection[int],
    forms: Callable[[str], Collection[str]] | None = None,
) -> list[tuple[int, int, int, float]]:
    """Find further mentions of the words of names.

    A word is searched for if it has at least three letters, is not in lower case, and never occurs in lower case in
    the note: "del" in "Ana del Río" is not searched for, nor is "Cruz" if the note has "cruz roja". In a note mostly
    in capitals names look like other words, so nothing is searched for.

    doc (Doc): the note.
    spans (Sequence[tuple]): spans that were found: start token, end token, label index, probability.
    persons (Collection[int]): indices of the labels of persons.
    forms (Optional[Callable]): name → its case forms, in a language with cases: "Virtanen" is found as "Virtasella".
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
    read: set[int] = set()  # a name stands in a long note a thousand times, and its cases take long to make
    for start, end, label, score in spans:
        free[start:end] = False
        for token in doc[start:end] if label in persons else ():
            if written[token.i] and token.orth not in read:
                read.add(token.orth)
                names = [token.lower, *_cases(token, forms)]
                known |= {name: (label, score) for name in names if name not in common and name not in known}
    again = np.flatnonzero(free & written & np.isin(lower, np.fromiter(known, dtype=np.uint64, count=len(known))))
    runs = np.split(again, np.flatnonzero(np.diff(again) != 1) + 1) if len(again) else []
    return [(int(run[0]), int(run[-1]) + 1, *known[int(lower[run[0]])]) for run in runs]


def _cases(token: Token, forms: Callable[[str], Collection[str]] | None) -> list[int]:
    """Return the hashes of the lower-case case forms of a name."""
    name = token.text if token.is_title else token.text.capitalize()
    return [hash_string(form.lower()) for form in forms(name)] if forms else []
