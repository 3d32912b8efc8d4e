"""The scorer for ``spacy train`` and ``spacy evaluate``: what a de-identifier is judged by, in one dict."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry

from ..errors import Errors, InputError
from .bootstrap import plain, ratio
from .counts import alphanumeric_mask, count_exact, coverage_mask
from .documents import Entity

__all__ = ["make_deid_scorer", "score_examples"]


@registry.scorers("spacy_deid.deid_scorer.v1")  # type: ignore[untyped-decorator]
def make_deid_scorer(spans_key: str | None = None) -> Callable[..., dict[str, float | None]]:
    """Make the scorer.

    spans_key (str): span group of the predictions, "deid/ner" for a detector on its own; None for ``doc.ents``.
    RETURNS (Callable): takes examples, gives the scores of `score_examples`.
    """

    return partial(_score, spans_key)


def _score(spans_key: str | None, examples: Iterable[Example], **_: Any) -> dict[str, float | None]:
    """A scorer that pickles, which a closure would not."""
    return score_examples(examples, spans_key)


def score_examples(examples: Iterable[Example], spans_key: str | None = None) -> dict[str, float | None]:
    """Score predictions by characters, so that the two sides need not share their tokens.

    Examples whose reference has no entity annotation at all are left out, as spaCy does.

    examples (Iterable[Example]): predictions and references of the same texts.
    spans_key (str): span group of the predictions; None for ``doc.ents``.
    RETURNS (dict): "deid_p", "deid_r", "deid_f" on offsets and label; "deid_char_p", "deid_char_r" on letters and
        digits whatever the label; "deid_clean", the share of documents with entities and nothing of them missed. None
        where there is nothing to divide by.
    RAISES: InputError (D310) if the two texts of an example differ.
    """
    total = np.zeros(8, dtype=np.int64)
    for i, example in enumerate(examples):
        if not example.reference.has_annotation("ENT_IOB"):
            continue
        text = example.reference.text
        if text != example.predicted.text:
            raise InputError(Errors.D310.format(name=i))
        gold = [Entity(e.start_char, e.end_char, e.label_) for e in example.reference.ents]
        total += _count(text, gold, _predicted(example.predicted, spans_key))
    tp, fp, fn, char_tp, char_fp, char_fn, clean, unclean = total
    above = np.array([tp, tp, 2 * tp, char_tp, char_tp, clean])
    below = np.array([tp + fp, tp + fn, 2 * tp + fp + fn, char_tp + char_fp, char_tp + char_fn, clean + unclean])
    names = ("deid_p", "deid_r", "deid_f", "deid_char_p", "deid_char_r", "deid_clean")
    return {name: plain(value) for name, value in zip(names, ratio(above, below), strict=True)}


def _predicted(doc: Doc, spans_key: str | None) -> list[Entity]:
    """The predictions of a Doc. A group that is not there holds none, which costs recall and is not hidden."""
    spans = doc.ents if spans_key is None else doc.spans.get(spans_key, [])
    return [Entity(span.start_char, span.end_char, span.label_) for span in spans]


def _count(text: str, gold: list[Entity], pred: list[Entity]) -> list[int]:
    """Triples on entities and characters, and whether the document is clean."""
    due, got = coverage_mask(gold, len(text)), coverage_mask(pred, len(text))
    letters = alphanumeric_mask(text)
    hits, extra, missed = ((letters & mask).sum() for mask in (due & got, got & ~due, due & ~got))
    return [*count_exact(gold, pred), hits, extra, missed, int(hits > 0 and missed == 0), int(missed > 0)]
