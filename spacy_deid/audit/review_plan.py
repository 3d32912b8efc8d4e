"""Plan the review of de-identified notes, and bound the share of notes that still leak after it.

Notes are divided into strata by their risk, the probability that a detector missed something. Each batch of a plan is
a stratified random sample of the notes that are not in an earlier batch: strata of high risk are sampled more densely,
and every stratum is sampled. A reviewed note is corrected; the others may still leak.

The bound of a stratum is exact: with k leaking notes among n reviewed of N, the number of leaking notes among the
N - n others is distributed as a beta-binomial with parameters k + 1 and n - k (the confidence distribution of the
exact upper limit of the hypergeometric distribution). The bound of all strata is a quantile of the sum (melding: Fay,
Proschan and Brittain 2015, Biometrics 71:146).

A reviewer who looks after every batch and stops at the first good result is too optimistic. Therefore the error of 5 %
is divided over the looks: the j-th batch uses .05 / (j (j + 1)), which adds up to at most .05 over all batches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ERROR = 0.05
QUANTILES = (0.5, 0.8, 0.95)
"""Quantiles of the risk that separate the strata."""
_FIRST = 100  # notes of the first batch
_LEAST = 10  # notes of a stratum in a batch
_RISKS = (0.02, 0.5)  # limits of the mean risk of a stratum for the allocation


class Planned(NamedTuple):
    """A note to review.

    note (int): index of the note.
    stratum (int): its stratum, from 0 for the lowest risk.
    batch (int): its batch, from 1.
    """

    note: int
    stratum: int
    batch: int


class Stratum(NamedTuple):
    """Counts of a stratum: all notes, those that were reviewed, and those in which something had been missed."""

    notes: int
    reviewed: int
    leaking: int


@dataclass(frozen=True, slots=True)
class ReviewStatus:
    """What a review shows about the notes that nobody has reviewed.

    notes, reviewed, leaking (int): number of notes, of those reviewed, and of those in which something was missed.
    share (float): estimated share of all notes that still leak, if the leaks found so far are corrected.
    upper (float): upper bound of this share.
    level (float): confidence level of the bound.
    """

    notes: int
    reviewed: int
    leaking: int
    share: float
    upper: float
    level: float

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def make_strata(risks: Sequence[float], groups: Sequence[str] = ()) -> NDArray[np.int64]:
    """Divide notes into strata by risk, and by group.

    risks (Sequence[float]): the risk of each of n notes.
    groups (Sequence[str]): the group of each note, such as its type; empty for no groups.
    RETURNS (NDArray): the stratum of each note, from 0. Strata without notes have no number. Shape (n,).
    """
    values = np.asarray(risks, dtype=float)
    limits = np.quantile(values, QUANTILES) if len(values) else np.zeros(len(QUANTILES))
    by_risk = np.searchsorted(limits, values, side="left")
    by_group = np.unique(np.asarray(groups or [""] * len(values)), return_inverse=True)[1]
    return np.asarray(np.unique(by_group * (len(QUANTILES) + 1) + by_risk, return_inverse=True)[1], dtype=np.int64)


def plan_review(strata: NDArray[np.int64], risks: Sequence[float], notes: int, seed: int = 0) -> list[Planned]:
    """Choose the notes to review and their batches. Each batch is as large as all earlier ones together.

    strata (NDArray): output of `make_strata`. Shape (n,).
    risks (Sequence[float]): the risk of each note.
    notes (int): number of notes to choose; slightly more, because every stratum has at least 10 notes in a batch.
    seed (int): random seed.
    RETURNS (list[Planned]): the notes, batch by batch, and in a batch those of the highest risk first.
    """
    rng, values = np.random.default_rng(seed), np.asarray(risks, dtype=float)
    left = [
        rng.permutation(np.flatnonzero(strata == number)).tolist() for number in range(int(strata.max(initial=-1)) + 1)
    ]
    mean = [float(np.clip(values[members].mean(), *_RISKS)) for members in left]
    # Neyman's allocation: proportional to the size of a stratum and the standard deviation in it.
    weights = np.array([len(members) * np.sqrt(p * (1 - p)) for members, p in zip(left, mean, strict=True)])
    chosen: list[Planned] = []
    batch = 0
    while len(chosen) < notes and any(left):
        batch += 1
        size = min(max(_FIRST, len(chosen)), notes - len(chosen))
        share = size * weights / weights.sum()
        part = []
        for number, members in enumerate(left):
            count = min(len(members), max(_LEAST, round(float(share[number]))))
            part += [Planned(note, number, batch) for note in members[:count]]
            del members[:count]
        chosen += sorted(part, key=lambda one: (-values[one.note], one.note))
    return chosen


def find_status(strata: Sequence[Stratum], looks: int = 1, seed: int = 0, draws: int = 20_000) -> ReviewStatus:
    """Bound the share of notes that still leak after the leaks in the reviewed notes were corrected.

    strata (Sequence[Stratum]): the counts.
    looks (int): number of batches after which the bound was looked at, including this one.
    seed, draws (int): seed and number of the random draws by which the quantile is computed.
    RETURNS (ReviewStatus): estimate and bound.
    """
    rng = np.random.default_rng(seed)
    level = 1 - ERROR / (looks * (looks + 1))
    notes = sum(one.notes for one in strata)
    left = np.zeros(draws)
    expected = 0.0
    for size, reviewed, leaking in strata:
        others = size - reviewed
        if reviewed == leaking:  # nothing is known but that all reviewed notes leak
            left += others
        else:
            left += rng.binomial(others, rng.beta(leaking + 1, reviewed - leaking, draws))
        expected += others * (leaking / reviewed if reviewed else 1.0)
    upper = float(np.quantile(left, level, method="higher")) / notes if notes else 0.0
    counts = (sum(one.reviewed for one in strata), sum(one.leaking for one in strata))
    return ReviewStatus(notes, *counts, expected / notes if notes else 0.0, upper, level)


def count_strata(
    plan: Sequence[Mapping[str, Any]], sizes: Sequence[int], leaks: Mapping[str, bool]
) -> tuple[list[Stratum], int]:
    """Count the reviewed notes of the complete batches of a plan.

    plan (Sequence[Mapping]): the planned notes, with "id", "stratum" and "batch".
    sizes (Sequence[int]): number of notes of each stratum.
    leaks (Mapping[str, bool]): id of a reviewed note → whether something had been missed in it.
    RETURNS (tuple[list[Stratum], int]): the counts, and the number of complete batches. Notes of an incomplete batch
        do not count, because those that are reviewed first may differ from the others.
    """
    batches = sorted({int(row["batch"]) for row in plan})
    complete = 0
    for batch in batches:
        if not all(str(row["id"]) in leaks for row in plan if row["batch"] == batch):
            break
        complete = batch
    counts = [[size, 0, 0] for size in sizes]
    for row in plan:
        if int(row["batch"]) <= complete:
            counts[int(row["stratum"])][1] += 1
            counts[int(row["stratum"])][2] += leaks[str(row["id"])]
    return [Stratum(*count) for count in counts], complete
