"""The benchmark of CAS files: what it calls lossless, and that it notices a loss."""

import json
from pathlib import Path

import pytest

from benchmarks import cas as benchmark
from spacy_deid.evaluation.cas import read_cas

DATA = Path(__file__).parents[1] / "data" / "evaluation" / "cas"
FILES = [DATA / "json" / "tannbach.json", DATA / "xmi" / "tannbach.xmi"]


@pytest.mark.parametrize("file", FILES, ids=["json", "xmi"])
def test_the_example_is_lossless(file):
    assert benchmark.is_lossless(file)


@pytest.mark.parametrize("key", ["%TYPES", "%FEATURE_STRUCTURES", "%VIEWS"])
def test_whatever_a_writer_leaves_out_is_noticed(tmp_path, key):
    cas = json.loads(FILES[0].read_text(encoding="utf-8"))
    part = cas["%VIEWS"]["_InitialView"]["%MEMBERS"] if key == "%VIEWS" else cas[key]
    part.pop(next(iter(part)) if isinstance(part, dict) else -1)
    (tmp_path / "less.json").write_text(json.dumps(cas), encoding="utf-8")
    assert benchmark.structures(tmp_path / "less.json") != benchmark.structures(FILES[0])


def test_identifiers_are_found_again_in_the_text_of_a_pdf():
    pytest.importorskip("reportlab")
    pytest.importorskip("pypdfium2")
    assert list(benchmark.carry_to_pdf([read_cas(FILES[0], scheme="grascco")])) == [True] * 5
    long = "Befund " + "unauffällig" * 20
    assert "-" in "".join(benchmark.break_line(long))
    assert benchmark.plain("".join(benchmark.break_line(long))) == benchmark.plain(long)
