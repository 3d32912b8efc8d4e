"""Attacks by processes: what a run that is killed leaves in the memory and on the disk of a machine."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
from attacks.catalogue import Outcome, attack

import spacy_deid

NAME = "Aurelio Bustarviejo Linde"
PARENT = """
import time
from spacy_deid.processes import Workers
if __name__ == "__main__":
    with Workers(time.sleep, 2, start={start!r}) as workers:
        list(workers.run([600, 600, {name!r}]))
"""


def kill_parent(folder: Path, start: str) -> Outcome:
    """Kill a process with two workers, and count the workers that live on with what they hold in memory."""
    (folder / "parent.py").write_text(PARENT.format(start=start, name=NAME))
    parent = subprocess.Popen([sys.executable, str(folder / "parent.py")])
    workers: list[psutil.Process] = []
    end = time.monotonic() + 120
    while time.monotonic() < end and len(workers) < 2:
        time.sleep(0.2)
        # each has a thread that waits for the end of its parent
        children = psutil.Process(parent.pid).children()
        workers = [child for child in children if child.num_threads() > 1]
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(workers, timeout=20)
    for worker in alive:
        worker.kill()
    return Outcome(len(workers), len(alive))


@attack("Processes: the parent of spawned workers is killed", slow=True)
def kill_parent_of_spawned(folder: Path) -> Outcome:
    """No worker may keep notes in memory after its parent is gone."""
    return kill_parent(folder, "spawn")


if sys.platform == "linux":

    @attack("Processes: the parent of forked workers is killed", slow=True)
    def kill_parent_of_forked(folder: Path) -> Outcome:
        """No worker may keep notes in memory after its parent is gone."""
        return kill_parent(folder, "fork")


class Killed:
    """A component that kills the process at one note."""

    def __init__(self, component):  # type: ignore[no-untyped-def]
        self.component = component

    def __call__(self, doc):  # type: ignore[no-untyped-def]
        """Kill the process, or call the component."""
        if "BOOM" in doc.text:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.component(doc)


if sys.platform == "linux":

    @attack("Processes: a note kills the worker that it shares with other notes")
    def kill_worker(folder: Path) -> Outcome:
        """The note must fail, the others must be released without the name."""
        nlp = spacy_deid.load("es")
        name, component = nlp._components[0]
        nlp._components[0] = name, Killed(component)  # without a factory, which would stay registered
        notes = [f"Nombre: {NAME}. {word}" for word in ("Soplo.", "BOOM.", "Soplo.", "Soplo.")]
        results = list(spacy_deid.Deidentifier(nlp).pipe(notes, n_process=2, start_method="fork"))
        assert [result.ok for result in results] == [True, False, True, True]
        shown = [result.text if result.ok else f"{result.reason}{result!r}" for result in results]
        return Outcome(len(notes), sum("Bustarviejo" in text for text in shown))
