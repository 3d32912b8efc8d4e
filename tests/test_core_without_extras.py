"""The core package runs without any package of an extra."""

import subprocess
import sys

BLOCKED = set(
    "PIL cassis cryptography defusedxml duckdb fastapi lxml matplotlib onnxruntime openpyxl pikepdf pyarrow pypdfium2 "
    "reportlab simplemma sqlalchemy starlette striprtf tokenizers torch uvicorn zxingcpp".split()
)
PROGRAM = f"""
import sys

class Blocked:
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {sorted(BLOCKED)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
import spacy_deid.cli
print(spacy_deid.Deidentifier("es")("Nombre: Ana Ruiz. NHC: 4471906.").text)
"""


def test_the_command_line_and_the_deidentifier_need_no_extra():
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True)
    assert run.stderr == ""
    assert run.stdout == "Nombre: [PATIENT]. NHC: [MRN].\n"
