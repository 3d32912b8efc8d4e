"""Runs whose driver or workers are killed at random moments, that meet a full disk, or a note that kills its worker.

Drivers are forked from a server process that has imported the package, so that a start takes no seconds.
"""

import importlib
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

import spacy_deid
from spacy_deid.saving import save
from spacy_deid.warehouse.inputs import InputSettings
from spacy_deid.warehouse.run import Run
from spacy_deid.warehouse.settings import Settings

from .conftest import make_rows, read_notes, read_quarantine, result_of, write_parquet

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
CONTEXT = multiprocessing.get_context("forkserver")
# spaCy imports spacy_transformers with every pipeline if it is installed
CONTEXT.set_forkserver_preload(["spacy_deid.warehouse.run", "pyarrow.parquet", "spacy_transformers", __name__])


def drive(pipeline: str, where: str, output: str, n_process: int, rows: int = 30, file_limit: int = 0) -> None:
    """A driver, in a process of its own. Its messages go to the file "log" beside the output."""
    sys.stdout = sys.stderr = open(f"{output}.log", "a")  # noqa: SIM115
    if file_limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
    try:
        Run(Settings(pipeline), InputSettings(where, rows=rows), Path(output), n_process=n_process)()
    except Exception as error:
        print(error, file=sys.stderr, flush=True)
        sys.exit(1)


@pytest.fixture
def start(pipeline_folder, undisturbed, tmp_path):
    """Start a driver over the same notes."""
    started = []

    def begin(n_process: int = 0, pipeline: Path = pipeline_folder, **given) -> multiprocessing.Process:
        arguments = (str(pipeline), str(undisturbed / "in"), str(tmp_path / "out"), n_process)
        process = CONTEXT.Process(target=drive, args=arguments, kwargs=given)
        process.start()
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.join()


@pytest.fixture(scope="module")
def undisturbed(pipeline_folder, tmp_path_factory):
    """A folder with 600 notes, "in", and the output of a run over them that nothing disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    rows = make_rows(600)
    rows["text"][77] = None
    write_parquet(folder / "in" / "a.parquet", rows, row_group_size=170)
    source = InputSettings(str(folder / "in"), rows=30)
    summary = Run(Settings(str(pipeline_folder)), source, folder / "out", n_process=0)()
    assert summary["rows"] == {"read": 600, "released": 599, "quarantined": 1}
    return folder


def records(output: Path) -> int:
    return len(list((output / "run" / "partitions").glob("*.json")))


def wait_for(process: multiprocessing.Process, output: Path, count: int) -> None:
    """Wait until a number of partitions is done."""
    end = time.monotonic() + 120
    while process.is_alive() and records(output) < count and time.monotonic() < end:
        time.sleep(0.005)


def test_a_driver_that_is_killed_again_and_again_loses_and_doubles_nothing(start, undisturbed, tmp_path):
    rng, output, kills = random.Random(0), tmp_path / "out", 0
    expected = result_of(undisturbed / "out")
    for _ in range(5):
        process = start()
        wait_for(process, output, records(output) + rng.randrange(1, 5))
        time.sleep(rng.random() / 20)
        kills += process.is_alive()
        process.kill()
        process.join()
        assert result_of(output).items() <= expected.items()
    assert kills >= 2
    last = start()
    last.join(120)
    assert last.exitcode == 0
    assert result_of(output) == expected
    assert list(output.rglob(".*.tmp")) == []


def test_workers_that_are_killed_lose_and_double_nothing(start, undisturbed, tmp_path):
    rng, output = random.Random(1), tmp_path / "out"
    process = start(n_process=2)
    kills = 0
    for count in (1, 7):
        wait_for(process, output, count)
        time.sleep(rng.random() / 20)
        for worker in psutil.Process(process.pid).children()[-1:]:
            if "resource_tracker" not in " ".join(worker.cmdline()):
                worker.kill()
                kills += 1
    process.join(120)
    assert process.exitcode == 0
    assert kills
    assert result_of(output) == result_of(undisturbed / "out")


def test_the_result_does_not_depend_on_order_and_number_of_partitions(make_run, undisturbed, tmp_path):
    class Backwards:
        name, on_this_machine = "local", True

        def run(self, folder, names, n_process):
            from spacy_deid.warehouse.engines import LocalEngine

            yield from LocalEngine().run(folder, names[::-1], n_process)

    notes = undisturbed / "in"
    make_run(notes, "backwards", rows=30, engine=Backwards(), batch_size=3)()
    assert result_of(tmp_path / "backwards") == result_of(undisturbed / "out")
    make_run(notes, "large", rows=500)()
    assert read_notes(tmp_path / "large") == read_notes(undisturbed / "out")


def test_a_full_disk_stops_the_run_and_leaves_no_part_of_a_partition(start, undisturbed, tmp_path):
    output = tmp_path / "out"
    process = start(rows=600, file_limit=6_000)
    process.join(120)
    assert process.exitcode == 1
    assert re.search("the output cannot be written: .*File too large", (tmp_path / "out.log").read_text())
    assert (output / "run" / "manifest.json").exists()
    assert result_of(output) == {}
    assert list(output.rglob(".*.tmp")) == []
    again = start(rows=600)
    again.join(120)
    assert again.exitcode == 0
    assert read_notes(output) == read_notes(undisturbed / "out")


KILLER = """
import os, signal
from spacy.language import Language

@Language.factory("killer")
def make_killer(nlp, name):
    return kill

def kill(doc):
    if "KILL" in doc.text:
        os.kill(os.getpid(), signal.SIGKILL)
    return doc
"""


@pytest.mark.slow
def test_a_note_that_kills_its_worker_goes_to_quarantine_alone(nlp, tmp_path, monkeypatch, make_run):
    package = tmp_path / "packages"
    (package / "killer-1.0.dist-info").mkdir(parents=True)
    (package / "killer-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: killer\nVersion: 1.0\n")
    (package / "killer-1.0.dist-info" / "entry_points.txt").write_text(
        "[spacy_factories]\nkiller = killer:make_killer\n"
    )
    (package / "killer.py").write_text(textwrap.dedent(KILLER))
    monkeypatch.syspath_prepend(package)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")]))
    importlib.import_module("killer")  # other processes find it by its entry point
    nlp.add_pipe("killer", first=True)
    save(nlp, tmp_path / "pipeline")
    assert "killer" in spacy_deid.load(tmp_path / "pipeline").pipe_names
    rows = make_rows(60)
    rows["text"][20] += " KILL"
    write_parquet(tmp_path / "in" / "a.parquet", rows)
    summary = make_run(tmp_path / "in", pipeline=str(tmp_path / "pipeline"), n_process=1)()
    assert summary["rows"] == {"read": 60, "released": 59, "quarantined": 1}
    (row,) = read_quarantine(tmp_path / "out")
    assert row["note_id"] == "n20"
    assert "worker process was killed" in row["reason"]
