"""Some inputs of each target of `benchmarks.fuzz`: errors have a code, and nothing quotes the canary."""

import json
import logging
import os
import re

import pytest
from typer.main import get_command

pytest.importorskip("reportlab")

from benchmarks import fuzz
from benchmarks.fuzz import CANARY, Broken, Target, make_targets, require_code, require_quiet, try_target
from benchmarks.fuzz_service import Answer, parse_request, service
from spacy_deid.app.pages import make_pages
from spacy_deid.cli import app
from spacy_deid.documents import read_document
from spacy_deid.errors import InputError

# Starlette closes the parts of a damaged form only when they are collected.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <function SpooledTemporaryFile:pytest.PytestUnraisableExceptionWarning"
)
TARGETS = make_targets()
EXAMPLES = {"texts": 25, "REST requests": 100, "files .pdf": 15, "files .xlsx": 15}


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_is_read_or_refused_with_a_code(name: str):
    number = 0 if os.environ.get("CI") else int.from_bytes(os.urandom(4), "big")
    tried, broken = try_target(TARGETS[name], EXAMPLES.get(name, 40), number)
    assert tried > 1
    assert broken == "", f"seed {number}"


DEEP = [b"x = " + b"[" * 5000, b"x = " + b"{x = " * 5000, b'{"x": ' * 5000, b"x = " + b"9" * 5000]


@pytest.mark.parametrize("name", [name for name in TARGETS if not name.startswith(("texts", "files"))])
def test_deep_nesting_and_long_numbers_are_refused_with_a_code(name: str):
    for data in DEEP:
        TARGETS[name].check(data)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_of_a_target_keep_its_promises(name: str):
    assert TARGETS[name].seeds
    for data in TARGETS[name].seeds:
        TARGETS[name].check(TARGETS[name].convert(data))


def test_what_breaks_a_promise_is_noticed():
    inputs = TARGETS["texts"].inputs

    def crash(value: str) -> None:
        require_code(lambda: {}[value])

    assert try_target(Target(inputs, crash), 5, 0)[1] == "KeyError instead of an error with a code"
    with pytest.raises(Broken, match="quotes"):
        require_quiet(f"cannot read {CANARY.upper()}")

    def refuse() -> None:
        raise InputError("not valid")

    require_code(refuse)


@pytest.mark.parametrize("suffix", fuzz.files())
def test_the_files_that_are_damaged_are_valid(suffix: str):
    assert CANARY in read_document(fuzz.files()[suffix], f"note{suffix}").text


def test_the_other_inputs_that_are_changed_are_valid():
    assert fuzz.parse_message(fuzz.HL7.encode(), "m")
    assert fuzz.read_json(fuzz.FHIR)["resourceType"] == "Patient"
    assert fuzz.parse_rules(fuzz.RULES, "r.toml")
    fuzz.parse_document(fuzz.CDA.encode(), "a.xml")
    fuzz.parse_profile(fuzz.PROFILE.decode(), "p.toml")


def test_the_settings_that_are_changed_are_valid(tmp_path):
    for name in ("POLICY", "PROMPT", "ROWS", "OPTIONS"):
        (tmp_path / f"{name}.toml").write_text(getattr(fuzz, name))
    assert fuzz.load_policy(str(tmp_path / "POLICY.toml")).action("AGE") == "keep"
    assert fuzz.load_prompt(str(tmp_path / "PROMPT.toml"), "es").id == "own"
    assert fuzz.read_config(tmp_path / "OPTIONS.toml", get_command(app).commands["redact"])["n_process"] == 2
    (tmp_path / "ROWS.toml").rename(tmp_path / "rows.jsonl")
    assert [row[0] for row in fuzz.open_source(str(tmp_path / "rows.jsonl")).scan(["note_id"])] == ["1", "2"]
    fuzz.hl7_profile.parse_profile(fuzz.HL7_PROFILE.decode(), "p.toml")
    fuzz.cda_profile.parse_profile(fuzz.CDA_PROFILE.decode(), "p.toml")


def test_every_route_of_the_service_has_a_request():
    started = service()
    pages = make_pages(started.settings, started.store, None, None)
    routes = {(method, route.path) for route in pages.routes for method in route.methods}
    described = started.app.openapi()["paths"]
    routes |= {(method.upper(), path) for path, methods in described.items() for method in methods}
    sent = [parse_request(request) for request in TARGETS["REST requests"].seeds]
    called = {
        (method, path)
        for method, path in routes
        for request in sent
        if request.method == method
        and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path).replace("$", r"\$"), request.path)
    }
    assert len(routes) > 40
    assert routes - called == set()


def test_most_requests_are_accepted():
    answers = [service().call(request)[1].status for request in TARGETS["REST requests"].seeds]
    assert sum(status < 400 for status in answers) > 0.8 * len(answers)


def with_json(path: str, **fields: object) -> bytes:
    return f"POST {path}\ncontent-type: application/json\n\n{json.dumps(fields)}".encode()


@pytest.mark.parametrize(
    "request_text",
    [
        f"GET /v1/jobs/{CANARY}\n\n".encode(),
        f"GET /files/{CANARY}\naccept: text/html\n\n".encode(),
        f"POST /v1/jobs/{CANARY}/cancel\n\n".encode(),
        f"GET /jobs/{{job}}/gold?format={CANARY}\naccept: text/html\n\n".encode(),
        f"POST /v1/hl7/$de-identify?encoding={CANARY}\n\n{fuzz.HL7}".encode(),
        f"POST /v1/cda/$de-identify?pipeline={CANARY}\n\n{fuzz.CDA}".encode(),
        with_json("/v1/deidentify", text="a", pipeline=CANARY),
        with_json("/v1/deidentify", text="a", encoding=CANARY),
        with_json("/v1/deidentify", text="a", note_date=CANARY),
        with_json("/v1/deidentify", text="a", columns={"a": CANARY}),
        with_json("/v1/deidentify", text="a", llm={"location": CANARY}),
        with_json("/v1/deidentify", **{"text": "a", CANARY: 1}),
        with_json("/v1/files/{file}/decisions", action="add", start=0, end=3, label=CANARY),
        with_json("/v1/files/{file}/decisions", action="relabel", start=8, end=16, label=CANARY),
        with_json("/files/{file}/review", action="relabel", start=8, end=16, label=CANARY),
    ],
)
def test_no_refusal_of_the_service_quotes_a_value_of_its_request(request_text: bytes):
    assert 400 <= service().call(request_text)[1].status < 500
    TARGETS["REST requests"].check(request_text)


def test_a_request_that_breaks_a_promise_is_noticed(monkeypatch):
    sent, answer = service().call(b"GET /v1/me\n\n")
    assert answer.status == 200
    check = TARGETS["REST requests"].check

    def reply(status: int, body: bytes) -> None:
        monkeypatch.setattr(service(), "call", lambda data: (sent, Answer(status, {}, body)))
        check(b"")

    reply(200, CANARY.encode())
    with pytest.raises(Broken, match="GET /v1/me fails without a code"):
        reply(500, b"Internal Server Error")
    with pytest.raises(Broken, match="quotes"):
        reply(422, CANARY.encode())
    logging.getLogger("spacy_deid.app").error("cannot read %s", CANARY)
    with pytest.raises(Broken, match="quotes"):
        reply(200, b"")
    sent = sent._replace(method="POST", path="/v1/deidentify")
    with pytest.raises(Broken, match="releases"):
        reply(200, CANARY.encode())


def test_a_request_is_what_a_server_passes_on():
    sent = parse_request(b"p\xffost /a%20b\0?x=\x01%20&y \nX-A:\r b\nhost: c\n\nbody\n\nmore")
    assert sent[:3] == ("POST", "/a b", b"x=%20&y")
    assert dict(sent.headers)[b"x-a"] == b"b"
    assert dict(sent.headers)[b"host"] == b"c"
    assert dict(sent.headers)[b"content-length"] == b"10"
    assert sent.body == b"body\n\nmore"
    assert parse_request(b"")[:2] == ("GET", "/")
