"""Complete the meta.json of a pipeline, and put the pipeline into the package.

The meta data name the licence, the training data with checksums, and the hash of the configs, so that a reviewer can
trace the weights and anyone can train them again.
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
# Corpora that trained a pipeline or were counted for its lexicon; docs/reference/data.md says which parts of them.
SOURCES = {
    "es": ("MEDDOCAN", "E3C", "NUBes", "LibreOffice help", "authored corpus"),
    "en": (
        "E3C",
        "MTSamples",
        "ACI-Bench and MTS-Dialog",
        "ASQ-PHI",
        "presidio-research",
        "MTL-Bioinformatics-2016",
        "authored corpus",
    ),
    "fi": ("Turku NER", "eduskunta-vkk", "Finnish SQuAD 2.0 and Natural Questions", "authored corpus"),
}
LICENSES = {
    "authored corpus": ("MIT", "corpus/authored/ of this repository"),
    "MEDDOCAN": ("CC BY 4.0", "https://doi.org/10.5281/zenodo.4279323"),
    "E3C": ("CC BY, CC BY-SA", "https://github.com/hltfbk/E3C-Corpus"),
    "NUBes": ("CC BY-SA 3.0", "https://github.com/Vicomtech/NUBes-negation-uncertainty-biomedical-corpus"),
    "LibreOffice help": ("MPL-2.0", "https://packages.debian.org/stable/libreoffice-help-es"),
    "MTSamples": ("free with credit", "https://www.mtsamples.com"),
    "ACI-Bench and MTS-Dialog": (
        "CC BY 4.0",
        "https://github.com/microsoft/clinical_visit_note_summarization_corpus",
    ),
    "ASQ-PHI": ("MIT", "https://github.com/JamesWeatherhead/asq-phi"),
    "presidio-research": ("MIT", "https://github.com/microsoft/presidio-research"),
    "MTL-Bioinformatics-2016": ("CC BY 4.0", "https://github.com/cambridgeltl/MTL-Bioinformatics-2016"),
    "Turku NER": ("CC BY-SA 4.0", "https://github.com/TurkuNLP/turku-ner-corpus"),
    "eduskunta-vkk": ("CC BY 4.0", "https://github.com/aajanki/eduskunta-vkk"),
    "Finnish SQuAD 2.0 and Natural Questions": ("CC BY-SA", "https://github.com/TurkuNLP/squad2-fi"),
}


@app.command()
def main(
    pipeline: Annotated[Path, typer.Argument(help="Trained and calibrated pipeline.")],
    output: Annotated[Path, typer.Option(help="Folder of the shipped pipeline.")],
    config: Annotated[list[Path], typer.Option(help="Training config; repeatable.")],
    data: Annotated[list[Path], typer.Option(help="Training data, a file or folder; repeatable.")],
    version: Annotated[str, typer.Option(help="Version of the pipeline.")],
    points: Annotated[
        Path | None, typer.Option(help="Pipeline with the calibration and operating points to copy.")
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
        sources=[
            {"name": name, **dict(zip(("license", "url"), LICENSES[name], strict=True))} for name in SOURCES[nlp.lang]
        ],
        performance={},
        deid={
            "trained": date.today().isoformat(),
            "spacy_deid": spacy_deid.__version__,
            "configs": {path.name: sha256(path) for path in config},
            "data": {file.as_posix(): sha256(file) for path in data for file in files_of(path)},
        },
    )
    ner = nlp.get_pipe("deid_ner")
    ner.cfg["version"] = f"{version}+{sha256(pipeline / 'deid_ner' / 'model')[:12]}"
    save(nlp, output)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    typer.echo(f"{output}: {size / 1e6:.1f} MB, deid_ner {ner.cfg['version']}")


def take_points(nlp: Language, measured: Language) -> None:
    """Copy calibration and operating points from a pipeline measured on the development set.

    The shipped pipeline is also trained on the development set, so its own scores there would be too optimistic. The
    two pipelines differ only in these training notes. The point "risk" is not copied: its bound holds only for the
    model on which it was computed.
    """
    ner, other = nlp.get_pipe("deid_ner"), measured.get_pipe("deid_ner")
    points = {name: point for name, point in other.cfg["points"].items() if "risk" not in (name, *point["figures"])}
    ner.cfg.update({name: other.cfg[name] for name in ("tokens", "spans")} | {"points": points})
    use_operating_point(nlp, DEFAULT_POINT)


def files_of(path: Path) -> list[Path]:
    """Return a file, or the corpus files of a folder that training reads."""
    return sorted(path.glob("*.spacy")) if path.is_dir() else [path]


def sha256(path: Path) -> str:
    """Compute the hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    app()
