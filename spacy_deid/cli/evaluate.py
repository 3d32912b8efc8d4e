"""``spacy-deid evaluate``: predictions against gold."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Errors, InputError
from ..evaluation import FORMATS, AnnotatedText, format_table, read_folder
from ..evaluation import evaluate as compare
from ..evaluation.cas import is_cas_json
from ..evaluation.per_document import format_csv, format_documents, measure_documents
from ..evaluation.text_alignment import move_documents
from ..io import write_whole
from .console import reporting, say
from .options import CasLayer, Scheme

__all__ = ["check_output", "evaluate"]


def evaluate(
    gold: Annotated[Path, typer.Argument(help="Folder of gold annotations, of any format that `convert` reads.")],
    pred: Annotated[Path, typer.Argument(help="Folder of predictions of the same notes.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of both folders, and of the comparison.")],
    output: Annotated[Path | None, typer.Option(help="JSON file to write the figures to.")] = None,
    documents: Annotated[
        Path | None,
        typer.Option(help="CSV file for figures of each document, the worst first. It names the documents."),
    ] = None,
    align: Annotated[
        bool,
        typer.Option("--align", help="Carry gold to the text of the predictions, where a PDF was read in two ways."),
    ] = False,
    layer: CasLayer = None,
    bootstrap: Annotated[int, typer.Option(min=0, help="Replicates for the 95 % intervals.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
) -> None:
    """Compare predictions with gold: print a table, write the figures as JSON. Neither quotes a note."""
    with reporting():
        for file in (output, documents):
            if file:
                check_output(file, gold, pred)
        golds, preds = (read_folder(folder, scheme=str(scheme), layer=layer) for folder in (gold, pred))
        refused: dict[str, InputError] = {}
        if align:
            golds, preds = _align(golds, preds, refused)
        result = compare(golds, preds, scheme=str(scheme), bootstrap=bootstrap, seed=seed)
        typer.echo(format_table(result), nl=False)
        if documents:
            measured = measure_documents(golds, preds, scheme=str(scheme))
            write_whole(documents, format_csv(measured.pop("rows")).encode("utf-8"))
            typer.echo("\n" + format_documents(measured), nl=False)
            result["letters"] = measured
        if output:
            write_whole(output, (json.dumps(result, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
        if refused:
            raise typer.Exit(1)


def _align(
    golds: list[AnnotatedText], preds: list[AnnotatedText], refused: dict[str, InputError]
) -> tuple[list[AnnotatedText], list[AnnotatedText]]:
    """Carry gold to the texts of the predictions, and say what has no place there: it is in no figure.

    RETURNS (tuple): gold and predictions of the documents whose texts agree.
    RAISES: InputError (D756) if there is none.
    """
    moved, lost = move_documents(golds, preds, refused=refused)
    if refused and not moved:
        raise next(iter(refused.values()))
    for error in refused.values():
        say(f"in no figure: {error}")
    for name, count in lost.items():
        say(f"{name}: {count} identifier(s) of the gold are not in the text of the predictions, and in no figure")
    return moved, [pred for pred in preds if pred.name not in refused]


def check_output(output: Path, *inputs: Path) -> None:
    """Make sure that no annotation is overwritten. RAISES: InputError (D408)."""
    known = {suffix for suffixes in FORMATS.values() for suffix in suffixes} - {".json"}
    folders = {path.resolve() for path in inputs}
    real = output.resolve()
    taken = real.suffix in known or (real.suffix == ".json" and real.is_file() and is_cas_json(real))
    if real in folders or (taken and real.parent in folders):
        raise InputError(Errors.D408.format(path=output))
