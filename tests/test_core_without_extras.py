"""The core package runs without any package of an extra, and imports only the modules that a redaction needs."""

import ast
import subprocess
import sys

import pytest

BLOCKED = set(
    "PIL cassis cryptography defusedxml duckdb fastapi lxml matplotlib onnxruntime openpyxl pikepdf presidio_analyzer "
    "pyarrow pypdfium2 reportlab simplemma spacy_transformers sqlalchemy starlette striprtf tokenizers torch "
    "transformers uvicorn zxingcpp".split()
)
# spaCy imports the entry points of every installed package, so those of the blocked packages are hidden as well.
PROGRAM = f"""
import sys
from importlib.metadata import Distribution

class Blocked:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {sorted(BLOCKED)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
discover = Distribution.discover
Distribution.discover = lambda **context: (
    found for found in discover(**context) if found.name.replace("-", "_") not in {sorted(BLOCKED)}
)
import spacy_deid
print(spacy_deid.Deidentifier("es", style="tag")("Nombre: Ana Ruiz. NHC: 4471906.").text)
print(sorted(name for name in sys.modules if name.partition(".")[0] == "spacy_deid"))
import spacy_deid.cli
"""
MOST_MODULES = 75  # the included pipelines contain deid_recovery, which takes seven


@pytest.fixture(scope="module")
def run():
    return subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True)


def test_the_command_line_and_the_deidentifier_need_no_extra(run):
    assert run.stderr == ""
    assert run.stdout.splitlines()[0] == "Nombre: [PATIENT]. NHC: [MRN]."


def test_a_redaction_with_tags_imports_few_modules(run):
    modules = ast.literal_eval(run.stdout.splitlines()[1])
    assert {"spacy_deid.pipeline.ner", "spacy_deid.lang.es"} <= set(modules)
    assert not {"spacy_deid.lang.fi", "spacy_deid.evaluation", "spacy_deid.surrogates"} & set(modules)
    assert len(modules) <= MOST_MODULES, modules
