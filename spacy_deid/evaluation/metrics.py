"""Every figure of an evaluation, from gold and predicted notes: plain JSON values, without text and without names.

=================  ====================================================================================
``ner``            offsets and label: MEDDOCAN subtrack 1; i2b2-2014 entity strict
``span_strict``    offsets alone: MEDDOCAN subtrack 2, strict
``span_merged``    offsets after uniting neighbours: MEDDOCAN subtrack 2, merged
``ner_relaxed``    start and label, end at most two characters off: i2b2-2014 entity relaxed
``token``          alphanumeric runs within entities, with label: i2b2-2014 token
``hipaa_…``        ``ner``, ``ner_relaxed`` and ``token`` for the i2b2-2014 HIPAA subset; scheme "i2b2" only
``character``      letters and digits, whatever the label
``word``           alphanumeric runs touched by an entity or not, whatever the label: PII against non-PII
``clean``          share of documents of which no letter or digit of a gold entity is uncovered
``leak``           false negatives of ``ner`` per sentence: MEDDOCAN subtrack 1
=================  ====================================================================================

All of it stands once for whole documents ("all"), once for their short lines ("header") and once for the long ones
("narrative"). An entity or word belongs to the line that it starts on, a character to the line that it is on.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors, InputError
from .bootstrap import interval, plain, ratio, resample, score
from .counts import (
    HIPAA_I2B2,
    Mask,
    Triple,
    alphanumeric_mask,
    confuse,
    count_exact,
    count_merged,
    count_relaxed,
    count_sentences,
    count_tokens,
    coverage_mask,
    find_words,
    header_mask,
)
from .documents import AnnotatedText, Entity, pair_documents, relabel

__all__ = ["REGIONS", "count_document", "evaluate"]

REGIONS = ("all", "header", "narrative")

Counts = dict[tuple[str, ...], Triple]


def evaluate(
    gold: Sequence[AnnotatedText],
    pred: Sequence[AnnotatedText],
    *,
    scheme: str = "canonical",
    bootstrap: int = 1000,
    seed: int = 0,
    sentences: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Compare predictions with gold.

    gold, pred (Sequence[AnnotatedText]): the same documents, with canonical labels.
    scheme (str): scheme to compare labels in; two canonical labels that it does not tell apart count as one.
    bootstrap (int): replicates for the 95 % intervals; 0 for none.
    seed (int): seed of the draws.
    sentences (Mapping[str, int]): sentences of each document, for the leak score; None to count them by
        `counts.count_sentences`, for all lines.
    RETURNS (dict): "scheme", "documents", "bootstrap", "seed", and for each region the scores, "labels" and
        "confusion". A figure with nothing to divide by is None.
    RAISES: InputError if the two sides do not pair (D308–D310) or a sentence count is missing (D315); ConfigError for
        an unknown scheme (D002) or label (D001).
    """
    pairs = pair_documents(gold, pred)
    rows = [count_document(one, other, scheme) for one, other in pairs]
    confusions = {region: _confusion(pairs, scheme, region) for region in REGIONS}
    if sentences is not None:
        for (one, _), row in zip(pairs, rows, strict=True):
            if one.name not in sentences:
                raise InputError(Errors.D315.format(name=one.name))
            row["all", "leak"] = (row["all", "leak"][0], sentences[one.name], 0)
    keys = sorted({key for row in rows for key in row} | {(region, "ner") for region in REGIONS})
    table = np.array([[row.get(key, (0, 0, 0)) for key in keys] for row in rows], dtype=np.int64)
    table = table.reshape(len(rows), len(keys), 3)
    totals, replicates = table.sum(axis=0), resample(table, bootstrap, seed)
    result: dict[str, Any] = {"scheme": scheme, "documents": len(pairs), "bootstrap": bootstrap, "seed": seed}
    result |= {region: {"labels": {}, "confusion": confusions[region]} for region in REGIONS}
    for i, (region, kind, *label) in enumerate(keys):
        entry = _entry(kind, totals[i], replicates[:, i])
        if label:
            result[region]["labels"].setdefault(label[0], {})[kind] = entry
        else:
            result[region][kind] = entry
    return result


def count_document(gold: AnnotatedText, pred: AnnotatedText, scheme: str = "canonical") -> Counts:
    """Count everything in one document.

    gold, pred (AnnotatedText): the same text.
    scheme (str): scheme to compare labels in.
    RETURNS (Counts): triples by (region, kind) and (region, kind, label).
    """
    text = gold.text
    header = header_mask(text)
    masks = {"all": np.ones(len(text), dtype=np.bool_), "header": header, "narrative": ~header}
    alphanumeric = alphanumeric_mask(text)
    sides = relabel(gold.entities, scheme), relabel(pred.entities, scheme)
    covered = coverage_mask(sides[0], len(text)), coverage_mask(sides[1], len(text))
    words = find_words(text)
    counts: Counts = {}
    for region, mask in masks.items():
        golds, preds = ([e for e in side if mask[e.start]] for side in sides)
        found = _count_entities(text, golds, preds, scheme) | _count_labels(golds, preds, alphanumeric, covered[1])
        found[("character",)] = _count_masks(covered[0], covered[1], alphanumeric & mask)
        found[("word",)] = _count_words([word for word in words if mask[word[0]]], *covered)
        missed, due = found[("character",)][2], found[("character",)][0] + found[("character",)][2]
        found[("clean",)] = (int(due > 0 and missed == 0), 0, int(missed > 0))
        counts |= {(region, *key): triple for key, triple in found.items()}
    counts["all", "leak"] = (counts["all", "ner"][2], count_sentences(text), 0)
    return counts


def _count_entities(text: str, gold: list[Entity], pred: list[Entity], scheme: str) -> Counts:
    """The scores on entities of one region."""
    spans = [(e.start, e.end) for e in gold], [(e.start, e.end) for e in pred]
    counts: Counts = {
        ("ner",): count_exact(gold, pred),
        ("span_strict",): count_exact(*spans),
        ("span_merged",): count_merged(text, *spans),
        ("ner_relaxed",): count_relaxed(gold, pred),
        ("token",): count_tokens(text, gold, pred),
    }
    if scheme == "i2b2":
        gold, pred = ([e for e in side if e.label in HIPAA_I2B2] for side in (gold, pred))
        counts |= {
            ("hipaa_ner",): count_exact(gold, pred),
            ("hipaa_ner_relaxed",): count_relaxed(gold, pred),
            ("hipaa_token",): count_tokens(text, gold, pred),
        }
    return counts


def _count_labels(gold: list[Entity], pred: list[Entity], alphanumeric: Mask, covered: Mask) -> Counts:
    """The exact score of each label, and how many of its letters and digits are covered under any label."""
    counts: Counts = {}
    for label in {e.label for e in gold} | {e.label for e in pred}:
        golds, preds = ([e for e in side if e.label == label] for side in (gold, pred))
        counts["ner", label] = count_exact(golds, preds)
        due = coverage_mask(golds, len(alphanumeric)) & alphanumeric
        hits = int((due & covered).sum())
        counts["character", label] = (hits, 0, int(due.sum()) - hits)
    return counts


def _count_masks(gold: Mask, pred: Mask, among: Mask) -> Triple:
    """Compare two masks."""
    return int((gold & pred & among).sum()), int((~gold & pred & among).sum()), int((gold & ~pred & among).sum())


def _count_words(words: list[tuple[int, int]], gold: Mask, pred: Mask) -> Triple:
    """Compare words: one is PII as soon as one of its characters is."""
    sides = [{word for word in words if mask[word[0] : word[1]].any()} for mask in (gold, pred)]
    return count_exact(sides[0], sides[1])


def _confusion(
    pairs: list[tuple[AnnotatedText, AnnotatedText]], scheme: str, region: str
) -> dict[str, dict[str, int]]:
    """Labels against labels over all documents, {gold: {predicted: count}}; "" where a side has no such span."""
    table: dict[str, dict[str, int]] = {}
    for gold, pred in pairs:
        header = header_mask(gold.text)
        sides = [
            [e for e in relabel(side.entities, scheme) if region == "all" or header[e.start] == (region == "header")]
            for side in (gold, pred)
        ]
        for (one, other), count in confuse(sides[0], sides[1]).items():
            row = table.setdefault(one, {})
            row[other] = row.get(other, 0) + count
    return {one: dict(sorted(row.items())) for one, row in sorted(table.items())}


def _entry(kind: str, total: NDArray[np.int64], replicates: NDArray[np.int64]) -> dict[str, Any]:
    """The figures of one kind of score."""
    if kind == "clean":
        shares = ratio(replicates[:, 0], replicates[:, 0] + replicates[:, 2])
        clean, due = int(total[0]), int(total[0] + total[2])
        out = {"clean": clean, "documents": due, "share": plain(ratio(total[:1], total[:1] + total[2:])[0])}
        return out | ({"ci": {"share": interval(shares)}} if len(replicates) else {})
    if kind == "leak":
        out = {"fn": int(total[0]), "sentences": int(total[1]), "leak": plain(ratio(total[:1], total[1:2])[0])}
        leaks = ratio(replicates[:, 0], replicates[:, 1])
        return out | ({"ci": {"leak": interval(leaks)}} if len(replicates) else {})
    return score(total, replicates)
