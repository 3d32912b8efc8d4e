"""The salts of patients: one for each patient, readable with the key only, gone after a purge."""

import json
import sqlite3
import threading
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.vault.encryption import Cipher, DecryptionError
from spacy_deid.vault.salts import Salts
from spacy_deid.vault.vault import Vault

KEY = ProjectKey(bytes(range(32)))
OTHER = ProjectKey(bytes(range(1, 33)))
# A file of the first format with the salts of patients 4711 and 4712, encrypted with KEY.
VERSION_1 = bytes.fromhex(
    "73706163795f646569642073616c747320310ae92b0b431a5430a89d685052a00933b989c9423e6fe1ded39cee921dd7b3a2"
    "4466e56b71c12fc49ff79c5b874735cb1daaf035c7bb764929139499a298dc8c19aa7c6d69a8f6402c0a4a3bc4745ce29c2e"
    "f590b05c9230808c78a4b7677c3517343bdca3abf8b2efb2401eee4501fe312e1899c5a7c2386a367654d94e6be11418bce8"
    "200866d345532cb09a5e6cf4e017c36f6acc1007c598472d5195737baddeb63a072b0b5192c74613e9072592c15383314f1f"
    "eb168857dd439f68b262aa2c798e5e6439f4b44ead92708af757166673d79fdd1cabb99f41a92c832f016c936479d9e212ce"
    "ce52aee22bd1bcbe25c5c51062692079c937649608ad86ae1747172dd1ac8384a8b8544f94a345454e83fa7d45789c45de13"
    "c5899f75bea70f20f949a1bdee1b263558eed8f05e3b6c8519becb755053078e49151101be996ffa"
)
SALT_OF_4711 = "484aa4a43a8dc7b5cac4137b3bdd00112f1f39850c57a6a3ecfbeb965c3021f7"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "hospital.salts"


def logged(path):
    return [json.loads(line) for line in path.with_name(f"{path.name}.log").read_text().splitlines()]


def test_a_cipher_encrypts_the_same_bytes_differently_each_time():
    cipher = Cipher(bytes(32))
    first, second = cipher.encrypt(b"a", b"here"), cipher.encrypt(b"a", b"here")
    assert len(first) == len(second) == 1 + 12 + 16
    assert first != second
    assert cipher.decrypt(first, b"here") == cipher.decrypt(second, b"here") == b"a"


@pytest.mark.parametrize("data", [b"", b"short", bytes(40)])
def test_a_cipher_refuses_what_it_did_not_encrypt(data):
    with pytest.raises(DecryptionError):
        Cipher(bytes(32)).decrypt(data, b"here")


def test_a_ciphertext_decrypts_only_in_its_place_and_with_its_key():
    data = Cipher(bytes(32)).encrypt(b"a", b"here")
    with pytest.raises(DecryptionError):
        Cipher(bytes(32)).decrypt(data, b"there")
    with pytest.raises(DecryptionError):
        Cipher(bytes(31) + b"\1").decrypt(data, b"here")


def test_a_salt_is_created_once_and_kept(path):
    salt = Salts(path, KEY).of("4711")
    assert len(salt) == 32
    again = Salts(path, KEY)
    assert again.of("4711") == salt != again.of("4712")
    assert len(again) == 2


def test_a_purged_salt_breaks_the_link_to_the_surrogates(path):
    salts = Salts(path, KEY)
    before = KEY.patient("4711", salts.of("4711")).draw("name").below(10**9)
    other = salts.of("4712")
    assert KEY.patient("4711", salts.of("4711")).draw("name").below(10**9) == before
    assert salts.purge("4711")
    assert not salts.purge("4711")
    assert KEY.patient("4711", salts.of("4711")).draw("name").below(10**9) != before
    assert Salts(path, KEY).of("4712") == other


def test_a_purge_without_a_file_creates_none(path):
    assert not Salts(path, KEY).purge("4711")
    assert not path.exists()


def test_many_salts_are_created_in_one_transaction(path):
    salts = Salts(path, KEY)
    assert salts.add(["4711", "4712", "4711"]) == 2
    assert salts.add(["4711", "4713"]) == 1
    assert [line["count"] for line in logged(path)] == [2, 1]
    assert len({salts.of(n) for n in ("4711", "4712", "4713")}) == 3


def test_two_processes_give_a_patient_the_same_salt(path):
    first, second = Salts(path, KEY), Salts(path, KEY)
    assert first.of("4711") == second.of("4711")


def test_concurrent_writers_lose_no_salt(path):
    threads = [threading.Thread(target=lambda n=n: Salts(path, KEY).add([f"{n}", "both"])) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Salts(path, KEY)) == 7


def test_a_file_of_salts_opens_with_its_key_only_and_not_as_a_vault(path):
    Salts(path, KEY).of("4711")
    with pytest.raises(ConfigError, match="another key"):
        Salts(path, OTHER)
    with pytest.raises(ConfigError, match="not a vault file"):
        Vault.open(path, KEY)
    assert b"4711" not in path.read_bytes()
    assert "4711" not in repr(Salts(path, KEY))


def test_a_vault_does_not_open_as_salts(path):
    Vault.create(path, KEY)
    with pytest.raises(ConfigError, match="not a salts file"):
        Salts(path, KEY)


@pytest.mark.parametrize("change", ["DELETE FROM notes", "UPDATE notes SET sealed = x'00'"])
def test_salts_that_were_changed_without_the_key_are_refused(path, change):
    Salts(path, KEY).of("4711")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    with pytest.raises(ConfigError, match="damaged"):
        Salts(path, KEY)


def test_a_file_of_the_first_format_is_upgraded_with_its_salts(path):
    path.write_bytes(VERSION_1)
    salts = Salts(path, KEY)
    assert len(salts) == 2
    assert salts.of("4711").hex() == SALT_OF_4711
    assert path.read_bytes().startswith(b"SQLite format 3")
    assert Salts(path, KEY).of("4711").hex() == SALT_OF_4711
    assert [line["action"] for line in logged(path)] == ["upgrade", "open", "open"]


def test_a_file_of_the_first_format_stays_if_the_key_is_another_one(path):
    path.write_bytes(VERSION_1)
    with pytest.raises(ConfigError, match="another key"):
        Salts(path, OTHER)
    assert path.read_bytes() == VERSION_1
    assert [line["action"] for line in logged(path)] == ["open refused"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, len(VERSION_1) - 1), bit=st.integers(0, 7))
def test_a_changed_file_of_the_first_format_is_refused(path, at, bit):
    changed = VERSION_1[:at] + bytes([VERSION_1[at] ^ (1 << bit)]) + VERSION_1[at + 1 :]
    for bad in (changed, VERSION_1[:at]):
        path.write_bytes(bad)
        with pytest.raises(ConfigError, match=r"damaged|another key|not a salts"):
            Salts(path, KEY)
        assert path.read_bytes() == bad
