"""Every registered name is an entry point, so that spaCy finds it without an import of this package."""

import ast
import subprocess
import sys
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import pytest
import spacy
from spacy.language import Language

PACKAGE = Path(find_spec("spacy_deid").origin).parent
ENTRY_POINTS = [point for point in distribution("spacy-deid").entry_points if point.group.startswith("spacy_")]


def registered():
    """(group, name, module, function) of every decorator in the source that registers something."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(["spacy_deid", *path.relative_to(PACKAGE).with_suffix("").parts])
        tree = ast.parse(path.read_text(encoding="utf8"))
        constants = {
            node.targets[0].id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
        }
        for function in [node for node in tree.body if isinstance(node, ast.FunctionDef)]:
            for call in [node for node in function.decorator_list if isinstance(node, ast.Call)]:
                if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name):
                    continue
                owner, kind = call.func.value.id, call.func.attr
                if owner not in ("Language", "registry"):
                    continue
                name = call.args[0].value if isinstance(call.args[0], ast.Constant) else constants[call.args[0].id]
                group = "factories" if (owner, kind) == ("Language", "factory") else kind
                yield f"spacy_{group}", name, module, function.name


REGISTERED = list(registered())


def test_the_package_registers_something():
    assert {"spacy_factories", "spacy_deid_styles", "spacy_tokenizers"} <= {group for group, *_ in REGISTERED}


def test_entry_points_and_registered_names_are_the_same():
    assert {(point.group, point.name, *point.value.split(":")) for point in ENTRY_POINTS} == set(REGISTERED)


@pytest.mark.parametrize("point", ENTRY_POINTS, ids=lambda point: point.name)
def test_an_entry_point_leads_to_what_is_registered(point):
    function = point.load()
    kind = point.group.removeprefix("spacy_")
    if kind == "factories":
        assert Language.has_factory(point.name)
        assert Language.get_factory_meta(point.name).default_config is not None
    else:
        assert spacy.registry.get(kind, point.name) is function


@pytest.mark.parametrize("point", ENTRY_POINTS, ids=lambda point: point.name)
def test_names_follow_the_rule(point):
    if point.group == "spacy_factories":
        assert point.name.startswith("deid_")
    else:
        assert point.name.startswith("spacy_deid.")
        assert point.name.rpartition(".v")[2].isdecimal()


@pytest.mark.parametrize(
    "code",
    [
        "spacy.blank('es').add_pipe('deid_ruler')",
        "spacy.registry.get('tokenizers', 'spacy_deid.ClinicalTokenizer.v1')",
        "spacy.blank('fi').add_pipe('deid_ruler'); assert spacy.tokens.Doc.has_extension('deid_text')",
    ],
    ids=["factory", "tokenizer", "extensions"],
)
def test_spacy_alone_finds_the_names(code, tmp_path):
    script = f"import spacy; {code}"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_the_command_is_installed():
    (point,) = [p for p in distribution("spacy-deid").entry_points if p.group == "console_scripts"]
    assert point.name == "spacy-deid"
    assert callable(point.load())
