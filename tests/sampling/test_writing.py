"""Writing samples and projects for annotation tools."""

import csv
import json

import pytest

from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity, read_folder
from spacy_deid.evaluation.cas import LAYER, make_tagset, write_cas_json
from spacy_deid.evaluation.formats import make_config, write_tasks
from spacy_deid.sampling.sample import Group, Sample, SampledNote, Settings
from spacy_deid.sampling.writing import write_sample

TEXT = "Nota 🙂 de Ana López.\nTel. 600 100 200\n"
NOTE = AnnotatedText("n000001", TEXT, (Entity(10, 19, "PATIENT"), Entity(26, 37, "PHONE")))


def make(count=2):
    group = Group("progress", "2020", 30, 300, 300.0, count, count, count)
    notes = [SampledNote(f"n{i:06}", f"N{i}", "P1", group, i, None, TEXT) for i in range(1, count + 1)]
    return Sample(Settings(count), [group], notes, 30)


def test_the_sample_its_frame_and_the_groups_are_written(tmp_path):
    write_sample(make(), tmp_path / "s")
    assert [document.text for document in read_folder(tmp_path / "s" / "sample.jsonl")] == [TEXT, TEXT]
    record = json.loads((tmp_path / "s" / "sample.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert (record["note_id"], record["patient_id"], record["weight"]) == ("N1", "P1", 15.0)
    frame = json.loads((tmp_path / "s" / "frame.json").read_text(encoding="utf-8"))
    assert frame["groups"][0]["mean_words"] == 10.0
    with (tmp_path / "s" / "groups.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["note_type"], row["documents"], row["drawn"]) == ("progress", "30", "2")
    assert (tmp_path / "s").stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_sample_is_replaced_when_asked_and_nothing_else_ever(tmp_path):
    write_sample(make(2), tmp_path / "s")
    with pytest.raises(InputError, match="already exist"):
        write_sample(make(1), tmp_path / "s")
    write_sample(make(1), tmp_path / "s", overwrite=True)
    assert len(read_folder(tmp_path / "s" / "sample.jsonl")) == 1
    (tmp_path / "s" / "thesis.docx").touch()
    with pytest.raises(InputError, match="contains files"):
        write_sample(make(1), tmp_path / "s", overwrite=True)


def test_what_fails_leaves_the_old_sample(tmp_path):
    write_sample(make(2), tmp_path / "s")
    broken = make(1)
    broken.notes[0] = broken.notes[0]._replace(name="../x")
    with pytest.raises(InputError, match="cannot be used as a file name"):
        write_sample(broken, tmp_path / "s", tools=["brat"], overwrite=True)
    assert len(read_folder(tmp_path / "s" / "sample.jsonl")) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_brat_gets_texts_annotations_and_its_configuration(tmp_path):
    write_sample(make(1), tmp_path / "s", tools=["brat"], documents=[NOTE], model="es")
    folder = tmp_path / "s" / "brat"
    assert "[entities]\nPATIENT\n" in (folder / "annotation.conf").read_text(encoding="utf-8")
    (folder / "annotation.conf").unlink()
    assert read_folder(folder) == [NOTE]


def test_without_a_pipeline_annotations_are_empty(tmp_path):
    write_sample(make(1), tmp_path / "s", tools=["brat", "label-studio"])
    assert (tmp_path / "s" / "brat" / "n000001.ann").read_text(encoding="utf-8") == ""
    (task,) = json.loads((tmp_path / "s" / "label-studio" / "tasks.json").read_text(encoding="utf-8"))
    assert task == {"data": {"text": TEXT, "name": "n000001"}}


def test_label_studio_gets_predictions_by_characters(tmp_path):
    (task,) = json.loads(write_tasks([NOTE], tmp_path / "t.json", model="es").read_text(encoding="utf-8"))
    (prediction,) = task["predictions"]
    assert prediction["model_version"] == "es"
    assert [(r["value"]["text"], r["value"]["labels"]) for r in prediction["result"]] == [
        ("Ana López", ["PATIENT"]),
        ("600 100 200", ["PHONE"]),
    ]
    assert '<Label value="PATIENT"/>' in make_config()


def test_inception_reads_what_cassis_reads(tmp_path):
    cassis = pytest.importorskip("cassis")
    with write_cas_json(NOTE, tmp_path).open("rb") as file:
        cas = cassis.load_cas_from_json(file)
    assert cas.sofa_string == TEXT
    assert [(a.get_covered_text(), a.value) for a in cas.select(LAYER)] == [
        ("Ana López", "PATIENT"),
        ("600 100 200", "PHONE"),
    ]


def test_offsets_of_a_cas_count_as_java_does(tmp_path):
    cas = json.loads(write_cas_json(NOTE, tmp_path).read_text(encoding="utf-8"))
    assert [(s["begin"], s["end"]) for s in cas["%FEATURE_STRUCTURES"][1:]] == [(0, len(TEXT) + 1), (11, 20), (27, 38)]


def test_inception_gets_documents_and_a_tagset(tmp_path):
    write_sample(make(2), tmp_path / "s", tools=["inception"])
    folder = tmp_path / "s" / "inception"
    assert sorted(path.name for path in (folder / "documents").iterdir()) == ["n000001.json", "n000002.json"]
    assert json.loads((folder / "tagset.json").read_text(encoding="utf-8")) == make_tagset()
    assert {tag["tag_name"] for tag in make_tagset()["tags"]} >= {"PATIENT", "DATE"}
