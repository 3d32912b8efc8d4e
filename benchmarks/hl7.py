"""Measure what is left of planted identifiers in released messages of HL7 v2.

    python -m benchmarks.hl7 made
    python -m benchmarks.hl7 listen

Each message is about a made patient: a result (ORU), a document (MDM) or an admission (ADT). PID, NK1 and PV1 name the
patient, a relative and a clinician, and its texts name them too, partly in sentences without a cue, in FT with escape
sequences, over several OBX and NTE segments, and in a document in base64. It counts the messages in which something is
left, with the dictionary of the messages and without, and checks that a parser reads each released message and that
codes, units and numbers stay. ``listen`` sends the messages to ``spacy-deid hl7 --listen`` over one connection, while
other clients are silent or send wrong frames, and searches the files that it wrote.
"""

import base64
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from benchmarks.fhir import SENTENCES, Metrics, _left, _person, write_figures
from spacy_deid import Deidentifier
from spacy_deid.dictionaries.terms import name_words
from spacy_deid.evaluation.rows import command_line
from spacy_deid.hl7.framing import FrameReader
from spacy_deid.hl7.listener import read_address
from spacy_deid.hl7.messages import Message, parse_message, read_text
from spacy_deid.hl7.run import Hl7Deidentifier
from spacy_deid.surrogates.keys import ProjectKey

# a traceback that shows local variables would show notes
app = typer.Typer(pretty_exceptions_enable=False)

TYPES = ("ORU^R01", "MDM^T02", "ADT^A01")
CODED = {"OBX": (2, 3, 6, 7, 11), "OBR": (4,), "DG1": (3,), "PV1": (2,), "PID": (8,), "TXA": (2,)}
"""Segment → fields with codes, units and reference ranges."""


@app.command()
def made(
    context: typer.Context,
    messages: Annotated[int, typer.Option(help="Number of messages.")] = 500,
    lang: Annotated[str, typer.Option(help="Pipeline and language of the names.")] = "en",
    metrics: Metrics = Path("metrics/standards.json"),
) -> None:
    """Release made messages and search for what was planted."""
    draw = Random(17)
    words = sorted(word.title() for word in name_words(lang) if word.isalpha() and len(word) > 4)
    people = [_person(draw, words, i) for i in range(messages)]
    feed = [_message(person, i) for i, person in enumerate(people)]
    key = ProjectKey(bytes(range(32)))
    deid = Deidentifier(lang, style="surrogate", key=key)
    texts = [(" ".join(SENTENCES).format(**person), {"patient_id": person["number"]}) for person in people]
    without = Counter[str]()
    for person, result in zip(people, deid.pipe(texts), strict=True):
        without.update(_left(person, result.text))
    began = time.perf_counter()
    within, unnoticed, status = Counter[str](), Counter[str](), Counter[str]()
    lost = unreadable = 0
    with Hl7Deidentifier(deid, key=key) as hl7:
        hl7.read(feed)
        for person, data, outcome in zip(people, feed, hl7.release(feed), strict=True):
            status[outcome.status] += 1
            if outcome.data is None:
                continue
            left = _left(person, _all_text(parse_message(outcome.data, "")))
            within.update(left)
            unnoticed.update(left if outcome.status == "released" else [])
            lost += sum((_facts(data) - _facts(outcome.data)).values())
            unreadable += not _is_readable(data, outcome.data)
    seconds = time.perf_counter() - began
    planted = messages * len(_left(people[0], " ".join(SENTENCES).format(**people[0])))
    typer.echo(f"{dict(status)}; left: {dict(within)}; without the dictionary: {dict(without)}")
    figures: list[tuple[str, float, float | None, str]] = [
        ("planted identifiers left", within.total(), 0, "lower"),
        ("planted identifiers left without a warning", unnoticed.total(), 0, "lower"),
        ("recall in messages with the dictionary of the messages", 1 - within.total() / planted, 1, "higher"),
        ("recall in their sentences without the dictionary", 1 - without.total() / planted, None, "higher"),
        ("messages not released", messages - status["released"] - status["review"], 0, "lower"),
        ("codes and numbers changed", lost, 0, "lower"),
        ("messages not parsed afterwards", unreadable, 0, "lower"),
        ("messages per second", messages / seconds, None, "higher"),
    ]
    write_figures(
        metrics, figures, f"{messages} made messages of HL7 v2, {lang}", command_line("benchmarks.hl7 made", context)
    )


@app.command()
def listen(
    context: typer.Context,
    messages: Annotated[int, typer.Option(help="Number of messages.")] = 500,
    lang: Annotated[str, typer.Option(help="Pipeline and language of the names.")] = "en",
    metrics: Metrics = Path("metrics/standards.json"),
) -> None:
    """Send made messages to a listener, among wrong frames and silent connections, and search its files."""
    draw = Random(17)
    words = sorted(word.title() for word in name_words(lang) if word.isalpha() and len(word) > 4)
    people = [_person(draw, words, i) for i in range(messages)]
    codes, clients = Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        folder, key = Path(name, "out"), Path(name, "keys", "project.key")
        ProjectKey(bytes(range(32))).to_file(key)
        command = [sys.executable, "-m", "spacy_deid", "hl7", "--listen", "127.0.0.1:0", "--pipeline", lang]
        command += ["--style", "surrogate", "--key", str(key), "--output", str(folder)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        found = next(match for line in process.stderr if (match := re.match("listening at (.*)", line)))
        place = read_address(found[1])
        others: list[socket.socket] = []
        files: dict[Path, None] = {}
        text: list[str] = []
        with socket.create_connection(place, timeout=600) as connection:
            _ask(connection, _message(people[0], 0))  # the worker starts with the first message
            began = time.perf_counter()
            for i, person in enumerate(people):
                if i % 10 == 0:
                    others.append(socket.create_connection(place, timeout=600))
                    others[-1].sendall((b"", b"\x0bMSH|^~", b"no frame" * 20_000, b"\x0bA\x0b\x0b\x1c")[i // 10 % 4])
                answer = _ask(connection, _message(person, i))
                codes[answer] += 1
                new = [path for path in folder.rglob("*.hl7") if path not in files]
                files |= dict.fromkeys(new)
                text.append(" ".join(_all_text(parse_message(path.read_bytes(), "")) for path in new))
            seconds = time.perf_counter() - began
        for other in others:
            other.close()
        clients = len(others)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    left = sum(len(_left(person, made)) for person, made in zip(people, text, strict=True))
    typer.echo(f"{dict(codes)}; {len(files)} files; {clients} other clients; exit code {process.returncode}")
    figures: list[tuple[str, float, float | None, str]] = [
        ("planted identifiers left", left, 0, "lower"),
        ("messages not answered with AA", messages - codes["AA"], 0, "lower"),
        ("messages without a file", messages - len(files), 0, "lower"),
        ("messages per second", messages / seconds, None, "higher"),
    ]
    data = f"{messages} made messages of HL7 v2 over MLLP among {clients} silent or wrong clients, {lang}"
    write_figures(metrics, figures, data, command_line("benchmarks.hl7 listen", context))


def _ask(connection: socket.socket, data: bytes) -> str:
    """Send a message. RETURNS (str): MSA-1 of the answer if it has the control id of the message; otherwise ""."""
    connection.sendall(b"\x0b" + data + b"\x1c\r")
    reader, frames = FrameReader(10_000), []
    while not frames:
        if not (received := connection.recv(4096)):
            return ""
        frames = reader.feed(received)
    _, code, number = frames[0].data.decode().split("\r")[1].split("|")[:3]
    return code if number == data.decode().split("|")[9] else ""


def _message(person: Mapping[str, str], number: int) -> bytes:
    """Make a message."""
    lines = [sentence.format(**person) for sentence in SENTENCES]
    document = base64.b64encode(" ".join(lines).encode()).decode()
    family, given = person["family"], person["given"]
    text = "\\.br\\".join(lines)
    code = "11506-3^Progress note^LN"
    segments = [
        f"MSH|^~\\&|LAB|HOSP|EHR||2024113010{number % 60:02}||{TYPES[number % 3]}|{number}|P|2.5.1",
        "EVN||20241130",
        f"PID|1||{person['number']}^^^HOSP^MR||{family}^{given}||19500302|F|||||{person['phone']}",
        f"NK1|1|{family}^{person['relative']}|SPO^Spouse^HL70063",
        f"PV1|1|I|||||1^Okonkwo-{person['clinician']}^Z|",
        "DG1|1||I10^Essential hypertension^I10",
        f"OBR|1|{number}||8867-4^Heart rate^LN|||20241130",
        f"TXA|1|PN|TX|20241130|1^Okonkwo-{person['clinician']}",
        f"OBX|1|NM|8867-4^Heart rate^LN||{60 + number % 40}.0|/min^^UCUM|60-100|N|||F",
        *(f"OBX|{i}|TX|{code}||{line}||||||F" for i, line in enumerate(lines, 2)),
        f"OBX|6|FT|{code}||{text} \\T\\ {given[:3]}\\H\\{given[3:]}\\N\\||||||F",
        f"OBX|7|ED|{code}||^TEXT^plain^Base64^{document}||||||F",
        *(f"NTE|{i}||{line}" for i, line in enumerate(lines, 1)),
        f"ZPI|{family}",
    ]
    return "".join(segment + "\r" for segment in segments).encode()


def _all_text(message: Message) -> str:
    """Return all text of a message, without escape sequences, with its documents decoded."""
    found = []
    for segment in message.segments:
        for raw in segment.fields[2 * (segment.name == "MSH") :]:
            found.append(read_text(raw, message.encoding, "").text)
        if segment.get(2) == "ED":
            found.append(base64.b64decode(segment.get(5).split("^")[4]).decode())
    return " ".join(found)


def _facts(data: bytes) -> Counter[tuple[str, int, str]]:
    """Count the codes, units and numbers of a message."""
    facts: Counter[tuple[str, int, str]] = Counter()
    for segment in parse_message(data, "").segments:
        places = CODED.get(segment.name, ())
        places += (5,) if segment.get(2) == "NM" else ()
        facts.update((segment.name, number, segment.get(number)) for number in places)
    return facts


def _is_readable(before: bytes, after: bytes) -> bool:
    """Whether the parser of the package "hl7" finds the same segments as before, except unknown ones."""
    import hl7

    names = [[str(item[0]) for item in hl7.parse(data.decode())] for data in (before, after)]
    return [name for name in names[0] if not name.startswith("Z")] == names[1]


if __name__ == "__main__":
    app()
