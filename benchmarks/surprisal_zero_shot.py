"""Compare detection without labels with detection that is tuned on labels, and with a published zero-shot method.

    python -m benchmarks.surprisal_zero_shot es en fi --corpus corpus

All columns score the same tokens of the same notes. They are named for the labels that they use:

- *zero-shot surprisal*: no label at all. The score is fitted to weak labels from public lists on notes without labels
  (`masked_lm.zero_shot`), and the threshold maximizes the F1 that its probabilities imply on the same notes. Two
  variants use only the columns of the language model, or none of them.
- *tuned on labels*: the combination of the columns of the language model, fitted on annotated notes, and plain
  surprisal; the threshold has the best F1 on annotated notes.
- *combination*: the combination with form and position, fitted and with a threshold like the one before.
- *thesis*: table 6.2 of Myntti (2025), the best model of each language, with a threshold that was tuned on labels.

The thesis measured the test part of MEDDOCAN, in Spanish and machine-translated, by word pieces. These texts are not
public in English and Finnish, so its figures refer to other tokens. F1 and PR-AUC depend on the share of tokens that
are PHI. The rows "at the thesis' share" weight the other tokens so that the share of PHI is that of the thesis.

The notes for fitting are the held-out cases of MEDDOCAN train for Spanish and the synthetic development notes for
English and Finnish, and authored training notes, whose labels are used for the tuned columns only (not those of the
authored notes). With --ship, the zero-shot combination is written to the package. Writes
metrics/surprisal_zero_shot.json.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from spacy.tokens import Doc

from spacy_deid.cli.surprisal import ScoreOptions, make_pipeline
from spacy_deid.evaluation import AnnotatedText
from spacy_deid.evaluation.ranking import best_f1_threshold, figures_at, summarize
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.evaluation.scored_tokens import find_scorable, score_notes, score_tokens
from spacy_deid.lang import get_language
from spacy_deid.masked_lm.columns import FORM_COLUMNS, MODEL_COLUMNS, Columns, form_columns
from spacy_deid.masked_lm.scores import Combination
from spacy_deid.masked_lm.zero_shot import (
    PUBLIC_COLUMNS,
    ZERO_SHOT_COLUMNS,
    expected_f1_threshold,
    fit_zero_shot,
    public_columns,
)
from spacy_deid.synth.authored import read_authored

from .surprisal import DATA, MAIN

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

METRICS = Path("metrics/surprisal_zero_shot.json")
THESIS = {  # accuracy, F1, recall, precision, PR-AUC, ROC-AUC of the best model
    "es": (0.659, 0.326, 0.654, 0.217, 0.258, 0.718),
    "en": (0.885, 0.585, 0.568, 0.602, 0.597, 0.857),
    "fi": (0.674, 0.303, 0.560, 0.208, 0.185, 0.674),
}
# which notes of each set are used, so that the command runs in minutes: one in N, and how many
FITTED_ON = {"es": (4, 10), "en": (3, 42), "fi": (6, 40)}
TESTED_ON = {"es": (12, 20), "en": (5, 80), "fi": (4, 100)}
AUTHORED_TRAIN, AUTHORED_DEV = (6, 12), (8, 15)
FITTED = {  # column → columns of the combinations that are fitted without labels
    "zero-shot surprisal": ZERO_SHOT_COLUMNS,
    "zero-shot surprisal, language model alone": MODEL_COLUMNS,
    "zero-shot, without the language model": (*FORM_COLUMNS, "rarity", *PUBLIC_COLUMNS),
}
SHOWN = {"f1": "F1", "pr_auc": "PR-AUC", "roc_auc": "ROC-AUC"}
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Note:
    """The columns of a note's tokens, and which of them are PHI, shape (words,) each."""

    columns: Columns
    gold: NDArray[np.bool_]


@app.command()
def main(
    context: typer.Context,
    langs: Annotated[list[str], typer.Argument(metavar="LANG...", help="Languages: es, en, fi.")],
    corpus: Annotated[Path, typer.Option(help="Folder of the corpora.")] = Path("corpus"),
    keep: Annotated[Path, typer.Option(help="Folder of stored model output.")] = Path("training/surprisal"),
    ship: Annotated[bool, typer.Option(help="Write the zero-shot combination to the package.")] = False,
) -> None:
    """Measure the columns on the same tokens."""
    about = {
        "command": command_line("benchmarks.surprisal_zero_shot", context, ("keep", "corpus")),
        "date": date.today().isoformat(),
    }
    for lang in langs:
        annotated = read(lang, some(DATA[lang].tune(corpus), *FITTED_ON[lang]), keep)
        authored = some(authored_notes(corpus / "authored" / lang / "train"), *AUTHORED_TRAIN)
        unlabelled = [*annotated, *read(lang, authored, keep)]
        scores = list(zero_shot(unlabelled)) + list(tuned(lang, annotated))
        if ship:
            scores[0][1].to_file(get_language(lang).resource("masked_lm") / "combined_zero_shot.json")  # type: ignore[union-attr]
        typer.echo(f"{lang}: fitted on {len(unlabelled)} notes, threshold {scores[0][2]:.4f}")
        for name, split, notes in tests(lang, corpus):
            found = read(lang, notes, keep)
            named = {"data": f"{name}, {len(notes)} notes", "split": split, **about}
            rows = [*measure(lang, found, scores, named)]
            rows.append(MetricRow("zero-shot surprisal, threshold", round(scores[0][2], 4), None, "higher", **named))
            replace_rows(METRICS, rows)
            for row in rows:
                typer.echo(f"{row.value:8.4f} {row.met if row.target else '':5} {row.name} ({name})")


def tests(lang: str, corpus: Path) -> Iterator[tuple[str, str, list[AnnotatedText]]]:
    """Yield name, split and notes of the test sets."""
    data = DATA[lang]
    yield data.name, data.split, some(data.test(corpus), *TESTED_ON[lang])
    yield f"authored {lang}", "dev", some(authored_notes(corpus / "authored" / lang / "dev"), *AUTHORED_DEV)


def authored_notes(folder: Path) -> list[AnnotatedText]:
    """Read authored notes."""
    return [note.annotated() for note in read_authored(folder)]


def some(notes: Sequence[AnnotatedText], every: int, count: int) -> list[AnnotatedText]:
    """Take one note in N, up to a number of notes."""
    return list(notes[::every][:count])


def read(lang: str, notes: Sequence[AnnotatedText], keep: Path) -> list[Note]:
    """Run the language model on notes and compute all columns."""
    nlp = make_pipeline(ScoreOptions(lang, None, "spread", MAIN, "surprisal"))
    return [describe(lang, note, doc, record) for note, doc, record in score_notes(nlp, notes, keep / lang)]


def describe(lang: str, note: AnnotatedText, doc: Doc, record: Mapping[str, Any]) -> Note:
    """Return all columns of a note, and its gold."""
    words = find_scorable(doc)
    known = {name: np.array(values) for name, values in record["features"].items()}
    known |= form_columns(doc, words) | public_columns(doc, words, lang)
    return Note(known, score_tokens(note, doc, record, rules=False).gold)


Scored = tuple[str, Combination | None, float]


def zero_shot(notes: Sequence[Note]) -> Iterator[Scored]:
    """Fit the combinations without labels. YIELDS: column, combination and threshold."""
    for name, columns in FITTED.items():
        fitted = fit_zero_shot([note.columns for note in notes], columns)
        yield name, fitted, expected_f1_threshold(score(fitted, notes))


def tuned(lang: str, notes: Sequence[Note]) -> Iterator[Scored]:
    """Read the combinations that were fitted on labels, and tune thresholds. YIELDS: as `zero_shot`."""
    folder, gold = get_language(lang).resource("masked_lm"), np.concatenate([note.gold for note in notes])
    files = {"tuned on labels, surprisal": None, "tuned on labels": "model", "combination": "all"}
    for name, kind in files.items():
        fitted = Combination.from_file(folder / f"combined_{kind}.json") if kind else None
        yield name, fitted, best_f1_threshold(gold, score(fitted, notes))


def score(fitted: Combination | None, notes: Sequence[Note]) -> Floats:
    """Score all tokens of notes, by a combination or by plain surprisal."""
    return np.concatenate([fitted.predict(n.columns) if fitted else n.columns["surprisal"] for n in notes])


def measure(lang: str, notes: Sequence[Note], scores: Sequence[Scored], named: dict[str, str]) -> Iterator[MetricRow]:
    """Yield the figures of the thesis and of all columns, as they are and at the thesis' share of PHI."""
    gold = np.concatenate([note.gold for note in notes])
    accuracy, f1, recall, precision, *areas = THESIS[lang]
    theirs = dict(zip(SHOWN, (f1, *areas), strict=True))
    share = (1 - accuracy) / (recall * (1 / precision - 1) + 1 - recall)
    yield MetricRow("share of PHI tokens", round(float(gold.mean()), 4), None, "higher", **named)
    yield MetricRow("thesis: share of PHI tokens", round(share, 4), None, "higher", **named)
    for figure, title in SHOWN.items():
        yield MetricRow(f"thesis, {title}", theirs[figure], None, "higher", **named)
    weight = float(gold.sum() / (~gold).sum() * (1 - share) / share)
    for name, fitted, threshold in scores:
        values = score(fitted, notes)
        figures = summarize(gold, values, threshold)
        even = {"f1": weighted_f1(gold, values, threshold, weight), "pr_auc": weighted_area(gold, values, weight)}
        for figure, title in SHOWN.items():
            target = theirs[figure] if name == "zero-shot surprisal" else None
            aim = None if figure in even else target  # only ROC-AUC does not depend on the share
            yield MetricRow(f"{name}, {title}", round(float(figures[figure] or 0), 4), aim, "higher", **named)
            if figure in even:
                value = round(even[figure], 4)
                yield MetricRow(f"{name}, {title} at the thesis' share", value, target, "higher", **named)
        for figure in ("recall", "precision"):
            value = figures_at(gold, values, threshold)[figure] or 0.0
            yield MetricRow(f"{name}, {figure}", round(value, 4), None, "higher", **named)


def weighted_f1(gold: NDArray[np.bool_], values: Floats, threshold: float, weight: float) -> float:
    """Compute F1 if every token that is no PHI counts `weight` times."""
    found = values >= threshold
    right, wrong = (found & gold).sum(), weight * (found & ~gold).sum()
    return float(2 * right / (right + wrong + gold.sum()))


def weighted_area(gold: NDArray[np.bool_], values: Floats, weight: float) -> float:
    """Compute average precision if every token that is no PHI counts `weight` times."""
    levels, place = np.unique(-values, return_inverse=True)
    right = np.cumsum(np.bincount(place, gold, len(levels)))
    wrong = weight * np.cumsum(np.bincount(place, ~gold, len(levels)))
    return float((np.diff(right, prepend=0) * right / (right + wrong)).sum() / gold.sum())


if __name__ == "__main__":
    app()
