"""Jobs in several processes."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import psutil
import pytest

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.processes import Failure, Workers, attempt_all, default_start

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="processes cannot be forked safely here")


def work(job):
    """Double a number; some numbers are trouble."""
    if job == 3:
        raise InputError("three")
    if job == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01 * (job % 2))
    return 2 * job


@needs_fork
@pytest.mark.parametrize("n_process", [1, 3])
def test_jobs_come_back_in_order_and_one_that_fails_fails_alone(n_process):
    numbers = [0, 1, 2, 3, 4, 6, 7, 8]
    done = list(attempt_all(work, numbers, n_process, start="fork"))
    assert [number for number, _ in done] == numbers
    assert [result for _, result in done if not isinstance(result, Failure)] == [0, 2, 4, 8, 12, 14, 16]
    assert dict(done)[3].reason == "three"


@needs_fork
def test_a_job_that_ends_its_process_fails_alone():
    done = dict(attempt_all(work, range(40), 3, start="fork"))
    assert done.pop(5).reason.startswith("the worker process was killed")
    assert done.pop(3).reason == "three"
    assert done == {number: 2 * number for number in range(40) if number not in (3, 5)}


@needs_fork
def test_a_job_that_takes_too_long_fails_alone_and_is_tried_once():
    done = dict(attempt_all(lambda job: time.sleep(job) or job, [0, 60, 0.1], 1, seconds=1, start="fork"))
    assert "time limit exceeded: more than 1 seconds" in done.pop(60).reason
    assert done == {0: 0, 0.1: 0.1}


@needs_fork
def test_processes_have_what_was_loaded_and_are_not_this_one():
    loaded = object()
    done = list(attempt_all(lambda _: (id(loaded), os.getpid()), range(8), 2, start="fork"))
    assert {address for _, (address, _) in done} == {id(loaded)}
    assert os.getpid() not in {pid for _, (_, pid) in done}


@pytest.mark.parametrize("start", [pytest.param("fork", marks=needs_fork), "spawn"])
def test_workers_serve_several_runs_and_end_when_they_are_closed(start):
    with Workers(divmod_ten, 2, start=start) as workers:
        first = dict(workers.run([1, 12, 23]))
        children = {child.pid for child in psutil.Process().children()}
        assert dict(workers.run([34])) == {34: (3, 4)}
        assert children <= {child.pid for child in psutil.Process().children()}
        pids = [worker.process.pid for worker in workers._workers]
    assert first == {1: (0, 1), 12: (1, 2), 23: (2, 3)}
    assert pids
    assert not any(psutil.pid_exists(pid) for pid in pids)


divmod_ten = (10).__rdivmod__  # of the standard library, so that a spawned process can import it


@needs_fork
def test_a_job_whose_process_dies_is_split():
    def double(numbers):
        return [work(number) for number in numbers]

    with Workers(double, 2, start="fork", split=lambda numbers: [[number] for number in numbers]) as workers:
        done = list(workers.run([[0, 1], [4, 5, 6], [7]]))
    assert [numbers for numbers, _ in done] == [[0, 1], [4], [5], [6], [7]]
    assert [result for numbers, result in done if numbers != [5]] == [[0, 2], [8], [12], [14]]
    assert isinstance({tuple(numbers): result for numbers, result in done}[5,], Failure)


@needs_fork
def test_jobs_are_read_only_a_few_ahead():
    read = []
    jobs = (read.append(job) or job for job in range(1000))
    with Workers(lambda job: job, 2, start="fork") as workers:
        done = workers.run(jobs)
        assert next(done) == (0, 0)
        assert len(read) < 20
        done.close()


@needs_fork
def test_a_source_of_jobs_that_raises_loses_no_result():
    def jobs():
        yield from [0, 1]
        raise InputError("no more")

    done = []
    with pytest.raises(InputError, match="no more"):
        done += (done.append(number) for number, _ in attempt_all(work, jobs(), 2, start="fork"))
    assert [number for number in done if number is not None] == [0, 1]


@needs_fork
@pytest.mark.parametrize("job", [lambda: None, threading.Lock()], ids=["a lambda", "a lock"])
def test_a_job_or_a_result_that_cannot_be_sent_fails_alone(job):
    with Workers(lambda given: threading.Lock() if given == "lock" else given, 1, start="fork") as workers:
        done = [result for _, result in workers.run(["a", job, "lock", "b"])]
    assert done[0] == "a"
    assert done[3] == "b"
    assert isinstance(done[1], Failure)
    assert isinstance(done[2], Failure)


def test_an_action_that_cannot_be_sent_is_an_error():
    with pytest.raises(ConfigError, match="picklable"):
        list(attempt_all(lambda job: job, [1], 2, start="spawn"))


def test_threads_forbid_a_fork():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    assert default_start() == "spawn"
    done.set()
    thread.join()


def test_no_jobs_are_no_matter():
    assert list(attempt_all(work, [], 4)) == []


@pytest.mark.parametrize("size", [1, 1_000_000])  # more than a pipe takes at once, as a pipeline has
def test_a_script_without_a_main_guard_gets_an_error_and_does_not_hang(tmp_path, size):
    script = tmp_path / "script.py"
    script.write_text(
        "from functools import partial\n"
        "from spacy_deid.processes import attempt_all\n"
        f"print(list(attempt_all(partial(print, bytes({size})), [1], 2, start='spawn')))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "this script starts worker processes when a worker process imports it" in done.stderr
    assert "worker processes do not start" in done.stderr


def test_a_spawned_worker_gets_an_action_that_is_larger_than_a_pipe():
    (done,) = attempt_all(bytes(1_000_000).startswith, [b"\0"], 1, seconds=60, start="spawn")
    assert done == (b"\0", True)


PARENT = """
import time
from spacy_deid.processes import Workers
if __name__ == "__main__":
    workers = Workers({action}, 2, start="{start}")
    jobs = workers.run([600, 600])
    {first}
    next(jobs)
"""


@pytest.mark.parametrize(
    ("start", "first"),
    [
        pytest.param("fork", "", marks=needs_fork),
        ("spawn", ""),
        pytest.param("fork", "import threading; threading.Thread(target=next, args=(jobs,)).start(); time.sleep(600)"),
    ],
    ids=["forked", "spawned", "of a thread"],
)
def test_workers_die_with_their_parent(tmp_path, start, first):
    script = tmp_path / "script.py"
    script.write_text(PARENT.format(action="time.sleep", start=start, first=first))
    parent = subprocess.Popen([sys.executable, script])
    children = wait_for(lambda: workers_of(parent.pid, 2))
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(children, timeout=30)
    for child in alive:
        child.kill()
    assert children
    assert alive == []


READER = """
import numpy as np
from PIL import Image
from spacy_deid.documents.document import ReadSettings
from spacy_deid.documents.pages.ocr import read_words
noise = np.random.default_rng(0).integers(0, 2, (3000, 3000), dtype=np.uint8) * 255
read_words(Image.fromarray(noise), ReadSettings(languages=("eng",)), 300)
"""


@pytest.mark.skipif(not (shutil.which("tesseract") and shutil.which("setpriv")), reason="needs Tesseract and setpriv")
def test_ocr_dies_with_the_process_that_wants_it():
    parent = subprocess.Popen([sys.executable, "-c", READER])
    children = wait_for(
        lambda: [child for child in psutil.Process(parent.pid).children() if child.name() == "tesseract"]
    )
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(children, timeout=5)
    for child in alive:
        child.kill()
    assert alive == []


def workers_of(pid, count):
    """The worker processes of a process, when they are there and sleep over their jobs."""
    found = [child for child in psutil.Process(pid).children() if "resource_tracker" not in " ".join(child.cmdline())]
    return found if len(found) == count and all(child.num_threads() > 1 for child in found) else None


def wait_for(condition, seconds=120):
    """What a condition gives as soon as it is not nothing."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    raise TimeoutError


def warn_with(text):
    warnings.simplefilter("always")
    warnings.warn(f"odd text: {text}", UserWarning, stacklevel=1)
    return len(text)


@pytest.mark.parametrize("start", [pytest.param("fork", marks=needs_fork), "spawn"])
def test_a_warning_of_a_worker_is_shown_without_its_message(start, capfd):
    with Workers(warn_with, 1, start=start) as workers:
        assert [result for _, result in workers.run(["Zyxwalda"])] == [8]
    shown = capfd.readouterr().err
    assert "UserWarning at test_processes.py" in shown
    assert "Zyxwalda" not in shown
