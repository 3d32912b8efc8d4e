"""Fit and measure the ranking of the words that are proposed for review (`deid_review`).

    python -m benchmarks.review fit corpus/authored --earlier PIPELINES:43 --earlier PIPELINES:63
    python -m benchmarks.review measure corpus/authored
    python -m benchmarks.review bound

``fit`` fits the weights of spacy_deid/resources/review_ranking.json on authored training notes. A classifier is too
certain about the notes that it was trained on. Therefore each PIPELINES:FIRST is a folder with earlier pipelines
(LANG), which were trained before the notes from brief number FIRST on were added, and only these notes are used. The
classifiers of these pipelines take the place of those of the included ones; rules, lists and thresholds are the
current ones. Notes with few entities are left out: the training notes have many without any identifier, and weights
fitted on them tell such notes from others instead of ranking the words of a note.

``measure`` runs the included pipelines at `balanced` on the authored development notes. An identifier is *missed* if
a letter or digit of it is not replaced by the default policy; a proposal *touches* it if it contains such a letter or
digit. The budget applies to all notes of a language together. Also measured: the share of proposals that touch a
missed identifier, and the ranking by the probability of the classifier alone.

``bound`` simulates reviews of notes that leak with different probabilities, and counts how often the upper bound of
`spacy-deid review status` is at least the share of notes that still leak: after a fixed number of batches, after the
batch at which the bound first reaches the target, and after any batch at all.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from spacy.language import Language

import spacy_deid
from spacy_deid.audit.review_plan import Stratum, find_status, make_strata, plan_review
from spacy_deid.evaluation import AnnotatedText
from spacy_deid.evaluation.counts import alphanumeric_mask, coverage_mask
from spacy_deid.evaluation.documents import Entity
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows, write_rows
from spacy_deid.pipeline.review import Review
from spacy_deid.policies import load_policy
from spacy_deid.review.evidence import FEATURES
from spacy_deid.review.ranking import Ranking, load_ranking, rank_words
from spacy_deid.synth.authored import AuthoredNote, read_authored

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

LANGUAGES = ("en", "es", "fi")
BUDGETS = (5, 10, 20)
NOTES, TO_REVIEW, STOP, COVERED, DRAWS = 5000, 1600, 0.05, 0.95, 2000
# mean probability that a note leaks; how well the risk predicts it: correlation of the log-odds
WORLDS = {
    "few leaks": (0.02, 0.7),
    "some leaks": (0.1, 0.7),
    "many leaks": (0.3, 0.7),
    "risk says nothing": (0.1, 0.0),
}
TOUCHED = 0.45  # target at 10 proposals per 1,000 words
RESOURCE = Path("spacy_deid/resources/review_ranking.json")
RIDGE, STEPS, DECIMALS = 1.0, 30, 4
IN_ENTITIES = 0.05  # least share of the tokens of a note
Folder = Annotated[Path, typer.Argument(help="Folder of the authored corpus.")]
Metrics = Annotated[Path, typer.Option(help="File of the metric rows.")]
Spans = list[tuple[int, int, float]]


@dataclass
class Reviewed:
    """A note after detection.

    words (int): number of words of the note.
    open (NDArray): whether each character is a letter or digit of an identifier that was not replaced.
    missed (Sequence[tuple[int, int]]): offsets of the missed identifiers.
    identifiers (int): number of identifiers.
    record (dict): output of `rank_words`.
    """

    words: int
    open: NDArray[np.bool_]
    missed: Sequence[tuple[int, int]]
    identifiers: int
    record: dict[str, Any]


def run(nlp: Language, notes: Sequence[AnnotatedText], ranking: Ranking) -> Iterator[tuple[Reviewed, Any]]:
    """Run a pipeline on notes. YIELDS (tuple): what it missed, and the Doc."""
    if "deid_review" not in nlp.pipe_names:
        nlp.add_pipe("deid_review")
    review: Any = nlp.get_pipe("deid_review")
    review.ranking = ranking
    replaces = load_policy("strict").replaces
    docs = nlp.pipe((note.text for note in notes), batch_size=32)
    for note, doc in zip(notes, docs, strict=True):
        size = len(note.text)
        gold = [entity for entity in note.entities if replaces(entity.label)]
        found = [Entity(e.start_char, e.end_char, e.label_) for e in doc.ents if replaces(e.label_)]
        left = alphanumeric_mask(note.text) & ~coverage_mask(found, size)
        missed = [(entity.start, entity.end) for entity in gold if left[entity.start : entity.end].any()]
        opened = coverage_mask(gold, size) & left
        yield Reviewed(len(note.text.split()), opened, missed, len(gold), rank_words(doc, ranking)), doc


def read_notes(folder: Path, first: int = 0) -> list[AnnotatedText]:
    """Read the notes of a split, from a brief number on."""
    notes: list[AuthoredNote] = read_authored(folder)
    return [n.annotated() for n in notes if int((re.findall(r"\d+", n.brief) or ["0"])[-1]) >= first]


def fit_weights(values: NDArray[np.float64], wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Fit a logistic regression by Newton's method, with a ridge penalty on standardised features.

    values (NDArray): features. Shape (n, features).
    wanted (NDArray): whether each token is part of a missed identifier. Shape (n,).
    RETURNS (NDArray): weights of the features, and the bias. Shape (features + 1,).
    """
    mean, scale = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-6)
    columns = np.concatenate([(values - mean) / scale, np.ones((len(values), 1))], axis=1)
    penalty = np.diag([RIDGE] * values.shape[1] + [0.0])
    weights = np.zeros(columns.shape[1])
    for _ in range(STEPS):
        guess = 1 / (1 + np.exp(-np.clip(columns @ weights, -30, 30)))
        slope = columns.T @ (wanted - guess) - penalty @ weights
        curve = (columns * (guess * (1 - guess))[:, None]).T @ columns + penalty
        weights = weights + np.linalg.solve(curve, slope)
    plain = weights[:-1] / scale
    return np.append(plain, weights[-1] - float(plain @ mean))


def run_earlier(pipeline: Path, lang: str, notes: Sequence[AnnotatedText]) -> Iterator[tuple[Reviewed, Any]]:
    """Run an included pipeline with the classifier of an earlier one, but its own thresholds. YIELDS as `run`."""
    nlp = spacy_deid.load(lang, operating_point="balanced")
    classifier: Any = nlp.get_pipe("deid_ner")
    other: Any = spacy_deid.load(pipeline, operating_point="balanced").get_pipe("deid_ner")
    points = {"points": classifier.cfg["points"]}
    classifier.model, classifier.cfg, classifier.predictor = other.model, other.cfg | points, None
    yield from run(nlp, notes, Ranking(dict.fromkeys((*FEATURES, "bias"), 0.0), "none"))


def is_dense(doc: Any) -> bool:
    """Return whether enough tokens of a note are in entities."""
    return sum(len(ent) for ent in doc.ents) >= IN_ENTITIES * sum(not token.is_space for token in doc)


@app.command()
def fit(
    folder: Folder,
    earlier: Annotated[
        list[str], typer.Option(help="Folder of pipelines, and number of the first brief; repeatable.")
    ],
    output: Annotated[Path, typer.Option(help="File of the weights.")] = RESOURCE,
) -> None:
    """Fit the weights of the ranking."""
    values, wanted = list[NDArray[np.float64]](), list[NDArray[np.bool_]]()
    for (pipelines, first), lang in ((one.rsplit(":", 1), lang) for one in earlier for lang in LANGUAGES):
        notes = read_notes(folder / lang / "train", int(first))
        used = [note for note, doc in run_earlier(Path(pipelines) / lang, lang, notes) if is_dense(doc)]
        for note in used:
            columns = [note.record["features"][name.replace(" ", "_")] for name in FEATURES]
            values.append(np.array(columns, dtype=float).reshape(len(FEATURES), -1).T)
            spans = zip(note.record["starts"], note.record["ends"], strict=True)
            wanted.append(np.array([note.open[s:e].any() for s, e in spans], dtype=bool))
        typer.echo(f"{lang}: {len(used)} of {len(notes)} notes from brief {first} on")
    fitted = fit_weights(np.concatenate(values), np.concatenate(wanted)).round(DECIMALS).tolist()
    weights = dict(zip((*FEATURES, "bias"), fitted, strict=True))
    data = {"version": f"evidence-{date.today():%Y%m%d}", "weights": weights}
    output.write_text(json.dumps(data, indent=2) + "\n", encoding="utf8")
    for name, weight in weights.items():
        typer.echo(f"{name:30}{weight:9.3f}")


def propose(nlp: Language, docs: Sequence[Any]) -> list[Spans]:
    """Return all spans that could be proposed in each note, with their scores."""
    review: Review = nlp.get_pipe("deid_review")
    review.at_least = 10**9
    return [[(span.start, span.end, span.value) for span in review.match(doc)] for doc in docs]


def touch(notes: Sequence[Reviewed], proposed: Sequence[Spans], budget: float) -> tuple[float, float]:
    """Compute the share of missed identifiers that the best proposals touch, and the share of these that touch one.

    notes (Sequence[Reviewed]): the notes.
    proposed (Sequence[Spans]): all spans of each note.
    budget (float): proposals per 1,000 words of all notes together.
    """
    spans = sorted((-value, i, start, end) for i, one in enumerate(proposed) for start, end, value in one)
    chosen = spans[: round(budget * sum(note.words for note in notes) / 1000)]
    seen = [np.zeros(len(note.open), dtype=bool) for note in notes]
    useful = 0
    for _, i, start, end in chosen:
        useful += bool(notes[i].open[start:end].any())
        seen[i][start:end] = True
    touched = sum(bool((note.open[s:e] & seen[i][s:e]).any()) for i, note in enumerate(notes) for s, e in note.missed)
    return touched / max(1, sum(len(note.missed) for note in notes)), useful / max(1, len(chosen))


@app.command()
def measure(
    context: typer.Context,
    folder: Folder,
    lang: Annotated[list[str] | None, typer.Option(help="Languages; all by default.")] = None,
    metrics: Metrics = Path("metrics/review.json"),
) -> None:
    """Measure the ranking on the authored development notes."""
    command, today = command_line("benchmarks.review measure", context), date.today().isoformat()
    alone = Ranking(dict.fromkeys((*FEATURES, "bias"), 0.0) | {"probability": 1.0}, "probability")
    for code in lang or LANGUAGES:
        nlp = spacy_deid.load(code, operating_point="balanced")
        pairs = list(run(nlp, read_notes(folder / code / "dev"), load_ranking()))
        notes, docs = [note for note, _ in pairs], [doc for _, doc in pairs]
        rows = []

        def row(name: str, value: float, target: float | None = None, code: str = code, rows: Any = rows) -> None:
            rows.append(MetricRow(name, round(value, 5), target, "higher", f"authored {code}", "dev", command, today))
            typer.echo(f"{code} {name}: {value:.4f}")

        missed = sum(len(note.missed) for note in notes)
        row("share of identifiers missed at balanced", missed / sum(note.identifiers for note in notes))
        ranked = {"all evidence": propose(nlp, docs), "probability alone": propose_by(nlp, docs, alone)}
        for (title, proposed), budget in ((pair, n) for pair in ranked.items() for n in BUDGETS):
            touched, useful = touch(notes, proposed, budget)
            target = TOUCHED if budget == 10 and title == "all evidence" else None
            per = f"{title}, {budget} proposals per 1,000 words"
            row(f"{per}: share of missed identifiers touched", touched, target)
            row(f"{per}: share of proposals that touch one", useful)
        replace_rows(metrics, rows)


def propose_by(nlp: Language, docs: Sequence[Any], ranking: Ranking) -> list[Spans]:
    """Return the spans of `propose` with another ranking."""
    review: Any = nlp.get_pipe("deid_review")
    usual, review.ranking = review.ranking, ranking
    found = propose(nlp, docs)
    review.ranking = usual
    return found


@app.command()
def bound(
    context: typer.Context,
    runs: Annotated[int, typer.Option(help="Simulated reviews per kind of notes.")] = 1000,
    metrics: Metrics = Path("metrics/review.json"),
) -> None:
    """Measure how often the bound of a review holds."""
    command, today = command_line("benchmarks.review bound", context), date.today().isoformat()
    rows = []
    for number, (title, (share, tie)) in enumerate(WORLDS.items()):
        results = [simulate(share, tie, np.random.default_rng([number, one])) for one in range(runs)]
        fixed, stopped, always, reviewed, width = (float(np.mean(column)) for column in zip(*results, strict=True))
        data = f"{runs} reviews of up to {TO_REVIEW} of {NOTES} notes, {title}"
        for name, value, target in (
            ("share of bounds that hold after four batches", fixed, COVERED),
            ("share of bounds that hold when the review stops", stopped, COVERED),
            ("share of reviews with bounds that hold after every batch", always, COVERED),
            ("notes reviewed when the review stops", reviewed, None),
            ("distance of the bound after four batches from the share that leaks", width, None),
        ):
            better: Any = "higher" if "hold" in name else "lower"
            rows.append(MetricRow(name, round(value, 5), target, better, data, "simulated", command, today))
            typer.echo(f"{title}, {name}: {value:.4f}")
    write_rows(metrics, rows)


def simulate(share: float, tie: float, rng: np.random.Generator) -> tuple[float, float, float, float, float]:
    """Simulate one review.

    share (float): mean probability that a note leaks, about.
    tie (float): correlation of the log-odds of the risk and of the true probability.
    rng (Generator): random generator.
    RETURNS (tuple): whether the bound holds after four batches, when the review stops, and after every batch; notes
        reviewed when it stops; distance of the bound after four batches.
    """
    shared, own, other = rng.normal(size=(3, NOTES))
    middle = np.log(share / (1 - share)) - 0.5
    truth = 1 / (1 + np.exp(-middle - 1.5 * (np.sqrt(tie) * shared + np.sqrt(1 - tie) * own)))
    risks = 1 / (1 + np.exp(-middle - 1.5 * (np.sqrt(tie) * shared + np.sqrt(1 - tie) * other)))
    leaks = rng.random(NOTES) < truth
    strata = make_strata(risks.tolist())
    chosen = plan_review(strata, risks.tolist(), TO_REVIEW, int(rng.integers(2**31)))
    seen, held, bounds = np.zeros(NOTES, dtype=bool), list[bool](), list[tuple[float, float, int]]()
    for batch in range(1, max(one.batch for one in chosen) + 1):
        seen[[one.note for one in chosen if one.batch == batch]] = True
        counts = [np.bincount(strata, part, minlength=4).astype(int) for part in (seen * 0 + 1, seen, seen & leaks)]
        done = find_status([Stratum(*map(int, row)) for row in zip(*counts, strict=True)], batch, draws=DRAWS)
        left = float((leaks & ~seen).sum()) / NOTES
        held.append(done.upper >= left)
        bounds.append((done.upper, left, int(seen.sum())))
    stop = next((i for i, (upper, _, _) in enumerate(bounds) if upper <= STOP), len(bounds) - 1)
    upper, left, _ = bounds[3]
    return held[3], held[stop], all(held), bounds[stop][2], upper - left


if __name__ == "__main__":
    app()
