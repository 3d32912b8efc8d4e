"""Building dictionaries: their content, the report, updates, worker processes and failures."""

import json
import logging
import os
import stat
from datetime import date
from multiprocessing import active_children

import pytest
from conftest import slow
from ehr_tables import CANARIES, COLUMNS, MAPPING, ROWS, cells, write_csv
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.background.counts import Ambiguity, count_phrases
from spacy_deid.dictionaries.store import LocalStore
from spacy_deid.dictionaries.terms import CONDITIONS
from spacy_deid.ehr import builder as builder_module
from spacy_deid.ehr.builder import Settings, build_dictionary, build_parts
from spacy_deid.ehr.patients import BuildPlan, PartitionedRow, RowPartitions, patient_tags, read_partition
from spacy_deid.errors import ConfigError, InputError

HOSPITAL = (
    MAPPING.format(source='path = "patients.csv"')
    + """
[sources.clinics]
path = "clinics.csv"
[tables.clinics]
source = "clinics"
[tables.clinics.columns]
name = "clinic"
town = "city"
[sources.staff]
path = "staff.csv"
[tables.staff]
source = "staff"
[tables.staff.columns]
given = "clinician.given"
surname = "clinician.surname"
"""
)


@pytest.fixture
def hospital(build, tmp_path):
    """Build patients, clinics and staff."""

    def run(rows=None, **settings):
        write_csv(tmp_path / "patients.csv", rows)
        clinics = [
            ("Hospital Zarzal", "Olmedilla"),
            ("Consulta", "La"),
            ("UNKNOWN", ""),
            ("Hospital Zarzal", "Olmedilla"),
        ]
        write_csv(tmp_path / "clinics.csv", clinics, ("name", "town"))
        write_csv(tmp_path / "staff.csv", [("Edelmiro", "Santamarta"), ("Rosa", "Más")], ("given", "surname"))
        return build(HOSPITAL, **settings)

    return run


def found(store, text, patient_id=""):
    local = store.patient(patient_id) if patient_id else store.institution
    return [(text[m.start : m.end], m.label, m.rule) for m in local.find(text)]


def test_every_source_builds_the_same_dictionary(patients, tmp_path):
    report = build_dictionary(_mapped(patients, tmp_path), tmp_path / "local", tmp_path / "report.json")
    store = LocalStore.open(tmp_path / "local")
    assert (report.patients, store.counts["patients"]) == (4, 4)
    text = "Zarzaquemada, Olalla. Nacida el 12 de marzo de 1957. Tel. 612-345-678. NHC 1000234."
    assert found(store, text, "1000234") == [
        ("Zarzaquemada, Olalla", "PATIENT", "patients.surname"),
        ("12 de marzo de 1957", "DATE", "patients.born"),
        ("612-345-678", "PHONE", "patients.phone"),
        ("1000234", "MRN", "patients.mrn"),
    ]
    assert found(store, "Quebrantado, 677000111, Villaseca", "1000234") == []
    assert store.institution.find("Zarzaquemada") == []


def nothing_built(folder):
    return not (folder / "local" / "manifest.json").exists()


def _mapped(table, folder):
    from spacy_deid.ehr.mapping import EhrMapping

    return EhrMapping(folder / "mapping.toml", (table,), frozenset())


def test_institution_terms_apply_to_every_note_and_patient_terms_do_not(hospital):
    store, _ = hospital()
    text = "Dr. Edelmiro Santamarta, Hospital Zarzal, Olmedilla. Zarzaquemada."
    assert found(store, text) == [
        ("Edelmiro Santamarta", "CLINICIAN", "staff.surname"),
        ("Hospital Zarzal", "HOSPITAL", "clinics.name"),
        ("Olmedilla", "CITY", "clinics.town"),
    ]


def test_what_is_common_is_dropped_from_the_institution_and_the_report_says_which_and_why(hospital):
    store, report = hospital()
    assert found(store, "Acude a consulta la señora, una rosa más") == []
    assert report["dropped_phrases"]["clinics.name"]["Consulta"] > report["limit_per_million"]
    assert report["columns"]["clinics.town"]["skipped"] == {"empty": 1, "too general": 1}
    assert report["columns"]["clinics.name"]["skipped"] == {"placeholder": 1}
    assert report["columns"]["staff.given"]["dropped"] > 0


def test_a_staff_surname_that_is_a_common_word_is_found_after_a_title_only(hospital):
    store, _ = hospital()
    assert found(store, "Una vez más. Más tos. Visto por la Dra. Más hoy.") == [("Más", "CLINICIAN", "staff.surname")]


def test_an_ambiguous_name_of_a_patient_counts_in_the_context_of_a_name(build):
    store, report = build()
    assert found(store, "Una rosa. Dña. Rosa. Rosa Villaseca. Villaseca.", "1000236") == [
        ("Rosa", "PATIENT", "patients.given"),
        ("Rosa Villaseca", "PATIENT", "patients.surname"),
        ("Villaseca", "PATIENT", "patients.surname"),
    ]
    assert report["columns"]["patients.given"]["conditional"] >= 1


def test_a_surname_that_is_a_stop_word_matches_only_next_to_a_given_name(build):
    store, _ = build()
    assert found(store, "No hay más fiebre; más tos. Ndu Más. Sr. Más.", "1000237") == [
        ("Ndu Más", "PATIENT", "patients.surname"),
        ("Más", "PATIENT", "patients.surname"),
    ]


def test_custom_background_and_limit_are_used(hospital):
    background = count_phrases(["Hospital Zarzal y nada más"] * 50)
    store, report = hospital(background=background, limit=10.0)
    assert found(store, "Hospital Zarzal") == []
    assert report["dropped_phrases"]["clinics.name"]["Hospital Zarzal"] == 200_000.0
    assert report["background_words"] == {"es": 250}
    store, _ = hospital(background=background, limit=1e6)
    assert found(store, "Hospital Zarzal") != []


def test_placeholders_are_skipped_and_counted(build):
    rows = [
        ("1", "UNKNOWN", "Villaseca", None, "0000000"),
        ("2", "-", "TEST", date(1900, 1, 1), "n/a"),
        (None, "Ana", "Nadie", None, None),
        ("4", "", "", None, ""),
    ]
    store, report = build(rows=rows)
    assert list(store.patient_ids()) == ["1"]
    skipped = {rule: column.get("skipped", {}) for rule, column in report["columns"].items()}
    assert skipped["patients.given"] == {"empty": 1, "placeholder": 2}
    assert skipped["patients.surname"] == {"empty": 1, "placeholder": 1}
    assert skipped["patients.phone"] == {"empty": 1, "placeholder": 2}
    assert skipped["patients.mrn"] == {"too short": 3}
    assert report["tables"]["patients"] == {"rows": 4, "without_patient_id": 1, "repeated_patient_ids": 0}


TWICE = [ROWS[0], ("1000234", "Ola", "Olivenza", None, None), *ROWS[1:]]


@pytest.mark.parametrize(("policy", "new"), [("merge", True), ("first", False)])
def test_a_repeated_patient_id_is_counted(build, tmp_path, policy, new):
    write_csv(tmp_path / "patients.csv", TWICE)
    text = MAPPING.format(source='path = "patients.csv"').replace('"mrn"\n[', f'"mrn"\nduplicates = "{policy}"\n[')
    store, report = build(text)
    assert bool(found(store, "Olivenza Ola", "1000234")) == new
    assert found(store, "Zarzaquemada", "1000234")
    assert report["tables"]["patients"]["repeated_patient_ids"] == 1


def test_a_repeated_patient_id_can_be_an_error(build, tmp_path):
    build()
    before = LocalStore.open(tmp_path / "local").build
    write_csv(tmp_path / "patients.csv", TWICE)
    text = MAPPING.format(source='path = "patients.csv"').replace('"mrn"\n[', '"mrn"\nduplicates = "error"\n[')
    with pytest.raises(InputError, match=r"'patients'.*1 .*row 3|'patients'.*row 3.*1 ") as error:
        build(text)
    assert "1000234" not in str(error.value)
    assert LocalStore.open(tmp_path / "local").build == before


@pytest.mark.parametrize("number", [5, 60])
def test_a_column_of_another_kind_is_an_error(build, tmp_path, number):
    rows = [(f"10002{i}", "Ana", "Zarzaquemada", "born in spring", f"61234567{i % 10}") for i in range(number)]
    write_csv(tmp_path / "patients.csv", rows)
    with pytest.raises(InputError, match=r"'born'|born.*birth_date") as error:
        build(MAPPING.format(source='path = "patients.csv"'))
    assert "spring" not in str(error.value)
    assert nothing_built(tmp_path)


@pytest.mark.parametrize("right", [0, 1])
def test_a_table_is_read_to_its_end_unless_nothing_of_its_first_rows_is_right(build, tmp_path, right):
    wrong = [(f"9{i:05}", "Ana", "Zarzal", "long ago", None) for i in range(600 - right)]
    rows = [(f"8{i:05}", "Ana", "Zarzal", date(1957, 3, 12), None) for i in range(900)]
    write_csv(tmp_path / "patients.csv", rows[:right] + wrong + rows[right:])
    if not right:
        with pytest.raises(InputError, match="born"):
            build(MAPPING.format(source='path = "patients.csv"'))
        return
    _, report = build(MAPPING.format(source='path = "patients.csv"'))
    assert report["columns"]["patients.born"]["skipped"] == {"no birth_date": 599}


def test_a_build_without_usable_values_is_an_error(build, tmp_path):
    with pytest.raises(InputError, match="every value was skipped"):
        build(rows=[("-", "UNKNOWN", "TEST", None, "")])
    assert nothing_built(tmp_path)
    assert json.loads((tmp_path / "report.json").read_text())["columns"]["patients.given"]["skipped"]


@pytest.mark.parametrize("broken", ["1000238,Ana\n", "\xff"])
def test_a_build_that_fails_half_way_leaves_the_old_dictionary(build, tmp_path, broken):
    store, _ = build()
    with (tmp_path / "patients.csv").open("a", encoding="latin-1") as file:
        file.write(broken)
    with pytest.raises(InputError, match="row 6"):
        build(MAPPING.format(source='path = "patients.csv"'))
    after = LocalStore.open(tmp_path / "local")
    assert after.build == store.build
    assert found(after, "Zarzaquemada", "1000234")


def test_an_update_adds_patients_and_keeps_what_was_known(build, tmp_path):
    build()
    moved = ("1000234", "Olalla", "Olivenza", None, None)
    store, _ = build(rows=[moved, ("1000299", "Nuño", "Olmedilla", None, None)], update=True)
    assert found(store, "Zarzaquemada Olivenza", "1000234") != []
    assert {"Zarzaquemada", "Olivenza"} <= {text for text, *_ in found(store, "Zarzaquemada y Olivenza", "1000234")}
    assert found(store, "Quebrantado", "1000235")
    assert found(store, "Olmedilla", "1000299")
    again, _ = build(rows=[moved], update=True)
    assert again.counts == store.counts


def test_an_update_may_replace_the_patients_of_the_tables(build, tmp_path):
    build()
    store, _ = build(rows=[("1000234", "Olalla", "Olivenza", None, None)], update=True, replace=True)
    assert found(store, "Zarzaquemada", "1000234") == []
    assert found(store, "Olivenza", "1000234")
    assert found(store, "Quebrantado", "1000235")


def test_several_processes_build_what_one_does(hospital, tmp_path, monkeypatch):
    rows = [(f"2{i:05}", "Nuño", f"Zarza{'aeiou'[i % 5]}{'bcdlmn'[i % 6]}ez", None, None) for i in range(200)]
    one, report = hospital(rows)
    kept = {i: sorted(one.patients.tagged_terms(i)) for i in one.patient_ids()}
    monkeypatch.setattr(builder_module, "_FEW", 10)
    several, other = hospital(rows, processes=2)
    assert {i: sorted(several.patients.tagged_terms(i)) for i in several.patient_ids()} == kept
    assert several.counts == one.counts
    assert other["columns"] == report["columns"]


def test_a_table_of_patients_may_serve_the_institution_too(build, tmp_path):
    write_csv(tmp_path / "patients.csv")
    text = MAPPING.format(source='path = "patients.csv"').replace('"mrn"\n[', '"mrn"\ninstitution = true\n[')
    store, _ = build(text)
    assert found(store, "Zarzaquemada, Olalla, Más, 1000234") == [("Zarzaquemada", "PERSON", "patients.surname")]
    assert found(store, "Zarzaquemada", "1000234") == [("Zarzaquemada", "PATIENT", "patients.surname")]


def test_cells_with_several_values_and_relatives(build, tmp_path):
    columns = ("mrn", "alias", "mother", "gp")
    write_csv(
        tmp_path / "patients.csv", [("1000234", "Lali; Olita", "Remedios Olmedilla", "Dra. Ndu Zarzal")], columns
    )
    text = MAPPING.format(source='path = "patients.csv"').partition("[tables.patients.columns]")[0]
    text += '[tables.patients.columns]\nalias = {kind = "nickname", separator = ";"}\n'
    text += 'mother = "relative"\ngp = "clinician"'
    store, _ = build(text)
    assert found(store, "Olita y su madre Olmedilla, Remedios. Firmado: Zarzal", "1000234") == [
        ("Olita", "PATIENT", "patients.alias"),
        ("Olmedilla, Remedios", "RELATIVE", "patients.mother"),
        ("Zarzal", "CLINICIAN", "patients.gp"),
    ]


def test_a_patient_in_several_tables_is_one(build, tmp_path):
    write_csv(tmp_path / "patients.csv")
    write_csv(
        tmp_path / "addresses.csv", [("1000234", "C/ Ancha, 14"), ("1000234", "Plaza Zarzal 3")], ("nhc", "home")
    )
    text = MAPPING.format(source='path = "patients.csv"') + (
        '[sources.addresses]\npath = "addresses.csv"\n[tables.addresses]\nsource = "addresses"\npatient_id = "nhc"\n'
        '[tables.addresses.columns]\nhome = "street"\n'
    )
    store, report = build(text)
    assert store.counts["patients"] == 4
    assert found(store, "calle Ancha 14; Plaza Zarzal", "1000234") == [
        ("calle Ancha 14", "STREET", "addresses.home"),
        ("Plaza Zarzal", "STREET", "addresses.home"),
    ]
    assert report["tables"]["addresses"]["repeated_patient_ids"] == 1


def test_progress_is_reported_in_steps(build, monkeypatch):
    from spacy_deid.ehr import builder

    monkeypatch.setattr(builder, "_STEP", 2)
    told = []
    build(progress=lambda what, count: told.append((what, count)))
    assert told[0] == ("table patients, rows", 4)
    assert told[-1] == ("patients", 4)
    assert len(told) < 5


def test_no_value_of_the_record_is_in_the_report_the_manifest_or_a_log(hospital, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    store, report = hospital()
    seen = json.dumps(report, ensure_ascii=False) + json.dumps(store.manifest, ensure_ascii=False)
    seen += (tmp_path / "local" / "manifest.json").read_text() + caplog.text + "".join(capfd.readouterr())
    seen += repr(store) + repr(report.keys())
    assert "patients.surname" in seen
    assert not [value for value in (*CANARIES, "Edelmiro", "Santamarta") if value in seen]
    assert stat.S_IMODE((tmp_path / "report.json").stat().st_mode) == 0o600
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"local", "mapping.toml", "patients.csv", "clinics.csv", "staff.csv", "report.json"}


def test_columns_are_named_as_rules_in_the_manifest(hospital):
    store, _ = hospital()
    assert store.manifest["sources"] == {"patients": "patients.csv", "clinics": "clinics.csv", "staff": "staff.csv"}
    assert set(store.manifest["columns"]) == {f"patients.{name}" for name in COLUMNS} | {
        *("clinics.name", "clinics.town", "staff.given", "staff.surname")
    }


def test_a_folder_with_other_files_is_not_written_to(mapping, tmp_path):
    write_csv(tmp_path / "patients.csv")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "x.txt").write_text("x")
    with pytest.raises(ConfigError, match="other files"):
        build_dictionary(mapping(), tmp_path / "thesis", tmp_path / "report.json", Settings())


class Dying:
    """What ends the process that unpickles it."""

    def __reduce__(self):
        return os._exit, (3,)


@pytest.fixture
def plan(mapping, tmp_path):
    write_csv(tmp_path / "patients.csv")
    mapped = mapping()
    (tmp_path / "build").mkdir()

    return BuildPlan(mapped, {"es": Ambiguity(None)}, tmp_path / "build", patient_tags(mapped.tables), update=True)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    monkeypatch.setattr(builder_module, "_FEW", 1)
    with RowPartitions(tmp_path) as scratch:
        for number, row in enumerate(ROWS):
            scratch.add(row[0], PartitionedRow(0, number, tuple(cells(row))))
        yield scratch


@pytest.mark.parametrize("processes", [1, slow(2)])
def test_each_patient_is_in_one_part(plan, scratch, processes):
    before = active_children()  # those of other tests in this process
    results = list(build_parts(plan, scratch, processes))
    assert sum(result.report.patients for result in results) == len(ROWS)
    assert sorted(i for result in results for i in result.patient_ids) == [row[0] for row in ROWS]
    assert len({result.part.path for result in results}) == len(results)
    assert all(result.part.path.is_file() for result in results)
    assert "Zarza" not in repr(results)
    assert [child for child in active_children() if child not in before] == []


def test_a_process_that_dies_is_an_error(plan, scratch):
    dying = plan._replace(ambiguity=Dying())
    with pytest.raises(InputError, match="existing dictionaries are unchanged"):
        list(build_parts(dying, scratch, 2))


def test_every_column_has_a_tag_of_each_condition(plan):
    tags = patient_tags(plan.mapping.tables)
    assert len(tags) == len(CONDITIONS) * len(plan.mapping.tables[0].columns) == len(set(tags))


STORED_ROWS = st.lists(st.tuples(st.sampled_from(["1", "2", "Ü", "0001", "x" * 50]), st.text(max_size=5)), max_size=40)


@given(STORED_ROWS)
def test_rows_are_grouped_by_patient_in_order(tmp_path_factory, rows):
    folder = tmp_path_factory.getbasetemp()
    with RowPartitions(folder) as scratch:
        for number, (patient_id, value) in enumerate(rows):
            scratch.add(patient_id, PartitionedRow(0, number, (value,)))
        parts = [read_partition(data) for data in scratch.parts()]
        assert scratch.rows == len(rows)
    found = {patient_id: stored for part in parts for patient_id, stored in part.items()}
    assert sum(map(len, parts)) == len(found) == len({patient_id for patient_id, _ in rows})
    for patient_id, stored in found.items():
        assert [row.row for row in stored] == [i for i, (other, _) in enumerate(rows) if other == patient_id]
        assert all(row.values == (rows[row.row][1],) for row in stored)


def test_many_rows_of_one_patient_stay_together(tmp_path):
    with RowPartitions(tmp_path) as scratch:
        for number in range(1000):
            scratch.add("1", PartitionedRow(1, number, ("Zarzaquemada",)))
        assert list(tmp_path.iterdir()) == []
        (found,) = [part for data in scratch.parts() if (part := read_partition(data))]
    assert [row.row for row in found["1"]] == list(range(1000))
    assert "Zarza" not in repr(found["1"][:2])
