"""Figures of a job against ground truth that was uploaded, and names in what is handed out."""

import csv
import io
import zipfile

import pytest

from spacy_deid.evaluation import AnnotatedText, Entity, write_folder

from .conftest import NOTE

NAMES = ("informe.2024.txt", "informe.2025.txt", "=HYPERLINK(1).txt")


@pytest.fixture(scope="module")
def job(service):
    job = service.wait(service.add(*[(name, NOTE.encode()) for name in NAMES]))
    assert job["done"] == len(NAMES)
    return job["id"]


def measure(service, job, *files, scheme="canonical"):
    given = [("files", file) for file in files]
    return service.client.post(f"/jobs/{job}/report", files=given, data={"scheme": scheme})


def rows(service, job):
    return list(csv.DictReader(io.StringIO(service.client.get(f"/jobs/{job}/report.csv").text)))


@pytest.mark.parametrize("format", ["brat", "i2b2", "cas", "xmi"])
def test_text_after_a_dot_is_part_of_the_name(service, job, tmp_path, format):
    marked = (Entity(NOTE.index("Aurelio"), NOTE.index(" Linde"), "PATIENT"),)
    write_folder([AnnotatedText(name.removesuffix(".txt"), NOTE, marked) for name in NAMES[:2]], tmp_path, format)
    answer = measure(service, job, *[(path.name, path.read_bytes()) for path in tmp_path.iterdir()])
    assert answer.status_code == 303, answer.text
    assert sorted(row["document"] for row in rows(service, job)) == sorted(NAMES[:2])


@pytest.mark.parametrize("name", ["informe.2024", "informe.2024.txt", "INFORME.2024.PDF"])
def test_ground_truth_can_have_any_suffix(service, job, name):
    truth = (f"{name}.txt", NOTE.encode()), (f"{name}.ann", b"T1\tPATIENT 8 15\tAurelio\n")
    assert measure(service, job, *truth).status_code == 303
    assert [row["document"] for row in rows(service, job)] == ["informe.2024.txt"]


def test_formulas_in_names_are_escaped(service, job):
    truth = ("=HYPERLINK(1).txt", NOTE.encode()), ("=HYPERLINK(1).ann", b"T1\tPATIENT 8 15\tAurelio\n")
    assert measure(service, job, *truth).status_code == 303
    assert rows(service, job)[0]["document"] == "'=HYPERLINK(1).txt"


def test_ground_truth_of_another_text_is_left_out_and_missing_annotations_are_counted(service, job, tmp_path):
    name, stamp = Entity(8, 15, "PATIENT"), "Qzw-77"
    text = f"{NOTE}{stamp}"
    other = AnnotatedText("informe.2024", "Sin relación alguna con lo de arriba.\n" * 3)
    stamped = AnnotatedText("informe.2025", text, (name, Entity(len(NOTE), len(text), "ID_OTHER")))
    write_folder([other, stamped], tmp_path, "brat")
    answer = measure(service, job, *[(path.name, path.read_bytes()) for path in tmp_path.iterdir()])
    assert answer.status_code == 303, answer.text
    assert [row["document"] for row in rows(service, job)] == ["informe.2025.txt"]
    page = service.client.get(f"/jobs/{job}/report").text
    assert "Documents whose ground truth has a different text: 1: informe.2024.txt" in page
    assert "not in the text and not counted: 1: informe.2025.txt" in page
    assert stamp not in page


def test_errors_in_ground_truth_name_only_the_file(service, job):
    for files in (
        [("informe.2024.txt", NOTE.encode()), ("informe.2024.ann", b"T1\tNOTHING 8 15\tAurelio\n")],
        [("informe.2024.xml", b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>')],
        [("informe.2024.json", b"[" * 100_000)],
        [("informe.2024.txt", NOTE.encode())],
    ):
        answer = measure(service, job, *files)
        assert answer.status_code == 400
        assert "truth-" not in answer.text
        assert "/shm" not in answer.text


def test_names_in_the_archive_are_valid_on_every_system(service):
    names = ("a:b.txt", "é.txt", "e\u0301.txt", "É.TXT", "CON<1>.txt", "a|b?.txt")
    job = service.wait(service.add(*[(name, b"Nada.\n") for name in names]))["id"]
    data = service.client.get(f"/v1/jobs/{job}/download?names=true").content
    found = [name for name in zipfile.ZipFile(io.BytesIO(data)).namelist() if name.startswith("released/")]
    assert found == [
        *(
            f"released/{name}"
            for name in ("a_b.txt", "é.txt", "003-e\u0301.txt", "004-É.TXT", "CON_1_.txt", "a_b_.txt")
        )
    ]
