"""Write what a pipeline's meta.json must say, and put the pipeline where the package ships it.

The meta names the licence, the data with their checksums, and the hash of the configs, so that a board can tell which
data and settings made the weights, and anyone can train them again.
"""

import hashlib
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

import spacy_deid
from spacy_deid.saving import save

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    pipeline: Annotated[Path, typer.Argument(help="Trained and calibrated pipeline")],
    target: Annotated[Path, typer.Argument(help="Folder to put it")],
    config: Annotated[list[Path], typer.Option(help="Config that made it; may be given again")],
    data: Annotated[list[Path], typer.Option(help="Data that made it; may be given again")],
    version: Annotated[str, typer.Option(help="Version of the pipeline")],
) -> None:
    """Ship a pipeline."""
    nlp = spacy_deid.load(pipeline)
    nlp.meta.update(
        name="deid",
        version=version,
        spacy_version=">=3.8.7,<3.9.0",
        license="MIT",
        description=f"De-identification of clinical text: {', '.join(nlp.pipe_names)}",
        sources=[{"name": "MEDDOCAN", "license": "CC BY 4.0", "url": "https://doi.org/10.5281/zenodo.4279323"}],
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


def sha256(path: Path) -> str:
    """Hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    app()
