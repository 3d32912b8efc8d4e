"""``spacy-deid surrogates evaluate``: the strategies of surrogates side by side, by the gold of a corpus."""

import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from spacy.language import Language

from ..errors import ConfigError, Errors, InputError
from ..evaluation import AnnotatedText, MetricRow, read_folder, write_rows
from ..evaluation.surrogate_table import BETTER, Embed, Floats, Pair, format_surrogate_table, surrogate_figures
from ..release import ReleasedNote, release_note
from ..surrogates.keys import ProjectKey
from ..surrogates.strategies import FALLBACK, Strategy, check_probability, consistent, markov, randomized
from ..surrogates.style import SurrogateStyle
from .batches import load_pipeline
from .console import reporting
from .options import Scheme

__all__ = ["surrogates"]

LEFT = "left as they are"
"""The share of mentions that stay on purpose, as "three days ago" does. The other figures are of the others."""

surrogates = typer.Typer(name="surrogates", no_args_is_help=True, help="Surrogates, measured.")


@surrogates.callback()
def main() -> None:
    """Surrogates, measured."""


@surrogates.command()
def evaluate(
    gold: Annotated[Path, typer.Argument(help="Annotated notes: a folder of brat or i2b2 XML, or a .spacy file.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of the notes.")] = Scheme.canonical,
    p: Annotated[
        list[float] | None, typer.Option(help="Probability of a change, for 'markov'. May be given several times.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option(help="Only mentions of this label. Several times.")] = None,
    encoder: Annotated[
        str | None, typer.Option(help="spaCy pipeline that embeds tokens (a tok2vec or vectors), for the BERTScore.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the project key.")] = 1,
    metrics: Annotated[Path | None, typer.Option(help="File of metric rows to write to.")] = None,
    data: Annotated[str, typer.Option(help="Name of the corpus in the rows.")] = "",
    split: Annotated[str, typer.Option(help="Split in the rows.")] = "",
) -> None:
    """De-identify a corpus by its gold with each strategy, and compare. Neither table nor rows quote a note."""
    with reporting():
        chosen = strategies([0.1] if p is None else p)
        embed = embedder(encoder) if encoder else None
        notes = read_folder(gold, scheme=str(scheme))
        columns = {
            name: measure(release(notes, lang, strategy, seed), label or (), embed)
            for name, strategy in chosen.items()
        }
        if not any(figures["mentions"] for figures in columns.values()):
            raise InputError(Errors.D694.format(path=gold))
        typer.echo(format_surrogate_table(columns), nl=False)
        if metrics:
            words = [
                *("spacy-deid", "surrogates", "evaluate", local(gold), "--lang", lang, "--scheme", str(scheme)),
                *(word for value in p or [] for word in ("--p", f"{value:g}")),
                *(word for name in label or [] for word in ("--label", name)),
                *(("--encoder", Path(encoder).name) if encoder else ()),
                *("--seed", str(seed), "--data", data, "--split", split),
            ]
            write_rows(metrics, rows(columns, data or gold.stem, split, shlex.join(words)))


def local(path: Path) -> str:
    """A path without the machine's own folders."""
    return path.name if path.is_absolute() else str(path)


def strategies(probabilities: Sequence[float]) -> dict[str, Strategy]:
    """The strategies that are compared, by the titles of their columns. RAISES: ConfigError (D690)."""
    chains = {f"markov({p:g})": partial(markov, p=check_probability(p)) for p in probabilities}
    return {"consistent": consistent, "random": randomized, **chains}


def release(notes: Sequence[AnnotatedText], lang: str, strategy: Strategy, seed: int) -> Iterator[ReleasedNote]:
    """De-identify notes by a key that a seed tells, each as that of another patient."""
    key = ProjectKey(hashlib.sha256(f"surrogates evaluate {seed}".encode()).digest())
    style = SurrogateStyle(strategy)
    return (release_note(note, key.patient(note.name), lang, style) for note in notes)


def measure(released: Iterator[ReleasedNote], labels: Sequence[str], embed: Embed | None) -> dict[str, float]:
    """The figures of a strategy."""
    made = [
        (mention.text, replacement)
        for note in released
        for mention, replacement in zip(note.mentions, note.replacements, strict=True)
        if not labels or mention.label in labels
    ]
    pairs = [Pair(old, None if new.action == FALLBACK else new.text) for old, new in made if new.action != "keep"]
    return surrogate_figures(pairs, embed) | {LEFT: 1 - len(pairs) / max(1, len(made))}


def embedder(name: str) -> Embed:
    """Embeddings of a spaCy pipeline. RAISES: ConfigError as `load_pipeline`, or D695 if it has none."""
    nlp = load_pipeline(name)
    if not len(embed_tokens("a", nlp)):
        raise ConfigError(Errors.D695.format(name=name))
    return partial(embed_tokens, nlp=nlp)


def embed_tokens(text: str, nlp: Language) -> Floats:
    """A row for each token: of the tensor that a tok2vec sets, or else its vector; no rows if there is neither."""
    doc = nlp(text)
    rows: Floats = doc.tensor
    if not len(rows) and nlp.vocab.vectors_length:
        rows = np.array([token.vector for token in doc])
    return rows


def rows(columns: Mapping[str, Mapping[str, float]], data: str, split: str, command: str) -> list[MetricRow]:
    """Rows of all figures but the numbers and lengths that are better neither way."""
    today = date.today().isoformat()
    return [
        MetricRow(f"{name}, {title}", round(figures[name], 5), None, way, data, split, command, today)
        for title, figures in columns.items()
        for name, way in BETTER.items()
        if name in figures
    ]
