"""The benchmark of language models: what it counts, on notes of its own and a server that answers what it is told."""

from pathlib import Path

import pytest
from canned_server import canned_server, question
from typer.testing import CliRunner

from benchmarks import llm as benchmark
from spacy_deid.evaluation import AnnotatedText, Entity, read_rows, write_folder

ROOT = Path(__file__).parents[2]

TEXT = "Paciente: Zyxwalda Qvistberg. Acude por tos."


@pytest.fixture
def notes(tmp_path):
    gold = [AnnotatedText(f"n{i}", f"{TEXT} {i}.", (Entity(10, 28, "PATIENT"),)) for i in range(4)]
    write_folder(gold, tmp_path / "notes", "brat")
    return tmp_path / "notes"


@pytest.fixture
def measure(notes, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)

    def run(answer, *options):
        with canned_server(answer) as (url, _):
            command = [str(notes), "es", "--model", url, "--label", "PATIENT", "--metrics", str(tmp_path / "m.json")]
            result = CliRunner().invoke(
                benchmark.app, [*command, "--prompt", "zero_shot.v2", "--canaries", "0", *options]
            )
        assert result.exit_code == 0, result.output
        assert "Zyxwalda" not in result.output + (tmp_path / "m.json").read_text()
        return {row.name: row.value for row in read_rows(tmp_path / "m.json")}, result.output

    return run


def test_what_the_model_finds_is_measured(measure):
    figures, printed = measure({"PATIENT": ["Zyxwalda", "Qvistberg", "Napoleón", "tos"]})
    assert figures["LLM, zero_shot: recall"] == 1.0
    assert figures["LLM, zero_shot: precision"] == pytest.approx(17 / 20)
    assert figures["LLM, zero_shot: strings not in the note"] == 0.25
    assert figures["LLM, zero_shot: failed documents"] == 0
    assert figures["both: recall"] == 1.0
    assert figures["LLM, zero_shot: seconds per document"] > 0
    assert "zero_shot" in printed


def test_documents_that_fail_are_counted_and_in_no_other_figure(measure):
    def answer(body):
        return "nonsense" if " 2." in question(body) else {"PATIENT": ["Zyxwalda Qvistberg"]}

    figures, _ = measure(answer, "--runs", "2")
    assert figures["LLM, zero_shot: failed documents"] == 1
    assert figures["LLM, zero_shot: recall"] == 1.0
    assert figures["LLM, zero_shot: documents with the same answer in 2 runs"] == 1.0
    assert figures["LLM, zero_shot: Kruskal-Wallis p of recall over 2 runs"] == 1.0


def test_runs_that_differ_are_told_apart(measure):
    def answer(body):
        return {"PATIENT": ["Zyxwalda Qvistberg"] if body["seed"] == 0 else []}

    figures, _ = measure(answer, "--runs", "2")
    assert figures["LLM, zero_shot: documents with the same answer in 2 runs"] == 0.0
    assert figures["LLM, zero_shot: Kruskal-Wallis p of recall over 2 runs"] < 0.05


def test_the_price_is_that_of_the_file(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text('[per_hour]\nours = 0.5\nbig = 8\n[machines]\npipeline = "ours"\nllm = "big"\n')
    assert benchmark.read_prices(path) == {"pipeline": 0.5, "llm": 8}
    assert set(benchmark.read_prices(ROOT / "benchmarks" / "prices.toml")) == {"pipeline", "llm"}


def test_equal_values_have_the_same_distribution():
    assert benchmark.kruskal_wallis([[1.0, 1.0], [1.0]]) == (0.0, 1.0)


def test_the_test_statistic_is_corrected_for_ties():
    assert benchmark.kruskal_wallis([[1, 1, 2, 3], [2, 2, 3], [5, 1]]) == pytest.approx((0.81381, 0.66571), abs=1e-5)


def test_runs_are_compared_over_documents():
    text = "Ana vive en Soria"
    gold = [AnnotatedText(name, text, (Entity(0, 3, "PATIENT"), Entity(12, 17, "CITY"))) for name in "abc"]
    whole = [AnnotatedText(name, text, gold[0].entities) for name in "abc"]
    half = [AnnotatedText(name, text, gold[0].entities[: 1 + (name == "a")]) for name in "abc"]
    result = benchmark.compare_runs(gold, [whole, whole, half])
    assert result["same"] == pytest.approx(1 / 3)
    assert result["recall"]["micro"] == pytest.approx([1, 1, 14 / 24])
    assert 0 < result["recall"]["p"] < 1
    assert benchmark.compare_runs(gold, [whole, whole])["accuracy"]["p"] == 1.0
