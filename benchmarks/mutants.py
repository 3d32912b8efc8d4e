"""Measure how many mutants of the safety core its tests notice.

    python -m benchmarks.mutants                       # a sample of each module
    python -m benchmarks.mutants --number 0            # all mutants
    python -m benchmarks.mutants --only offsets --show # print the mutants that survive

A mutant is a copy of a module with one small change, such as "<=" instead of "<", a condition that is negated, or a
statement that is left out. It is killed if a test of the module fails or exceeds the time limit. The code of functions
is mutated, without texts, default values, annotations, ``__repr__`` and the argument ``strict`` of ``zip``. Some
mutants behave like the original, so not all of them can be killed.

Each mutant runs in a fork of this process, in which the code of one function is replaced. No file is changed.
"""

import ast
import copy
import inspect
import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Annotated, Any

import hypothesis
import pytest
import typer

import spacy_deid.cli
from spacy_deid.evaluation import MetricRow
from spacy_deid.evaluation.rows import command_line, replace_rows

PACKAGE = Path(spacy_deid.__file__).parent
TESTS: dict[str, tuple[str, ...]] = {
    "offsets": ("tests/test_offsets.py",),
    "policies": ("tests/test_policies.py",),
    "spans": ("tests/test_spans.py", "tests/pipeline/test_merge.py"),
    "context": ("tests/test_context.py", "tests/test_edit_receipt.py"),
    "pipeline.merge": ("tests/pipeline/test_merge.py", "tests/pipeline/test_validated.py"),
    "saving": ("tests/test_saving.py", "tests/test_loading.py"),
}
"""Module of the safety core → the tests that must notice its mutants, those that are quick first."""
TARGET = 0.9
_PYTEST = ("-q", "-x", "--tb=no", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-profile", "mutants")
_PYTEST += ("-W", "ignore::pytest.PytestAssertRewriteWarning")
_PATIENCE = 4.0  # a mutant has taken too long after this many times the time of the original
_LEAST_PATIENCE = 60.0  # seconds
_COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list"}


@dataclass(frozen=True)
class Mutant:
    """A changed copy of a module.

    module (str): name of the module in the package.
    line (int): line of the change.
    change (str): what was changed.
    function (str): qualified name of the function that contains the change.
    source (str): source of the copy.
    """

    module: str
    line: int
    change: str
    function: str
    source: str


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], None]]]:
    """Yield the changes of one node: a description, and a function that changes the same node of a copy."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if other := _COMPARISONS.get(type(operator)):

                def compare(copied: Any, place: int = place, other: type = other) -> None:
                    copied.ops[place] = other()

                yield f"{type(operator).__name__} → {other.__name__}", compare
    elif isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} → {other.__name__}", lambda copied: setattr(copied, "op", other())
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        if other := _OPERATORS.get(type(node.op)):
            yield f"{type(node.op).__name__} → {other.__name__}", lambda copied: setattr(copied, "op", other())
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield f"{node.value} → {not node.value}", lambda copied: setattr(copied, "value", not copied.value)
        elif isinstance(node.value, int | float):
            yield f"{node.value} → {node.value + 1}", lambda copied: setattr(copied, "value", copied.value + 1)
    elif isinstance(node, ast.Name):
        if node.id in _NAMES and isinstance(node.ctx, ast.Load):
            yield f"{node.id} → {_NAMES[node.id]}", lambda copied: setattr(copied, "id", _NAMES[copied.id])
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition negated", lambda copied: setattr(copied, "test", ast.UnaryOp(ast.Not(), copied.test))
    elif isinstance(node, ast.comprehension):
        for place in range(len(node.ifs)):
            yield "filter left out", lambda copied, place=place: copied.ifs.pop(place)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not left out", lambda copied: setattr(copied, "op", ast.Not()) or _drop_not(copied)


def _drop_not(copied: Any) -> None:
    """Turn ``not x`` into ``not not x``."""
    copied.operand = ast.UnaryOp(ast.Not(), copied.operand)


def _statements(block: list[ast.stmt]) -> Iterator[tuple[int, str, ast.stmt]]:
    """Yield the replacements of statements in a block: place, description, new statement."""
    for place, node in enumerate(block):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
            yield place, f"{type(node).__name__.lower()} left out", ast.Pass()
        elif isinstance(node, ast.Return) and node.value is not None:
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                yield place, "return None", ast.Return(ast.Constant(None))
        elif isinstance(node, ast.Break):
            yield place, "break → continue", ast.Continue()
        elif isinstance(node, ast.Continue):
            yield place, "continue → break", ast.Break()


def _skipped(tree: ast.AST) -> set[int]:
    """Return the ids of the nodes that are not mutated: annotations, docstrings, ``__repr__`` and decorators."""
    skipped: set[int] = set()

    def skip(node: ast.AST | None) -> None:
        if node is not None:
            skipped.update(id(inner) for inner in ast.walk(node))

    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if node.name == "__repr__":
                skip(node)
            for part in (node.returns, *node.decorator_list):
                skip(part)
        elif isinstance(node, ast.ClassDef):
            for part in node.decorator_list:
                skip(part)
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            skip(node)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            skip(node.annotation)
        elif _is_text(node) or _is_type(node):
            skip(node)
    return skipped


def _is_type(node: ast.AST) -> bool:
    """Whether an expression is a type, such as Callable[[Doc], str]."""
    names = {"Callable", "Literal", "list", "dict", "tuple"}
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names


def make_mutants(module: str) -> list[Mutant]:
    """Make all mutants of a module.

    module (str): its name in the package, such as "pipeline.merge".
    RETURNS (list[Mutant]): the mutants, in the order of their lines.
    """
    tree = ast.parse((PACKAGE / (module.replace(".", "/") + ".py")).read_text(encoding="utf8"))
    skipped, nodes, homes = _skipped(tree), list(ast.walk(tree)), _functions(tree)
    usable = {name for name in set(homes.values()) if find_function(module, name)}
    made = []

    def add(number: int, change: str, edit: Callable[[Any], None]) -> None:
        copied = copy.deepcopy(tree)
        edit(list(ast.walk(copied))[number])
        source = ast.unparse(ast.fix_missing_locations(copied))
        place = nodes[number].target if isinstance(nodes[number], ast.comprehension) else nodes[number]
        made.append(Mutant(module, getattr(place, "lineno", 0), change, homes[id(nodes[number])], source))

    for number, node in enumerate(nodes):
        if id(node) in skipped or homes.get(id(node)) not in usable:
            continue
        for change, edit in _changes(node):
            add(number, change, edit)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            for place, change, new in _statements(block) if isinstance(block, list) else ():
                line = block[place].lineno  # type: ignore[index]
                add(number, f"line {line}: {change}", lambda copied, n=name, p=place, s=new: _set(copied, n, p, s))
    return sorted(made, key=lambda mutant: mutant.line)


def _functions(tree: ast.Module) -> dict[int, str]:
    """Map the id of each node in the body of a function to the qualified name of the outermost such function."""
    found: dict[int, str] = {}
    places: list[tuple[str, Any]] = [("", tree)]
    while places:
        prefix, node = places.pop()
        for inner in node.body:
            if isinstance(inner, ast.ClassDef):
                places.append((f"{prefix}{inner.name}.", inner))
            elif isinstance(inner, ast.FunctionDef):
                found[id(inner)] = prefix + inner.name
                for part in inner.body:
                    found.update((id(each), prefix + inner.name) for each in ast.walk(part))
    return found


def _set(copied: Any, name: str, place: int, new: ast.stmt) -> None:
    """Replace a statement of a block."""
    getattr(copied, name)[place] = new


def find_function(module: str, name: str) -> FunctionType | None:
    """Find a function of an imported module whose code can be replaced.

    module (str): name of the module in the package.
    name (str): qualified name of the function.
    RETURNS (Optional[FunctionType]): the function itself, below its decorators; None if it cannot be found.
    """
    found: Any = import_module(f"spacy_deid.{module}")
    for part in name.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
        if isinstance(found, property):
            found = found.fget
        if isinstance(found, classmethod | staticmethod):
            found = found.__func__
    found = inspect.unwrap(found) if callable(found) else None
    return found if isinstance(found, FunctionType) and found.__qualname__ == name else None


def find_code(code: CodeType, name: str) -> CodeType | None:
    """Find the code of a function in the code of its module."""
    for part in code.co_consts:
        if isinstance(part, CodeType):
            if part.co_qualname == name:
                return part
            if inner := find_code(part, name):
                return inner
    return None


def replace_code(mutant: Mutant) -> None:
    """Replace the code of the function that a mutant changes."""
    function = find_function(mutant.module, mutant.function)
    code = find_code(compile(mutant.source, mutant.module, "exec"), mutant.function)
    assert function is not None
    assert code is not None
    function.__code__ = code


def run_tests(mutant: Mutant | None, tests: Sequence[str], seconds: float) -> bool:
    """Run tests in a fork of this process.

    mutant (Optional[Mutant]): the mutant to test; None for the original.
    tests (Sequence[str]): files of tests.
    seconds (float): time limit.
    RETURNS (bool): whether all tests passed in time.
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        code = 70
        try:
            if mutant:
                replace_code(mutant)
            code = int(pytest.main([*tests, *_PYTEST]))
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.02)
    with suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def test_module(module: str, number: int, seed: int, show: bool) -> tuple[int, int, int]:
    """Test mutants of a module.

    module (str): name of the module.
    number (int): number of mutants to draw; 0 for all.
    seed (int): seed of the draw.
    show (bool): whether to print the mutants that survive.
    RETURNS (tuple[int, int, int]): numbers of killed, tested and possible mutants.
    RAISES: typer.Exit(1) if the tests of the original fail.
    """
    mutants, tests = make_mutants(module), TESTS[module]
    chosen = random.Random(seed).sample(mutants, min(number or len(mutants), len(mutants)))
    started = time.monotonic()
    if not run_tests(None, tests, 600):
        typer.echo(f"{module}: its tests fail without any change", err=True)
        raise typer.Exit(1)
    limit = max(_LEAST_PATIENCE, _PATIENCE * (time.monotonic() - started))
    killed = 0
    for mutant in chosen:
        survived = run_tests(mutant, tests, limit)
        killed += not survived
        if show and survived:
            typer.echo(f"  survives: {module}, line {mutant.line}: {mutant.change}")
    typer.echo(f"{module}: {killed} of {len(chosen)} mutants killed, of {len(mutants)} possible ones")
    return killed, len(chosen), len(mutants)


def main(
    context: typer.Context,
    number: Annotated[int, typer.Option(min=0, help="Mutants to draw of each module, 0 for all.")] = 40,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 1,
    only: Annotated[list[str] | None, typer.Option(help="Modules to test. Default: all.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the mutants that survive.")] = False,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/mutants.json"),
) -> None:
    """Test mutants of the safety core, and write the share that is killed."""
    # the same examples for every mutant, and no search for the simplest one that fails
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile("mutants", derandomize=True, phases=phases, deadline=None)
    for module in only or TESTS:
        _write(module, test_module(module, number, seed, show), metrics, command_line("benchmarks.mutants", context))


def _write(module: str, counts: tuple[int, int, int], metrics: Path, command: str) -> None:
    """Write the metric rows of a module, and those of all modules that were tested so far."""
    killed, tested, possible = counts
    share, today, data = round(killed / tested, 4), date.today().isoformat(), f"spacy_deid.{module}"
    found = replace_rows(
        metrics,
        [
            MetricRow(f"{module}: mutants killed", share, TARGET, "higher", data, "none", command, today),
            MetricRow(f"{module}: mutants tested", tested, None, "higher", data, "none", command, today),
            MetricRow(f"{module}: possible mutants", possible, None, "higher", data, "none", command, today),
        ],
    )
    rows = {row.name: row.value for row in found}
    sizes = {one: rows[f"{one}: mutants tested"] for one in TESTS if f"{one}: mutants tested" in rows}
    total = sum(sizes.values())
    share = round(sum(rows[f"{one}: mutants killed"] * size for one, size in sizes.items()) / total, 4)
    data = "safety core"
    rows_of_all = [
        MetricRow("all modules: mutants killed", share, TARGET, "higher", data, "none", command, today),
        MetricRow("all modules: mutants tested", total, None, "higher", data, "none", command, today),
        MetricRow("all modules: modules tested", len(sizes), None, "higher", data, "none", command, today),
    ]
    replace_rows(metrics, rows_of_all)


if __name__ == "__main__":
    typer.run(main)
