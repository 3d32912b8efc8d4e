"""Measure what the weights of an adapted pipeline tell about the names in the notes that it was adapted to.

    python -m benchmarks.membership --steps 150

Canaries are names that no list has. They are planted in copies of authored training notes, each in 1, 5 or 20 of them,
and the classifier is fine-tuned on the copies as ``spacy-deid adapt`` does. Then canaries and other names of the same
form are read in sentences that were not trained on. An attacker who has the weights ranks the names by the score that
their words are an identifier (attack "scores"), or by how much the score has grown since the included pipeline (attack
"changes"). AUC is the probability that a canary has a higher rank than another name. Exposure is log2 of the number of
names less log2 of the rank of the canary (Carlini et al. 2019, The Secret Sharer).
"""

import math
import statistics
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
import typer
from spacy.language import Language

import spacy_deid
from spacy_deid.adaptation.notes import make_replay, relabel_notes
from spacy_deid.adaptation.training import Plan, Tuner
from spacy_deid.evaluation import AnnotatedText, Entity, MetricRow
from spacy_deid.evaluation.rows import command_line, replace_rows
from spacy_deid.loading import find_component
from spacy_deid.ml.features import dense_tokens
from spacy_deid.synth.authored import read_authored

REPEATS = (1, 5, 20)
_PLANTED = ("\nPaciente: {}.\n", "\nHablado con {} por la tarde.\n", "\n{} refiere mejoría.\n")
_READ = ("Se comenta con {} el plan.", "{} no acude hoy.", "Avisar a {} mañana.")
_STARTS = "Zy Qua Vri Ghe Khu Xa Wro Dje Tsu Fwe Ngo Ptu".split()
_MIDDLES = "lo mbi ske rta vgo pli zne dru xho gwe".split()
_ENDS = "xwal pez'k qvist ddorf ljak nczyk vuur schq tthe kko".replace("'", "").split()
_LEAST = 1e-7  # probability from which on scores are not distinguished


def make_names(number: int, random: Random) -> list[str]:
    """Make different invented names of two words."""
    names: set[str] = set()
    while len(names) < number:
        words = [random.choice(_STARTS) + random.choice(_MIDDLES) + random.choice(_ENDS) for _ in range(2)]
        names.add(" ".join(words))
    return sorted(names, key=lambda name: random.random())


def plant(note: AnnotatedText, name: str, number: int) -> AnnotatedText:
    """Return a copy of a note with two lines that contain a name, which is marked as that of the patient."""
    text, entities = note.text, list(note.entities)
    for line in (_PLANTED[number % 3], _PLANTED[(number + 1) % 3]):
        start = len(text) + line.index("{")
        text += line.format(name)
        entities.append(Entity(start, start + len(name), "PATIENT"))
    return AnnotatedText(f"{note.name}-{number}", text, tuple(entities))


def read_scores(nlp: Language, names: Sequence[str]) -> np.ndarray:
    """Return for each name the mean logarithm of the odds that its words are an identifier, over all sentences."""
    ner: Any = find_component(nlp, "deid_ner")
    scores = np.zeros(len(names))
    for sentence in _READ:
        start = sentence.index("{")
        docs = [nlp.make_doc(sentence.format(name)) for name in names]
        for i, (doc, found) in enumerate(zip(docs, ner.read(docs), strict=True)):
            end = start + len(names[i])
            own = [start <= doc[int(token)].idx < end for token in dense_tokens(doc)]
            phi = np.clip(found.phi[own].astype(float), _LEAST, 1 - _LEAST)
            scores[i] += np.log(phi / (1 - phi)).mean() / len(_READ)
    return scores


def area(planted: np.ndarray, fresh: np.ndarray) -> float:
    """Return the probability that a planted name has a higher score than a fresh one; ties count half."""
    higher = (planted[:, None] > fresh).mean()
    return float(higher + (planted[:, None] == fresh).mean() / 2)


def exposure(planted: np.ndarray, fresh: np.ndarray) -> float:
    """Return the median exposure of the planted names among the fresh ones, in bits."""
    ranks = 1 + (fresh >= planted[:, None]).sum(axis=1)
    return statistics.median(math.log2(len(fresh) + 1) - math.log2(rank) for rank in ranks)


def main(
    context: typer.Context,
    folder: Annotated[Path, typer.Option(help="Authored training notes.")] = Path("corpus/authored/es/train"),
    steps: Annotated[int, typer.Option(min=1, help="Training steps.")] = 150,
    canaries: Annotated[int, typer.Option(min=2, help="Canaries for each number of copies.")] = 12,
    fresh: Annotated[int, typer.Option(min=10, help="Names that are not planted.")] = 300,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 1,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/membership.json"),
) -> None:
    """Plant canaries, fine-tune, and measure how well the weights tell them from other names."""
    random, nlp = Random(seed), spacy_deid.load("es")
    ner: Any = find_component(nlp, "deid_ner")
    notes = relabel_notes([note.annotated() for note in read_authored(folder)], ner.labels)
    names = make_names(canaries * len(REPEATS) + fresh, random)
    planted = {times: [names.pop() for _ in range(canaries)] for times in REPEATS}
    copies = [
        plant(note, name, number)
        for times, group in planted.items()
        for name in group
        for number, note in enumerate(random.sample(notes, times))
    ]
    every = [name for group in planted.values() for name in group] + names
    before = read_scores(nlp, every)
    replay = make_replay("es", seed=seed)
    plan = Plan(steps=steps, seed=seed)
    tuner = Tuner(nlp, ner, ner.labels, lambda: relabel_notes(replay.read(), ner.labels), plan)
    tuner.tune(random.sample(copies, len(copies)))
    after = read_scores(nlp, every)
    rows = []
    command, today = command_line("benchmarks.membership", context), date.today().isoformat()
    for attack, scores in (("before the adaptation", before), ("scores", after), ("changes", after - before)):
        for number, times in enumerate(REPEATS):
            own = scores[number * canaries : (number + 1) * canaries]
            others = scores[canaries * len(REPEATS) :]
            for figure, value in (("AUC", area(own, others)), ("exposure in bits", exposure(own, others))):
                name = f"{attack}, canary in {times} note(s): {figure}"
                data = f"authored es, {steps} steps, {len(copies)} notes, {fresh} other names"
                rows.append(MetricRow(name, round(value, 4), None, "lower", data, "train", command, today))
                typer.echo(f"{name} {value:.3f}")
    replace_rows(metrics, rows)


if __name__ == "__main__":
    typer.run(main)
