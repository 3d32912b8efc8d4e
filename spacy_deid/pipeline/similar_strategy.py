"""The strategy `similar` by its registered name, for configs.

    [components.deid_surrogate.style.labels.PATIENT]
    @misc = "spacy_deid.similar_strategy.v1"
    lang = "es"

Needs the extra "surprisal" for the models that ship, "transformers" for others.
"""

from functools import partial

from spacy.util import registry

from ..masked_lm.in_place import WordsInPlace
from ..masked_lm.model import load_masked_lm
from ..surrogates.similar import Similar
from ..surrogates.strategies import Strategy

__all__ = ["make_similar_strategy"]


@registry.misc("spacy_deid.similar_strategy.v1")
def make_similar_strategy(lang: str, model: str = "", best: int = 5, candidates: int = 40) -> Strategy:
    """Make the strategy `similar`.

    lang (str): language of the names. In notes of other languages the strategy is `consistent`.
    model (str): masked language model, as `masked_lm.model.load_masked_lm` takes it; "" for the one that ships. It is
        loaded when the first name is replaced.
    best (int): of how many candidates one is drawn.
    candidates (int): how many are ranked.
    RAISES: ConfigError (D696) if fewer are ranked than are drawn from, or fewer than two.
    """
    return Similar(WordsInPlace(partial(load_masked_lm, model or lang)), lang, best, candidates)
