"""Measure the service under load: 50 clients that send texts for two minutes, half as long with 300 half-open
connections besides, and a job of 50 letters.

    python -m benchmarks.service

Writes rows to metrics/service.json. Letters are the sample notes of the package, whose persons are invented.
"""

import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from datetime import date
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import httpx
import psutil
import typer

from spacy_deid.evaluation.rows import MetricRow, command_line, replace_rows

from .screenshots import serve

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

CLIENTS, HALF_OPEN, LETTERS = 50, 300, 50


def sample_notes() -> list[str]:
    """Read the sample notes of the package."""
    folder = files("spacy_deid") / "lang" / "es" / "samples"
    return [path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name.endswith(".txt")]


class Client(threading.Thread):
    """A client that sends texts one after another."""

    def __init__(self, url: str, notes: list[str], until: float) -> None:
        super().__init__()
        self.url, self.notes, self.until = url, notes, until
        self.seconds: list[float] = []
        self.errors = 0

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=120, trust_env=False) as client:
            while time.monotonic() < self.until:
                note = self.notes[len(self.seconds) % len(self.notes)]
                began = time.monotonic()
                try:
                    answer = client.post("/v1/deidentify", json={"text": note})
                    self.errors += answer.status_code != 200 or answer.json()["text"] == note
                except httpx.HTTPError:
                    self.errors += 1
                self.seconds.append(time.monotonic() - began)


class HalfOpen(threading.Thread):
    """Keeps connections open that have sent only the first line of a request, and opens others for closed ones."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.address = ("127.0.0.1", httpx.URL(url).port or 80)
        self.stop = threading.Event()
        self.opened = 0

    def run(self) -> None:
        connections: list[socket.socket] = []
        while not self.stop.wait(0.1):
            connections = [one for one in connections if self.is_open(one)]
            while len(connections) < HALF_OPEN and not self.stop.is_set():
                connections.append(socket.create_connection(self.address, timeout=60))
                connections[-1].sendall(b"GET / HTTP/1.1\r\n")
                self.opened += 1
        for one in connections:
            one.close()

    def is_open(self, connection: socket.socket) -> bool:
        """Whether the service has not closed a connection; a closed one is closed here as well."""
        connection.setblocking(False)
        try:
            is_open = bool(connection.recv(1))
        except BlockingIOError:
            return True
        except OSError:
            is_open = False
        connection.close()
        return is_open


def load_half_open(
    url: str, process: subprocess.Popen[bytes], seconds: float
) -> dict[str, tuple[float, float | None, str]]:
    """Send texts from all clients beside half-open connections. RETURNS (dict): name → figure, target, direction."""
    others = HalfOpen(url)
    others.start()
    figures = load(url, process, seconds)
    others.stop.set()
    others.join()
    return {**figures, "half-open connections opened": (others.opened, None, "higher")}


def load(url: str, process: subprocess.Popen[bytes], seconds: float) -> dict[str, tuple[float, float | None, str]]:
    """Send texts from all clients in parallel. RETURNS (dict): name → figure, target, direction."""
    notes = sample_notes()
    httpx.post(f"{url}/v1/deidentify", json={"text": notes[0]}, timeout=120, trust_env=False)
    clients = [Client(url, notes, time.monotonic() + seconds) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    took = sorted(second for client in clients for second in client.seconds)
    return {
        "texts answered": (len(took), None, "higher"),
        "texts a second": (len(took) / seconds, None, "higher"),
        "errors": (sum(client.errors for client in clients), 0, "lower"),
        "seconds for a text, median": (statistics.median(took), None, "lower"),
        "seconds for a text, 95th percentile": (took[int(0.95 * len(took))], None, "lower"),
        "95th percentile / median": (took[int(0.95 * len(took))] / statistics.median(took), 3, "lower"),
        "memory of the service, MB": (memory(process.pid), None, "lower"),
    }


def job(url: str, process: subprocess.Popen[bytes]) -> dict[str, tuple[float, float | None, str]]:
    """De-identify letters in one job. RETURNS (dict): name → figure, target, direction."""
    notes = sample_notes()
    letters = [("files", (f"{i}.txt", notes[i % len(notes)].encode())) for i in range(LETTERS)]
    began = time.monotonic()
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
        shown = client.post("/v1/jobs", files=letters, data={"start": "true"}).json()
        while shown["busy"]:
            time.sleep(0.2)
            shown = client.get(f"/v1/jobs/{shown['id']}").json()
    worker = max(memory(child.pid) for child in psutil.Process(process.pid).children())
    return {
        "seconds for a job": (time.monotonic() - began, None, "lower"),
        "letters that are done": (shown["done"], LETTERS, "higher"),
        "memory of the worker, MB": (worker, 1500, "lower"),
    }


def memory(pid: int) -> float:
    """Return the peak memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1000


def rows(figures: dict[str, tuple[float, float | None, str]], data: str, command: str) -> list[MetricRow]:
    """Convert figures to rows."""
    today = date.today().isoformat()
    return [
        MetricRow(name, round(value, 3), target, better, data, "sample", command, today)  # type: ignore[arg-type]
        for name, (value, target, better) in figures.items()
    ]


@app.command()
def main(
    context: typer.Context,
    seconds: Annotated[float, typer.Option(help="Duration of the load in seconds.")] = 120,
    metrics: Annotated[Path, typer.Option(help="File of the metric rows.")] = Path("metrics/service.json"),
) -> None:
    """Measure the service under load."""
    command = command_line("benchmarks.service", context)
    with TemporaryDirectory() as folder:
        process, url = serve(Path(folder) / "data")
        try:
            measured = rows(load(url, process, seconds), f"service, {CLIENTS} clients", command)
            names = f"service, {CLIENTS} clients and {HALF_OPEN} half-open connections"
            measured += rows(load_half_open(url, process, seconds / 2), names, command)
            measured += rows(job(url, process), f"service, a job of {LETTERS} letters", command)
        finally:
            process.terminate()
            process.wait()
    replace_rows(metrics, measured)
    for row in measured:
        print(f"{row.data}: {row.name}: {row.value:g}", file=sys.stdout)
    print(f"{os.cpu_count()} cores")


if __name__ == "__main__":
    app()
