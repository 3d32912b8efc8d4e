"""Augmenters for spaCy's corpus readers: a note typed by another hand, a note with identifiers put in.

Both give the note itself first, and now and then a changed copy behind it.
"""

from collections.abc import Callable, Iterator
from random import Random

from spacy.language import Language as Pipeline
from spacy.training import Example
from spacy.util import registry

from ..errors import ConfigError, Errors
from ..evaluation import AnnotatedText, Entity
from ..evaluation.formats import align_entities
from .corpus import carry, check_injection
from .language import load_language
from .noise import HANDS, add_noise

__all__ = ["make_inject_augmenter", "make_noise_augmenter"]

Augmenter = Callable[[Pipeline, Example], Iterator[Example]]


@registry.augmenters("spacy_deid.noise.v1")
def make_noise_augmenter(share: float = 0.2, hands: list[str] | None = None, seed: int = 0) -> Augmenter:
    """Make an augmenter that adds copies typed badly; the entities follow their text.

    share (float): probability of a copy.
    hands (list[str] | None): the ways, keys of `noise.HANDS`; None for all. A copy has one of them or two.
    seed (int): seed of the draws.
    RETURNS (Callable): for the setting "augmenter" of a corpus reader.
    RAISES: ConfigError (D612) for an unknown hand, or none.
    """
    chosen = sorted(HANDS if hands is None else set(hands))
    if not chosen or not set(chosen) <= HANDS.keys():
        raise ConfigError(Errors.D612.format(known=", ".join(sorted(HANDS))))
    return _make_augmenter(lambda note, rng: add_noise(note, rng, chosen), share, seed)


@registry.augmenters("spacy_deid.inject.v1")
def make_inject_augmenter(lang: str, share: float = 0.5, split: str = "train", seed: int = 0) -> Augmenter:
    """Make an augmenter that adds copies with identifiers of invented persons put in, under canonical labels.

    lang (str): code of a language that the workshop knows.
    share (float): probability of a copy.
    split (str): "train", "dev" or "test": which sentences and rare names are used.
    seed (int): seed of the draws.
    RETURNS (Callable): for the setting "augmenter" of a corpus reader.
    RAISES: ConfigError if the language is unknown (D602) or has nothing to put in for the split (D610).
    """
    language = load_language(lang)
    check_injection(language, split)
    return _make_augmenter(lambda note, rng: carry(note, language, rng, split), share, seed)


def _make_augmenter(change: Callable[[AnnotatedText, Random], AnnotatedText], share: float, seed: int) -> Augmenter:
    """An augmenter of what changes a note."""
    rng = Random(seed)

    def augment(nlp: Pipeline, example: Example) -> Iterator[Example]:
        yield example
        reference = example.reference
        if rng.random() < share and reference.text.strip():
            entities = tuple(Entity(ent.start_char, ent.end_char, ent.label_) for ent in reference.ents)
            note = change(AnnotatedText("", reference.text, entities), rng)
            doc = nlp.make_doc(note.text)
            doc.set_ents(align_entities(doc, list(note.entities))[0], default="outside")
            yield Example(nlp.make_doc(note.text), doc)

    return augment
