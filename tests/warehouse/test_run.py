"""A run: its folder, what is processed again, and what stops it before and after the start."""

import importlib.util
import json
import shutil
import warnings
from collections import namedtuple

import pytest
from conftest import build_pipeline
from spacy.language import Language

from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.errors import ConfigError, InputError
from spacy_deid.saving import save
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.warehouse import run as run_module
from spacy_deid.warehouse.engines import LocalEngine, make_engine
from spacy_deid.warehouse.partition import PartitionWorker, StopRun, claim_gpu, count_gpus
from spacy_deid.warehouse.settings import RowFields, TableColumns

from .conftest import make_rows, read_notes, read_quarantine, result_of, write_parquet

SECRETS = ("Esparza", "ejemplo.es", "@")


def bad_rows() -> dict:
    rows = make_rows(100)
    rows["text"][3] = None
    rows["note_id"][5] = None
    rows["note_id"][7] = rows["note_id"][8]
    return rows


def test_counts_in_are_counts_out_and_quarantine(make_run, tmp_path):
    write_parquet(tmp_path / "in" / "a.parquet", bad_rows())
    summary = make_run(tmp_path / "in")()
    released, quarantine = read_notes(tmp_path / "out"), read_quarantine(tmp_path / "out")
    assert summary["rows"] == {"read": 100, "released": 98, "quarantined": 2}
    assert len(released) == 98
    assert [(row["note_id"], row["row"], row["status"]) for row in quarantine] == [
        ("n3", 3, "failed"),
        ("", 5, "failed"),
    ]
    assert summary["reasons"] == {"column 'note_id' has no note id": 1, "column 'text' has no text": 1}
    assert summary["duplicates"] == {"ids": 1, "rows": 2, "examples": ["n8"]}
    assert {row["fingerprint"] for row in released} == {summary["fingerprint"]}
    assert summary["labels"] == {"CITY": 88, "EMAIL": 88}
    assert summary["sources"] == {"CITY": {"deid_ruler": 88}, "EMAIL": {"deid_patterns": 88}}


def test_no_file_of_a_run_has_text_of_a_note(make_run, tmp_path):
    write_parquet(tmp_path / "in" / "a.parquet", bad_rows())
    run = make_run(tmp_path / "in", columns=TableColumns(note_type="ward", keep=("ward",)))
    run()
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"manifest.json", "report.html", "report.json"}
    for path in files:
        data = path.read_bytes()
        assert [word for word in ("Esparza", "ejemplo") if word.encode() in data] == [], path
    texts = str(read_notes(tmp_path / "out")) + str(read_quarantine(tmp_path / "out"))
    assert "[CITY]" in texts
    assert not any(word in texts for word in SECRETS)


@Language.component("quotes_text")
def quotes_text(doc):
    warnings.warn(f"odd text: {doc.text}", UserWarning, stacklevel=1)
    if "Nota 7" in doc.text:
        raise ValueError(f"cannot handle '{doc.text}'")
    return doc


def test_a_component_that_quotes_a_note_brings_it_into_no_log_and_no_reason(make_run, table, nlp, tmp_path, capfd):
    nlp.add_pipe("quotes_text", first=True)
    nlp.to_disk(tmp_path / "pipeline")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        summary = make_run(table, pipeline=str(tmp_path / "pipeline"))()
    assert summary["rows"]["quarantined"] == 10
    shown = "".join(capfd.readouterr()) + str(summary) + str(read_quarantine(tmp_path / "out"))
    assert "UserWarning at test_run.py" in shown
    assert "ValueError at test_run.py" in shown
    assert not any(word in shown for word in (*SECRETS, "Nota"))


def test_an_audit_counts_the_same_and_writes_no_text(make_run, table, tmp_path):
    audit, real = make_run(table, "audit", audit=True)(), make_run(table)()
    for name in ("labels", "sources", "rows", "words"):
        assert audit[name] == real[name]
    assert list((tmp_path / "audit").rglob("*.parquet")) == []
    assert "What would be removed" in (tmp_path / "audit" / "run" / "report.html").read_text()
    assert len(read_notes(tmp_path / "out")) == 300


def test_a_second_call_has_nothing_to_do(make_run, table, tmp_path):
    make_run(table)()
    before = result_of(tmp_path / "out")
    summary = make_run(table)()
    assert (summary["partitions"]["processed"], summary["partitions"]["kept"]) == (0, 6)
    assert summary["rows"]["released"] == 300
    assert result_of(tmp_path / "out") == before


def damage(output, what):
    path = sorted((output / what).glob("*"))[0]
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize("what", ["notes", "run/partitions"])
def test_a_damaged_file_is_written_again(make_run, table, tmp_path, what):
    make_run(table)()
    before = result_of(tmp_path / "out")
    damage(tmp_path / "out", what)
    assert make_run(table)()["partitions"]["processed"] == 1
    assert result_of(tmp_path / "out") == before


def test_other_settings_are_refused_and_processed_with_changed(make_run, table, tmp_path):
    make_run(table)()
    with pytest.raises(ConfigError, match=r"other settings \(style\)"):
        make_run(table, style="mask")()
    summary = make_run(table, style="mask", changed=True)()
    assert summary["partitions"]["processed"] == 6
    fresh = make_run(table, "fresh", style="mask")()
    assert read_notes(tmp_path / "out") == read_notes(tmp_path / "fresh")
    assert fresh["fingerprint"] == summary["fingerprint"]


def test_a_changed_input_is_refused_and_only_what_it_touches_is_processed(make_run, table, tmp_path):
    make_run(table)()
    write_parquet(table / "b.parquet", {**make_rows(100, 200), "text": ["otra", *make_rows(100, 200)["text"][1:]]})
    write_parquet(table / "c.parquet", make_rows(10, 300))
    with pytest.raises(InputError, match=r"the input has changed .* \(2 partition\(s\)\)"):
        make_run(table)()
    summary = make_run(table, changed=True)()
    assert (summary["partitions"]["processed"], summary["partitions"]["kept"]) == (2, 5)
    (table / "a.parquet").unlink()
    summary = make_run(table, changed=True)()
    assert (summary["partitions"]["processed"], summary["partitions"]["removed"]) == (0, 4)
    assert [row["note_id"] for row in read_notes(tmp_path / "out")] == sorted(f"n{i}" for i in range(200, 310))


def test_files_that_a_killed_run_did_not_remove_are_removed(make_run, table, tmp_path):
    make_run(table)()
    stale = tmp_path / "out" / "notes" / "0123456789ab-00000.parquet"
    stale.write_bytes(b"of a partition that neither manifest has")
    assert make_run(table)()["partitions"]["removed"] == 1
    assert not stale.exists()


def test_a_column_that_is_not_read_changes_nothing(make_run, table):
    make_run(table)()
    write_parquet(table / "b.parquet", {**make_rows(100, 200), "ward": [9] * 100})
    assert make_run(table)()["partitions"]["processed"] == 0


def test_partitions_with_quarantine_are_tried_again_on_request(make_run, tmp_path):
    write_parquet(tmp_path / "in" / "a.parquet", bad_rows())
    make_run(tmp_path / "in")()
    assert make_run(tmp_path / "in", retry=True)()["partitions"]["processed"] == 1


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "secrets" / "project.key"
    ProjectKey.make().to_file(path)
    return path


class Between(LocalEngine):
    """The local engine, with an action after the first partition."""

    def __init__(self, action):
        self.action = action

    def run(self, folder, names, n_process):
        for number, outcome in enumerate(super().run(folder, names, n_process)):
            yield outcome
            if number == 0:
                self.action()


def replace_key(path):
    path.unlink()
    ProjectKey.make().to_file(path)


def test_a_key_that_changes_during_a_run_stops_it(make_run, table, tmp_path, key):
    given = {"style": "surrogate", "key": str(key), "columns": TableColumns(fields=RowFields("patient_id"))}
    with pytest.raises(StopRun, match="changed since the run was started: key"):
        make_run(table, engine=Between(lambda: replace_key(key)), **given)()
    assert len(list((tmp_path / "out" / "notes").iterdir())) == 1
    with pytest.raises(ConfigError, match=r"other settings \(key\)"):
        make_run(table, **given)()
    summary = make_run(table, changed=True, **given)()
    assert summary["partitions"]["processed"] == 6
    secret = key.read_text().strip()
    assert secret not in "".join(p.read_text() for p in (tmp_path / "out" / "run").rglob("*.json"))


def test_a_pipeline_that_changes_during_a_run_stops_new_workers(make_run, table, tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    save(build_pipeline(folder), folder / "es_towns")

    def change():
        from spacy_deid.warehouse import engines

        save(build_pipeline(folder, towns="term,label\nMonte,CITY\n"), folder / "es_towns")
        engines._WORKERS.clear()  # as in a worker process that was started again

    with pytest.raises(StopRun, match="changed since the run was started: pipeline"):
        make_run(table, pipeline=str(folder / "es_towns"), engine=Between(change))()


def test_a_partition_that_vanishes_fails_alone(make_run, table, tmp_path):
    run = make_run(table, engine=Between((table / "b.parquet").unlink))
    summary = run()
    assert summary["partitions"] == {"total": 6, "processed": 4, "kept": 0, "removed": 0, "failed": 2}
    assert summary["failed"][0]["source"] == "b.parquet"
    assert "No such file" in summary["failed"][0]["reason"]
    assert "Partitions that failed" in run.folder.report.read_text()
    write_parquet(table / "b.parquet", make_rows(100, 200))
    assert make_run(table)()["partitions"]["processed"] == 2


def test_another_run_in_the_folder_stops_the_first(make_run, table, tmp_path, monkeypatch):
    def take_over():
        (tmp_path / "out" / "run" / "run_id").write_text("another")

    class Late(PartitionWorker):
        def _open(self):
            opened = super()._open()
            take_over()
            return opened

    monkeypatch.setattr("spacy_deid.warehouse.engines.PartitionWorker", Late)
    with pytest.raises(StopRun, match="another run has started"):
        make_run(table)()
    assert list((tmp_path / "out" / "notes").iterdir()) == []


Usage = namedtuple("Usage", "total used free")


def test_too_little_disk_or_memory_is_said_before_the_start(make_run, table, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: Usage(1, 1, 1_000))
        with pytest.raises(ConfigError, match="not enough disk space"):
            make_run(table)()
    monkeypatch.setattr(run_module, "_available_memory", lambda: 1_000.0)
    with pytest.raises(ConfigError, match=r"not enough memory: 2 worker process\(es\)"):
        make_run(table, n_process=2)()
    assert not (tmp_path / "out" / "notes").exists()


def make_dictionaries(folder, patients):
    with StoreWriter(folder) as writer:
        for patient in patients:
            writer.add_patient(patient, [LocalEntry("Ana Ruiz", "PATIENT", "patients.name")])
        writer.commit({})
    return folder


def test_dictionaries_of_another_project_are_refused_before_the_start(make_run, table, tmp_path):
    given = {"columns": TableColumns(fields=RowFields("patient_id"))}
    other = make_dictionaries(tmp_path / "other", ["x1", "x2"])
    with pytest.raises(ConfigError, match="none of the first 50 patients"):
        make_run(table, dictionaries=str(other), **given)()
    own = make_dictionaries(tmp_path / "own", [f"p{i}" for i in range(45)])
    summary = make_run(table, dictionaries=str(own), **given)()
    assert summary["dictionaries"] == {"patient": 270, "institution: unknown patient_id": 30}
    make_dictionaries(own, ["p1"])
    with pytest.raises(ConfigError, match=r"other settings \(dictionaries\)"):
        make_run(table, dictionaries=str(own), **given)()


def test_each_worker_has_a_gpu_of_its_own(tmp_path):
    used: list[int] = []
    first, second = (claim_gpu(tmp_path, 2, used.append) for _ in range(2))
    with pytest.raises(StopRun, match="no free GPU: this machine has 2"):
        claim_gpu(tmp_path, 2, used.append)
    first.close()
    claim_gpu(tmp_path, 2, used.append).close()
    second.close()
    assert used == [0, 1, 0]


@pytest.mark.skipif(count_gpus() > 0, reason="there is a GPU")
def test_a_run_on_gpus_is_refused_before_the_start_where_there_is_none(make_run, table, tmp_path):
    with pytest.raises(ConfigError, match="no free GPU: this machine has 0"):
        make_run(table, gpu=True, n_process=1)()
    assert not (tmp_path / "out" / "notes").exists()


@pytest.mark.gpu
@pytest.mark.skipif(not count_gpus(), reason="no GPU that pipelines can run on: needs an NVIDIA GPU and CuPy")
def test_a_run_on_a_gpu_gives_the_texts_of_one_on_the_processor(make_run, table, tmp_path):
    make_run(table, "gpu", gpu=True, n_process=1)()
    make_run(table)()
    columns = ["note_id", "text"]
    assert read_notes(tmp_path / "gpu", columns) == read_notes(tmp_path / "out", columns)


def test_a_password_in_the_url_is_refused(make_run):
    with pytest.raises(ConfigError, match="contains a password"):
        make_run("postgresql://me:secret@host/db", table="notes")()


def test_a_damaged_manifest_is_refused(make_run, table, tmp_path):
    make_run(table)()
    (tmp_path / "out" / "run" / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="damaged, or written by another version"):
        make_run(table)()


def test_progress_has_a_line_per_interval(make_run, table):
    run = make_run(table, every=0.05)
    run()
    assert any(line.endswith("in quarantine") and "notes/s" in line for line in run.lines)


def test_the_report_escapes_ids_and_names_the_hardest_notes(make_run, tmp_path):
    rows = make_rows(3)
    rows["note_id"][1] = "<script>alert(1)</script>"
    rows["note_id"][2] = rows["note_id"][1]
    write_parquet(tmp_path / "in" / "a.parquet", rows)
    run = make_run(tmp_path / "in")
    run()
    page = run.folder.report.read_text()
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "Hardest notes" in page
    assert json.loads(run.folder.report.with_suffix(".json").read_text())["rows"]["read"] == 3


def test_a_local_engine_has_no_address():
    with pytest.raises(ConfigError, match="no address"):
        make_engine("local", "host:1")


@pytest.mark.parametrize(("engine", "package"), [("ray", "ray"), ("spark", "pyspark")])
def test_an_engine_that_is_not_installed_names_its_extra(monkeypatch, engine, package):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else real(name))
    with pytest.raises(ConfigError, match=rf"pip install 'spacy-deid\[{engine}\]'"):
        make_engine(engine)
