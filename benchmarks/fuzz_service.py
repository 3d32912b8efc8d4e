"""Inputs of the service for `benchmarks.fuzz`: whole requests to any of its routes, and what must hold for answers.

The application of the service is started once in this process and called by ASGI, without a network. Its pipeline has
rules only, so that a request takes milliseconds, and its texts are processed in a thread instead of a process. A job
with one finished file is there for each request; jobs that a request adds are removed after it.

An input is a request as text: a line with method and target, lines with headers, an empty line, and the body. "{job}"
and "{file}" stand for the ids of the finished job and its file.
"""

import asyncio
import io
import json
import logging
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import spacy

from spacy_deid.app import workers
from spacy_deid.app.access import find_rule
from spacy_deid.app.logs import make_handler
from spacy_deid.app.processing import Deidentifiers, FileProcessor
from spacy_deid.app.security import SERVICE
from spacy_deid.app.service import field_names, make_service
from spacy_deid.app.settings import JobSettings, ServiceSettings
from spacy_deid.saving import save

TOKEN = "0123456789abcdef"
SECONDS = 60  # for a request: a hang
RELEASE = ("/v1/deidentify", "/v1/deidentify/batch")
"""Paths whose answers must not contain an intact address of the request."""
_NAME = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
_CHUNK = 4096  # bytes of a body that arrive at once


class Sent(NamedTuple):
    """A request: method, path and query as a server has parsed them, headers with lower-case names, and body."""

    method: str
    path: str
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Answer(NamedTuple):
    """An answer: status, headers and body."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


def parse_request(data: bytes) -> Sent:
    """Make the request that a server would pass on from any bytes.

    data (bytes): the request as text. Characters that a server refuses are left out.
    RETURNS (Sent): the request.
    """
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, target = first.partition(b" ")
    target = bytes(byte for byte in target if 0x21 <= byte <= 0x7E)
    path, _, query = target.partition(b"?")
    headers = {b"host": b"127.0.0.1:8000", b"authorization": f"Bearer {TOKEN}".encode()}
    for line in lines:
        name, _, value = line.partition(b":")
        if name := bytes(byte for byte in name.lower() if byte in _NAME):
            headers[name] = bytes(byte for byte in value if byte not in b"\0\r").strip()
    headers[b"content-length"] = str(len(body)).encode()
    letters = "".join(chr(byte) for byte in method.upper() if chr(byte).isalpha() and byte < 128)
    return Sent(letters or "GET", "/" + unquote(path.decode()).lstrip("/"), query, list(headers.items()), body)


class _TextThread(workers.TextProcessor):
    """Processes texts in a thread of this process."""

    def _start_pool(self) -> Any:
        workers._deidentifiers = Deidentifiers(self._service)
        self._pool = ThreadPoolExecutor(1)  # type: ignore[assignment]
        return self._pool


class Service:
    """The application, started in this process, and a job with one finished file."""

    def __init__(self) -> None:
        shared = Path("/dev/shm")
        self._kept = tempfile.TemporaryDirectory(prefix="fuzz-", dir=shared if shared.is_dir() else None)
        folder = Path(self._kept.name)  # removed with this process
        nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
        nlp.add_pipe("deid_patterns", config={"languages": ["es"]})
        nlp.add_pipe("deid_merge")
        nlp.add_pipe("deid_surrogate")
        save(nlp, folder / "es_rules")
        self.settings = ServiceSettings(
            data=folder / "data", token=TOKEN, pipelines=(str(folder / "es_rules"),), workers=0, max_job_mb=1
        )
        self.app = make_service(self.settings, _TextThread(self.settings))
        self.store = workers.open_store(self.settings)
        self.processor = FileProcessor(self.settings, self.store)
        self.log = io.StringIO()
        logging.getLogger().addHandler(make_handler(self.log))
        self.loop = asyncio.new_event_loop()
        self.job = self.file = ""
        self.renew()

    def renew(self) -> None:
        """Remove all jobs, and add one with a finished file."""
        for job in self.store.jobs():
            self.store.delete(job["id"])
        note = b"Nombre: Ana Ruiz\nTel. 600123456, ana.ruiz@example.org\n"
        settings = JobSettings(pipeline=self.settings.pipelines[0]).model_dump()
        self.job = self.store.add_job(settings, [("note.txt", note)], SERVICE, start=True)
        while task := self.store.queue.claim(0):
            workers.work(self.processor, self.store, task)
        self.file = self.store.files(self.job)[0].id

    def call(self, data: bytes) -> tuple[Sent, Answer]:
        """Send a request to the application.

        data (bytes): the request as text.
        RETURNS (tuple[Sent, Answer]): the request that was sent, and its answer.
        RAISES: TimeoutError if there is no answer in time.
        """
        sent = parse_request(data.replace(b"{job}", self.job.encode()).replace(b"{file}", self.file.encode()))
        answer = self.loop.run_until_complete(asyncio.wait_for(self._send(sent), SECONDS))
        if answer.status < 400 and find_rule(sent.method, sent.path)[0].action:
            self.renew()
        return sent, answer

    async def _send(self, sent: Sent) -> Answer:
        """Call the application as a server does."""
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": sent.method,
            "scheme": "http",
            "path": sent.path,
            "raw_path": sent.path.encode("utf-8", "replace"),
            "root_path": "",
            "query_string": sent.query,
            "headers": sent.headers,
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8000),
        }
        chunks: Iterator[int] = iter(range(0, max(1, len(sent.body)), _CHUNK))
        ended, started, parts = asyncio.Event(), {}, []

        async def receive() -> dict[str, Any]:
            at = next(chunks, None)
            if at is None:
                await ended.wait()
                return {"type": "http.disconnect"}
            more = at + _CHUNK < len(sent.body)
            return {"type": "http.request", "body": sent.body[at : at + _CHUNK], "more_body": more}

        async def take(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                started.update(message)
                return
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                ended.set()

        await self.app(scope, receive, take)
        return Answer(started["status"], dict(started.get("headers", ())), b"".join(parts))

    def read_log(self) -> str:
        """Return what was logged since the last call."""
        text = self.log.getvalue()
        self.log.seek(0)
        self.log.truncate()
        return text


@cache
def service() -> Service:
    """The service, which is started when it is first needed: its threads do not survive a fork."""
    return Service()


# --- inputs ---

JSON = "content-type: application/json\n"
PLAIN = "content-type: application/octet-stream\n"
FORM = "content-type: application/x-www-form-urlencoded\n"
PARTS = "content-type: multipart/form-data; boundary=x\n"


def form_of(fields: dict[str, str], name: str, content: str) -> str:
    """Write a form with a file, in parts."""
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items()
    ]
    parts.append(f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n{content}\r\n')
    return "".join([*parts, "--x--\r\n"])


def make_requests(canary: str, hl7: str, cda: str) -> tuple[bytes, ...]:
    """Make a valid request to each route of the service.

    canary (str): what identifies a patient in texts.
    hl7, cda (str): a message and a document.
    RETURNS (tuple[bytes, ...]): the requests as text.
    """
    text = {"text": f"Nombre: Ana\nCorreo: {canary}\n", "style": "tag", "policy": "strict", "trace": True}
    batch = {"items": [{"text": canary, "patient_id": "1"}, {"text": 1}], "settings": {"style": "mask"}, "trace": True}
    fhir = {"resourceType": "Patient", "telecom": [{"system": "email", "value": canary}], "birthDate": "1950-01-01"}
    decision = {"action": "add", "start": 0, "end": 6, "label": "PATIENT"}
    change = {"action": "release", "start": 8, "end": 16, "label": "", "reviewer": 1}
    settings = json.dumps({"style": "numbered", "columns": {"a": "keep"}})
    upload = form_of({"settings": settings, "start": "false"}, "a.txt", f"Correo: {canary}")
    page = "accept: text/html\n"
    bodies = [
        ("POST /v1/deidentify", JSON, json.dumps(text)),
        ("POST /v1/deidentify", JSON, json.dumps({"text": canary, "patient_name": "Ana", "note_date": "2024-01-02"})),
        ("POST /v1/deidentify/batch", JSON, json.dumps(batch)),
        ("POST /v1/fhir/$de-identify?style=tag&accept_partial=true", JSON, json.dumps(fhir)),
        ("POST /v1/hl7/$de-identify?accept_warnings=true&encoding=utf-8", PLAIN, hl7),
        ("POST /v1/cda/$de-identify?policy=safe_harbor", PLAIN, cda),
        ("POST /v1/jobs", f"{PARTS}idempotency-key: k\n", upload),
        ("POST /v1/jobs/{job}/start", JSON, settings),
        ("POST /v1/jobs/{job}/cancel", "", ""),
        ("POST /v1/files/{file}/decisions", JSON, json.dumps(decision)),
        ("POST /v1/files/{file}/apply", "", ""),
        ("POST /login", FORM, f"token={TOKEN}"),
        ("POST /logout", "cookie: a=b\n", ""),
        ("POST /jobs", page + PARTS, form_of({"pipeline": ""}, "a.txt", canary)),
        ("POST /jobs/{job}/start", page + FORM, "style=tag&columns=a%3Dkeep&ocr_languages=spa"),
        ("POST /jobs/{job}/cancel", page, ""),
        ("POST /jobs/{job}/delete", page, ""),
        (
            "POST /jobs/{job}/report",
            page + PARTS,
            form_of({"scheme": "canonical"}, "note.ann", "T1\tPATIENT 8 16\tAna Ruiz"),
        ),
        ("POST /files/{file}/review", page + JSON, json.dumps(change)),
        ("POST /files/{file}/apply", page, ""),
        ("POST /files/{file}/differences", page + FORM, "start=8&end=16&take=1"),
    ]
    rest = "/health /ready /v1/health /v1/ready /metrics /v1/openapi.json /v1/choices /v1/me /v1/audit?limit=3&after=1"
    rest += " /v1/jobs?limit=2&cursor= /v1/jobs/{job}?files=false /v1/jobs/{job}/download?names=true&with_text=true"
    rest += " /v1/jobs/{job}/decisions?limit=1&cursor= /v1/files/{file} /v1/files/{file}/download?accept_warnings=true"
    rest += " /v1/files/{file}/findings /v1/files/{file}/text?released=true"
    pages = "/ /login /static/app.css /jobs/{job}?part=1 /jobs/{job}/download /files/{file}/download"
    pages += " /jobs/{job}/report /jobs/{job}/report.csv /jobs/{job}/agreement /jobs/{job}/gold?format=brat"
    pages += " /files/{file}?part=1&reviewer=2 /files/{file}/spans/0?reviewer=1 /files/{file}/pages/1"
    pages += " /files/{file}/pages/1/picture?released=true /files/{file}/differences"
    gets = [("GET " + path, "", "") for path in rest.split()] + [("GET " + path, page, "") for path in pages.split()]
    gets.append(("DELETE /v1/jobs/{job}", "", ""))
    return tuple(f"{first}\n{headers}\n{body}".encode() for first, headers, body in [*bodies, *gets])


def make_words() -> tuple[bytes, ...]:
    """Return names of fields and values of settings, which inputs are made of."""
    values = (
        "true false null 0 -1 99999999999999999999 1e999 NaN strict safe_harbor limited_data_set surrogate numbered"
    )
    values += " utf-16 latin-1 idna punycode base64 x-www-form-urlencoded %00 %ff %2e%2e %2f ../ {job} {file} {} []"
    headers = (
        "accept: content-type: cookie: host: origin: range: x-forwarded-for: authorization: accept-language: expect:"
    )
    given = [*service_fields(), *values.split(), *headers.split()]
    return tuple(word.encode() for word in given)


def service_fields() -> list[str]:
    """Return the names of all fields and parameters of the service."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        return sorted(field_names(make_service(ServiceSettings(data=Path(folder), pipelines=("es",)))))
