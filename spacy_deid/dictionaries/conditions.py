"""Decide which dictionary terms found in a text count as matches.

A term can have the condition "name", which means that it is both an ordinary word and a name, such as "Will" or
"Rosa". It counts as a match only

- after a title or another cue for a name ("Dr. Will", "signed by J. Will", "Surname: Will");
- alone on the last line of a note, as a signature;
- next to another part of a name: "Ndu Will", "Will, Ndu". For a patient's own terms, any other part of a name is
    accepted. For terms of the institution, the other part must be a term without a condition, or one that these rules
    accept;
- for a patient's own terms, capitalised inside a sentence and between words in lower case: "seen with Will today", or
    with an initial: "Will N".

After a cue that is not a title, and as a signature, the term must be capitalised. Next to another part of a name, it
must be capitalised if that part is.

A patient's own term with the condition "capital" also counts wherever it begins with a capital, even if it is a title
("Dean"). This finds every name, at the cost of some ordinary words at the start of a sentence.

A place or an institution with the condition "capital", such as the region "Norte", counts only where it begins with a
capital, or in a note that has almost no capitals.

A one-word name of a person in the institution dictionary must also be capitalised, unless the note has almost no
capitals: a member of staff is called Bill, and a patient got a bill.

Finally, a match inside another match is dropped.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..lang import all_languages
from .matcher import Integers, Match, find_outer
from .normalise import Normalised
from .terms import PERSONS, Tag

_REACH = 60  # characters before a match to search for a cue
_GAPS = ("", " ", ", ", "-", ",", ". ", ".", "\u00a0", "\u2010")
_WIDEST = max(map(len, _GAPS))
_WORD = r"(?:[^\W\d_a-zà-öø-ÿ][\w'’-]*\.?\s+)"  # a capitalised word or an initial

_ONE_SMALL_WORD = re.compile(r"[^\W\d_A-ZÀ-ÖØ-Þ]+")
_END = re.compile(r"[ \t\r\n.]*\Z")
_INITIALS = 3
_WITH_INITIAL = re.compile(r"[^\W\d_a-zà-öø-ÿ][^\W\d_A-ZÀ-ÖØ-Þ]+,? [^\W\d_a-zà-öø-ÿ]\.?")
_WORD_BEFORE = re.compile(r"([^\W_]+)[ \t\xa0,(]+$")
_WORD_AFTER = re.compile(r"[ \t\xa0]+([^\W_]+)")
_STARTS = frozenset(".!?\n\r-–—*•>")  # characters before the first word of a sentence, line or list item
_CAPITALS = 0.05  # minimal share of capitalised words in a note that uses capitals


class _Span(NamedTuple):
    """The span of a term that was found in the original text.

    start, end (int): character offsets, end exclusive.
    tags (tuple[Tag, ...]): the tags of the term.
    """

    start: int
    end: int
    tags: tuple[Tag, ...]


class TagFlags(NamedTuple):
    """Two boolean properties of each of k terms, computed from their tags once, so that terms can be selected fast.

    conditional (NDArray): whether any tag of the term has a condition. Shape (k,), bool.
    of_persons (NDArray): whether all tags of the term have labels of persons, such as PATIENT. Shape (k,), bool.
    """

    conditional: NDArray[np.bool_]
    of_persons: NDArray[np.bool_]

    @classmethod
    def of(cls, tags: Sequence[tuple[Tag, ...]]) -> "TagFlags":
        """Compute the properties of terms from their tags.

        tags (Sequence): for each of the k terms its tags.
        RETURNS (TagFlags): the properties, in arrays of shape (k,).
        """
        conditional = [any(tag.condition for tag in several) for several in tags]
        persons = [all(tag.label in PERSONS for tag in several) for several in tags]
        return cls(np.array(conditional, dtype=bool), np.array(persons, dtype=bool))

    def take(self, places: NDArray[np.integer[Any]]) -> "TagFlags":
        """Select the properties of some of the terms.

        places (NDArray): the indices of these terms. Shape (m,).
        RETURNS (TagFlags): the properties, in arrays of shape (m,).
        """
        return TagFlags(self.conditional.take(places), self.of_persons.take(places))


def resolve_matches(
    text: str,
    folded: Normalised,
    starts: Integers,
    ends: Integers,
    tags: Sequence[tuple[Tag, ...]],
    flags: TagFlags,
    *,
    own: bool,
) -> list[Match]:
    """Convert the terms found in a text to matches: check the conditions of ambiguous names, drop matches inside other
    matches, and map offsets to the original text.

    text (str): the original text.
    folded (Normalised): the same text, normalised.
    starts, ends (NDArray): offsets of the k terms in the normalised text, end exclusive. Shape (k,).
    tags (Sequence): the tags of each of the k terms.
    flags (TagFlags): the properties of the k terms, computed from their tags.
    own (bool): True for the terms of the note's patient, False for those of the institution, which are checked more
        strictly.
    RETURNS (list[Match]): the matches in text order; a term with several tags gives one match for each tag.
    """
    if not len(starts):
        return []
    first, last = folded.original(starts, ends)
    small = set() if own else _small_names(text, folded, first, last, flags.of_persons)
    unsure = small.union(np.flatnonzero(flags.conditional).tolist())
    kept: dict[int, tuple[Tag, ...]] = {}
    if unsure:
        near = _near(unsure, np.array(first), np.array(last))
        spans = {i: _Span(first[i], last[i], tags[i]) for i in near}
        held = _hold(text, spans, unsure, own)
        if any(_is_place(span) for span in spans.values()) and folded.capitalised_share() <= _CAPITALS:
            held |= {i for i in unsure if _is_place(spans[i])}
        kept = {i: () if i in small else tuple(tag for tag in tags[i] if not tag.condition) for i in unsure - held}
    left = [i for i in range(len(first)) if kept.get(i, True)]
    return [
        Match(first[i], last[i], tag.label, tag.rule)
        for i in (left[j] for j in find_outer(starts.take(left), ends.take(left)).tolist())
        for tag in kept.get(i, tags[i])
    ]


def _small_names(
    text: str, folded: Normalised, first: Sequence[int], last: Sequence[int], of_persons: NDArray[np.bool_]
) -> set[int]:
    """Return the indices of the one-word names of persons in lower case; none if the note has almost no capitals."""
    small = np.flatnonzero(of_persons & folded.is_lowercase(first)).tolist()
    if not small or folded.capitalised_share() <= _CAPITALS:
        return set()
    return {i for i in small if _ONE_SMALL_WORD.fullmatch(text, first[i], last[i])}


def _near(unsure: Collection[int], first: Integers, last: Integers) -> list[int]:
    """Return the indices of the ambiguous spans and of the spans that are close enough to be next to one."""
    at = np.fromiter(unsure, dtype=np.int64)
    behind = first[:, None] - last.take(at)
    before = first.take(at) - last[:, None]
    near = ((behind >= 0) & (behind <= _WIDEST)) | ((before >= 0) & (before <= _WIDEST))
    return sorted({*np.flatnonzero(near.any(axis=1)).tolist(), *unsure})


def _hold(text: str, spans: Mapping[int, _Span], unsure: Collection[int], own: bool) -> set[int]:
    """Return the indices of the ambiguous spans that count because of their capitals or the text around them."""
    places = {i for i in unsure if _is_place(spans[i])}
    capitalised = {i for i in places if _counts_capitalised(text, spans[i])}
    unsure = set(unsure) - places
    return capitalised | _hold_names(text, spans, unsure, own)


def _hold_names(text: str, spans: Mapping[int, _Span], unsure: Collection[int], own: bool) -> set[int]:
    """Return the indices of the ambiguous names of persons that count because of the text around them."""
    left = {i for i in unsure if not _is_no_name(text[spans[i].start : spans[i].end])}
    held = {i for i in left if _has_cue(text, spans[i]) or _is_signature(text, spans[i])}
    beside = _Neighbours(text, spans)
    if own:
        held |= {i for i in unsure if _counts_capitalised(text, spans[i])}
        return held | {i for i in left - held if beside.of(i) or _is_capitalised(text, spans[i])}
    sure = held | {i for i, span in spans.items() if any(not tag.condition for tag in span.tags)}
    while new := {i for i in left - held if sure.intersection(beside.of(i))}:
        held |= new
        sure |= new
    return held


def _is_place(span: _Span) -> bool:
    """Return whether a span is an ambiguous place or institution, and no name of a person."""
    return all(tag.condition and tag.label not in PERSONS for tag in span.tags)


def _is_no_name(word: str) -> bool:
    """Return whether an ambiguous word cannot be a name: a title ("Mr", as initials of Mara Rossi), or up to three
    letters in lower case."""
    return word.lower() in _titles() or (len(word) <= _INITIALS and word.islower())


def _counts_capitalised(text: str, span: _Span) -> bool:
    """Return whether a span begins with a capital and its term has the condition "capital"."""
    return text[span.start].isupper() and any(tag.condition == "capital" for tag in span.tags)


def _has_cue(text: str, span: _Span) -> bool:
    """Return whether a title, or another cue for a name such as "signed by", precedes a span."""
    before = text[max(0, span.start - _REACH) : span.start]
    titles, signs = _cues()
    return bool(titles.search(before) or (not text[span.start].islower() and signs.search(before)))


def _is_signature(text: str, span: _Span) -> bool:
    """Return whether a capitalised span is alone on the last line of the text."""
    if not _END.match(text, span.end) or text[span.start].islower():
        return False
    line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    return len(line) < span.start and not line.strip(" \t-–—/.")


def is_inside_sentence(text: str, start: int) -> bool:
    """Check whether a word is not the first one of a sentence, line or list item.

    text (str): the note.
    start (int): offset of the word.
    RETURNS (bool): whether another word of the same sentence precedes it.
    """
    while start and text[start - 1] in " \t\xa0":
        start -= 1
    return start > 0 and text[start - 1] not in _STARTS


def _is_capitalised(text: str, span: _Span) -> bool:
    """Return whether a span is written as a name: capitalised inside a sentence, between words that are not, or
    capitalised with an initial."""
    written = text[span.start : span.end]
    if _WITH_INITIAL.fullmatch(written):
        return True
    if len(written) < _INITIALS or not written.istitle() or not is_inside_sentence(text, span.start):
        return False
    before = _WORD_BEFORE.search(text[max(0, span.start - _REACH) : span.start])
    after = _WORD_AFTER.match(text, span.end)
    return bool(before and not before[1][0].isupper()) and not (after and after[1][0].isupper())


class _Neighbours:
    """Looks up which spans of persons' names are next to a given span."""

    def __init__(self, text: str, spans: Mapping[int, _Span]) -> None:
        self._text = text
        self._spans = spans
        self._starting: dict[int, list[int]] = {}
        self._ending: dict[int, list[int]] = {}
        for i, span in spans.items():
            if any(tag.label in PERSONS for tag in span.tags):
                self._starting.setdefault(span.start, []).append(i)
                self._ending.setdefault(span.end, []).append(i)

    def of(self, i: int) -> list[int]:
        """Return the indices of the spans next to span `i` that can be another part of the same name; see `_fits`."""
        text, span = self._text, self._spans[i]
        beside: list[int] = []
        for gap in _GAPS:
            if text.startswith(gap, span.end):
                beside += self._starting.get(span.end + len(gap), ())
            if text.endswith(gap, 0, span.start):
                beside += self._ending.get(span.start - len(gap), ())
        return [j for j in beside if self._fits(span, self._spans[j])]

    def _fits(self, span: _Span, other: _Span) -> bool:
        """Return whether two spans have different texts, and the first is capitalised if the second is."""
        text = self._text
        same = text[span.start : span.end].lower() == text[other.start : other.end].lower()
        return not same and (not text[span.start].islower() or text[other.start].islower())


@cache
def _cues() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile two patterns for all languages: one for titles ("Dr."), one for other cues for a name ("signed by")."""
    signs = {cue for lines in _cue_files() for line in lines[1:] for cue in line.split("|")}
    return _compile(_titles(), r"\.?\s+"), _compile(signs, r"\W{1,4}")


@cache
def _titles() -> frozenset[str]:
    """Load the titles that precede names ("dr", "mrs"), in lower case, for all languages."""
    return frozenset(title for lines in _cue_files() for title in lines[0].split())


@cache
def _cue_files() -> tuple[list[str], ...]:
    """Read the lines of each language's cue file. The first line has the titles, the other lines have other cues."""
    return tuple(language.read_lines("name_cues.txt") for language in all_languages("name_cues.txt"))


def _compile(cues: Collection[str], after: str) -> re.Pattern[str]:
    """Compile a pattern for a cue at the end of a text, with at most two capitalised words or initials after it."""
    parts = "|".join(re.escape(cue) for cue in sorted(cues, key=lambda cue: (-len(cue), cue)))
    return re.compile(rf"(?<!\w)(?i:{parts}){after}{_WORD}{{0,2}}$")
