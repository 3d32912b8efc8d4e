"""``spacy-deid doctor``: what is checked, what is printed, and when it fails."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

from spacy_deid.cli import doctor
from spacy_deid.loading import shipped_pipelines
from spacy_deid.surrogates.keys import ProjectKey


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What the command prints as JSON, in a process of its own, with a key that it can read."""
    key = tmp_path_factory.mktemp("keys") / "project.key"
    ProjectKey.make().to_file(key)
    command = [sys.executable, "-m", "spacy_deid", "doctor", "--json", "--key", str(key)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_an_installation_that_works_passes_with_a_note_of_each_pipeline(printed: dict):
    states = {check["name"]: check["state"] for check in printed["checks"]}
    assert printed["ok"]
    assert shipped_pipelines()
    for name in shipped_pipelines():
        assert states[f"pipeline {name}"] == states[f"note {name}"] == "ok"
    assert states["Python"] == states["packages"] == states["key"] == "ok"
    assert {"OCR", "offline", "extra documents", "temporary files"} <= set(states)


def test_what_is_missing_or_failed_says_what_to_do(printed: dict):
    assert [check for check in printed["checks"] if check["state"] != "ok" and not check["advice"]] == []


def test_the_secret_of_a_key_is_not_printed(tmp_path: Path):
    path = tmp_path / "project.key"
    ProjectKey.make().to_file(path)
    assert path.read_text().strip() not in doctor.check_key(path).line()


def test_a_check_is_one_line():
    check = doctor.Check("OCR", "optional", "Tesseract is not installed", "install it")
    assert check.line() == "optional  OCR: Tesseract is not installed. To do: install it"


def test_the_exit_code_is_1_if_a_file_that_was_given_can_be_read_by_others(cli, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(doctor, "shipped_pipelines", dict)
    vault = tmp_path / "hospital.vault"
    vault.write_bytes(b"x")
    vault.chmod(0o644)
    result = cli("doctor", "--vault", vault)
    assert result.exit_code == 1
    assert (
        f"failed    vault: {vault}: other users can read it (mode 0644). To do: chmod 600 '{vault}'" in result.stdout
    )
    vault.chmod(0o600)
    assert cli("doctor", "--vault", vault).exit_code == 0


def test_a_folder_in_which_others_can_replace_a_secret_fails(tmp_path: Path):
    (tmp_path / "salts").write_bytes(b"x")
    (tmp_path / "salts").chmod(0o600)
    tmp_path.chmod(0o777)
    assert doctor.check_private("salts", tmp_path / "salts").state == "failed"
    tmp_path.chmod(0o1777)
    assert doctor.check_private("salts", tmp_path / "salts").state == "ok"


@pytest.mark.parametrize("check", ["check_key", "check_dictionaries"])
def test_a_secret_that_does_not_exist_fails_and_is_named(tmp_path: Path, check: str):
    found = getattr(doctor, check)(tmp_path / "gone")
    assert found.state == "failed"
    assert "gone" in found.finding


def test_a_damaged_pipeline_fails_with_the_file(tmp_path: Path, pipeline_folder: Path):
    shutil.copytree(pipeline_folder, tmp_path / "damaged")
    assert doctor.check_checksums("es", tmp_path / "damaged").state == "ok"
    with open(tmp_path / "damaged" / "config.cfg", "a") as file:
        file.write("\n")
    found = doctor.check_checksums("es", tmp_path / "damaged")
    assert found.state == "failed"
    assert "config.cfg" in found.finding


def installed_package(folder: Path, digest: str) -> Distribution:
    """An installed package with one file and its hash."""
    (folder / "spacy_deid").mkdir(exist_ok=True)
    (folder / "spacy_deid" / "words.txt").write_text("a\n")
    info = folder / "spacy_deid-1.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Name: spacy-deid\nVersion: 1\n")
    (info / "RECORD").write_text(f"spacy_deid/words.txt,sha256={digest},2\n")
    return PathDistribution(info)


def test_a_file_of_the_package_that_was_changed_fails(tmp_path: Path):
    right = base64.urlsafe_b64encode(hashlib.sha256(b"a\n").digest()).decode().rstrip("=")
    found = doctor.compare_files(installed_package(tmp_path, right))
    changed = doctor.compare_files(installed_package(tmp_path, right[::-1]))
    assert (found.state, changed.state) == ("ok", "failed")
    assert "words.txt was changed" in changed.finding


def test_without_tesseract_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = doctor.check_tesseract()
    assert found.state == "optional"
    assert "tesseract-ocr" in found.advice


def test_offline_needs_the_variable_only_where_a_hub_could_be_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert doctor.check_offline().state == "ok"
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(doctor, "version", lambda name: "1")
    assert "HF_HUB_OFFLINE=1" in doctor.check_offline().advice
    assert os.environ.get("HF_HUB_OFFLINE") is None


def test_a_package_that_is_missing_or_too_old_is_named():
    requirements = [doctor.Requirement(line) for line in ("spacy>=99", "no_such_package_of_anyone", "numpy>=1")]
    extras = [doctor.Requirement("no_such_package_of_anyone>=2 ; extra == 'some'")]
    unmet = doctor._unmet([*requirements, *extras], "")
    assert len(unmet) == 2
    assert "instead of >=99" in unmet[0]
    assert doctor._unmet([*requirements, *extras], "some") == ["no_such_package_of_anyone is not installed"]
