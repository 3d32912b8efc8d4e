"""Transfer annotations between two texts of the same document that were extracted by different programs.

Programs extract different white space, line ends, hyphens and ligatures from a PDF. Texts are therefore compared
without white space, hyphens and invisible characters, and with ligatures and accents decomposed (NFKD). Runs of
characters that occur exactly once in each text are anchors, in the longest common order (as in a patience diff); the
text between two anchors is compared character by character. The time is proportional to the length of the texts; a
part without anchors that is too long to compare counts as different.

Text in another order (columns read across, a header after the body) is not matched and counts as missing.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from ..errors import Errors, InputError
from .documents import AnnotatedText, Entity, index_documents

LEAST = 0.8  # share of the longer text that must agree; two unrelated texts of one language agree in about half
_ANCHOR = 24  # characters
_IGNORED = frozenset(("Pd", "Cc", "Cf", "Cn"))  # PDFium writes U+FFFE for the hyphen of a broken word
_LARGEST = 1 << 30  # maximum product of the lengths of two parts that are compared


class _Block(NamedTuple):
    """A part of one text (start, end), the corresponding part of the other (to, to_end), and whether they agree."""

    start: int
    end: int
    to: int
    to_end: int
    same: bool


@dataclass(frozen=True, slots=True)
class TextMap:
    """Maps offsets in a text to offsets in another text of the same document, for example from another PDF reader.

    places, others (Sequence[int]): offsets of the compared characters in the first and in the second text.
    blocks (Sequence[_Block]): corresponding parts in order, without gaps, in indices of compared characters.
    """

    places: Sequence[int] = field(repr=False)
    others: Sequence[int] = field(repr=False)
    blocks: Sequence[_Block] = field(repr=False)

    @property
    def agreeing(self) -> int:
        """Number of compared characters that are the same in both texts."""
        return sum(block.end - block.start for block in self.blocks if block.same)

    @property
    def length(self) -> int:
        """Number of compared characters of the longer text."""
        return max(len(self.places), len(self.others))

    def move(self, start: int, end: int) -> tuple[int, int] | None:
        """Map a span to the other text. Parts that differ are included as a whole, so that nothing is left out.

        start, end (int): character offsets in the first text.
        RETURNS (tuple[int, int] | None): character offsets in the second text; None if nothing of the span is there.
        """
        first, last = bisect_left(self.places, start), bisect_left(self.places, end) - 1
        if first > last:
            return None
        to, to_end = self._carry(first)[0], self._carry(last)[1]
        return (self.others[to], self.others[to_end - 1] + 1) if to < to_end else None

    def _carry(self, index: int) -> tuple[int, int]:
        """Map the index of a compared character to a range of indices of compared characters of the other text."""
        block = self.blocks[bisect_right(self.blocks, index, key=lambda block: block.start) - 1]
        if block.same:
            return block.to + index - block.start, block.to + index - block.start + 1
        return block.to, block.to_end


def align_texts(text: str, other: str) -> TextMap:
    """Align two texts of the same document, however different they are.

    text, other (str): the texts.
    RETURNS (TextMap): map from offsets in the first text to offsets in the second.
    """
    one, places = _reduce(text)
    two, others = _reduce(other)
    return TextMap(places, others, list(_join(_compare(one, two))))


def move_documents(
    documents: Iterable[AnnotatedText],
    onto: Iterable[AnnotatedText],
    least: float = LEAST,
    refused: dict[str, InputError] | None = None,
) -> tuple[list[AnnotatedText], dict[str, int]]:
    """Transfer the entities of documents to the texts of other documents with the same names.

    documents (Iterable[AnnotatedText]): documents with entities, with texts extracted by one program.
    onto (Iterable[AnnotatedText]): the same documents with texts extracted by another program. Documents that are
        missing here are returned unchanged.
    least (float): minimum share of the longer text that must agree.
    refused (dict | None): collects errors by document name; such documents are left out of the result. None to raise
        the first error.
    RETURNS (tuple): documents with the other texts; and by name the number of entities that could not be transferred.
    RAISES: InputError (D756) if two texts do not belong to the same document and `refused` is None.
    """
    targets = index_documents(onto)
    moved: list[AnnotatedText] = []
    lost: dict[str, int] = {}
    for document in index_documents(documents).values():
        target = targets.get(document.name, document)
        if target.text != document.text:
            try:
                document, missing = _move(document, target.text, least)
            except InputError as error:
                if refused is None:
                    raise
                refused[document.name] = error
                continue
            lost |= {document.name: missing} if missing else {}
        moved.append(document)
    return moved, lost


def _move(document: AnnotatedText, text: str, least: float) -> tuple[AnnotatedText, int]:
    """Transfer the entities of a document to another text. RETURNS: the new document, and how many were lost."""
    found = align_texts(document.text, text)
    if found.agreeing < least * found.length:
        counts = {"matched": found.agreeing, "total": found.length, "least": least}
        raise InputError(Errors.D756.format(name=document.name, **counts))
    spans = [(found.move(entity.start, entity.end), entity.label) for entity in document.entities]
    entities = tuple(Entity(*span, label) for span, label in spans if span)
    return AnnotatedText(document.name, text, entities), sum(span is None for span, _ in spans)


def _reduce(text: str) -> tuple[str, list[int]]:
    """Reduce a text to the characters that are compared. RETURNS: these characters, and the offset of each."""
    chars: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        for part in char if char.isascii() else unicodedata.normalize("NFKD", char):
            if _counts(part):
                chars.append(part)
                places.append(place)
    return "".join(chars), places


@cache
def _counts(char: str) -> bool:
    """Test whether a character is compared. White space, hyphens, dashes and invisible characters are not."""
    return not char.isspace() and char != "\u2212" and unicodedata.category(char) not in _IGNORED


def _compare(one: str, two: str) -> Iterator[_Block]:
    """Compare two reduced texts between anchors: runs of `_ANCHOR` characters that occur once in each, in order."""
    places = _once(two)
    pairs = [(start, places[part]) for part, start in _once(one).items() if part in places]
    anchors: list[tuple[int, int]] = []
    for start, place in _longest_order(pairs):
        if not anchors or (start >= anchors[-1][0] + _ANCHOR and place >= anchors[-1][1] + _ANCHOR):
            anchors.append((start, place))
    at, to = 0, 0
    for start, place in [*anchors, (len(one), len(two))]:
        yield from _compare_stretch(one, two, _Block(at, start, to, place, False))
        size = _ANCHOR if start < len(one) else 0
        if size:
            yield _Block(start, start + size, place, place + size, True)
        at, to = start + size, place + size


def _once(text: str) -> dict[str, int]:
    """Return the runs of `_ANCHOR` characters that occur once in a text, with their offsets, in order."""
    places: dict[str, int] = {}
    for start in range(len(text) - _ANCHOR + 1):
        part = text[start : start + _ANCHOR]
        places[part] = -1 if part in places else start
    return {part: start for part, start in places.items() if start >= 0}


def _longest_order(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Find the longest subsequence of pairs, sorted by the first item, that increases in the second (patience sorting,
    Fredman 1975).
    """
    ends: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for i, (_, place) in enumerate(pairs):
        pile = bisect_left(ends, place)
        before.append(tops[pile - 1] if pile else -1)
        ends[pile : pile + 1] = [place]
        tops[pile : pile + 1] = [i]
    run = []
    i = tops[-1] if tops else -1
    while i >= 0:
        run.append(pairs[i])
        i = before[i]
    return run[::-1]


def _compare_stretch(one: str, two: str, stretch: _Block) -> Iterator[_Block]:
    """Compare the text between two anchors character by character."""
    from rapidfuzz.distance import Levenshtein

    start, end, to, to_end, _ = stretch
    if start == end and to == to_end:
        return
    if (end - start) * (to_end - to) > _LARGEST:
        yield stretch
        return
    for step in Levenshtein.opcodes(one[start:end], two[to:to_end]):
        places = (start + step.src_start, start + step.src_end, to + step.dest_start, to + step.dest_end)
        yield _Block(*places, step.tag == "equal")


def _join(blocks: Iterable[_Block]) -> Iterator[_Block]:
    """Merge adjacent blocks that differ into one block; yield all other blocks unchanged."""
    last: _Block | None = None
    for block in blocks:
        if last and not last.same and not block.same:
            block = _Block(last.start, block.end, last.to, block.to_end, False)
        elif last:
            yield last
        last = block
    if last:
        yield last
