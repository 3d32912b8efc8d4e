"""From stretches of a text to matches: which of them count, and which lie within others.

An entry with the condition "name" is a word that is also a name, such as "Will" or "Rosa". It counts

- after a title or a word of signing ("Dr. Will", "signed by J. Will", "Surname: Will");
- alone on the last line of a note, as a signature;
- beside another part of a name: "Ndu Will", "Will, Ndu". Of a patient's own terms any other name part will do; in the
  institution dictionary it must be one that counts by itself or by what stands before it.

Beside another part, and after a word that is no title, it must begin with a capital like its neighbour.

The institution's names of one word are held to the same where a note that tells capitals from small letters has them
small: a member of staff is called Bill, and a patient got a bill.
"""

import re
from collections.abc import Collection, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

from .entries import Tag
from .hashing import Integers
from .matcher import Match, find_outer
from .normalise import Normalised

__all__ = ["is_of_persons", "make_matches", "settle"]

_PERSONS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
_REACH = 60  # characters before a match that are searched for a cue
_GAPS = ("", " ", ", ", "-", ",", ". ", ".", "\u00a0", "\u2010")
_WORD = r"(?:[^\W\d_a-zà-öø-ÿ][\w'’-]*\.?\s+)"  # a word with a capital, or an initial

_ONE_SMALL_WORD = re.compile(r"[^\W\d_A-ZÀ-ÖØ-Þ]+")
_STARTS = re.compile(r"(?<!\w)[^\W\d_]")
_INITIALS = 3
_CAPITALS = 0.05  # share of the words of a note that begin with one, where capitals mean something


class _Span(NamedTuple):
    """A stretch of the original text and the tags of its term."""

    start: int
    end: int
    tags: tuple[Tag, ...]


def settle(
    text: str, folded: Normalised, starts: Integers, ends: Integers, tags: Sequence[tuple[Tag, ...]], *, own: bool
) -> list[Match]:
    """Make matches of what was found.

    text (str): the original.
    folded (Normalised): the same text, folded.
    starts, ends (NDArray): folded characters. Shape (k,).
    tags (Sequence): tags of each, k in number.
    own (bool): whether these are the terms of one patient.
    RETURNS (list[Match]): those whose conditions hold and that lie within no other, in the order of the text.
    """
    if not len(starts):
        return []
    first, last = folded.original(starts, ends)
    spans = [_Span(*span) for span in zip(first, last, tags, strict=True)]
    small = set() if own else _small_names(text, spans)
    unsure = [i for i, span in enumerate(spans) if i in small or any(tag.condition for tag in span.tags)]
    if unsure:
        held = _hold(text, spans, unsure, own)
        spans = [
            span._replace(tags=tuple(tag for tag in span.tags if i in held or not (i in small or tag.condition)))
            for i, span in enumerate(spans)
        ]
        kept = [i for i, span in enumerate(spans) if span.tags]
        spans, starts, ends = [spans[i] for i in kept], starts.take(kept), ends.take(kept)
    outer = [spans[i] for i in find_outer(starts, ends).tolist()] if spans else []
    return [Match(span.start, span.end, tag.label, tag.rule) for span in outer for tag in span.tags]


def _small_names(text: str, spans: Sequence[_Span]) -> set[int]:
    """The spans, by number, that are a person's name of one word in small letters, in a note with capitals."""
    small = {
        i
        for i, span in enumerate(spans)
        if is_of_persons(span.tags) and _ONE_SMALL_WORD.fullmatch(text, span.start, span.end)
    }
    if not small:
        return small
    words = _STARTS.findall(text)
    return small if sum(map(str.isupper, words)) > _CAPITALS * len(words) else set()


def is_of_persons(tags: Sequence[Tag]) -> bool:
    """Whether a term is a person's name and nothing else; one in small letters may need a context.

    tags (Sequence[Tag]): its tags.
    RETURNS (bool): True if all are of persons.
    """
    return all(tag.label in _PERSONS for tag in tags)


def make_matches(folded: Normalised, starts: Integers, ends: Integers, tags: Sequence[tuple[Tag, ...]]) -> list[Match]:
    """Make matches of what was found, if nothing of it needs a context and none lies within another.

    folded (Normalised): the text, folded.
    starts, ends (NDArray): folded characters. Shape (k,).
    tags (Sequence): tags of each, k in number.
    RETURNS (list[Match]): one for each tag.
    """
    if not len(starts):
        return []
    first, last = folded.original(starts, ends)
    return [
        Match(start, end, tag.label, tag.rule)
        for start, end, several in zip(first, last, tags, strict=True)
        for tag in several
    ]


def _hold(text: str, spans: Sequence[_Span], unsure: Sequence[int], own: bool) -> set[int]:
    """The spans, by number, whose condition holds."""
    unsure = [i for i in unsure if not _is_no_name(text[spans[i].start : spans[i].end])]
    left = set(unsure)
    held = {i for i in unsure if _has_cue(text, spans[i]) or _is_signature(text, spans[i])}
    beside = _Neighbours(text, spans)
    if own:
        return held | {i for i in left if beside.of(i)}
    sure = held | {i for i, span in enumerate(spans) if any(not tag.condition for tag in span.tags)}
    while new := {i for i in left - held if sure.intersection(beside.of(i))}:
        held |= new
        sure |= new
    return held


def _is_no_name(word: str) -> bool:
    """Whether a word that needs a context is a title ("Mr" of Mara Rossi), or too short to be initials as written."""
    return word.lower() in _titles() or (len(word) <= _INITIALS and word.islower())


def _has_cue(text: str, span: _Span) -> bool:
    """Whether a title or a word of signing stands before a span."""
    before = text[max(0, span.start - _REACH) : span.start]
    titles, signs = _cues()
    return bool(titles.search(before) or (not text[span.start].islower() and signs.search(before)))


def _is_signature(text: str, span: _Span) -> bool:
    """Whether a span stands alone on the last line, with a capital."""
    if text[span.end :].strip(" \t\r\n.") or text[span.start].islower():
        return False
    line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
    return len(line) < span.start and not line.strip(" \t-–—/.")


class _Neighbours:
    """Which spans of names stand side by side."""

    def __init__(self, text: str, spans: Sequence[_Span]) -> None:
        self._text = text
        self._spans = spans
        self._starting: dict[int, list[int]] = {}
        self._ending: dict[int, list[int]] = {}
        for i, span in enumerate(spans):
            if any(tag.label in _PERSONS for tag in span.tags):
                self._starting.setdefault(span.start, []).append(i)
                self._ending.setdefault(span.end, []).append(i)

    def of(self, i: int) -> list[int]:
        """The spans beside one that are another term and not written in another case."""
        text, span = self._text, self._spans[i]
        beside: list[int] = []
        for gap in _GAPS:
            if text.startswith(gap, span.end):
                beside += self._starting.get(span.end + len(gap), ())
            if text.endswith(gap, 0, span.start):
                beside += self._ending.get(span.start - len(gap), ())
        return [j for j in beside if self._fits(span, self._spans[j])]

    def _fits(self, span: _Span, other: _Span) -> bool:
        """Whether two spans are different terms, and the first has a capital if the second has."""
        text = self._text
        same = text[span.start : span.end].lower() == text[other.start : other.end].lower()
        return not same and (not text[span.start].islower() or text[other.start].islower())


@cache
def _cues() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Expressions for the titles, and for the other cues, of all languages together."""
    signs = {cue for lines in _cue_files() for line in lines[1:] for cue in line.split("|")}
    return _compile(_titles(), r"\.?\s+"), _compile(signs, r"\W{1,4}")


@cache
def _titles() -> frozenset[str]:
    """Titles of all languages together, in small letters."""
    return frozenset(title for lines in _cue_files() for title in lines[0].split())


@cache
def _cue_files() -> tuple[list[str], ...]:
    """The lines of each file of cues: titles in the first, other cues in the rest."""
    folder = resources.files("spacy_deid") / "resources" / "name_cues"
    texts = (file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".txt"))
    return tuple([line for line in text.splitlines() if not line.startswith("#")] for text in texts)


def _compile(cues: Collection[str], after: str) -> re.Pattern[str]:
    """Make an expression for cues at the end of a text, with at most two other names or initials behind."""
    parts = "|".join(re.escape(cue) for cue in sorted(cues, key=lambda cue: (-len(cue), cue)))
    return re.compile(rf"(?<!\w)(?i:{parts}){after}{_WORD}{{0,2}}$")
