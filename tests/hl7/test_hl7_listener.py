"""MLLP: frames in any pieces, and a listener at a real socket."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
from hl7_messages import CANARIES, FAMILY, HEAD, NUMBER, message, obx
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError
from spacy_deid.exports import Outcome
from spacy_deid.hl7.framing import Frame, FrameReader, make_answer
from spacy_deid.hl7.listener import Bounds, Listener, read_address, read_peers
from spacy_deid.surrogates.keys import ProjectKey


def framed(data):
    return b"\x0b" + data + b"\x1c\r"


def answer_of(connection):
    """The next answer: its MSA and ERR segments."""
    reader, data = FrameReader(10_000), b""
    while True:
        data = connection.recv(4096)
        if not data:
            return None
        if frames := reader.feed(data):
            return frames[0].data.decode().rstrip("\r").split("\r")[1:]


# --- frames ---

PLAIN = st.binary(max_size=40).map(lambda data: data.replace(b"\x0b", b"").replace(b"\x1c", b""))


@given(
    st.lists(st.tuples(PLAIN, st.binary(max_size=40).map(lambda d: d.replace(b"\x0b", b"").replace(b"\x1c\r", b"")))),
    st.lists(st.integers(1, 7), min_size=1),
)
def test_frames_do_not_depend_on_the_pieces(parts, sizes):
    parts = [(junk, data) for junk, data in parts if not (data + b"\x1c\r").startswith(b"\x1c\r\x1c")]
    stream = b"".join(junk + framed(data) for junk, data in parts)
    reader, found, at, turn = FrameReader(1000), [], 0, 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        found += reader.feed(stream[at : at + size])
        at, turn = at + size, turn + 1
    assert found == [Frame(data) for _, data in parts]
    assert reader.skipped == sum(len(junk) for junk, _ in parts)


@given(st.binary(max_size=300).map(lambda d: d.replace(b"a", b"\x0b").replace(b"b", b"\x1c\r")), st.integers(1, 9))
def test_any_bytes_give_the_same_frames_in_any_pieces(stream, size):
    whole, pieces = FrameReader(50), FrameReader(50)
    found = [frame for at in range(0, len(stream), size) for frame in pieces.feed(stream[at : at + size])]
    assert whole.feed(stream) == found
    assert whole.is_over == pieces.is_over


def test_cut_and_large_frames_are_named():
    assert FrameReader(9).feed(b"\x0bMSH|\x0bok\x1c\r") == [Frame(b"MSH|", "cut"), Frame(b"ok")]
    reader = FrameReader(4)
    assert reader.feed(b"\x0babcd\x1c\r\x0babcde\x1c\r\x0bx\x1c\r") == [Frame(b"abcd"), Frame(b"abcd", "large")]
    assert reader.is_over


def test_an_answer_has_the_control_id_and_no_content():
    answer = make_answer(message(obx(FAMILY)), "AE", "message 1: it failed | x").decode()
    lines = answer.strip("\x0b\x1c\r").split("\r")
    assert lines[0].startswith("MSH|^~\\&|EHR||LAB||")
    assert "|ACK^R01|" in lines[0]
    assert lines[0].endswith("|P|2.5.1")
    assert lines[1] == "MSA|AE|7"
    assert lines[2] == "ERR|||207|E||||message 1: it failed   x"
    assert not [canary for canary in CANARIES if canary in answer]
    assert "MSA|AR|\r" in make_answer(b"no message", "AR", "x").decode()


@pytest.mark.parametrize(("text", "place"), [("2575", ("127.0.0.1", 2575)), ("[::1]:7", ("::1", 7))])
def test_an_address_without_a_host_is_this_machine(text, place):
    assert read_address(text) == place


def test_another_address_needs_the_machines_that_may_connect():
    assert read_peers("127.0.0.1", []) == []
    assert len(read_peers("0.0.0.0", ["10.1.0.0/16", "10.2.3.4"])) == 2
    for host, peers in (("0.0.0.0", []), ("engine", []), ("127.0.0.1", ["engine"])):
        with pytest.raises(ConfigError, match="peer"):
            read_peers(host, peers)
    with pytest.raises(ConfigError, match="HOST:PORT"):
        read_address("engine")


# --- connections ---


def echo(data):
    """Stands for a de-identification, so that only the connections are tested."""
    if data == b"crash":
        os._exit(1)
    if b"sleep" in data:
        time.sleep(600 if b"long" in data else 3)
    return Outcome("ORU", "message 1", "released", data=data)


@pytest.fixture
def listen(tmp_path):
    """Start a listener: ``listen(**settings)`` returns its address."""

    def start(**bounds):
        listener = Listener(echo, tmp_path / "out", lambda outcome: None, bounds=Bounds(**bounds))
        places, ready = [], threading.Event()

        def run():
            listener.run("127.0.0.1", 0, lambda place: (places.append(place), ready.set()))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        assert ready.wait(30)
        start.started.append(listener)
        start.threads.append(thread)
        return read_address(places[0])

    start.started, start.threads = [], []
    yield start
    for listener, thread in zip(start.started, start.threads, strict=True):
        with suppress(RuntimeError):  # it has ended already
            listener._stopping._loop.call_soon_threadsafe(listener._stopping.set)
        thread.join(60)
        assert not thread.is_alive()


def ask(place, data):
    with socket.create_connection(place, timeout=400) as connection:
        try:
            connection.sendall(data)
            return answer_of(connection)
        except ConnectionError:  # the listener closed the connection before it had read everything
            return None


def test_messages_in_small_pieces_are_answered_in_order(listen):
    place = listen()
    with socket.create_connection(place, timeout=400) as connection:
        for number in (1, 2, 3):
            data = framed(message(head=HEAD.replace("|7|", f"|{number}|")))
            for at in range(0, len(data), 50):
                connection.sendall(data[at : at + 50])
            assert answer_of(connection) == [f"MSA|AA|{number}"]


def test_half_open_connections_harm_nobody(listen):
    place = listen(connections=20, frame=0.5, idle=30)
    silent = [socket.create_connection(place, timeout=400) for _ in range(100)]
    for connection in silent[:50]:
        connection.sendall(b"\x0bMSH|") if connection.fileno() >= 0 else None
    assert ask(place, framed(message())) == ["MSA|AA|7"]
    late = socket.create_connection(place, timeout=400)
    late.sendall(b"\x0bMSH|^~")
    began = time.monotonic()
    assert answer_of(late) is None
    assert time.monotonic() - began < 20
    assert ask(place, framed(message())) == ["MSA|AA|7"]
    for connection in (*silent, late):
        connection.close()


def test_a_wrong_frame_or_a_crash_harms_nobody(listen):
    place = listen(message=2000)
    assert ask(place, b"GET / HTTP/1.1\r\n" * 9000) is None
    assert ask(place, framed(message() + b"x" * 3000))[0] == "MSA|AR|7"
    assert ask(place, b"\x0bMSH|^~\\&|" + framed(b"crash"))[0] == "MSA|AE|"
    assert ask(place, framed(b"crash"))[0] == "MSA|AE|"
    assert ask(place, b"junk" + framed(message())) == ["MSA|AA|7"]


# --- a signal to stop ---


def stop(listener):
    """Do what SIGTERM does."""
    listener._stopping._loop.call_soon_threadsafe(listener._stopping.set)


def test_a_message_in_progress_is_answered_after_a_signal_to_stop(listen, tmp_path):
    place = listen()
    assert ask(place, framed(message())) == ["MSA|AA|7"]
    with socket.create_connection(place, timeout=400) as one, socket.create_connection(place, timeout=400) as two:
        one.sendall(framed(message(obx("sleep"))))
        two.sendall(b"\x0b" + message()[:50])
        time.sleep(1)
        stop(listen.started[0])
        time.sleep(0.5)
        two.sendall(message()[50:] + b"\x1c\r")
        assert answer_of(one) == ["MSA|AA|7"]
        assert answer_of(two) == ["MSA|AA|7"]
    assert {path.read_bytes() for path in (tmp_path / "out").rglob("*.hl7")} == {message(obx("sleep")), message()}


def test_what_does_not_end_is_answered_with_an_error_after_a_signal_to_stop(listen, tmp_path):
    place = listen(last=4, frame=2)
    with socket.create_connection(place, timeout=400) as one, socket.create_connection(place, timeout=400) as two:
        one.sendall(framed(message(obx("long sleep"))))
        two.sendall(b"\x0b" + message()[:-10])
        time.sleep(1)
        stop(listen.started[0])
        assert answer_of(two)[0] == "MSA|AE|7"
        assert answer_of(one)[0] == "MSA|AE|7"
    listen.threads[0].join(60)
    assert not listen.threads[0].is_alive()
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


# --- the command ---


def test_the_command_writes_answers_and_stops(pipeline_folder, tmp_path):
    key, out, report = tmp_path / "keys" / "p.key", tmp_path / "out", tmp_path / "report.json"
    ProjectKey(bytes(range(32))).to_file(key)
    command = [sys.executable, "-m", "spacy_deid", "hl7", "--listen", "127.0.0.1:0", "--pipeline", pipeline_folder]
    command += ["--style", "surrogate", "--key", key, "-o", out, "--report", report]
    process = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stderr:
            if found := re.match(r"listening at (.*)", line):
                break
        place = read_address(found[1])
        with socket.create_connection(place, timeout=120) as connection:
            bad = [message(obx(f"{FAMILY} \\Q\\")), FAMILY.encode(), message(head=HEAD.replace("ORU^R01", "ORM^O01"))]
            given = []
            for data in (message(obx(FAMILY)), *bad, message(obx(f"{NUMBER} {FAMILY}"))):
                connection.sendall(framed(data))
                given.append(answer_of(connection))
        files = sorted(path for path in out.rglob("*.hl7"))
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=400)
    finally:
        process.kill()
    assert [lines[0] for lines in given] == ["MSA|AA|7", "MSA|AE|7", "MSA|AE|", "MSA|AR|7", "MSA|AA|7"]
    assert len(files) == 2
    text = "".join(path.read_bytes().decode() for path in files)
    assert text.count("\x0bMSH|") in (0, 2)
    assert "2 file(s) with 2 message(s) written" in output
    assert process.returncode == 1
    said = text + output + errors + report.read_text() + str(given) + str(files)
    assert not [canary for canary in CANARIES if canary in said]
