"""The normal form of patient ids, and that every room uses it."""

from decimal import Decimal

import numpy as np
import pytest

from spacy_deid.dictionaries.store import LocalStore, StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.patient_ids import loose_id, normal_id
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.vault.salts import Salts
from spacy_deid.vault.vault import Entry, Vault

SAME = ["123", " 123\t", "\ufeff123", "123\u00a0", "１２３", "1\u200b23", 123, 123.0, Decimal("123.00"), np.int64(123)]


@pytest.mark.parametrize("value", SAME, ids=ascii)
def test_one_patient_has_one_id(value):
    assert normal_id(value) == "123"


@pytest.mark.parametrize("value", ["00123", "a123", "A123", "1 23", "123.0", 12.5, -123], ids=ascii)
def test_ids_that_differ_in_more_stay_apart(value):
    assert normal_id(value) == str(value)
    assert normal_id(normal_id(value)) == normal_id(value)


@pytest.mark.parametrize(
    "value",
    [None, "", " \u00a0\ufeff", float("nan"), float("inf"), Decimal("NaN"), np.datetime64("NaT"), True],
    ids=str,
)
def test_no_id(value):
    assert normal_id(value) == ""


@pytest.mark.parametrize("other", ["00123", "123.0", "1 23"])
def test_ids_that_a_spreadsheet_may_have_made_from_one_are_alike(other):
    assert loose_id(other) == loose_id("123")
    assert loose_id("P-007a") == loose_id("p-7A")
    assert loose_id("1230") != loose_id("123")
    assert loose_id("000") == loose_id("0") != loose_id("")


def test_keys_and_salts_are_those_of_the_normal_form(tmp_path):
    key = ProjectKey(bytes(range(32)))
    assert key.patient("１２３ ").draw("name").below(10**9) == key.patient("123").draw("name").below(10**9)
    salts = Salts(tmp_path / "salts", key)
    assert salts.of(" 123") == salts.of("123")
    assert salts.purge("123\u00a0")


def test_dictionaries_find_a_patient_however_the_id_is_written(tmp_path):
    with StoreWriter(tmp_path / "local") as writer:
        writer.add_patient(" １２３", [LocalEntry("Aurelia Bustarviejo", "PATIENT", "patients.name")])
        writer.commit({})
    store = LocalStore.open(tmp_path / "local")
    assert list(store.patient_ids()) == ["123"]
    assert store.patient("123 ") is not None
    with StoreWriter(tmp_path / "local", update=True) as writer:
        writer.remove_patient("123\ufeff")
        writer.commit({})
    assert list(LocalStore.open(tmp_path / "local").patient_ids()) == []


def test_a_vault_gives_out_and_removes_what_older_versions_wrote(tmp_path):
    vault = Vault.create(tmp_path / "vault", ProjectKey(bytes(range(32))))
    vault.add([Entry.of("１２３", "a.txt", "x", "y", [])])
    assert len(list(vault.export("123"))) == 1
    assert vault.purge(" 123") == 1
