"""``spacy-deid report``: a pipeline measured for a privacy board, as one page and as JSON."""

import json
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from spacy.about import __version__ as spacy_version
from spacy.language import Language

from .. import __version__
from ..evaluation.report import make_report, render
from ..io import write_whole
from ..saving import fingerprint
from .batches import load_pipeline, point_in_force, saved_points
from .calibrate import read_gold
from .console import reporting
from .evaluate import check_output
from .options import OperatingPoint, Scheme

__all__ = ["report"]


def report(
    pipeline: Annotated[str, typer.Argument(help="A pipeline that ships, a folder, or an installed package.")],
    gold: Annotated[Path, typer.Argument(help="Gold corpus: a folder or a file of any format that `convert` reads.")],
    output: Annotated[Path, typer.Option(help="HTML page to write.")],
    json_file: Annotated[Path | None, typer.Option("--json", help="JSON file for all figures.")] = None,
    scheme: Annotated[Scheme, typer.Option(help="Labels of the corpus, and of the comparison.")] = Scheme.canonical,
    operating_point: OperatingPoint = None,
    data: Annotated[
        str | None, typer.Option(help="What the page calls the data; else the name of the folder.")
    ] = None,
    bootstrap: Annotated[int, typer.Option(min=0, help="Replicates for the 95 % intervals.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    with_text: Annotated[
        bool, typer.Option("--with-text", help="Quote what was missed. The page then is as confidential as the notes.")
    ] = False,
) -> None:
    """Measure a pipeline on a gold corpus and write one page that needs no network: scores with intervals, what was
    missed by category and risk, every label, what each component is worth, operating points.

    Neither file quotes a note or names one, unless --with-text asks the page to. The JSON never does.
    """
    with reporting():
        for path in (output, json_file):
            if path:
                check_output(path, gold)
        documents = read_gold(gold, str(scheme))
        nlp = load_pipeline(pipeline, operating_point)
        about = _describe(nlp, data or gold.name)
        result, examples = make_report(
            nlp, documents, scheme=str(scheme), bootstrap=bootstrap, seed=seed, with_text=with_text
        )
        points = saved_points(nlp)
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
    """What was measured: pipeline, versions, data, operating point, day."""
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
        "operating_point": point_in_force(nlp),
        "date": today,
    }
