"""Config blocks for ``deid_surrogate`` that adapt the style "surrogate": its strategies and its date rules.

A strategy is a function that chooses a surrogate for each mention of a label in a note.
"""

from dataclasses import fields
from functools import partial
from typing import Any

from ..errors import ConfigError, Errors
from ..masked_lm.in_place import WordsInPlace
from ..masked_lm.model import load_masked_lm
from ..medical.name_context import unfit_words
from ..ml.self_decoder import SelfDecoder
from ..registries import choose_part, registry
from ..surrogates.calendar.rules import DateRules
from ..surrogates.self_decoded import SelfDecoded
from ..surrogates.similar import Similar
from ..surrogates.strategies import (
    Strategy,
    check_probability,
    consistent,
    generalize,
    keep,
    markov,
    randomized,
    tag,
)
from ..surrogates.style import SurrogateStyle

STRATEGIES: dict[str, Strategy] = {
    "consistent": consistent,
    "random": randomized,
    "keep": keep,
    "tag": tag,
    "generalize": generalize,
}
"""Strategies that a config can name by a plain string."""


@registry.deid_styles("spacy_deid.surrogate_style.v1")
def make_surrogate_style(
    default: Any = "consistent", labels: dict[str, Any] | None = None, dates: dict[str, Any] | None = None
) -> SurrogateStyle:
    """Make a style "surrogate" with chosen strategies for the labels, and chosen rules for shifting dates.

    default (Union[str, Strategy]): strategy for all labels that are not in `labels`: "consistent", "random", "keep",
        "tag", "generalize", or a config block of the registry ``deid_strategies``.
    labels (Optional[dict]): canonical label → its strategy; None to use `default` for all.
    dates (Optional[dict]): settings of `surrogates.calendar.DateRules`, which shift dates and ages; None for a shift
        of whole weeks, at most three years into the past.
    RETURNS (SurrogateStyle): the style.
    RAISES: ConfigError for an unknown label (D692), strategy (D697, D698), date setting (D837) or date style (D660),
        or if no date offset satisfies the rules (D661).
    """
    known = [field.name for field in fields(DateRules)]
    if unknown := sorted(set(dates or {}) - set(known)):
        raise ConfigError(Errors.D837.format(kind="setting of 'dates'", name=unknown[0], known=", ".join(known)))
    chosen = {label: choose_strategy(strategy) for label, strategy in (labels or {}).items()}
    return SurrogateStyle(choose_strategy(default), chosen, None if dates is None else DateRules(**dates))


def choose_strategy(strategy: Any) -> Strategy:
    """Return the strategy that a setting names.

    strategy (Union[str, Strategy]): a key of `STRATEGIES`, a registered name, or a strategy.
    RETURNS (Strategy): the strategy.
    RAISES: ConfigError (D697, D698) for an unknown name.
    """
    plain = {name: partial(STRATEGIES.__getitem__, name) for name in STRATEGIES}
    found: Strategy = choose_part("deid_strategies", strategy, plain, setting="strategy")
    return found


@registry.deid_strategies("spacy_deid.markov_strategy.v1")
def make_markov_strategy(p: float) -> Strategy:
    """Make the strategy that may change the surrogate of an entity from one mention to the next.

    p (float): probability of a change.
    RETURNS (Strategy): see `surrogates.strategies.markov`.
    RAISES: ConfigError (D690) if `p` is not between 0 and 1.
    """
    return partial(markov, p=check_probability(p))


@registry.deid_strategies("spacy_deid.similar_strategy.v1")
def make_similar_strategy(lang: str, model: str = "", best: int = 5, candidates: int = 40) -> Strategy:
    """Make the strategy that draws surrogates from names that fit the context, as a masked language model ranks them.

    It requires the extra "surprisal" for the models that ship, and "transformers" for other models.

    lang (str): language of the names. In notes of other languages the strategy is "consistent".
    model (str): masked language model, as for `masked_lm.model.load_masked_lm`; "" for the one that ships. It is
        loaded when the first name is replaced.
    best (int): the surrogate is drawn from this many of the highest-ranked candidates.
    candidates (int): number of candidates that are ranked.
    RETURNS (Strategy): see `surrogates.similar.Similar`.
    RAISES: ConfigError (D696) if `candidates` is less than 2 or less than `best`.
    """
    return Similar(WordsInPlace(partial(load_masked_lm, model or lang)), lang, best, candidates)


@registry.deid_strategies("spacy_deid.self_decoded_strategy.v1")
def make_self_decoded_strategy(model: str, lang: str, attempts: int = 20) -> Strategy:
    """Make the strategy that generates names with a self-decoding model; see `ml.self_decoder`.

    It requires the extra "transformers" and a model that was trained with ``scripts/self_decoder.py``.

    model (str): folder of a trained model.
    lang (str): language of the generated names. In notes of other languages the strategy is "consistent".
    attempts (int): number of draws per word. If none of them is acceptable, the person gets the surrogate of
        "consistent".
    RETURNS (Strategy): see `surrogates.self_decoded.SelfDecoded`.
    RAISES: ConfigError if packages are missing (D806) or the folder contains no self-decoding model (D249).
    """
    return SelfDecoded(SelfDecoder.from_disk(model).propose, lang, attempts, unfit_words(lang))
