"""Write the constraints of CI: the exact versions of all packages that the package and its extras need.

    python -m scripts.lock                          # write .ci/constraints.txt
    python -m scripts.lock --extra dev --extra site

The versions are those of the environment that runs the command, so run it where the tests passed. The file contains
what the named extras require, and what this requires in turn, on this platform. ``pip install -c .ci/constraints.txt``
then installs these versions and no others.
"""

import re
from collections.abc import Iterable
from configparser import ConfigParser
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Annotated

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
EXTRAS = ("dev", "site", "transformers")


def read_requirements(extras: Iterable[str]) -> list[Requirement]:
    """Read what the package and its extras require from setup.cfg, which is newer than what is installed."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    texts = [config["options"]["install_requires"], *(config["options.extras_require"][extra] for extra in extras)]
    return [Requirement(line) for text in texts for line in text.split("\n") if line.strip()]


def find_versions(requirements: Iterable[Requirement]) -> dict[str, str]:
    """Find the installed versions of required packages, and of what these require in turn.

    requirements (Iterable[Requirement]): the requirements.
    RETURNS (dict[str, str]): name of a required package → version, in alphabetical order.
    RAISES: PackageNotFoundError if a required package is not installed.
    """
    found: dict[str, str] = {}
    done: set[tuple[str, str]] = set()
    waiting = [(canonicalize_name(one.name), extra) for one in requirements for extra in ("", *one.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in done:
            continue
        done.add((name, extra))
        found[name] = version(name)
        for requirement in map(Requirement, distribution(name).requires or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(requirement.name), one) for one in ("", *requirement.extras)]
    return dict(sorted(found.items()))


def format_constraints(versions: dict[str, str], extras: Iterable[str]) -> str:
    """Format versions as a file of constraints. Builds of torch for a device, such as 2.2+cpu, lose this suffix."""
    command = "python -m scripts.lock " + " ".join(f"--extra {extra}" for extra in extras)
    lines = [f"# Versions of the checks, written by: {command}"]
    lines += [f"{name}=={re.sub(r'[+].*', '', number)}" for name, number in versions.items()]
    return "\n".join(lines) + "\n"


def main(
    extra: Annotated[list[str] | None, typer.Option(help="Extras whose packages are locked.")] = None,
    output: Annotated[Path, typer.Option(help="File to write.")] = CONSTRAINTS,
) -> None:
    """Write the constraints of CI."""
    extras = tuple(extra or EXTRAS)
    try:
        versions = find_versions(read_requirements(extras))
    except PackageNotFoundError as error:
        typer.echo(f"{error.name} is not installed: pip install -e '.[{','.join(extras)}]'", err=True)
        raise typer.Exit(1) from None
    output.write_text(format_constraints(versions, extras), encoding="utf8")


if __name__ == "__main__":
    typer.run(main)
