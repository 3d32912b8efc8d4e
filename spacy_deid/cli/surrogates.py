"""``spacy-deid surrogates evaluate``: compare the strategies of surrogates on an annotated corpus."""

import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from spacy.language import Language

from ..errors import ConfigError, Errors, InputError
from ..evaluation import AnnotatedText, MetricRow, read_folder, write_rows
from ..evaluation.surrogate_table import BETTER, Embed, Floats, Pair, format_surrogate_table, surrogate_figures
from ..llm.backends import Backend, open_backend
from ..llm.prompts import replace_values
from ..loading import load
from ..masked_lm.in_place import WordsInPlace
from ..masked_lm.model import load_masked_lm
from ..registries import registry
from ..release import ReleasedNote, release_note
from ..surrogates.keys import ProjectKey
from ..surrogates.self_decoded import SelfDecoded
from ..surrogates.similar import Similar
from ..surrogates.strategies import FALLBACK, Strategy, check_probability, consistent, markov, randomized
from ..surrogates.style import SurrogateStyle
from .console import reporting
from .options import Scheme

__all__ = ["surrogates"]

LEFT = "left as they are"
"""Share of mentions that are kept on purpose, such as "three days ago". The other figures leave them out."""

FELL = "left to consistent"
"""Share of the names and towns for which a strategy fell back to `consistent`."""

Made = list[tuple[str, str, str | None]]  # label, original, and surrogate or None if none can be made


def list_strategies(probabilities: Sequence[float]) -> dict[str, Strategy]:
    """Make the strategies that draw from lists.

    probabilities (Sequence[float]): probabilities of a change, one column of `markov` for each.
    RETURNS (dict[str, Strategy]): title of the column → strategy.
    RAISES: ConfigError (D690) for a probability out of range.
    """
    changing = {f"markov({p:g})": partial(markov, p=check_probability(p)) for p in probabilities}
    return {"consistent": consistent, "random": randomized, **changing}


def model_strategies(lang: str, masked_lm: str, self_decoded: str) -> dict[str, Strategy]:
    """Make the strategies that use a model, for the models that are given.

    lang (str): language of the notes.
    masked_lm (str): masked language model for `similar`, or "".
    self_decoded (str): folder of a self-decoding model, or "".
    RETURNS (dict[str, Strategy]): title of the column → strategy.
    RAISES: ConfigError if a model cannot be loaded.
    """
    found: dict[str, Strategy] = {}
    if masked_lm:
        found["similar"] = _registered("similar", lang=lang, model=masked_lm)
    if self_decoded:
        found["self_decoded"] = _registered("self_decoded", lang=lang, model=self_decoded)
    return found


def _registered(name: str, **settings: Any) -> Strategy:
    """Make a registered strategy."""
    made: Strategy = registry.deid_strategies.get(f"spacy_deid.{name}_strategy.v1")(**settings)
    return made


def release(notes: Sequence[AnnotatedText], lang: str, strategy: Strategy, seed: int) -> Iterator[ReleasedNote]:
    """Replace the annotated identifiers of notes by surrogates, each note as that of another patient.

    notes (Sequence[AnnotatedText]): the notes.
    lang (str): language of the notes.
    strategy (Strategy): makes the surrogates.
    seed (int): seed of the project key.
    RETURNS (Iterator[ReleasedNote]): the notes with surrogates.
    """
    key = ProjectKey(hashlib.sha256(f"surrogates evaluate {seed}".encode()).digest())
    style = SurrogateStyle(strategy)
    return (release_note(note, key.patient(note.name), lang, style) for note in notes)


def measure(
    released: Iterator[ReleasedNote], labels: Sequence[str], embed: Embed | None, strategy: Strategy
) -> dict[str, float]:
    """Compute the figures of a strategy from the notes that it released."""
    made, left = _made(released, labels)
    figures = surrogate_figures([Pair(old, new) for _, old, new in made], embed) | {LEFT: left}
    if isinstance(strategy, Similar | SelfDecoded) and strategy.asked:
        figures[FELL] = strategy.left / strategy.asked
    return figures


def measure_llm(
    released: Iterator[ReleasedNote], labels: Sequence[str], embed: Embed | None, backend: Backend
) -> dict[str, float]:
    """Compute the figures of a language model that replaces the same mentions, one value at a time."""
    made, left = _made(released, labels)
    said = replace_values(backend, ((label, old) for label, old, _ in made))
    return surrogate_figures([Pair(old, said[label, old]) for label, old, _ in made], embed) | {LEFT: left}


def _made(released: Iterator[ReleasedNote], labels: Sequence[str]) -> tuple[Made, float]:
    """Collect the replacements, and the share of mentions that are kept."""
    pairs = [
        (mention.label, mention.text, replacement)
        for note in released
        for mention, replacement in zip(note.mentions, note.replacements, strict=True)
        if not labels or mention.label in labels
    ]
    made = [
        (label, old, None if new.action == FALLBACK else new.text) for label, old, new in pairs if new.action != "keep"
    ]
    return made, 1 - len(made) / max(1, len(pairs))


def make_embedder(pipeline: str, masked_lm: str) -> Embed | None:
    """Make the function that embeds tokens, with a spaCy pipeline or else with a masked language model.

    pipeline, masked_lm (str): name of each, or "".
    RETURNS (Optional[Embed]): the function; None if neither is given.
    RAISES: ConfigError as `load`, or (D695) if the pipeline has no vectors.
    """
    if not pipeline:
        return WordsInPlace(partial(load_masked_lm, masked_lm)).embed if masked_lm else None
    nlp = load(pipeline)
    if not len(embed_tokens("a", nlp)):
        raise ConfigError(Errors.D695.format(name=pipeline))
    return partial(embed_tokens, nlp=nlp)


def embed_tokens(text: str, nlp: Language) -> Floats:
    """Embed the tokens of a text by the tensor of a tok2vec, or else by their vectors.

    text (str): the text.
    nlp (Language): the pipeline.
    RETURNS (Floats): one row per token; no rows if the pipeline has neither.
    """
    doc = nlp(text)
    rows: Floats = doc.tensor
    if not len(rows) and nlp.vocab.vectors_length:
        rows = np.array([token.vector for token in doc])
    return rows


surrogates = typer.Typer(name="surrogates", no_args_is_help=True, help="Evaluation of surrogates.")


@surrogates.callback()
def main() -> None:
    """Evaluation of surrogates."""


@surrogates.command()
def evaluate(
    gold: Annotated[Path, typer.Argument(help="Annotated notes: a folder of brat or i2b2 XML, or a .spacy file.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of the notes.")] = Scheme.canonical,
    p: Annotated[
        list[float] | None, typer.Option(help="Probability of a change for 'markov'. Can be given several times.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Only mentions of this label. Can be given several times.")
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(help="spaCy pipeline that embeds tokens (a tok2vec or vectors), for the BERTScore.")
    ] = None,
    masked_lm: Annotated[
        str,
        typer.Option(help="Masked language model: adds 'similar', and the BERTScore if no pipeline embeds tokens."),
    ] = "",
    self_decoded: Annotated[str, typer.Option(help="Folder of a self-decoding model: adds 'self_decoded'.")] = "",
    llm: Annotated[
        str, typer.Option(help="Language model to compare with: a GGUF file, or the address of a local server.")
    ] = "",
    llm_model: Annotated[str | None, typer.Option(help="Name of the model on the server.")] = None,
    llm_allow: Annotated[
        list[str] | None,
        typer.Option(help="Host other than this machine that values may be sent to. Can be given several times."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the project key.")] = 1,
    metrics: Annotated[Path | None, typer.Option(help="JSON file of metric rows to add the figures to.")] = None,
    data: Annotated[str, typer.Option(help="Name of the corpus in the rows.")] = "",
    split: Annotated[str, typer.Option(help="Split in the rows.")] = "",
) -> None:
    """De-identify a corpus by its gold annotations with each strategy, and compare. No note is quoted."""
    with reporting():
        chosen = list_strategies([0.1] if p is None else p) | model_strategies(lang, masked_lm, self_decoded)
        backend = open_backend(llm, allow=llm_allow or (), model=llm_model) if llm else None
        embed = make_embedder(encoder or "", masked_lm)
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
    """A path for a metric row: only the name of an absolute path."""
    return path.name if path.is_absolute() else str(path)


def rows(columns: Mapping[str, Mapping[str, float]], data: str, split: str, command: str) -> list[MetricRow]:
    """Make metric rows of the figures for which higher or lower is better."""
    today = date.today().isoformat()
    return [
        MetricRow(f"{name}, {title}", round(figures[name], 5), None, way, data, split, command, today)
        for title, figures in columns.items()
        for name, way in (BETTER | {FELL: "lower"}).items()
        if name in figures
    ]
