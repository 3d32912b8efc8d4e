"""``spacy-deid info`` and ``demo``: what is installed, and what it does to sample notes."""

import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Annotated, Any

import srsly
import typer
from spacy.util import registry
from thinc.api import Config

from .. import __version__
from ..deidentifier import Deidentifier
from ..errors import ConfigError, DeidError, Errors
from ..lang import get_language, language_codes
from ..loading import shipped_pipelines
from ..offsets import Edit
from ..policies import shipped_policies
from .console import reporting

__all__ = ["demo", "info"]

_FIGURES = ("character_recall", "character_precision", "strict_f1", "clean")
_PACKAGES = ("spacy", "thinc", "numpy", "pyahocorasick", "phonenumbers", "torch", "spacy-transformers")


def info() -> None:
    """Print versions, pipelines, components, policies, and the licences of shipped data."""
    with reporting():
        _section("Versions", [("spacy-deid", __version__), ("python", platform.python_version())])
        _rows([(name, _version(name)) for name in _PACKAGES])
        _section("Pipelines", [_pipeline(name, path) for name, path in shipped_pipelines().items()])
        _section("Operating points", [row for item in shipped_pipelines().items() for row in _points(*item)])
        _section("Components", [(name, "") for name in sorted(_components())])
        _section("Policies", [(name, "") for name in shipped_policies()])
        _section("Licences", [("spacy-deid", _licence()), *_pipeline_licences()])
        if notice := _notice().strip():
            typer.echo(notice)


def _section(title: str, rows: list[tuple[str, str]]) -> None:
    """Print a heading and its rows."""
    typer.secho(f"\n{title}", bold=True)
    _rows(rows or [("none", "")])


def _rows(rows: list[tuple[str, str]]) -> None:
    """Print rows of two columns."""
    for name, value in rows:
        typer.echo(f"  {name:<24}{value}".rstrip())


def _version(name: str) -> str:
    """Version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _components() -> set[str]:
    """Names of the component factories of this package."""
    return {name for name in registry._entry_point_factories.get_all() if name.startswith("deid_")}


def _meta(path: Path) -> dict[str, object]:
    """Read the meta.json of a pipeline."""
    meta: dict[str, object] = srsly.read_json(path / "meta.json")
    return meta


def _pipeline(name: str, path: Path) -> tuple[str, str]:
    """Name, version and components of a shipped pipeline."""
    meta = _meta(path)
    pipeline = meta.get("pipeline")
    parts = ", ".join(map(str, pipeline)) if isinstance(pipeline, list) else ""
    return name, f"{meta.get('version', '')}  {parts}  {meta.get('description', '')}".strip()


def _points(name: str, path: Path) -> list[tuple[str, str]]:
    """The operating points of a pipeline, with their figures on development data."""
    config = Config().from_disk(path / "config.cfg", interpolate=False)
    rows = []
    for part, settings in config["components"].items():
        if settings.get("factory") == "deid_ner":
            force = settings.get("operating_point")
            if not force:
                rows.append((name, f"threshold {settings.get('threshold')}, in force"))
            points = srsly.read_json(path / part / "cfg").get("points", {})
            rows += [(name, _point(point, record, point == force)) for point, record in points.items()]
    return rows


def _point(name: str, record: Mapping[str, Any], in_force: bool) -> str:
    """Name, thresholds and figures of an operating point."""
    figures = record.get("figures", {})
    said = [f"{key.replace('_', ' ')} {figures[key]:.4f}" for key in _FIGURES if figures.get(key) is not None]
    threshold = "thresholds by label" if record.get("labels") else f"threshold {record.get('default'):g}"
    return "  ".join([f"{name}, in force" if in_force else name, threshold, *said])


def _pipeline_licences() -> list[tuple[str, str]]:
    """Licences of the shipped pipelines and of their sources."""
    rows = []
    for name, path in shipped_pipelines().items():
        meta = _meta(path)
        rows.append((name, str(meta.get("license") or "not stated")))
        sources = meta.get("sources")
        for source in sources if isinstance(sources, list) else []:
            rows.append(
                (f"  {source.get('name', '')}", f"{source.get('license', '')}  {source.get('url', '')}".strip())
            )
    return rows


def _licence() -> str:
    """Licence of the package."""
    meta = distribution("spacy-deid").metadata.json
    return str(meta.get("license_expression") or meta.get("license") or "not stated")


def _notice() -> str:
    """The NOTICE file, which names the authors of lists and corpora."""
    for file in distribution("spacy-deid").files or []:
        if file.name == "NOTICE":
            return Path(str(file.locate())).read_text(encoding="utf-8")
    source = Path(__file__).parents[2] / "NOTICE"  # a checkout that is installed in place
    return source.read_text(encoding="utf-8") if source.is_file() else ""


_WORD = re.compile(r"\w+")
_VALUE = re.compile(r"(?<!\w)\d+(?:[.,/]\d+)*(?!\w)")


def demo(
    lang: Annotated[
        str | None, typer.Option(help="Show all notes of this language. Default: the first note of each language.")
    ] = None,
    pipeline: Annotated[
        str | None, typer.Option(help="Shipped pipeline, folder, or package. Its language chooses the notes.")
    ] = None,
) -> None:
    """De-identify the sample notes of the package. The persons in them are fictitious."""
    with reporting():
        shown: list[tuple[str, list[Edit]]] = []
        for name in [pipeline or lang] if pipeline or lang else sorted(shipped_pipelines()):
            shown += show_notes(str(name), lang, every=bool(pipeline or lang))
        summarize(shown)


def show_notes(pipeline: str, lang: str | None, *, every: bool) -> list[tuple[str, list[Edit]]]:
    """De-identify sample notes and print them before and after.

    pipeline (str): shipped pipeline, folder, or package.
    lang (Optional[str]): language of the notes; None for the language of the pipeline.
    every (bool): whether to show all notes of the language or only the first.
    RETURNS (list[tuple[str, list[Edit]]]): text and edits of each note.
    RAISES: ConfigError (D417) if the language has no notes, DeidError (D402) if a note could not be processed.
    """
    if lang is not None:
        sample_notes(lang)  # an unknown language is named as such, not as an unknown pipeline
    deid = Deidentifier(pipeline)
    notes = sample_notes(lang or str(deid.nlp.lang))
    notes = notes if every else dict([next(iter(notes.items()))])
    shown = []
    for (name, text), result in zip(notes.items(), deid.pipe(list(notes.values())), strict=True):
        if not result.ok:
            raise DeidError(Errors.D402.format(path=name, reason=result.reason))
        show(f"{name}: before", text, result.edits, released=False)
        show(f"{name}: after", text, result.edits, released=True)
        shown.append((text, result.edits))
    return shown


def summarize(shown: Iterable[tuple[str, list[Edit]]]) -> None:
    """Print how much was replaced and kept in the notes, and the next commands.

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
    """The text with a space instead of each replaced span."""
    parts, last = [], 0
    for edit in edits:
        parts += [text[last : edit.start], " "]
        last = edit.end
    return "".join([*parts, text[last:]])


def _counted(labels: Mapping[str, int]) -> str:
    """Labels and their counts, the most frequent first."""
    ordered = sorted(labels.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{label} {number}" for label, number in ordered) or "none"


def sample_notes(lang: str) -> dict[str, str]:
    """Read the sample notes of a language.

    lang (str): its code.
    RETURNS (dict[str, str]): name → text, in the order of the names.
    RAISES: ConfigError (D417) if there are none.
    """
    folder = get_language(lang).resource("samples")
    notes = {path.stem: path.read_bytes().decode("utf-8") for path in sorted(folder.glob("*.txt"))}
    if not notes:
        known = ", ".join(language_codes("samples")) or "none"
        raise ConfigError(Errors.D417.format(lang=lang, known=known))
    return notes


def show(title: str, text: str, edits: list[Edit], *, released: bool) -> None:
    """Print a note before or after, with the changes in colour if the terminal has colours.

    title (str): heading.
    text (str): the original.
    edits (list[Edit]): its edits.
    released (bool): whether to print the released text.
    """
    parts, last = [], 0
    for edit in edits:
        changed = edit.replacement if released else text[edit.start : edit.end]
        colour = typer.colors.GREEN if released else typer.colors.RED
        parts += [text[last : edit.start], typer.style(changed, fg=colour, bold=True)]
        last = edit.end
    typer.secho(f"── {title} " + "─" * max(0, 72 - len(title)), bold=True)
    typer.echo("".join([*parts, text[last:]]).rstrip() + "\n")
