"""Measure runs over a warehouse of notes: overhead, scaling, restart after kills, and the cost of 100 million notes.

    python -m benchmarks.scale speed --notes 100000
    python -m benchmarks.scale kills --kills 20

`speed` times the bare function `deidentify_batch` and runs of each engine with one and two workers, in turn, on notes
that are all different. The processor time of a partition does not depend on what else the machine does; the rate does,
so the load of the machine is one of the figures. The rate of a run counts from the end of the first partition of each
worker, because loading a pipeline does not depend on the number of notes.

`kills` ends drivers and workers by SIGKILL at random moments, and compares the output with that of a run that nothing
disturbs. Rows are written to metrics/scale.json.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[name] = "1"

import json
import math
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import psutil
import pyarrow as pa
import typer
from pyarrow import parquet

from benchmarks.throughput import make_notes
from spacy_deid.evaluation import MetricRow, write_rows
from spacy_deid.warehouse.batches import deidentify_batch
from spacy_deid.warehouse.engines import LocalEngine, Outcome, process
from spacy_deid.warehouse.inputs import InputSettings
from spacy_deid.warehouse.run import Run
from spacy_deid.warehouse.settings import Settings, TableColumns

app = typer.Typer(pretty_exceptions_enable=False)
METRICS = Path("metrics/scale.json")
NOTES = 100_000_000
CORES = (1, 16, 256)
WORKERS = {"local": "multiprocessing.spawn", "ray": "ray::", "spark": "pyspark.daemon"}

Engines = Annotated[list[str] | None, typer.Option("--engine", help="Engines to measure. Default: all three.")]
Pipeline = Annotated[str, typer.Option(help="Pipeline to run.")]


@app.command()
def speed(
    notes: Annotated[int, typer.Option(help="Number of notes.")] = 100_000,
    rows: Annotated[int, typer.Option(help="Notes in a partition.")] = 1000,
    pipeline: Pipeline = "es",
    engine: Engines = None,
    prices: Annotated[Path, typer.Option(help="File of prices.")] = Path("benchmarks/prices.toml"),
) -> None:
    """Measure the overhead over the bare function, the ratio of two workers to one, and the cost of many notes."""
    engines = list(WORKERS) if engine is None else engine
    stamp = make_stamp(f"python -m benchmarks.scale speed --notes {notes} --rows {rows} --pipeline {pipeline}", notes)
    row = partial(MetricRow, **stamp)
    price = tomllib.loads(prices.read_text(encoding="utf8"))["per_hour"]["2 cores"] / 2
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_notes(folder / "notes.parquet", notes)
        overhead = round(measure_overhead(folder, pipeline, rows), 3)
        name = "partition over the bare function, processor time in turn"
        write_rows(METRICS, [row(name, overhead, 0.1, "lower")])
        for each in engines:
            # next to its engine, because the machine may be slower at another time
            bare = time_bare(folder / "notes.parquet", pipeline, min(rows, 1000))
            one, two = (measure(folder, pipeline, each, n_process, rows) for n_process in (1, 2))
            overhead = round(one.processor / bare - 1, 3)
            twice = round(2 * one.processor / two.processor, 3)
            metrics = [
                row(f"{each}: overhead over the bare function, processor time", overhead, 0.1, "lower"),
                row(f"{each}: two workers over one, notes/s", round(two.rate / one.rate, 3), 1.7, "higher"),
                row(f"{each}: two workers over one, by processor time", twice, None, "higher"),
                row(f"{each}: processor seconds per 1,000 notes, bare function", round(bare * 1000, 3), None, "lower"),
                row(f"{each}: processor seconds per 1,000 notes", round(one.processor * 1000, 3), None, "lower"),
                row(f"{each}: notes/s of one worker", round(one.rate, 1), None, "higher"),
                row(f"{each}: notes/s of two workers", round(two.rate, 1), None, "higher"),
                row(f"{each}: load of the machine before one worker", one.load, None, "lower"),
                row(f"{each}: load of the machine before two workers", two.load, None, "lower"),
                row(f"{each}: seconds to the first partition", round(one.start, 1), None, "lower"),
            ]
            for cores in CORES:
                hours, what = estimate_hours(one, two, cores), f"{each}: 100 million notes on {cores} core(s)"
                metrics += [
                    row(f"{what}, hours", round(hours, 1), None, "lower"),
                    row(f"{what}, US dollars", round(hours * cores * price, 2), None, "lower"),
                ]
            write_rows(METRICS, metrics)
            show(metrics)


@app.command()
def kills(
    kills: Annotated[int, typer.Option(help="Number of kills per engine, half of them of drivers.")] = 20,
    notes: Annotated[int, typer.Option(help="Number of notes.")] = 4000,
    rows: Annotated[int, typer.Option(help="Notes in a partition.")] = 50,
    pipeline: Pipeline = "es",
    engine: Engines = None,
    seed: Annotated[int, typer.Option(help="Seed of the moments.")] = 0,
) -> None:
    """Kill drivers and workers at random moments and compare the output with that of an undisturbed run."""
    command = f"python -m benchmarks.scale kills --kills {kills} --notes {notes} --rows {rows} --pipeline {pipeline}"
    stamp, rng = make_stamp(command, notes), random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_notes(folder / "notes.parquet", notes)
        with driver(folder, pipeline, "local", 2, rows, "undisturbed") as process:
            process.wait()
        expected = read_result(folder / "undisturbed")
        for each in engine or list(WORKERS):
            done = {"driver": 0, "worker": 0}
            differences = {"lost": 0, "doubled": 0, "different": 0, "half-written": 0}
            turn = 0
            while sum(done.values()) < kills:
                output, turn = f"{each}{turn}", turn + 1
                while not kill_once(folder, pipeline, each, rows, output, rng, done, kills):
                    pass
                for what, count in compare(expected, folder / output).items():
                    differences[what] += count
                typer.echo(f"{each}: {done}, {differences}")
            row = partial(MetricRow, **stamp)
            metrics = [
                row(f"{each}: notes {what} after kills", count, 0, "lower") for what, count in differences.items()
            ]
            metrics += [row(f"{each}: kills of a {what}", count, None, "higher") for what, count in done.items()]
            write_rows(METRICS, metrics)


@dataclass(frozen=True)
class Measured:
    """The figures of one run.

    processor (float): processor seconds per note.
    rate (float): notes per second from the end of the first partitions on.
    start (float): seconds from the start of the command to the first partition that was done.
    rest (float): seconds of the command outside of partitions: planning, loading, summary.
    load (float): load average of the machine before the run.
    partition (float): mean seconds of a partition.
    """

    processor: float
    rate: float
    start: float
    rest: float
    load: float
    partition: float


def measure(folder: Path, pipeline: str, engine: str, n_process: int, rows: int) -> Measured:
    """Run the command once."""
    output = f"{engine}-{n_process}"
    load, start, stamp = os.getloadavg()[0], time.monotonic(), time.time()
    with driver(folder, pipeline, engine, n_process, rows, output) as process:
        if process.wait():
            raise SystemExit(f"{engine} failed: {(folder / 'log').read_text()[-2000:]}")
    whole = time.monotonic() - start
    paths = list((folder / output / "run" / "partitions").glob("*.json"))
    records = [json.loads(path.read_bytes()) for path in paths]
    ends = sorted((path.stat().st_mtime, record["input"]["rows"]) for path, record in zip(paths, records, strict=True))
    total = sum(count for _, count in ends)
    later = sum(count for _, count in ends[n_process:])
    # the first partition of a worker also warms the caches of its pipeline
    warm = sorted(record["processor_seconds"] / record["input"]["rows"] for record in records)
    return Measured(
        processor=statistics.median(warm),
        rate=later / (ends[-1][0] - ends[n_process - 1][0]),
        start=ends[0][0] - stamp,
        rest=whole - (ends[-1][0] - ends[0][0]) * total / later,
        load=round(load, 2),
        partition=statistics.mean(record["seconds"] for record in records),
    )


@dataclass
class Alternating(LocalEngine):
    """Processes partitions in this process, each followed by the bare function on the same notes.

    table (pyarrow.Table): the notes.
    rows (int): notes in a partition.
    """

    table: Any
    rows: int

    def run(self, folder: Path, names: Sequence[str], n_process: int) -> Iterator[Outcome]:
        """See `Engine`. The ratios of processor time are in `ratios` afterwards."""
        settings = Settings.from_json(json.loads((folder / "run" / "manifest.json").read_bytes())["settings"])
        deid = settings.open()
        self.ratios = []
        for number, name in enumerate(names):
            start = time.process_time()
            yield process(str(folder), name)
            middle = time.process_time()
            batch = self.table.slice(number * self.rows, self.rows).combine_chunks().to_batches()[0]
            deidentify_batch(batch, deid, settings.columns)
            self.ratios.append((middle - start) / (time.process_time() - middle))


def measure_overhead(folder: Path, pipeline: str, rows: int, partitions: int = 15) -> float:
    """The processor time of a partition over that of the bare function, less 1: the median of some partitions."""
    path = folder / "some.parquet"
    table = parquet.read_table(folder / "notes.parquet").slice(0, rows * (partitions + 1))
    parquet.write_table(table, path, row_group_size=1000)
    engine = Alternating(table, rows)
    Run(Settings(pipeline), InputSettings(str(path), rows=rows), folder / "alternating", engine, 0)()
    return statistics.median(engine.ratios[1:]) - 1


def estimate_hours(one: Measured, two: Measured, cores: int) -> float:
    """Estimate the hours for many notes, from measured figures.

    Each note costs its processor time in a run with two workers, in which the engine works beside them; to that come
    the seconds outside of partitions, and one partition at the end that not all workers have.
    """
    processor = max(one.processor, two.processor)
    return (NOTES * processor / cores + max(one.rest, two.rest) + two.partition * (cores > 1)) / 3600


def time_bare(path: Path, pipeline: str, size: int, batches: int = 5) -> float:
    """Processor seconds per note of the pure function: the median of some batches after a first one."""
    settings = Settings(pipeline, TableColumns())
    deid = settings.open()
    table = parquet.read_table(path)
    seconds = []
    for number in range(min(batches + 1, math.ceil(table.num_rows / size))):
        batch = table.slice(number * size, size).combine_chunks().to_batches()[0]
        start = time.process_time()
        deidentify_batch(batch, deid, settings.columns)
        seconds.append((time.process_time() - start) / batch.num_rows)
    return statistics.median(seconds[1:])


@contextmanager
def driver(
    folder: Path, pipeline: str, engine: str, n_process: int, rows: int, output: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start the command, and leave none of its processes behind."""
    command = [sys.executable, "-m", "spacy_deid", "run", "--pipeline", pipeline, "--input", folder / "notes.parquet"]
    command += ["--output", folder / output, "--engine", engine, "--n-process", str(n_process)]
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen([*map(str, command), "--partition-rows", str(rows)], stdout=log, stderr=log)
    try:
        yield process
    finally:
        if process.poll() is None:
            kill_all([*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)])
            process.wait()


def kill_all(processes: list[psutil.Process]) -> None:
    """Kill processes that may have ended."""
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.kill()


def kill_once(
    folder: Path,
    pipeline: str,
    engine: str,
    rows: int,
    output: str,
    rng: random.Random,
    done: dict[str, int],
    kills: int,
) -> bool:
    """Start or continue a run, kill some workers and then the driver at random moments. RETURNS: whether it ended."""
    records = folder / output / "run" / "partitions"
    with driver(folder, pipeline, engine, 2, rows, output) as process:
        count = len(list(records.glob("*.json")))
        while process.poll() is None and len(list(records.glob("*.json"))) <= count:
            time.sleep(0.02)
        while process.poll() is None and sum(done.values()) < kills:
            what = "driver" if done["driver"] <= done["worker"] else "worker"
            with suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0, 3))
            if process.poll() is not None:
                break
            if what == "driver":
                process.send_signal(signal.SIGKILL)
                process.wait()
                done["driver"] += 1
                return False
            if worker := find_worker(process.pid, engine, rng):
                kill_all([worker])
                done["worker"] += 1
        return process.wait() == 0


def find_worker(pid: int, engine: str, rng: random.Random) -> psutil.Process | None:
    """A worker process of a driver; None if there is none at the moment."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for each in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if WORKERS[engine] in " ".join(each.cmdline()) and "resource_tracker" not in " ".join(each.cmdline()):
                    found += [each] if not each.children() else []
    return rng.choice(found) if found else None


def read_result(output: Path) -> dict[str, Any]:
    """The released rows of a run by id, their number, and the number of files that cannot be read."""
    rows: dict[str, Any] = {}
    total = broken = 0
    for path in (output / "notes").glob("*"):
        try:
            part = parquet.read_table(path).to_pylist()
        except (pa.ArrowException, OSError):
            broken += 1
            continue
        total += len(part)
        rows.update({row["note_id"]: row for row in part})
    return {"rows": rows, "total": total, "broken": broken}


def compare(expected: dict[str, Any], output: Path) -> dict[str, int]:
    """Count how the output of a run differs from the expected one."""
    found = read_result(output)
    return {
        "lost": len(expected["rows"].keys() - found["rows"].keys()),
        "doubled": found["total"] - len(found["rows"]),
        "different": sum(row != expected["rows"].get(key) for key, row in found["rows"].items()),
        "half-written": found["broken"],
    }


def write_notes(path: Path, count: int) -> None:
    """Write notes that are all different."""
    texts = list(islice(make_notes(random.Random(0)), count))
    parquet.write_table(pa.table({"note_id": range(count), "text": texts}), path, row_group_size=1000)


def make_stamp(command: str, notes: int) -> dict[str, Any]:
    """The fields that all rows of a command share."""
    return {"data": f"{notes} made notes", "split": "none", "command": command, "date": date.today().isoformat()}


def show(rows: list[MetricRow]) -> None:
    """Print rows."""
    for row in rows:
        target = "" if row.target is None else f" (target {row.target:g})"
        typer.echo(f"{row.name:<70}{row.value:>12,.4g}{target}")


if __name__ == "__main__":
    app()
