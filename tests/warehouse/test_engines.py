"""Ray and Spark for real: the same result as worker processes, also when a driver or a worker is killed.

They are not run by default, because each start takes seconds: ``pytest -m ray``, ``pytest -m spark``.
"""

import importlib.util
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from spacy_deid.warehouse.batches import ArrowMapper, output_schema
from spacy_deid.warehouse.settings import Settings, TableColumns

from .conftest import make_rows, read_notes, result_of, write_parquet

pa = pytest.importorskip("pyarrow", reason="needs the extra 'warehouse'")
pytestmark = pytest.mark.filterwarnings("default")  # of the engines

ENGINES = [pytest.param("ray", marks=pytest.mark.ray), pytest.param("spark", marks=pytest.mark.spark)]
NEEDED = {"ray": ["ray"], "spark": ["pyspark", "pandas"]}
WORKERS = {"ray": "ray::", "spark": "pyspark.daemon"}


@pytest.fixture(autouse=True)
def installed(request):
    """Skip the tests of an engine that is not installed, and say how to get it."""
    engine = request.node.callspec.params["engine"]
    if not all(map(importlib.util.find_spec, NEEDED[engine])):
        pytest.skip(f"pip install 'spacy-deid[{engine}]'")
    if engine == "spark" and not shutil.which("java"):
        pytest.skip("Spark needs Java: apt-get install default-jre-headless")


@pytest.fixture
def undisturbed(make_run, tmp_path):
    rows = make_rows(1000)
    rows["text"][77] = None
    rows["text"] = [text and text * 20 for text in rows["text"]]
    write_parquet(tmp_path / "in" / "a.parquet", rows)
    make_run(tmp_path / "in", "undisturbed", rows=50)()
    return result_of(tmp_path / "undisturbed")


@pytest.fixture
def start(pipeline_folder, tmp_path):
    """Start a run in a process of its own; after the test nothing of it is left."""
    started: list[subprocess.Popen] = []

    def begin(engine: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "spacy_deid", "run", "--pipeline", pipeline_folder, "--engine", engine]
        command += ["--input", tmp_path / "in", "--output", tmp_path / "out", "--partition-rows", "50"]
        with open(tmp_path / "log", "a") as log:
            started.append(subprocess.Popen([*command, "--n-process", "2"], stdout=log, stderr=log))
        return started[-1]

    yield begin
    for process in started:
        if process.poll() is None:
            for each in [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]:
                each.kill()
        process.wait()


def wait_for(process: subprocess.Popen, output: Path, count: int) -> None:
    end = time.monotonic() + 240
    while process.poll() is None and len(list(output.rglob("run/partitions/*.json"))) < count:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_gives_the_result_of_worker_processes_though_they_are_killed(start, undisturbed, tmp_path, engine):
    output = tmp_path / "out"
    process = start(engine)
    wait_for(process, output, 2)
    for worker in psutil.Process(process.pid).children(recursive=True):
        if WORKERS[engine] in " ".join(worker.cmdline()) and not worker.children():
            worker.kill()
            break
    else:
        pytest.fail("no worker found")
    wait_for(process, output, 8)
    process.kill()
    process.wait()
    assert 8 <= len(list(output.rglob("run/partitions/*.json"))) < 20
    assert start(engine).wait(240) == 0, (tmp_path / "log").read_text()
    assert result_of(output) == undisturbed
    assert "Esparza" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_frame_of_the_engine_is_mapped_in_arrow(undisturbed, pipeline_folder, tmp_path, engine):
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(Settings(str(pipeline_folder)).to_json()))
    mapper, path = ArrowMapper(str(settings)), str(tmp_path / "in" / "a.parquet")
    if engine == "ray":
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        try:
            mapped = ray.data.read_parquet(path).map_batches(
                ArrowMapper, fn_constructor_args=(str(settings),), batch_format="pyarrow", concurrency=1
            )
            rows = mapped.take_all()
        finally:
            ray.shutdown()
    else:
        from pyspark.sql import SparkSession
        from pyspark.sql.pandas.types import from_arrow_schema

        session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        try:
            schema = from_arrow_schema(output_schema(pa.schema([]), TableColumns()))
            frame = session.read.parquet(path).mapInArrow(mapper.batches, schema)
            rows = [row.asDict() for row in frame.collect()]
        finally:
            session.stop()
    released = {row["note_id"]: row["text"] for row in rows if row["status"] == "released"}
    assert len(rows) == 1000
    assert released == {row["note_id"]: row["text"] for row in read_notes(tmp_path / "undisturbed")}
