"""``spacy-deid info`` and ``demo``: list what is installed, and de-identify sample notes."""

import platform
import re
from collections import Counter
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

_FIGURES = ("character_recall", "character_precision", "strict_f1", "clean")
_PACKAGES = ("spacy", "thinc", "numpy", "pyahocorasick", "phonenumbers", "torch", "spacy-transformers")
_WORD = re.compile(r"\w+")
_VALUE = re.compile(r"(?<!\w)\d+(?:[.,/]\d+)*(?!\w)")


def info() -> None:
    """Print versions, pipelines, components, policies, and the licences of shipped data."""
    with reporting():
        versions = [("spacy-deid", __version__), ("python", platform.python_version())]
        for name in _PACKAGES:
            try:
                versions.append((name, version(name)))
            except PackageNotFoundError:
                versions.append((name, "not installed"))
        _section("Versions", versions)
        own = distribution("spacy-deid").metadata.json
        pipelines, points = [], []
        licences = [("spacy-deid", str(own.get("license_expression") or own.get("license") or "not stated"))]
        for name, path in shipped_pipelines().items():
            meta: dict[str, Any] = srsly.read_json(path / "meta.json")
            parts = ", ".join(meta.get("pipeline", ()))
            pipelines.append((name, f"{meta.get('version', '')}  {parts}  {meta.get('description', '')}".strip()))
            points += [(name, point) for point in _operating_points(path)]
            licences.append((name, str(meta.get("license") or "not stated")))
            for source in meta.get("sources") or []:
                terms = f"{source.get('license', '')}  {source.get('url', '')}".strip()
                licences.append((f"  {source.get('name', '')}", terms))
        _section("Pipelines", pipelines)
        _section("Operating points", points)
        components = [name for name in registry._entry_point_factories.get_all() if name.startswith("deid_")]
        _section("Components", [(name, "") for name in sorted(components)])
        _section("Policies", [(name, "") for name in shipped_policies()])
        _section("Licences", licences)
        if notice := _notice().strip():
            typer.echo(notice)


def _section(title: str, rows: list[tuple[str, str]]) -> None:
    """Print a heading and rows of two columns."""
    typer.secho(f"\n{title}", bold=True)
    for name, value in rows or [("none", "")]:
        typer.echo(f"  {name:<24}{value}".rstrip())


def _operating_points(path: Path) -> list[str]:
    """Describe each operating point of a pipeline: its name, thresholds, and scores on development data."""
    config = Config().from_disk(path / "config.cfg", interpolate=False)
    found = []
    for part, settings in config["components"].items():
        if settings.get("factory") != "deid_ner":
            continue
        force = settings.get("operating_point")
        if not force:
            found.append(f"threshold {settings.get('threshold')}, in force")
        for name, record in srsly.read_json(path / part / "cfg").get("points", {}).items():
            figures = record.get("figures", {})
            shown = [f"{key.replace('_', ' ')} {figures[key]:.4f}" for key in _FIGURES if figures.get(key) is not None]
            threshold = "thresholds by label" if record.get("labels") else f"threshold {record.get('default'):g}"
            found.append("  ".join([f"{name}, in force" if name == force else name, threshold, *shown]))
    return found


def _notice() -> str:
    """Return the text of the NOTICE file, which names the authors of lists and corpora; "" if it is missing."""
    for file in distribution("spacy-deid").files or []:
        if file.name == "NOTICE":
            return Path(str(file.locate())).read_text(encoding="utf-8")
    source = Path(__file__).parents[2] / "NOTICE"  # a checkout that is installed in place
    return source.read_text(encoding="utf-8") if source.is_file() else ""


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
        every = bool(pipeline or lang)
        shown: list[tuple[str, list[Edit]]] = []
        for name in [str(pipeline or lang)] if every else sorted(shipped_pipelines()):
            if lang is not None:
                sample_notes(lang)  # an unknown language is named as such, not as an unknown pipeline
            deid = Deidentifier(name)
            notes = sample_notes(lang or str(deid.nlp.lang))
            notes = notes if every else dict([next(iter(notes.items()))])
            for (title, text), result in zip(notes.items(), deid.pipe(list(notes.values())), strict=True):
                if not result.ok:
                    raise DeidError(Errors.D402.format(path=title, reason=result.reason))
                show(f"{title}: before", text, result.edits, released=False)
                show(f"{title}: after", text, result.edits, released=True)
                shown.append((text, result.edits))
        _summarize(shown)


def _summarize(shown: list[tuple[str, list[Edit]]]) -> None:
    """Print how much of the given notes, as (text, edits), was replaced and kept, and which commands to try next."""
    labels = Counter(edit.label for _, edits in shown for edit in edits)
    ordered = sorted(labels.items(), key=lambda item: (-item[1], item[0]))
    counted = ", ".join(f"{label} {number}" for label, number in ordered) or "none"
    kept = [" ".join(_kept(text, edits)) for text, edits in shown]
    words = sum(len(_WORD.findall(text)) for text, _ in shown)
    kept_words, values = (sum(len(form.findall(text)) for text in kept) for form in (_WORD, _VALUE))
    share = round(100 * kept_words / max(1, words))
    typer.secho("── Summary " + "─" * 65, bold=True)
    typer.echo(f"Notes:      {len(shown)}")
    typer.echo(f"Replaced:   {labels.total()} identifiers: {counted}")
    typer.echo(f"Kept:       {share} % of the words, among them {values} numbers, such as values and doses")
    typer.echo("\nNext:")
    typer.echo("  spacy-deid demo --lang es                       all sample notes of a language: en, es, fi")
    typer.echo("  spacy-deid redact NOTES --pipeline en --output RELEASED   your own files; --help lists the styles")
    typer.echo("  spacy-deid info                                 pipelines, components and policies")


def _kept(text: str, edits: list[Edit]) -> list[str]:
    """Return the parts of a text before, between and after its edits."""
    starts, ends = [0, *(edit.end for edit in edits)], [*(edit.start for edit in edits), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def sample_notes(lang: str) -> dict[str, str]:
    """Read the sample notes of a language.

    lang (str): code of the language.
    RETURNS (dict[str, str]): name of the note → text, sorted by name.
    RAISES: ConfigError (D417) if the language has no sample notes.
    """
    folder = get_language(lang).resource("samples")
    notes = {path.stem: path.read_bytes().decode("utf-8") for path in sorted(folder.glob("*.txt"))}
    if not notes:
        known = ", ".join(language_codes("samples")) or "none"
        raise ConfigError(Errors.D417.format(lang=lang, known=known))
    return notes


def show(title: str, text: str, edits: list[Edit], *, released: bool) -> None:
    """Print the original or the released text of a note, with the changes in colour if the terminal has colours.

    title (str): heading.
    text (str): the original text.
    edits (list[Edit]): edits of the text.
    released (bool): whether to print the released text instead of the original.
    """
    parts = _kept(text, edits)
    shown = parts[0]
    for edit, following in zip(edits, parts[1:], strict=True):
        changed = edit.replacement if released else text[edit.start : edit.end]
        colour = typer.colors.GREEN if released else typer.colors.RED
        shown += typer.style(changed, fg=colour, bold=True) + following
    typer.secho(f"── {title} " + "─" * max(0, 72 - len(title)), bold=True)
    typer.echo(shown.rstrip() + "\n")
