"""Patients are built in processes of their own, and one that dies is an error."""

import os
from multiprocessing import active_children

import pytest
from ehr_tables import ROWS, cells, write_csv

from spacy_deid.background.ambiguity import Ambiguity
from spacy_deid.ehr import build_parts as module
from spacy_deid.ehr.builder import build_parts
from spacy_deid.ehr.patients import PartsPlan, Scratch, StoredRow, tags_of
from spacy_deid.errors import InputError


class Dying:
    """What ends the process that unpickles it."""

    def __reduce__(self):
        return os._exit, (3,)


@pytest.fixture
def plan(mapping, tmp_path):
    write_csv(tmp_path / "patients.csv")
    mapped = mapping()
    (tmp_path / "build").mkdir()

    return PartsPlan(mapped, {"es": Ambiguity(None)}, tmp_path / "build", tags_of(mapped.tables), update=True)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_FEW", 1)
    with Scratch(tmp_path) as scratch:
        for number, row in enumerate(ROWS):
            scratch.add(row[0], StoredRow(0, number, tuple(cells(row))))
        yield scratch


@pytest.mark.parametrize("processes", [1, 2])
def test_each_patient_is_in_one_part(plan, scratch, processes):
    results = list(build_parts(plan, scratch, processes))
    assert sum(result.report.patients for result in results) == len(ROWS)
    assert sorted(i for result in results for i in result.patient_ids) == [row[0] for row in ROWS]
    assert len({result.part.path for result in results}) == len(results)
    assert all(result.part.path.is_file() for result in results)
    assert "Zarza" not in repr(results)
    assert active_children() == []


def test_a_process_that_dies_is_an_error(plan, scratch):
    dying = plan._replace(ambiguity=Dying())
    with pytest.raises(InputError, match="old dictionaries stay"):
        list(build_parts(dying, scratch, 2))


def test_every_column_has_a_tag_of_each_condition(plan):
    tags = tags_of(plan.mapping.tables)
    assert len(tags) == 2 * len(plan.mapping.tables[0].columns) == len(set(tags))
