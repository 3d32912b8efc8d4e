"""redact in the style "surrogate": the key, whose note it is, what is said and written of it."""

import json
import stat

import pytest
from conftest import NOTE, TOWNS, build_pipeline

import spacy_deid
from spacy_deid.errors import ConfigError
from spacy_deid.saving import save
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.vault.salts import Salts


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "project.key"
    ProjectKey(bytes(range(32))).to_file(path)
    return path


@pytest.fixture
def notes(tmp_path):
    for patient in ("17", "18"):
        (tmp_path / "in" / patient).mkdir(parents=True)
        for name in ("a.txt", "b.txt"):
            (tmp_path / "in" / patient / name).write_text(NOTE)
    return tmp_path / "in"


def released(tmp_path):
    folder = tmp_path / "out"
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.txt")}


def test_new_key_is_readable_only_by_its_owner_and_works(cli, redact, notes, tmp_path):
    path = tmp_path / "new.key"
    made = cli("key", "new", path)
    assert made.exit_code == 0, made.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().strip() not in made.output
    assert redact(notes, "--style", "surrogate", "--key", path).exit_code == 0


def test_existing_key_is_not_replaced(cli, key):
    before = key.read_text()
    result = cli("key", "new", key)
    assert result.exit_code == 1
    assert key.read_text() == before


def test_missing_key_is_an_error_that_says_how_to_make_one(redact, notes, tmp_path):
    result = redact(notes, "--style", "surrogate")
    assert result.exit_code == 1
    assert "spacy-deid key new FILE" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_key_that_others_may_read_is_refused(redact, notes, key, tmp_path):
    key.chmod(0o640)
    result = redact(notes, "--style", "surrogate", "--key", key)
    assert result.exit_code == 1
    assert "chmod 600" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", ["", "ab" * 31, "no key at all"])
def test_invalid_key_is_refused(redact, notes, key, content):
    key.write_text(content)
    result = redact(notes, "--style", "surrogate", "--key", key)
    assert result.exit_code == 1
    assert "spacy-deid key new FILE" in result.stderr


def test_notes_of_one_patient_get_the_same_surrogates(redact, notes, key, tmp_path):
    result = redact(notes, "--style", "surrogate", "--key", key, "--patient-id-from", "folder")
    assert result.exit_code == 0, result.stderr
    texts = released(tmp_path)
    assert len(texts) == 4
    assert texts["17/a.txt"] == texts["17/b.txt"]
    assert not [text for text in texts.values() if "Esparza" in text or "ana.lopez" in text]


def test_patient_id_can_come_from_the_file_name(redact, notes, key, tmp_path):
    assert redact(notes, "--style", "surrogate", "--key", key, "--patient-id-from", "name").exit_code == 0
    texts = released(tmp_path)
    assert texts["17/a.txt"] == texts["18/a.txt"]


def test_report_and_trace_have_the_identity_but_no_key(redact, notes, key, tmp_path):
    report = tmp_path / "report.json"
    result = redact(notes, "--style", "surrogate", "--key", key, "--trace", "--report", report)
    assert result.exit_code == 0, result.stderr
    said = json.loads(report.read_text())
    assert said["style"] == "surrogate"
    assert said["identities"] == {"document": 4}
    assert set(said["no_surrogate"]) <= set(said["labels"])
    trace = json.loads((tmp_path / "out" / "17" / "a.trace.json").read_text())
    assert {row["identity"] for row in trace["spans"]} == {"document"}
    secret = key.read_text().strip()
    assert not [path for path in (tmp_path / "out").rglob("*.json") if secret in path.read_text()]
    assert secret not in report.read_text() + result.output


def test_patient_field_gives_the_patients_of_rows(redact, key, tmp_path):
    rows = [{"pid": pid, "text": NOTE} for pid in ("17", 17, None)]
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ("--text-field", "text", "--patient-field", "pid", "--report", tmp_path / "report.json")
    result = redact(path, "--style", "surrogate", "--key", key, *options)
    assert result.exit_code == 1
    first, second = [json.loads(line)["text"] for line in (tmp_path / "out" / "notes.jsonl").read_text().splitlines()]
    assert first == second
    assert json.loads((tmp_path / "report.json").read_text())["identities"] == {"patient": 2}


def test_spans_without_a_surrogate_are_counted_and_reported(cli, key, tmp_path):
    save(build_pipeline(tmp_path, towns=TOWNS + "huella 7,BIOMETRIC\n"), tmp_path / "pipeline")
    (tmp_path / "in.txt").write_text("Vive en Puerto Esparza, huella 7.")
    options = ("--style", "surrogate", "--key", key, "--report", tmp_path / "report.json")
    target = ("--pipeline", tmp_path / "pipeline", "--output", tmp_path / "out")
    result = cli("redact", tmp_path / "in.txt", *target, *options)
    assert result.exit_code == 0, result.stderr
    assert "1 span(s) replaced by a tag: no surrogate could be made" in result.stderr
    assert json.loads((tmp_path / "report.json").read_text())["no_surrogate"] == {"BIOMETRIC": 1}
    assert "[BIOMETRIC]" in released(tmp_path)["in.txt"]


# Loading


def test_a_pipeline_is_loaded_with_style_and_key(pipeline_folder, key):
    nlp = spacy_deid.load(pipeline_folder, style="surrogate", project_key=key)
    doc = nlp(NOTE)
    assert doc._.deid_trace[0]["style"] == "surrogate"
    assert "Esparza" not in doc._.deid_text


def test_pipeline_with_surrogates_needs_a_key(pipeline_folder):
    with pytest.raises(ConfigError, match="spacy-deid key new"):
        spacy_deid.load(pipeline_folder, style="surrogate")


def test_any_style_can_be_chosen_when_loading(pipeline_folder):
    assert "[CITY_1]" in spacy_deid.load(pipeline_folder, style="numbered")(NOTE)._.deid_text


def test_a_pipeline_that_writes_no_surrogates_has_no_style(pipeline_folder, key):
    with pytest.raises(ConfigError, match="no component 'deid_surrogate'"):
        spacy_deid.load(pipeline_folder, exclude=["deid_surrogate"], project_key=key)


# Salts


def test_salts_change_surrogates_until_they_are_deleted(redact, cli, notes, key, tmp_path):
    salts = tmp_path / "apart" / "patients.salts"
    salts.parent.mkdir()
    options = ("--style", "surrogate", "--key", key, "--patient-id-from", "folder", "--salts", salts)
    seen = []
    for _ in range(2):
        result = redact(notes, *options, "--overwrite")
        assert result.exit_code == 0, result.stderr
        seen.append(released(tmp_path)["17/a.txt"])
    assert seen[0] == seen[1]
    assert Salts(salts, ProjectKey.from_file(key)).purge("17")
    assert redact(notes, *options, "--overwrite").exit_code == 0
    assert released(tmp_path)["17/a.txt"] != seen[0]


def test_salts_in_the_folder_of_the_key_are_refused(redact, notes, key, tmp_path):
    result = redact(notes, "--style", "surrogate", "--key", key, "--salts", tmp_path / "patients.salts")
    assert result.exit_code == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("folder", ["in", "in/17", "out", "out/keys"])
@pytest.mark.parametrize("secret", ["--key", "--salts"])
def test_secrets_among_notes_or_in_the_output_are_refused(redact, notes, key, tmp_path, folder, secret):
    place = tmp_path / folder
    place.mkdir(parents=True, exist_ok=True)
    files = {"--key": key, "--salts": tmp_path / "salts" / "salts.bin"}
    files[secret] = place / "secret.bin"
    if secret == "--key":
        key.rename(files["--key"])
    options = [part for option, path in files.items() for part in (option, path)]
    result = redact(notes, "--style", "surrogate", "--patient-id-from", "folder", *options)
    assert result.exit_code == 1
    assert "Move it to a separate folder" in result.stderr
    assert released(tmp_path) == {}


def test_key_linked_into_the_output_is_refused(redact, notes, key, tmp_path):
    (tmp_path / "out").mkdir()
    key.rename(tmp_path / "out" / "project.key")
    key.symlink_to(tmp_path / "out" / "project.key")
    result = redact(notes, "--style", "surrogate", "--key", key)
    assert "the folder of what is released" in result.stderr
    assert released(tmp_path) == {}
