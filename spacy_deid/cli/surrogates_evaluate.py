"""``spacy-deid surrogates evaluate``: the strategies of surrogates side by side, by the gold of a corpus."""

import shlex
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors, InputError
from ..evaluation import MetricRow, read_folder, write_rows
from ..evaluation.surrogate_table import BETTER, format_surrogate_table
from ..llm import open_backend
from ..surrogates.strategies import consistent
from .console import reporting
from .options import Scheme
from .surrogates_columns import FELL, chains, embedder, learned, measure, measure_llm, release

__all__ = ["surrogates"]

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
    masked_lm: Annotated[
        str,
        typer.Option(help="Masked language model: adds 'similar', and the BERTScore if no pipeline embeds tokens."),
    ] = "",
    self_decoded: Annotated[str, typer.Option(help="Folder of a self-decoding model: adds 'self_decoded'.")] = "",
    llm: Annotated[
        str, typer.Option(help="Language model to compare with: a GGUF file, or the address of a server here.")
    ] = "",
    llm_model: Annotated[str | None, typer.Option(help="Name of the model on the server.")] = None,
    llm_allow: Annotated[
        list[str] | None,
        typer.Option(help="Host, other than this machine, that values may be sent to. Several times."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the project key.")] = 1,
    metrics: Annotated[Path | None, typer.Option(help="File of metric rows to write to.")] = None,
    data: Annotated[str, typer.Option(help="Name of the corpus in the rows.")] = "",
    split: Annotated[str, typer.Option(help="Split in the rows.")] = "",
) -> None:
    """De-identify a corpus by its gold with each strategy, and compare. Neither table nor rows quote a note."""
    with reporting():
        chosen = chains([0.1] if p is None else p) | learned(lang, masked_lm, self_decoded)
        backend = open_backend(llm, allow=llm_allow or (), model=llm_model) if llm else None
        embed = embedder(encoder or "", masked_lm)
        notes = read_folder(gold, scheme=str(scheme))
        columns = {
            name: measure(release(notes, lang, strategy, seed), label or (), embed, strategy)
            for name, strategy in chosen.items()
        }
        if backend:
            columns["LLM"] = measure_llm(release(notes, lang, consistent, seed), label or (), embed, backend)
        if not any(figures["mentions"] for figures in columns.values()):
            raise InputError(Errors.D694.format(path=gold))
        typer.echo(format_surrogate_table(columns), nl=False)
        if metrics:
            words = [
                *("spacy-deid", "surrogates", "evaluate", local(gold), "--lang", lang, "--scheme", str(scheme)),
                *(word for value in p or [] for word in ("--p", f"{value:g}")),
                *(word for name in label or [] for word in ("--label", name)),
                *(("--encoder", Path(encoder).name) if encoder else ()),
                *(("--masked-lm", local(Path(masked_lm))) if masked_lm else ()),
                *(("--self-decoded", local(Path(self_decoded))) if self_decoded else ()),
                *(("--llm", backend.name) if backend else ()),
                *("--seed", str(seed), "--data", data, "--split", split),
            ]
            write_rows(metrics, rows(columns, data or gold.stem, split, shlex.join(words)))


def local(path: Path) -> str:
    """A path without the machine's own folders."""
    return path.name if path.is_absolute() else str(path)


def rows(columns: Mapping[str, Mapping[str, float]], data: str, split: str, command: str) -> list[MetricRow]:
    """Rows of all figures but the numbers and lengths that are better neither way."""
    today = date.today().isoformat()
    return [
        MetricRow(f"{name}, {title}", round(figures[name], 5), None, way, data, split, command, today)
        for title, figures in columns.items()
        for name, way in (BETTER | {FELL: "lower"}).items()
        if name in figures
    ]
