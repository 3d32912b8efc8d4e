"""Register corpus readers and augmenters for spaCy training configs: synthetic and authored notes, noise, injection.

An augmenter yields each example unchanged, sometimes followed by a changed copy.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from spacy.language import Language as Pipeline
from spacy.training import Example
from spacy.util import registry

from ..errors import ConfigError, Errors, InputError
from ..evaluation import AnnotatedText, Entity
from ..evaluation.documents import reduce_labels
from ..evaluation.formats import align_entities, make_docs
from ..lang import get_language
from .authored import read_authored
from .carriers import make_rule_labeller, read_carriers
from .corpus import carry, check_injection, make_authored_corpus, make_corpus
from .language import load_language
from .noise import DAMAGE, HANDS, add_noise

Augmenter = Callable[[Pipeline, Example], Iterator[Example]]
Reader = Callable[[Pipeline], Iterator[Example]]
_WORD = re.compile(r"[^\W\d_]+")


@registry.readers("spacy_deid.synth_corpus.v1")
def make_synth_corpus(
    lang: str,
    n: int,
    seed: int = 1,
    split: str = "train",
    carriers: str | Path | None = None,
    prelabel: bool = True,
    carrier_share: float = 0.5,
    noise: float = 0.2,
    scheme: str = "canonical",
    augmenter: Augmenter | None = None,
) -> Reader:
    """Create a corpus reader that generates synthetic notes. Every pass over the corpus yields the same notes.

    lang (str): code of a language with templates.
    n (int): number of notes.
    seed (int): seed of the random generators.
    split (str): "train", "dev" or "test".
    carriers (str | Path | None): folder of real notes for injection, see `carriers.read_carriers`.
    prelabel (bool): whether the pattern rules label the own identifiers of these notes (carriers).
    carrier_share (float): share of the generated notes that are based on carriers, if there are any.
    noise (float): share of the notes with typing or scanning errors.
    scheme (str): label scheme of the examples.
    augmenter (Callable | None): as that of ``spacy.Corpus.v1``.
    RETURNS (Callable[[Language], Iterator[Example]]): reader for a section ``[corpora.NAME]``, with the tokenizer
        of the pipeline.
    RAISES: as `make_corpus` and `read_carriers`, in the first pass; ConfigError (D002) for an unknown scheme.
    """

    def read(nlp: Pipeline) -> Iterator[Example]:
        given = read_carriers(Path(carriers), lang) if carriers else []
        finder = make_rule_labeller(lang) if given and prelabel else None
        notes = make_corpus(
            lang, n, seed, split, carriers=given, prelabel=finder, carrier_share=carrier_share, noise=noise
        )
        for note in notes:
            (doc,), _ = make_docs([note], nlp.make_doc, scheme=scheme)
            example = Example(nlp.make_doc(note.text), doc)
            yield from augmenter(nlp, example) if augmenter else (example,)

    return read


@registry.readers("spacy_deid.authored_corpus.v1")
def make_authored_reader(
    path: str | Path,
    fill: bool = True,
    seed: int = 1,
    scheme: str = "canonical",
    distinguish: str = "canonical",
    describing: str | None = None,
    augmenter: Augmenter | None = None,
) -> Reader:
    """Create a corpus reader of authored notes (written by hand with marked identifiers).

    path (str | Path): file or folder of authored notes, see `authored.read_authored`.
    fill (bool): whether to fill the notes with other persons, numbers and dates in each pass after the first. False
        for notes that are used for evaluation.
    seed (int): seed of the random generators.
    scheme (str): label scheme of the examples.
    distinguish (str): scheme whose distinctions the labels keep. With "meddocan", which has one label for all places,
        towns and postal codes become TERRITORY, as in a corpus converted from it.
    describing (str | None): language whose words of kinship and sex are labelled too, as in MEDDOCAN. The protocol of
        the authored corpus does not mark them, because they identify nobody. None to label none.
    augmenter (Callable | None): as that of ``spacy.Corpus.v1``.
    RETURNS (Callable[[Language], Iterator[Example]]): reader for a section ``[corpora.NAME]``, with the tokenizer
        of the pipeline.
    RAISES: in the first pass, InputError as `authored.read_authored`, ConfigError (D002) for an unknown scheme.
    """
    passes = count()

    def read(nlp: Pipeline) -> Iterator[Example]:
        turn = next(passes) if fill else 0
        for note in make_authored_corpus(read_authored(Path(path)), seed, turn):
            note = reduce_labels(note, distinguish)
            note = mark_describing(note, describing) if describing else note
            (doc,), _ = make_docs([note], nlp.make_doc, scheme=scheme)
            example = Example(nlp.make_doc(note.text), doc)
            yield from augmenter(nlp, example) if augmenter else (example,)

    return read


def mark_describing(note: AnnotatedText, lang: str) -> AnnotatedText:
    """Label the words of kinship and sex in a note ("madre", "varón") KINSHIP and SEX, outside of its entities.

    note (AnnotatedText): the note.
    lang (str): language of the words, those of ``describing`` in its note_words.toml.
    RETURNS (AnnotatedText): the note with more entities.
    """
    known = get_language(lang).read_toml("note_words.toml").get("describing", {})
    labels = {word: label for label in ("KINSHIP", "SEX") for word in known.get(label, ()) if len(word) > 1}
    inside = {i for entity in note.entities for i in range(entity.start, entity.end)}
    more = [
        Entity(match.start(), match.end(), labels[match.group().lower()])
        for match in _WORD.finditer(note.text)
        if match.group().lower() in labels and match.start() not in inside
    ]
    return replace(note, entities=(*note.entities, *more))


@registry.readers("spacy_deid.mixed_corpus.v1")
def make_mixed_reader(
    corpora: dict[str, Any], weights: dict[str, float], n: int, seed: int = 1, augmenter: Augmenter | None = None
) -> Reader:
    """Create a corpus reader that mixes other corpora, so that a large corpus does not outweigh a small one.

    The corpus of each note is drawn at random by weight. The notes of a corpus come in random order; after the last
    one the corpus is read again. The next pass continues where the last one stopped, so that a corpus is used
    completely even if it is larger than its share of a pass.

    corpora (dict[str, Callable]): name → corpus reader.
    weights (dict[str, float]): name → weight of the corpus, for the same names. A corpus with weight 0 is not read. If
        only one corpus has a weight, a pass is a pass of that corpus.
    n (int): number of notes in a pass over a mixture.
    seed (int): seed of the random generator.
    augmenter (Callable | None): applied to the notes of the mixture, after the augmenters of the corpora.
    RETURNS (Callable[[Language], Iterator[Example]]): reader for a section ``[corpora.NAME]``.
    RAISES: ConfigError (D616) if the names differ, or no weight is positive; InputError (D617) for an empty corpus, in
        the first pass.
    """
    names = sorted(name for name, weight in weights.items() if weight > 0)
    if corpora.keys() != weights.keys() or not names:
        raise ConfigError(Errors.D616.format(corpora=", ".join(sorted(corpora)), weights=", ".join(sorted(weights))))
    rng = Random(seed)
    left: dict[str, list[Example]] = {name: [] for name in names}

    def draw(nlp: Pipeline) -> Iterator[Example]:
        for name in rng.choices(names, [weights[name] for name in names], k=n):
            if not left[name]:
                left[name] = list(corpora[name](nlp))
                rng.shuffle(left[name])
            if not left[name]:
                raise InputError(Errors.D617.format(name=name))
            yield left[name].pop()

    def read(nlp: Pipeline) -> Iterator[Example]:
        for example in draw(nlp) if len(names) > 1 else corpora[names[0]](nlp):
            yield from augmenter(nlp, example) if augmenter else (example,)

    return read


@registry.augmenters("spacy_deid.noise.v1")
def make_noise_augmenter(share: float = 0.2, hands: list[str] | None = None, seed: int = 0) -> Augmenter:
    """Create an augmenter that adds copies of notes with typing or scanning errors.

    share (float): probability that a note is followed by such a copy.
    hands (list[str] | None): types of noise, keys of `noise.HANDS` and `noise.DAMAGE`; None for those of `HANDS`. A
        copy has one or two of them.
    seed (int): seed of the random generator.
    RETURNS (Callable): for the setting "augmenter" of a corpus reader.
    RAISES: ConfigError (D612) for an unknown type of noise, or an empty list.
    """
    chosen = sorted(HANDS if hands is None else set(hands))
    if not chosen or not set(chosen) <= HANDS.keys() | DAMAGE.keys():
        raise ConfigError(Errors.D612.format(known=", ".join(sorted(HANDS | DAMAGE))))
    return _make_augmenter(lambda note, rng: add_noise(note, rng, chosen), share, seed)


@registry.augmenters("spacy_deid.inject.v1")
def make_inject_augmenter(lang: str, share: float = 0.5, split: str = "train", seed: int = 0) -> Augmenter:
    """Create an augmenter that adds copies of notes with injected identifiers of invented persons.

    The identifiers have canonical labels.

    lang (str): code of a language with templates.
    share (float): probability that a note is followed by such a copy.
    split (str): "train", "dev" or "test": determines the sentences and rare names that are used.
    seed (int): seed of the random generator.
    RETURNS (Callable): for the setting "augmenter" of a corpus reader.
    RAISES: ConfigError if the language is unknown (D602) or has nothing to inject for the split (D610).
    """
    language = load_language(lang)
    check_injection(language, split)
    return _make_augmenter(lambda note, rng: carry(note, language, rng, split), share, seed)


def _make_augmenter(change: Callable[[AnnotatedText, Random], AnnotatedText], share: float, seed: int) -> Augmenter:
    """Create an augmenter that adds changed copies of notes with probability `share`, using a function."""
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
