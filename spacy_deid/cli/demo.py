"""``spacy-deid demo``: sample notes that ship, before and after, with a summary."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated

import typer

from ..errors import ConfigError, DeidError, Errors
from ..lang import get_language, language_codes
from ..loading import shipped_pipelines
from ..offsets import Edit
from ..processes import Failure
from .batches import load_pipeline, process
from .console import reporting

__all__ = ["demo", "sample_notes"]

_WORD = re.compile(r"\w+")
_VALUE = re.compile(r"(?<!\w)\d+(?:[.,/]\d+)*(?!\w)")


def demo(
    lang: Annotated[
        str | None, typer.Option(help="Show all notes of this language; without it, the first note of each language.")
    ] = None,
    pipeline: Annotated[
        str | None, typer.Option(help="A pipeline that ships, a folder, or a package; its language chooses the notes.")
    ] = None,
) -> None:
    """De-identify sample notes that come with the package. The persons in them are invented."""
    with reporting():
        shown: list[tuple[str, list[Edit]]] = []
        for name in [pipeline or lang] if pipeline or lang else sorted(shipped_pipelines()):
            shown += show_notes(str(name), lang, every=bool(pipeline or lang))
        summarize(shown)


def show_notes(pipeline: str, lang: str | None, *, every: bool) -> list[tuple[str, list[Edit]]]:
    """De-identify notes of a language and print both sides.

    pipeline (str): a pipeline that ships, a folder, or a package.
    lang (Optional[str]): language of the notes; None for that of the pipeline.
    every (bool): whether to show all notes of the language, or the first one.
    RETURNS (list[tuple[str, list[Edit]]]): each note's text with its edits.
    RAISES: ConfigError (D417) if the language has no notes, DeidError (D402) if a note could not be processed.
    """
    if lang is not None:
        sample_notes(lang)  # an unknown language is named as such, not as an unknown pipeline
    nlp = load_pipeline(pipeline)
    notes = sample_notes(lang or str(nlp.lang))
    notes = notes if every else dict([next(iter(notes.items()))])
    results = process(nlp, list(notes.values()), lambda doc: doc._.deid_edits, batch_size=64, n_process=1)
    shown = []
    for (name, text), edits in zip(notes.items(), results, strict=True):
        if isinstance(edits, Failure):
            raise DeidError(Errors.D402.format(path=name, reason=edits.reason))
        show(f"{name}: before", text, edits, released=False)
        show(f"{name}: after", text, edits, released=True)
        shown.append((text, edits))
    return shown


def summarize(shown: Iterable[tuple[str, list[Edit]]]) -> None:
    """Print what was replaced and what was kept in the notes, and what to do next.

    shown (Iterable[tuple[str, list[Edit]]]): each note's text with its edits.
    """
    shown = list(shown)
    labels = Counter(edit.label for _, edits in shown for edit in edits)
    words = sum(len(_WORD.findall(text)) for text, _ in shown)
    kept = [_without(text, edits) for text, edits in shown]
    kept_words, values = (sum(len(form.findall(text)) for text in kept) for form in (_WORD, _VALUE))
    share = round(100 * kept_words / max(1, words))
    typer.secho("── Summary " + "─" * 65, bold=True)
    typer.echo(f"Notes:      {len(shown)}")
    typer.echo(f"Replaced:   {labels.total()} identifiers: {_counted(labels)}")
    typer.echo(f"Kept:       {share} % of the words, among them {values} numbers, such as values and doses")
    typer.echo("\nNext:")
    typer.echo("  spacy-deid demo --lang es                       all sample notes of a language: en, es, fi")
    typer.echo("  spacy-deid redact NOTES --pipeline en --output RELEASED   your own files; --help lists the styles")
    typer.echo("  spacy-deid info                                 pipelines, components and policies")


def _without(text: str, edits: Iterable[Edit]) -> str:
    """A text without the characters that are replaced; a space stands for each stretch of them."""
    parts, last = [], 0
    for edit in edits:
        parts += [text[last : edit.start], " "]
        last = edit.end
    return "".join([*parts, text[last:]])


def _counted(labels: Mapping[str, int]) -> str:
    """Labels with their numbers, the commonest first."""
    ordered = sorted(labels.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{label} {number}" for label, number in ordered) or "none"


def sample_notes(lang: str) -> dict[str, str]:
    """Read the sample notes of a language.

    lang (str): its code.
    RETURNS (dict[str, str]): text by name, in the order of the names.
    RAISES: ConfigError (D417) if there are none.
    """
    folder = get_language(lang).resource("samples")
    notes = {path.stem: path.read_bytes().decode("utf-8") for path in sorted(folder.glob("*.txt"))}
    if not notes:
        known = ", ".join(language_codes("samples")) or "none"
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
