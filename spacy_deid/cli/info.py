"""``spacy-deid info``: what is installed, and under which licences."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

import srsly
import typer
from spacy.util import registry
from thinc.api import Config

from .. import __version__
from ..loading import shipped_pipelines
from ..policies import shipped_policies
from .console import reporting

__all__ = ["info"]

_FIGURES = ("character_recall", "character_precision", "strict_f1", "clean")
_PACKAGES = ("spacy", "thinc", "numpy", "pyahocorasick", "phonenumbers", "torch", "spacy-transformers")


def info() -> None:
    """Print versions, pipelines, components, policies, and the licences of what ships."""
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
    """The factories of this package, as spaCy knows them."""
    return {name for name in registry._entry_point_factories.get_all() if name.startswith("deid_")}


def _meta(path: Path) -> dict[str, object]:
    """Meta data of a pipeline."""
    meta: dict[str, object] = srsly.read_json(path / "meta.json")
    return meta


def _pipeline(name: str, path: Path) -> tuple[str, str]:
    """Name, version and components of a pipeline that ships."""
    meta = _meta(path)
    pipeline = meta.get("pipeline")
    parts = ", ".join(map(str, pipeline)) if isinstance(pipeline, list) else ""
    return name, f"{meta.get('version', '')}  {parts}  {meta.get('description', '')}".strip()


def _points(name: str, path: Path) -> list[tuple[str, str]]:
    """The operating points of a pipeline's token classifier, with what they reached on its development data."""
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
    """One operating point."""
    figures = record.get("figures", {})
    said = [f"{key.replace('_', ' ')} {figures[key]:.4f}" for key in _FIGURES if figures.get(key) is not None]
    threshold = "thresholds by label" if record.get("labels") else f"threshold {record.get('default'):g}"
    return "  ".join([f"{name}, in force" if in_force else name, threshold, *said])


def _pipeline_licences() -> list[tuple[str, str]]:
    """Licences of the pipelines that ship, and of what they were made from."""
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
    """The NOTICE file: who made the lists and corpora that something here rests on."""
    for file in distribution("spacy-deid").files or []:
        if file.name == "NOTICE":
            return Path(str(file.locate())).read_text(encoding="utf-8")
    source = Path(__file__).parents[2] / "NOTICE"  # a checkout that is installed in place
    return source.read_text(encoding="utf-8") if source.is_file() else ""
