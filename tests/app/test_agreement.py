"""Two reviewers of a file: their agreement, the adjudication of their differences, and gold annotations."""

import io
import math
import re
import zipfile

import pytest

from spacy_deid.app.agreement import count_cells, find_kappa, join_places
from spacy_deid.evaluation import Entity, read_folder

from .conftest import CANARY, NOTE

TEXT = "Ana Ruiz vive en Lugo."


def span(start, end, label, **more):
    return {"start": start, "end": end, "label": label, "action": "replace", **more}


def test_kappa_is_that_of_a_published_example():
    # Cohen's kappa of the table of Fleiss, Levin and Paik (2003), chapter 18
    cells = {("a", "a"): 75, ("a", "b"): 1, ("a", "c"): 4, ("b", "a"): 5, ("b", "b"): 4, ("b", "c"): 1}
    cells |= {("c", "a"): 0, ("c", "b"): 0, ("c", "c"): 10}
    assert find_kappa(cells) == pytest.approx(0.676, abs=0.001)


@pytest.mark.parametrize("cells", [{}, {("", ""): 9}])
def test_kappa_is_undefined_without_variation(cells):
    assert math.isnan(find_kappa(cells))


def test_cells_count_letters_and_digits_by_both_labels():
    first = [span(0, 8, "PATIENT"), span(17, 21, "CITY", reviewed="released")]
    second = [span(0, 8, "CLINICIAN"), span(17, 21, "CITY")]
    assert count_cells(TEXT, first, second) == {("PATIENT", "CLINICIAN"): 7, ("", ""): 6, ("", "CITY"): 4}


def test_overlapping_entities_are_joined():
    entities = [Entity(0, 4, "A"), Entity(2, 8, "B"), Entity(8, 9, "A")]
    assert join_places(entities) == [(0, 8), (8, 9)]


def change(service, file, action, **more):
    answer = service.client.post(f"/files/{file}/review", json={"action": action, **more})
    assert answer.status_code == 200, answer.text


@pytest.fixture(scope="module")
def read_twice(service):
    """A file that two reviewers have finished; the second released the first span."""
    job = service.wait(service.add((f"{CANARY}.txt", NOTE.encode())))["id"]
    file = service.client.get(f"/v1/jobs/{job}").json()["files"][0]["id"]
    first = service.client.get(f"/v1/files/{file}/findings").json()["spans"][0]
    place = {"start": first["start"], "end": first["end"]}
    assert "kappa" not in service.client.get(f"/jobs/{job}/agreement").text.partition("<thead>")[0]
    change(service, file, "finish", sure=True)
    change(service, file, "release", reviewer=2, **place)
    change(service, file, "finish", sure=True, reviewer=2)
    return job, file, place


def test_differences_of_two_readings_are_adjudicated(service, read_twice):
    job, file, place = read_twice
    page = service.client.get(f"/jobs/{job}/agreement").text
    kappa = float(re.search(r'id="kappa">([\d.]+)<', page)[1])
    assert 0 < kappa < 1
    assert "1 of 1 open" in page
    decision = {**place, "take": 2}
    assert CANARY in service.client.get(f"/files/{file}/differences").text
    wrong = service.client.post(f"/files/{file}/differences", data={**decision, "end": 999})
    assert wrong.status_code == 400
    assert service.client.post(f"/files/{file}/differences", data=decision).status_code == 303
    assert "0 of 1 open" in service.client.get(f"/jobs/{job}/agreement").text
    assert service.client.get(f"/v1/files/{file}/download").status_code == 400  # not applied yet
    assert service.client.post(f"/v1/files/{file}/apply").status_code == 200
    service.wait(job)
    assert CANARY in service.client.get(f"/v1/files/{file}/download").text
    again = service.client.get(f"/jobs/{job}/agreement").text
    assert f'id="kappa">{kappa:.3f}<' in again  # the readings are those before the adjudication
    log = service.client.get(f"/v1/jobs/{job}/decisions").text
    assert "take 2" in log
    assert CANARY not in log


def test_reviewed_files_are_exported_as_gold(service, read_twice, tmp_path):
    job, _, _ = read_twice
    answer = service.client.get(f"/jobs/{job}/gold", params={"format": "brat"})
    assert answer.status_code == 200, answer.text
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    assert archive.namelist() == ["document-001.ann", "document-001.txt"]
    archive.extractall(tmp_path)
    (document,) = read_folder(tmp_path)
    assert document.text == NOTE
    assert document.entities
    assert service.client.get(f"/jobs/{job}/gold", params={"format": "poem"}).status_code == 400
    other = service.wait(service.add(("a.txt", NOTE.encode())))["id"]
    refused = service.client.get(f"/jobs/{other}/gold")
    assert refused.status_code == 400
    assert "reviewed" in refused.text
