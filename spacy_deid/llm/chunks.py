"""Notes in parts that a small context holds, cut where sentences end."""

import re
from collections.abc import Iterator

__all__ = ["split_text"]

Part = tuple[int, int]

_SENTENCE = re.compile(r"[.!?…][\"'»”)\]]*\s+|\n\s*")
_SPACE = re.compile(r"\s+")


def split_text(text: str, size: int = 4000, overlap: int = 200) -> list[Part]:
    """Cut a text into parts at the ends of sentences, or if there are none at spaces, or if there are none anywhere.

    A part begins with the first word of the last `overlap` characters of the one before it, so that what stands at
    the cut is seen whole in one of them: a cut after "Dr." or "Sta." is no end of a sentence. The size of 4,000
    characters is that of the LLM-Anonymizer (Wiest et al. 2024).

    text (str): the note.
    size (int): longest part, in characters.
    overlap (int): characters that two parts share at most; less than half of `size`.
    RETURNS (list[tuple]): start and end of each part, in order; every character is in one. None for an empty text.
    """
    overlap = min(overlap, size // 2)
    return list(_parts(text, size, overlap))


def _parts(text: str, size: int, overlap: int) -> Iterator[Part]:
    """The parts, one after the other."""
    start = 0
    while len(text) - start > size:
        end = _last(text, start + size // 2, start + size) or start + size
        yield start, end
        shared = max(end - overlap, start + 1)
        start = _first_word(text, shared, end) if overlap else end
    if start < len(text):
        yield start, len(text)


def _last(text: str, start: int, end: int) -> int | None:
    """The last place from `start` to `end` where a sentence or at least a word begins."""
    for border in (_SENTENCE, _SPACE):
        ends = [match.end() for match in border.finditer(text, start, end)]
        if ends:
            return ends[-1]
    return None


def _first_word(text: str, start: int, end: int) -> int:
    """The first place from `start` to `end` where a word begins; `start` if none does."""
    match = _SPACE.search(text, start, end)
    return match.end() if match and match.end() < end else start
