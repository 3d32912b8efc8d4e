"""Choose the notes to annotate next: those about which a pipeline is least certain.

The value of a note is the sum of two quantities over its tokens, per word of the note:

- uncertainty: the entropy of the calibrated probability that the token is PHI, in bits (Lewis and Gale 1994);
- disagreement: the standard deviation of this probability over the networks of the committee (Seung, Opper and
  Sompolinsky 1992), and the probability that the classifier gives to "not PHI" where another detector found an
  identifier.

Notes are chosen one after the other. A note that shares most of its words with a chosen one adds little, so it is
only chosen if too few others are left.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from ..errors import Errors, InputError
from ..evaluation.sweep import detect, take_apart
from ..loading import find_component
from ..ml.decoding import Calibration
from ..ml.features import dense_tokens
from ..spans import read_evidence

_ADDED_WORDS = 50  # added to the number of words, so that a line with one odd word does not come first
_SAME = 0.8  # Jaccard similarity of the words of two notes from which on the second one adds little
_BATCH = 32
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A note to annotate. It has no text.

    name (str): id of the note.
    uncertainty, disagreement (float): see this module, per word.
    words (frozenset[str]): its words, to compare notes.
    """

    name: str
    uncertainty: float
    disagreement: float
    words: frozenset[str] = field(repr=False, compare=False)

    @property
    def value(self) -> float:
        """float: Sum of uncertainty and disagreement, by which notes are ordered."""
        return self.uncertainty + self.disagreement


def suggest(nlp: Language, pool: Iterable[tuple[str, str]], n: int, known: Iterable[str] = ()) -> list[Suggestion]:
    """Choose the notes to annotate next.

    nlp (Language): pipeline with a token classifier.
    pool (Iterable[tuple[str, str]]): id and text of notes that are not annotated.
    n (int): number of notes to choose.
    known (Iterable[str]): texts of notes that are already annotated, which are not suggested.
    RETURNS (list[Suggestion]): at most `n` notes, the one to annotate first at the beginning.
    RAISES: ConfigError (D415) if the pipeline has no token classifier; InputError (D229) if no note is left.
    """
    ner: Any = find_component(nlp, "deid_ner")
    taken = set(known)
    notes = [(name, text) for name, text in pool if text.strip() and text not in taken]
    if not notes:
        raise InputError(Errors.D229)
    stages = take_apart(nlp)
    found: list[Suggestion] = []
    for first in range(0, len(notes), _BATCH):
        part = notes[first : first + _BATCH]
        docs = detect(nlp, [text for _, text in part], stages, without=[stages.classifier])
        others = [key for key, name in stages.detectors.items() if name != stages.classifier]
        found += rate(ner, docs, [name for name, _ in part], others)
    found.sort(key=lambda one: (-one.value, one.name))
    chosen: list[Suggestion] = []
    similar: list[Suggestion] = []
    for one in found:
        if len(chosen) == n:
            break
        (similar if any(_jaccard(one.words, other.words) >= _SAME for other in chosen) else chosen).append(one)
    return [*chosen, *similar][:n]


def rate(ner: Any, docs: Sequence[Doc], names: Sequence[str], others: Sequence[str]) -> list[Suggestion]:
    """Compute uncertainty and disagreement of notes.

    ner (DeidNER): the token classifier.
    docs (Sequence[Doc]): the notes, with the span groups of the other detectors.
    names (Sequence[str]): their ids.
    others (Sequence[str]): keys of these span groups.
    RETURNS (list[Suggestion]): one for each note, in order.
    """
    curve = Calibration(*ner.cfg["tokens"])
    members, read = ner.read_members(docs), ner.read(docs)
    rated = []
    for i, (doc, name) in enumerate(zip(docs, names, strict=True)):
        phi = curve(read[i].phi)
        spread = np.std([curve(member[i].phi) for member in members], axis=0)
        found = np.zeros(len(doc.text), dtype=bool)
        for key in others:
            for evidence in read_evidence(doc, key):
                found[evidence.start : evidence.end] = True
        starts = np.asarray([doc[int(row)].idx for row in dense_tokens(doc)], dtype=np.int64)
        conflict = np.where(found[starts], 1 - phi, 0.0)
        safe = np.clip(phi, _TINY, 1 - _TINY)
        entropy = -(safe * np.log2(safe) + (1 - safe) * np.log2(1 - safe))
        words = re.findall(r"\w+", doc.text.casefold())
        size = len(words) + _ADDED_WORDS
        value = float(entropy.sum()) / size, float(spread.sum() + conflict.sum()) / size
        rated.append(Suggestion(name, *value, frozenset(words)))
    return rated


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the words of two notes that both have."""
    return len(one & other) / max(1, len(one | other))
