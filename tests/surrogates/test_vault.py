"""Sealed files, the vault, and salts: only the right key opens them, and nothing is ever lost or told."""

import json
import stat
import sys
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.salts import Salts
from spacy_deid.surrogates.sealed import SealedFile, check_apart
from spacy_deid.surrogates.vault import Entry, Vault

KEY = ProjectKey(bytes(range(32)))
OTHER = ProjectKey(bytes(range(1, 33)))
ANA = Entry("4711", "note-1", "PATIENT", "Ana Ruiz Canario", "Eva Gil Soto")
TOWN = Entry("4711", "note-1", "CITY", "Villarrubia", "Almorox")
LUIS = Entry("4712", "note-2", "PATIENT", "Luis Canario", "Juan Soto")
CANARIES = ("Ana", "Ruiz", "Canario", "Villarrubia", "Luis", "4711", "4712")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "hospital.vault"


@pytest.fixture
def vault(path):
    made = Vault.create(path, KEY, user="eva")
    made.add([ANA, TOWN, LUIS])
    return made


def logged(path):
    return [json.loads(line) for line in path.with_name(f"{path.name}.log").read_text().splitlines()]


def test_what_was_added_comes_out_again(vault, path):
    opened = Vault.open(path, KEY)
    assert list(opened.export()) == [ANA, TOWN, LUIS]
    assert list(opened.export("4712")) == [LUIS]
    assert opened.list() == {("4711", "PATIENT"): 1, ("4711", "CITY"): 1, ("4712", "PATIENT"): 1}


def test_an_entry_that_is_there_stays_one(vault):
    assert vault.add([ANA, ANA, LUIS]) == 0
    assert len(vault.export()) == 3


def test_a_purge_removes_one_patient_or_all(vault, path):
    assert vault.purge("4711") == 2
    assert list(Vault.open(path, KEY).export()) == [LUIS]
    assert vault.purge("4711") == 0
    assert vault.purge() == 1
    assert list(vault.export()) == []


def test_neither_file_nor_log_nor_repr_says_anything(vault, path):
    vault.export("4711")
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


def test_nobody_else_may_read_the_files(vault, path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.with_name("hospital.vault.log").stat().st_mode) == 0o600


def test_two_writings_of_one_content_differ(vault, path):
    before = path.read_bytes()
    SealedFile(path, KEY, "vault").write(SealedFile(path, KEY, "vault").read("test"))
    assert path.read_bytes()[40:] != before[40:]
    assert len(path.read_bytes()) == len(before)


def test_another_key_is_refused_and_nothing_is_lost(vault, path):
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=r"another key\. Nothing was changed"):
        Vault.open(path, OTHER)
    other = Vault(SealedFile(path, OTHER, "vault", "eve"))
    for use in (lambda: other.add([LUIS]), other.list, other.export, other.purge):
        with pytest.raises(ConfigError, match="another key"):
            use()
    assert path.read_bytes() == before
    assert len(Vault.open(path, KEY).export()) == 3


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_file_that_was_changed_is_refused(vault, path, data):
    sound = path.read_bytes()
    at = data.draw(st.integers(0, len(sound) - 1))
    path.write_bytes(sound[:at] + bytes([sound[at] ^ (1 << data.draw(st.integers(0, 7)))]) + sound[at + 1 :])
    with pytest.raises(ConfigError, match=r"damaged|another key|not a vault"):
        Vault.open(path, KEY)
    path.write_bytes(sound[:at])
    with pytest.raises(ConfigError, match=r"damaged|another key|not a vault"):
        Vault.open(path, KEY)
    path.write_bytes(sound)
    assert len(Vault.open(path, KEY).export()) == 3


def test_every_use_is_logged_without_content(path):
    vault = Vault.create(path, KEY, user="eva")
    vault.add([ANA, TOWN, LUIS])
    opened = Vault.open(path, KEY, user="mia")
    opened.list()
    opened.export("4711")
    opened.purge("4712")
    with pytest.raises(ConfigError):
        Vault.open(path, OTHER, user="eve")
    lines = logged(path)
    assert [(line["user"], line["action"], line["count"]) for line in lines] == [
        ("eva", "create", 0),
        ("eva", "add", 3),
        ("mia", "open", 3),
        ("mia", "list", 3),
        ("mia", "export", 2),
        ("mia", "purge", 1),
        ("eve", "open refused", 0),
    ]
    assert all(set(line) == {"time", "user", "action", "count"} for line in lines)
    assert all(line["time"].endswith("Z") for line in lines)


def test_what_cannot_be_logged_is_not_done(vault, path):
    log = path.with_name("hospital.vault.log")
    log.unlink()
    log.mkdir()
    for use in (vault.export, vault.list, lambda: vault.add([Entry("1", "n", "CITY", "a", "b")]), vault.purge):
        with pytest.raises(ConfigError, match="log cannot be written"):
            use()
    log.rmdir()
    assert len(vault.export()) == 3


def test_a_writing_that_fails_leaves_the_old_file(vault, path):
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))  # as if the disk were full
    try:
        with pytest.raises(ConfigError, match="too large"):
            vault.add(Entry("4713", f"note-{n}", "CITY", "a", "b") for n in range(100))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(vault.export()) == 3
    assert sorted(p.name for p in path.parent.iterdir()) == ["hospital.vault", "hospital.vault.log"]


def test_adding_from_many_sides_loses_nothing(path):
    vault = Vault.create(path, KEY)

    def add(worker):
        for n in range(5):
            Vault.open(path, KEY).add([Entry(f"{worker}", f"{n}", "CITY", "a", "b")])

    threads = [threading.Thread(target=add, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(vault.export()) == 20


def test_a_vault_is_never_made_over_a_file(vault, path):
    with pytest.raises(ConfigError, match="there already"):
        Vault.create(path, KEY)
    assert len(vault.export()) == 3


def test_a_vault_that_is_not_there_is_refused_and_leaves_no_log(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        Vault.open(tmp_path / "none", KEY)
    assert list(tmp_path.iterdir()) == []


def test_a_vault_without_its_package_is_refused(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(ConfigError, match=r"pip install 'spacy-deid\[surrogates\]'"):
        Vault.create(path, KEY)
    assert not path.exists()


def test_a_key_beside_its_vault_is_refused(tmp_path):
    (tmp_path / "keys").mkdir()
    check_apart(tmp_path / "a.vault", tmp_path / "keys" / "key")
    with pytest.raises(ConfigError, match="lies in the folder"):
        check_apart(tmp_path / "a.vault", tmp_path / "keys" / ".." / "key")


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_comes_back_as_it_was(vault, original, surrogate):
    entry = Entry("9", "n", "OTHER", original + "\ud83d", surrogate)
    vault.add([entry])
    assert vault.export()[-1] == entry
    vault.purge("9")


def test_a_salt_is_made_once_and_kept(tmp_path):
    path = tmp_path / "hospital.salts"
    salt = Salts(path, KEY).of("4711")
    assert len(salt) == 32
    again = Salts(path, KEY)
    assert again.of("4711") == salt != again.of("4712")
    assert len(again) == 2


def test_a_destroyed_salt_erases_the_link(tmp_path):
    salts = Salts(tmp_path / "hospital.salts", KEY)
    before = KEY.patient("4711", salts.of("4711")).draw("name").below(10**9)
    other = salts.of("4712")
    assert KEY.patient("4711", salts.of("4711")).draw("name").below(10**9) == before
    assert salts.purge("4711")
    assert not salts.purge("4711")
    assert KEY.patient("4711", salts.of("4711")).draw("name").below(10**9) != before
    assert salts.of("4712") == other


def test_many_salts_are_made_in_one_writing(tmp_path):
    path = tmp_path / "hospital.salts"
    salts = Salts(path, KEY)
    assert salts.add(["4711", "4712", "4711"]) == 2
    assert salts.add(["4711", "4713"]) == 1
    assert [line["count"] for line in logged(path)] == [2, 1]
    assert len({salts.of(n) for n in ("4711", "4712", "4713")}) == 3


def test_two_processes_give_a_patient_one_salt(tmp_path):
    path = tmp_path / "hospital.salts"
    first, second = Salts(path, KEY), Salts(path, KEY)
    assert first.of("4711") == second.of("4711")


def test_salts_do_not_open_with_another_key_nor_as_a_vault(tmp_path):
    path = tmp_path / "hospital.salts"
    Salts(path, KEY).of("4711")
    with pytest.raises(ConfigError, match="another key"):
        Salts(path, OTHER)
    with pytest.raises(ConfigError, match="not a vault file"):
        Vault.open(path, KEY)
    assert not [word for word in CANARIES if word.encode() in path.read_bytes()]
