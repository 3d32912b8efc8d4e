"""Scores of a system that marks characters, independent of its labels.

Only letters and digits count. Recall counts identifiers of Safe Harbor and names of clinicians. What the gold contains
beyond that (professions, ages, countries) is not a goal of the peers: it counts neither as missed nor as a false
alarm. The same applies to ages below 90 and to years, whether or not the gold contains them: Safe Harbor lists "all
elements of dates (except year)". Four digits of a phone number or identifier are not a year.
"""

import re
from collections.abc import Sequence

import numpy as np

from spacy_deid.evaluation import AnnotatedText
from spacy_deid.evaluation.counts import Mask, alphanumeric_mask, coverage_mask
from spacy_deid.labels import LABELS

from .english_notes import Corpus

Figures = dict[str, float | None]

NAMES = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
AIM = NAMES | {label.name for label in LABELS.values() if label.hipaa} - {"AGE"}
FIGURES = (
    "character recall",
    "character recall on names",
    "character precision",
    "documents with nothing missed",
    "documents without PHI left alone",
    "share of the text marked",
    "notes per second",
)
LOWER = {"share of the text marked"}
_AGE = re.compile(
    r"\b[1-8]?\d(?=[\s-]*(?:years?|yrs?|y\.?/?o|months?|weeks?|days?)\b)[\s-]*\w+(?:[\s-]old)?|\b(?:19|20)\d\d\b", re.I
)


def neutral_mask(text: str) -> Mask:
    """Mark ages below 90 and years, which identify nobody under Safe Harbor.

    text (str): the note.
    RETURNS (Mask): shape (characters,).
    """
    mask = np.zeros(len(text), dtype=np.bool_)
    for match in _AGE.finditer(text):
        mask[match.start() : match.end()] = True
    return mask


def score(corpus: Corpus, found: Sequence[AnnotatedText]) -> Figures:
    """Compare the marked characters of a system with the gold.

    corpus (Corpus): notes with gold.
    found (Sequence[AnnotatedText]): the same notes with the predictions of the system.
    RETURNS (Figures): figures by name; None if undefined or if the gold is not complete.
    """
    counts = np.array([_count(gold, mine) for gold, mine in zip(corpus.notes, found, strict=True)])
    hit, due, name_hit, name_due, right, marked, clean, has_phi, quiet, size, all_marked = counts.sum(axis=0).tolist()
    without = len(corpus.notes) - has_phi
    return {
        "character recall": _share(hit, due),
        "character recall on names": _share(name_hit, name_due),
        "character precision": _share(right, marked) if corpus.complete else None,
        "documents with nothing missed": _share(clean, has_phi),
        "documents without PHI left alone": _share(quiet, without) if corpus.complete else None,
        "share of the text marked": _share(all_marked, size),
    }


def _count(gold: AnnotatedText, mine: AnnotatedText) -> tuple[int, ...]:
    """Count the characters and documents of a note, in the order in which `score` sums them."""
    size = len(gold.text)
    letters = alphanumeric_mask(gold.text)
    marked = coverage_mask(mine.entities, size) & letters
    due = _due(gold) & letters
    names = coverage_mask([e for e in gold.entities if e.label in NAMES], size) & letters
    other = coverage_mask(gold.entities, size) | neutral_mask(gold.text)  # due or not, no false alarm
    counted = marked & (due | ~other)
    missed, extra = (due & ~marked).any(), (counted & ~due).any()
    figures = [due & marked, due, names & marked, names, counted & due, counted]
    flags = (due.any() and not missed, due.any(), not due.any() and not extra)
    return (*(int(mask.sum()) for mask in figures), *map(int, flags), int(letters.sum()), int(marked.sum()))


def _due(gold: AnnotatedText) -> Mask:
    """Return what must be found: identifiers, with dates reduced to the parts other than the year."""
    size = len(gold.text)
    dates, others = (
        [e for e in gold.entities if e.label in AIM and (e.label == "DATE") is so] for so in (True, False)
    )
    return (coverage_mask(dates, size) & ~neutral_mask(gold.text)) | coverage_mask(others, size)


def _share(part: int, whole: int) -> float | None:
    """Return a share, or None if the total is 0."""
    return part / whole if whole else None
