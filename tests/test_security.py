"""The promises of docs/design/security.md that concern the whole package, and that each promise there has a test."""

import ast
import os
import re
import stat
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer

from spacy_deid.cli import app
from spacy_deid.processes import Workers, forbid_core_dumps

ROOT = Path(__file__).parent.parent
PACKAGE = Path(find_spec("spacy_deid").origin).parent
THREATS = ROOT / "docs" / "design" / "security.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")

# Calls that run code, or build any object, from the bytes that they read.
UNSAFE = {
    *("eval", "exec", "compile", "__import__"),
    *("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads", "shelve.open"),
    *("dill.load", "dill.loads", "cloudpickle.load", "cloudpickle.loads", "joblib.load", "yaml.load"),
    *("torch.load", "np.load", "numpy.load", "pandas.read_pickle", "os.system", "os.popen"),
    *("srsly.pickle_loads", "Language.from_pickle", "zipfile.ZipFile.extractall", "shutil.unpack_archive"),
}
# Those that are safe with this argument.
SAFE_WITH = {"torch.load": ("weights_only", True), "np.load": ("allow_pickle", False)}
# Those whose bytes never come from an input: file → call and reason.
TRUSTED = {
    "processes.py": ("pickle.loads", "a worker reads what its own parent sent through a pipe"),
    "ehr/patients.py": ("marshal.load", "reads what the process wrote to a file that it has unlinked"),
}


@cache
def calls() -> list[tuple[str, str, ast.Call]]:
    """Every call in the package: file, dotted name of what is called, and the node."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
            if isinstance(node, ast.Call):
                found.append((path.relative_to(PACKAGE).as_posix(), ast.unparse(node.func), node))
    return found


def is_safe(name: str, node: ast.Call) -> bool:
    """Whether a call has the argument that makes it safe."""
    wanted = SAFE_WITH.get(name)
    given = {word.arg: getattr(word.value, "value", None) for word in node.keywords}
    return wanted is not None and given.get(wanted[0]) is wanted[1]


def test_no_input_is_unpickled_or_evaluated():
    assert len(calls()) > 1000
    found = [(file, name) for file, name, node in calls() if name in UNSAFE and not is_safe(name, node)]
    assert sorted(found) == sorted((file, name) for file, (name, _) in TRUSTED.items())


def test_no_command_is_given_to_a_shell():
    started = [(file, node) for file, name, node in calls() if name.startswith("subprocess.")]
    assert started
    assert [file for file, node in started if any(word.arg == "shell" for word in node.keywords)] == []


def test_xml_is_parsed_without_entities_and_network():
    parsers = {
        name
        for _, name, _ in calls()
        if re.search(r"(XMLParser|HTMLParser|ElementTree\.\w+|minidom\.\w+|sax\.\w*parse\w*)$", name)
    }
    assert parsers == {"etree.XMLParser", "HTMLParser", "ElementTree.fromstring"}
    for file, name, node in calls():
        given = {word.arg: getattr(word.value, "value", None) for word in node.keywords}
        if name == "etree.XMLParser":
            assert given["resolve_entities"] is given["load_dtd"] is given["huge_tree"] is False
        if name in ("etree.XMLParser", "HTMLParser"):
            assert given["no_network"] is True
        if name == "ElementTree.fromstring":  # after the same bytes were refused if they declare a document type
            assert file == "evaluation/cas.py"


def options() -> list[tuple[str, Any]]:
    """Every option of every command."""

    def walk(command: Any, name: str):
        for parameter in command.params:
            if parameter.param_type_name == "option":
                yield name, parameter
        for inner, each in getattr(command, "commands", {}).items():
            yield from walk(each, f"{name} {inner}")

    return list(walk(typer.main.get_command(app), "spacy-deid"))


def test_no_secret_is_given_on_the_command_line():
    secret = re.compile(r"key|token|password|secret|salt|credential")
    named = [(name, option) for name, option in options() if secret.search(" ".join(option.opts))]
    assert len(named) > 5
    values = {(name, option.opts[0]) for name, option in named if option.type.name != "path" and not option.is_flag}
    # the id of a token that is revoked is public
    assert values == {("spacy-deid user revoke", "--token")}


CRASH = """
import os, resource, sys
from spacy_deid.processes import forbid_core_dumps
most = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (most, most))
if sys.argv[1] == "forbidden":
    forbid_core_dumps()
os.abort()
"""


def crash(folder: Path, how: str) -> bool:
    """Whether a process that aborts leaves a core dump."""
    process = subprocess.Popen([sys.executable, "-c", CRASH, how], cwd=folder, env=os.environ)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = -1
    return os.WCOREDUMP(status)


def test_a_crash_leaves_no_core_dump(tmp_path: Path):
    assert not crash(tmp_path, "forbidden")
    assert list(tmp_path.iterdir()) == []
    if not crash(tmp_path, "allowed"):
        pytest.skip("this system writes no core dumps anyway")


def core_limit(_: int) -> int:
    import resource

    return resource.getrlimit(resource.RLIMIT_CORE)[0]


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_leave_no_core_dump(start: str):
    with Workers(core_limit, 1, start=start) as workers:
        assert [result for _, result in workers.run([0])] in ([0], [1])


def test_commands_leave_no_core_dump(cli):
    import resource

    assert cli("info").exit_code == 0
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] <= 1
    forbid_core_dumps()  # again, with the limit that is set now
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] <= 1


def test_temporary_folders_are_private(tmp_path: Path):
    from spacy_deid.io import whole_folder

    with whole_folder(tmp_path / "made") as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o700
        (temporary / "a").write_text("a")
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_every_promise_names_a_test_that_exists():
    rows = [line for line in THREATS.read_text(encoding="utf8").splitlines() if line.startswith("| ") and "::" in line]
    assert len(rows) > 25
    named = NAMED.findall("\n".join(rows))
    assert len(named) >= len(rows)
    missing = [f"{file}::{test}" for file, test in named if f"def {test}(" not in (ROOT / file).read_text("utf8")]
    assert missing == []


def test_every_artefact_has_a_promise():
    text = THREATS.read_text(encoding="utf8").lower()
    artefacts = (
        "released notes, traces, reports, saved pipelines, caches, temporary files, logs, core dumps, keys, vault, "
    )
    artefacts += "dictionaries, service, models from strangers, crafted documents, administrator"
    assert [name for name in artefacts.split(", ") if name not in text] == []


@pytest.mark.parametrize("command", ["sample {url} --output out --table t", "audit {url} --dictionaries d --table t"])
def test_a_password_in_the_url_of_a_database_is_refused(cli, tmp_path: Path, command: str, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = cli(*command.format(url="postgresql://reader:Zyxwalda@localhost/notes").split())
    assert result.exit_code == 1
    assert "env:NAME" in result.stderr
    assert "Zyxwalda" not in result.output


LAUGHS = "".join(f'<!ENTITY {b} "{f"&{a};" * 20}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
DOCTYPES = {"expansion": f'<!ENTITY a "ha">{LAUGHS}', "file": '<!ENTITY i SYSTEM "file:///etc/hostname">'}


@pytest.mark.parametrize("kind", DOCTYPES)
@pytest.mark.parametrize("name", ["note.xml", "note.xmi"])
def test_entities_of_xml_are_refused(cli, tmp_path: Path, name: str, kind: str):
    root = "deIdi2b2" if name == "note.xml" else "xmi:XMI"
    page = f'<?xml version="1.0"?><!DOCTYPE {root} [{DOCTYPES[kind]}]><{root} xmlns:xmi="x"><TEXT>&i;</TEXT></{root}>'
    (tmp_path / "gold").mkdir()
    (tmp_path / "gold" / name).write_text(page)
    (tmp_path / "gold" / "TypeSystem.xml").write_text("<typeSystemDescription/>")
    result = cli("evaluate", tmp_path / "gold", tmp_path / "gold", "--scheme", "i2b2")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert len(result.output) < 2000


@pytest.mark.parametrize("kind", DOCTYPES)
def test_entities_of_a_document_of_cda_are_refused(cli, tmp_path: Path, kind: str):
    pytest.importorskip("lxml")
    root = "ClinicalDocument"
    page = f"<!DOCTYPE {root} [{DOCTYPES[kind]}]><{root} xmlns='urn:hl7-org:v3'>&i;</{root}>"
    (tmp_path / "a.xml").write_text(page)
    result = cli("cda", tmp_path / "a.xml", "--pipeline", "es", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert re.search("document type|malformed XML", result.stderr)
