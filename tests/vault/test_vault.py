"""The vault: only the right key opens it, changes without the key are detected, and nothing is lost."""

import json
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.offsets import Edit
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.vault.encryption import check_apart
from spacy_deid.vault.store import EncryptedStore
from spacy_deid.vault.vault import Change, Entry, Vault, changes_from_edits

KEY = ProjectKey(bytes(range(32)))
OTHER = ProjectKey(bytes(range(1, 33)))
NOTE, RELEASED = "Ana Ruiz Canario, de Villarrubia", "Eva Gil Soto, de Almorox"
ANA = Entry.of(
    "4711",
    "note-1",
    NOTE,
    RELEASED,
    [Change(0, "PATIENT", "Ana Ruiz Canario", "Eva Gil Soto"), Change(17, "CITY", "Villarrubia", "Almorox")],
)
LUIS = Entry.of("4712", "note-2", "Luis Canario", "Juan Soto", [Change(0, "PATIENT", "Luis Canario", "Juan Soto")])


def entry(patient, note, original="a", released="b"):
    return Entry.of(patient, note, original, released, [Change(0, "CITY", original, released)])


CANARIES = ("Ana", "Ruiz", "Canario", "Villarrubia", "Luis", "4711", "4712")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "hospital.vault"


@pytest.fixture
def vault(path):
    made = Vault.create(path, KEY, user="eva")
    made.add([ANA, LUIS])
    return made


def logged(path):
    return [json.loads(line) for line in path.with_name(f"{path.name}.log").read_text().splitlines()]


def test_added_entries_are_exported(vault, path):
    opened = Vault.open(path, KEY)
    assert list(opened.export()) == [ANA, LUIS]
    assert list(opened.export("4712")) == [LUIS]
    assert opened.list() == {("4711", "PATIENT"): 1, ("4711", "CITY"): 1, ("4712", "PATIENT"): 1}


def test_an_entry_is_added_only_once(vault):
    assert vault.add([ANA, ANA, LUIS]) == 0
    assert len(list(vault.export())) == 2


def test_a_purge_removes_one_patient_or_all(vault, path):
    assert vault.purge("4711") == 1
    assert list(Vault.open(path, KEY).export()) == [LUIS]
    assert vault.purge("4711") == 0
    assert vault.purge() == 1
    assert list(vault.export()) == []


def test_no_content_is_visible_in_file_log_or_repr(vault, path):
    list(vault.export("4711"))
    vault.purge("4711")
    for data in (
        path.read_bytes(),
        path.with_name("hospital.vault.log").read_bytes(),
        repr(vault).encode(),
        repr(ANA).encode(),
    ):
        assert not [word for word in CANARIES if word.encode() in data]
        assert bytes(range(32)) not in data
        assert KEY.fingerprint.encode() not in data


def test_the_files_are_readable_by_their_owner_only(vault, path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.with_name("hospital.vault.log").stat().st_mode) == 0o600


def test_another_key_is_refused_and_nothing_is_lost(vault, path):
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=r"another key\. Nothing was changed"):
        Vault.open(path, OTHER)
    other = Vault(EncryptedStore(path, OTHER, "vault", "eve"))
    for use in (
        lambda: other.add([LUIS]),
        other.list,
        lambda: list(other.export()),
        other.purge,
        other.check,
        lambda: other.reverse([("note-1", 0, RELEASED)]),
    ):
        with pytest.raises(ConfigError, match="another key"):
            use()
    assert path.read_bytes() == before
    assert len(list(Vault.open(path, KEY).export())) == 2


def test_edits_become_changes_with_offsets_in_the_released_text():
    edits = [Edit(0, 16, "PATIENT", "Eva Gil Soto"), Edit(21, 32, "CITY", "Almorox")]
    assert changes_from_edits(NOTE, edits) == ANA.changes


def held(path):
    """The exported entries, or the message of the refusal."""
    try:
        return list(Vault.open(path, KEY).export())
    except ConfigError as error:
        return str(error)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True), st.integers(0, 7))
def test_a_changed_vault_is_refused_or_still_complete(vault, path, share, bit):
    sound = path.read_bytes()
    at = int(share * len(sound))
    refusals = ("damaged", "another key", "not a vault")
    for bad in (sound[:at] + bytes([sound[at] ^ (1 << bit)]) + sound[at + 1 :], sound[:at]):
        path.write_bytes(bad)
        found = held(path)  # the pages of a database have room that means nothing
        assert found == [ANA, LUIS] or any(reason in found for reason in refusals)
    path.write_bytes(sound)
    assert held(path) == [ANA, LUIS]


def test_a_truncated_vault_is_refused(vault, path):
    sound = path.read_bytes()
    for at in range(0, len(sound), len(sound) // 20):
        path.write_bytes(sound[:at])
        with pytest.raises(ConfigError, match=r"damaged|not a vault"):
            Vault.open(path, KEY).check()


def test_a_change_of_any_encrypted_byte_is_detected(vault, path):
    sound = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        sealed = [row[0] for row in connection.execute("SELECT sealed FROM notes UNION SELECT state FROM vault")]
    assert len(sealed) == 3
    for record in sealed:
        at = sound.index(record)
        for i in range(at, at + len(record), 5):
            path.write_bytes(sound[:i] + bytes([sound[i] ^ 1]) + sound[i + 1 :])
            with pytest.raises(ConfigError, match="damaged"):
                vault.check()


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM notes WHERE number = 1",
        "UPDATE notes SET sealed = (SELECT sealed FROM notes WHERE number = 2) WHERE number = 1",
        "INSERT INTO notes SELECT 3, x'00', released, sealed FROM notes WHERE number = 1",
        "UPDATE notes SET sealed = NULL WHERE number = 1",
        "UPDATE vault SET salt = NULL",
    ],
)
def test_a_removed_copied_or_moved_record_is_detected(vault, path, change):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    with pytest.raises(ConfigError, match="damaged"):
        list(vault.export())
    with pytest.raises(ConfigError, match="damaged"):
        vault.check()


def test_a_purged_record_cannot_be_restored(vault, path):
    with closing(sqlite3.connect(path)) as connection, connection:
        row = connection.execute("SELECT * FROM notes WHERE number = 2").fetchone()
        vault.purge("4712")
        connection.execute("INSERT INTO notes VALUES (?, ?, ?, ?)", row)
    with pytest.raises(ConfigError, match="damaged"):
        list(vault.export())


def test_every_use_is_logged_without_content(path):
    vault = Vault.create(path, KEY, user="eva")
    vault.add([ANA, LUIS])
    opened = Vault.open(path, KEY, user="mia")
    opened.list()
    list(opened.export("4711"))
    opened.reverse([("note-1", 0, RELEASED)])
    opened.check()
    opened.purge("4712")
    with pytest.raises(ConfigError):
        Vault.open(path, OTHER, user="eve")
    lines = logged(path)
    assert [(line["user"], line["action"], line["count"]) for line in lines] == [
        ("eva", "create", 0),
        ("eva", "add", 2),
        ("mia", "open", 2),
        ("mia", "list", 2),
        ("mia", "export", 1),
        ("mia", "reverse", 1),
        ("mia", "check", 2),
        ("mia", "purge", 1),
        ("eve", "open refused", 0),
    ]
    assert all(set(line) == {"time", "user", "action", "count"} for line in lines)
    assert all(line["time"].endswith("Z") for line in lines)


def test_no_action_succeeds_without_its_log_entry(vault, path):
    log = path.with_name("hospital.vault.log")
    log.unlink()
    log.mkdir()
    for use in (
        lambda: list(vault.export()),
        vault.list,
        lambda: vault.add([entry("1", "n")]),
        vault.purge,
        vault.check,
    ):
        with pytest.raises(ConfigError, match="log cannot be written"):
            use()
    log.rmdir()
    assert len(list(vault.export())) == 2


def test_a_failed_write_leaves_the_old_file(vault, path):
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))  # as if the disk were full
    try:
        with pytest.raises(ConfigError, match="disk"):
            vault.add(entry("4713", f"note-{n}") for n in range(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(list(vault.export())) == 2
    assert sorted(p.name for p in path.parent.iterdir()) == ["hospital.vault", "hospital.vault.log"]


def test_concurrent_writers_lose_no_entry(path):
    vault = Vault.create(path, KEY)

    def add(worker):
        for n in range(5):
            Vault.open(path, KEY).add([entry(f"{worker}", f"{n}")])

    threads = [threading.Thread(target=add, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(vault.export())) == 20


def test_a_vault_never_replaces_a_file(vault, path):
    with pytest.raises(ConfigError, match="exists already"):
        Vault.create(path, KEY)
    assert len(list(vault.export())) == 2


def test_a_missing_vault_is_refused_without_a_log(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        Vault.open(tmp_path / "none", KEY)
    assert list(tmp_path.iterdir()) == []


def test_a_vault_requires_the_package_cryptography(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(ConfigError, match=r"pip install 'spacy-deid\[surrogates\]'"):
        Vault.create(path, KEY)
    assert not path.exists()


def test_a_key_in_the_folder_of_its_vault_is_refused(tmp_path):
    (tmp_path / "keys").mkdir()
    check_apart(tmp_path / "a.vault", tmp_path / "keys" / "key")
    with pytest.raises(ConfigError, match="is in the same folder"):
        check_apart(tmp_path / "a.vault", tmp_path / "keys" / ".." / "key")


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9), st.text(max_size=9)), max_size=5))
def test_any_text_is_restored(vault, stretches):
    original, released, changes = "\ud83d", "\ud83d", []
    for before, value, surrogate in stretches:
        changes.append(Change(len(released) + len(before), "OTHER", value, surrogate))
        original, released = original + before + value, released + before + surrogate
    vault.add([Entry.of("9", "n", original, released, changes)])
    assert vault.reverse([("other name", 3, released)]) == [original]
    vault.purge("9")


def test_a_text_that_is_not_in_the_vault_is_not_restored(vault):
    found = vault.reverse([("note-1", 0, RELEASED), ("note-1", 0, RELEASED + " "), ("note-2", 0, "Juan Soto")])
    assert (found[0], found[2]) == (NOTE, "Luis Canario")
    assert "not found in the vault" in str(found[1])
    vault.purge("4711")
    assert isinstance(vault.reverse([("note-1", 0, RELEASED)])[0], InputError)


def test_notes_released_as_the_same_text_are_distinguished_by_name(vault):
    vault.add([entry("1", "a", "Lugo", "[CITY]"), entry("2", "b", "Soria", "[CITY]")])
    first, second, other = vault.reverse([("a", 0, "[CITY]"), ("b", 0, "[CITY]"), ("c", 0, "[CITY]")])
    assert (first, second) == ("Lugo", "Soria")
    assert "Use the name the note had" in str(other)


def test_entries_are_added_completely_or_not_at_all(vault):
    with vault.adding() as add:
        assert add([entry("5", "x")]) == 1
        assert add([entry("5", "y")]) == 1
    assert vault.list()["5", "CITY"] == 2

    def fail():
        with vault.adding() as add:
            add([entry("6", "z")])
            raise ValueError("a row that is none")

    with pytest.raises(ValueError, match="a row that is none"):
        fail()
    assert "6" not in {patient for patient, _ in vault.list()}
    assert vault.check() == 4


def test_a_killed_process_leaves_the_entries_added_before(vault, path):
    code = f"""
import os
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.vault.vault import Change, Entry, Vault
vault = Vault.open({str(path)!r}, ProjectKey(bytes(range(32))))
notes = [Entry.of("7", str(n), "a" * 1000, "b", [Change(0, "CITY", "a" * 1000, "b")]) for n in range(3000)]
vault.add(notes[:3])
with vault.adding() as add:
    add(notes)
    os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert path.with_name("hospital.vault-journal").exists()  # so much that it was not in memory alone
    assert Vault.open(path, KEY).check() == 5
    assert vault.add([entry("8", "n")]) == 1
    assert vault.reverse([("note-1", 0, RELEASED)]) == [NOTE]


def test_the_cost_of_adding_does_not_depend_on_the_size(path):
    vault = Vault.create(path, KEY)
    vault.add(entry("1", str(n)) for n in range(5000))
    before = path.read_bytes()
    vault.add([entry("1", "one more")])
    after = path.read_bytes()
    pages = [before[i : i + 4096] != after[i : i + 4096] for i in range(0, len(after), 4096)]
    assert len(pages) > 300
    assert sum(pages) < 12
