"""A service that runs as a user starts it: a process of its own, with its worker, at a free port; and a browser."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from spacy_deid.surrogates.keys import ProjectKey

CHROMIUM = Path("/usr/bin/chromium")
SECONDS = 120_000
TOKEN = "0123456789abcdef-token"
CANARY = "Zubeldiagoyena"
NOTE = (
    f"Nombre: Aurelio {CANARY} Linde. NHC: 4471906.\n"
    "Ingresa el 04/11/2024 😀 por disnea. Médico: Dr. Fermín Galdeano.\n"
)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Service:
    """A running service."""

    def __init__(self, folder, *options, token=""):
        self.folder, self.port, self.options, self.token = folder, free_port(), options, token
        self.log = folder.with_suffix(".log")
        self.start()

    def start(self):
        """Start it, and wait until its worker runs as well."""
        command = [sys.executable, "-m", "spacy_deid", "serve", "--data", str(self.folder), "--port", str(self.port)]
        environment = {**os.environ, "SPACY_DEID_TOKEN": self.token}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*command, *self.options], stdout=log, stderr=log, env=environment)
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        self.client = httpx.Client(base_url=self.url, timeout=300, headers=headers, trust_env=False)
        for _ in range(900):
            if self.process.poll() is not None:
                break
            try:
                if self.client.get("/v1/health").json()["status"] == "ok":
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        self.stop(kill=True)
        raise AssertionError(self.log.read_text(encoding="utf8"))

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self, kill=False):
        (self.process.kill if kill else self.process.terminate)()
        self.process.wait(timeout=30)
        self.client.close()

    def add(self, *files, start=True, **settings):
        given = [("files", (name, data)) for name, data in files]
        form = {"settings": json.dumps(settings), "start": str(start).lower()}
        answer = self.client.post("/v1/jobs", files=given, data=form)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def wait(self, job, seconds=120):
        for _ in range(seconds * 10):
            shown = self.client.get(f"/v1/jobs/{job}").json()
            if not shown["busy"]:
                return shown
            time.sleep(0.1)
        raise AssertionError(shown)


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    running = Service(tmp_path_factory.mktemp("service") / "data")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def guarded(tmp_path_factory):
    """A service with a token, a host name, small limits and encrypted files."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "keys").mkdir()
    ProjectKey.make().to_file(folder / "keys" / "files.key")
    limits = ("--max-mb", "1", "--max-files", "2", "--max-job-mb", "1")
    options = ("--name", "deid.clinic.example", "--files-key", str(folder / "keys" / "files.key"), *limits)
    running = Service(folder / "data", *options, token=TOKEN)
    yield running
    running.stop()


@pytest.fixture
def start_service(tmp_path):
    started = []

    def start(*options, **more):
        started.append(Service(tmp_path / f"data{len(started)}", *options, **more))
        return started[-1]

    yield start
    for running in started:
        if running.process.poll() is None:
            running.stop()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser):
    """Opens pages that reach this machine alone; afterwards no page may have asked for more, or have complained."""
    complaints, contexts = [], []

    def guard(route):
        if urlsplit(route.request.url).hostname == "127.0.0.1":
            return route.continue_()
        complaints.append(f"asked for {urlsplit(route.request.url).hostname}")
        return route.abort()

    def open_page(url="about:blank", **settings):
        context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en", **settings)
        contexts.append(context)
        context.route("**/*", guard)
        page = context.new_page()
        page.set_default_timeout(SECONDS)
        page.on("console", lambda message: complaints.append(message.text) if is_complaint(message) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def is_complaint(message):
    """A page that was refused is loaded all the same, and says why."""
    return message.type in ("error", "warning") and not any(
        known in message.text for known in ("status of 400", "status of 404", "ERR_FAILED")
    )
