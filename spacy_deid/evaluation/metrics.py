"""Compare predicted with gold entities: precision, recall and F1 of several scores, with bootstrap intervals.

=================  ====================================================================================
``ner``            equal offsets and label: MEDDOCAN subtrack 1; i2b2-2014 entity strict
``span_strict``    equal offsets, any label: MEDDOCAN subtrack 2, strict
``span_merged``    equal offsets after merging neighbouring spans: MEDDOCAN subtrack 2, merged
``ner_relaxed``    equal start and label, ends within two characters: i2b2-2014 entity relaxed
``token``          runs of letters and digits within entities, with label: i2b2-2014 token
``hipaa_…``        ``ner``, ``ner_relaxed`` and ``token`` on the i2b2-2014 HIPAA subset; scheme "i2b2" only
``character``      letters and digits, whatever the label
``word``           runs of letters and digits, PII if an entity overlaps them, whatever the label
``clean``          share of documents in which every letter and digit of every gold entity is covered
``leak``           false negatives of ``ner`` per sentence: MEDDOCAN subtrack 1
=================  ====================================================================================

Each figure is computed for three regions: whole documents ("all"), their short lines ("header", shorter than
`counts.HEADER_WIDTH`) and their long lines ("narrative"). Entities and words belong to the line on which they start.

    precision = tp / (tp + fp)    recall = tp / (tp + fn)    F1 = 2 tp / (2 tp + fp + fn)

A figure with denominator 0 is undefined and returned as None, where the official scripts print 0.0. Results are plain
JSON values without text and without names of documents.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.training import Example

from ..errors import Errors, InputError
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

LEVEL = 0.95
REGIONS = ("all", "header", "narrative")

Floats = NDArray[np.float64]
Counts = dict[tuple[str, ...], Triple]


def resample(counts: NDArray[np.int64], replicates: int, seed: int) -> NDArray[np.int64]:
    """Draw bootstrap samples of the documents and sum the counts of each sample.

    Whole documents are drawn with replacement instead of entities, because the entities of a note are not independent
    (Efron and Tibshirani 1993, chapter 6).

    counts (NDArray): counts of each document, shape (documents, …).
    replicates (int): number of bootstrap replicates.
    seed (int): seed of the random generator.
    RETURNS (NDArray): summed counts of each bootstrap sample, shape (replicates, …).
    """
    documents = len(counts)
    totals = np.zeros((replicates, *counts.shape[1:]), dtype=np.int64)
    if documents == 0:
        return totals
    generator = np.random.default_rng(seed)
    flat = counts.reshape(documents, -1).astype(np.float64)  # whole numbers stay exact, and BLAS multiplies
    for i in range(replicates):
        weights = np.bincount(generator.integers(documents, size=documents), minlength=documents)
        totals[i] = np.rint(weights @ flat).reshape(counts.shape[1:])
    return totals


def ratio(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Divide two arrays of the same shape elementwise, with NaN where the denominator is 0."""
    out = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=out, where=np.asarray(below) != 0)
    return out


def interval(values: Floats) -> list[float] | None:
    """Compute the 95 % interval of a figure from its bootstrap replicates, ignoring undefined replicates.

    values (Floats): one figure per replicate, NaN where undefined.
    RETURNS (list[float]): lower and upper bound; None if all replicates are undefined.
    """
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    tail = (1 - LEVEL) / 2
    return [float(end) for end in np.quantile(defined, [tail, 1 - tail])]


def plain(value: float) -> float | None:
    """Convert NaN to None and any other number to a Python float, so that it can be written as JSON."""
    return None if np.isnan(value) else float(value)


def score_triple(total: NDArray[np.int64], replicates: NDArray[np.int64]) -> dict[str, Any]:
    """Compute precision, recall and F1 from true positives, false positives and false negatives, with intervals.

    total (NDArray): counts of true positives, false positives and false negatives, shape (3,).
    replicates (NDArray): the same counts of each bootstrap replicate, shape (replicates, 3); empty for no intervals.
    RETURNS (dict): "tp", "fp", "fn", "precision", "recall", "f1", and "ci" with the interval of each figure.
    """

    def figures(triples: NDArray[np.int64]) -> dict[str, Floats]:
        tp, fp, fn = triples.T
        return {"precision": ratio(tp, tp + fp), "recall": ratio(tp, tp + fn), "f1": ratio(2 * tp, 2 * tp + fp + fn)}

    out: dict[str, Any] = dict(zip(("tp", "fp", "fn"), (int(count) for count in total), strict=True))
    out |= {name: plain(values[0]) for name, values in figures(total[None]).items()}
    if len(replicates):
        out["ci"] = {name: interval(values) for name, values in figures(replicates).items()}
    return out


def evaluate(
    gold: Sequence[AnnotatedText],
    pred: Sequence[AnnotatedText],
    *,
    scheme: str = "canonical",
    bootstrap: int = 1000,
    seed: int = 0,
    sentences: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Evaluate predicted entities against gold: all scores of this module, for each region.

    gold, pred (Sequence[AnnotatedText]): the same documents, with canonical labels.
    scheme (str): label scheme in which labels are compared; canonical labels that the scheme unites count as equal.
    bootstrap (int): number of replicates for the 95 % intervals; 0 for none.
    seed (int): seed of the random generator.
    sentences (Mapping[str, int]): number of sentences by document name, for the leak score; None to count them with
        `counts.count_sentences`.
    RETURNS (dict): "scheme", "documents", "bootstrap", "seed", and for each region the scores by name,
        "labels" (scores by label) and "confusion", {gold label: {predicted label: number of entities}}, with "" for a
        span that the other side lacks. Undefined figures are None.
    RAISES: InputError if the two sides cannot be paired (D308–D310) or a sentence count is missing (D315); ConfigError
        for an unknown scheme (D002) or label (D001).
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
        entry = _figures(kind, totals[i], replicates[:, i])
        if label:
            result[region]["labels"].setdefault(label[0], {})[kind] = entry
        else:
            result[region][kind] = entry
    return result


def count_document(gold: AnnotatedText, pred: AnnotatedText, scheme: str = "canonical") -> Counts:
    """Count true positives, false positives and false negatives of every score in a document.

    gold, pred (AnnotatedText): annotations of the same text.
    scheme (str): label scheme of the comparison.
    RETURNS (Counts): triples of these counts by (region, score) and by (region, score, label).
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
        among = alphanumeric & mask
        pairs = ((covered[0], covered[1]), (~covered[0], covered[1]), (covered[0], ~covered[1]))
        hits, extra, missed = (int((one & other & among).sum()) for one, other in pairs)
        found[("character",)] = hits, extra, missed
        inside = [word for word in words if mask[word[0]]]
        golden, predicted = ({word for word in inside if side[word[0] : word[1]].any()} for side in covered)
        found[("word",)] = count_exact(golden, predicted)
        found[("clean",)] = (int(hits + missed > 0 and missed == 0), 0, int(missed > 0))
        counts |= {(region, *key): triple for key, triple in found.items()}
    counts["all", "leak"] = (counts["all", "ner"][2], count_sentences(text), 0)
    return counts


def _count_entities(text: str, gold: list[Entity], pred: list[Entity], scheme: str) -> Counts:
    """Count the triples of all scores that compare entities, for the entities of one region."""
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
    """Count, for each label, the entities with equal offsets, and the letters and digits covered under any label."""
    counts: Counts = {}
    for label in {e.label for e in gold} | {e.label for e in pred}:
        golds, preds = ([e for e in side if e.label == label] for side in (gold, pred))
        counts["ner", label] = count_exact(golds, preds)
        due = coverage_mask(golds, len(alphanumeric)) & alphanumeric
        hits = int((due & covered).sum())
        counts["character", label] = (hits, 0, int(due.sum()) - hits)
    return counts


def _confusion(
    pairs: list[tuple[AnnotatedText, AnnotatedText]], scheme: str, region: str
) -> dict[str, dict[str, int]]:
    """Count how often each gold label was predicted as each label, over all documents, in one region."""
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


def _figures(kind: str, total: NDArray[np.int64], replicates: NDArray[np.int64]) -> dict[str, Any]:
    """Compute the figures of one score, such as precision and recall, from its counts summed over the documents."""
    if kind == "clean":
        shares = ratio(replicates[:, 0], replicates[:, 0] + replicates[:, 2])
        clean, due = int(total[0]), int(total[0] + total[2])
        out = {"clean": clean, "documents": due, "share": plain(ratio(total[:1], total[:1] + total[2:])[0])}
        return out | ({"ci": {"share": interval(shares)}} if len(replicates) else {})
    if kind == "leak":
        out = {"fn": int(total[0]), "sentences": int(total[1]), "leak": plain(ratio(total[:1], total[1:2])[0])}
        leaks = ratio(replicates[:, 0], replicates[:, 1])
        return out | ({"ci": {"leak": interval(leaks)}} if len(replicates) else {})
    return score_triple(total, replicates)


def score_examples(examples: Iterable[Example], spans_key: str | None = None) -> dict[str, float | None]:
    """Score spaCy Examples by character offsets, so that reference and prediction may be tokenized differently.

    Examples whose reference has no entity annotation are skipped, as in spaCy. A missing span group counts as no
    predictions, which lowers recall.

    examples (Iterable[Example]): predictions and references of the same texts.
    spans_key (str): span group with the predictions; None for ``doc.ents``.
    RETURNS (dict): "deid_p", "deid_r", "deid_f" on offsets and label; "deid_char_p", "deid_char_r" on letters and
        digits whatever the label; "deid_clean", the share of documents with entities in which all are covered.
        Undefined figures are None.
    RAISES: InputError (D310) if the texts of an example differ.
    """

    def predicted(doc: Doc) -> Any:
        return doc.ents if spans_key is None else doc.spans.get(spans_key, [])

    total = np.zeros(8, dtype=np.int64)
    for i, example in enumerate(examples):
        if not example.reference.has_annotation("ENT_IOB"):
            continue
        text = example.reference.text
        if text != example.predicted.text:
            raise InputError(Errors.D310.format(name=i))
        sides = (example.reference.ents, predicted(example.predicted))
        gold, pred = ([Entity(e.start_char, e.end_char, e.label_) for e in side] for side in sides)
        due, got = coverage_mask(gold, len(text)), coverage_mask(pred, len(text))
        letters = alphanumeric_mask(text)
        hits, extra, missed = ((letters & mask).sum() for mask in (due & got, got & ~due, due & ~got))
        clean = int(hits > 0 and missed == 0), int(missed > 0)
        total += [*count_exact(gold, pred), hits, extra, missed, *clean]
    tp, fp, fn, char_tp, char_fp, char_fn, clean_count, unclean = total
    above = np.array([tp, tp, 2 * tp, char_tp, char_tp, clean_count])
    below = np.array([tp + fp, tp + fn, 2 * tp + fp + fn, char_tp + char_fp, char_tp + char_fn, clean_count + unclean])
    names = ("deid_p", "deid_r", "deid_f", "deid_char_p", "deid_char_r", "deid_clean")
    return {name: plain(value) for name, value in zip(names, ratio(above, below), strict=True)}


_TITLES = {
    "ner": "entity and label, strict",
    "ner_relaxed": "entity and label, relaxed end",
    "token": "token and label",
    "hipaa_ner": "HIPAA entity, strict",
    "hipaa_ner_relaxed": "HIPAA entity, relaxed end",
    "hipaa_token": "HIPAA token",
    "span_strict": "span, strict",
    "span_merged": "span, merged",
    "word": "word",
    "character": "character",
}


def format_table(result: Mapping[str, Any], *, labels: bool = True) -> str:
    """Format the result of an evaluation as plain text tables.

    result (Mapping): result of `evaluate`.
    labels (bool): whether to add a table with one row per label, with its number of gold entities as "support".
    RETURNS (str): lines of text; "-" for undefined figures.
    """
    lines = [f"{result['documents']} documents, labels of scheme {result['scheme']}"]
    for region in REGIONS:
        part = result[region]
        lines += ["", f"{region:<32}{'P':>8}{'R':>8}{'F1':>8}   95 % interval of R"]
        for kind, title in _TITLES.items():
            if kind in part:
                figures = "".join(f"{format_figure(part[kind][name]):>8}" for name in ("precision", "recall", "f1"))
                lines.append(f"{title:<32}{figures}   {_format_interval(part[kind], 'recall')}".rstrip())
        if clean := part.get("clean"):
            share = f"{'documents with nothing missed':<40}{format_figure(clean['share']):>8}"
            lines.append(f"{share} {_format_interval(clean, 'share'):>18}  {clean['clean']} of {clean['documents']}")
        if "leak" in part:
            lines.append(f"{'leak (missed per sentence)':<40}{format_figure(part['leak']['leak']):>8}")
    rows = sorted(result["all"]["labels"].items()) if labels else []
    if rows:
        lines += ["", f"{'label':<34}{'P':>8}{'R':>8}{'F1':>8}{'char R':>8}{'support':>9}"]
    for label, entry in rows:
        values = [entry["ner"][name] for name in ("precision", "recall", "f1")] + [entry["character"]["recall"]]
        support = entry["ner"]["tp"] + entry["ner"]["fn"]
        lines.append(f"{label:<34}" + "".join(f"{format_figure(value):>8}" for value in values) + f"{support:>9}")
    return "\n".join(lines) + "\n"


def format_figure(value: float | None) -> str:
    """Format a figure with four decimals, or "-" if it is undefined."""
    return "-" if value is None else f"{value:.4f}"


def _format_interval(entry: Mapping[str, Any], name: str) -> str:
    """Format the interval of a figure in brackets; return "" if it has none."""
    ends = entry.get("ci", {}).get(name)
    return f"[{ends[0]:.4f}, {ends[1]:.4f}]" if ends else ""
