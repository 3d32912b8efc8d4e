"""The columns of ``spacy-deid surrogates evaluate``: what each strategy, or a language model, makes of a corpus."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from spacy.language import Language

from ..errors import ConfigError, Errors
from ..evaluation import AnnotatedText
from ..evaluation.surrogate_table import Embed, Floats, Pair, surrogate_figures
from ..llm.backends import Backend
from ..llm.replacing import replace_values
from ..masked_lm.in_place import WordsInPlace
from ..masked_lm.model import load_masked_lm
from ..registries import registry
from ..release import ReleasedNote, release_note
from ..surrogates.keys import ProjectKey
from ..surrogates.self_decoded import SelfDecoded
from ..surrogates.similar import Similar
from ..surrogates.strategies import FALLBACK, Strategy, check_probability, consistent, markov, randomized
from ..surrogates.style import SurrogateStyle
from .batches import load_pipeline

__all__ = ["FELL", "LEFT", "chains", "embedder", "learned", "measure", "measure_llm", "release"]

LEFT = "left as they are"
"""The share of mentions that stay on purpose, as "three days ago" does. The other figures are of the others."""

FELL = "left to consistent"
"""Of the names and towns that a strategy was asked for, the share that it left to `consistent`."""

Made = list[tuple[str, str, str | None]]  # label, original, surrogate; None where none can be made


def chains(probabilities: Sequence[float]) -> dict[str, Strategy]:
    """The strategies of the lists, by the titles of their columns. RAISES: ConfigError (D690)."""
    changing = {f"markov({p:g})": partial(markov, p=check_probability(p)) for p in probabilities}
    return {"consistent": consistent, "random": randomized, **changing}


def learned(lang: str, masked_lm: str, self_decoded: str) -> dict[str, Strategy]:
    """The strategies of models, as far as models are given.

    lang (str): language of the notes.
    masked_lm (str): masked language model for `similar`, or "".
    self_decoded (str): folder of a self-decoding model, or "".
    RETURNS (dict[str, Strategy]): title → strategy.
    RAISES: ConfigError if a model cannot be loaded.
    """
    found: dict[str, Strategy] = {}
    if masked_lm:
        found["similar"] = _registered("similar", lang=lang, model=masked_lm)
    if self_decoded:
        found["self_decoded"] = _registered("self_decoded", lang=lang, model=self_decoded)
    return found


def _registered(name: str, **settings: Any) -> Strategy:
    """A strategy as a config has it."""
    made: Strategy = registry.deid_strategies.get(f"spacy_deid.{name}_strategy.v1")(**settings)
    return made


def release(notes: Sequence[AnnotatedText], lang: str, strategy: Strategy, seed: int) -> Iterator[ReleasedNote]:
    """De-identify notes by a key that a seed tells, each as that of another patient."""
    key = ProjectKey(hashlib.sha256(f"surrogates evaluate {seed}".encode()).digest())
    style = SurrogateStyle(strategy)
    return (release_note(note, key.patient(note.name), lang, style) for note in notes)


def measure(
    released: Iterator[ReleasedNote], labels: Sequence[str], embed: Embed | None, strategy: Strategy
) -> dict[str, float]:
    """The figures of a strategy."""
    made, left = _made(released, labels)
    figures = surrogate_figures([Pair(old, new) for _, old, new in made], embed) | {LEFT: left}
    if isinstance(strategy, Similar | SelfDecoded) and strategy.asked:
        figures[FELL] = strategy.left / strategy.asked
    return figures


def measure_llm(
    released: Iterator[ReleasedNote], labels: Sequence[str], embed: Embed | None, backend: Backend
) -> dict[str, float]:
    """The figures of a language model that replaces the same mentions, each value by itself."""
    made, left = _made(released, labels)
    said = replace_values(backend, ((label, old) for label, old, _ in made))
    return surrogate_figures([Pair(old, said[label, old]) for label, old, _ in made], embed) | {LEFT: left}


def _made(released: Iterator[ReleasedNote], labels: Sequence[str]) -> tuple[Made, float]:
    """What was replaced, and the share of mentions that stay."""
    pairs = [
        (mention.label, mention.text, replacement)
        for note in released
        for mention, replacement in zip(note.mentions, note.replacements, strict=True)
        if not labels or mention.label in labels
    ]
    made = [
        (label, old, None if new.action == FALLBACK else new.text) for label, old, new in pairs if new.action != "keep"
    ]
    return made, 1 - len(made) / max(1, len(pairs))


def embedder(pipeline: str, masked_lm: str) -> Embed | None:
    """Embeddings of a spaCy pipeline or, if none is given, of a masked language model.

    pipeline, masked_lm (str): their names, or "".
    RETURNS (Optional[Embed]): None if there is neither.
    RAISES: ConfigError as `load_pipeline`, or D695 if it has none.
    """
    if not pipeline:
        return WordsInPlace(partial(load_masked_lm, masked_lm)).embed if masked_lm else None
    nlp = load_pipeline(pipeline)
    if not len(embed_tokens("a", nlp)):
        raise ConfigError(Errors.D695.format(name=pipeline))
    return partial(embed_tokens, nlp=nlp)


def embed_tokens(text: str, nlp: Language) -> Floats:
    """A row for each token: of the tensor that a tok2vec sets, or else its vector; no rows if there is neither."""
    doc = nlp(text)
    rows: Floats = doc.tensor
    if not len(rows) and nlp.vocab.vectors_length:
        rows = np.array([token.vector for token in doc])
    return rows
