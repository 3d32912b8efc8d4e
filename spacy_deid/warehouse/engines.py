"""Process the partitions of a run in worker processes of this machine, with Ray, or with Spark.

An engine receives only the folder of a run and names of partitions; its workers read the settings from the folder and
the notes from the input, and write the output themselves. On a cluster, all machines must see the folder, the input
and the files that the settings name under the same paths.

A worker that dies is replaced, and its partition is tried again. If it dies again, the partition is reported as
"killed", and the driver processes it note by note; see `run`.
"""

import json
import logging
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from ..deidentifier import Deidentifier
from ..errors import ConfigError, Errors, describe, printable, quiet_warnings
from ..processes import Failure, Workers, attempt
from .manifest import RunFolder
from .partition import PartitionWorker, StopRun

EngineName = Literal["local", "ray", "spark"]
_TRIES = 3  # how often Ray and Spark try a partition again whose worker died
_LOOKS = 0.5  # seconds between two looks for finished partitions of Spark


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of processing a partition.

    name (str): name of the partition.
    kind (str): "done"; "failed" if its input could not be read; "killed" if its worker died; "stopped" if no partition
        can be processed.
    record (dict): record of the partition (checksums and counts), if it is done.
    reason (str): why it is not done; "" if it is.
    """

    name: str
    kind: Literal["done", "failed", "killed", "stopped"]
    record: dict[str, Any] = field(default_factory=dict, repr=False)
    reason: str = ""

    def dump(self) -> str:
        """Return the outcome as JSON, so that a worker can send it."""
        return json.dumps([self.name, self.kind, self.record, self.reason])


def process(folder: str, name: str) -> Outcome:
    """Process a partition in this process, which keeps the pipeline for further partitions.

    folder (str): output folder of the run.
    name (str): name of the partition.
    RETURNS (Outcome): the result. Errors are returned as outcomes too, so that only a crash ends the process.
    """
    worker = _WORKERS.get(folder) or PartitionWorker(Path(folder))
    _WORKERS.clear()
    _WORKERS[folder] = worker
    try:
        with quiet_warnings(_print):  # in a worker, warnings go to a log
            record = worker(name)
    except StopRun as error:
        return Outcome(name, "stopped", reason=str(error))
    except Exception as error:
        return Outcome(name, "failed", reason=describe(error))
    return Outcome(name, "failed", reason=record.reason) if isinstance(record, Failure) else _done(name, record)


def keep_loaded(folder: Path, deid: Deidentifier) -> None:
    """Process the partitions of a run in this process with a pipeline that is loaded already.

    folder (Path): output folder of the run.
    deid (Deidentifier): created with `Settings.open` by the settings in the manifest of the run.
    """
    _WORKERS.clear()
    _WORKERS[str(folder)] = PartitionWorker(folder, deid)


_WORKERS: dict[str, PartitionWorker] = {}  # of this process: a worker of Ray or Spark serves one partition at a time


def _print(line: str) -> None:
    """Print a line to the standard error of this process."""
    print(printable(line), file=sys.stderr, flush=True)


def _done(name: str, record: dict[str, Any]) -> Outcome:
    """Create the outcome of a partition that is done."""
    return Outcome(name, "done", record)


class Engine(Protocol):
    """Processes the partitions of a run in several workers.

    name (str): name of the engine.
    on_this_machine (bool): whether the workers share the memory of this machine.
    """

    @property
    def name(self) -> EngineName: ...

    @property
    def on_this_machine(self) -> bool: ...

    def check(self) -> None:
        """Check that the engine is installed. RAISES: ConfigError if its package (D963) or Java (D968) is missing."""

    def run(self, folder: Path, names: Sequence[str], n_process: int) -> Iterator[Outcome]:
        """Process partitions.

        folder (Path): output folder of the run.
        names (Sequence[str]): names of the partitions.
        n_process (int): number of workers.
        YIELDS (Outcome): one per partition, in the order in which they end.
        """


class LocalEngine:
    """Processes partitions in spawned worker processes on this machine. With 0 workers, this process does it, and a
    note that crashes a library ends the run.
    """

    name: EngineName = "local"
    on_this_machine = True

    def check(self) -> None:
        """Check that the packages of the engine are installed and that it can start; see `Engine`."""

    def run(self, folder: Path, names: Sequence[str], n_process: int) -> Iterator[Outcome]:
        """Process partitions and yield their outcomes as they finish; see `Engine`."""
        action = _LocalAction(str(folder))
        if not n_process:
            yield from map(action, names)
            return
        with Workers(action, min(n_process, len(names)), start="spawn") as workers:
            for name, outcome in workers.run(names):
                yield Outcome(name, "killed", reason=outcome.reason) if isinstance(outcome, Failure) else outcome


@dataclass(frozen=True, slots=True)
class _LocalAction:
    """Calls `process` for a partition of one run; can be pickled for worker processes."""

    folder: str

    def __call__(self, name: str) -> Outcome:
        return process(self.folder, name)


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Processes partitions with Ray, one task per partition.

    address (Optional[str]): address of a Ray cluster; None to start Ray on this machine.
    """

    address: str | None = None
    name: EngineName = "ray"

    @property
    def on_this_machine(self) -> bool:
        """Whether Ray is started on this machine."""
        return self.address is None

    def check(self) -> None:
        """Check that the packages of the engine are installed and that it can start; see `Engine`."""
        _require("ray", "ray")

    def run(self, folder: Path, names: Sequence[str], n_process: int) -> Iterator[Outcome]:
        """Process partitions and yield their outcomes as they finish; see `Engine`."""
        import ray

        here: dict[str, Any] = {"num_cpus": n_process, "include_dashboard": False}
        options = {"address": self.address} if self.address else here
        ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
        try:
            task = ray.remote(num_cpus=1, max_retries=_TRIES)(process)
            waiting: dict[Any, str] = {}
            todo = iter(names)
            while True:
                while len(waiting) < 2 * n_process and (name := next(todo, None)) is not None:
                    waiting[task.remote(str(folder), name)] = name
                if not waiting:
                    return
                ready, _ = ray.wait(list(waiting), num_returns=1)
                for reference in ready:
                    name = waiting.pop(reference)
                    found = attempt(ray.get, reference)
                    yield Outcome(name, "killed", reason=Errors.D770) if isinstance(found, Failure) else found
        finally:
            ray.shutdown()


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Processes partitions with Spark, one task of `mapInArrow` per partition.

    address (Optional[str]): master of a cluster, such as "spark://host:7077"; None to run Spark on this machine only.
    """

    address: str | None = None
    name: EngineName = "spark"

    @property
    def on_this_machine(self) -> bool:
        """Whether Spark runs only on this machine."""
        return self.address is None

    def check(self) -> None:
        """Check that the packages of the engine are installed and that it can start; see `Engine`."""
        for package in ("pyspark", "pandas"):  # mapInArrow needs pandas, too
            _require("spark", package)
        if self.address is None and not shutil.which("java"):
            raise ConfigError(Errors.D968)

    def run(self, folder: Path, names: Sequence[str], n_process: int) -> Iterator[Outcome]:
        """Process partitions and yield their outcomes as they finish; see `Engine`. Spark returns results only at the
        end, so finished partitions are found by their records.
        """
        from pyspark.sql import SparkSession

        master = self.address or f"local[{n_process},{_TRIES + 1}]"
        builder = SparkSession.builder.master(master).appName("spacy-deid").config("spark.ui.enabled", "false")
        builder = builder.config("spark.log.level", "OFF").config("spark.ui.showConsoleProgress", "false")
        session = builder.config("spark.task.maxFailures", str(_TRIES + 1)).getOrCreate()
        try:
            tasks = session.sparkContext.parallelize([(name,) for name in names], len(names))
            frame = session.createDataFrame(tasks, "name string")
            mapped = frame.mapInArrow(_SparkAction(str(folder)), "outcome string")
            yield from _watch(mapped.collect, RunFolder(folder), names)
        finally:
            session.stop()


@dataclass(frozen=True, slots=True)
class _SparkAction:
    """Calls `process` in `mapInArrow`: converts record batches of partition names to record batches of outcomes."""

    folder: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            outcomes = [process(self.folder, name).dump() for name in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pydict({"outcome": outcomes})


def _watch(collect: Any, folder: RunFolder, names: Sequence[str]) -> Iterator[Outcome]:
    """Run a Spark job in a thread; yield each partition when its record appears, and at the end those without one."""
    found: list[list[Any]] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            found.extend(json.loads(row[0]) for row in collect())
        except BaseException as error:
            errors.append(error)

    manifest = folder.read_manifest()
    fingerprint = manifest.fingerprint if manifest else ""
    started = time.time()
    thread = threading.Thread(target=work, name="spark", daemon=True)
    thread.start()
    left = set(names)
    running = True
    while left and running:
        thread.join(_LOOKS)
        running = thread.is_alive()
        for name in sorted(left):
            path = folder.record(name)
            if path.exists() and path.stat().st_mtime >= started - 1:
                record = folder.read_record(name)
                if record and record["fingerprint"] == fingerprint:
                    left.discard(name)
                    yield _done(name, record)
    thread.join()
    outcomes = {values[0]: Outcome(*values) for values in found}
    for name in sorted(left):
        yield outcomes.get(name) or Outcome(name, "killed", reason=Errors.D770)


def _require(engine: str, package: str) -> None:
    """Check that a package is installed. RAISES: ConfigError (D963) if it is not."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise ConfigError(Errors.D963.format(engine=engine, package=package))


def make_engine(name: EngineName, address: str | None = None) -> Engine:
    """Create an engine by name and check that its packages are installed.

    name (str): "local", "ray" or "spark".
    address (Optional[str]): address of a cluster; None for this machine.
    RETURNS (Engine): the engine.
    RAISES: ConfigError if it is not installed (D963, D968), or "local" is given an address (D950).
    """
    if name == "local" and address:
        raise ConfigError(Errors.D950.format(reason="engine 'local' has no address"))
    engine: Engine = LocalEngine()
    if name != "local":
        engine = RayEngine(address) if name == "ray" else SparkEngine(address)
    engine.check()
    return engine
