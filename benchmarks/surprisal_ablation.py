"""Measure what a language model adds to the other detectors: words above a threshold, and spans proposed for review.

    python -m benchmarks.surprisal_ablation es=training/es en=en fi=fi

Each pipeline runs at two operating points on notes that neither it, the language model, nor the combination of scores
was trained on: MEDDOCAN dev and the synthetic test notes. Then words above a threshold are merged too, or spans that
no detector found are proposed within a budget. The reviewer is assumed to recognize the PHI in a proposed span, and
nothing else. The budget applies to all notes together, so that the spans with the highest scores are proposed, or to
each note. The model output is stored in the same folder as by benchmarks/surprisal.py.

Writes metrics/surprisal_ablation.json.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry

import spacy_deid
from spacy_deid.audit.leak_order import assess_leak
from spacy_deid.cli.surprisal import find_part
from spacy_deid.evaluation import AnnotatedText, Entity, evaluate, from_doc
from spacy_deid.evaluation.counts import alphanumeric_mask, coverage_mask
from spacy_deid.evaluation.ranking import roc_auc
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.evaluation.scored_tokens import score_tokens
from spacy_deid.evaluation.sweep import Stages, decide, detect, take_apart
from spacy_deid.masked_lm.scores import choose_score
from spacy_deid.spans import SCORES, Evidence, write_evidence

from .surprisal import DATA, MAIN, Setup, ask, rescore

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

POINTS = ("high_recall", "balanced")
BUDGETS = (2, 5, 10, 20)  # spans for 1,000 words
COLUMNS = ("surprisal", "per_piece", "log_rank")  # to rank words by, beside the score
THRESHOLDS = (0.9, 0.99, 0.999)
FIRST = (0.1, 0.25)  # shares of the notes
COSTS = (": missed PHI tokens", ": spans per 1,000 words", ": words in them per 1,000")
KEY = "deid/surprisal"
ALL = 10**9
Figures = Iterator[tuple[str, float]]


@app.command()
def main(
    context: typer.Context,
    pipelines: Annotated[list[str], typer.Argument(metavar="LANG=PIPELINE...", help="Language and pipeline.")],
    corpus: Annotated[Path, typer.Option(help="Folder of the corpora.")] = Path("corpus"),
    models: Annotated[Path | None, typer.Option(help="Folder of LANG models; the shipped ones by default.")] = None,
    mode: Annotated[str, typer.Option(help="Mode of the masked language model.")] = "spread",
    score: Annotated[str, typer.Option(help="Score that ranks the words.")] = "combined",
    threshold: Annotated[list[float] | None, typer.Option(help="Thresholds of the score.")] = None,
    limit: Annotated[int | None, typer.Option(help="Maximum number of notes; all by default.")] = None,
    keep: Annotated[Path, typer.Option(help="Folder of stored scores.")] = Path("training/surprisal"),
    metrics: Annotated[Path, typer.Option(help="Number of rows to write.")] = Path("metrics/surprisal_ablation.json"),
) -> None:
    """Measure what the language model adds."""
    about = {"command": command_line("benchmarks.surprisal_ablation", context), "date": date.today().isoformat()}
    for lang, _, pipeline in (one.partition("=") for one in pipelines):
        data, setup = DATA[lang], Setup(lang, str(models / lang) if models else None, mode, keep / lang)
        notes = data.test(corpus)[:limit]
        records = score_notes(setup, notes, score)
        rows = []
        for point in POINTS:
            case = Case(spacy_deid.load(pipeline, operating_point=point), notes, records)
            for name, value in case.measure(point, threshold or THRESHOLDS):
                typer.echo(f"{lang} {name:<90}{value:.4f}")
                better = "lower" if name.endswith(COSTS) else "higher"
                named = {"data": data.name, "split": data.split, **about}
                rows.append(MetricRow(name, round(value, 5), None, better, **named))
        if limit is None:
            replace_rows(metrics, rows)


def score_notes(setup: Setup, notes: Sequence[AnnotatedText], score: str) -> list[dict[str, Any]]:
    """Return the scores of each note as written by ``deid_surprisal``."""
    part = choose_score(registry.resolve({"score": find_part("score", score, setup.lang)})["score"], setup.lang)
    about = {"score": part.name, "probability": part.is_probability}
    return [
        {**rescore(part, doc, record), "features": record["features"], **about}
        for _, doc, record in ask(setup, notes, MAIN)
    ]


@dataclass(frozen=True, slots=True)
class Proposed:
    """A span proposed for review.

    note (int): index of the note.
    start, end (int): character offsets.
    value (float): score.
    held (int): number of missed PHI tokens in it.
    """

    note: int
    start: int
    end: int
    value: float
    held: int


class Case:
    """A pipeline at an operating point."""

    def __init__(self, nlp: Language, notes: Sequence[AnnotatedText], records: Sequence[Mapping[str, Any]]) -> None:
        """Run the detectors.

        nlp (Language): the pipeline.
        notes (Sequence[AnnotatedText]): gold.
        records (Sequence[Mapping]): scores of the notes.
        """
        self.nlp, self.notes, self.words = nlp, notes, [len(note.text.split()) for note in notes]
        self.review: Any = nlp.add_pipe("deid_review", config={"at_least": ALL})
        self.stages: Stages = take_apart(nlp)
        self.docs: list[Doc] = detect(nlp, (note.text for note in notes), self.stages)
        for doc, record in zip(self.docs, records, strict=True):
            doc.user_data[SCORES] = record

    def measure(self, point: str, thresholds: Sequence[float]) -> Figures:
        """Compute all figures.

        point (str): name of the operating point.
        thresholds (Sequence[float]): minimum scores of words that are added.
        YIELDS (tuple): name and value.
        """
        found = self._decide()
        yield from self._name(f"{point}, without a language model", found)
        missed = [missed_tokens(note, doc, one) for note, doc, one in zip(self.notes, self.docs, found, strict=True)]
        yield f"{point}, without a language model: missed PHI tokens", sum(map(len, missed))
        proposed = {column: self._propose(missed, column) for column in (None, *COLUMNS)}
        for column, budget in product(proposed, BUDGETS):
            spans, variant = proposed[column], f"{budget} spans per 1,000 words"
            by = f" by {column}".replace("_", " ") if column else ""
            yield from self._review(f"{point}{by}, {variant}", found, missed, self._of_all(spans, budget))
            if column is None:
                yield from self._review(f"{point} by note, {variant}", found, missed, self._of_each(spans, budget))
        yield from self._order(point, [len(tokens) for tokens in missed])
        for threshold in thresholds:
            yield from self._name(f"{point}, words above {threshold:g}", self._above(threshold))

    def _decide(self) -> list[AnnotatedText]:
        """Merge the detections again."""
        docs = (decide(self.nlp, doc, self.stages) for doc in self.docs)
        return [from_doc(doc, note.name) for doc, note in zip(docs, self.notes, strict=True)]

    def _above(self, threshold: float) -> list[AnnotatedText]:
        """Return the predictions with words above a threshold added, as by ``deid_surprisal``."""
        merge: Any = self.nlp.get_pipe(self.stages.deciders[0])
        sources = list(merge.sources)
        merge.add_source(KEY)
        for doc in self.docs:
            record = doc.user_data[SCORES]
            rows = zip(record["starts"], record["ends"], record["values"], strict=True)
            write_evidence(doc, KEY, [Evidence(s, e, "OTHER", "deid_surprisal") for s, e, v in rows if v > threshold])
        found = self._decide()
        merge.sources = sources
        for doc in self.docs:
            del doc.spans[KEY]
        return found

    def _name(self, variant: str, found: Sequence[AnnotatedText]) -> Figures:
        """Name recall and precision of predictions."""
        scores = evaluate(self.notes, found, bootstrap=0)["all"]
        for unit in ("word", "character"):
            for figure in ("recall", "precision"):
                yield f"{variant}: {unit} {figure}", scores[unit][figure] or 0.0
        yield f"{variant}: notes with nothing missed", scores["clean"]["share"] or 0.0

    def _propose(self, missed: Sequence[Sequence[tuple[int, int]]], column: str | None) -> list[Proposed]:
        """Return all spans that could be proposed, sorted by a column or by the score."""
        self.review.column = column
        spans = [
            Proposed(
                i, span.start, span.end, span.value, sum(span.start <= start < span.end for start, _ in missed[i])
            )
            for i, doc in enumerate(self.docs)
            for span in self.review.match(doc)
        ]
        return sorted(spans, key=lambda span: (-span.value, span.note, span.start))

    def _of_all(self, spans: Sequence[Proposed], budget: float) -> list[Proposed]:
        """Select the best spans of all notes together."""
        return list(spans[: round(budget * sum(self.words) / 1000)])

    def _of_each(self, spans: Sequence[Proposed], budget: float) -> list[Proposed]:
        """Select the best spans of each note, at least one."""
        left = [max(1, int(budget * words / 1000)) for words in self.words]
        chosen = []
        for span in spans:
            if left[span.note]:
                left[span.note] -= 1
                chosen.append(span)
        return chosen

    def _review(
        self,
        variant: str,
        found: Sequence[AnnotatedText],
        missed: Sequence[Sequence[tuple[int, int]]],
        chosen: Sequence[Proposed],
    ) -> Figures:
        """Compute what a reviewer of the proposed spans finds."""
        total, words = sum(map(len, missed)), sum(self.words)
        texts = [self.notes[span.note].text[span.start : span.end] for span in chosen]
        yield f"{variant}: spans per 1,000 words", 1000 * len(chosen) / words
        yield f"{variant}: words in them per 1,000", 1000 * sum(len(text.split()) for text in texts) / words
        if total:
            yield f"{variant}: share of missed PHI tokens in them", sum(s.held for s in chosen) / total
        yield f"{variant}: share of spans with PHI", sum(s.held > 0 for s in chosen) / max(1, len(chosen))
        seen: dict[int, list[Entity]] = {}
        for span in chosen:
            if span.held:
                seen.setdefault(span.note, []).append(Entity(span.start, span.end, "OTHER"))
        after = [
            AnnotatedText(note.name, note.text, (*note.entities, *seen.get(i, ()))) for i, note in enumerate(found)
        ]
        scores = evaluate(self.notes, after, bootstrap=0)["all"]
        yield f"{variant}: word recall after review", scores["word"]["recall"] or 0.0
        yield f"{variant}: notes with nothing missed after review", scores["clean"]["share"] or 0.0

    def _order(self, point: str, leaks: Sequence[int]) -> Figures:
        """Compute the share of missed PHI in the first notes, ordered by expected leak or by length."""
        if not 0 < np.count_nonzero(leaks) < len(leaks):
            return
        gold = np.array(leaks) > 0
        expected = [assess_leak(doc).expected for doc in self.docs]
        for name, order in (("expected leak", expected), ("their length", self.words)):
            variant, values = f"{point} by note, in the order of {name}", np.array(order, dtype=float)
            yield f"{variant}: ROC-AUC of notes that leak", roc_auc(gold, values) or 0.0
            ranked = sorted(range(len(leaks)), key=lambda i: (-values[i], i))
            for share in FIRST:
                held = sum(leaks[i] for i in ranked[: round(share * len(leaks))])
                yield f"{variant}: share of missed PHI tokens in the first {share:.0%}", held / sum(leaks)


def missed_tokens(note: AnnotatedText, doc: Doc, found: AnnotatedText) -> list[tuple[int, int]]:
    """Return the PHI tokens that are not completely covered."""
    table = score_tokens(note, doc, doc.user_data[SCORES], rules=False)
    size = len(note.text)
    open_: NDArray[np.bool_] = coverage_mask(note.entities, size) & ~coverage_mask(found.entities, size)
    counts = np.concatenate([[0], np.cumsum(open_ & alphanumeric_mask(note.text))])
    rows = np.flatnonzero(counts[table.end] > counts[table.start])
    return [(int(table.start[i]), int(table.end[i])) for i in rows]


if __name__ == "__main__":
    app()
