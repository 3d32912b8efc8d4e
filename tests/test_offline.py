"""The commands run without a network, and try to reach nothing but this machine."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from cda_documents import document, section
from conftest import NOTE
from ehr_tables import MAPPING, ROWS, write_csv
from fhir_resources import PATIENT
from hl7_messages import HEAD, PID

from spacy_deid.cli import app

SAMPLE = Path(__file__).parents[1] / "corpus" / "sample"

# Runs the command line and appends the addresses that Python connects to, or looks up, to a file.
PROGRAM = """
import os, sys
out = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        os.write(out, f"{event} {args[1:2] if event.startswith('socket.c') else args[:1]}\\n".encode())
sys.addaudithook(watch)
from spacy_deid.cli import app
app()
"""
ISOLATED = ["unshare", "--map-root-user", "--net"]


@pytest.fixture(scope="module")
def isolated() -> list[str]:
    """Start of a command that runs in a network namespace without interfaces."""
    if not shutil.which("unshare") or subprocess.run([*ISOLATED, "true"], check=False, capture_output=True).returncode:
        pytest.skip("network namespaces are not permitted here: unshare --map-root-user --net")
    return ISOLATED


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Notes, annotations, tables and an export of each kind, with which every command can run."""
    folder = tmp_path_factory.mktemp("offline")
    (folder / "notes").mkdir()
    (folder / "notes" / "a.txt").write_text(NOTE)
    rows = [
        {"note_id": i, "patient_id": ROWS[0][0], "note_type": "visit", "date": "2024-05-03", "text": f"{NOTE}{i}"}
        for i in range(12)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_csv(folder / "patients.csv")
    (folder / "mapping.toml").write_text(MAPPING.format(source='path = "patients.csv"'))
    (folder / "patient.json").write_text(json.dumps(PATIENT))
    (folder / "message.hl7").write_text(f"{HEAD}\r{PID}\r")
    (folder / "letter.xml").write_bytes(document(section()))
    shutil.copytree(SAMPLE / "dev", folder / "gold")
    shutil.copytree(SAMPLE / "train", folder / "train")
    return folder


# All commands, in an order in which each finds what those before it wrote.
COMMANDS = """
info
demo
doctor
key new keys/project.key
key new keys/vault.key
redact notes --pipeline es --output released --n-process 2 --trace --style surrogate --key keys/project.key \
    --patient-id-from name --vault notes.vault --vault-key keys/vault.key
vault list notes.vault --vault-key keys/vault.key
vault open notes.vault --vault-key keys/vault.key
vault export notes.vault --vault-key keys/vault.key --output originals.csv
vault reverse notes.vault released --vault-key keys/vault.key --output back
vault purge notes.vault --vault-key keys/vault.key --all
annotate gold --pipeline es --format brat --scheme meddocan --output found
evaluate gold found --scheme meddocan
surrogates evaluate gold --lang es --scheme meddocan
convert gold --output dev.spacy --scheme meddocan --lang es
calibrate es dev.spacy --output calibrated
adapt es train --scheme meddocan --output adapted --steps 2
fairness es --lang es --n 2
report es gold --scheme meddocan --output report.html
synth en --n 2 --output made
sample rows.jsonl --n 3 --output drawn
review plan rows.jsonl --pipeline es --output plan
review status plan gold --scheme meddocan
dictionary build mapping.toml --output local
dictionary show local
audit rows.jsonl --dictionaries local
run --input rows.jsonl --output out --pipeline es --n-process 1
counts build notes/a.txt --output counts.bin
medical build es --output medical.bin
medical harvest rows.jsonl --lang es --science counts.bin --output terms.csv
surprisal score notes/a.txt --lang es
surprisal tune gold --lang es --scheme meddocan --output tuned
surprisal evaluate gold --lang es --scheme meddocan
dossier make es gold --scheme meddocan --output dossier.html --key keys/project.key
dossier verify dossier.html --key keys/project.key
user add anna --role submit --users keys/users.json
user list --users keys/users.json
user revoke anna --users keys/users.json
fhir patient.json --pipeline es --output fhir
hl7 message.hl7 --pipeline es --output hl7
cda letter.xml --pipeline es --output cda
"""
SERVICE = {"serve", "user log"}  # a service that listens, and its log


def commands() -> list[list[str]]:
    """Return the words of each command."""
    return [line.split() for line in COMMANDS.replace("\\\n", " ").strip().splitlines()]


def test_every_command_is_listed():
    def names(command, path=()):
        if not isinstance(command, typer.core.TyperGroup):
            return {" ".join(path)}
        return set().union(*(names(one, (*path, name)) for name, one in command.commands.items()))

    listed = [" ".join(words) for words in commands()]
    missing = {
        name for name in names(typer.main.get_command(app)) if not any(map(re.compile(f"{name}\\b").match, listed))
    }
    assert missing == SERVICE


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_commands_run_without_a_network(isolated: list[str], folder: Path):
    watched = folder / "watched"
    # no proxy, and no variable that forbids libraries to look models up
    env = {key: value for key, value in os.environ.items() if "proxy" not in key.lower() and key != "HF_HUB_OFFLINE"}
    for words in commands():
        command = [*isolated, sys.executable, "-c", PROGRAM, str(watched), *words]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        refused = words[0] == "adapt" and "no pipeline was written" in done.stderr  # two steps may make it worse
        assert done.returncode == 0 or refused, f"{words}: {done.stderr}"
        assert watched.read_text() == "", words


@pytest.mark.slow
def test_an_address_that_is_reached_would_be_seen(tmp_path: Path):
    program = PROGRAM.replace(
        "from spacy_deid.cli import app\napp()", "import socket\nsocket.getaddrinfo('localhost', 1)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "watched")], check=True)
    assert "socket.getaddrinfo" in (tmp_path / "watched").read_text()
