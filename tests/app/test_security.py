"""Who may ask: tokens, hosts, origins, sizes; and what every answer says to browsers."""

import http.client
import io
import logging
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import httpx
import psutil
import pytest
from starlette.exceptions import HTTPException

from spacy_deid.app.logs import _RateLimit
from spacy_deid.app.service import make_service
from spacy_deid.app.settings import JobSettings, ServiceSettings, is_loopback
from spacy_deid.errors import ConfigError

from .conftest import CANARY, NOTE, TOKEN


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *((host, True) for host in ("localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]")),
        *((host, False) for host in ("0.0.0.0", "10.0.0.1", "localhost.example.org", "")),
    ],
)
def test_only_this_machine_is_loopback(host, expected):
    assert is_loopback(host) is expected


@pytest.mark.parametrize("token", ["", "short"])
def test_serving_other_machines_needs_a_long_token(tmp_path, token):
    with pytest.raises(ConfigError, match="token"):
        ServiceSettings(tmp_path, host="0.0.0.0", token=token)
    assert ServiceSettings(tmp_path, host="0.0.0.0", token=TOKEN)


def test_the_token_is_in_no_repr(tmp_path):
    assert TOKEN not in repr(ServiceSettings(tmp_path, token=TOKEN))


@pytest.mark.parametrize("name", ["project_key", "files_key"])
def test_a_key_in_the_folder_of_the_jobs_is_refused(tmp_path, name):
    with pytest.raises(ConfigError, match="Move it to a separate folder"):
        ServiceSettings(tmp_path / "data", **{name: tmp_path / "data" / "a.key"})
    assert ServiceSettings(tmp_path / "data", **{name: tmp_path / "keys" / "a.key"})


@pytest.mark.parametrize(
    ("offer", "named"),
    [
        ({"pipelines": ("es", "xq")}, "xq"),
        ({"dictionaries": Path("no-lists")}, "no-lists"),
        ({"project_key": Path("no.key")}, "no.key"),
        ({"llm_prompts": (Path("no.toml"),)}, "no.toml"),
        ({"llm": ("no.gguf",)}, "no.gguf"),
        ({"llm": ("http://192.0.2.7:8080",)}, "192.0.2.7"),
    ],
)
def test_missing_resources_stop_the_service_before_it_starts(tmp_path, offer, named):
    with pytest.raises(ConfigError, match=named):
        make_service(ServiceSettings(tmp_path / "data", **offer))
    assert not (tmp_path / "data").exists()


def test_settings_that_are_not_offered_are_refused(tmp_path):
    service = ServiceSettings(tmp_path, pipelines=("es",))
    assert JobSettings().check(service).pipeline == "es"
    with pytest.raises(ConfigError, match="pipeline"):
        JobSettings(pipeline="en").check(service)


@pytest.mark.parametrize(
    "llm", [{"prompt": "/etc/other.toml"}, {"prompt": "../es/zero_shot.v2"}, {"labels": ["PATIENT", "NOTHING"]}]
)
def test_a_language_model_reads_no_file_that_a_request_names(tmp_path, llm):
    service = ServiceSettings(tmp_path, llm=("model.gguf",))
    given = {"location": "model.gguf", "prompt": "zero_shot.v2", "labels": ["PATIENT"]}
    assert JobSettings(llm=given).check(service).llm
    with pytest.raises(ConfigError, match="not available"):
        JobSettings(llm=given | llm).check(service)


def test_responses_have_a_content_security_policy(service):
    for path in ("/", "/v1/health", "/static/app.js", "/nothing"):
        headers = service.client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_another_name_of_this_machine_is_refused(service):
    assert service.client.get("/v1/jobs", headers={"host": "attacker.example"}).status_code == 421


@pytest.mark.parametrize(
    "host", ["127.0.0.1/login?", "127.0.0.1/static/app.js#", "127.0.0.1@attacker.example", "a b", ""]
)
def test_invalid_host_header_is_refused(service, host):
    """An address made of this header and the path would be another one, which may need no token."""
    assert service.client.get("/v1/jobs", headers={"host": host}).status_code in (400, 421)


def test_a_form_of_another_site_is_refused(service):
    for origin in ("http://attacker.example", "null"):
        answer = service.client.post("/v1/deidentify", json={"text": "a"}, headers={"origin": origin})
        assert answer.status_code == 403


def test_a_request_that_is_too_large_is_refused(guarded):
    service, before = guarded, guarded.client.get("/v1/jobs").json()
    big = ("files", ("a.txt", b"a" * 1_500_000))
    assert service.client.post("/v1/jobs", files=[big]).status_code == 400
    small = ("files", ("a.txt", b"a"))
    assert service.client.post("/v1/jobs", files=[small] * 3).status_code == 400
    assert service.client.post("/v1/jobs", files=[big] * 2).status_code in (400, 413)
    assert service.client.get("/v1/jobs").json() == before


def test_requests_without_the_token_are_refused(guarded):
    assert guarded.client.get("/v1/jobs").status_code == 200
    wrong = ({}, {"authorization": "Bearer wrong"}, {"cookie": f"spacy_deid_session={TOKEN}"})
    for i, given in enumerate(wrong):
        headers = {"authorization": "", "x-forwarded-for": f"10.0.0.{i}", **given}
        for path in ("/v1/jobs", "/v1/openapi.json", "/", "/loginx", "/static/../v1/jobs", "//v1/jobs"):
            assert guarded.client.get(path, headers=headers).status_code == 401
        assert guarded.client.post("/v1/deidentify", json={"text": NOTE}, headers=headers).status_code == 401
    assert TOKEN not in guarded.log.read_text(encoding="utf8")


def test_a_browser_signs_in_and_out(guarded):
    with httpx.Client(base_url=guarded.url, timeout=60, trust_env=False) as client:
        page = client.get("/", headers={"accept": "text/html"})
        assert (page.status_code, page.headers["location"]) == (303, "/login")
        answer = client.post("/login", data={"token": TOKEN})
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert "secure" not in cookie.lower()
        assert TOKEN not in cookie
        assert client.get("/").status_code == 200
        client.post("/logout")
        assert client.get("/v1/jobs").status_code == 401


def test_behind_a_proxy_with_tls_the_cookie_is_for_tls_alone(guarded):
    headers = {"host": "deid.clinic.example", "x-forwarded-proto": "https", "origin": "https://deid.clinic.example"}
    answer = guarded.client.post("/login", data={"token": TOKEN}, headers=headers)
    assert answer.status_code == 303
    assert "secure" in answer.headers["set-cookie"].lower()
    assert guarded.client.get("/", headers={"host": "other.example"}).status_code == 421


def test_guessing_is_limited_and_the_right_token_still_works(guarded):
    guesser = {"x-forwarded-for": "10.9.9.9"}
    answers = [guarded.client.post("/login", data={"token": f"guess{i}"}, headers=guesser) for i in range(12)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429] * 2
    assert guarded.client.post("/login", data={"token": TOKEN}, headers=guesser).status_code == 303
    bearer = {"authorization": f"Bearer {TOKEN}"} | guesser
    assert guarded.client.get("/v1/jobs", headers=bearer).status_code == 200
    assert guarded.client.get("/v1/jobs").status_code == 200


@pytest.mark.parametrize("token", ["contraseña-larga-y-segura", "0123456789 abcdef-token", "0123456789abcdef\n"])
def test_token_with_invalid_characters_is_refused(tmp_path, token):
    with pytest.raises(ConfigError, match="ASCII"):
        ServiceSettings(tmp_path, token=token)


def test_a_name_of_a_proxy_needs_a_token(tmp_path):
    with pytest.raises(ConfigError, match="token"):
        ServiceSettings(tmp_path, names=("deid.clinic.example",))


def test_body_without_a_token_is_limited(guarded):
    """What is not bounded is held in memory, and keeps out others until it is answered."""
    with httpx.Client(base_url=guarded.url, timeout=60, trust_env=False) as client:
        try:
            answer = client.post("/login", files={"token": ("a", b"a" * 5_000_000)})
        except httpx.TransportError:
            return  # it stopped listening before everything was said
        assert answer.status_code == 413


def test_other_authorization_schemes_are_ignored(guarded):
    with httpx.Client(base_url=guarded.url, timeout=60, trust_env=False, auth=("anna", "geheim")) as client:
        client.post("/login", data={"token": TOKEN})
        assert {client.get("/").status_code for _ in range(15)} == {200}
    other = {"authorization": f"bearer {TOKEN}"}  # schemes have no case (RFC 9110)
    assert guarded.client.get("/v1/jobs", headers=other).status_code == 200


def test_cookie_is_invalid_after_signing_out(guarded):
    with httpx.Client(base_url=guarded.url, timeout=60, trust_env=False) as client:
        cookies = [client.post("/login", data={"token": TOKEN}).headers["set-cookie"].split(";")[0] for _ in range(2)]
        client.cookies.clear()
        assert len(set(cookies)) == 2
        client.post("/logout", headers={"cookie": cookies[0]})
        answers = [client.get("/v1/jobs", headers={"cookie": cookie}).status_code for cookie in cookies]
        assert answers == [401, 200]


def test_size_of_parsed_bodies_is_limited(service):
    headers = {"content-type": "application/json"}
    job = service.add(("a.txt", b"Nada."), start=False)
    for path, bytes in (("/v1/deidentify", 63_000_000), (f"/v1/jobs/{job}/start", 3_000_000)):
        try:
            answer = service.client.post(path, content=b"[" + b" " * bytes + b"]", headers=headers)
        except httpx.TransportError:
            continue  # it stopped listening before everything was said
        assert answer.status_code == 413


def test_a_text_of_the_greatest_length_is_taken(service):
    """Each letter written in six bytes."""
    answer = service.client.post("/v1/deidentify", json={"text": "é" * 9_999_999, "pipeline": "nothing"})
    assert answer.status_code == 400
    assert "pipeline" in answer.text


def test_stalled_body_times_out(service, monkeypatch):
    """In this process, so that nobody waits for a minute."""
    import anyio

    from spacy_deid.app import security

    monkeypatch.setattr(security, "SECONDS", 0.05)

    async def silence():
        await anyio.sleep(60)

    body = security._Body(SimpleNamespace(held=0, files=10), silence, 10)
    with pytest.raises(HTTPException) as caught:
        anyio.run(body)
    assert caught.value.status_code == 408


def test_browser_gets_an_error_page(service):
    for path in ("/nothing", "/jobs/nothing"):
        answer = service.client.get(path, headers={"accept": "text/html"})
        assert answer.status_code == 404
        assert 'role="alert"' in answer.text


def test_uploads_are_not_written_to_temporary_files(service):
    """Half of a form is sent, and the files that the service holds open are looked at."""
    edge = "edge-of-parts"
    head = f'--{edge}\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'.encode()
    body = head + b"a" * 3_000_000 + f"\r\n--{edge}--\r\n".encode()
    request = f"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    request += f"Content-Type: multipart/form-data; boundary={edge}\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
        connection.sendall(request.encode() + body[:-100])
        time.sleep(1)
        held = [os.readlink(path) for path in Path(f"/proc/{service.process.pid}/fd").iterdir() if path.is_symlink()]
        assert len(held) > 3
        assert not [path for path in held if path.startswith("/tmp/") and str(service.folder) not in path]
        connection.sendall(body[-100:])
        assert b" 201 " in connection.recv(100)


def test_body_without_a_length_is_limited(guarded):
    service, before = guarded, guarded.client.get("/v1/jobs").json()
    edge = "edge-of-parts"

    def endless():
        yield f'--{edge}\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'.encode()
        for _ in range(200):
            yield b"a" * 100_000

    headers = {"content-type": f"multipart/form-data; boundary={edge}"}
    try:
        answer = service.client.post("/v1/jobs", content=endless(), headers=headers)
    except httpx.TransportError:
        pass  # it stopped listening before everything was said
    else:
        assert answer.status_code == 413
    assert service.client.get("/v1/jobs").json() == before


def test_second_service_in_a_folder_is_refused(service):
    command = [sys.executable, "-m", "spacy_deid", "serve", "--data", str(service.folder), "--port", "0"]
    second = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode == 1
    assert "another instance of the service" in second.stderr


def test_the_log_of_a_library_that_quotes_a_note_does_not(capsys):
    """In a process of its own, because it changes how a whole process logs."""
    program = f"""
import logging, warnings
from spacy_deid.app.logs import LOGGER, configure_logging
configure_logging()
warnings.warn("{CANARY}")
logging.getLogger("library").error("{CANARY}")
try:
    raise KeyError("{CANARY}")
except KeyError:
    logging.getLogger("uvicorn.error").exception("in the application")
LOGGER.error("own words")
raise RuntimeError("{CANARY}")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 1
    assert CANARY not in ran.stdout + ran.stderr
    for word in ("UserWarning", "library", "KeyError", "own words", "RuntimeError"):
        assert word in ran.stderr


def test_files_are_encrypted_with_a_files_key(guarded):
    service = guarded
    job = service.wait(service.add((f"{CANARY}.txt", NOTE.encode())))
    assert job["files"][0]["state"] == "done"
    assert job["files"][0]["name"] == f"{CANARY}.txt"
    failed = service.wait(service.add(("a.csv", b"note\nx\n"), columns={CANARY: "keep"}))
    assert CANARY in failed["files"][0]["reason"]
    files = [path for path in service.folder.rglob("*") if path.is_file()]
    assert len(files) > 2
    assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []


def half_open(port, sent):
    """A connection that sends the beginning of a request and no more."""
    one = socket.create_connection(("127.0.0.1", port), timeout=60)
    one.sendall(sent)
    return one


def test_connections_that_send_no_whole_request_are_closed(service):
    """All are opened at once, because each has ten seconds."""
    head = b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    with ExitStack() as stack:
        silent = [stack.enter_context(half_open(service.port, sent)) for sent in (b"", b"GE", head + b"X-A: ")]
        answered = stack.enter_context(half_open(service.port, head + b"\r\n"))
        assert answered.recv(65536).startswith(b"HTTP/1.1 200")
        answered.sendall(b"GET /v1/hea")
        dripping = stack.enter_context(half_open(service.port, head))
        with pytest.raises(ConnectionError):
            drip(dripping, 200)
        assert [one.recv(1) for one in silent] == [b"", b"", b""]
        while answered.recv(65536):
            pass


def drip(one, lines):
    """Send a header line every tenth of a second."""
    for i in range(lines):
        one.sendall(f"X-{i}: a\r\n".encode())
        time.sleep(0.1)


def read_response(one):
    """The status and body of a response, which can arrive in several pieces."""
    response = http.client.HTTPResponse(one)
    response.begin()
    return response.status, response.read()


def test_half_open_connections_are_limited_and_do_not_block_others(service):
    with ExitStack() as stack:
        for _ in range(700):
            stack.enter_context(half_open(service.port, b"GET / HTTP/1.1\r\n"))
        assert httpx.get(f"{service.url}/v1/health", trust_env=False, timeout=5).status_code == 200
        open_now = [c for c in psutil.Process(service.process.pid).net_connections() if c.status == "ESTABLISHED"]
        assert 300 < len(open_now) <= 520


def test_half_open_connections_do_not_close_those_of_clients(service):
    """Neither that of a client between two parts of a request, nor those of clients that connect in between."""
    head = b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    with ExitStack() as stack:
        known = stack.enter_context(half_open(service.port, head + b"\r\n"))
        assert read_response(known)[0] == 200
        known.sendall(head)
        clients = []
        for number in range(300):
            stack.enter_context(half_open(service.port, b"GET / HTTP/1.1\r\n"))
            if number % 6 == 0:
                clients.append(stack.enter_context(half_open(service.port, head + b"\r\n")))
        known.sendall(b"\r\n")
        assert [read_response(one)[0] for one in (known, *clients)] == [200] * 51


def test_log_is_limited_and_counts_dropped_lines():
    out, clock = io.StringIO(), iter([*[0.0] * 100, 61.0, 62.0])
    handler = logging.StreamHandler(out)
    handler.addFilter(_RateLimit(clock.__next__))
    logger = logging.Logger("spacy_deid.app")
    logger.addHandler(handler)
    for i in range(102):
        logger.error("broken %d", i)
    lines = out.getvalue().splitlines()
    assert len(lines) == 22
    assert lines[20] == "broken 100 (80 more like this were left out)"
    assert lines[21] == "broken 101"
