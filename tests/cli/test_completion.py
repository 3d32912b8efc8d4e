"""Completion of commands and options: the scripts that shells read, and what they ask for while a user types."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "spacy-deid"
SHELLS = ("bash", "zsh", "fish")
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed command spacy-deid")


def ask(**variables: str) -> str:
    """Run the command as a completion script does."""
    done = subprocess.run([PROGRAM], capture_output=True, text=True, env={**os.environ, **variables})
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(shell: str):
    script = ask(_SPACY_DEID_COMPLETE=f"source_{shell}")
    assert f"complete_{shell}" in script
    assert "spacy-deid" in script


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["spacy-deid", "red"], ["redact"]),
        (["spacy-deid", "dossier", ""], ["make", "verify"]),
        (["spacy-deid", "redact", "--sty"], ["--style"]),
        (["spacy-deid", "redact", "--style", "num"], ["numbered"]),
    ],
)
def test_bash_completes_commands_options_and_values(typed: list[str], expected: list[str]):
    script = ask(_SPACY_DEID_COMPLETE="source_bash")
    words = " ".join(f"'{word}'" for word in typed)
    program = f"{script}\nCOMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}\n_spacy_deid_completion spacy-deid\n"
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", program + 'printf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )
    assert done.stdout.split() == expected, done.stderr


@pytest.mark.parametrize(("shell", "extra"), [("zsh", {}), ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"})])
def test_other_shells_get_the_same_names(shell: str, extra: dict[str, str]):
    found = ask(_SPACY_DEID_COMPLETE=f"complete_{shell}", _TYPER_COMPLETE_ARGS="spacy-deid doc", **extra)
    assert "doctor" in found
