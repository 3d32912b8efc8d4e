"""calibrate: points into a pipeline, and the commands that take one by name."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import NOTE

import spacy_deid
from spacy_deid.evaluation import AnnotatedText, Entity, read_folder, write_folder

SAMPLE = Path(__file__).parents[2] / "corpus" / "sample" / "dev"
FRESH = SAMPLE.parent / "train"
FEW = 4  # documents of FRESH that the calibrated pipeline is bounded on
CANARY = "Zutoiaga"


@pytest.fixture(scope="module")
def es() -> Path:
    return spacy_deid.shipped_pipelines()["es"]


@pytest.fixture(scope="module")
def calibrated(es: Path, tmp_path_factory: pytest.TempPathFactory):
    """The shipped pipeline calibrated on the samples and a note that names the canary, and what was printed."""
    from typer.testing import CliRunner

    from spacy_deid.cli import app

    folder = tmp_path_factory.mktemp("calibrated")
    text = f"Paciente: {CANARY} {CANARY}az. Vive en {CANARY}ko.\n"
    notes = [*read_folder(SAMPLE, scheme="meddocan")[:4], AnnotatedText("canary", text, (Entity(10, 18, "PATIENT"),))]
    write_folder(notes, folder / "dev", "brat", scheme="meddocan")
    args = ["calibrate", es, folder / "dev", "--output", folder / "es", "--scheme", "meddocan", "--risk", "0.5"]
    write_folder(read_folder(FRESH, scheme="meddocan")[:FEW], folder / "fresh", "brat", scheme="meddocan")
    args += ["--risk-data", folder / "fresh"]
    result = CliRunner().invoke(app, [str(arg) for arg in [*args, "--curves", folder / "curves"]])
    assert result.exit_code == 0, result.stderr
    return folder, result


def test_the_points_are_saved_with_their_figures(calibrated):
    folder, result = calibrated
    points = spacy_deid.load(folder / "es").get_pipe("deid_ner").cfg["points"]
    assert list(points) == ["balanced", "high_recall", "max_recall", "risk"]
    assert points["balanced"]["figures"]["documents"] == 5
    assert "saved to" in result.stdout
    assert "at 'risk'" in result.stdout
    assert all(name in result.stdout for name in points)


def test_pipeline_is_saved_at_the_given_point(calibrated):
    folder, _ = calibrated
    assert spacy_deid.load(folder / "es").get_pipe("deid_ner").get_point().name == "risk"


def test_risk_bound_states_its_assumptions(calibrated):
    folder, result = calibrated
    figures = spacy_deid.load(folder / "es").get_pipe("deid_ner").cfg["points"]["risk"]["figures"]
    assert figures["documents"] == FEW
    assert figures["risk_bound"] <= figures["risk"] == 0.5
    assert f"risk: {round(figures['risk_bound'], 5)} on {FEW} documents" in result.stdout
    assert "not used before" in result.stdout


def test_incomplete_gold_is_refused_and_nothing_is_saved(cli, es: Path, tmp_path: Path):
    note = "Nombre: Ana Pérez Mas. NIF: 12345678Z. Correo: ana@ejemplo.es. Teléfono: 912 345 678. Vive en Jaca.\n"
    write_folder([AnnotatedText("a", note, (Entity(8, 11, "PATIENT"),))], tmp_path / "dev", "brat")
    result = cli("calibrate", es, tmp_path / "dev", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "gold annotations seem incomplete" in result.stderr
    assert not (tmp_path / "out").exists()


def test_no_word_of_the_data_is_saved_or_printed(calibrated):
    folder, result = calibrated
    files = [path for part in ("es", "curves") for path in (folder / part).rglob("*") if path.is_file()]
    assert {"curves.json", "curves.png", "config.cfg"} <= {path.name for path in files}
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]
    assert CANARY not in result.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--recall", "0.9", "--risk", "0.1"], "cannot be used together"),
        (["--per-label"], "is missing"),
        (["--risk", "1.5", "--risk-data", FRESH], "greater than 0 and less than 1"),
        (["--risk", "0.001", "--risk-data", FRESH], "need at least 999"),
        (["--risk", "0.1"], "--risk-data, notes that were not used before, is missing"),
        (["--risk-data", FRESH], "--risk, which --risk-data goes with, is missing"),
        (["--risk", "0.5", "--risk-data", SAMPLE], "also in the development set"),
        (["--operating-point", "surest"], "balanced, high_recall, max_recall"),
    ],
)
def test_wrong_options_are_refused_and_nothing_is_saved(cli, es: Path, tmp_path: Path, options, said):
    result = cli("calibrate", es, SAMPLE, "--scheme", "meddocan", "--output", tmp_path / "out", *options)
    assert result.exit_code == 1
    assert said in result.stderr
    assert not (tmp_path / "out").exists()


def test_data_without_entities_are_refused(cli, es: Path, tmp_path: Path):
    write_folder([AnnotatedText("a", NOTE)], tmp_path / "dev", "brat")
    result = cli("calibrate", es, tmp_path / "dev", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "contains no entities" in result.stderr


def test_labels_outside_the_scheme_are_refused_with_file_and_line(cli, es: Path, tmp_path: Path):
    shutil.copytree(SAMPLE, tmp_path / "dev")
    annotation = sorted((tmp_path / "dev").glob("*.ann"))[0]
    annotation.write_text(annotation.read_text().replace("\tFECHAS ", "\tFECHON "))
    result = cli("calibrate", es, tmp_path / "dev", "--scheme", "meddocan", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert f"{annotation.name}, line " in result.stderr
    assert "not in scheme 'meddocan'" in result.stderr


def test_operating_point_of_redact_is_in_the_trace(cli, calibrated, tmp_path: Path):
    folder, _ = calibrated
    (tmp_path / "note.txt").write_text("Nombre: Ana Pérez Mas.\n")
    args = ["redact", tmp_path / "note.txt", "--pipeline", folder / "es", "--trace", "--output", tmp_path / "out"]
    assert cli(*args, "--operating-point", "high_recall").exit_code == 0
    trace = json.loads((tmp_path / "out" / "note.trace.json").read_text())
    assert trace["operating_point"] == "high_recall"
    assert {item.get("operating_point") for row in trace["spans"] for item in row["evidence"]} & {"high_recall"}


@pytest.mark.parametrize("command", ["redact", "annotate"])
def test_an_unknown_point_is_refused_with_the_known_ones(cli, calibrated, tmp_path: Path, command):
    folder, _ = calibrated
    (tmp_path / "note.txt").write_text("Nombre: Ana.\n")
    more = ["--format", "brat"] if command == "annotate" else []
    args = [command, tmp_path / "note.txt", "--pipeline", folder / "es", "--output", tmp_path / "out", *more]
    result = cli(*args, "--operating-point", "best")
    assert result.exit_code == 1
    assert "balanced, high_recall, max_recall, risk" in result.stderr
    assert not (tmp_path / "out" / "note.txt").exists()


def test_an_output_folder_that_is_not_replaced_is_refused_before_anything_is_read(cli, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    result = cli("calibrate", "no pipeline", tmp_path / "no data", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert "neither a saved pipeline nor an empty folder" in result.stderr
