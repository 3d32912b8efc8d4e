"""``spacy-deid surprisal``: what a masked language model did not expect, looked at, tuned and measured."""

import shlex
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError, Errors, InputError
from ..evaluation import AnnotatedText
from ..evaluation.plots import plot_score_curve
from ..evaluation.ranking import (
    best_f1_threshold,
    choose_threshold,
    figures_at,
    read_threshold,
    score_curve,
    write_score_curve,
)
from ..evaluation.rows import write_rows
from ..evaluation.score_store import score_corpus
from ..evaluation.score_views import format_scores, format_tsv, measure, measure_rules, render_note, score_rows
from ..evaluation.scored_tokens import ScoredTokens, read_record
from ..io import check_encoding, decode, read_bytes, write_whole
from .calibrate import read_gold
from .console import progress, reporting, say
from .evaluate import check_output
from .options import Encoding, Overwrite, Scheme
from .surprisal_pipeline import ScoreOptions, make_pipeline

__all__ = ["surprisal"]

surprisal = typer.Typer(
    name="surprisal",
    no_args_is_help=True,
    help="Zero-shot detection: words that a masked language model did not expect.",
)

Lang = Annotated[str, typer.Option(help="Language of the notes: es, en, fi or another code.")]
Model = Annotated[str | None, typer.Option(help="Masked language model: a language whose model ships, or a folder.")]
ModeName = Annotated[
    str | None, typer.Option("--mode", help="How the model is asked: exact, spread, unmasked or another.")
]
Masking = Annotated[
    str | None, typer.Option(help="What is masked together with a word: no, same_word, same_lemma or another.")
]
Score = Annotated[str | None, typer.Option(help="What the model's answer is made into: surprisal or another.")]
Threshold = Annotated[float | None, typer.Option(help="What scores as high is found.")]
Tuned = Annotated[Path | None, typer.Option(help="Folder that `surprisal tune` wrote, for its threshold.")]
Corpus = Annotated[Path, typer.Argument(help="Gold corpus: a folder or file of any format that `convert` reads.")]
CorpusScheme = Annotated[Scheme, typer.Option(help="Labels of the corpus.")]
Keep = Annotated[
    Path | None,
    typer.Option(help="Folder to keep scores in, as numbers without text; what is there is not scored again."),
]


@surprisal.command()
def score(
    note: Annotated[Path, typer.Argument(help="A note: a text file.")],
    lang: Lang,
    model: Model = None,
    mode: ModeName = None,
    masking: Masking = None,
    score: Score = None,
    threshold: Threshold = None,
    tuned: Tuned = None,
    output: Annotated[Path | None, typer.Option(help="HTML page to write.")] = None,
    table: Annotated[Path | None, typer.Option(help="File for the table; else it is printed.")] = None,
    encoding: Encoding = "utf-8",
    overwrite: Overwrite = False,
) -> None:
    """Score one note: a page with every word coloured by its score, and a table. Both show the note as it is."""
    with reporting():
        for path in (output, table):
            _refuse(path, note, overwrite)
        text, _ = decode(read_bytes(note), check_encoding(encoding), str(note))
        limit = _threshold(threshold, tuned)
        nlp = make_pipeline(ScoreOptions(lang, model, mode, masking, score), limit)
        record = read_record(nlp(text), note.name)
        if output:
            write_whole(output, render_note(text, record, limit).encode("utf-8", "surrogatepass"))
            say(f"{len(record['values'])} tokens in {output}, which is as confidential as the note")
        rows = format_tsv(text, record)
        if table:
            write_whole(table, rows.encode("utf-8"))
            say(f"{len(record['values'])} tokens in {table}, which is as confidential as the note")
        else:
            typer.echo(rows, nl=False)


@surprisal.command()
def tune(
    corpus: Corpus,
    lang: Lang,
    output: Annotated[Path, typer.Option(help="Folder for curves.json and curves.png, and for the kept scores.")],
    scheme: CorpusScheme = Scheme.canonical,
    by: Annotated[str, typer.Option(help="f1, or recall=R for the highest threshold with that recall.")] = "f1",
    model: Model = None,
    mode: ModeName = None,
    masking: Masking = None,
    score: Score = None,
    region: Annotated[str, typer.Option(help="Which lines count: all, header or narrative.")] = "all",
    unit: Annotated[str, typer.Option(help="What is counted: token or word.")] = "token",
    title: Annotated[str | None, typer.Option(help="Title of the picture; else what was scored, and how.")] = None,
    keep: Keep = None,
) -> None:
    """Choose a threshold on development data, and draw what accuracy, F1, recall and precision it would cost."""
    with reporting():
        _check_choice("region", region, ("all", "header", "narrative"))
        _check_choice("unit", unit, ("token", "word"))
        check_output(output / "curves.json", corpus)
        options = ScoreOptions(lang, model, mode, masking, score)
        found, about = _score(options, read_gold(corpus, str(scheme)), keep or output)
        found = found.take(region)
        found = found.words() if unit == "word" else found
        threshold = choose_threshold(found.gold, found.value, by)
        rows = score_curve(found.gold, found.value, threshold)
        figures = figures_at(found.gold, found.value, threshold)
        heading = (
            title or f"{about['score']}: {about['model']}, {about['mode']}, {about['masking']}, by {unit}, {region}"
        )
        record = {**about, "threshold": threshold, "by": by, "unit": unit, "region": region, "figures": figures}
        path = write_score_curve(output, record, rows)
        picture = plot_score_curve(output / "curves.png", {**record, "title": heading}, rows)
        shown = ", ".join(
            f"{name} {'-' if value is None else format(value, '.4f')}" for name, value in figures.items()
        )
        typer.echo(f"threshold {threshold!r} by {by}: {shown}")
        typer.echo(f"{path} and {picture}")


@surprisal.command()
def evaluate(
    context: typer.Context,
    corpus: Corpus,
    lang: Lang,
    scheme: CorpusScheme = Scheme.canonical,
    model: Model = None,
    mode: ModeName = None,
    masking: Masking = None,
    score: Score = None,
    threshold: Threshold = None,
    tuned: Tuned = None,
    metrics: Annotated[Path | None, typer.Option(help="JSON file of metric rows to add the figures to.")] = None,
    data: Annotated[str | None, typer.Option(help="What the rows call the corpus; else its file's name.")] = None,
    split: Annotated[str, typer.Option(help="What the rows call the part of the corpus.")] = "dev",
    keep: Keep = None,
) -> None:
    """Measure a score on a gold corpus, beside two rules that need no model. No note is quoted or named.

    Without --threshold and --tuned the threshold is the best for these very notes: then accuracy, F1, recall and
    precision are more than another corpus would give.
    """
    with reporting():
        if metrics:
            check_output(metrics, corpus)
        options = ScoreOptions(lang, model, mode, masking, score)
        limit = _threshold(threshold, tuned)
        found, about = _score(options, read_gold(corpus, str(scheme)), keep)
        where = "given"
        if limit is None:
            limit, where = best_f1_threshold(found.gold, found.value), "the best for these very notes"
        name = ", ".join(about[key] for key in ("score", "model", "mode", "masking"))
        results = {name: measure(found, limit), **measure_rules(found)}
        typer.echo(format_scores(results), nl=False)
        typer.echo(f"\nthreshold {limit!r}, {where}; {about['unaligned']} tokens that the model cannot read")
        if metrics:
            about = {"data": data or corpus.stem, "split": split, "command": _command(context)}
            rows = score_rows(results, {**about, "date": date.today().isoformat()})
            write_rows(metrics, rows)
            typer.echo(f"{len(rows)} figures in {metrics}")


def _command(context: typer.Context) -> str:
    """The command that measures the same again; of paths outside the working folder the name alone."""
    words = ["spacy-deid", "surprisal", "evaluate"]
    for parameter in context.command.params:
        value = context.params[parameter.name or ""]
        if value is None or parameter.name in ("metrics", "keep"):
            continue
        if isinstance(value, Path) and value.is_absolute():
            value = value.relative_to(Path.cwd()) if value.is_relative_to(Path.cwd()) else value.name
        words += [parameter.opts[0]] if parameter.param_type_name == "option" else []
        words.append(str(value))
    return shlex.join(words)


def _score(options: ScoreOptions, gold: list[AnnotatedText], keep: Path | None) -> tuple[ScoredTokens, dict[str, Any]]:
    """Score a corpus, with a count of the notes that are done on stderr."""
    nlp = make_pipeline(options)
    with progress(len(gold)) as bar:
        return score_corpus(nlp, gold, keep, bar.update)


def _threshold(threshold: float | None, tuned: Path | None) -> float | None:
    """The threshold that was given, by itself or in a folder."""
    if threshold is not None and tuned is not None:
        raise ConfigError(Errors.D412.format(first="threshold", second="tuned"))
    return float(read_threshold(tuned)["threshold"]) if tuned else threshold


def _check_choice(option: str, value: str, known: tuple[str, ...]) -> None:
    """Make sure that an option is one of several."""
    if value not in known:
        raise ConfigError(Errors.D837.format(kind=option, name=value, known=", ".join(known)))


def _refuse(path: Path | None, note: Path, overwrite: bool) -> None:
    """Leave what is there, and the note in any case."""
    if path and path.resolve() == note.resolve():
        raise InputError(Errors.D408.format(path=path))
    if path and path.exists() and not overwrite:
        raise InputError(Errors.D409.format(count=1, path=path, other="another place"))
