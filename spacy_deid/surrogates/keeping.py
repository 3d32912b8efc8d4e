"""Whether the name of a person may be released because the policy keeps its label.

A policy that keeps the names of clinicians must not release a patient whom one detector took for a clinician. So a
name is kept only if the evidence is unanimous, sure and of more than one detector, and if nobody is called so with
another label. Whatever is not kept is replaced, and the trace says why.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from .persons import find_other_labels

__all__ = ["DISPUTED", "OTHERWISE", "UNSURE", "Detection", "find_doubts"]

DISPUTED = "disputed"  # a detector gave the span, or a part of it, another label
UNSURE = "unsure"  # no second detector, nothing validated, or scores below the policy's
OTHERWISE = "called otherwise"  # this person has another label elsewhere in the note or in the patient's data

_WORD = re.compile(r"\w+")


class Detection(NamedTuple):
    """What a detector said, as far as it matters here.

    start, end (int): characters.
    label (str): canonical label.
    source (str): name of the detector.
    score (float): probability.
    validated (bool): whether it is an exact hit of a dictionary, or a person's decision.
    """

    start: int
    end: int
    label: str
    source: str
    score: float
    validated: bool


def find_doubts(
    text: str,
    spans: Sequence[tuple[int, int, str]],
    detections: Sequence[Detection],
    names: Sequence[tuple[str, str]],
    sure: float,
) -> list[str]:
    """Say for each name why it may not be kept.

    text (str): the note.
    spans (Sequence[tuple]): start, end and canonical label of the names, disjoint, in the order of the text.
    detections (Sequence[Detection]): everything that was detected in the note, in any order.
    names (Sequence[tuple[str, str]]): names and labels of all persons of the note, and what else is known of them.
    sure (float): least score of a detection that counts.
    RETURNS (list[str]): `DISPUTED`, `UNSURE`, `OTHERWISE`, or "" for a name that may be kept.
    """
    touching: list[list[Detection]] = [[] for _ in spans]
    starts, ends = [start for start, _, _ in spans], [end for _, end, _ in spans]
    for item in detections:
        for i in range(bisect_right(ends, item.start), bisect_left(starts, item.end)):
            touching[i].append(item)
    asked = [(text[start:end], label) for start, end, label in spans]
    others = find_other_labels([*asked, *names])
    doubts = []
    for (start, end, label), mention, here in zip(spans, asked, touching, strict=True):
        if any(item.label != label for item in here):
            doubts.append(DISPUTED)
        elif not _is_sure(text, start, end, [item for item in here if item.score >= sure]):
            doubts.append(UNSURE)
        else:
            doubts.append(OTHERWISE if others[mention] else "")
    return doubts


def _is_sure(text: str, start: int, end: int, detections: Sequence[Detection]) -> bool:
    """Whether two detectors, or one that is validated, cover each word."""
    words = [(start + word.start(), start + word.end()) for word in _WORD.finditer(text[start:end])]
    for first, last in words:
        here = [item for item in detections if item.start <= first and last <= item.end]
        if len({item.source for item in here}) < 2 and not any(item.validated for item in here):
            return False
    return bool(words)
