"""A note goes to this machine, or to a host that was allowed, and nowhere else."""

import socket

import pytest

from spacy_deid.errors import ConfigError
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
