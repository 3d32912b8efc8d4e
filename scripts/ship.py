"""Write what a pipeline's meta.json must say, and put the pipeline where the package ships it.

The meta names the licence, the data with their checksums, and the hash of the configs, so that a board can tell which
data and settings made the weights, and anyone can train them again.
"""

import hashlib
from datetime import date
from pathlib import Path
from typing import Annotated

import typer
from spacy.language import Language

import spacy_deid
from spacy_deid.loading import use_operating_point
from spacy_deid.saving import save

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


DEFAULT_POINT = "balanced"
SOURCES = {
    "MEDDOCAN": {"license": "CC BY 4.0", "url": "https://doi.org/10.5281/zenodo.4279323"},
    "E3C": {"license": "CC BY, CC BY-SA", "url": "https://github.com/hltfbk/E3C-Corpus"},
    "NUBes": {
        "license": "CC BY-SA 3.0",
        "url": "https://github.com/Vicomtech/NUBes-negation-uncertainty-biomedical-corpus",
    },
    "MTSamples": {"license": "free with credit", "url": "https://www.mtsamples.com"},
    "ACI-Bench": {
        "license": "CC BY 4.0",
        "url": "https://github.com/microsoft/clinical_visit_note_summarization_corpus",
    },
    "ASQ-PHI": {"license": "MIT", "url": "https://github.com/JamesWeatherhead/asq-phi"},
    "presidio-research": {"license": "MIT", "url": "https://github.com/microsoft/presidio-research"},
    "Turku-NER": {"license": "CC BY-SA 4.0", "url": "https://github.com/TurkuNLP/turku-ner-corpus"},
    "eduskunta-vkk": {"license": "CC BY 4.0", "url": "https://github.com/aajanki/eduskunta-vkk"},
}


@app.command()
def main(
    pipeline: Annotated[Path, typer.Argument(help="Trained and calibrated pipeline")],
    target: Annotated[Path, typer.Argument(help="Folder to put it")],
    config: Annotated[list[Path], typer.Option(help="Config that made it; may be given again")],
    data: Annotated[list[Path], typer.Option(help="Data that made it; may be given again")],
    version: Annotated[str, typer.Option(help="Version of the pipeline")],
    source: Annotated[list[str] | None, typer.Option(help=f"Corpus that made it: {', '.join(SOURCES)}")] = None,
    points: Annotated[
        Path | None, typer.Option(help="Pipeline whose calibration and operating points to take over")
    ] = None,
) -> None:
    """Ship a pipeline."""
    nlp = spacy_deid.load(pipeline)
    if points is not None:
        take_points(nlp, spacy_deid.load(points))
    nlp.meta.update(
        name="deid",
        version=version,
        spacy_version=">=3.8.7,<3.9.0",
        license="MIT",
        description=f"De-identification of clinical text: {', '.join(nlp.pipe_names)}",
        sources=[{"name": name, **SOURCES[name]} for name in source or []],
        performance={},
        deid={
            "trained": date.today().isoformat(),
            "spacy_deid": spacy_deid.__version__,
            "configs": {path.name: sha256(path) for path in config},
            "data": {"/".join(path.parts[-2:]): sha256(path) for path in data},
        },
    )
    ner = nlp.get_pipe("deid_ner")
    ner.cfg["version"] = f"{version}+{sha256(pipeline / 'deid_ner' / 'model')[:12]}"
    save(nlp, target)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    typer.echo(f"{target}: {size / 1e6:.1f} MB, deid_ner {ner.cfg['version']}")


def take_points(nlp: Language, measured: Language) -> None:
    """Take over what was fitted on a development set, for a pipeline that was trained on that set too.

    Its own scores on the set would be too good. The two differ in nothing but these notes. A bound on the risk is left
    behind: it holds for the model that it was found with, on notes that were used for nothing else.
    """
    ner, other = nlp.get_pipe("deid_ner"), measured.get_pipe("deid_ner")
    points = {name: point for name, point in other.cfg["points"].items() if "risk" not in (name, *point["figures"])}
    ner.cfg.update({name: other.cfg[name] for name in ("tokens", "spans")} | {"points": points})
    use_operating_point(nlp, DEFAULT_POINT)


def sha256(path: Path) -> str:
    """Hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    app()
