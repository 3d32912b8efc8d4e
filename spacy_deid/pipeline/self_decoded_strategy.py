"""The strategy `self_decoded` by its registered name, for configs.

    [components.deid_surrogate.style.labels.PATIENT]
    @misc = "spacy_deid.self_decoded_strategy.v1"
    model = "training/self_decoder_es"
    lang = "es"

Needs the extra "transformers" and a model that was trained by `scripts/self_decoder.py`; none ships.
"""

from spacy.util import registry

from ..medical.name_words import unfit_words
from ..ml.self_decoder import SelfDecoder
from ..surrogates.self_decoded import SelfDecoded
from ..surrogates.strategies import Strategy

__all__ = ["make_self_decoded_strategy"]


@registry.misc("spacy_deid.self_decoded_strategy.v1")
def make_self_decoded_strategy(model: str, lang: str, attempts: int = 20) -> Strategy:
    """Make the strategy `self_decoded`.

    model (str): folder of a trained model.
    lang (str): language of its names. In notes of other languages the strategy is `consistent`.
    attempts (int): draws for a word before its person is left to `consistent`.
    RAISES: ConfigError if packages are missing (D806) or the folder holds no self-decoding model (D249).
    """
    return SelfDecoded(SelfDecoder.from_disk(model).propose, lang, attempts, unfit_words(lang))
