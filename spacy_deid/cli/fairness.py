"""``spacy-deid fairness``: is a name found as often whoever bears it?"""

import json
from collections.abc import Iterator
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from spacy.language import Language
from spacy.tokens import Doc

from ..errors import DeidError
from ..evaluation.documents import Entity
from ..evaluation.fairness import (
    Inflect,
    Swap,
    count_found,
    draw_swaps,
    format_fairness,
    load_contexts,
    load_pools,
    make_rows,
    measure,
)
from ..evaluation.rows import write_rows
from ..io import write_whole
from ..labels import LABELS
from ..lang.inflection import inflect
from ..processes import Failure
from .batches import load_pipeline, process
from .console import reporting

__all__ = ["fairness"]

_BATCH = 512


def fairness(
    pipeline: Annotated[str, typer.Argument(help="A pipeline that ships, a folder, or an installed package.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    n: Annotated[int, typer.Option(min=1, help="Draws for each group of names and sex.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 1,
    unlisted: Annotated[
        bool, typer.Option("--unlisted", help="Names that no list has, blended from those of a group.")
    ] = False,
    bootstrap: Annotated[int, typer.Option(min=1, help="Replicates for the 95 % intervals.")] = 1000,
    json_file: Annotated[Path | None, typer.Option("--json", help="JSON file for all figures.")] = None,
    metrics: Annotated[Path | None, typer.Option(help="File of metric rows to write to.")] = None,
) -> None:
    """Put names of origin groups, sexes and decades of birth into the same notes, and compare the recall."""
    with reporting():
        nlp = load_pipeline(pipeline)
        contexts = load_contexts(lang)
        pools = load_pools(lang, contexts.two_surnames)
        swaps = draw_swaps(contexts.contexts, pools, n, seed, _inflector(lang), unlisted)
        result = measure(_run(nlp, swaps), len(contexts.contexts), bootstrap=bootstrap, seed=seed)
        typer.echo(format_fairness(result), nl=False)
        if json_file:
            settings = {"lang": lang, "n": n, "seed": seed, "unlisted": unlisted, "bootstrap": bootstrap}
            write_whole(json_file, (json.dumps(settings | result, indent=2) + "\n").encode("utf-8"))
        if metrics:
            more = " --unlisted" if unlisted else ""
            command = f"spacy-deid fairness {pipeline} --lang {lang} --n {n} --seed {seed}{more} --metrics {metrics}"
            names, today = "unlisted" if unlisted else "listed", date.today().isoformat()
            rows = make_rows(result, lang=lang, names=names, n=n, seed=seed, command=command, date=today)
            write_rows(metrics, rows)


def _inflector(lang: str) -> Inflect:
    """What puts a name of the language in a case."""

    def put(text: str, case: str, kind: str) -> str:
        return inflect(text, lang, case, kind=kind)

    return put


def _run(nlp: Language, swaps: Iterator[Swap]) -> Iterator[tuple[Swap, tuple[int, int]]]:
    """Run the notes in batches and count the names found. A note that fails is an error: a skip would flatter."""
    while batch := list(islice(swaps, _BATCH)):
        texts = [swap.note.text for swap in batch]
        found = process(nlp, texts, _take, batch_size=_BATCH, n_process=1)
        for swap, note in zip(batch, found, strict=True):
            if isinstance(note, Failure):
                raise DeidError(note.reason)
            yield swap, count_found(swap, note)


def _take(doc: Doc) -> list[Entity]:
    """The identifiers of a Doc; entities of other kinds, as diseases, cover no name."""
    return [Entity(e.start_char, e.end_char, e.label_) for e in doc.ents if e.label_ in LABELS]
