"""What is counted in one document: pure functions of a text and two sets of entities.

Every score is a triple (true positives, false positives, false negatives), so that documents add up and a bootstrap
can draw them again. The formulas are those of the official scripts where there is one.

Sources: MEDDOCAN evaluation script (Marimon et al. 2019); i2b2-2014 track 1 evaluation script (Kotfila; Stubbs,
Kotfila and Uzuner 2015, doi:10.1016/j.jbi.2015.06.007).
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from .documents import Entity

__all__ = [
    "HEADER_WIDTH",
    "HIPAA_I2B2",
    "Mask",
    "Triple",
    "alphanumeric_mask",
    "confuse",
    "count_exact",
    "count_merged",
    "count_relaxed",
    "count_sentences",
    "count_tokens",
    "coverage_mask",
    "find_words",
    "header_mask",
    "is_covered",
    "merge_spans",
]

Triple = tuple[int, int, int]
Mask = NDArray[np.bool_]

HEADER_WIDTH = 160

# What the i2b2-2014 script keeps for its HIPAA figures: every DATE and AGE, ORGANIZATION, but not HOSPITAL, URL or
# IPADDR. The task's list has IDNUM as well; the script's pattern for it ends in a blank and never matches, so the
# published figures are without it, and ours are comparable with them.
HIPAA_I2B2 = frozenset(
    {
        *("PATIENT", "AGE", "DATE", "CITY", "STREET", "ZIP", "ORGANIZATION", "PHONE", "FAX", "EMAIL"),
        *("SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID"),
    }
)

_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[\r\n]+")


def count_exact(gold: Collection[object], pred: Collection[object]) -> Triple:
    """Compare two sets: MEDDOCAN subtrack 1 and 2 strict, i2b2 strict, and i2b2 tokens.

    gold, pred (Collection): what has to be equal, such as `Entity` or (start, end).
    RETURNS (Triple): |gold ∩ pred|, |pred - gold|, |gold - pred|.
    """
    golds, preds = set(gold), set(pred)
    hits = len(golds & preds)
    return hits, len(preds) - hits, len(golds) - hits


def merge_spans(text: str, spans: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Unite spans with nothing alphanumeric between them, as MEDDOCAN does, whatever their labels.

    In order, each span is united with the one before if they touch or overlap or no character between them is
    alphanumeric. The end is that of the later span, even if the earlier one reaches further: the official script has
    it so. MEDDOCAN has no overlap, so it makes no difference there.

    text (str): the note.
    spans (Iterable[tuple[int, int]]): (start, end), in any order.
    RETURNS (set[tuple[int, int]]): the united spans.
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and not any(map(str.isalnum, text[merged[-1][1] : start])):
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return set(merged)


def count_merged(text: str, gold: Iterable[tuple[int, int]], pred: Iterable[tuple[int, int]]) -> Triple:
    """MEDDOCAN subtrack 2, merged spans.

    Hits are the spans that agree as they are, and those that agree after `merge_spans`, in one set. Errors are counted
    on the spans as they are, and forgiven if the span lies within a hit. So the figure is higher than that of a plain
    comparison of merged spans, and the triple does not add up to the number of spans.

    text (str): the note.
    gold, pred (Iterable[tuple[int, int]]): (start, end).
    RETURNS (Triple): hits, false positives, false negatives.
    """
    golds, preds = set(gold), set(pred)
    hits = (golds & preds) | (merge_spans(text, golds) & merge_spans(text, preds))
    containers = sorted(hits)
    starts = [start for start, _ in containers]
    furthest = list(accumulate((end for _, end in containers), max))

    def missed(span: tuple[int, int]) -> bool:
        i = bisect_right(starts, span[0])
        return i == 0 or furthest[i - 1] < span[1]

    return len(hits), sum(map(missed, preds - golds)), sum(map(missed, golds - preds))


def count_relaxed(gold: Iterable[Entity], pred: Iterable[Entity], tolerance: int = 2) -> Triple:
    """i2b2-2014 relaxed: start and label agree, and the ends are at most two characters apart.

    Where several entities of a label share a start, the script's result hangs on the order of a set. Here an entity is
    wrong if none agrees with it, and there are as many hits as the side with fewer of them has.

    gold, pred (Iterable[Entity]): entities.
    tolerance (int): characters that the ends may be apart.
    RETURNS (Triple): hits, false positives, false negatives.
    """
    golds, preds = _ends(gold), _ends(pred)
    found = [_agree(preds.get(key, []), end, tolerance) for key, ends in golds.items() for end in ends]
    right = [_agree(golds.get(key, []), end, tolerance) for key, ends in preds.items() for end in ends]
    return min(sum(found), sum(right)), len(right) - sum(right), len(found) - sum(found)


def _ends(entities: Iterable[Entity]) -> dict[tuple[int, str], list[int]]:
    """Ends by start and label."""
    ends: dict[tuple[int, str], list[int]] = {}
    for entity in set(entities):
        ends.setdefault((entity.start, entity.label), []).append(entity.end)
    return ends


def _agree(ends: list[int], end: int, tolerance: int) -> bool:
    """Whether an end is close to one of several."""
    return any(abs(end - other) <= tolerance for other in ends)


def count_tokens(text: str, gold: Iterable[Entity], pred: Iterable[Entity]) -> Triple:
    """i2b2-2014 token level: the alphanumeric runs within the entities, with their label.

    The script's runs are of ASCII letters and digits; these are of any, which is the same on the texts of i2b2 and
    does not cut "García" in two on others. A run is cut where its entity is.

    text (str): the note.
    gold, pred (Iterable[Entity]): entities.
    RETURNS (Triple): hits, false positives, false negatives.
    """
    golds, preds = (
        {(*run, e.label) for e in side for run in find_words(text, e.start, e.end)} for side in (gold, pred)
    )
    return count_exact(golds, preds)


def find_words(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Find the alphanumeric runs of a stretch of text.

    text (str): the note.
    start, end (int): the stretch; a run is cut at its edges.
    RETURNS (list[tuple[int, int]]): (start, end) in the note.
    """
    return [match.span() for match in _WORD.finditer(text, start, len(text) if end is None else end)]


def count_sentences(text: str) -> int:
    """Count sentences: pieces of a line up to ".", "!" or "?" and white space, that hold a letter or digit.

    The leak score of MEDDOCAN divides by the sentences of a file that the task's own splitter made and the corpus does
    not hold. This count stands in for it, so leak scores of it compare with each other and not with published ones.

    text (str): the note.
    RETURNS (int): number of sentences.
    """
    return sum(1 for piece in _SENTENCE_END.split(text) if any(map(str.isalnum, piece)))


def alphanumeric_mask(text: str) -> Mask:
    """Mark letters and digits, by ``str.isalnum``.

    text (str): the note.
    RETURNS (Mask): one flag a character.
    """
    return np.fromiter(map(str.isalnum, text), dtype=np.bool_, count=len(text))


def coverage_mask(entities: Iterable[Entity], length: int) -> Mask:
    """Mark what entities cover, whatever their labels.

    entities (Iterable[Entity]): entities.
    length (int): characters of the note.
    RETURNS (Mask): one flag a character.
    """
    mask = np.zeros(length, dtype=np.bool_)
    for entity in entities:
        mask[entity.start : entity.end] = True
    return mask


def is_covered(text: str, entity: Entity, found: Iterable[Entity]) -> bool:
    """Say whether no letter or digit of an entity is left uncovered, whatever the labels.

    text (str): the note.
    entity (Entity): what should be covered.
    found (Iterable[Entity]): what covers.
    RETURNS (bool): whether all of it is.
    """
    near = (e for e in found if e.start < entity.end and entity.start < e.end)
    open_letters = alphanumeric_mask(text) & ~coverage_mask(near, len(text))
    return not open_letters[entity.start : entity.end].any()


def header_mask(text: str, width: int = HEADER_WIDTH) -> Mask:
    """Mark the characters on short lines: the form-like header of a note, apart from its running narrative.

    text (str): the note.
    width (int): characters from which on a line is narrative; line ends do not count.
    RETURNS (Mask): one flag a character; a line end belongs to its line.
    """
    lines = text.split("\n")
    short = [len(line.removesuffix("\r")) < width for line in lines]
    return np.repeat(np.array(short, dtype=np.bool_), [len(line) + 1 for line in lines])[: len(text)]


def confuse(gold: Iterable[Entity], pred: Iterable[Entity]) -> Counter[tuple[str, str]]:
    """Count which label stands for which, on entities with the same offsets.

    gold, pred (Iterable[Entity]): entities.
    RETURNS (Counter[tuple[str, str]]): by (gold label, predicted label); "" where the other side has no such span.
    """
    golds, preds = ({(e.start, e.end): e.label for e in sorted(side)} for side in (gold, pred))
    return Counter((golds.get(span, ""), preds.get(span, "")) for span in golds.keys() | preds.keys())
