"""redact --vault, and back: what a released note was, to the last byte, for the holder of the vault's key alone."""

import json
import stat
import subprocess
import sys

import pytest
from conftest import NOTE, TOWNS, build_pipeline

from spacy_deid.saving import save
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.vault.vault import Vault

CANARY = "Puerto Esparza"
NOTES = {
    "17/a.txt": NOTE.encode(),
    "17/b.txt": f"\ufeffVive en {CANARY}\r\n\r\nCorreo: eva.sanz@ejemplo.es y eva.sa\r\nnz@ejemplo.es".encode(),
    "18/a.txt": NOTE.encode(),
    "18/nothing.txt": b"Sin datos.\n",
    "18/empty.txt": b"",
}


@pytest.fixture
def keys(tmp_path):
    """The project key and the vault's."""
    folder = tmp_path / "keys"
    folder.mkdir()
    for name in ("project", "vault", "other"):
        ProjectKey.make().to_file(folder / name)
    return folder


@pytest.fixture
def notes(tmp_path):
    for name, data in NOTES.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "in"


@pytest.fixture
def vault(tmp_path):
    return tmp_path / "hospital.vault"


@pytest.fixture
def release(redact, keys, vault, tmp_path):
    """Redact with surrogates and a vault."""

    def run(*args, **kwargs):
        options = ("--style", "surrogate", "--key", keys / "project", "--vault", vault, "--vault-key", keys / "vault")
        result = redact(*args, *options, **kwargs)
        assert CANARY not in result.output
        return result

    return run


def turn_back(cli, vault, key, tmp_path, *args, source="out"):
    return cli("vault", "reverse", vault, tmp_path / source, "--vault-key", key, "--output", tmp_path / "back", *args)


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("processes", [1, 2])
def test_released_notes_are_reversed_byte_for_byte(cli, release, notes, keys, vault, tmp_path, processes):
    result = release(notes, "--patient-id-from", "folder", "--n-process", processes)
    assert result.exit_code == 0, result.stderr
    out = tree(tmp_path / "out")
    assert out.keys() == NOTES.keys()
    assert not [data for data in out.values() if CANARY.encode() in data]
    back = turn_back(cli, vault, keys / "vault", tmp_path)
    assert back.exit_code == 0, back.stderr
    assert "5 file(s) restored" in back.stdout
    assert tree(tmp_path / "back") == NOTES
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "back").rglob("*.txt")} == {0o600}
    sealed = [vault.read_bytes(), vault.with_name("hospital.vault.log").read_bytes()]
    assert not [data for data in sealed if CANARY.encode() in data or b"a.txt" in data]


@pytest.mark.parametrize("style", ["tag", "numbered", "mask", "remove"])
def test_every_style_is_reversed(cli, redact, notes, keys, vault, tmp_path, style):
    options = ("--style", style, "--vault", vault, "--vault-key", keys / "vault")
    assert redact(notes, *options).exit_code == 0
    assert turn_back(cli, vault, keys / "vault", tmp_path).exit_code == 0
    assert tree(tmp_path / "back") == NOTES


def test_changed_words_around_a_value_are_reversed(cli, keys, vault, tmp_path):
    nlp = build_pipeline(tmp_path, towns=TOWNS + "Inés Soler,PATIENT\n")
    save(nlp, tmp_path / "pipeline")
    text = "Acude con Pedro e Inés Soler. Vuelve Pedro e Inés Soler.\n" * 3
    for i in range(20):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{i}.txt").write_text(text)
    options = ("--style", "surrogate", "--key", keys / "project", "--vault", vault, "--vault-key", keys / "vault")
    output = ("--pipeline", tmp_path / "pipeline", "--output", tmp_path / "out", "--patient-id-from", "name")
    assert cli("redact", tmp_path / "in", *output, *options).exit_code == 0
    assert [data for data in tree(tmp_path / "out").values() if b"Pedro y " in data]
    assert turn_back(cli, vault, keys / "vault", tmp_path).exit_code == 0
    assert set(tree(tmp_path / "back").values()) == {text.encode()}


def test_rows_are_reversed(cli, release, keys, vault, tmp_path):
    (tmp_path / "in").mkdir()
    rows = [{"id": i, "pid": i % 2, "text": NOTE * (i + 1)} for i in range(7)]
    lines = "".join(json.dumps(row) + "\r\n" for row in rows).encode()
    (tmp_path / "in" / "notes.jsonl").write_bytes(lines)
    fields = ("--text-field", "text", "--keep-field", "id", "--keep-field", "pid", "--patient-field", "pid")
    assert release(tmp_path / "in", *fields, "--batch-size", 2).exit_code == 0
    assert CANARY.encode() not in (tmp_path / "out" / "notes.jsonl").read_bytes()
    back = turn_back(cli, vault, keys / "vault", tmp_path, "--text-field", "text")
    assert back.exit_code == 0, back.stderr
    assert (tmp_path / "back" / "notes.jsonl").read_bytes() == lines
    assert set(Vault.open(vault, ProjectKey.from_file(keys / "vault")).list()) >= {("0", "CITY"), ("1", "CITY")}


def test_a_file_that_fails_leaves_nothing_in_the_vault(release, keys, vault, tmp_path):
    (tmp_path / "in").mkdir()
    good = json.dumps({"text": NOTE}) + "\n"
    bad = (good * 5).encode("utf-16") + b"\x00"
    (tmp_path / "in" / "bad.jsonl").write_bytes(bad)
    (tmp_path / "in" / "good.jsonl").write_text(good, encoding="utf-16")
    assert release(tmp_path / "in", "--text-field", "text", "--batch-size", 2, "--encoding", "utf-16").exit_code == 1
    assert tree(tmp_path / "out").keys() == {"good.jsonl"}
    (entry,) = Vault.open(vault, ProjectKey.from_file(keys / "vault")).export()
    assert entry.note == "good.jsonl"


def test_equal_rows_are_reversed_although_others_failed(cli, redact, keys, vault, tmp_path):
    (tmp_path / "in").mkdir()
    rows = ["", '{"text": null}', *(json.dumps({"text": f"Correo: ana{i}@ejemplo.es"}) for i in range(4)), "no row"]
    (tmp_path / "in" / "notes.jsonl").write_text("\n".join(rows))
    options = ("--text-field", "text", "--vault", vault, "--vault-key", keys / "vault")
    assert redact(tmp_path / "in", *options).exit_code == 1
    lines = (tmp_path / "out" / "notes.jsonl").read_text().splitlines()
    assert lines == ['{"text": "Correo: [EMAIL]"}'] * 4
    assert turn_back(cli, vault, keys / "vault", tmp_path, "--text-field", "text").exit_code == 0
    assert (tmp_path / "back" / "notes.jsonl").read_text().splitlines() == rows[2:6]


def test_changed_note_is_not_reversed(cli, release, notes, keys, vault, tmp_path):
    assert release(notes).exit_code == 0
    changed = tmp_path / "out" / "17" / "a.txt"
    changed.write_bytes(changed.read_bytes() + b" ")
    back = turn_back(cli, vault, keys / "vault", tmp_path)
    assert back.exit_code == 1
    assert "a.txt: note not found in the vault" in back.stderr
    assert tree(tmp_path / "back").keys() == NOTES.keys() - {"17/a.txt"}


def test_purged_note_is_not_reversed(cli, release, notes, keys, vault, tmp_path):
    assert release(notes, "--patient-id-from", "folder").exit_code == 0
    assert (
        cli("vault", "purge", vault, "--vault-key", keys / "vault", "--patient", "17").stdout == "2 note(s) removed\n"
    )
    assert turn_back(cli, vault, keys / "vault", tmp_path).exit_code == 1
    assert tree(tmp_path / "back").keys() == {name for name in NOTES if name.startswith("18")}


# The key


def test_wrong_vault_key_is_refused_and_changes_nothing(cli, release, redact, notes, keys, vault, tmp_path):
    assert release(notes).exit_code == 0
    sealed = vault.read_bytes()
    back = turn_back(cli, vault, keys / "other", tmp_path)
    assert back.exit_code == 1
    assert "another key" in back.stderr
    assert not (tmp_path / "back").exists()
    options = ("--style", "tag", "--vault", vault, "--vault-key", keys / "other")
    again = redact(notes, *options, output=tmp_path / "more")
    assert again.exit_code == 1
    assert "another key" in again.stderr
    assert not (tmp_path / "more").exists()
    assert vault.read_bytes() == sealed


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("--vault", "{vault}"), "--vault-key is missing"),
        (("--vault-key", "{keys}/vault"), "--vault is missing"),
        (("--vault", "{keys}/v", "--vault-key", "{keys}/vault"), "is in the same folder"),
        (("--vault", "{out}/v", "--vault-key", "{keys}/vault"), "the folder of what is released"),
        (("--vault", "{out}/17/v", "--vault-key", "{keys}/vault"), "the folder of what is released"),
        (("--vault", "{vault}", "--vault-key", "{keys}/short"), "too short"),
        (("--vault", "{vault}", "--vault-key", "{keys}/none"), "spacy-deid key new FILE"),
        (("--vault", "{notes}/17/v", "--vault-key", "{keys}/vault"), "a folder of notes"),
        (("--vault", "{plain}/a.txt", "--vault-key", "{keys}/vault"), "not a vault file"),
    ],
)
def test_vault_without_a_separate_valid_key_is_refused(redact, notes, keys, vault, tmp_path, given, reason):
    (keys / "short").write_text("ab" * 31)
    (keys / "short").chmod(0o600)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.txt").write_text(NOTE)
    names = {"vault": vault, "keys": keys, "out": tmp_path / "out", "notes": notes, "plain": tmp_path / "plain"}
    result = redact(notes, "--style", "tag", *(option.format(**names) for option in given))
    assert result.exit_code == 1
    assert reason in result.stderr
    assert not (tmp_path / "out").exists()
    assert tree(notes) | NOTES == tree(notes)


def test_standard_input_has_no_vault(redact, keys, vault):
    result = redact("-", "--vault", vault, "--vault-key", keys / "vault", output=None, input=NOTE.encode())
    assert result.exit_code == 1
    assert "--vault" in result.stderr
    assert not vault.exists()


# A run that does not end well


def test_second_run_adds_no_duplicates(release, notes, keys, vault, tmp_path):
    assert release(notes).exit_code == 0
    assert release(notes, "--overwrite").exit_code == 0
    assert release(notes, output=tmp_path / "elsewhere").exit_code == 0
    assert Vault.open(vault, ProjectKey.from_file(keys / "vault")).check() == len(NOTES)


def test_notes_are_not_released_if_the_vault_cannot_be_written(release, notes, vault, tmp_path):
    assert release(notes / "17").exit_code == 0
    log = vault.with_name("hospital.vault.log")
    log.rename(log.with_name("kept"))
    log.mkdir()
    result = release(notes / "18", output=tmp_path / "more")
    assert result.exit_code == 1
    assert "log cannot be written" in result.stderr
    assert not tree(tmp_path / "more")


def test_killed_run_continues_with_the_same_vault(cli, release, keys, vault, pipeline_folder, tmp_path):
    (tmp_path / "in").mkdir()
    texts = {f"{i}.txt": f"{i}: {NOTE}".encode() for i in range(12)}
    for name, data in texts.items():
        (tmp_path / "in" / name).write_bytes(data)
    options = ["--style", "surrogate", "--key", keys / "project", "--vault", vault, "--vault-key", keys / "vault"]
    options += ["--pipeline", pipeline_folder, "--output", tmp_path / "out", "--batch-size", 4]
    command = ["redact", *map(str, [tmp_path / "in", *options])]
    code = f"""
import os, sys
from spacy_deid.cli import app
from spacy_deid.cli.redaction import RedactionRun
finish, done = RedactionRun._write_text, []
def killed(self, note, *rest):
    if len(done) == 5:
        os.kill(os.getpid(), 9)
    done.append(note)
    finish(self, note, *rest)
RedactionRun._write_text = killed
sys.argv[1:] = {command!r}
app()
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == -9
    assert len([name for name in tree(tmp_path / "out") if name.endswith(".txt")]) == 5
    opened = Vault.open(vault, ProjectKey.from_file(keys / "vault"))
    assert opened.check() == 8
    assert turn_back(cli, vault, keys / "vault", tmp_path).exit_code == 0
    assert len(tree(tmp_path / "back")) == 5
    result = release(tmp_path / "in", "--resume")
    assert result.exit_code == 0, result.stderr
    assert opened.check() == 12
    assert turn_back(cli, vault, keys / "vault", tmp_path, "--overwrite").exit_code == 0
    assert tree(tmp_path / "back") == texts
