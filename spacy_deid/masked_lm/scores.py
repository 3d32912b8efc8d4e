"""Scores: how suspicious a word is, from its columns. Higher is more likely an identifier.

Registered, so that a config names one and a team can bring its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.util import registry

from ..errors import ConfigError, Errors
from ..lang import get_language, language_codes
from ..medical.dictionary import MedicalDictionary
from .columns import MOST_SURPRISING, Columns, form_columns
from .combination import Combination

__all__ = [
    "Score",
    "make_combined_score",
    "make_contrast_score",
    "make_entropy_score",
    "make_name_slot_score",
    "make_per_piece_score",
    "make_rank_score",
    "make_surprisal_score",
    "make_veto_score",
]

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """A score.

    name (str): its name in results.
    compute (Callable): the note, the tokens that are scored, and their columns, to one number each.
    highest (float): the score of a word that the model can say nothing about.
    """

    name: str
    compute: Callable[[Doc, Sequence[int], Columns], Values]
    highest: float = MOST_SURPRISING

    @property
    def is_probability(self) -> bool:
        """Whether it is a calibrated probability."""
        return self.highest == 1.0


@registry.misc("spacy_deid.surprisal_score.v1")
def make_surprisal_score() -> Score:
    """−ln P(word), the papers' score (they use P itself, low where this is high). Nats.

    RETURNS (Score): the score.
    """
    return Score("surprisal", partial(_weighted, weights={}))


@registry.misc("spacy_deid.per_piece_score.v1")
def make_per_piece_score() -> Score:
    """−ln P(word) divided by the number of pieces, so that long words are not suspicious for their length. Nats.

    RETURNS (Score): the score.
    """
    return Score("per_piece", partial(_column, name="per_piece"))


@registry.misc("spacy_deid.rank_score.v1")
def make_rank_score() -> Score:
    """ln(1 + number of pieces more probable than the word's first).

    RETURNS (Score): the score.
    """
    return Score("rank", partial(_column, name="log_rank"))


@registry.misc("spacy_deid.entropy_score.v1")
def make_entropy_score(weight: float = 1.0) -> Score:
    """−ln P(word) + weight · H(slot): surprising where anything may stand, as in the slot of a name. Nats.

    weight (float): weight of the entropy.
    RETURNS (Score): the score.
    """
    return Score(f"entropy-{weight:g}", partial(_weighted, weights={"entropy": weight}))


@registry.misc("spacy_deid.name_slot_score.v1")
def make_name_slot_score(weight: float = 10.0) -> Score:
    """−ln P(word) + weight · P(a name or place is wanted here).

    weight (float): weight of the masses, nats.
    RETURNS (Score): the score.
    """

    return Score(f"name_slot-{weight:g}", partial(_weighted, weights={"name_mass": weight, "place_mass": weight}))


@registry.misc("spacy_deid.contrast_score.v1")
def make_contrast_score(weight: float = 0.5) -> Score:
    """−ln P(word | context) + weight · −ln P(word): a rare word counts more than a common one at an odd place.

    weight (float): weight of the rarity; −1 gives the negative pointwise mutual information.
    RETURNS (Score): the score.
    """
    return Score(f"contrast-{weight:g}", partial(_weighted, weights={"rarity": weight}))


@registry.misc("spacy_deid.veto_score.v1")
def make_veto_score(score: Score, lang: str, factor: float = 0.3) -> Score:
    """Another score, lowered for words of medical terms.

    score (Score): the other score.
    lang (str): language of the medical dictionary that ships.
    factor (float): what the score of a medical word is multiplied with.
    RETURNS (Score): the score.
    """
    veto = partial(_vetoed, score=score, dictionary=MedicalDictionary.load(lang), factor=factor)
    return Score(f"{score.name}-veto", veto, score.highest)


@registry.misc("spacy_deid.combined_score.v1")
def make_combined_score(source: str, kind: str = "all") -> Score:
    """The probability that a word is part of an identifier, from many columns by a logistic regression.

    source (str): language of a combination that ships, or a folder of combinations.
    kind (str): "all"; "model", the language model alone; or "form", the form and place of a word and how rare it is,
        which is what the model has to beat.
    RETURNS (Score): the score, 0 to 1.
    RAISES: ConfigError if there is no such combination (D809).
    """
    folder = get_language(source).resource("masked_lm") if source in language_codes("masked_lm") else Path(source)
    path = folder / f"combined_{kind}.json"
    if not path.is_file():
        raise ConfigError(Errors.D809.format(source=path))
    combine = partial(_combined, combination=Combination.from_file(path))
    return Score(f"combined_{kind}", combine, highest=1.0)


def _column(doc: Doc, words: Sequence[int], columns: Columns, name: str) -> Values:
    """One column."""
    return columns[name]


def _weighted(doc: Doc, words: Sequence[int], columns: Columns, weights: Mapping[str, float]) -> Values:
    """The surprisal, and other columns times their weights."""
    values = columns["surprisal"].copy()
    for name, weight in weights.items():
        values += weight * columns[name]
    return values


def _vetoed(
    doc: Doc, words: Sequence[int], columns: Columns, score: Score, dictionary: MedicalDictionary, factor: float
) -> Values:
    """Another score, lowered inside medical terms that are not called after a person."""
    values = score.compute(doc, words, columns).copy()
    starts = np.array([doc[word].idx for word in words])
    for match in dictionary.find(doc.text):
        if not match.person_named:
            values[np.searchsorted(starts, match.start) : np.searchsorted(starts, match.end)] *= factor
    return values


def _combined(doc: Doc, words: Sequence[int], columns: Columns, combination: Combination) -> Values:
    """A combination, the form of the words among its columns."""
    return combination.predict({**columns, **form_columns(doc, words)})
