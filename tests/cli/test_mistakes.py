"""The mistakes that users make most often: each message names the thing and says what to do."""

import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NOTE

OWNER_ONLY = 0o600
# Without this right, root cannot read and write everything either.
CAPABILITIES = "-dac_override,-dac_read_search"


@pytest.fixture
def place(tmp_path: Path, pipeline_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the commands of this file name; it is the working folder."""
    monkeypatch.chdir(tmp_path)
    for folder in ("notes", "empty", "rows", "locked"):
        (tmp_path / folder).mkdir()
    (tmp_path / "notes" / "a.txt").write_text(NOTE)
    (tmp_path / "latin.txt").write_bytes("Vive en Núñez".encode("latin-1"))
    (tmp_path / "rows.jsonl").write_text('{"body": "Vive en Puerto Esparza."}\n')
    (tmp_path / "letter.pages").write_text(NOTE)
    (tmp_path / "done").mkdir()
    (tmp_path / "done" / "a.txt").write_text("")
    (tmp_path / "short.key").write_text("abcd")
    (tmp_path / "open.key").write_text(secrets.token_hex(32))
    (tmp_path / "short.key").chmod(OWNER_ONLY)
    (tmp_path / "open.key").chmod(0o644)
    (tmp_path / "policy.toml").write_text('name = "p"\ndefault = "replace"\n[labels]\nNOPE = "keep"\n')
    (tmp_path / "pipeline").symlink_to(pipeline_folder)
    shutil.copytree(pipeline_folder, tmp_path / "damaged")
    with open(tmp_path / "damaged" / "config.cfg", "a") as file:
        file.write("\n# changed\n")
    shutil.copytree(pipeline_folder, tmp_path / "incomplete")
    (tmp_path / "incomplete" / "config.cfg").unlink()
    return tmp_path


REDACT = "redact notes --pipeline pipeline --output out"
# what went wrong → the command, the thing that the message must name, and what it must say to do
MISTAKES = {
    "wrong language": ("demo --lang de", "language 'de'", "Languages with sample notes: en, es, fi"),
    "language without a pipeline": ("redact notes --pipeline de --output out", "pipeline 'de'", "(en, es, fi)"),
    "output folder is a file": ("redact notes --pipeline pipeline --output rows.jsonl", "rows.jsonl", "another one"),
    "annotations into a file": (
        "annotate notes --pipeline pipeline --format brat --output rows.jsonl",
        "rows.jsonl",
        "choose another path",
    ),
    "key is a folder": (f"{REDACT} --style surrogate --key empty", "empty", "spacy-deid key new FILE"),
    "input does not exist": ("redact gone.txt --pipeline pipeline --output out", "gone.txt", "check the path"),
    "annotations do not exist": ("evaluate gone found --scheme meddocan", "gone", "check the path"),
    "unknown policy": (f"{REDACT} --policy nope", "policy 'nope'", "limited_data_set, safe_harbor, strict"),
    "unknown label": (f"{REDACT} --policy policy.toml", "unknown label 'NOPE'", "NATIONAL_ID"),
    "unknown style": (f"{REDACT} --style nope", "'nope'", "'numbered'"),
    "wrong scheme": ("evaluate notes notes --scheme nope", "'nope'", "'meddocan'"),
    "missing scheme": ("evaluate notes notes", "'--scheme'", "meddocan"),
    "missing pipeline": ("redact notes --output out", "'--pipeline'", "--help"),
    "misspelt command": ("redakt notes", "redakt", "Did you mean 'redact'?"),
    "bad key file": (f"{REDACT} --style surrogate --key short.key", "short.key", "spacy-deid key new FILE"),
    "key that others can read": (f"{REDACT} --style surrogate --key open.key", "open.key", "chmod 600"),
    "missing key": (f"{REDACT} --style surrogate", "project key", "spacy-deid key new FILE"),
    "key does not exist": (f"{REDACT} --style surrogate --key gone.key", "gone.key", "spacy-deid key new FILE"),
    "empty input": ("redact empty --pipeline pipeline --output out", "empty", "Check the path"),
    "unsupported file": ("redact letter.pages --pipeline pipeline --output out", "letter.pages", "convert the file"),
    "wrong encoding": ("redact latin.txt --pipeline pipeline --output out", "latin.txt", "--encoding"),
    "unknown encoding": (f"{REDACT} --encoding utf-99", "'utf-99'", "latin-1"),
    "existing output": ("redact notes --pipeline pipeline --output done", "a.txt", "--overwrite or --resume"),
    "unknown operating point": (
        "redact notes --pipeline es --output out --operating-point nope",
        "'nope'",
        "balanced, high_recall, max_recall",
    ),
    "damaged pipeline": ("redact notes --pipeline damaged --output out", "config.cfg", "copy the pipeline again"),
    "incomplete pipeline": ("redact notes --pipeline incomplete --output out", "config.cfg", "Install or copy"),
    "folder without a pipeline": ("redact notes --pipeline empty --output out", "'empty'", "config.cfg"),
    "pipeline is a file": ("redact notes --pipeline rows.jsonl --output out", "'rows.jsonl'", "Check the spelling"),
    "JSONL without a text field": (
        "redact rows.jsonl --pipeline pipeline --output out",
        "rows.jsonl",
        "set --text-field",
    ),
    "JSONL with another text field": (
        "redact rows.jsonl --pipeline pipeline --output out --text-field text",
        "'text'",
        "set --text-field",
    ),
    "dictionaries in an empty folder": (f"{REDACT} --dictionaries empty", "empty", "spacy-deid dictionary build"),
    "missing configuration file": ("redact notes --config gone.toml", "gone.toml", "check the path"),
}


def check_message(stderr: str, names: str, advice: str) -> None:
    """A message names the thing and says what to do, on lines that a terminal may have broken."""
    said = " ".join(stderr.replace("│", " ").split())
    assert names in said, stderr
    assert advice in said, stderr
    assert "Traceback" not in stderr
    assert "Puerto Esparza" not in stderr


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_what_to_do(cli, place: Path, name: str):
    command, names, advice = MISTAKES[name]
    result = cli(*command.split())
    assert result.exit_code not in (0, None)
    assert isinstance(result.exception, SystemExit)
    check_message(result.stderr, names, advice)
    assert not list(place.glob("out/*.txt"))


def run_alone(*command: object, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


def without_rights(*command: object) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user for whom the rights of files count."""
    prefix: list[str] = []
    if os.geteuid() == 0:
        prefix = ["setpriv", f"--inh-caps={CAPABILITIES}", f"--bounding-set={CAPABILITIES}"]
        if not shutil.which("setpriv") or run_alone(*prefix, "true").returncode:
            pytest.skip("root reads and writes everything: run the tests as another user")
    return run_alone(*prefix, sys.executable, "-m", "spacy_deid", *command)


@pytest.mark.parametrize(
    ("path", "rights", "output", "named"),
    [("notes/a.txt", 0, "out", "a.txt"), ("locked", 0o500, "locked/out", "locked/out")],
    ids=["a file that cannot be read", "an output that cannot be written"],
)
def test_a_path_without_rights_is_named(place: Path, path: str, rights: int, output: str, named: str):
    (place / path).chmod(rights)
    done = without_rights("redact", "notes", "--pipeline", "pipeline", "--output", output)
    assert done.returncode == 1
    check_message(done.stderr, named, "Permission denied (check the rights")


WITHOUT = """
import sys
class Blocked:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
from spacy_deid.cli import app
app()
"""


@pytest.mark.parametrize(
    ("package", "command", "extra"),
    [
        ("pypdfium2", "redact letter.pdf --pipeline pipeline --output out", "documents"),
        ("uvicorn", "serve --data data", "app"),
        ("cryptography", f"{REDACT} --vault v --vault-key k/key", "surrogates"),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(place: Path, package, command, extra):
    (place / "letter.pdf").write_bytes(b"%PDF-1.4\n")
    (place / "k").mkdir()
    (place / "k" / "key").write_text(secrets.token_hex(32))
    (place / "k" / "key").chmod(OWNER_ONLY)
    done = run_alone(sys.executable, "-W", "ignore", "-c", WITHOUT.format(package=package), *command.split())
    assert done.returncode == 1
    check_message(done.stderr, package, f"pip install 'spacy-deid[{extra}]'")


def test_a_scan_without_tesseract_names_its_package(place: Path):
    image = pytest.importorskip("PIL.Image")
    image.new("L", (400, 300), 255).save(place / "scan.png")
    command = [sys.executable, "-m", "spacy_deid", "redact", "scan.png", "--pipeline", "pipeline", "--output", "out"]
    done = run_alone(*command, env={**os.environ, "PATH": str(place / "empty")})
    assert done.returncode == 1
    check_message(done.stderr, "scan.png", "tesseract-ocr")


def test_an_old_python_is_named_with_the_one_that_is_needed():
    program = "import sys; sys.version_info = (3, 9, 18, 'final', 0); import spacy_deid"
    done = run_alone(sys.executable, "-c", program)
    assert done.returncode == 1
    assert "needs Python 3.11 or later, and this is Python 3.9" in done.stderr
    assert "python3.11 -m venv" in done.stderr


def test_at_least_twenty_mistakes_are_tried_and_the_guide_has_a_row_for_each_of_twenty():
    assert len(MISTAKES) >= 20
    guide = Path(__file__).parent.parent.parent / "docs" / "guides" / "doctor.md"
    rows = guide.read_text(encoding="utf8").partition("## Frequent mistakes\n")[2].count("\n| ")
    assert rows - 1 >= 20  # the first is the heading
