"""Runs of ``redact`` that are stopped, killed, or meet another one, as processes of their own."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from conftest import slow

from spacy_deid.io import hold, only_run, whole_file

needs_posix = pytest.mark.skipif(os.name != "posix", reason="signals and locks of POSIX")
pytestmark = needs_posix
NOTE = "Vive en Puerto Esparza. "


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A folder of notes that take a while."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for i in range(400):
        (folder / f"{i:03d}.txt").write_text(f"Nota {i}. " + NOTE * 40)
    return folder


def heed_ctrl_c() -> None:
    """Undo what a shell does to processes in its background: they ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start(many: Path, pipeline_folder: Path, tmp_path: Path):
    """Start ``redact`` as a process, and wait until it has written two files: the first one is then counted."""
    running = []

    def run(*options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "spacy_deid", "redact", many, "--pipeline", pipeline_folder]
        process = subprocess.Popen(
            [*command, "--output", tmp_path / "out", "--batch-size", "4", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_ctrl_c,
        )
        running.append(process)
        while process.poll() is None and len(list((tmp_path / "out").glob("*.txt"))) < 2:
            time.sleep(0.02)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*")]


@pytest.mark.parametrize(
    ("number", "code", "n_process"),
    [
        pytest.param(signal.SIGINT, 130, "1", id="Ctrl-C"),
        slow(signal.SIGINT, 130, "2", id="Ctrl-C, two processes"),
        slow(signal.SIGTERM, 143, "1", id="SIGTERM"),
        pytest.param(signal.SIGTERM, 143, "2", id="SIGTERM, two processes"),
    ],
)
def test_a_run_that_is_stopped_says_what_it_has_done(start, redact, many, tmp_path, number, code, n_process):
    process = start("--n-process", n_process)
    children = psutil.Process(process.pid).children()
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    written = sorted((tmp_path / "out").glob("*.txt"))
    assert process.returncode == code
    (line,) = err.splitlines()
    found = re.fullmatch(r"stopped: (\d+) file\(s\) written to .*out, 0 failed\. Run it again with --resume .*", line)
    assert abs(int(found[1]) - len(written)) <= 1  # a file may be written and not yet counted
    assert 0 < len(written) < 400
    assert leftovers(tmp_path / "out") == []
    assert all(path.read_text().count("[STREET]") + path.read_text().count("[") >= 1 for path in written)
    assert psutil.wait_procs(children, timeout=30)[1] == []


def test_a_killed_run_leaves_no_worker_and_what_it_left_is_removed(start, redact, many, tmp_path):
    process = start("--n-process", "2")
    children = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    assert len(children) == 2
    assert psutil.wait_procs(children, timeout=30)[1] == []
    (tmp_path / "out" / ".0123456789abcdef.tmp").write_text("half of a released note")
    kept = tmp_path / "out" / ".notes.tmp"
    kept.write_text("somebody else's")
    with whole_file(tmp_path / "out" / "other") as other:
        result = redact(many, "--resume")
        assert result.exit_code == 0, result.stderr
        assert other.exists()  # in work
        other.unlink()
        kept.unlink()
        assert leftovers(tmp_path / "out") == []
        other.touch()
    assert len(list((tmp_path / "out").glob("*.txt"))) == 400


def test_two_runs_into_one_folder_do_not_both_succeed(start, redact, many, tmp_path):
    process = start("--overwrite")
    result = redact(many, "--overwrite")
    assert process.poll() is None
    assert result.exit_code == 1
    assert "another run is writing to this folder" in result.stderr
    process.kill()
    process.wait()
    assert redact(many, "--overwrite").exit_code == 0


def test_a_lock_is_released_and_its_file_removed(tmp_path):
    for _ in range(2):
        with hold(tmp_path / "lock") as held:
            assert held
            with pytest.raises(BlockingIOError), hold(tmp_path / "lock"):
                pass
        assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_made_for_a_refused_run_is_removed(tmp_path):
    with only_run(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
    assert list(tmp_path.iterdir()) == []
