"""The commands run without a network, and try to reach nothing but this machine."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NOTE

from spacy_deid.evaluation import AnnotatedText, Entity, write_folder

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


@pytest.fixture
def folder(tmp_path: Path, pipeline_folder: Path) -> Path:
    """Notes, annotations and a table."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text(NOTE)
    (tmp_path / "rows.jsonl").write_text(json.dumps({"note_id": "1", "text": NOTE}) + "\n")
    town = NOTE.index("Puerto")
    note = AnnotatedText("a", NOTE, (Entity(town, town + len("Puerto Esparza"), "CITY"),))
    write_folder([note], tmp_path / "gold", "brat", scheme="meddocan")
    (tmp_path / "pipeline").symlink_to(pipeline_folder)
    return tmp_path


COMMANDS = {
    "demo": "demo",
    "redact": "redact notes --pipeline es --output released --n-process 2 --trace",
    "annotate": "annotate notes --pipeline pipeline --format brat --scheme meddocan --output found",
    "evaluate": "evaluate gold gold --scheme meddocan",
    "run": "run --input rows.jsonl --output out --pipeline pipeline --n-process 1",
    "info": "info",
    "doctor": "doctor",
}


def test_the_namespace_has_no_network(isolated: list[str]):
    reach = "import socket; socket.create_connection(('192.0.2.1', 80), 2)"
    done = subprocess.run([*isolated, sys.executable, "-c", reach], capture_output=True, text=True, check=False)
    assert "Network is unreachable" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_run_without_a_network(isolated: list[str], folder: Path, name: str):
    watched = folder / "watched"
    # no proxy, and no variable that forbids libraries to look models up
    env = {key: value for key, value in os.environ.items() if "proxy" not in key.lower() and key != "HF_HUB_OFFLINE"}
    command = [*isolated, sys.executable, "-c", PROGRAM, str(watched), *COMMANDS[name].split()]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert watched.read_text() == ""


@pytest.mark.slow
def test_an_address_that_is_reached_would_be_seen(folder: Path):
    program = PROGRAM.replace(
        "from spacy_deid.cli import app\napp()", "import socket\nsocket.getaddrinfo('localhost', 1)"
    )
    subprocess.run([sys.executable, "-c", program, str(folder / "watched")], check=True)
    assert "socket.getaddrinfo" in (folder / "watched").read_text()
