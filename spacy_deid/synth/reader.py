"""A corpus reader for spaCy that makes its notes while it reads: no file between the workshop and the training."""

from collections.abc import Callable, Iterator
from pathlib import Path

from spacy.language import Language as Pipeline
from spacy.training import Example
from spacy.util import registry

from ..evaluation.formats import make_docs
from .carriers import make_rule_labeller, read_carriers
from .corpus import make_corpus

__all__ = ["make_synth_corpus"]

Augmenter = Callable[[Pipeline, Example], Iterator[Example]]


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
) -> Callable[[Pipeline], Iterator[Example]]:
    """Make a reader of made notes. Every pass gives the same ones.

    lang (str): code of a language that the workshop knows.
    n (int): how many notes.
    seed (int): the seed.
    split (str): "train", "dev" or "test".
    carriers (str | Path | None): folder of real notes to put identifiers into, as `carriers.read_carriers` takes it.
    prelabel (bool): whether the rules that ship label what the carriers hold of their own.
    carrier_share (float): share of the notes that are carriers, where there are any.
    noise (float): share of the notes that are typed badly.
    scheme (str): scheme of the labels.
    augmenter (Callable | None): adds to the examples, as that of ``spacy.Corpus.v1``.
    RETURNS (Callable[[Language], Iterator[Example]]): for a section ``[corpora.NAME]``; the tokens are the pipeline's.
    RAISES: as `make_corpus` and `read_carriers`, on the first pass; ConfigError (D002) for an unknown scheme.
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
