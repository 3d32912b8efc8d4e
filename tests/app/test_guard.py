"""Who may ask: tokens, hosts, origins, sizes; and what every answer says to browsers."""

import pytest

from spacy_deid.app.settings import JobSettings, ServiceSettings, is_loopback
from spacy_deid.errors import ConfigError

from .conftest import CANARY, NOTE

TOKEN = "0123456789abcdef-token"


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
def test_others_are_served_only_with_a_token_that_is_long_enough(tmp_path, token):
    with pytest.raises(ConfigError, match="token"):
        ServiceSettings(tmp_path, host="0.0.0.0", token=token)
    assert ServiceSettings(tmp_path, host="0.0.0.0", token=TOKEN)


def test_the_token_is_in_no_repr(tmp_path):
    assert TOKEN not in repr(ServiceSettings(tmp_path, token=TOKEN))


def test_settings_that_are_not_offered_are_refused(tmp_path):
    service = ServiceSettings(tmp_path, pipelines=("es",))
    assert JobSettings().check(service).pipeline == "es"
    with pytest.raises(ConfigError, match="pipeline"):
        JobSettings(pipeline="en").check(service)


def test_a_browser_is_told_to_load_nothing_from_elsewhere(service):
    for path in ("/", "/v1/health", "/static/app.js", "/nothing"):
        headers = service.client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_another_name_of_this_machine_is_refused(service):
    assert service.client.get("/v1/jobs", headers={"host": "attacker.example"}).status_code == 421


def test_a_form_of_another_site_is_refused(service):
    for origin in ("http://attacker.example", "null"):
        answer = service.client.post("/v1/deidentify", json={"text": "a"}, headers={"origin": origin})
        assert answer.status_code == 403


def test_a_request_that_is_too_large_is_refused(start_service):
    service = start_service("--max-mb", "1", "--max-files", "2")
    big = ("files", ("a.txt", b"a" * 1_500_000))
    assert service.client.post("/v1/jobs", files=[big]).status_code == 400
    small = ("files", ("a.txt", b"a"))
    assert service.client.post("/v1/jobs", files=[small] * 3).status_code == 400
    assert service.client.post("/v1/jobs", files=[big] * 2).status_code in (400, 413)
    assert service.client.get("/v1/jobs").json() == []


def test_without_the_token_nothing_is_told(start_service):
    service = start_service(token=TOKEN)
    assert service.client.get("/v1/jobs").status_code == 200
    for headers in ({"authorization": ""}, {"authorization": "Bearer wrong"}):
        assert service.client.get("/v1/jobs", headers=headers).status_code == 401
        assert service.client.post("/v1/deidentify", json={"text": NOTE}, headers=headers).status_code == 401
    page = service.client.get("/", headers={"authorization": "", "accept": "text/html"})
    assert (page.status_code, page.headers["location"]) == (303, "/login")
    assert service.client.post("/login", data={"token": "wrong"}).status_code == 401
    answer = service.client.post("/login", data={"token": TOKEN})
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    assert TOKEN not in service.log.read_text(encoding="utf8")


def test_files_are_sealed_if_there_is_a_key_for_them(start_service, tmp_path):
    from spacy_deid.surrogates.keys import ProjectKey

    key = tmp_path / "keys" / "files.key"
    key.parent.mkdir()
    ProjectKey.make().to_file(key)
    service = start_service("--files-key", str(key))
    job = service.wait(service.add((f"{CANARY}.txt", NOTE.encode())))
    assert job["files"][0]["state"] == "done"
    assert job["files"][0]["name"] == f"{CANARY}.txt"
    service.stop()
    for path in service.folder.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes()
