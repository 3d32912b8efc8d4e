"""``spacy-deid vault``."""

import csv
import sqlite3
import stat
from contextlib import closing

import pytest

from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.vault.salts import Salts
from spacy_deid.vault.vault import Change, Entry, Vault

CANARIES = ("Canaria", "Villarrubia")


@pytest.fixture
def key(tmp_path):
    (tmp_path / "keys").mkdir()
    path = tmp_path / "keys" / "key"
    ProjectKey(bytes(range(32))).to_file(path)
    return path


@pytest.fixture
def vault(tmp_path, key):
    path = tmp_path / "hospital.vault"
    name, town, other = (
        Change(0, "PATIENT", "Ana Canaria", "Eva Soto"),
        Change(12, "CITY", "Villarrubia", "Almorox"),
        Change(0, "CITY", "Villarrubia", "Yepes"),
    )
    entries = [
        Entry.of("4711", "a", "Ana Canaria en Villarrubia", "Eva Soto en Almorox", [name, town]),
        Entry.of("4712", "b", "Villarrubia", "Yepes", [other]),
    ]
    Vault.create(path, ProjectKey.from_file(key)).add(entries)
    return path


def clean(result, code=0):
    text = result.output + str(result.exception)
    assert result.exit_code == code, text
    assert not [value for value in CANARIES if value in text]
    return result.output


def test_list_counts_by_label_and_by_patient(cli, vault, key):
    assert (
        clean(cli("vault", "list", vault, "--vault-key", key))
        == "CITY\t2\nPATIENT\t1\n3 change(s) in notes of 2 patient(s)\n"
    )
    assert "4711\t2\n4712\t1\n" in clean(cli("vault", "list", vault, "--vault-key", key, "--by-patient"))


def test_export_writes_originals_to_a_file_for_its_owner(cli, vault, key, tmp_path):
    out = tmp_path / "out.csv"
    assert "2 change(s)" in clean(
        cli("vault", "export", vault, "--vault-key", key, "--output", out, "--patient", "4711")
    )
    rows = list(csv.DictReader(out.read_text(encoding="utf8").splitlines()))
    assert [row["original"] for row in rows] == ["Ana Canaria", "Villarrubia"]
    assert [(row["note"], row["start"], row["end"]) for row in rows] == [("a", "0", "8"), ("a", "12", "19")]
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "Use --overwrite" in clean(cli("vault", "export", vault, "--vault-key", key, "--output", out), 1)
    assert "3 change(s)" in clean(cli("vault", "export", vault, "--vault-key", key, "--output", out, "--overwrite"))


def test_purge_removes_patients_and_their_salts(cli, vault, key, tmp_path):
    salts = tmp_path / "hospital.salts"
    before = Salts(salts, ProjectKey.from_file(key)).of("4711")
    said = clean(cli("vault", "purge", vault, "--vault-key", key, "--patient", "4711", "--salts", salts))
    assert said == "1 note(s) removed, 1 salt(s) removed\n"
    assert Vault.open(vault, ProjectKey.from_file(key)).check() == 1
    assert Salts(salts, ProjectKey.from_file(key)).of("4711") != before
    assert clean(cli("vault", "purge", vault, "--vault-key", key, "--all")) == "1 note(s) removed\n"


def test_open_reports_whether_all_entries_are_intact(cli, vault, key):
    assert clean(cli("vault", "open", vault, "--vault-key", key)) == "2 note(s), all intact\n"
    with closing(sqlite3.connect(vault)) as connection, connection:
        connection.execute("DELETE FROM notes WHERE number = 1")
    assert "damaged" in clean(cli("vault", "open", vault, "--vault-key", key), 1)


def test_purge_takes_separate_keys_for_salts_and_vault(cli, vault, key, tmp_path):
    project, salts = tmp_path / "keys" / "project", tmp_path / "hospital.salts"
    ProjectKey.make().to_file(project)
    before = Salts(salts, ProjectKey.from_file(project)).of("4711")
    options = ("--patient", "4711", "--salts", salts)
    assert "another key" in clean(cli("vault", "purge", vault, "--vault-key", key, *options), 1)
    assert Vault.open(vault, ProjectKey.from_file(key)).check() == 2
    said = clean(cli("vault", "purge", vault, "--vault-key", key, *options, "--key", project))
    assert said == "1 note(s) removed, 1 salt(s) removed\n"
    assert Salts(salts, ProjectKey.from_file(project)).of("4711") != before


def test_purge_needs_patient_or_all(cli, vault, key, tmp_path):
    assert "--patient or --all is missing" in clean(cli("vault", "purge", vault, "--vault-key", key), 1)
    assert "cannot be used together" in clean(
        cli("vault", "purge", vault, "--vault-key", key, "--all", "--patient", "1"), 1
    )
    assert "cannot be used together" in clean(
        cli("vault", "purge", vault, "--vault-key", key, "--all", "--salts", "x"), 1
    )
    missing = clean(
        cli("vault", "purge", vault, "--vault-key", key, "--patient", "4711", "--salts", tmp_path / "none"), 1
    )
    assert "no such file" in missing
    assert Vault.open(vault, ProjectKey.from_file(key)).check() == 2


def test_wrong_key_is_refused(cli, vault, tmp_path):
    other = tmp_path / "keys" / "other"
    ProjectKey.make().to_file(other)
    for command in (["open"], ["list"], ["purge", "--all"], ["export", "--output", tmp_path / "out.csv"]):
        assert "another key" in clean(cli("vault", command[0], vault, "--vault-key", other, *command[1:]), 1)
    assert not (tmp_path / "out.csv").exists()


def test_key_in_the_folder_of_the_vault_is_refused(cli, vault, key, tmp_path):
    key.rename(tmp_path / "key")
    assert "is in the same folder" in clean(cli("vault", "list", vault, "--vault-key", tmp_path / "key"), 1)


def test_a_key_made_by_the_command_opens_a_vault(cli, tmp_path):
    (tmp_path / "safe").mkdir()
    assert cli("key", "new", tmp_path / "safe" / "key").exit_code == 0
    Vault.create(tmp_path / "v", ProjectKey.from_file(tmp_path / "safe" / "key"))
    assert "0 change(s) in notes of 0 patient(s)" in clean(
        cli("vault", "list", tmp_path / "v", "--vault-key", tmp_path / "safe" / "key")
    )
