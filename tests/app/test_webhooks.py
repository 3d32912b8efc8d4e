"""Webhooks of jobs, sent to a real server; and requests that are sent twice."""

import base64
import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from spacy_deid.app import webhooks
from spacy_deid.app.settings import ServiceSettings
from spacy_deid.app.store import Conflict
from spacy_deid.app.webhooks import Webhooks, check_address, read_secret
from spacy_deid.app.workers import open_store
from spacy_deid.errors import ConfigError

from .conftest import CANARY, NOTE

SECRET = bytes(range(32))


class Receiver(HTTPServer):
    """Stores the requests that it gets, and answers with the given statuses, at last with 204."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.got, self.statuses = [], []
        self.url = f"http://127.0.0.1:{self.server_port}/hooks/deid"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 204)
        self.send_header("location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def receiver():
    with Receiver() as running:
        yield running
        running.shutdown()


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "keys").mkdir()
    key = tmp_path / "keys" / "webhooks.key"
    key.write_text(f"whsec_{base64.b64encode(SECRET).decode()}\n")
    return ServiceSettings(tmp_path / "data", webhook_key=key, webhook_allow=("127.0.0.1",))


def finish(store):
    with store.database.change() as database:
        database.execute("UPDATE file SET state = 'done', task = NULL")


def test_finished_job_is_announced_once_with_a_signature(settings, receiver):
    store = open_store(settings)
    hooks = Webhooks(settings, store)
    job = store.add_job({}, [(f"{CANARY}.txt", NOTE.encode())], "ada", start=True, webhook=receiver.url)
    assert hooks.deliver() == 0
    finish(store)
    assert (hooks.deliver(), hooks.deliver()) == (1, 0)
    [(path, headers, body)] = receiver.got
    assert path == "/hooks/deid"
    assert json.loads(body)["type"] == "job.finished"
    assert json.loads(body)["data"] == {"job": job, "total": 1, "done": 1, "failed": 0, "cancelled": False}
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = base64.b64encode(hmac.digest(SECRET, signed, "sha256")).decode()
    assert headers["webhook-signature"] == f"v1,{wanted}"
    assert CANARY.encode() not in body
    store.queue.start(job, {})
    assert hooks.deliver() == 0
    finish(store)
    assert Webhooks(settings, open_store(settings)).deliver() == 1
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 2


def test_job_that_was_not_started_is_not_announced(settings, receiver):
    store = open_store(settings)
    store.add_job({}, [("a.txt", b"a")], webhook=receiver.url)
    finish(store)
    assert Webhooks(settings, store).deliver() == 0
    assert receiver.got == []


@pytest.mark.parametrize("status", [500, 302])
def test_failed_webhook_is_sent_again_with_the_same_id(settings, receiver, status, monkeypatch, caplog):
    monkeypatch.setattr(webhooks, "DELAYS", (0.0, 0.0))
    receiver.statuses[:] = [status] * 2
    store = open_store(settings)
    store.add_job({}, [("a.txt", b"a")], start=True, webhook=receiver.url)
    finish(store)
    hooks = Webhooks(settings, store)
    assert [hooks.deliver() for _ in range(4)] == [0, 0, 1, 0]
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 1
    assert {path for path, _, _ in receiver.got} == {"/hooks/deid"}
    assert f"HTTP status {status}" in caplog.text


def test_webhook_is_given_up_after_all_attempts(settings, receiver, monkeypatch):
    monkeypatch.setattr(webhooks, "DELAYS", (0.0,))
    receiver.statuses[:] = [500] * 9
    store = open_store(settings)
    store.add_job({}, [("a.txt", b"a")], start=True, webhook=receiver.url)
    finish(store)
    hooks = Webhooks(settings, store)
    assert [hooks.deliver() for _ in range(4)] == [0] * 4
    assert len(receiver.got) == 2


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.2/hook",
        "http://[::1]/hook",
        "http://169.254.169.254/latest",
        "http://user:secret@127.0.0.1/hook",
        "http://127.0.0.1/hook?token=secret",
        "http://127.0.0.1 /hook",
        "file:///etc/passwd",
        "http://192.0.2.7/hook",
        "nothing",
    ],
)
def test_webhook_to_an_address_that_is_not_allowed_is_refused(settings, url):
    assert check_address("http://127.0.0.1:9000/hook", settings)
    with pytest.raises(ConfigError, match="webhook: ") as caught:
        check_address(url, settings)
    assert "secret" not in str(caught.value)
    assert "etc" not in str(caught.value)


def test_webhooks_need_a_key(tmp_path, settings):
    with pytest.raises(ConfigError, match="no key"):
        check_address("http://127.0.0.1/hook", ServiceSettings(tmp_path / "other"))
    for content in ("short", "x" * 20, "*" * 40, ""):
        settings.webhook_key.write_text(content)
        with pytest.raises(ConfigError, match="24 to 64 bytes"):
            read_secret(settings.webhook_key)


def test_address_is_checked_again_before_it_is_used(settings, receiver, caplog):
    store = open_store(settings)
    store.add_job({}, [("a.txt", b"a")], start=True, webhook=receiver.url)
    finish(store)
    narrower = ServiceSettings(settings.data, webhook_key=settings.webhook_key, webhook_allow=("192.0.2.1",))
    assert Webhooks(narrower, store).deliver() == 0
    assert receiver.got == []
    assert "not allowed" in caplog.text


def test_request_that_is_sent_again_adds_no_other_job(service):
    def send(note, key="b3c1-1"):
        form = {"files": ("a.txt", note.encode())}
        return service.client.post("/v1/jobs", files=form, headers={"idempotency-key": key})

    first, again = send(NOTE), send(NOTE)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["id"] == again.json()["id"]
    assert (first.headers.get("idempotent-replayed"), again.headers["idempotent-replayed"]) == (None, "true")
    other = send(NOTE + CANARY)
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert send(NOTE, "b3c1-2").json()["id"] != first.json()["id"]
    service.client.delete(f"/v1/jobs/{first.json()['id']}")
    assert send(NOTE).json()["id"] != first.json()["id"]
    assert (
        service.client.post("/v1/jobs", files={"files": ("a.txt", b"a")}, data={"webhook": "http://a/"}).json()["code"]
        == "setting"
    )


def test_request_in_progress_and_of_another_user_is_not_mixed_up(settings):
    store = open_store(settings)

    def files():
        yield "a.txt", b"a"
        with pytest.raises(Conflict, match="in progress"):
            store.find_request("ada 1", "digest")
        with pytest.raises(Conflict, match="in progress"):
            store.add_job({}, [("a.txt", b"a")], request=("ada 1", "digest"))
        assert store.find_request("ben 1", "digest") is None

    job = store.add_job({}, files(), request=("ada 1", "digest"))
    assert store.find_request("ada 1", "digest") == job
    with pytest.raises(Conflict, match="other content"):
        store.find_request("ada 1", "other")
    assert [one["id"] for one in store.jobs()] == [job]
