"""Compute the score of each word of a note from its columns. A higher score means that an identifier is more likely.

Columns are numbers about each word, such as its surprisal; see `masked_lm.columns`.

`Combination` is a logistic regression on columns:

    P(identifier) = 1 / (1 + exp(−(b + Σ w_i z_i)))

The features z are standardized columns of the word, of the words before and after it, and products of two columns of
the word. It is fitted by Newton's method on the penalized likelihood (iteratively reweighted least squares; Hastie,
Tibshirani and Friedman, The Elements of Statistical Learning, section 4.4.1), so its values are calibrated on the
notes it was fitted on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import srsly
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..errors import ConfigError, Errors
from ..lang import get_language, language_codes
from ..medical.dictionary import MedicalDictionary
from ..registries import choose_part, registry
from .columns import MOST_SURPRISING, Columns, add_neighbours, form_columns

LIMIT = 40.0  # nats; higher values are clipped, because they do not make an identifier more likely
STEPS = 30
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Combination:
    """A fitted logistic regression that predicts from a word's columns whether it is part of an identifier.

    columns (list[str]): names of the columns (see `masked_lm.columns`) that it uses.
    means, scales (list[float]): mean and standard deviation of each column.
    weights (list[float]): weights of the standardized columns, their neighbours and their products.
    bias (float): the intercept b.
    products (bool): whether products of two columns are features.
    """

    columns: list[str]
    means: list[float]
    scales: list[float]
    weights: list[float]
    bias: float
    products: bool = True

    def predict(self, columns: Columns) -> Values:
        """Compute the probability that each word is part of an identifier.

        columns (Columns): the columns of one note, in the order of its words, shape (words,) each.
        RETURNS (NDArray): probabilities, shape (words,).
        RAISES: ConfigError (D810) if a column is missing.
        """
        if missing := [name for name in self.columns if name not in columns]:
            raise ConfigError(Errors.D810.format(columns=", ".join(missing)))
        if not len(columns[self.columns[0]]):
            return np.zeros(0)
        design = expand(columns, self.columns, np.array(self.means), np.array(self.scales), self.products)
        return _logistic(design @ np.array(self.weights) + self.bias)

    def to_file(self, path: Path) -> None:
        """Write the combination to a JSON file, with six significant digits.

        path (Path): the file; its folder is created if needed.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        rounded = {key: _rounded(value) for key, value in asdict(self).items()}
        srsly.write_json(path, rounded, indent=0)

    @classmethod
    def from_file(cls, path: Path) -> "Combination":
        """Read a combination from a JSON file that `to_file` wrote.

        path (Path): the file.
        RETURNS (Combination): the combination.
        RAISES: ConfigError (D809) if the file does not contain a combination.
        """
        try:
            return cls(**srsly.read_json(path))
        except (ValueError, TypeError):
            raise ConfigError(Errors.D809.format(source=path)) from None


def fit_combination(
    notes: Sequence[Columns],
    gold: Sequence[Values],
    columns: Sequence[str],
    penalty: float = 10.0,
    *,
    products: bool = True,
    used: Sequence[NDArray[np.bool_]] | None = None,
) -> Combination:
    """Fit a logistic regression that predicts from its columns whether a word is part of an identifier.

    notes (Sequence[Columns]): the columns of each annotated note.
    gold (Sequence[NDArray]): for each note 1 where a word is part of an identifier and 0 elsewhere, shape (words,).
    columns (Sequence[str]): names of the columns to use.
    penalty (float): strength of the ridge penalty on the weights, relative to a likelihood that is summed over words.
    products (bool): whether to use products of two columns as features.
    used (Optional[Sequence[NDArray]]): for each note which words to fit to, shape (words,); None for all.
    RETURNS (Combination): the fitted regression.
    """
    names = list(columns)
    stacked = np.concatenate([np.stack([_limited(note[name]) for name in names], axis=1) for note in notes])
    means, scales = stacked.mean(axis=0), np.maximum(stacked.std(axis=0), 1e-6)
    design = np.concatenate([expand(note, names, means, scales, products) for note in notes])
    design = np.concatenate([design, np.ones((len(design), 1))], axis=1)
    truth = np.concatenate(list(gold)).astype(float)
    if used is not None:
        kept = np.concatenate(list(used))
        design, truth = design[kept], truth[kept]
    weights = np.zeros(design.shape[1])
    ridge = np.full(len(weights), penalty)
    ridge[-1] = 0.0
    for _ in range(STEPS):
        probability = _logistic(design @ weights)
        gradient = design.T @ (truth - probability) - ridge * weights
        curvature = (design * (probability * (1 - probability))[:, None]).T @ design + np.diag(ridge + 1e-9)
        step = np.linalg.solve(curvature, gradient)
        weights += step / max(1.0, float(np.abs(step).max()) / 5)
        if np.abs(step).max() < 1e-6:
            break
    return Combination(names, means.tolist(), scales.tolist(), weights[:-1].tolist(), float(weights[-1]), products)


def expand(columns: Columns, names: Sequence[str], means: Values, scales: Values, products: bool = True) -> Values:
    """Compute the features of the regression: standardized columns, their neighbours, squares and pairwise products.

    columns (Columns): columns of one note.
    names (Sequence[str]): names of the columns to use.
    means, scales (NDArray): mean and standard deviation of each column.
    products (bool): whether to compute squares and products.
    RETURNS (NDArray): shape (words, features).
    """
    standard = {
        name: (_limited(columns[name]) - mean) / scale for name, mean, scale in zip(names, means, scales, strict=True)
    }
    beside = add_neighbours(standard, names)
    if not products:
        return np.stack([*beside.values()], axis=1)
    pairs = (standard[one] * standard[other] for one, other in combinations(names, 2))
    squares = (standard[name] ** 2 for name in names)
    return np.stack([*beside.values(), *pairs, *squares], axis=1)


def _limited(values: Values) -> Values:
    """Clip extreme values."""
    return np.clip(values, -LIMIT, LIMIT)


def _logistic(values: Values) -> Values:
    """Compute 1 / (1 + exp(−x)) without overflow."""
    return 1.0 / (1.0 + np.exp(-np.clip(values, -60, 60)))


def _rounded(value: object) -> object:
    """Round numbers to six significant digits, which keeps the files that ship small."""
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


@dataclass(frozen=True)
class Score:
    """A score: a function that rates how likely each word is part of an identifier.

    name (str): name by which results refer to the score.
    compute (Callable): (Doc, indices of the scored tokens, their columns) → one number per token, shape (words,).
    highest (float): the score that a word gets if the model cannot read it; 1 for a score that is a probability.
    """

    name: str
    compute: Callable[[Doc, Sequence[int], Columns], Values]
    highest: float = MOST_SURPRISING

    @property
    def is_probability(self) -> bool:
        """bool: Whether the score is a calibrated probability."""
        return self.highest == 1.0


def make_surprisal_score() -> Score:
    """Make the score −ln P(word) in nats. (The papers use P(word) itself, which is low where this score is high.)

    RETURNS (Score): the score.
    """
    return Score("surprisal", partial(_weighted, weights={}))


def make_per_piece_score() -> Score:
    """Make the score −ln P(word) / number of pieces, in nats, so that a long word does not get a high score for its
    length.

    RETURNS (Score): the score.
    """
    return Score("per_piece", partial(_column, name="per_piece"))


def make_rank_score() -> Score:
    """Make the score ln(1 + r), where r is the number of pieces that are more probable than the first piece of the
    word.

    RETURNS (Score): the score.
    """
    return Score("rank", partial(_column, name="log_rank"))


def make_entropy_score(weight: float = 1.0) -> Score:
    """Make the score −ln P(word) + weight · H, in nats, where H is the entropy of the distribution at the word's
    position.

    It is high for a surprising word at a position where many words are possible, such as the position of a name.

    weight (float): weight of the entropy.
    RETURNS (Score): the score.
    """
    return Score(f"entropy-{weight:g}", partial(_weighted, weights={"entropy": weight}))


def make_name_slot_score(weight: float = 10.0) -> Score:
    """Make the score −ln P(word) + weight · (P(name expected) + P(place expected)), in nats.

    It is high for a surprising word at a position where the model expects the name of a person or a place.

    weight (float): weight of the two probabilities.
    RETURNS (Score): the score.
    """

    return Score(f"name_slot-{weight:g}", partial(_weighted, weights={"name_mass": weight, "place_mass": weight}))


def make_contrast_score(weight: float = 0.5) -> Score:
    """Make the score −ln P(word | context) + weight · −ln P(word), in nats. The second term, the rarity of the word in
    running text, raises the score of rare words.

    weight (float): weight of the rarity; −1 gives the negative pointwise mutual information.
    RETURNS (Score): the score.
    """
    return Score(f"contrast-{weight:g}", partial(_weighted, weights={"rarity": weight}))


@registry.deid_scores("spacy_deid.veto_score.v1")
def make_veto_score(score: str | Score, lang: str, factor: float = 0.3) -> Score:
    """Make a score that lowers another score for the words of medical terms, except terms named after a person.

    score (Union[str, Score]): the other score, or its name.
    lang (str): ISO 639-1 code of the medical dictionary.
    factor (float): number by which the score of a medical word is multiplied.
    RETURNS (Score): the score.
    RAISES: ConfigError (D703) if this package contains no medical dictionary of the language.
    """
    score = choose_score(score, lang)
    veto = partial(_vetoed, score=score, dictionary=MedicalDictionary.load(lang), factor=factor)
    return Score(f"{score.name}-veto", veto, score.highest)


@registry.deid_scores("spacy_deid.combined_score.v1")
def make_combined_score(source: str, kind: str = "all") -> Score:
    """Make the score of a fitted combination: the probability that a word is part of an identifier.

    source (str): code of a language whose combination this package contains, or a folder with combinations.
    kind (str): "all" for all columns; "model" for those of the language model; "form" for form, position and rarity,
        which is the baseline the language model must beat; "zero_shot" for the one that was fitted without labels (see
        `masked_lm.zero_shot`).
    RETURNS (Score): the score, from 0 to 1.
    RAISES: ConfigError (D809) if there is no such combination.
    """
    folder = get_language(source).resource("masked_lm") if source in language_codes("masked_lm") else Path(source)
    path = folder / f"combined_{kind}.json"
    if not path.is_file():
        raise ConfigError(Errors.D809.format(source=path))
    combine = partial(_combined, combination=Combination.from_file(path))
    return Score(f"combined_{kind}", combine, highest=1.0)


@registry.deid_scores("spacy_deid.weighted_score.v1")
def make_weighted_score(score: str, weight: float) -> Score:
    """Make the score "entropy", "name_slot" or "contrast" with a weight other than its default.

    score (str): name of the score.
    weight (float): weight of its second term; see `make_entropy_score`, `make_name_slot_score` and
        `make_contrast_score`.
    RETURNS (Score): the score.
    RAISES: ConfigError (D697) for another name.
    """
    plain = {name: partial(make, weight) for name, make in WEIGHTED_SCORES.items()}
    found: Score = choose_part("deid_scores", score, plain, setting="score")
    return found


WEIGHTED_SCORES: dict[str, Callable[..., Score]] = {
    "entropy": make_entropy_score,
    "name_slot": make_name_slot_score,
    "contrast": make_contrast_score,
}
PLAIN_SCORES: dict[str, Callable[..., Score]] = {
    "surprisal": make_surprisal_score,
    "per_piece": make_per_piece_score,
    "rank": make_rank_score,
    **WEIGHTED_SCORES,
}
"""Scores that a config can name by a plain string, beside "combined"."""


def choose_score(score: str | Score, lang: str) -> Score:
    """Convert the setting ``score`` of a component to a score.

    score (Union[str, Score]): a key of `PLAIN_SCORES`, "combined", a registered name, or a score.
    lang (str): ISO 639-1 code of the language whose combination "combined" uses.
    RETURNS (Score): the score.
    RAISES: ConfigError for an unknown name (D697, D698), or if this package contains no combination of the language
        (D809).
    """
    plain: dict[str, Callable[[], Score]] = {**PLAIN_SCORES, "combined": partial(make_combined_score, lang)}
    found: Score = choose_part("deid_scores", score, plain, setting="score")
    return found


def _column(doc: Doc, words: Sequence[int], columns: Columns, name: str) -> Values:
    """Return the values of one column, one for each scored word."""
    return columns[name]


def _weighted(doc: Doc, words: Sequence[int], columns: Columns, weights: Mapping[str, float]) -> Values:
    """Return the surprisal of each word plus the given columns, multiplied by their weights."""
    values = columns["surprisal"].copy()
    for name, weight in weights.items():
        values += weight * columns[name]
    return values


def _vetoed(
    doc: Doc, words: Sequence[int], columns: Columns, score: Score, dictionary: MedicalDictionary, factor: float
) -> Values:
    """Lower the scores of words inside medical terms, except terms that are named after a person."""
    values = score.compute(doc, words, columns).copy()
    starts = np.array([doc[word].idx for word in words])
    for match in dictionary.find(doc.text):
        if not match.person_named:
            values[np.searchsorted(starts, match.start) : np.searchsorted(starts, match.end)] *= factor
    return values


def _combined(doc: Doc, words: Sequence[int], columns: Columns, combination: Combination) -> Values:
    """Predict with a combination, from the given columns, those of the words' form and, if needed, public lists."""
    known = {**columns, **form_columns(doc, words)}
    if any(name not in known for name in combination.columns):
        from .zero_shot import public_columns  # which imports this module

        known |= public_columns(doc, words, doc.lang_)
    return combination.predict(known)
