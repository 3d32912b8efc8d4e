"""The documents are true: Python blocks run, ``spacy-deid`` commands work, and what is shown is what they print.

The blocks of a file run in order, in one folder and one namespace. A fence may name a file, as "```toml board.toml":
its content is written there. A block of "text" right after a block that runs is what that block prints. The folder is
what a clean clone has, less the source of the package and its tests.
"""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import slow
from typer.testing import CliRunner
from weasel.cli.document import project_document

import spacy_deid.lang
from spacy_deid.cli import app

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Pages that load many pipelines, or calibrate or train one; the README and the other pages show the same interfaces.
LONG = {"adapt.md", "surrogates.md", "operating_points.md"}
# Pages whose blocks need a package that the extra "dev" does not have: page → package and extra.
NEEDS = {"coming_from.md": ("presidio_analyzer", "presidio")}
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that it names, its content and the line that this starts on."""

    kind: str
    file: str
    body: str
    line: int
    start: int
    end: int

    @property
    def commands(self):
        """The ``spacy-deid`` commands of a bash block; none if it holds any other."""
        lines = self.body.replace("\\\n", " ").strip().splitlines()
        known = self.kind == "bash" and all(line.startswith("spacy-deid ") for line in lines)
        return [shlex.split(line)[1:] for line in lines] if known else []


def blocks(text):
    found = []
    for match in FENCE.finditer(text):
        kind, _, file = match["info"].strip().partition(" ")
        line = text.count("\n", 0, match.start("body")) + 1
        found.append(Block(kind, file, match["body"], line, match.start(), match.end()))
    return found


def run(block, namespace, path):
    """Run a block; RETURNS what it prints."""
    if block.kind == "python":
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * (block.line - 1) + block.body, str(path), "exec"), namespace)
        return out.getvalue()
    printed = ""
    for command in block.commands:
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, f"{path.name}:{block.line}: {' '.join(command)}: {result.output}"
        printed += result.stdout
    return printed


def normal(printed):
    return [line.rstrip() for line in printed.strip().splitlines()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """What a clean clone has. Where the tests run without a repository, these folders hold nothing else."""
    target = tmp_path_factory.mktemp("clone")
    names = [name for name in ("README.md", "configs", "corpus", "docs", "project.yml") if (ROOT / name).exists()]
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", *names], cwd=ROOT, check=True, capture_output=True, text=True
        )
        paths = [Path(name) for name in listed.stdout.split("\0") if name]
    else:
        paths = [path.relative_to(ROOT) for name in names for path in [ROOT / name, *(ROOT / name).rglob("*")]]
    for path in paths:
        if (ROOT / path).is_file():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, target / path)
    return target


@pytest.fixture
def folder(clone, tmp_path, monkeypatch):
    """The folder that the blocks of one document run in."""
    shutil.copytree(clone, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(spacy_deid.lang, "__path__", [*spacy_deid.lang.__path__])  # a page may add a folder
    yield tmp_path
    spacy_deid.lang.get_language.cache_clear()


READS_NOTES = re.compile(r"^spacy-deid (?:redact|annotate|surprisal score) (\S+)", re.MULTILINE)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_reads_notes_that_a_clean_clone_has(path, clone):
    found = blocks(path.read_text(encoding="utf8"))
    made = " ".join(f'"{block.file}" {block.body if block.kind == "python" else ""}' for block in found)
    read = [name for block in found if block.kind in ("bash", "sh") for name in READS_NOTES.findall(block.body)]
    assert [name for name in read if f'"{name}"' not in made and not (clone / name).exists()] == []
    assert read or path != ROOT / "README.md"


def test_the_readme_shows_python_and_the_command_line():
    found = blocks((ROOT / "README.md").read_text(encoding="utf8"))
    assert [block for block in found if block.kind == "python"]
    assert {command[0] for block in found for command in block.commands} >= {"redact", "annotate", "evaluate"}


@pytest.mark.parametrize("path", [slow(p) if p.name in LONG else p for p in DOCUMENTS], ids=lambda path: path.name)
def test_a_document_is_true(path, folder):
    if path.name in NEEDS:
        package, extra = NEEDS[path.name]
        pytest.importorskip(package, reason=f"{path.name} needs {package}: pip install 'spacy-deid[{extra}]'")
    text = path.read_text(encoding="utf8")
    namespace, shown, before = {"__name__": "__main__"}, None, 0
    for block in blocks(text):
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.body, encoding="utf8")
        if block.kind == "text" and shown is not None and not text[before : block.start].strip():
            assert normal(shown) == normal(block.body), f"{path.name}:{block.line}"
        shown, before = None, block.end
        if block.kind == "python" or block.commands:
            shown = run(block, namespace, path)


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_the_links_of_a_document_lead_somewhere(path):
    text = FENCE.sub("", path.read_text(encoding="utf8"))
    text = text.split("<!-- WEASEL: AUTO-GENERATED DOCS START")[0]  # its links start from the folder of project.yml
    assert [link for link in LINK.findall(text) if not (path.parent / link).exists()] == []


def test_the_page_of_the_project_is_up_to_date(tmp_path):
    page = tmp_path / "project.md"
    shutil.copy(ROOT / "docs" / "project.md", page)
    project_document(ROOT, page)
    assert page.read_text(encoding="utf8") == (ROOT / "docs" / "project.md").read_text(encoding="utf8")


def test_quick_start_begins_with_two_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf8")
    section = re.search(r"^## Quick start$(.*?)^## ", readme, re.MULTILINE | re.DOTALL)[1]
    first, second = [block for block in blocks(section) if block.kind == "bash"][:2]
    for block in (first, second):
        assert len(block.body.strip().splitlines()) == 1
    assert first.body.strip().endswith("spacy-deid demo")
    assert second.body.strip().endswith("pytest")


def test_a_wrong_output_is_noticed(folder):
    text = "```python\nprint(1)\n```\n\n```text\n2\n```\n"
    first, second = blocks(text)
    assert normal(run(first, {}, Path("x.md"))) != normal(second.body)


def test_a_bash_block_is_run_only_if_it_is_ours():
    ours, other = blocks("```bash\nspacy-deid info\n```\n```bash\npip install .\nspacy-deid info\n```\n")
    assert ours.commands == [["info"]]
    assert other.commands == []
