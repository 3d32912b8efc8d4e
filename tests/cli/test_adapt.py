"""adapt: a pipeline, a report and suggestions; what is refused, and that no word of a note is written."""

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import srsly
from typer.testing import CliRunner

import spacy_deid
from spacy_deid.adaptation import adapt as adaptation
from spacy_deid.adaptation import notes as replayed
from spacy_deid.adaptation.training import Tuner
from spacy_deid.cli import adapt as command
from spacy_deid.cli import app
from spacy_deid.evaluation import AnnotatedText, Entity, read_folder, write_folder
from spacy_deid.ml import crf
from spacy_deid.saving import CHECKSUMS, verify_checksums, write_checksums

SAMPLE = Path(__file__).parents[2] / "corpus" / "sample" / "train"
CANARY = "Zutoiaga"


@pytest.fixture(scope="module")
def small():
    """A small replay corpus and two parts, so that an adaptation takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replayed, "SYNTHETIC_NOTES", 20)
        patch.setattr(replayed, "REPLAY_DEV", 3)
        patch.setattr(adaptation, "_TRIED", (0.5, 0.1, 0.01))
        patch.setattr(command, "Settings", partial(adaptation.Settings, parts=2))
        yield


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """The Spanish pipeline with a threshold at which it finds little, so that any adaptation finds more."""
    folder = tmp_path_factory.mktemp("strict") / "es"
    shutil.copytree(spacy_deid.shipped_pipelines()["es"], folder)
    settings = srsly.read_json(folder / "deid_ner" / "cfg")
    settings["points"] = {"balanced": {"default": 0.999999, "labels": {}}, "recall": {"default": 0.5, "labels": {}}}
    srsly.write_json(folder / "deid_ner" / "cfg", settings)
    write_checksums(folder, [path.name for path in folder.iterdir() if path.name not in ("meta.json", CHECKSUMS)])
    return folder


@pytest.fixture(scope="module")
def gold(tmp_path_factory):
    """Twenty sample notes and a note that names the canary."""
    notes = read_folder(SAMPLE, scheme="meddocan")[:20]
    text = f"Paciente: {CANARY} {CANARY}az. Vive en {CANARY}ko.\n"
    entity = Entity(10, 10 + 2 * len(CANARY) + 3, "PATIENT")
    folder = tmp_path_factory.mktemp("gold")
    write_folder([*notes, AnnotatedText(f"{CANARY}-note", text, (entity,))], folder, "brat", scheme="meddocan")
    return folder


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def adapt(pipeline, gold, folder, *more):
    return run(
        *("adapt", pipeline, gold, "--output", folder / "new", "--scheme", "meddocan", "--steps", "2"),
        *("--report", folder / "report.json", "--bootstrap", "20", "--seed", "7", *more),
    )


@pytest.fixture(scope="module")
def adapted(small, strict, gold, tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapted")
    pool = folder / "pool"
    pool.mkdir()
    (pool / "a.txt").write_text(f"Acude {CANARY}itxi a consulta.\n", encoding="utf8")
    (pool / "b.txt").write_text("Sin fiebre.\n", encoding="utf8")
    result = adapt(strict, gold, folder, "--suggest", "2", "--pool", pool)
    assert result.exit_code == 0, result.output
    return folder, result


def test_the_pipeline_is_saved_whole_and_at_the_same_point(adapted, strict):
    folder, result = adapted
    assert verify_checksums(folder / "new")
    nlp = spacy_deid.load(folder / "new")
    ner = nlp.get_pipe("deid_ner")
    assert ner.operating_point == "balanced"
    assert list(ner.cfg["points"]) == ["balanced", "high_recall", "max_recall"]
    version = srsly.read_json(strict / "deid_ner" / "cfg")["version"]
    assert ner.cfg["version"].partition("+")[0] == version.partition("+")[0]
    assert ner.cfg["version"] != version
    assert nlp("Paciente: Ana Ruiz Soto. NIF: 12345678Z.").ents
    assert "saved to" in result.stdout


def test_the_meta_says_what_was_adapted_and_to_how_many_notes(adapted, strict):
    folder, _ = adapted
    (entry,) = srsly.read_json(folder / "new" / "meta.json")["deid"]["adapted"]
    assert entry["notes"] == 21
    assert entry["from"]["name"] == "es_deid"
    assert len(entry["from"]["fingerprint"]) == 16
    assert (entry["replay"], entry["seed"]) == ("synthetic", 7)


def test_the_report_compares_before_and_after(adapted):
    folder, result = adapted
    report = json.loads((folder / "report.json").read_text(encoding="utf8"))
    assert report["notes"] == {
        "given": 21,
        "with_identifiers": 21,
        "measured": 21,
        "method": "cross-fitting in 2 parts",
    }
    recall = report["points"]["balanced"]["notes"]["character_recall"]
    assert recall["before"]["value"] < recall["after"]["value"]
    assert recall["difference"]["value"] == pytest.approx(
        recall["after"]["value"] - recall["before"]["value"], abs=2e-5
    )
    low, high = recall["difference"]["interval"]
    assert low <= recall["difference"]["value"] <= high
    assert report["dropped_points"] == ["recall"]
    assert report["labels"]["PATIENT"]["characters"] > 0
    assert report["refusal"] == ""
    text = (folder / "report.txt").read_text(encoding="utf8")
    assert text in result.stdout
    assert "balanced, the hospital's notes" in text


def test_suggestions_are_ids(adapted):
    _, result = adapted
    rows = result.stdout.split("note\n")[1].split("\n")[:2]
    assert [row.split()[-1] for row in rows] == ["a.txt", "b.txt"]


def test_no_word_of_the_notes_and_no_name_is_written(adapted):
    folder, result = adapted
    files = [path for path in folder.rglob("*") if path.is_file() and "pool" not in path.parts]
    assert {"report.json", "report.txt", "config.cfg", "meta.json"} <= {path.name for path in files}
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    assert CANARY not in result.output


@pytest.mark.slow
def test_the_same_seed_gives_the_same_pipeline(adapted, small, strict, gold, tmp_path):
    folder, _ = adapted
    assert adapt(strict, gold, tmp_path).exit_code == 0
    assert srsly.read_json(tmp_path / "new" / "checksums.json") == srsly.read_json(folder / "new" / "checksums.json")
    assert (tmp_path / "report.json").read_bytes() == (folder / "report.json").read_bytes()


def test_a_loss_of_recall_is_refused_and_nothing_is_saved(small, gold, tmp_path, monkeypatch):
    def spoil(self, notes, step=None):
        for node in self.ner.model.walk():
            if node.name == "linear":
                node.set_param("W", node.get_param("W") * 0)
                bias = node.get_param("b") * 0
                bias[crf.O] = 30.0
                node.set_param("b", bias)
        self.ner.predictor = None

    monkeypatch.setattr(Tuner, "tune", spoil)
    result = adapt("es", gold, tmp_path)
    assert result.exit_code == 1
    assert "no pipeline was written: at 'balanced', the character recall" in result.stderr
    assert "falls by 0." in result.stderr
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf8"))["refusal"] in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "report.txt"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda notes: notes[:12], "got 12, need at least 20"),
        (lambda notes: [replace(note, entities=()) for note in notes], "too few annotated notes with identifiers"),
        (
            lambda notes: [*notes, AnnotatedText("x", "Ana Mas", (Entity(0, 7, "PATIENT"), Entity(4, 7, "CITY")))],
            "document 'x': the entities at 0:7 and 4:7 overlap",
        ),
        (
            lambda notes: [*notes, replace(replayed.make_replay("es").train[0], name="x")],
            "for example 'x', are already among the synthetic notes for replay",
        ),
    ],
)
def test_notes_that_cannot_be_used_are_refused_before_training(small, tmp_path, change, message):
    write_folder(change(read_folder(SAMPLE, scheme="meddocan")), tmp_path / "gold", "jsonl")
    result = run("adapt", "es", tmp_path / "gold", "--output", tmp_path / "new")
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "new").exists()


def test_a_label_that_does_not_exist_is_refused_with_file_and_line(tmp_path):
    shutil.copytree(SAMPLE, tmp_path / "gold")
    result = run("adapt", "es", tmp_path / "gold", "--output", tmp_path / "new")
    assert result.exit_code == 1
    assert "train-01.ann, line 1: the label is not in scheme 'canonical'" in result.stderr


def test_an_output_that_exists_is_refused(tmp_path):
    result = run("adapt", "es", SAMPLE, "--output", tmp_path)
    assert result.exit_code == 1
    assert f"{tmp_path} exists" in result.stderr


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        (["es"], "--suggest, or annotated notes"),
        (["es", SAMPLE], "--output"),
        (["es", "--output", "new"], "annotated notes"),
        (["es", "--suggest", "2"], "--pool"),
        (["es", "--pool", "notes"], "--suggest"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, missing):
    result = run("adapt", *options)
    assert result.exit_code == 1
    assert missing in result.stderr


def test_suggestions_need_no_annotated_notes(tmp_path):
    rows = [{"note_id": 7, "text": "Acude Ubaldiño Trescastro."}, {"note_id": 8, "text": "Sin fiebre."}]
    srsly.write_jsonl(tmp_path / "pool.jsonl", rows)
    result = run("adapt", "es", "--suggest", "1", "--pool", tmp_path / "pool.jsonl")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.strip().splitlines()[-1].split()[-1] == "7"
    assert "Trescastro" not in result.output
