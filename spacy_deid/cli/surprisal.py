"""``spacy-deid surprisal``: detects words that are unexpected to a masked language model.

Its commands score one note, choose the threshold on development data, and evaluate the detection on a gold corpus.
"""

import inspect
import json
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import spacy
import typer
from spacy.language import Language

from ..errors import ConfigError, Errors, InputError
from ..evaluation import AnnotatedText
from ..evaluation.plots import plot_score_curve
from ..evaluation.ranking import (
    best_f1_threshold,
    choose_threshold,
    figures_at,
    format_scores,
    format_tsv,
    measure,
    measure_rules,
    read_threshold,
    render_note,
    score_curve,
    score_rows,
    write_score_curve,
)
from ..evaluation.rows import write_rows
from ..evaluation.scored_tokens import FACTORY, ScoredTokens, read_record, score_corpus
from ..io import check_encoding, decode, read_bytes, write_whole
from ..masked_lm.scores import PLAIN_SCORES
from ..masked_lm.scoring import PLAIN_MODES
from ..registries import registry
from .console import progress, reporting, say
from .measure import check_output, read_gold
from .options import Encoding, Metrics, Overwrite, Scheme, check_new, repeat_command

KINDS = {
    "mode": ("deid_modes", [*PLAIN_MODES]),
    "masking": ("deid_masking", ["none", "same_word", "same_lemma"]),
    "score": ("deid_scores", [*PLAIN_SCORES, "combined"]),
}
"""Option → (registry, plain names that the option accepts)."""
_PREFIX, _VERSION = "spacy_deid.", ".v1"


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """Settings of the score. None keeps the default of the component.

    lang (str): language of the notes.
    model (Optional[str]): folder or name of a masked language model.
    mode, masking, score (Optional[str]): plain or registered names; see `find_part`.
    """

    lang: str
    model: str | None = None
    mode: str | None = None
    masking: str | None = None
    score: str | None = None


def make_pipeline(options: ScoreOptions, threshold: float | None = None) -> Language:
    """Make a pipeline that has only ``deid_surprisal`` and takes notes of any length.

    options (ScoreOptions): settings of the score.
    threshold (Optional[float]): words with this score or a higher one are detected; None for the default.
    RETURNS (Language): the pipeline.
    RAISES: ConfigError for an unknown name (D837), or as `pipeline.surprisal.Surprisal`.
    """
    nlp = make_blank(options.lang)
    config: dict[str, Any] = {"model": options.model, "threshold": threshold}
    for kind in KINDS:
        name = getattr(options, kind)
        config[kind] = find_part(kind, name, options.lang) if name else None
    nlp.add_pipe(FACTORY, config={key: value for key, value in config.items() if value is not None})
    return nlp


def make_blank(lang: str) -> Language:
    """Make a pipeline that only tokenizes notes of any length.

    lang (str): language of the notes.
    RETURNS (Language): the pipeline.
    """
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.max_length = sys.maxsize
    return nlp


def name_parts(kind: str) -> list[str]:
    """List the names that an option accepts.

    kind (str): "mode", "masking" or "score".
    RETURNS (list[str]): plain names, and short names of registered functions: "spread" for
        "spacy_deid.spread_mode.v1".
    """
    end = f"_{kind}{_VERSION}"
    registered = [name for name in getattr(registry, KINDS[kind][0]).get_all() if name.endswith(end)]
    return sorted({*KINDS[kind][1], *(name.removeprefix(_PREFIX).removesuffix(end) for name in registered)})


def find_part(kind: str, name: str, lang: str) -> str | dict[str, Any]:
    """Convert the value of an option to a config value.

    kind (str): "mode", "masking" or "score".
    name (str): a plain or registered name, optionally with settings: "spread:gap=4".
    lang (str): language of the notes, for settings "lang" and "source" that are not given.
    RETURNS (Union[str, dict]): the plain name, or a config block of a registered part.
    RAISES: ConfigError (D837) if there is no such name or setting.
    """
    name, _, settings = name.partition(":")
    functions = getattr(registry, KINDS[kind][0])
    if name in KINDS[kind][1] and not settings:
        return name
    whole = name if name in functions else f"{_PREFIX}{name}_{kind}{_VERSION}"
    if whole not in functions:
        raise ConfigError(Errors.D837.format(kind=kind, name=name, known=", ".join(name_parts(kind))))
    asked = inspect.signature(functions.get(whole)).parameters
    part: dict[str, Any] = {f"@{KINDS[kind][0]}": whole}
    for setting in filter(None, settings.split(",")):
        key, _, value = setting.partition("=")
        if key not in asked:
            raise ConfigError(Errors.D837.format(kind=f"setting of '{name}'", name=key, known=", ".join(asked)))
        part[key] = find_part(key, value, lang) if key in KINDS else _read(value)
    return {**{key: lang for key in ("lang", "source") if key in asked}, **part}


def _read(value: str) -> Any:
    """Read the value of a setting as JSON or else as a string."""
    try:
        return json.loads(value)
    except ValueError:
        return value


surprisal = typer.Typer(
    name="surprisal",
    no_args_is_help=True,
    help="Zero-shot detection of words that a masked language model does not expect.",
)

Lang = Annotated[str, typer.Option(help="Language of the notes: es, en, fi or another code.")]
Model = Annotated[
    str | None, typer.Option(help="Masked language model: a language with a shipped model, or a folder.")
]
ModeName = Annotated[
    str | None, typer.Option("--mode", help="How the model is queried: exact, spread, unmasked or another.")
]
Masking = Annotated[
    str | None, typer.Option(help="Which other words are masked with a word: no, same_word, same_lemma or another.")
]
Score = Annotated[str | None, typer.Option(help="How the score is computed: surprisal or another.")]
Threshold = Annotated[float | None, typer.Option(help="Words with this score or a higher one are detected.")]
Tuned = Annotated[Path | None, typer.Option(help="Folder that 'surprisal tune' wrote, for its threshold.")]
Corpus = Annotated[Path, typer.Argument(help="Gold corpus: a folder or file in any format of 'convert'.")]
CorpusScheme = Annotated[Scheme, typer.Option(help="Labels of the corpus.")]
Keep = Annotated[
    Path | None,
    typer.Option(help="Folder for scores, as numbers without text. Notes with scores are not scored again."),
]


@surprisal.command()
def score(
    note: Annotated[Path, typer.Argument(help="Text file with a note.")],
    lang: Lang,
    model: Model = None,
    mode: ModeName = None,
    masking: Masking = None,
    score: Score = None,
    threshold: Threshold = None,
    tuned: Tuned = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="HTML page to write.")] = None,
    table: Annotated[Path | None, typer.Option(help="File for the table. Default: stdout.")] = None,
    encoding: Encoding = "utf-8",
    overwrite: Overwrite = False,
) -> None:
    """Score one note: write a page with each word coloured by its score, and a table. Both show the original note."""
    with reporting():
        for path in filter(None, (output, table)):
            if path.resolve() == note.resolve():
                raise InputError(Errors.D408.format(path=path))
            check_new(path, overwrite)
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
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for curves.json, curves.png and the scores.")],
    scheme: CorpusScheme = "canonical",
    by: Annotated[str, typer.Option(help="f1, or recall=R for the highest threshold with recall R.")] = "f1",
    model: Model = None,
    mode: ModeName = None,
    masking: Masking = None,
    score: Score = None,
    region: Annotated[
        Literal["all", "header", "narrative"],
        typer.Option(help="Part of the notes to measure: lines shorter than 160 characters, the rest, or all."),
    ] = "all",
    unit: Annotated[Literal["token", "word"], typer.Option(help="Unit to count.")] = "token",
    title: Annotated[
        str | None, typer.Option(help="Title of the picture. Default: a description of the score.")
    ] = None,
    keep: Keep = None,
) -> None:
    """Choose a threshold on development data, and plot accuracy, F1, recall and precision by threshold."""
    with reporting():
        check_output(output / "curves.json", corpus)
        options = ScoreOptions(lang, model, mode, masking, score)
        found, about = _score(options, read_gold(corpus, scheme), keep or output)
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
    scheme: CorpusScheme = "canonical",
    model: Model = None,
    mode: ModeName = None,
    masking: Masking = None,
    score: Score = None,
    threshold: Threshold = None,
    tuned: Tuned = None,
    metrics: Metrics = None,
    data: Annotated[
        str | None, typer.Option(help="Name of the corpus in the rows. Default: name of its file.")
    ] = None,
    split: Annotated[str, typer.Option(help="Name of the split in the rows.")] = "dev",
    keep: Keep = None,
) -> None:
    """Measure a score on a gold corpus, next to two rules that need no model. No note is quoted or named.

    Without --threshold and --tuned, the threshold is the best for this corpus, so accuracy, F1, recall and precision
    are higher than on another corpus.
    """
    with reporting():
        if metrics:
            check_output(metrics, corpus)
        options = ScoreOptions(lang, model, mode, masking, score)
        limit = _threshold(threshold, tuned)
        found, about = _score(options, read_gold(corpus, scheme), keep)
        where = "given"
        if limit is None:
            limit, where = best_f1_threshold(found.gold, found.value), "the best for these very notes"
        name = ", ".join(about[key] for key in ("score", "model", "mode", "masking"))
        results = {name: measure(found, limit), **measure_rules(found)}
        typer.echo(format_scores(results), nl=False)
        typer.echo(f"\nthreshold {limit!r}, {where}; {about['unaligned']} tokens that the model cannot read")
        if metrics:
            about = {
                "data": data or corpus.stem,
                "split": split,
                "command": repeat_command(context, "metrics", "keep"),
            }
            rows = score_rows(results, {**about, "date": date.today().isoformat()})
            write_rows(metrics, rows)
            typer.echo(f"{len(rows)} figures in {metrics}")


def _score(options: ScoreOptions, gold: list[AnnotatedText], keep: Path | None) -> tuple[ScoredTokens, dict[str, Any]]:
    """Score a corpus with progress on stderr. RETURNS (tuple): the scores, and a description of the settings."""
    nlp = make_pipeline(options)
    with progress(len(gold)) as bar:
        return score_corpus(nlp, gold, keep, bar.update)


def _threshold(threshold: float | None, tuned: Path | None) -> float | None:
    """Return the value of --threshold, or the threshold in the folder of --tuned; None if neither is given."""
    if threshold is not None and tuned is not None:
        raise ConfigError(Errors.D412.format(first="threshold", second="tuned"))
    return float(read_threshold(tuned)["threshold"]) if tuned else threshold
