"""Training notes as other hands would have typed them: in capitals, in lower case, without accents, or in part."""

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
    upper: float = 0.05, lower: float = 0.05, plain: float = 0.05, excerpt: float = 0.0, seed: int = 0
) -> Callable[[Language, Example], Iterator[Example]]:
    """Make an augmenter that now and then adds a copy of a note in another hand. The note itself always comes too.

    upper, lower, plain (float): probabilities of a copy in capitals, in lower case, without accents.
    excerpt (float): probability of a few lines of the note as a note of their own. A model that has seen only whole
        letters takes the one line of a short note for the header of a letter.
    seed (int): seed of the draws.
    RETURNS (Callable): for the setting "augmenter" of a corpus reader.
    """
    rng = random.Random(seed)

    def augment(nlp: Language, example: Example) -> Iterator[Example]:
        yield example
        for hand, share in (("upper", upper), ("lower", lower), ("plain", plain)):
            if rng.random() < share:
                yield _copy(nlp, example, retype(example.reference.text, hand))
        if rng.random() < excerpt:
            start, end = _cut(example.reference.text, rng)
            yield _copy(nlp, example, example.reference.text[start:end], start)

    return augment


def retype(text: str, hand: str) -> str:
    """Write a text in another hand, character by character, so that offsets stay.

    text (str): the text.
    hand (str): "upper", "lower" or "plain".
    RETURNS (str): a text of the same length; a character that would become two stays as it is.
    """
    change = HANDS[hand]
    return "".join(new if len(new := change(char)) == 1 else char for char in text)


def _cut(text: str, rng: random.Random) -> tuple[int, int]:
    """Offsets of one to five lines that follow each other."""
    starts = [0, *(i + 1 for i, char in enumerate(text) if char == "\n")]
    first = rng.randrange(len(starts))
    return starts[first], [*starts, len(text)][min(first + rng.randint(1, 5), len(starts))]


def _copy(nlp: Language, example: Example, text: str, offset: int = 0) -> Example:
    """The entities of the example on another text, tokenized anew; offset (int): where that text begins in it."""
    reference = nlp.make_doc(text)
    kept: list[Span] = []
    for ent in example.reference.ents:
        if ent.start_char < offset or ent.end_char > offset + len(text):
            continue
        start, end = ent.start_char - offset, ent.end_char - offset
        span = reference.char_span(start, end, label=ent.label_, alignment_mode="expand")
        if span and (not kept or kept[-1].end <= span.start):
            kept.append(span)
    reference.set_ents(kept, default="outside")
    return Example(nlp.make_doc(text), reference)
