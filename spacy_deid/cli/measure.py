"""``spacy-deid evaluate``, ``fairness`` and ``report``: measure predictions and pipelines."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.about import __version__ as spacy_version
from spacy.language import Language

from .. import __version__
from ..deidentifier import Deidentifier
from ..errors import DeidError, Errors, InputError
from ..evaluation import FORMATS, AnnotatedText, detect_format, format_table, read_folder
from ..evaluation import evaluate as compare
from ..evaluation.cas import is_cas_json
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
from ..evaluation.per_document import format_csv, format_documents, measure_documents
from ..evaluation.report import make_report, render
from ..evaluation.rows import write_rows
from ..evaluation.text_alignment import move_documents
from ..io import write_whole
from ..labels import LABELS
from ..lang.inflection import inflect
from ..loading import find_component, load
from ..saving import fingerprint
from .console import reporting, say
from .options import CasLayer, OperatingPoint, Scheme

__all__ = ["check_output", "evaluate", "fairness", "read_gold", "report"]


def evaluate(
    gold: Annotated[Path, typer.Argument(help="Folder of gold annotations in any format of 'convert'.")],
    pred: Annotated[Path, typer.Argument(help="Folder of predictions of the same notes.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of both folders, and of the comparison.")],
    output: Annotated[Path | None, typer.Option(help="JSON file to write the figures to.")] = None,
    documents: Annotated[
        Path | None,
        typer.Option(help="CSV file for figures of each document, worst first. It names the documents."),
    ] = None,
    align: Annotated[
        bool,
        typer.Option(
            "--align", help="Align gold with the text of the predictions, if PDF files were read in two ways."
        ),
    ] = False,
    layer: CasLayer = None,
    bootstrap: Annotated[int, typer.Option(min=0, help="Replicates for the 95 % intervals.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
) -> None:
    """Compare predictions with gold: print a table and write the figures as JSON. Neither quotes a note."""
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
            result["per_document"] = measured
        if output:
            write_whole(output, (json.dumps(result, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
        if refused:
            raise typer.Exit(1)


def _align(
    golds: list[AnnotatedText], preds: list[AnnotatedText], refused: dict[str, InputError]
) -> tuple[list[AnnotatedText], list[AnnotatedText]]:
    """Align gold with the texts of the predictions. Print what could not be aligned and is left out of the figures.

    RETURNS (tuple): gold and predictions of the documents that could be aligned.
    RAISES: InputError (D756) if there is none.
    """
    moved, lost = move_documents(golds, preds, refused=refused)
    if refused and not moved:
        raise next(iter(refused.values()))
    for error in refused.values():
        say(f"left out: {error}")
    for name, count in lost.items():
        say(f"{name}: {count} identifier(s) of the gold are not in the text of the predictions and are left out")
    return moved, [pred for pred in preds if pred.name not in refused]


def read_gold(path: Path, scheme: str) -> list[AnnotatedText]:
    """Read a gold corpus. A .spacy file of ``convert`` has canonical labels, whatever the scheme.

    path (Path): a folder or a file.
    scheme (str): label scheme of all other formats.
    RETURNS (list[AnnotatedText]): the documents.
    RAISES: InputError as `read_folder`, or if there are no documents (D348).
    """
    format = detect_format(path)
    gold = read_folder(path, format, scheme="canonical" if format == "spacy" else scheme)
    if not gold:
        raise InputError(Errors.D348.format(path=path))
    return gold


def check_output(output: Path, *inputs: Path) -> None:
    """Check that no annotation is overwritten. RAISES: InputError (D408)."""
    known = {suffix for suffixes in FORMATS.values() for suffix in suffixes} - {".json"}
    folders = {path.resolve() for path in inputs}
    real = output.resolve()
    taken = real.suffix in known or (real.suffix == ".json" and real.is_file() and is_cas_json(real))
    if real in folders or (taken and real.parent in folders):
        raise InputError(Errors.D408.format(path=output))


_BATCH = 512


def fairness(
    pipeline: Annotated[str, typer.Argument(help="Shipped pipeline, folder, or installed package.")],
    lang: Annotated[str, typer.Option(help="Language of the notes.")],
    n: Annotated[int, typer.Option(min=1, help="Number of draws per group of names and sex.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 1,
    unlisted: Annotated[
        bool, typer.Option("--unlisted", help="Draw names that are on no list, blended from the names of a group.")
    ] = False,
    bootstrap: Annotated[int, typer.Option(min=1, help="Replicates for the 95 % intervals.")] = 1000,
    output: Annotated[Path | None, typer.Option(help="JSON file for all figures.")] = None,
    metrics: Annotated[Path | None, typer.Option(help="JSON file of metric rows to add the figures to.")] = None,
) -> None:
    """Put names of origin groups, sexes and decades of birth into the same notes, and compare the recall."""
    with reporting():
        deid = Deidentifier(pipeline)
        contexts = load_contexts(lang)
        pools = load_pools(lang, contexts.two_surnames)
        swaps = draw_swaps(contexts.contexts, pools, n, seed, _make_inflector(lang), unlisted)
        result = measure(_count_names(deid, swaps), len(contexts.contexts), bootstrap=bootstrap, seed=seed)
        typer.echo(format_fairness(result), nl=False)
        if output:
            settings = {"lang": lang, "n": n, "seed": seed, "unlisted": unlisted, "bootstrap": bootstrap}
            write_whole(output, (json.dumps(settings | result, indent=2) + "\n").encode("utf-8"))
        if metrics:
            more = " --unlisted" if unlisted else ""
            command = f"spacy-deid fairness {pipeline} --lang {lang} --n {n} --seed {seed}{more} --metrics {metrics}"
            names, today = "unlisted" if unlisted else "listed", date.today().isoformat()
            rows = make_rows(result, lang=lang, names=names, n=n, seed=seed, command=command, date=today)
            write_rows(metrics, rows)


def _make_inflector(lang: str) -> Inflect:
    """Make the function that inflects a name of a language."""

    def put(text: str, case: str, kind: str) -> str:
        return inflect(text, lang, case, kind=kind)

    return put


def _count_names(deid: Deidentifier, swaps: Iterator[Swap]) -> Iterator[tuple[Swap, tuple[int, int]]]:
    """Count the detected names of each note. Entities of other kinds, such as diseases, are not counted.

    RAISES: DeidError if a note fails, because leaving it out would make the recall look better.
    """
    pairs = ((swap.note.text, swap) for swap in swaps)
    for result, swap in deid.detect(pairs, as_tuples=True, batch_size=_BATCH):
        if result.reason:
            raise DeidError(result.reason)
        yield swap, count_found(swap, [Entity(*entity) for entity in result.entities if entity[2] in LABELS])


def report(
    pipeline: Annotated[str, typer.Argument(help="Shipped pipeline, folder, or installed package.")],
    gold: Annotated[Path, typer.Argument(help="Gold corpus: a folder or file in any format of 'convert'.")],
    output: Annotated[Path, typer.Option(help="HTML page to write.")],
    json_file: Annotated[Path | None, typer.Option("--json", help="JSON file for all figures.")] = None,
    scheme: Annotated[Scheme, typer.Option(help="Labels of the corpus, and of the comparison.")] = Scheme.canonical,
    operating_point: OperatingPoint = None,
    data: Annotated[
        str | None, typer.Option(help="Name of the data on the page. Default: name of the folder.")
    ] = None,
    bootstrap: Annotated[int, typer.Option(min=0, help="Replicates for the 95 % intervals.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    with_text: Annotated[
        bool,
        typer.Option("--with-text", help="Quote missed identifiers. The page is then as confidential as the notes."),
    ] = False,
) -> None:
    """Measure a pipeline on a gold corpus and write an HTML page: scores with intervals, misses by category and risk,
    scores by label, the contribution of each component, and operating points.

    The page needs no network. It neither quotes nor names a note unless --with-text is given; the JSON never does.
    """
    with reporting():
        for path in (output, json_file):
            if path:
                check_output(path, gold)
        documents = read_gold(gold, str(scheme))
        nlp = load(pipeline, operating_point=operating_point)
        about = _describe(nlp, data or gold.name)
        result, examples = make_report(
            nlp, documents, scheme=str(scheme), bootstrap=bootstrap, seed=seed, with_text=with_text
        )
        points = _operating_points(nlp)
        page = render(result, about, points=points, examples=examples)
        write_whole(output, page.encode("utf-8"))
        if json_file:
            whole = {**about, "points": points, **result}
            write_whole(json_file, (json.dumps(whole, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
        every, high = (result["misses"]["levels"][level] for level in ("all", "high"))
        typer.echo(
            f"{len(documents)} notes: {every['missed_entities']} of {every['entities']} identifiers missed, "
            f"{high['missed_entities']} of high risk; written to {output}"
        )


def _describe(nlp: Language, data: str) -> dict[str, Any]:
    """Describe what was measured: pipeline, versions, data, operating point and date."""
    meta: dict[str, Any] = nlp.meta
    pipeline = {
        "name": f"{nlp.lang}_{meta['name']}",
        "version": meta["version"],
        "fingerprint": fingerprint(nlp),
        "components": nlp.pipe_names,
        "trained": (meta.get("deid") or {}).get("trained", ""),
        "sources": [{key: item.get(key, "") for key in ("name", "license")} for item in meta.get("sources") or []],
    }
    versions = {"spacy_deid": __version__, "spacy": spacy_version}
    today = date.today().isoformat()
    return {
        "pipeline": pipeline,
        "versions": versions,
        "data": data,
        "operating_point": dict(ner.get_point().receipt()) if (ner := _find_classifier(nlp)) else {},
        "date": today,
    }


def _operating_points(nlp: Language) -> dict[str, Any]:
    """The named operating points of a pipeline with their thresholds and figures; none without a classifier."""
    ner = _find_classifier(nlp)
    points = {} if ner is None else ner.cfg.get("points", {})
    return {
        name: {**ner.get_point(name).receipt()["thresholds"], "figures": points[name]["figures"]} for name in points
    }


def _find_classifier(nlp: Language) -> Any:
    """The token classifier of a pipeline, None if it has none."""
    has_one = any(nlp.get_pipe_meta(name).factory == "deid_ner" for name in nlp.pipe_names)
    return find_component(nlp, "deid_ner") if has_one else None
