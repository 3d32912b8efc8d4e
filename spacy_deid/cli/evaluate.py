"""``spacy-deid evaluate``: predictions against gold."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors, InputError
from ..evaluation import FORMATS, format_table, read_folder
from ..evaluation import evaluate as compare
from ..evaluation.cas import is_cas_json
from ..io import write_whole
from .console import reporting
from .options import Scheme

__all__ = ["check_output", "evaluate"]


def evaluate(
    gold: Annotated[Path, typer.Argument(help="Folder of gold annotations, of any format that `convert` reads.")],
    pred: Annotated[Path, typer.Argument(help="Folder of predictions of the same notes.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of both folders, and of the comparison.")],
    output: Annotated[Path | None, typer.Option(help="JSON file to write the figures to.")] = None,
    bootstrap: Annotated[int, typer.Option(min=0, help="Replicates for the 95 % intervals.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
) -> None:
    """Compare predictions with gold: print a table, write the figures as JSON. Neither quotes a note."""
    with reporting():
        if output:
            check_output(output, gold, pred)
        sides = [read_folder(folder, scheme=str(scheme)) for folder in (gold, pred)]
        result = compare(*sides, scheme=str(scheme), bootstrap=bootstrap, seed=seed)
        typer.echo(format_table(result), nl=False)
        if output:
            write_whole(output, (json.dumps(result, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))


def check_output(output: Path, *inputs: Path) -> None:
    """Make sure that no annotation is overwritten. RAISES: InputError (D408)."""
    known = {suffix for suffixes in FORMATS.values() for suffix in suffixes} - {".json"}
    folders = {path.resolve() for path in inputs}
    real = output.resolve()
    taken = real.suffix in known or (real.suffix == ".json" and real.is_file() and is_cas_json(real))
    if real in folders or (taken and real.parent in folders):
        raise InputError(Errors.D408.format(path=output))
