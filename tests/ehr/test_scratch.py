"""Rows are brought together by patient, and leave nothing on disk."""

from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.ehr.patients import Scratch, StoredRow, read_part

ROWS = st.lists(st.tuples(st.sampled_from(["1", "2", "Ü", "0001", "x" * 50]), st.text(max_size=5)), max_size=40)


@given(ROWS)
def test_rows_come_back_by_patient_in_their_order(tmp_path_factory, rows):
    folder = tmp_path_factory.getbasetemp()
    with Scratch(folder) as scratch:
        for number, (patient_id, value) in enumerate(rows):
            scratch.add(patient_id, StoredRow(0, number, (value,)))
        parts = [read_part(data) for data in scratch.parts()]
        assert scratch.rows == len(rows)
    found = {patient_id: stored for part in parts for patient_id, stored in part.items()}
    assert sum(map(len, parts)) == len(found) == len({patient_id for patient_id, _ in rows})
    for patient_id, stored in found.items():
        assert [row.row for row in stored] == [i for i, (other, _) in enumerate(rows) if other == patient_id]
        assert all(row.values == (rows[row.row][1],) for row in stored)


def test_many_rows_of_one_patient_stay_together(tmp_path):
    with Scratch(tmp_path) as scratch:
        for number in range(1000):
            scratch.add("1", StoredRow(1, number, ("Zarzaquemada",)))
        assert list(tmp_path.iterdir()) == []
        (found,) = [part for data in scratch.parts() if (part := read_part(data))]
    assert [row.row for row in found["1"]] == list(range(1000))
    assert "Zarza" not in repr(found["1"][:2])
