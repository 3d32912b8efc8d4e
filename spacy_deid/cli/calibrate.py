"""``spacy-deid calibrate``: the operating point of a trained pipeline, set on development data."""

from pathlib import Path
from typing import Annotated

import typer
from spacy.tokens import DocBin
from spacy.training import Example

from ..errors import ConfigError, Errors, InputError
from ..saving import save
from .batches import find_component, load_pipeline
from .console import reporting

__all__ = ["calibrate"]


def calibrate(
    pipeline: Annotated[Path, typer.Argument(help="Folder of a trained pipeline.")],
    dev: Annotated[Path, typer.Argument(metavar="DEV.spacy", help="Development data, as `convert` writes it.")],
    output: Annotated[Path, typer.Option(help="Folder to save the calibrated pipeline to.")],
) -> None:
    """Calibrate the scores and the operating point of deid_ner, and save the pipeline without a word of the data."""
    with reporting():
        if output.resolve() == pipeline.resolve():
            raise ConfigError(Errors.D419.format(path=output))
        nlp = load_pipeline(str(pipeline))
        ner = find_component(nlp, "deid_ner", str(pipeline))
        try:
            gold = list(DocBin().from_disk(dev).get_docs(nlp.vocab))
        except Exception:  # msgpack and zlib raise whatever they meet, some with the bytes in the message
            raise InputError(Errors.D402.format(path=dev, reason="cannot be read as a DocBin")) from None
        if not gold:
            raise InputError(Errors.D402.format(path=dev, reason="holds no documents"))
        report = ner.calibrate([Example(nlp.make_doc(doc.text), doc) for doc in gold])
        save(nlp, output)
        for kind in ("tokens", "spans"):
            before, after = report[f"{kind} ece_before"], report[f"{kind} ece_after"]
            typer.echo(f"{kind}: expected calibration error {before:.4f} before, {after:.4f} after")
        typer.echo(f"calibrated on {len(gold)} documents, saved to {output}")
