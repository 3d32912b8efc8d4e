"""Training notes as other hands would have typed them: in capitals, in lower case, without accents."""

import random
import unicodedata
from collections.abc import Callable, Iterator

from spacy.language import Language
from spacy.tokens import Span
from spacy.training import Example
from spacy.util import registry

__all__ = ["make_typing_augmenter", "retype"]

HANDS: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "plain": lambda char: unicodedata.normalize("NFD", char)[0],
}


@registry.augmenters("spacy_deid.typing.v1")
def make_typing_augmenter(
    upper: float = 0.05, lower: float = 0.05, plain: float = 0.05, seed: int = 0
) -> Callable[[Language, Example], Iterator[Example]]:
    """Make an augmenter that now and then adds a copy of a note in another hand. The note itself always comes too.

    upper, lower, plain (float): probabilities of a copy in capitals, in lower case, without accents.
    seed (int): seed of the draws.
    RETURNS (Callable): for the setting "augmenter" of a corpus reader.
    """
    rng = random.Random(seed)

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        yield example
        for hand, share in (("upper", upper), ("lower", lower), ("plain", plain)):
            if rng.random() < share:
                yield _copy(nlp, example, hand)

    return augment


def retype(text: str, hand: str) -> str:
    """Write a text in another hand, character by character, so that offsets stay.

    text (str): the text.
    hand (str): "upper", "lower" or "plain".
    RETURNS (str): a text of the same length; a character that would become two stays as it is.
    """
    change = HANDS[hand]
    return "".join(new if len(new := change(char)) == 1 else char for char in text)


def _copy(nlp: Language, example: Example, hand: str) -> Example:
    """The example in another hand, tokenized anew."""
    reference = nlp.make_doc(retype(example.reference.text, hand))
    kept: list[Span] = []
    for ent in example.reference.ents:
        span = reference.char_span(ent.start_char, ent.end_char, label=ent.label_, alignment_mode="expand")
        if span and (not kept or kept[-1].end <= span.start):
            kept.append(span)
    reference.set_ents(kept, default="outside")
    return Example(nlp.make_doc(reference.text), reference)
