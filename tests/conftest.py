"""A small pipeline made of the real parts, saved once for all tests that need a folder to load."""

import gc
import lzma
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
import spacy
from hypothesis import settings
from spacy.language import Language
from typer.testing import CliRunner, Result

import spacy_deid
from spacy_deid.cli import app
from spacy_deid.saving import save

# A check of a change must not fail by the luck of the draw; whoever runs the tests by hand gets fresh examples.
# Examples have no deadline, because a busy machine exceeds any; `timeout` in setup.cfg bounds each test.
settings.register_profile("fresh", deadline=None)
settings.register_profile("check", deadline=None, derandomize=True)
settings.load_profile("check" if os.environ.get("CI") else "fresh")

TOWNS = "term,label\nVillarrubia del Monte,CITY\nPuerto Esparza,CITY\n"
NOTE = "Nombre: Ana.\nVive en Puerto Esparza.\nCorreo: ana.lopez@ejemplo.es\n"
REDACTED = "Nombre: Ana.\nVive en [CITY].\nCorreo: [EMAIL]\n"

# Number of characters of a long note; a megabyte takes seconds in most components.
long_notes = pytest.mark.parametrize("length", [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)])


def slow(*values: object, id: str | None = None):
    """Values of a parametrized test that only `pytest -m slow` runs, because other values cover the behaviour."""
    return pytest.param(*values, marks=pytest.mark.slow, id=id)


def build_pipeline(folder: Path, languages: tuple[str, ...] = (), towns: str = TOWNS) -> Language:
    """Patterns common to all languages and those of `languages`, and a list of towns, merged and tagged."""
    path = folder / "towns.csv"
    path.write_text(towns, encoding="utf8")
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("deid_patterns", config={"languages": list(languages)})
    nlp.add_pipe("deid_ruler", config={"paths": [str(path)]})
    nlp.add_pipe("deid_merge")
    nlp.add_pipe("deid_surrogate")
    nlp.meta["name"] = "towns"
    return nlp


# Tests with these marks run only if the run selects tests by their marks: mark → reason.
LEFT_OUT = {
    "slow": "a long variant of what a quick test covers: pytest -m slow",
    "llm": "needs llama.cpp, which is compiled: pytest -m llm",
    "ray": "starts Ray: pip install 'spacy-deid[ray]', then pytest -m ray",
    "spark": "starts Spark: pip install 'spacy-deid[spark]', apt-get install default-jre-headless, pytest -m spark",
}


def pytest_sessionstart() -> None:
    """Do not search for garbage while thousands of tests are collected."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the collected tests from later searches for garbage, because they stay until the end."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what `LEFT_OUT` names and say so, unless the run selects tests by their marks."""
    if config.option.markexpr:
        return
    for item in items:
        for name, reason in LEFT_OUT.items():
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def compress_once() -> Iterator[None]:
    """Compress and decompress the same bytes once per process, which is most of the time of saving and loading."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("compress", "decompress"):
            patch.setattr(lzma, name, lru_cache(maxsize=16)(getattr(lzma, name)))
        yield


@pytest.fixture(scope="session")
def pipeline_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a saved pipeline. Tests read it and change nothing in it."""
    folder = tmp_path_factory.mktemp("pipeline")
    save(build_pipeline(folder), folder / "es_towns")
    return folder / "es_towns"


@pytest.fixture
def nlp(pipeline_folder: Path) -> Language:
    """The pipeline, loaded afresh."""
    return spacy_deid.load(pipeline_folder)


@pytest.fixture
def cli():
    """Run the command line in this process: ``cli("redact", path, …)``."""

    def run(*args: object, input: bytes | None = None) -> Result:
        return CliRunner().invoke(app, [str(arg) for arg in args], input=input)

    return run


@pytest.fixture
def redact(cli, pipeline_folder: Path, tmp_path: Path):
    """Run ``redact`` with the pipeline, into the folder "out"."""

    def run(*args: object, output: Path | None = tmp_path / "out", input: bytes | None = None) -> Result:
        target = ["--output", output] if output else []
        return cli("redact", *args, "--pipeline", pipeline_folder, *target, input=input)

    return run


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server of its own on a free port, as Debian packages it; its data goes with it."""
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not binaries:
        pytest.skip("no PostgreSQL in /usr/lib/postgresql: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    # The server refuses to run as root.
    become = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if become:
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(tool: str, *args: str) -> None:
        subprocess.run([*become, binaries[-1] / tool, *args], check=True, cwd="/", stdout=subprocess.DEVNULL)

    data = str(folder / "data")
    try:
        run("initdb", "-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql+psycopg://test@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
