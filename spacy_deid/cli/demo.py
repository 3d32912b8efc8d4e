"""``spacy-deid demo``: the sample notes that ship, before and after."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError, DeidError, Errors
from ..offsets import Edit
from .batches import Failure, load_pipeline, process
from .console import reporting

__all__ = ["demo", "sample_notes"]


def demo(pipeline: Annotated[str, typer.Option(help="A pipeline that ships, a folder, or a package.")] = "es") -> None:
    """De-identify the sample notes that come with the package. The persons in them are invented."""
    with reporting():
        nlp = load_pipeline(pipeline)
        notes = sample_notes(str(nlp.lang))
        results = process(nlp, list(notes.values()), lambda doc: doc._.deid_edits, batch_size=64, n_process=1)
        for (name, text), edits in zip(notes.items(), results, strict=True):
            if isinstance(edits, Failure):
                raise DeidError(Errors.D402.format(path=name, reason=edits.reason))
            show(f"{name}: before", text, edits, released=False)
            show(f"{name}: after", text, edits, released=True)


def sample_notes(lang: str) -> dict[str, str]:
    """Read the sample notes of a language.

    lang (str): its code.
    RETURNS (dict[str, str]): text by name, in the order of the names.
    RAISES: ConfigError (D417) if there are none.
    """
    folder = Path(str(files("spacy_deid"))) / "resources" / "samples"
    notes = {path.stem: path.read_bytes().decode("utf-8") for path in sorted((folder / lang).glob("*.txt"))}
    if not notes:
        known = ", ".join(sorted({path.parent.name for path in folder.glob("*/*.txt")})) or "none"
        raise ConfigError(Errors.D417.format(lang=lang, known=known))
    return notes


def show(title: str, text: str, edits: list[Edit], *, released: bool) -> None:
    """Print one side of a note, what differs in colour where there is any.

    title (str): heading.
    text (str): the original.
    edits (list[Edit]): its edits.
    released (bool): whether to print the released side.
    """
    parts, last = [], 0
    for edit in edits:
        changed = edit.replacement if released else text[edit.start : edit.end]
        colour = typer.colors.GREEN if released else typer.colors.RED
        parts += [text[last : edit.start], typer.style(changed, fg=colour, bold=True)]
        last = edit.end
    typer.secho(f"── {title} " + "─" * max(0, 72 - len(title)), bold=True)
    typer.echo("".join([*parts, text[last:]]).rstrip() + "\n")
