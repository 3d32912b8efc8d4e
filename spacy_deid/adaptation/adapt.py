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
from spacy.tokens import Doc
from spacy.training import Example

from ..evaluation import AnnotatedText, make_docs
from ..evaluation.metrics import ratio
from ..evaluation.operating_points import PointWarning, Record, Table, fit_points, make_record, measure
from ..evaluation.sweep import THRESHOLDS, Counts, Sweep
from ..loading import find_component, use_operating_point
from ..ml.decoding import Posterior
from ..saving import fingerprint
from .notes import Replay, deal, relabel_notes
from .report import compare_points, find_refusal, make_label_rows
from .training import Plan, Tuner

FEW = 80
"""Number of notes from which on a quarter is held out instead of cross-fitting."""

_HELD_OUT = 4  # one part of four
_TRIED = tuple(threshold for threshold in THRESHOLDS if threshold <= 0.5)[::2]
_USELESS = 0.5  # character precision below which a threshold is not used to keep the recall

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
    known, seed = ner.labels, settings.plan.seed
    notes, dev = relabel_notes(notes, known), relabel_notes(replay.dev, known)
    labels = {e.label for note in (*notes, *dev, *relabel_notes(replay.train, known)) for e in note.entities}
    held = deal(notes, settings.parts, seed) if len(notes) < FEW else deal(notes, _HELD_OUT, seed)[:1]
    measured = sorted(i for part in held for i in part)

    sweep, own = Sweep(nlp, [*(notes[i] for i in measured), *dev]), len(measured)
    used, points = ner.operating_point, dict(ner.cfg.get("points", {}))
    current = {"default": ner.get_point().default, "labels": dict(ner.get_point().labels)}
    before = {name: sweep.count(points.get(name, current)) for name in ("balanced", "high_recall", "max_recall")}

    tuner = Tuner(nlp, ner, sorted(labels), lambda: relabel_notes(replay.read(), known), settings.plan)
    fitter = _Fitter(sweep, own, _read_unseen(ner, tuner, notes, held, sweep.docs, step), before)
    after = fitter.measure_crosswise(seed)
    calibration, fitted = fitter.fit(range(own))
    ner.cfg["points"] = fitted
    ner.cfg["version"] = f"{nlp.meta['version']}+{tuner.digest()}"  # recorded with each detection
    if used is None or used not in fitted:
        use_operating_point(nlp, "balanced" if used is None else "high_recall")

    report = {
        "source": source,
        **_describe_training(notes, replay, settings, own, tuner.added),
        "operating_point": ner.operating_point,
        "dropped_points": sorted(set(points) - set(fitted)),
        "calibration": {name: round(value, 5) for name, value in calibration.items()},
        "points": {
            name: {
                "notes": compare_points(before[name], after[name], slice(0, own), settings.bootstrap, seed),
                "replay": compare_points(before[name], after[name], slice(own, None), settings.bootstrap, seed),
            }
            for name in fitted
        },
        "labels": make_label_rows(sweep, before["balanced"], after["balanced"], own),
        "thresholds": {name: {"default": r["default"], "labels": r["labels"]} for name, r in fitted.items()},
    }
    report["refusal"] = find_refusal(report["points"])
    entry = {"from": source, "notes": len(notes), "replay": replay.name, "seed": seed}
    deid = nlp.meta.setdefault("deid", {})
    deid["adapted"] = [*deid.get("adapted", []), entry]
    return Adaptation(report, report["refusal"])


def _read_unseen(
    ner: Any,
    tuner: Tuner,
    notes: Sequence[AnnotatedText],
    held: Sequence[Sequence[int]],
    docs: Sequence[Doc],
    step: Callable[[], object],
) -> list[Posterior]:
    """Read each held-out note by a classifier that was tuned without it, and leave the adapted classifier.

    ner (DeidNER): the token classifier that `tuner` tunes.
    notes (Sequence[AnnotatedText]): all notes of the hospital.
    held (Sequence[Sequence[int]]): indices of the notes that are held out together.
    docs (Sequence[Doc]): the held-out notes in the order of their indices, then those for replay.
    RETURNS (list[Posterior]): the probabilities for each of `docs`.
    """
    order = sorted(i for part in held for i in part)
    own = dict(zip(order, docs, strict=False))
    read: dict[int, Posterior] = {}
    for part in held:
        tuner.tune([note for i, note in enumerate(notes) if i not in part], step)
        read |= dict(zip(part, ner.read([own[i] for i in part]), strict=True))
    if len(order) == len(notes):  # no classifier has seen all notes yet
        tuner.tune(notes, step)
    return [*(read[i] for i in order), *ner.read(docs[len(order) :])]


def _describe_training(
    notes: Sequence[AnnotatedText], replay: Replay, settings: Settings, own: int, added: Sequence[str]
) -> dict[str, Any]:
    """Return the parts of the report that say what was trained on; `own` notes of the hospital were held out."""
    plan, crossed = settings.plan, own == len(notes)
    return {
        "notes": {
            "given": len(notes),
            "with_identifiers": sum(bool(note.entities) for note in notes),
            "measured": own,
            "method": f"cross-fitting in {settings.parts} parts" if crossed else "held out",
        },
        "replay": {
            "corpus": replay.name,
            "training_notes": len(replay.train),
            "calibration_notes": len(replay.dev),
        },
        "training": {
            "steps": plan.steps_for(len(notes) - (0 if crossed else own)),
            "weight": plan.weight,
            "learn_rate": plan.learn_rate,
            "batch_words": plan.batch_words,
            "seed": plan.seed,
            "added_labels": added,
        },
    }


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
