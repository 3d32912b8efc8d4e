"""Write the software bill of materials of an installation as CycloneDX 1.6 JSON.

    python -m scripts.sbom --output sbom.cdx.json
    python -m scripts.sbom --extra documents --extra app --output sbom.cdx.json

The components are the packages that spacy_deid needs with the named extras, in the versions of the environment that
runs the command, with their licences and dependencies; and the weights, dictionaries and lists that the package
contains, with SHA-256 hashes and licences (scripts/shipped_files.toml). Without a date and a serial number, so that
the same environment gives the same file.
"""

import json
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Annotated, Any

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import spacy_deid

from .licences import PACKAGE, Shipped, describe, hash_file, list_files, read_table
from .lock import find_versions, read_requirements

MODELS = ("deid_ner/model", "weights.bin", ".onnx")


def make_sbom(extras: list[str]) -> dict[str, Any]:
    """Make the bill of materials.

    extras (list[str]): extras of the package.
    RETURNS (dict): the document.
    """
    versions = find_versions(read_requirements(extras))
    root = f"pkg:pypi/spacy-deid@{spacy_deid.__version__}"
    direct = {canonicalize_name(one.name) for one in read_requirements(extras)}
    refs = {name: f"pkg:pypi/{name}@{version}" for name, version in versions.items()}
    files = [
        _file(path, describe(read_table(), path)) for path in list_files() if describe(read_table(), path).derives
    ]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": root,
                "name": "spacy-deid",
                "version": spacy_deid.__version__,
                "purl": root,
                "licenses": [{"license": {"id": "MIT"}}],
                "components": files,
            }
        },
        "components": [_package(name, refs[name]) for name in versions],
        "dependencies": [
            {"ref": root, "dependsOn": sorted(refs[name] for name in direct)},
            *({"ref": refs[name], "dependsOn": _needs(name, refs)} for name in versions),
        ],
    }


def _package(name: str, ref: str) -> dict[str, Any]:
    """Describe a required package."""
    found = distribution(name)
    component = {"type": "library", "bom-ref": ref, "name": found.name, "version": found.version, "purl": ref}
    licence = _licence(found)
    return {**component, "licenses": [{"license": {"name": licence}}]} if licence else component


def _licence(found: Distribution) -> str:
    """Read the licence of a package: the expression, the classifier, or the first line of the text."""
    metadata = found.metadata
    classifiers = [line for line in metadata.get_all("Classifier") or [] if line.startswith("License :: ")]
    named = metadata.get("License-Expression") or (classifiers[0].rpartition(" :: ")[2] if classifiers else "")
    return named or (metadata.get("License") or "").strip().split("\n")[0][:80]


def _needs(name: str, refs: dict[str, str]) -> list[str]:
    """List the references of what a package requires, without its extras."""
    requirements = map(Requirement, distribution(name).requires or [])
    needed = {
        canonicalize_name(one.name) for one in requirements if one.marker is None or one.marker.evaluate({"extra": ""})
    }
    return sorted(refs[one] for one in needed if one in refs)


def _file(path: str, entry: Shipped) -> dict[str, Any]:
    """Describe a file of weights or a list that the package contains."""
    return {
        "type": "machine-learning-model" if path.endswith(MODELS) else "data",
        "bom-ref": f"spacy_deid/{path}",
        "name": f"spacy_deid/{path}",
        "description": f"{entry.what}; made of {', '.join(source.title for source in entry.derives)}",
        "hashes": [{"alg": "SHA-256", "content": hash_file(PACKAGE / path)}],
        "licenses": [{"license": {"name": entry.licence}}],
    }


def main(
    output: Annotated[Path, typer.Option("--output", "-o", help="JSON file to write.")],
    extra: Annotated[list[str] | None, typer.Option(help="Extras that are installed, such as documents.")] = None,
) -> None:
    """Write the software bill of materials."""
    output.write_text(json.dumps(make_sbom(extra or []), indent=2, ensure_ascii=False) + "\n", encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
