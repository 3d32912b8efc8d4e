"""A server that answers, and the ways in which one does not."""

import logging
import socket
import time
from datetime import UTC, datetime, timedelta

import pytest
from canned_server import canned_server

from spacy_deid.errors import ConfigError
from spacy_deid.llm.backends import BackendError, open_backend
from spacy_deid.llm.prompts import answer_schema
from spacy_deid.llm.server import Endpoint


@pytest.fixture
def hosts(monkeypatch):
    """Names that are looked up here, so that no test needs a network."""
    known = {"llm.example": ["10.1.2.3"], "two.example": ["127.0.0.1", "93.184.216.34"], "here.example": ["127.0.0.1"]}
    real = socket.getaddrinfo

    def look_up(host, port, **rest):
        if host in known:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in known[host]]
        return real(host, port, **rest)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1"),
        ("http://localhost:8080/v1", "127.0.0.1"),
        ("http://[::1]:8080", "[::1]"),
        ("http://127.8.8.8", "127.8.8.8"),
        ("https://here.example", "127.0.0.1"),
    ],
)
def test_this_machine_needs_no_leave(hosts, url, place):
    assert Endpoint(url).resolve() == place


@pytest.mark.parametrize(
    "url",
    ["http://10.1.2.3", "http://llm.example", "http://two.example", "http://169.254.169.254", "http://0.0.0.0:80"],
)
def test_what_is_not_this_machine_is_refused(hosts, url):
    with pytest.raises(ConfigError, match="not this machine"):
        Endpoint(url).resolve()


@pytest.mark.parametrize("allowed", ["llm.example", "LLM.example.", "10.1.2.3", "10.1.0.0/16"])
def test_a_host_is_allowed_by_name_address_or_network(hosts, allowed):
    assert Endpoint("http://llm.example:9", [allowed]).resolve() == "10.1.2.3"


@pytest.mark.parametrize("allowed", ["example", "xllm.example", "10.1.2.4", "10.2.0.0/16", ""])
def test_what_is_only_like_an_allowed_host_is_refused(hosts, allowed):
    with pytest.raises(ConfigError):
        Endpoint("http://llm.example:9", [allowed]).resolve()


def test_a_name_with_accents_is_allowed_as_it_is_written(hosts):
    hosts["xn--mnchen-3ya.example"] = ["10.1.2.4"]
    endpoint = Endpoint("http://münchen.example:9", ["München.example"])
    assert (endpoint.resolve(), endpoint.host) == ("10.1.2.4", "xn--mnchen-3ya.example")


@pytest.mark.parametrize(
    "url", ["http://localhost.here.example", "http://127.0.0.1.here.example", "http://10.1.2.3#@here"]
)
def test_what_only_begins_like_this_machine_is_refused(hosts, url):
    hosts |= {"localhost.here.example": ["93.184.216.34"], "127.0.0.1.here.example": ["93.184.216.34"]}
    with pytest.raises(ConfigError):
        Endpoint(url).resolve()


def test_a_host_is_looked_up_each_time(hosts):
    endpoint = Endpoint("http://here.example")
    assert endpoint.resolve() == "127.0.0.1"
    hosts["here.example"] = ["93.184.216.34"]
    with pytest.raises(ConfigError):
        endpoint.resolve()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://localhost/x",
        "http://",
        "http://localhost:99999",
        "http://localhost/v1?key=s3cret",
        "http://[::1",
        "file:///x",
        f"http://{'a' * 64}.example",
        "http://a..example",
        "http://127.0.0.1@93.184.216.34/",
        "http://127.0.0.1\\@93.184.216.34/",
    ],
)
def test_an_address_of_another_form_is_refused_and_not_quoted(url):
    with pytest.raises(ConfigError) as caught:
        Endpoint(url)
    assert "s3cret" not in str(caught.value)


def test_a_password_in_the_address_is_refused_and_not_quoted():
    with pytest.raises(ConfigError) as caught:
        Endpoint("http://user:s3cret@localhost:8080")
    assert "s3cret" not in str(caught.value)
    assert "key_variable" in str(caught.value)


def test_the_path_is_that_of_the_protocol_unless_it_is_given():
    assert Endpoint("http://localhost:1").path == "/v1"
    assert Endpoint("http://localhost:1/openai/v1/").path == "/openai/v1"


SCHEMA = answer_schema(["PATIENT"])
ASK = [{"role": "user", "content": "Zyxwalda Qvistberg"}]


def test_it_is_asked_as_the_protocol_has_it():
    with canned_server('{"PATIENT": []}') as (url, canned):
        backend = open_backend(url)
        assert backend.complete(ASK, SCHEMA, max_tokens=77, seed=5) == '{"PATIENT": []}'
        assert backend.name == "tiny@127.0.0.1"
    [body] = canned.asked
    assert body["messages"] == ASK
    assert (body["model"], body["temperature"], body["seed"], body["max_tokens"]) == ("tiny", 0.0, 5, 77)
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert canned.headers[0]["Host"] == url.removeprefix("http://")


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_server_that_knows_no_json_schema_is_told_the_schema_of_an_object(status):
    def answer(body):
        return status if body["response_format"]["type"] == "json_schema" else "{}"

    with canned_server(answer) as (url, canned):
        backend = open_backend(url)
        assert [backend.complete(ASK, SCHEMA) for _ in range(2)] == ["{}", "{}"]
    kinds = [body["response_format"]["type"] for body in canned.asked]
    assert kinds == ["json_schema", "json_object", "json_object"]
    assert canned.asked[1]["response_format"]["schema"] == SCHEMA


def test_a_format_that_is_chosen_is_the_only_one():
    with canned_server(500) as (url, canned), pytest.raises(BackendError, match="status 500"):
        open_backend(url, response_format="json_object").complete(ASK, SCHEMA)
    assert [body["response_format"]["type"] for body in canned.asked] == ["json_object"]
    with pytest.raises(ConfigError, match="response_format"):
        open_backend("http://127.0.0.1", response_format="yaml")


def test_a_grammar_takes_the_place_of_the_schema():
    with canned_server("{}") as (url, canned):
        open_backend(url, grammar='root ::= "{}"').complete(ASK, SCHEMA)
    assert canned.asked[0]["grammar"] == 'root ::= "{}"'
    assert "response_format" not in canned.asked[0]


def test_a_key_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("LLM_KEY", "s3cret")
    with canned_server("{}") as (url, canned):
        open_backend(url, key_variable="LLM_KEY").complete(ASK, SCHEMA)
    assert canned.headers[0]["Authorization"] == "Bearer s3cret"
    monkeypatch.delenv("LLM_KEY")
    with pytest.raises(ConfigError, match="LLM_KEY contains no key"):
        open_backend("http://127.0.0.1", key_variable="LLM_KEY")


def test_a_key_is_sent_without_its_line_end_and_is_never_quoted(monkeypatch):
    monkeypatch.setenv("LLM_KEY", "s3cret\n")
    with canned_server("{}") as (url, canned):
        open_backend(url, key_variable="LLM_KEY").complete(ASK, SCHEMA)
    assert canned.headers[0]["Authorization"] == "Bearer s3cret"
    for key in ("s3crét", "s3cret\nX: y", " \n"):
        monkeypatch.setenv("LLM_KEY", key)
        with pytest.raises(ConfigError, match="LLM_KEY contains no key") as caught:
            open_backend("http://127.0.0.1", key_variable="LLM_KEY")
        assert "s3c" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (503, "status 503"),
        (("redirect", "http://93.184.216.34/v1"), "status 307.*not followed"),
        (("cut",), "cut off"),
        (("raw", b"<html>Zyxwalda</html>"), "does not follow OpenAI's protocol"),
        (("raw", b'{"choices": []}'), "does not follow OpenAI's protocol"),
        (("raw", b'{"choices": [{"message": {"content": null}}]}'), "contains no text"),
        (("raw", b"[" * 200_000), "does not follow OpenAI's protocol"),
        (("raw", b" " * 5_000_000), "longer than"),
    ],
    ids=lambda value: None,
)
def test_what_is_no_answer_is_an_error_that_names_the_host_alone(answer, reason, caplog):
    caplog.set_level(logging.DEBUG)
    with canned_server(answer) as (url, _), pytest.raises(BackendError, match=reason) as caught:
        open_backend(url).complete(ASK, SCHEMA)
    assert "127.0.0.1" in str(caught.value)
    for shown in (str(caught.value), caplog.text):
        assert "Zyxwalda" not in shown
        assert "Qvistberg" not in shown
    assert caught.value.too_long == (answer == ("cut",))


def test_a_redirect_is_not_followed():
    with canned_server("{}") as (elsewhere, stranger), pytest.raises(BackendError):  # noqa: SIM117
        with canned_server(("redirect", f"{elsewhere}/v1/chat/completions")) as (url, _):
            open_backend(url).complete(ASK, SCHEMA)
    assert stranger.asked == []


def test_a_proxy_of_the_environment_is_not_used(monkeypatch):
    with canned_server("{}") as (elsewhere, proxy), canned_server("{}") as (url, canned):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, elsewhere)
        open_backend(url).complete(ASK, SCHEMA)
    assert (len(canned.asked), proxy.asked) == (1, [])


def test_a_slow_server_is_left():
    with canned_server(("slow", 3)) as (url, _), pytest.raises(BackendError, match=r"within 0\.3 seconds"):
        open_backend(url, timeout=0.3).complete(ASK, SCHEMA)


def test_a_server_that_is_not_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(BackendError, match="cannot connect"):
        open_backend(f"http://127.0.0.1:{port}", model="tiny").complete(ASK, SCHEMA)


def test_one_of_several_models_must_be_named():
    with canned_server("{}", models=("a", "b")) as (url, canned):
        with pytest.raises(ConfigError, match="2 models"):
            open_backend(url).complete(ASK, SCHEMA)
        open_backend(url, model="b").complete(ASK, SCHEMA)
    assert [body["model"] for body in canned.asked] == ["b"]


def test_the_path_of_a_model_on_a_server_is_not_in_its_name():
    with canned_server("{}", models=("/home/somebody/llama.gguf",)) as (url, _):
        assert open_backend(url).name == "llama.gguf@127.0.0.1"


def test_there_is_no_default_and_a_file_must_be_there(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        open_backend(str(tmp_path / "none.gguf"))
    with pytest.raises(ConfigError, match="not this machine"):
        open_backend("http://93.184.216.34/v1")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for "localhost" that nobody but itself vouches for, and its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("certificate")
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(secret)
    return folder


def test_a_certificate_must_be_for_the_name_and_of_an_authority_that_is_named(certificate):
    known = str(certificate / "cert.pem")
    with canned_server("{}", certificate=certificate) as (url, canned):
        named = url.replace("http://127.0.0.1", "https://localhost")
        assert open_backend(named, ca_file=known).complete(ASK, SCHEMA) == "{}"
        for place, authority in ((named, None), (named.replace("localhost", "127.0.0.1"), known)):
            with pytest.raises(BackendError, match="certificate is for another host"):
                open_backend(place, model="tiny", ca_file=authority).complete(ASK, SCHEMA)
    assert len(canned.asked) == 1


@pytest.mark.parametrize("secure", [False, True])
def test_a_server_that_sends_something_now_and_then_is_left_too(secure, certificate):
    start = time.monotonic()
    with canned_server(("drip", 6), certificate=certificate if secure else None) as (url, _):
        place = url.replace("http://127.0.0.1", "https://localhost") if secure else url
        backend = open_backend(place, timeout=0.5, ca_file=str(certificate / "cert.pem"))
        with pytest.raises(BackendError, match=r"within 0\.5 seconds"):
            backend.complete(ASK, SCHEMA)
    assert time.monotonic() - start < 5.5  # before the server is done


def test_certificates_that_cannot_be_read_are_an_error():
    with pytest.raises(ConfigError, match="ca_file"):
        open_backend("https://localhost", ca_file=__file__)
