"""Measure detection by surprisal: all scores, by token and word, on forms and in narrative.

    python -m benchmarks.surprisal es en fi --corpus corpus

Thresholds are chosen on development notes and applied to test notes: for Spanish the held-out cases of MEDDOCAN train
and MEDDOCAN dev, for English and Finnish the synthetic development and test sets. The model runs once per masking and
all scores are computed from its stored output, so that an interrupted run can be resumed. Without a model of the
language only the baselines are measured.

Writes metrics/surprisal_LANG.json, and the curves over the threshold to training/figures.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from spacy.tokens import Doc
from spacy.util import registry

from scripts.lm_corpus import is_held_out
from spacy_deid.cli.surprisal import ScoreOptions, find_part, make_blank, make_pipeline
from spacy_deid.errors import ConfigError
from spacy_deid.evaluation import AnnotatedText, read_docbin
from spacy_deid.evaluation.plots import plot_score_curve
from spacy_deid.evaluation.ranking import (
    Figures,
    average_precision,
    best_f1_threshold,
    figure_name,
    figures_at,
    format_scores,
    measure,
    measure_rules,
    score_curve,
    score_rows,
    write_score_curve,
)
from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows
from spacy_deid.evaluation.scored_tokens import (
    BASELINES,
    ScoredTokens,
    find_scorable,
    join,
    score_notes,
    score_tokens,
    shape_rule,
)
from spacy_deid.lemmatizers import choose_lemmatizer
from spacy_deid.masked_lm.scores import choose_score

from .test_sets import read_test_set

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

Scored = list[tuple[AnnotatedText, Doc, Mapping[str, Any]]]

MASKINGS = ("none", "same_word", "same_lemma")
MAIN = "same_word"  # the masking that every score is measured with; of the others, these:
OF_EACH_MASKING = ("surprisal", "entropy", "combined:kind=model", "combined")
ALONE = ("surprisal", "per_piece", "rank", "entropy", "name_slot", "combined:kind=model")  # neither form nor place
SCORES = (*ALONE, "contrast", "veto:score=entropy", "combined:kind=form", "combined")
SHAPE = next(name for name, rule in BASELINES.items() if rule is shape_rule)
INFLECTED = {"fi"}  # languages whose names have many forms
PEOPLE = {"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"}
TARGETS = {  # of Spanish: scores that know nothing of form and place, and all together
    ("tuned on labels", "f1"): 0.45,
    ("tuned on labels", "pr_auc"): 0.40,
    ("tuned on labels", "roc_auc"): 0.85,
    ("combination", "pr_auc"): 0.75,
}


@dataclass(frozen=True)
class Data:
    """The notes of a language.

    name, split (str): names of the test notes in metric rows.
    tune, test (Callable): functions from the folder of corpora to development and test notes.
    """

    name: str
    split: str
    tune: Callable[[Path], list[AnnotatedText]]
    test: Callable[[Path], list[AnnotatedText]]


def held_out(corpus: Path) -> list[AnnotatedText]:
    """Read the cases of MEDDOCAN train that no model was trained on."""
    return [note for note in read_docbin(corpus / "meddocan" / "train.spacy") if is_held_out(note.name)]


DATA = {
    "es": Data("MEDDOCAN", "dev", held_out, lambda corpus: read_docbin(corpus / "meddocan" / "dev.spacy")),
    "en": Data(
        "synth_en",
        "test",
        lambda corpus: read_docbin(corpus / "en" / "dev.spacy"),
        lambda corpus: read_test_set("en", corpus),
    ),
    "fi": Data(
        "synth_fi",
        "test",
        lambda corpus: read_docbin(corpus / "fi" / "dev.spacy"),
        lambda corpus: read_test_set("fi", corpus),
    ),
}


@app.command()
def main(
    context: typer.Context,
    langs: Annotated[list[str], typer.Argument(metavar="LANG...", help="Languages: es, en, fi.")],
    corpus: Annotated[Path, typer.Option(help="Folder of the corpora.")] = Path("corpus"),
    models: Annotated[Path | None, typer.Option(help="Folder of LANG models; the shipped ones by default.")] = None,
    mode: Annotated[str, typer.Option(help="Mode of the masked language model.")] = "spread",
    masking: Annotated[list[str] | None, typer.Option(help="Maskings to measure; all by default.")] = None,
    score: Annotated[list[str] | None, typer.Option(help="Scores to measure; all by default.")] = None,
    keep: Annotated[Path, typer.Option(help="Folder of stored scores.")] = Path("training/surprisal"),
    metrics: Annotated[Path, typer.Option(help="Folder of surprisal_LANG.json.")] = Path("metrics"),
    figures: Annotated[Path, typer.Option(help="Folder of the curves.")] = Path("training/figures"),
) -> None:
    """Measure detection by surprisal."""
    about = {"command": command_line("benchmarks.surprisal", context), "date": date.today().isoformat()}
    for lang in langs:
        data, setup = DATA[lang], Setup(lang, str(models / lang) if models else None, mode, keep / lang)
        tune, test = data.tune(corpus), data.test(corpus)
        variants = list(score_all(setup, tune, test, masking or MASKINGS, score or SCORES))
        chosen = choose_variants(variants)
        results = {name: measure(variant.test, variant.threshold) for name, variant in chosen.items()}
        results |= {variant.name: measure(variant.test, variant.threshold) for variant in variants}
        results |= measure_rules(without_model(lang, test))
        typer.echo(f"\n{data.name} {data.split}\n{format_scores(results)}")
        named = {"data": data.name, "split": data.split, **about}
        rows = score_rows(results, named, targets=aims(results) if lang == "es" else {})
        for name, value in recurring_names(lang, test, variants):
            rows.append(MetricRow(name, round(value, 5), None, "higher", **named))
        replace_rows(metrics / f"surprisal_{lang}.json", rows)
        plain = {v.score: v for v in variants if (v.masking, v.score) == (MAIN, "surprisal")}
        draw(lang, plain | chosen, figures)


@dataclass(frozen=True)
class Setup:
    """The model and its settings.

    lang (str): language of the notes.
    model (Optional[str]): folder; None for the model of the package.
    mode (str): short name of the mode.
    keep (Path): folder of stored model output.
    """

    lang: str
    model: str | None
    mode: str
    keep: Path


@dataclass(frozen=True, eq=False)
class Variant:
    """A score with a masking.

    score, masking (str): short names.
    name (str): name in metric rows.
    tune, test (ScoredTokens): tokens of the development and of the test notes.
    threshold (float): threshold chosen on the development notes.
    """

    score: str
    masking: str
    name: str
    tune: ScoredTokens
    test: ScoredTokens
    threshold: float


def score_all(
    setup: Setup,
    tune: Sequence[AnnotatedText],
    test: Sequence[AnnotatedText],
    maskings: Sequence[str],
    scores: Sequence[str],
) -> Iterator[Variant]:
    """Yield all scores with the main masking, and some with the others; nothing if there is no model."""
    for masking in maskings:
        try:
            said = [ask(setup, notes, masking) for notes in (tune, test)]
        except ConfigError as error:
            typer.echo(f"{setup.lang}: without a model: {error}", err=True)
            return
        for score in (one for one in scores if masking == MAIN or one in OF_EACH_MASKING):
            try:
                found = registry.resolve({"score": find_part("score", score, setup.lang)})["score"]
                part = choose_score(found, setup.lang)
            except ConfigError as error:
                typer.echo(f"{setup.lang}: left out: {error}", err=True)
                continue
            tables = [join(score_tokens(n, doc, rescore(part, doc, r), rules=False) for n, doc, r in s) for s in said]
            name = f"{part.name}, {masking}".replace("_", " ")
            threshold = best_f1_threshold(tables[0].gold, tables[0].value)
            yield Variant(score, masking, name, tables[0], tables[1], threshold)


def ask(setup: Setup, notes: Sequence[AnnotatedText], masking: str) -> Scored:
    """Run the model on notes."""
    nlp = make_pipeline(ScoreOptions(setup.lang, setup.model, setup.mode, masking, "surprisal"))
    found: Scored = []
    for row in score_notes(nlp, notes, setup.keep):
        found.append(row)
        last = len(found) == len(notes)
        typer.echo(f"\r{setup.lang} {masking}: {len(found)} of {len(notes)} notes", err=True, nl=last)
    return found


def choose_variants(variants: Sequence[Variant]) -> dict[str, Variant]:
    """Choose the scores with targets.

    These are the score with the best PR-AUC on the development notes among those that use neither form nor position,
    and the combination of all scores, with the threshold for whole notes and with that for narrative.
    """
    chosen = {}
    alone = [variant for variant in variants if variant.masking == MAIN and variant.score in ALONE]
    if alone:
        chosen["tuned on labels"] = max(alone, key=lambda v: average_precision(v.tune.gold, v.tune.value) or 0.0)
    for variant in variants:
        if (variant.masking, variant.score) == (MAIN, "combined"):
            narrative = variant.tune.take("narrative")
            threshold = best_f1_threshold(narrative.gold, narrative.value)
            chosen["combination"] = variant
            chosen["combination with the threshold of the narrative"] = replace(variant, threshold=threshold)
    return chosen


def aims(results: Mapping[str, Figures]) -> dict[str, float]:
    """Return the targets; in narrative, the F1 of the shape baseline."""
    targets = {figure_name(score, figure, "token", "all"): aim for (score, figure), aim in TARGETS.items()}
    shape = results[SHAPE]["token"]["narrative"]["f1"] or 0.0
    combined = [name for name in results if name.startswith("combination")]
    return targets | {figure_name(name, "f1", "token", "narrative"): round(float(shape), 5) for name in combined}


def without_model(lang: str, notes: Sequence[AnnotatedText]) -> ScoredTokens:
    """Create the table of unscored notes, for the baselines."""
    nlp = make_blank(lang)
    nothing: dict[str, Any] = {"starts": [], "ends": [], "values": [], "features": {}}
    return join(score_tokens(note, nlp.make_doc(note.text), nothing) for note in notes)


def draw(lang: str, chosen: Mapping[str, Variant], figures: Path) -> None:
    """Write the curves of scores on the development notes."""
    for name, variant in chosen.items():
        table = variant.tune.take("narrative") if name.endswith("narrative") else variant.tune
        reached = figures_at(table.gold, table.value, variant.threshold)
        about = {"threshold": variant.threshold, "by": "f1", "score": variant.score, "figures": reached}
        rows = score_curve(table.gold, table.value, variant.threshold)
        file = name.replace(" ", "_")
        write_score_curve(figures / f"surprisal_{lang}_{file}", about, rows)
        title = f"{lang}: {name} ({variant.name}), development data"
        plot_score_curve(figures / f"surprisal_{lang}_{file}.png", {**about, "title": title}, rows)


def recurring_names(
    lang: str, notes: Sequence[AnnotatedText], variants: Sequence[Variant]
) -> Iterator[tuple[str, float]]:
    """PR-AUC of names that stand in a note in more than one form, among what is no PHI in those notes; and how
    surprising they are, which is what masking their other forms should raise.

    YIELDS (tuple): name of a row, and the figure; none for a language whose names have one form.
    """
    if lang not in INFLECTED:
        return
    lemmatizer = choose_lemmatizer(None, lang)
    nlp = make_blank(lang)
    again = np.concatenate([recurring(nlp.make_doc(note.text), note, lemmatizer) for note in notes])
    for variant in variants:
        table = variant.test
        if variant.score == "surprisal":
            yield f"names in more than one form, {variant.name}, mean nats", float(table.value[again].mean())
        within = np.isin(table.document, np.unique(table.document[again]))
        table = table.select(within & (again | ~table.gold))
        area = average_precision(table.gold, table.value)
        if area is not None:
            yield f"names in more than one form, {variant.name}, PR-AUC", area


def rescore(score: Any, doc: Doc, record: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the score of a record by another one computed from the same columns."""
    columns = {name: np.array(values, dtype=np.float64) for name, values in record["features"].items()}
    words = find_scorable(doc)
    values = score.compute(doc, words, columns) if words else np.zeros(0)
    return {**record, "features": {}, "values": np.where(columns["aligned"] > 0, values, score.highest).tolist()}


def recurring(doc: Doc, note: AnnotatedText, lemmatizer: Callable[[Doc], list[str]]) -> np.ndarray[Any, Any]:
    """Mark the scored tokens that are names of persons which occur in the note in more than one form."""
    words = find_scorable(doc)
    lemmas = lemmatizer(doc) if len(doc) else []
    spans = [(e.start, e.end) for e in note.entities if e.label in PEOPLE]
    named = [any(start <= doc[i].idx < end for start, end in spans) and doc[i].is_alpha for i in words]
    forms: dict[str, set[str]] = {}
    for i, is_name in zip(words, named, strict=True):
        if is_name:
            forms.setdefault(lemmas[i].casefold(), set()).add(doc[i].lower_)
    return np.array(
        [is_name and len(forms[lemmas[i].casefold()]) > 1 for i, is_name in zip(words, named, strict=True)],
        dtype=np.bool_,
    )


if __name__ == "__main__":
    app()
