"""Measure the structure of the package: how much there is to read, and how much of it one redaction touches.

    python -m benchmarks.structure            # also times the test suite, which takes minutes
    python -m benchmarks.structure --no-tests # keeps the recorded time of the test suite

Rows go to metrics/structure.json. Lines include blank lines and comments. A redaction *reaches* a module if the module
is imported when a text is de-identified with tags by the Spanish pipeline in a new process.
"""

import ast
import configparser
import re
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from spacy_deid.evaluation import MetricRow, read_rows, write_rows
from spacy_deid.lang import language_codes

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "spacy_deid"
METRICS = ROOT / "metrics" / "structure.json"
COMMAND = "python -m benchmarks.structure"
REDACT = """
import sys
from spacy_deid import Deidentifier
assert Deidentifier("es", style="tag")("Nombre: Ana Ruiz. NHC: 4471906.").text == "Nombre: [PATIENT]. NHC: [MRN]."
print(sum(name.split(".")[0] == "spacy_deid" for name in sys.modules))
"""


def main(tests: Annotated[bool, typer.Option(help="Measure the duration of the test suite.")] = True) -> None:
    """Measure the structure and write metrics/structure.json."""
    files = sorted(PACKAGE.rglob("*.py"))
    lines = {path: len(path.read_text(encoding="utf8").splitlines()) for path in files}
    functions = [node for path in files for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef)]
    private = [node for node in functions if node.name.startswith("_") and not node.name.startswith("__")]
    rows = [
        row("Python lines in the package", sum(lines.values()), 42_000),
        row("Python files in the package", len(files), 230),
        row("files under 80 lines", sum(count < 80 for count in lines.values())),
        row("files above 500 lines", sum(count > 500 for count in lines.values()), 0),
        row("share of functions that are private", round(len(private) / len(functions), 3)),
        row("modules imported by a redaction with tags", count_reached(), 70),
        row("registered functions beside the factories", count_registered(), 20),
        row("tests of a language code outside lang/", sum(map(count_language_tests, files)), 0),
        row("lines of the README", len((ROOT / "README.md").read_text(encoding="utf8").splitlines()), 200),
        row("commands of the spaCy project", count_commands(), 30),
        row("words of docs/design/surprisal.md without its tables", count_words(), 2_000),
    ]
    if tests:
        rows.append(row("seconds of pytest", round(time_tests()), 360))
    else:
        rows += [old for old in read_rows(METRICS) if old.name == "seconds of pytest"] if METRICS.exists() else []
    write_rows(METRICS, rows)
    for measured in rows:
        typer.echo(f"{measured.value:>8g}  {measured.name}")


def row(name: str, value: float, target: float | None = None) -> MetricRow:
    """Make the row of a figure; smaller is better for all of them."""
    return MetricRow(name, value, target, "lower", "spacy_deid", "none", COMMAND, date.today().isoformat())


def parse(path: Path) -> ast.Module:
    """Parse a source file."""
    return ast.parse(path.read_text(encoding="utf8"))


def count_reached() -> int:
    """Count the modules of the package that a new process imports to redact one text."""
    run = subprocess.run([sys.executable, "-c", REDACT], cwd=ROOT, check=True, capture_output=True, text=True)
    return int(run.stdout)


def count_registered() -> int:
    """Count the entry points of the package that are neither factories nor commands."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf8")
    groups = config["options.entry_points"]
    left_out = {"console_scripts", "spacy_factories"}
    return sum(len(text.strip().splitlines()) for group, text in groups.items() if group not in left_out)


def count_language_tests(path: Path) -> int:
    """Count the comparisons with a language code in a file; files in lang/ have none by definition."""
    if PACKAGE / "lang" in path.parents:
        return 0
    codes = set(language_codes("patterns.toml"))
    found = 0
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Compare):
            constants = [leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)]
            found += bool(codes & {value for value in constants if isinstance(value, str)})
        elif isinstance(node, ast.Dict):
            found += bool(codes & {key.value for key in node.keys if isinstance(key, ast.Constant)})
    return found


def count_commands() -> int:
    """Count the commands in project.yml."""
    commands = (ROOT / "project.yml").read_text(encoding="utf8").split("\ncommands:")[1]
    return len(re.findall(r"^  - name:", commands, re.MULTILINE))


def count_words() -> int:
    """Count the words of the page on surprisal, without the generated tables."""
    text = (ROOT / "docs" / "design" / "surprisal.md").read_text(encoding="utf8")
    return len(re.sub(r"<!-- figures:.*?<!-- /figures -->", "", text, flags=re.DOTALL).split())


def time_tests() -> float:
    """Run the test suite. RETURNS (float): seconds. RAISES: CalledProcessError if a test fails."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=ROOT, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    typer.run(main)
