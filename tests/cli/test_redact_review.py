"""redact with a language model: what scores above a threshold goes, what scores high is written for a person."""

import json
from pathlib import Path

import pytest
import spacy

from spacy_deid.evaluation import read_folder
from spacy_deid.saving import save

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

SAMPLE = Path(__file__).parents[2] / "corpus" / "sample"
CANARY = "Xqzutoiaga"
TEXT = f"Nombre: {CANARY}.\r\nAcude por dolor. Correo: ana.lopez@ejemplo.es\n"
EVERYTHING = -1.0  # below any score


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from unigram_model import make_unigram_model

    texts = [note.text for note in read_folder(SAMPLE / "train", scheme="meddocan")]
    return make_unigram_model(tmp_path_factory.mktemp("model") / "es", texts)


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "in"
    (folder / "ward").mkdir(parents=True)
    (folder / "ward" / "one.txt").write_bytes(TEXT.encode())
    (folder / "two.txt").write_text("Acude por dolor.\n")
    return folder


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf8").splitlines()]


def test_review_has_offsets_in_the_note_and_in_the_released_text(redact, notes, model, tmp_path):
    result = redact(notes, "--review", tmp_path / "review.jsonl", "--surprisal-model", model)
    assert result.exit_code == 0, result.stderr
    rows = read(tmp_path / "review.jsonl")
    (row,) = [row for row in rows if row["note"] == "ward/one.txt"]
    assert TEXT[row["start"] : row["end"]] == CANARY
    released = (tmp_path / "out" / "ward" / "one.txt").read_bytes().decode()
    assert "[EMAIL]" in released
    assert released[slice(*row["released"])] == CANARY
    assert {"score", "probability", "by", "version", "columns"} <= row.keys()
    assert f"{len(rows)} span(s) to review" in result.stderr
    assert CANARY not in (tmp_path / "review.jsonl").read_text() + result.output


def test_released_offsets_account_for_replacements(redact, model, tmp_path):
    (tmp_path / "note.txt").write_text(f"Correo: ana.lopez@ejemplo.es\nNombre: {CANARY}\n")
    assert redact(tmp_path / "note.txt", "--review", tmp_path / "r.jsonl", "--surprisal-model", model).exit_code == 0
    (row,) = read(tmp_path / "r.jsonl")
    released = (tmp_path / "out" / "note.txt").read_text()
    assert released[slice(*row["released"])] == CANARY
    assert row["released"] != [row["start"], row["end"]]


def test_review_budget_keeps_the_best_spans_of_all_notes(redact, notes, model, tmp_path):
    args = ["--surprisal-model", model, "--review"]
    assert redact(notes, *args, tmp_path / "all.jsonl").exit_code == 0
    assert {row["note"] for row in read(tmp_path / "all.jsonl")} == {"two.txt", "ward/one.txt"}
    budget = ["--review-budget", 100, "--overwrite"]  # of the ten words of both notes
    result = redact(notes, *args, tmp_path / "best.jsonl", *budget)
    (row,) = read(tmp_path / "best.jsonl")
    assert row["note"] == "ward/one.txt"
    assert "1 span(s) to review" in result.stderr


def test_notes_can_be_ordered_by_their_risk_of_a_leak(redact, notes, model, tmp_path):
    assert redact(notes, "--review", tmp_path / "r.jsonl", "--surprisal-model", model).exit_code == 0
    leaks = {row["note"]: row["expected_leak"] for row in read(tmp_path / "r.jsonl")}
    assert leaks["ward/one.txt"] > leaks["two.txt"] > 0


def test_words_above_the_surprisal_threshold_are_replaced_and_traced(redact, notes, model, tmp_path):
    result = redact(notes, "--surprisal", EVERYTHING, "--surprisal-model", model, "--trace")
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "out" / "two.txt").read_text() == "[OTHER] [OTHER] [OTHER].\n"
    spans = json.loads((tmp_path / "out" / "ward" / "one.trace.json").read_text())["spans"]
    mail = next(span for span in spans if span["label"] == "EMAIL")  # trusted more than the language model
    assert {item["source"] for item in mail["evidence"]} == {"deid_patterns", "deid_surprisal"}


def test_review_of_rows_has_their_numbers(redact, model, tmp_path):
    lines = [json.dumps({"text": text}) for text in ("Acude por dolor.", TEXT)]
    (tmp_path / "notes.jsonl").write_text("\n".join(lines) + "\n")
    args = ["--text-field", "text", "--review", tmp_path / "r.jsonl", "--surprisal-model", model]
    assert redact(tmp_path / "notes.jsonl", *args).exit_code == 0
    rows = read(tmp_path / "r.jsonl")
    assert TEXT[slice(rows[-1]["start"], rows[-1]["end"])] == CANARY
    assert (rows[-1]["note"], rows[-1]["row"]) == ("notes.jsonl", 2)


def test_failed_files_and_rows_are_not_in_the_review(redact, model, tmp_path):
    (tmp_path / "bad.jsonl").write_text("[]\n{}\n")
    (tmp_path / "mixed.jsonl").write_text("{}\n" + json.dumps({"text": TEXT}) + "\n")
    (tmp_path / "good.jsonl").write_text(json.dumps({"text": TEXT}) + "\n")
    args = ["--text-field", "text", "--review", tmp_path / "r.jsonl", "--surprisal-model", model]
    assert redact(*sorted(tmp_path.glob("*.jsonl")), *args).exit_code == 1
    places = {(row["note"], row["row"], row["released_row"]) for row in read(tmp_path / "r.jsonl")}
    assert places == {("good.jsonl", 1, 1), ("mixed.jsonl", 2, 1)}


def test_missing_model_is_reported_once_before_anything_is_written(redact, notes, tmp_path):
    result = redact(notes, "--review", tmp_path / "r.jsonl", "--surprisal-model", tmp_path / "nowhere")
    assert result.exit_code != 0
    assert "nowhere" in result.stderr
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "r.jsonl").exists()


def test_existing_review_is_not_replaced_or_resumed(redact, notes, model, tmp_path):
    (tmp_path / "r.jsonl").write_text("mine")
    args = ["--review", tmp_path / "r.jsonl", "--surprisal-model", model]
    assert "already exist" in redact(notes, *args).stderr
    assert "cannot be used together" in redact(notes, *args, "--resume").stderr
    assert "cannot be combined with other paths" in redact("-", *args, output=None, input=b"note").stderr
    assert (tmp_path / "r.jsonl").read_text() == "mine"


def test_an_interrupted_run_writes_no_review(redact, notes, model, tmp_path, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("spacy_deid.cli.redaction.write_whole", interrupt)
    assert redact(notes, "--review", tmp_path / "r.jsonl", "--surprisal-model", model).exit_code != 0
    assert not (tmp_path / "r.jsonl").exists()


def test_a_pipeline_that_proposes_spans_keeps_its_settings(cli, nlp, notes, model, tmp_path):
    nlp.add_pipe("deid_surprisal", before="deid_merge", config={"model": str(model)})
    nlp.get_pipe("deid_merge").add_source("deid/surprisal")
    nlp.get_pipe_config("deid_merge")["sources"] = list(nlp.get_pipe("deid_merge").sources)
    nlp.add_pipe("deid_review", config={"floor": 2000.0})
    save(nlp, tmp_path / "saved")
    args = ["redact", notes, "--pipeline", tmp_path / "saved", "--output", tmp_path / "out"]
    result = cli(*args, "--review", tmp_path / "r.jsonl")
    assert result.exit_code == 0, result.stderr
    assert read(tmp_path / "r.jsonl") == []
    assert spacy.load(tmp_path / "saved").pipe_names[-1] == "deid_review"
