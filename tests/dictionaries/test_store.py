"""Dictionaries on disk: private, replaced in one step, updated, never in a pickle."""

import json
import os
import pickle
import stat
import subprocess
import sys

import pytest

from spacy_deid.dictionaries.store import KnownIdentities, LocalStore, StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.errors import ConfigError

CANARY = "zarzaquemada"
CLINIC = LocalEntry("Clínica Zarzaquemada", "HOSPITAL", "clinics.name")


def patient(term, label="PATIENT", rule="patients.surname", condition=""):
    return LocalEntry(term, label, rule, condition)


def write(folder, institution=(), patients=None, manifest=None, **options):
    with StoreWriter(folder, **options) as writer:
        writer.add_institution(institution)
        for patient_id, entries in (patients or {}).items():
            writer.add_patient(patient_id, entries)
        writer.commit(manifest or {})
    return LocalStore.open(folder)


def terms(store, patient_id):
    return sorted(entry.term for entry in store.patient(patient_id).entries)


def quoted(text, matches):
    return [(text[match.start : match.end], match.label, match.rule) for match in matches]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "local"


@pytest.fixture
def store(folder):
    return write(folder, [CLINIC], {"P1": [patient(CANARY)], "P2": [patient("quebrantado")]}, {"sources": {"a": "b"}})


def test_written_terms_are_found(store):
    text = "CLINICA ZARZAQUEMADA: Zarzaquemada, Quebrantado"
    assert quoted(text, store.institution.find(text)) == [("CLINICA ZARZAQUEMADA", "HOSPITAL", "clinics.name")]
    own = store.patient("P2")
    assert quoted(text, own.find(text)) == [("Quebrantado", "PATIENT", "patients.surname")]
    assert store.patient("P3") is None
    assert store.has_patients
    assert store.labels == {"HOSPITAL", "PATIENT"}
    assert sorted(store.patient_ids()) == ["P1", "P2"]
    assert store.counts == {"institution_terms": 1, "patients": 2, "patient_terms": 2}
    assert store.manifest == {"sources": {"a": "b"}}


def test_an_empty_store_has_no_matches(folder):
    store = write(folder)
    assert store.institution.find("Zarzaquemada") == []
    assert not store.has_patients
    assert list(store.patient_ids()) == []


def test_only_the_owner_can_read_anything(store, folder):
    paths = [folder, *folder.rglob("*")]
    assert len(paths) > 6
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in paths} == {0}


@pytest.mark.parametrize("name", ["", "manifest.json", "BUILD", "BUILD/patients", "BUILD/keys"])
def test_a_store_that_others_can_read_is_refused(store, folder, name):
    path = folder / name.replace("BUILD", store.build)
    path.chmod(path.stat().st_mode | stat.S_IRGRP)
    with pytest.raises(ConfigError, match=rf"'{path.name}'.*chmod -R go-rwx"):
        LocalStore.open(folder)


def test_a_writer_that_dies_leaves_the_old_dictionaries(store, folder):
    def die():
        yield patient("nuevo")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write(folder, die(), {"P9": [patient("nuevo")]})
    assert LocalStore.open(folder).build == store.build
    assert [path.name for path in folder.iterdir() if path.is_dir()] == [store.build]


def test_a_process_that_is_killed_leaves_the_old_dictionaries(store, folder):
    source = (
        "import os, sys; from spacy_deid.dictionaries.store import StoreWriter\n"
        "writer = StoreWriter(sys.argv[1]); writer.add_patient('P9', [])\n"
        "(writer.folder / 'manifest.json.part').touch()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", source, folder]).returncode == -9
    assert len(list(folder.glob("build-*"))) == 2
    assert LocalStore.open(folder).build == store.build
    fresh = write(folder, [], {"P9": [patient("nuevo")]})
    assert [path.name for path in folder.iterdir() if path.is_dir()] == [fresh.build]
    assert not (folder / "manifest.json.part").exists()


def test_open_dictionaries_stay_readable_after_a_new_build(store, folder):
    fresh = write(folder, [], {"P9": [patient("nuevo")]})
    assert fresh.build != store.build
    assert terms(store, "P2") == ["quebrantado"]
    assert store.institution.find("Clínica Zarzaquemada")
    assert LocalStore.open(folder).patient("P2") is None


def test_a_second_writer_is_refused(store, folder):
    with StoreWriter(folder) as writer:
        with pytest.raises(ConfigError, match="another process is writing"):
            StoreWriter(folder)
        writer.commit({})


def test_an_update_keeps_adds_and_replaces(store, folder):
    with StoreWriter(folder, update=True) as writer:
        writer.add_institution([LocalEntry("Consultorio Ribera", "HOSPITAL", "clinics.name")])
        writer.add_patient("P1", [patient("Recién"), patient(CANARY)])
        writer.remove_patient("P2")
        writer.add_patient("P2", [patient("olmedilla")])
        writer.add_patient("P3", [patient("tercero", "RELATIVE", "patients.mother")])
        writer.commit({})
    store = LocalStore.open(folder)
    assert terms(store, "P1") == ["recien", CANARY]
    assert terms(store, "P2") == ["olmedilla"]
    assert terms(store, "P3") == ["tercero"]
    assert store.counts == {"institution_terms": 2, "patients": 3, "patient_terms": 4}
    text = "Consultorio Ribera, Clínica Zarzaquemada"
    assert len(store.institution.find(text)) == 2


def test_updates_with_the_same_rows_do_not_grow(store, folder):
    for _ in range(3):
        store = write(folder, [CLINIC], {"P1": [patient(CANARY)]}, update=True)
    assert store.counts == {"institution_terms": 1, "patients": 2, "patient_terms": 2}


def test_an_update_of_nothing_is_a_build(folder):
    assert write(folder, [CLINIC], update=True).counts["institution_terms"] == 1


def test_a_patient_that_was_removed_is_gone(store, folder):
    with StoreWriter(folder, update=True) as writer:
        writer.remove_patient("P1")
        writer.commit({})
    assert LocalStore.open(folder).patient("P1") is None
    assert sorted(LocalStore.open(folder).patient_ids()) == ["P2"]


def test_a_term_with_several_rules_keeps_them_through_an_update(folder):
    both = [LocalEntry("ribera", "HOSPITAL", "clinics.name"), LocalEntry("ribera", "CITY", "clinics.city")]
    first = write(folder, both, {"P1": [patient("ribera"), patient("ribera", "RELATIVE")]})
    second = write(folder, [], {}, update=True)
    assert first.institution.find("Ribera") == second.institution.find("Ribera")
    assert {match.rule for match in second.institution.find("Ribera")} == {"clinics.name", "clinics.city"}
    assert {match.label for match in second.patient("P1").find("Ribera")} == {"PATIENT", "RELATIVE"}


@pytest.mark.parametrize("patient_id", ["", "Ü-1", "a\nb", "0001", "1" * 500])
def test_any_non_empty_text_is_a_patient_id(folder, patient_id):
    if not patient_id:
        with pytest.raises(ConfigError, match="has no id"):
            write(folder, [], {patient_id: [patient("x")]})
        return
    store = write(folder, [], {patient_id: [patient(CANARY)]})
    assert terms(store, patient_id) == [CANARY]
    assert list(store.patient_ids()) == [patient_id]
    assert store.patient("1") is None


def test_skipped_entries_are_counted_by_reason(folder):
    entries = [patient(" "), patient("x" * 300), patient("de la"), patient("j"), patient("j", condition="name")]
    entries += [patient("zar\ud800"), patient("zarza")]
    store = write(folder, entries[:4], {"P1": entries})
    assert terms(store, "P1") == ["j", "zarza"]
    assert {row["reason"]: row["count"] for row in store.skipped} == {
        "empty": 2,
        "longer than 255 characters": 2,
        "would match nearly everywhere": 4,
        "half of a surrogate pair": 1,
    }


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (LocalEntry(CANARY, "NAME", "a.b"), "unknown label"),
        (LocalEntry(CANARY, "PATIENT", ""), "table.column"),
        (LocalEntry(CANARY, "PATIENT", "patient:a.b"), "table.column"),
        (LocalEntry(CANARY, "PATIENT", "a.b", "never"), "the condition must be one of"),
    ],
)
def test_an_invalid_entry_is_refused_without_quoting_its_term(folder, entry, message):
    with pytest.raises(ConfigError, match=message) as error, StoreWriter(folder) as writer:
        writer.add_patient("P1", [entry])
    assert CANARY not in str(error.value)


@pytest.mark.parametrize("damage", ["manifest", "version", "short", "missing", "list"])
def test_damaged_dictionaries_are_refused(store, folder, damage):
    manifest = folder / "manifest.json"
    if damage == "manifest":
        manifest.write_text("{")
    elif damage == "list":
        manifest.write_text("[1]")
    elif damage == "version":
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"version": 0}))
    elif damage == "short":
        path = folder / store.build / "patients"
        path.write_bytes(path.read_bytes()[:-1])
    else:
        (folder / store.build / "keys").unlink()
    with pytest.raises(ConfigError, match="damaged or written by another version"):
        LocalStore.open(folder)


def test_a_folder_with_other_files_is_neither_opened_nor_replaced(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(ConfigError, match="no dictionaries found"):
        LocalStore.open(tmp_path)
    with pytest.raises(ConfigError, match="other files"):
        StoreWriter(tmp_path)
    with pytest.raises(ConfigError, match="dictionaries"):
        StoreWriter(tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "x"


def test_values_are_not_in_reprs_pickles_or_institution_files(store, folder):
    shown = [repr(store), repr(store.patient("P1")), repr(store.patients._own("P1")), repr(patient(CANARY))]
    assert not any(CANARY in text for text in shown)
    data = pickle.dumps(store)
    assert CANARY.encode() not in data
    assert terms(pickle.loads(data), "P1") == [CANARY]
    files = {path.name: path.read_bytes().lower() for path in folder.rglob("*") if path.is_file()}
    assert "keys" in files
    assert not any(CANARY.encode() in data for data in files.values())


def test_forked_processes_read_the_same_store(store):
    assert store.patient("P1") is not None
    read, write_end = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write_end, str(terms(store, "P2")).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100).decode() == "['quebrantado']"
    os.close(read)
    os.close(write_end)


def test_rows_of_other_processes_are_taken_over(folder):
    from spacy_deid.dictionaries.patients import PatientWriter, pack
    from spacy_deid.dictionaries.terms import Tag

    with StoreWriter(folder) as writer:
        writer.add_patient("P1", [patient(CANARY)])
        shared, tags = writer.share([Tag("RELATIVE", "patients.mother", "")])
        number = tags.index(Tag("RELATIVE", "patients.mother", "")) + 1
        for i in (2, 3):
            part = PatientWriter(shared / f"part-{i}")
            part.add(f"P{i}", [pack([("remedios", number)])])
            writer.take(part.part())
        writer.commit({})
    store = LocalStore.open(folder)
    assert [terms(store, f"P{i}") for i in (1, 2, 3)] == [[CANARY], ["remedios"], ["remedios"]]
    assert {path.name for path in (folder / store.build).iterdir()} >= {"patients", "keys"}
    assert not list((folder / store.build).glob("part-*"))


@pytest.fixture
def roster(tmp_path):
    with StoreWriter(tmp_path / "local") as writer:
        writer.add_institution(
            [
                LocalEntry("Hospital Zarzal", "HOSPITAL", "clinics.name"),
                LocalEntry("Fermín Galdeano Ochoa", "CLINICIAN", "staff.name"),
                LocalEntry("Galdeano", "CLINICIAN", "staff.surname"),
            ]
        )
        for patient in ("1", "2"):
            writer.add_patient(
                patient,
                [
                    LocalEntry(f"Aurelia Zarzaquemada{patient}".rstrip("1"), "PATIENT", "patients.name"),
                    LocalEntry("Zarzaquemada", "PATIENT", "patients.surname"),
                    LocalEntry(f"600 123 45{patient}", "PHONE", "patients.phone"),
                    LocalEntry("Soria Norte", "CITY", "patients.city"),
                ],
            )
        writer.commit({})
    return KnownIdentities(LocalStore.open(tmp_path / "local"))


@pytest.mark.parametrize(
    "value",
    ["Aurelia Zarzaquemada", "AURELIA  ZARZAQUEMADA", "Fermín Galdeano Ochoa", "600123451", "600-123-452"],
)
def test_full_names_and_numbers_of_people_are_known(roster, value):
    assert value in roster


@pytest.mark.parametrize(
    "value",
    ["Zarzaquemada", "Galdeano", "Aurelia", "Lucía Zarzaquemada", "600123453", "Soria Norte", "Hospital Zarzal"],
)
def test_single_words_and_places_are_not_identities(roster, value):
    assert value not in roster


@pytest.mark.parametrize("value", ["", " ", "12", "\ud800"])
def test_values_that_do_not_identify_a_person_are_unknown(roster, value):
    assert value not in roster


def test_repr_and_pickle_contain_no_names(roster):
    assert "Aurelia Zarzaquemada" in roster
    data = pickle.dumps(roster)
    assert b"arzaquemada" not in data
    assert "arzaquemada" not in repr(roster)
    assert "Aurelia Zarzaquemada" in pickle.loads(data)


def test_terms_are_added_to_a_base_without_a_copy(store, folder, tmp_path):
    clinic = LocalEntry("Clínica Nueva", "HOSPITAL", "clinics.name")
    added = {"P2": [patient("Villavieja")], "P9": [patient("Ana Orzaguirre")]}
    made = write(tmp_path / "more", [clinic], added, base=store)
    assert made.base is store
    assert terms(made, "P2") == ["quebrantado", "villavieja"]
    assert terms(made, "P1") == [CANARY]
    assert terms(made, "P9") == ["ana orzaguirre"]
    assert sorted(set(made.patient_ids())) == ["P1", "P2", "P9"]
    found = made.institution.find("Clinica Nueva, Clínica Zarzaquemada")
    assert [match.label for match in found] == ["HOSPITAL", "HOSPITAL"]
    assert "Ana Orzaguirre" in made.identities
    assert made.base.identities is store.identities
    files = [path for path in (tmp_path / "more").rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]
    assert terms(store, "P2") == ["quebrantado"]
    copy = pickle.loads(pickle.dumps(made))
    assert terms(copy, "P1") == [CANARY]


def test_a_store_whose_base_was_replaced_is_refused(store, folder, tmp_path):
    write(tmp_path / "more", [], {"P9": [patient("Orzaguirre")]}, base=store)
    write(folder, [CLINIC], {"P3": [patient("Otra")]})
    with pytest.raises(ConfigError, match="replaced meanwhile"):
        LocalStore.open(tmp_path / "more")


def test_names_of_the_base_are_known(folder, tmp_path):
    base = write(folder, [], {"P1": [patient("Ana Zubeldia")]})
    made = write(tmp_path / "more", [], {"P2": [patient("Eva Zorrilla")]}, base=base)
    assert "Ana Zubeldia" in made.identities
    assert "Eva Zorrilla" in made.identities
    assert "Eva Zubeldia" not in made.identities
    assert base.single_names == frozenset() == made.single_names


def test_a_build_that_is_open_is_not_opened_again(store, folder):
    assert LocalStore.open(folder) is LocalStore.open(folder)
    write(folder, [CLINIC], {"P3": [patient("Otra")]})
    assert LocalStore.open(folder).patient("P1") is None
