"""Adapt a pipeline to a hospital's annotated notes, and measure it before and after on notes that it did not see.

With few notes, the measurement is cross-fitted: the notes are divided into parts, a classifier is fine-tuned without
each part and reads that part, and the adapted pipeline is fine-tuned on all notes. With more notes, a quarter of them
is held out, and the adapted pipeline is fine-tuned on the others.

Scores and operating points are fitted anew, on the notes that were held out and on the notes for replay that were not
trained on, so that a few notes do not decide alone. Each named point finds at least as many letters and digits in
these notes as before. For the figures after the adaptation, the points are fitted twice, each time without half of
the notes that were held out, and measured on that half; so they do not depend on the notes that they are measured on.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.training import Example

from ..errors import Errors
from ..evaluation import AnnotatedText, make_docs
from ..evaluation.metrics import interval, plain, ratio, resample
from ..evaluation.operating_points import PointWarning, Record, Table, fit_points, make_record, measure
from ..evaluation.sweep import THRESHOLDS, Counts, Sweep
from ..loading import find_component, use_operating_point
from ..saving import fingerprint
from .notes import Replay, deal, relabel_notes
from .training import Plan, Tuner

FEW = 80
"""Number of notes from which on a quarter is held out instead of cross-fitting."""

FORGOTTEN = 0.01
"""Loss of character recall on the notes for replay from which on the adapted pipeline is refused."""

_HELD_OUT = 4  # one part of four
_TRIED = tuple(threshold for threshold in THRESHOLDS if threshold <= 0.5)[::2]
_USELESS = 0.5  # character precision below which a threshold is not used to keep the recall
_FIGURES = ("character_recall", "character_precision", "strict_f1", "clean")

Array = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an adaptation.

    plan (Plan): settings of fine-tuning, with the random seed of everything.
    parts (int): number of parts for cross-fitting, at least 2.
    bootstrap (int): number of replicates for the 95 % intervals.
    """

    plan: Plan = field(default_factory=Plan)
    parts: int = 4
    bootstrap: int = 1000


@dataclass(frozen=True, slots=True)
class Adaptation:
    """The result of an adaptation.

    report (dict): figures before and after, and how they were obtained, as plain JSON values without text and without
        names of notes.
    refusal (str): why the pipeline must not be written; "" if it may.
    """

    report: dict[str, Any]
    refusal: str


def count_steps(notes: int, settings: Settings) -> int:
    """Return the number of training steps of an adaptation to a number of notes, for a progress bar."""
    if notes >= FEW:
        return settings.plan.steps_for(notes - notes // _HELD_OUT)
    sizes = [notes - len(range(part, notes, settings.parts)) for part in range(settings.parts)]
    return sum(map(settings.plan.steps_for, [*sizes, notes]))


def adapt(
    nlp: Language,
    notes: Sequence[AnnotatedText],
    replay: Replay,
    settings: Settings = Settings(),
    step: Callable[[], object] = lambda: None,
) -> Adaptation:
    """Adapt the token classifier of a pipeline to annotated notes.

    nlp (Language): the pipeline, changed in place. Its rules and lists are not changed. Save it only if the result has
        no refusal.
    notes (Sequence[AnnotatedText]): annotated notes with canonical labels, checked by `notes.check_notes`.
    replay (Replay): notes that are trained on in addition.
    settings (Settings): the settings.
    step (Callable): called after each training step.
    RETURNS (Adaptation): the report, and whether the pipeline must be refused.
    RAISES: ConfigError if the pipeline has no token classifier (D415) or none that can be fine-tuned (D225), or if the
        gold annotations seem incomplete (D351).
    """
    ner: Any = find_component(nlp, "deid_ner")
    source = {
        "name": f"{nlp.lang}_{nlp.meta['name']}",
        "version": nlp.meta["version"],
        "fingerprint": fingerprint(nlp),
    }
    known = ner.labels
    notes, dev = relabel_notes(notes, known), relabel_notes(replay.dev, known)
    labels = {e.label for note in (*notes, *dev, *relabel_notes(replay.train, known)) for e in note.entities}
    few, seed = len(notes) < FEW, settings.plan.seed
    held = deal(notes, settings.parts, seed) if few else deal(notes, _HELD_OUT, seed)[:1]

    own = [notes[i] for i in (range(len(notes)) if few else held[0])]  # those that are measured
    sweep = Sweep(nlp, [*own, *dev])
    used, points = ner.operating_point, dict(ner.cfg.get("points", {}))
    current = {"default": ner.get_point().default, "labels": dict(ner.get_point().labels)}
    before = {name: sweep.count(points.get(name, current)) for name in ("balanced", "high_recall", "max_recall")}

    tuner = Tuner(nlp, ner, sorted(labels), lambda: relabel_notes(replay.read(), known), settings.plan)
    docs = dict(zip((range(len(notes)) if few else held[0]), sweep.docs, strict=False))
    read: dict[int, Any] = {}
    for part in held:
        tuner.tune([note for i, note in enumerate(notes) if i not in part], step)
        read |= dict(zip(part, ner.read([docs[i] for i in part]), strict=True))
    if few:
        tuner.tune(notes, step)
    reads = [*(read[i] for i in sorted(read)), *ner.read(sweep.docs[len(own) :])]

    fitter = _Fitter(sweep, len(own), reads, before)
    after = fitter.measure_crosswise(seed)
    calibration, fitted = fitter.fit(range(len(own)))
    ner.cfg["points"] = fitted
    ner.cfg["version"] = f"{nlp.meta['version']}+{tuner.digest()}"  # recorded with each detection
    if used is None or used not in fitted:
        use_operating_point(nlp, "balanced" if used is None else "high_recall")

    report = {
        "source": source,
        "notes": {
            "given": len(notes),
            "with_identifiers": sum(bool(note.entities) for note in notes),
            "measured": len(own),
            "method": f"cross-fitting in {settings.parts} parts" if few else "held out",
        },
        "replay": {"corpus": replay.name, "training_notes": len(replay.train), "calibration_notes": len(dev)},
        "training": {
            "steps": settings.plan.steps_for(len(notes) - (0 if few else len(own))),
            "weight": settings.plan.weight,
            "learn_rate": settings.plan.learn_rate,
            "batch_words": settings.plan.batch_words,
            "seed": seed,
            "added_labels": tuner.added,
        },
        "operating_point": ner.operating_point,
        "dropped_points": sorted(set(points) - set(fitted)),
        "calibration": {name: round(value, 5) for name, value in calibration.items()},
        "points": {
            name: {
                "notes": _compare(before[name], after[name], slice(0, len(own)), settings.bootstrap, seed),
                "replay": _compare(before[name], after[name], slice(len(own), None), settings.bootstrap, seed),
            }
            for name in fitted
        },
        "labels": _label_rows(sweep, before["balanced"], after["balanced"], len(own)),
        "thresholds": {name: {"default": r["default"], "labels": r["labels"]} for name, r in fitted.items()},
    }
    refusal = _refusal(report["points"])
    report["refusal"] = refusal
    entry = {"from": source, "notes": len(notes), "replay": replay.name, "seed": seed}
    deid = nlp.meta.setdefault("deid", {})
    deid["adapted"] = [*deid.get("adapted", []), entry]
    return Adaptation(report, refusal)


class _Fitter:
    """Fits scores and operating points on notes that the classifier did not see.

    sweep (Sweep): the pipeline and the notes, those of the hospital that were held out first, then those for replay.
    own (int): number of the hospital's notes.
    reads (list[Posterior]): probabilities for the notes; for the hospital's by classifiers that were trained without
        the note.
    before (dict[str, Counts]): counts of the notes before the adaptation, by operating point.
    """

    def __init__(self, sweep: Sweep, own: int, reads: list[Any], before: dict[str, Counts]) -> None:
        self.whole, self.own, self.reads, self.before = sweep, own, reads, before
        references, _ = make_docs(sweep.gold, sweep.nlp.make_doc)
        self.examples = [Example(doc, reference) for doc, reference in zip(sweep.docs, references, strict=True)]
        self.replayed = list(range(own, len(reads)))

    def sweep(self, rows: Sequence[int]) -> Sweep:
        """Make a sweep over some of the notes, by index, with the probabilities of `reads`."""
        gold, docs = [self.whole.gold[i] for i in rows], [self.whole.docs[i] for i in rows]
        sweep = Sweep(self.whole.nlp, gold, docs=docs, read=[self.reads[i] for i in rows])
        sweep.labels = self.whole.labels  # the same columns, even if a label does not occur
        return sweep

    def fit(self, chosen: Sequence[int]) -> tuple[dict[str, float], dict[str, Record]]:
        """Calibrate the scores and fit the operating points on some of the hospital's notes and those for replay.

        chosen (Sequence[int]): indices of the hospital's notes.
        RETURNS (tuple): the figures of `DeidNER.calibrate`, and the operating points by name.
        """
        rows = [*chosen, *self.replayed]
        ner: Any = self.whole.ner
        figures = ner.calibrate([self.examples[i] for i in rows], [self.reads[i] for i in rows])
        table = measure(self.sweep(rows), _TRIED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PointWarning)  # the report shows the precision
            points = fit_points(table)
        above = points["balanced"]
        for name, point in points.items():
            wanted = _recall(self.before[name].total[list(chosen)])
            above = points[name] = keep_recall(table, point, above, len(chosen), wanted)
        return figures, points

    def measure_crosswise(self, seed: int) -> dict[str, Counts]:
        """Count the hospital's notes at points that were fitted on the other half of them.

        RETURNS (dict[str, Counts]): counts of all notes by operating point.
        """
        halves = deal(self.whole.gold[: self.own], 2, seed)
        parts: list[dict[str, Counts]] = []
        for fitted_on, measured in (halves, halves[::-1]):
            _, points = self.fit(fitted_on)
            sweep = self.sweep([*measured, *self.replayed])
            parts.append({name: sweep.count(point) for name, point in points.items()})
        order = np.argsort([*halves[1], *halves[0]])

        def join(name: str, kind: str) -> Array:
            first, second = (np.asarray(getattr(part[name], kind)) for part in parts)
            cut = len(halves[1])
            return np.concatenate([np.concatenate([first[:cut], second[: len(halves[0])]])[order], first[cut:]])

        return {name: Counts(*(join(name, kind) for kind in ("total", "labels", "blame"))) for name in parts[0]}


def keep_recall(table: Table, point: Record, above: Record, own: int, wanted: float) -> Record:
    """Lower the thresholds of an operating point until it reaches a recall.

    table (Table): sweep over the notes that the point was fitted on, those of the hospital first.
    point (dict): the record of the point.
    above (dict): record of the point with higher thresholds; no threshold of the result is higher than in it.
    own (int): number of the hospital's notes.
    wanted (float): character recall to reach on them.
    RETURNS (dict): the record with the highest thresholds that reach it. If none does, that with the lowest thresholds
        at which at least half of what is found is an identifier.
    """
    default = min(point["default"], above["default"])
    names = sorted({*point["labels"], *above["labels"]})
    labels = {name: min(r["labels"].get(name, r["default"]) for r in (point, above)) for name in names}
    lower = [value for value in table.thresholds if value < default]
    candidates = [(default, labels), *((t, {k: min(value, t) for k, value in labels.items()}) for t in lower)]
    record = point
    for threshold, own_thresholds in candidates:
        changed = {label: value for label, value in own_thresholds.items() if value != threshold}
        counts = table.sweep.count({"default": threshold, "labels": changed})
        lowered = make_record(threshold, changed, counts)
        if threshold < default and (lowered["figures"]["character_precision"] or 0) < _USELESS:
            break
        record = lowered
        if not _recall(counts.total[:own]) < wanted:  # also if there is nothing to find
            break
    return record


def _recall(total: Array) -> float:
    """Return the character recall over documents, from rows of `Counts.total`; NaN if they have no identifiers."""
    hits, missed = total[:, 3].sum(), total[:, 5].sum()
    return float(ratio(hits, hits + missed))


def _figures(totals: Array) -> dict[str, NDArray[np.float64]]:
    """Compute figures from sums of `Counts.total`, shape (…, 10)."""
    tp, fp, fn, hits, extra, missed, clean, unclean, *_ = np.moveaxis(totals, -1, 0)
    parts = ((hits, hits + missed), (hits, hits + extra), (2 * tp, 2 * tp + fp + fn), (clean, clean + unclean))
    return {name: ratio(above, below) for name, (above, below) in zip(_FIGURES, parts, strict=True)}


def _compare(before: Counts, after: Counts, rows: slice, bootstrap: int, seed: int) -> dict[str, Any]:
    """Compare the figures of the same documents before and after, with intervals from paired bootstrap samples.

    RETURNS (dict): for each figure "before", "after" and "difference", each with "value" and "interval", which is None
        without replicates or if it is undefined.
    """
    both = np.stack([before.total[rows], after.total[rows]], axis=1)  # (documents, 2, counts)
    values, samples = _figures(both.sum(axis=0)), _figures(resample(both, bootstrap, seed))
    out: dict[str, Any] = {}
    for name in _FIGURES:
        columns = {
            "before": (values[name][0], samples[name][:, 0]),
            "after": (values[name][1], samples[name][:, 1]),
            "difference": (values[name][1] - values[name][0], samples[name][:, 1] - samples[name][:, 0]),
        }
        out[name] = {
            kind: {"value": _round(value), "interval": _ends(sample)} for kind, (value, sample) in columns.items()
        }
    return out


def _round(value: float) -> float | None:
    """Round a figure to five decimals; None if it is NaN."""
    number = plain(value)
    return None if number is None else round(number, 5)


def _ends(samples: NDArray[np.float64]) -> list[float] | None:
    """Return the rounded 95 % interval of bootstrap replicates."""
    ends = interval(samples)
    return None if ends is None else [round(end, 5) for end in ends]


def _label_rows(sweep: Sweep, before: Counts, after: Counts, own: int) -> dict[str, dict[str, Any]]:
    """Return the letters and digits of each label in the hospital's notes, and their recall before and after."""
    rows = {}
    for k, label in enumerate(sweep.labels):
        due = int(before.labels[:own, k, 0].sum())
        if due:
            missed = [int(counts.labels[:own, k, 1].sum()) for counts in (before, after)]
            shares = [round(1 - count / due, 5) for count in missed]
            rows[label] = {"characters": due, "before": shares[0], "after": shares[1]}
    return rows


def _refusal(points: dict[str, Any]) -> str:
    """Return why a pipeline must not be written: a point finds less in the notes, or much less in replay; or ""."""
    for what, kind, allowed in (
        ("the notes that were held out", "notes", 0.0),
        ("replayed notes", "replay", FORGOTTEN),
    ):
        for name, figures in points.items():
            entry = figures[kind]["character_recall"]
            before, after = entry["before"]["value"], entry["after"]["value"]
            if before is not None and after is not None and before - after > allowed:
                return Errors.D226.format(point=name, what=what, fall=before - after, before=before, after=after)
    return ""


_TITLES = {
    "character_recall": "character recall",
    "character_precision": "character precision",
    "strict_f1": "strict F1",
    "clean": "notes with nothing missed",
}


def format_report(report: dict[str, Any]) -> str:
    """Format the report of an adaptation as plain text tables.

    report (dict): report of `adapt`.
    RETURNS (str): lines of text; "-" for undefined figures.
    """
    notes, replay, training = report["notes"], report["replay"], report["training"]
    lines = [
        f"{report['source']['name']} {report['source']['version']} adapted to {notes['given']} notes, "
        f"{notes['with_identifiers']} of them with identifiers",
        f"measured on {notes['measured']} notes that were not trained on ({notes['method']})",
        f"{training['steps']} steps, mixed with {replay['training_notes']} {replay['corpus']} notes",
    ]
    if training["added_labels"]:
        lines.append(f"labels added to the classifier: {', '.join(training['added_labels'])}")
    if report["dropped_points"]:
        lines.append(f"operating points that were removed: {', '.join(report['dropped_points'])}")
    head = f"{'':<30}{'before':>8}{'after':>8}   change and its 95 % interval"
    for name, figures in report["points"].items():
        for kind, title in (("notes", "the hospital's notes"), ("replay", "replayed notes")):
            lines += ["", f"{name}, {title}", head]
            lines += [_format_row(_TITLES[key], entry) for key, entry in figures[kind].items()]
    lines += ["", f"{'recall by label, balanced':<30}{'before':>8}{'after':>8}{'letters':>9}"]
    for label, row in report["labels"].items():
        lines.append(f"{label:<30}{row['before']:>8.4f}{row['after']:>8.4f}{row['characters']:>9}")
    if report["refusal"]:
        lines += ["", report["refusal"]]
    return "\n".join(lines) + "\n"


def _format_row(title: str, entry: dict[str, Any]) -> str:
    """Format a figure before and after the adaptation as a line of a table."""
    values = [entry[kind]["value"] for kind in ("before", "after", "difference")]
    cells = ["-" if value is None else f"{value:.4f}" for value in values[:2]]
    change = "-" if values[2] is None else f"{values[2]:+.4f}"
    ends = entry["difference"]["interval"]
    return f"{title:<30}{cells[0]:>8}{cells[1]:>8}   {change}" + (f" [{ends[0]:+.4f}, {ends[1]:+.4f}]" if ends else "")
