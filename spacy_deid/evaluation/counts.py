"""Count how well the predicted entities of one document agree with the gold entities, for each kind of score.

The functions return triples (true positives, false positives, false negatives), which `metrics` sums over documents.
Where a shared task has an official script, its formula is used. `text` is the note; `gold` and `pred` are entities or
(start, end) character offsets in it. A mask is an array with one boolean per character of the text.

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

Triple = tuple[int, int, int]
Mask = NDArray[np.bool_]

HEADER_WIDTH = 160

# Labels that the i2b2-2014 script counts in its HIPAA figures: every DATE and AGE, ORGANIZATION, not HOSPITAL, URL or
# IPADDR. The task's list has IDNUM as well; the script's pattern for it ends in a blank and never matches, so the
# published figures are without it. It is left out here as well, so that figures are comparable.
HIPAA_I2B2 = frozenset(
    {
        *("PATIENT", "AGE", "DATE", "CITY", "STREET", "ZIP", "ORGANIZATION", "PHONE", "FAX", "EMAIL"),
        *("SSN", "MEDICALRECORD", "HEALTHPLAN", "ACCOUNT", "LICENSE", "VEHICLE", "DEVICE", "BIOID"),
    }
)

_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[\r\n]+")


def count_exact(gold: Collection[object], pred: Collection[object]) -> Triple:
    """Count equal items of two sets, for the strict scores of MEDDOCAN and i2b2 and the i2b2 token score.

    gold, pred (Collection): entities, spans or tokens; duplicates count once.
    RETURNS (Triple): number of items in both sets, only in `pred`, and only in `gold`.
    """
    golds, preds = set(gold), set(pred)
    hits = len(golds & preds)
    return hits, len(preds) - hits, len(golds) - hits


def merge_spans(text: str, spans: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Merge neighbouring spans that have no letter or digit between them, whatever their labels, as MEDDOCAN does.

    Spans that touch or overlap are merged as well. The merged span ends where the later span ends, even if the earlier
    one is longer, as in the official script; MEDDOCAN has no overlapping spans, so its figures are not affected.
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and not any(map(str.isalnum, text[merged[-1][1] : start])):
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return set(merged)


def count_merged(text: str, gold: Iterable[tuple[int, int]], pred: Iterable[tuple[int, int]]) -> Triple:
    """Count equal spans before or after merging neighbours, for the merged score of MEDDOCAN subtrack 2.

    True positives are the spans that agree before or after `merge_spans`, as one set. Errors are counted on the spans
    before merging, unless they are inside a true positive. The figure is therefore higher than that of a plain
    comparison of merged spans, and the triple does not sum to the number of spans.
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
    """Count entities with equal start and label and nearly equal end, for the relaxed score of i2b2-2014.

    If several entities of a label share a start, the result of the official script depends on the order of a set.
    Here, an entity is an error if no entity of the other side matches it, and the number of true positives is that of
    the side with fewer matched entities.

    tolerance (int): maximum difference of the ends, in characters.
    """

    def ends_by_start(entities: Iterable[Entity]) -> dict[tuple[int, str], list[int]]:
        ends: dict[tuple[int, str], list[int]] = {}
        for entity in set(entities):
            ends.setdefault((entity.start, entity.label), []).append(entity.end)
        return ends

    def matches(end: int, others: Iterable[int]) -> bool:
        return any(abs(end - other) <= tolerance for other in others)

    golds, preds = ends_by_start(gold), ends_by_start(pred)
    found = [matches(end, preds.get(key, ())) for key, ends in golds.items() for end in ends]
    right = [matches(end, golds.get(key, ())) for key, ends in preds.items() for end in ends]
    return min(sum(found), sum(right)), len(right) - sum(right), len(found) - sum(found)


def count_tokens(text: str, gold: Iterable[Entity], pred: Iterable[Entity]) -> Triple:
    """Count equal tokens with equal label, for the token score of i2b2-2014. A token is a run of letters and digits.

    The official script matches runs of ASCII letters and digits. This function matches any letters and digits,
    so that it does not split "García"; on the texts of i2b2 both are identical. A run is cut at the entity bounds.
    """
    golds, preds = (
        {(*run, e.label) for e in side for run in find_words(text, e.start, e.end)} for side in (gold, pred)
    )
    return count_exact(golds, preds)


def find_words(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of the runs of letters and digits between two offsets, cut at these offsets."""
    return [match.span() for match in _WORD.finditer(text, start, len(text) if end is None else end)]


def count_sentences(text: str) -> int:
    """Count the sentences of a text, split at line breaks and after ".", "!" or "?" followed by white space.

    Parts without a letter or digit are not counted.

    The leak score of MEDDOCAN uses sentence counts of the task's own splitter, which the corpus does not include. Leak
    scores computed with this function are comparable with each other but not with published ones.
    """
    return sum(1 for piece in _SENTENCE_END.split(text) if any(map(str.isalnum, piece)))


def alphanumeric_mask(text: str) -> Mask:
    """Return a mask of the letters and digits of a text, as defined by ``str.isalnum``."""
    return np.fromiter(map(str.isalnum, text), dtype=np.bool_, count=len(text))


def coverage_mask(entities: Iterable[Entity], length: int) -> Mask:
    """Return a mask of the characters that entities cover, whatever their labels; `length` is that of the text."""
    mask = np.zeros(length, dtype=np.bool_)
    for entity in entities:
        mask[entity.start : entity.end] = True
    return mask


def is_covered(text: str, entity: Entity, found: Iterable[Entity]) -> bool:
    """Test whether every letter and digit of an entity is covered by the found entities, whatever their labels."""
    near = (e for e in found if e.start < entity.end and entity.start < e.end)
    open_letters = alphanumeric_mask(text) & ~coverage_mask(near, len(text))
    return not open_letters[entity.start : entity.end].any()


def header_mask(text: str, width: int = HEADER_WIDTH) -> Mask:
    """Return a mask of the characters on short lines, which belong to forms and headers rather than to narrative.

    width (int): number of characters, without the line end, from which a line is narrative.
    RETURNS (Mask): True on short lines, including their line ends.
    """
    lines = text.split("\n")
    short = [len(line.removesuffix("\r")) < width for line in lines]
    return np.repeat(np.array(short, dtype=np.bool_), [len(line) + 1 for line in lines])[: len(text)]


def confuse(gold: Iterable[Entity], pred: Iterable[Entity]) -> Counter[tuple[str, str]]:
    """Count which label was predicted for each gold label, by comparing entities with equal offsets.

    RETURNS (Counter[tuple[str, str]]): counts by (gold label, predicted label); "" if the other side has no such span.
    """
    golds, preds = ({(e.start, e.end): e.label for e in sorted(side)} for side in (gold, pred))
    return Counter((golds.get(span, ""), preds.get(span, "")) for span in golds.keys() | preds.keys())
