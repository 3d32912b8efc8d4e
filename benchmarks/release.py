"""Check what version 1.0 promises, and write a row for each promise to metrics/release.json.

    python -m benchmarks.release all                       # everything but the suites of other versions of Python
    python -m benchmarks.release tests --promise site      # the tests of one promise of benchmarks/release.toml
    python -m benchmarks.release first-command             # processor time of the first command of the README
    python -m benchmarks.release count                     # versions, reference, bill of materials, mistakes
    python -m benchmarks.release collect                   # rows with a target of fuzz, mutants, soak and attacks
    python -m benchmarks.release suite python3.13          # the quick tests with another version of Python

A run replaces the rows that it measured and keeps the others.
"""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

import spacy_deid
from spacy_deid.evaluation import MetricRow, read_rows, write_rows
from spacy_deid.evaluation.rows import command_line

ROOT = Path(__file__).resolve().parent.parent
PROMISES = tomllib.loads((ROOT / "benchmarks" / "release.toml").read_text(encoding="utf8"))
OUTPUT = ROOT / "metrics" / "release.json"
COLLECTED = ("fuzz", "mutants", "soak", "attacks")
# files that must name the version of the package → where
VERSIONS = {
    "setup.cfg": r"^version = (\S+)",
    "conda/meta.yaml": r'set version = "(\S+)"',
    "project.yml": r'^  version: "(\S+)"',
    "CHANGELOG.md": r"^## \[(\d\S+)\]",
    "docs/guides/install.md": r"--version (\S+)",
    **{f"spacy_deid/pipelines/{lang}/meta.json": r'^  "version":"(\S+)"' for lang in ("es", "en", "fi")},
}
FIRST_COMMAND = 60.0  # seconds of processor time
# what the tests need beside the installed package, as in .ci/run
BESIDE = (
    ".ci", "conda", "tests", "docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "NOTICE", "corpus",
    "configs", "scripts", "benchmarks", "metrics", "mkdocs.yml", "project.yml", "setup.cfg",
)  # fmt: skip

app = typer.Typer(pretty_exceptions_enable=False, no_args_is_help=True, help=__doc__)


def make_row(
    name: str,
    value: float,
    target: float | None,
    data: str,
    command: str,
    better: Literal["higher", "lower"] = "lower",
) -> MetricRow:
    """Make a row of the release."""
    return MetricRow(
        name, value, target, better, data, f"version {spacy_deid.__version__}", command, f"{date.today()}"
    )


def record(rows: list[MetricRow]) -> None:
    """Write rows and print them."""
    write_rows(OUTPUT, rows)
    for row in rows:
        typer.echo(f"{row.value:>8g}  {'' if row.met is None else 'met' if row.met else 'NOT MET':<8}{row.name}")


# ---------------------------------------------------------------- tests


@app.command("tests")
def run_tests(
    promise: Annotated[
        list[str] | None, typer.Option(help="Name in release.toml; all by default; repeatable.")
    ] = None,
) -> None:
    """Run the tests of promises; a promise without a test that passed is not kept."""
    for name in promise or PROMISES:
        entry = PROMISES[name]
        with TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            marks = ["-m", "slow or not slow"] if entry.get("slow") else []
            command = [sys.executable, "-m", "pytest", "--numprocesses=0", f"--junitxml={report}", *marks]
            subprocess.run([*command, *entry["tests"]], cwd=ROOT, stdout=subprocess.DEVNULL)
            outcome = read_report(report)
        record(
            outcome_rows(entry["promise"], outcome, "tests", f"python -m benchmarks.release tests --promise {name}")
        )


def read_report(path: Path) -> dict[str, int]:
    """Read the report of pytest in JUnit's format: number of tests that passed, failed and were skipped.

    path (Path): the report; if it does not exist, pytest ended before its end, which counts as a failure.
    RETURNS (dict[str, int]): "passed", "failed", "skipped".
    """
    if not path.exists():
        return {"passed": 0, "failed": 1, "skipped": 0}
    suites = list(ElementTree.parse(path).getroot().iter("testsuite"))
    number = {
        key: sum(int(suite.get(key, 0)) for suite in suites) for key in ("tests", "failures", "errors", "skipped")
    }
    failed = number["failures"] + number["errors"]
    return {"passed": number["tests"] - failed - number["skipped"], "failed": failed, "skipped": number["skipped"]}


def outcome_rows(name: str, outcome: dict[str, int], data: str, command: str) -> list[MetricRow]:
    """Make the rows of a run of tests."""
    return [
        make_row(f"{name}: tests that failed", outcome["failed"], 0, data, command),
        make_row(f"{name}: tests that passed", outcome["passed"], 1, data, command, "higher"),
        make_row(f"{name}: tests that were skipped", outcome["skipped"], None, data, command),
    ]


@app.command()
def suite(
    python: Annotated[str, typer.Argument(help="Interpreter, such as python3.13.")],
    paths: Annotated[list[str] | None, typer.Argument(help="Tests to run; all quick tests by default.")] = None,
    environment: Annotated[
        Path | None, typer.Option(help="Environment that has the package and its extra 'dev'; made anew by default.")
    ] = None,
) -> None:
    """Run the quick tests against the installed package with another version of Python."""
    with TemporaryDirectory() as folder:
        work = Path(folder)
        variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"CI": "true"}
        interpreter = str(environment / "bin" / "python") if environment else install(python, work / "venv", variables)
        away = work / "away"
        away.mkdir()
        for name in BESIDE:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
            copy(ROOT / name, away / name)
        report = work / "report.xml"
        command = [interpreter, "-m", "pytest", "--numprocesses=1", f"--junitxml={report}", *(paths or [])]
        subprocess.run(command, cwd=away, env=variables)
        version = run_text(interpreter, "-c", "import platform; print(platform.python_version())").strip()
        outcome = read_report(report)
    scope = " ".join(paths) if paths else "all quick tests"
    said = f"python -m benchmarks.release suite {' '.join([Path(python).name, *(paths or [])])}"
    record(outcome_rows(f"Python {version.rpartition('.')[0]}", outcome, f"Python {version}, {scope}", said))


def install(python: str, folder: Path, variables: dict[str, str]) -> str:
    """Make an environment with the package and its extra "dev"; return its interpreter."""
    subprocess.run([python, "-m", "venv", folder], check=True, env=variables)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "-c", ROOT / ".ci" / "constraints.txt"]
    subprocess.run([*pip, f"{ROOT}[dev,site]"], check=True, env=variables)
    return str(folder / "bin" / "python")


def run_text(*command: str) -> str:
    """Run a command and return what it printed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# ---------------------------------------------------------------- the first command of the README


@app.command()
def first_command(context: typer.Context) -> None:
    """Measure the first command of the README: a new clone, a new environment, an empty and then a filled cache."""
    text = (ROOT / "README.md").read_text(encoding="utf8")
    section = text.partition("\n## Quick start\n")[2].partition("\n## ")[0]
    shown = re.findall(r"^```bash\n(.+?)\n```", section, flags=re.MULTILINE | re.DOTALL)[0]
    name, said = (
        "first command of the README: processor time in s",
        command_line("benchmarks.release first-command", context),
    )
    rows = []
    with TemporaryDirectory() as folder:
        for cache in ("empty cache of pip", "filled cache of pip"):
            work = Path(folder) / cache.partition(" ")[0]
            seconds, printed = time_first_command(shown, work, Path(folder) / "cache")
            if "[PATIENT]" not in printed:
                raise typer.BadParameter(f"'{shown}' did not print a de-identified note")
            rows.append(make_row(name, round(seconds, 1), FIRST_COMMAND, cache, said))
            shutil.rmtree(work)
    record(rows)


def time_first_command(command: str, work: Path, cache: Path) -> tuple[float, str]:
    """Run a command in a new clone and a new environment, which is part of the time.

    command (str): a command of the shell.
    work (Path): folder for the clone and the environment.
    cache (Path): folder of pip's cache.
    RETURNS (tuple[float, str]): processor time of all processes in seconds, user and system; and what was printed.
    """
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(work / "clone")], check=True)
    variables = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    variables |= {"PIP_CACHE_DIR": str(cache), "PATH": f"{work / 'venv' / 'bin'}:{os.environ['PATH']}"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys._base_executable, "-m", "venv", work / "venv"], check=True, env=variables)  # type: ignore[attr-defined]
    done = subprocess.run(
        ["bash", "-c", command], cwd=work / "clone", env=variables, check=True, stdout=subprocess.PIPE, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


# ---------------------------------------------------------------- counts


@app.command()
def count(context: typer.Context) -> None:
    """Count what can be counted without running tests."""
    said = command_line("benchmarks.release count", context)
    record([*count_versions(said), *count_reference(said), *count_supply(said)])


def count_versions(said: str) -> Iterator[MetricRow]:
    """Count the files that name another version than the package."""
    wrong = []
    for name, pattern in VERSIONS.items():
        match = re.search(pattern, (ROOT / name).read_text(encoding="utf8"), flags=re.MULTILINE)
        if match is None or match[1] != spacy_deid.__version__:
            wrong.append(name)
    typer.echo(f"another version: {', '.join(wrong) or 'none'}")
    yield make_row("version: files that name another one", len(wrong), 0, "repository", said)


def count_reference(said: str) -> Iterator[MetricRow]:
    """Count what the generated reference lacks: docstrings, help of options, advice of errors."""
    from scripts import site_reference as reference

    names = [name for name in spacy_deid.__all__ if not name.startswith("__")]
    silent = [name for name in names if not getattr(spacy_deid, name).__doc__]
    options = [
        parameter
        for name in reference.list_commands()
        for _, command in reference._walk(name, reference._root().commands[name])
        if not hasattr(command, "commands")
        for parameter in command.params
    ]
    bare = [one for one in options if not getattr(one, "help", None)]
    sections = reference.catalogue()
    unadvised = [
        code
        for title, messages in sections.items()
        for code, message in messages.items()
        if title not in reference.SECTIONS and not reference.INSTRUCTION.search(message)
    ]
    codes = sum(map(len, sections.values()))
    yield make_row("reference: public names without a docstring", len(silent), 0, f"{len(names)} names", said)
    yield make_row("reference: arguments and options without help", len(bare), 0, "all commands", said)
    yield make_row("reference: arguments and options", len(options), None, "all commands", said, "higher")
    yield make_row("reference: error codes that do not say what to do", len(unadvised), 0, "errors.py", said)
    yield make_row("reference: error codes", codes, None, "errors.py", said, "higher")


def count_supply(said: str) -> Iterator[MetricRow]:
    """Count the components of the bill of materials, and those without a licence; shipped files without a licence."""
    from scripts import licences, sbom

    components = sbom.make_sbom([])["components"]
    table = licences.read_table()
    files = licences.list_files()
    unlicensed = [path for path in files if not licences.describe(table, path).licence]
    late = [path for path, text in licences.outputs() if path.read_text(encoding="utf8") != text]
    bare = sum(not component.get("licenses") for component in components)
    yield make_row("bill of materials: components without a licence", bare, 0, "core", said)
    yield make_row("bill of materials: components", len(components), None, "core", said, "higher")
    yield make_row("licences: shipped files without one", len(unlicensed), 0, "wheel", said)
    yield make_row("licences: reports and hashes that are out of date", len(late), 0, "wheel", said)


# ---------------------------------------------------------------- rows of other commands


@app.command()
def collect() -> None:
    """Copy the rows with a target that other commands wrote, and count the files that are missing."""
    rows = []
    for name in COLLECTED:
        path = ROOT / "metrics" / f"{name}.json"
        found = [row for row in read_rows_of(path) if row.target is not None]
        missing = f"{name}: figures with a target"
        rows.append(make_row(missing, len(found), 1, path.name, "python -m benchmarks.release collect", "higher"))
        rows += (
            summarise(name, found)
            if name == "attacks"
            else [replace(row, name=f"{name}: {row.name}") for row in found]
        )
    record(rows)


def read_rows_of(path: Path) -> list[MetricRow]:
    """Read the rows of a file, without the further fields that the attacks have; none if there is no such file."""
    if path.name != "attacks.json":
        return read_rows(path) if path.exists() else []
    fields = MetricRow.__dataclass_fields__
    records = json.loads(path.read_text(encoding="utf8")) if path.exists() else []
    return [MetricRow(**{key: value for key, value in one.items() if key in fields}) for one in records]


def summarise(name: str, rows: list[MetricRow]) -> list[MetricRow]:
    """Add up rows whose target is 0 into one row."""
    return [replace(rows[-1], name=f"{name}: strings recovered", value=sum(row.value for row in rows))] if rows else []


@app.command(name="all")
def everything(context: typer.Context) -> None:
    """Run all checks but the suites of other versions of Python."""
    context.invoke(count, context=context)
    context.invoke(first_command, context=context)
    context.invoke(run_tests, promise=None)
    context.invoke(collect)


if __name__ == "__main__":
    app()
