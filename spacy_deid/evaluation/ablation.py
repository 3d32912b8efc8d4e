"""What each component of a pipeline is worth: the same notes with one of them left out, and with one detector alone.

The detectors run once; what they found is merged again without those that are left out.
"""

from collections.abc import Sequence
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from .docbin import from_doc
from .documents import AnnotatedText
from .metrics import evaluate
from .stages import Stages, decide, detect, left_out, take_apart

__all__ = ["FIGURES", "ablate", "predict", "summarize_scores"]

# name of the figure → where `metrics.evaluate` has it
FIGURES = {
    "strict_f1": ("all", "ner", "f1"),
    "narrative_strict_f1": ("narrative", "ner", "f1"),
    "word_precision": ("all", "word", "precision"),
    "word_recall": ("all", "word", "recall"),
    "word_f1": ("all", "word", "f1"),
    "character_precision": ("all", "character", "precision"),
    "character_recall": ("all", "character", "recall"),
    "clean": ("all", "clean", "share"),
}


def ablate(nlp: Language, gold: Sequence[AnnotatedText], *, scheme: str = "canonical") -> dict[str, dict[str, Any]]:
    """Measure a pipeline without each of its components, and each of its detectors alone.

    nlp (Language): a pipeline with ``deid_merge``; it is as it was afterwards.
    gold (Sequence[AnnotatedText]): with canonical labels.
    scheme (str): scheme to compare labels in.
    RETURNS (dict): "whole pipeline", "without X", "X alone" → the figures of `FIGURES`.
    RAISES: ConfigError (D342) if nothing is merged in the pipeline.
    """
    stages = take_apart(nlp)
    docs = detect(nlp, (document.text for document in gold), stages)
    detectors = list(stages.detectors.values())
    variants: dict[str, list[str]] = {"whole pipeline": []}
    variants |= {f"without {name}": [name] for name in stages.parts if len(detectors) > 1 or name not in detectors}
    if len(detectors) > 1:
        variants |= {f"{one} alone": [name for name in stages.parts if name != one] for one in detectors}
    return {
        variant: summarize_scores(evaluate(gold, predict(nlp, docs, gold, stages, names), scheme=scheme, bootstrap=0))
        for variant, names in variants.items()
    }


def predict(
    nlp: Language, docs: Sequence[Doc], gold: Sequence[AnnotatedText], stages: Stages, without: Sequence[str] = ()
) -> list[AnnotatedText]:
    """Decide on Docs that the detectors have run on, with some components left out.

    nlp (Language): the pipeline.
    docs (Sequence[Doc]): as `stages.detect` gives them.
    gold (Sequence[AnnotatedText]): gives the names.
    stages (Stages): the parts of the pipeline.
    without (Sequence[str]): names of detectors and of components behind the merging.
    RETURNS (list[AnnotatedText]): what was found.
    """
    with left_out(nlp, docs, stages, without):
        decided = (decide(nlp, doc, stages, without=without) for doc in docs)
        return [from_doc(doc, document.name) for doc, document in zip(decided, gold, strict=True)]


def summarize_scores(scores: dict[str, Any]) -> dict[str, Any]:
    """The figures of `FIGURES` out of a whole evaluation, with five digits; None where one is not defined."""
    values = {name: scores[region].get(kind, {}).get(key) for name, (region, kind, key) in FIGURES.items()}
    return {name: None if value is None else round(value, 5) for name, value in values.items()}
