"""Search for inputs that break a promise with Atheris, which changes those inputs further that reach new code.

    python -m benchmarks.coverage_fuzz --minutes 60

The targets and their promises are those of `benchmarks.fuzz`. In addition, an input must not take longer than a time
limit or more memory than a limit. Needs the extra "fuzz". Rows are written to metrics/fuzz.json, with the split
"coverage".
"""

import os
import re
import sys
import tempfile
import time
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated

import atheris
import typer

# All modules that are imported from here on, also within functions, report which of their code an input reaches.
atheris.instrument_imports(include=["spacy_deid", "openpyxl", "striprtf"]).__enter__()

from benchmarks.fuzz import Target, make_targets
from spacy_deid.evaluation import MetricRow
from spacy_deid.evaluation.rows import command_line, replace_rows

SECONDS = 120  # for one input: a hang
MEGABYTES = 6000  # of the process
LENGTH = 20_000  # bytes of an input
_TRIED = re.compile(r"stat::number_of_executed_units: (\d+)")
_REACHED = re.compile(r"cov: (\d+)")
_WHY = re.compile(r"(?:Broken: .*|ERROR: libFuzzer: .*|SUMMARY: libFuzzer: .*)")


def fuzz(target: Target, seconds: int, seed: int, folder: Path) -> tuple[int, int, str]:
    """Try inputs of a target in a fork of this process.

    target (Target): the target.
    seconds (int): time for all inputs.
    seed (int): seed of the random numbers.
    folder (Path): empty folder for the inputs that reached new code, and the input that broke a promise.
    RETURNS (tuple[int, int, str]): number of inputs that were tried, places in the code that they reached, and what
        broke; "" if nothing did.
    """
    (folder / "inputs").mkdir(parents=True)
    for number, data in enumerate(target.seeds):
        (folder / "inputs" / f"seed{number}").write_bytes(data)
    options = [f"-max_total_time={seconds}", f"-seed={seed}", f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}"]
    if words := target.words():
        quoted = ("".join(f"\\x{byte:02x}" for byte in word) for word in words)
        (folder / "words").write_text("".join(f'"{word}"\n' for word in quoted), encoding="ascii")
        options.append(f"-dict={folder}/words")
    options += [f"-max_len={LENGTH}", "-print_final_stats=1", f"-artifact_prefix={folder}/", f"{folder}/inputs"]
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        atheris.Setup(["fuzz", *options], lambda data: target.check(target.convert(data)))
        atheris.Fuzz()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    log_text = (folder / "log").read_text(encoding="utf8", errors="replace")
    tried, reached, why = (pattern.findall(log_text) for pattern in (_TRIED, _REACHED, _WHY))
    broken = "" if status == 0 else why[0] if why else f"exit status {status}"
    return int(tried[-1]) if tried else 0, int(reached[-1]) if reached else 0, broken


def main(
    context: typer.Context,
    minutes: Annotated[float, typer.Option(min=0, help="Minutes for all targets together.")] = 60,
    only: Annotated[list[str] | None, typer.Option(help="Targets to try, by the beginning of their names.")] = None,
    seed: Annotated[int, typer.Option(min=1, help="Seed of the random numbers.")] = 1,
    keep: Annotated[Path | None, typer.Option(help="Empty folder for logs, and inputs that broke a promise.")] = None,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/fuzz.json"),
) -> None:
    """Try inputs of each target. Exits with 1 if a promise was broken."""
    folder = keep or Path(tempfile.mkdtemp(prefix="coverage-fuzz-"))
    targets = {name: each for name, each in make_targets().items() if not only or name.startswith(tuple(only))}
    for name, target in targets.items():  # warm up, so that the forks share what is loaded
        if name != "REST requests":  # the service starts threads, which a fork does not have
            target.check(target.convert(target.seeds[0]))
    end, tried, reached, broken = time.monotonic() + 60 * minutes, {}, {}, {}
    for number, (name, target) in enumerate(targets.items()):
        seconds = max(1, int((end - time.monotonic()) / (len(targets) - number)))
        tried[name], reached[name], broken[name] = fuzz(target, seconds, seed, folder / name.replace(" ", "_"))
        typer.echo(f"{name}: {tried[name]:,} inputs, {reached[name]:,} places reached {broken[name]}")
    failed = sum(map(bool, broken.values()))
    typer.echo(f"{sum(tried.values()):,} inputs of {len(targets)} targets, {failed} target(s) broke a promise")
    if not only:
        command, today = (
            command_line("benchmarks.coverage_fuzz", context, ("keep", "metrics")),
            date.today().isoformat(),
        )
        row = partial(MetricRow, data="all targets", split="coverage", command=command, date=today)
        counts = {"inputs tried": sum(tried.values()), **{f"inputs tried: {name}": tried[name] for name in targets}}
        rows = [row(name, count, None, "higher") for name, count in counts.items()]
        replace_rows(metrics, [row("broken promises", failed, 0, "lower"), *rows])
    raise typer.Exit(int(failed > 0))


if __name__ == "__main__":
    typer.run(main)
