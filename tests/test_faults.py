"""Runs that meet a full disk, a slow disk, a clock that is set back, a lost worker, a signal, or little memory.

The faults are real: a small file system, delays in system calls, a clock that changes, a limit of the kernel. After
each, every file that was released is whole, nothing is left beside it, and a run with ``--resume`` adds the rest.
`tests/warehouse/test_killed.py` does the same for ``run``.
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import psutil
import pytest

from spacy_deid import Deidentifier

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="faults of Linux")
COUNT = 24
LINE = "Vive en Puerto Esparza. Correo: ana.lopez@ejemplo.es. "
NAMESPACE = ["unshare", "--map-root-user", "--mount"]
FAKETIME = "/usr/lib/*/faketime/libfaketimeMT.so.1"


@cache
def permitted(*command: str) -> bool:
    """Whether a command exists and succeeds here."""
    return bool(shutil.which(command[0])) and not subprocess.run(command, check=False, capture_output=True).returncode


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder of notes, each of several blocks of a disk."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(COUNT):
        (folder / f"{number:02d}.txt").write_text(f"Nota {number}. " + LINE * 160)
    return folder


@pytest.fixture
def command(notes: Path, pipeline_folder: Path, tmp_path: Path) -> list[str]:
    """The command line of a run as a process of its own, into the folder "out"."""
    start = [sys.executable, "-m", "spacy_deid", "redact", notes, "--pipeline", pipeline_folder, "--batch-size", "4"]
    return [str(word) for word in [*start, "--output", tmp_path / "out"]]


@pytest.fixture
def check(notes: Path, pipeline_folder: Path, redact, tmp_path: Path):
    """Check that each released file is whole and that nothing else is there, resume the run, and check that all are
    there. Returns the number of files before.
    """
    deid = Deidentifier(pipeline_folder)
    expected = {path.name: deid(path.read_text()).text for path in notes.iterdir()}
    assert len(expected) == COUNT
    assert all("Esparza" not in text and "[CITY]" in text for text in expected.values())

    def check_and_resume() -> int:
        found = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
        assert found.items() <= expected.items()
        result = redact(notes, "--resume")
        assert result.exit_code == 0, result.stderr
        assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == expected
        return len(found)

    return check_and_resume


def test_a_full_disk_leaves_no_half_of_a_file_and_the_run_can_be_resumed(command, check, tmp_path):
    if not permitted(*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"):
        pytest.skip("file systems cannot be mounted here: unshare --map-root-user --mount")
    disk, out = tmp_path / "disk", tmp_path / "out"
    disk.mkdir()
    command = [*command[:-1], str(disk / "out")]
    script = 'mount -t tmpfs -o size=64k tmpfs "$0" && { "$@"; code=$?; cp -a "$0/out" "$OUT"; exit $code; }'
    done = subprocess.run(
        [*NAMESPACE, "sh", "-c", script, disk, *command],
        env={**os.environ, "OUT": str(out)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Esparza" not in done.stderr
    assert 0 < check() < COUNT


def test_a_signal_during_writes_to_a_slow_disk_leaves_whole_files(command, check, tmp_path):
    if not permitted("strace", "-qq", "-o", "/dev/null", "true"):
        pytest.skip("needs strace, and the right to trace: apt-get install strace")
    slow = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=write,rename,fsync"]
    slow += ["-e", "inject=write,rename,fsync:delay_enter=50000"]
    process = subprocess.Popen([*slow, *command], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(list((tmp_path / "out").glob("*.txt"))) < 2:
        time.sleep(0.02)
    (traced,) = psutil.Process(process.pid).children()
    traced.send_signal(signal.SIGTERM)
    stderr = process.communicate(timeout=300)[1]
    assert re.search(r"stopped: \d+ file\(s\) written .* Run it again with --resume", stderr)
    assert 0 < check() < COUNT


@pytest.mark.slow
def test_a_clock_that_is_set_back_during_a_run_changes_nothing(command, check, tmp_path):
    found = sorted(Path("/").glob(FAKETIME.removeprefix("/")))
    if not found:
        pytest.skip("needs libfaketime: apt-get install faketime")
    clock = tmp_path / "clock"
    clock.write_text("+3600")
    given = {"LD_PRELOAD": str(found[0]), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
    given |= {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1"}
    process = subprocess.Popen(
        [*command, "--n-process", "2"],
        env={**os.environ, **given},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not list((tmp_path / "out").glob("*.txt")):
        time.sleep(0.005)
    clock.write_text("-30d")
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert check() == COUNT


@pytest.mark.slow
def test_two_gigabytes_of_memory_are_enough_and_a_note_that_needs_more_fails_alone(command, check, notes, tmp_path):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    large = notes / "large.txt"
    large.write_text(LINE * 600_000)
    done = subprocess.run(command, env=env, preexec_fn=limit, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "large.txt" in done.stderr
    assert "Esparza" not in done.stderr
    large.unlink()
    assert check() == COUNT


def test_a_worker_that_is_killed_in_a_stream_loses_and_doubles_nothing(pipeline_folder):
    texts = [f"Nota {number}. {LINE}" for number in range(200)]
    deid = Deidentifier(pipeline_folder)
    expected = [deid(text).text for text in texts]
    killed = []

    def read():
        for number, text in enumerate(texts):
            if number in (60, 130):
                alive = (child for child in psutil.Process().children() if child.pid not in killed)
                worker = max(alive, key=lambda child: child.pid)
                worker.kill()
                killed.append(worker.pid)
            yield text, number

    done = list(deid.pipe(read(), as_tuples=True, n_process=2, batch_size=4))
    assert len(set(killed)) == 2
    assert [number for _, number in done] == list(range(200))
    assert [result.text for result, _ in done] == expected
