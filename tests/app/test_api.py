"""The REST interface, over HTTP, of a service that runs."""

import csv
import io
import json
import threading
import zipfile

import httpx
import pytest

from .conftest import CANARY, NOTE

LETTER = ("carta.txt", NOTE.encode())


def text_of(service, **more):
    return service.client.post("/v1/deidentify", json={"text": NOTE, **more})


def finished(service, *files, **settings):
    return service.wait(service.add(*(files or [LETTER]), **settings))


def test_text_is_deidentified_with_offsets_in_both_texts(service):
    answer = text_of(service).json()
    assert CANARY not in answer["text"]
    patient = next(span for span in answer["spans"] if span["label"] == "PATIENT")
    assert CANARY in NOTE[patient["start"] : patient["end"]]
    assert answer["text"][slice(*patient["released"])] == "[PATIENT]"
    assert all(not span["evidence"] for span in answer["spans"])


def test_trace_is_returned_on_request(service):
    spans = text_of(service, trace=True).json()["spans"]
    assert all(item["source"] and item["version"] for span in spans for item in span["evidence"])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"pipeline": "nothing"}, 400),
        ({"style": "surrogate"}, 400),
        ({"style": "nothing"}, 422),
        ({"unknown": CANARY}, 422),
        ({"text": 5}, 422),
        ({"llm": {"location": "http://example.org/"}}, 400),
    ],
)
def test_invalid_request_is_refused_without_its_values(service, change, code):
    answer = text_of(service, **change)
    assert answer.status_code == code
    assert CANARY not in answer.text


@pytest.mark.parametrize("text", ["", " ", "\r\n", "a", "José 😀" * 200])
def test_every_text_gets_a_response(service, text):
    answer = service.client.post("/v1/deidentify", json={"text": text})
    assert answer.status_code == 200


def test_job_parses_deidentifies_and_returns_every_file(service):
    job = finished(service, LETTER, ("zweite.txt", b"Sin datos.\n"))
    assert [file["state"] for file in job["files"]] == ["done", "done"]
    released = service.client.get(f"/v1/files/{job['files'][0]['id']}/download")
    assert CANARY not in released.text
    assert "disnea" in released.text
    assert service.client.get(f"/v1/files/{job['files'][1]['id']}/download").content == b"Sin datos.\n"


def test_findings_have_no_text(service):
    file = finished(service)["files"][0]["id"]
    found = service.client.get(f"/v1/files/{file}/findings")
    assert CANARY not in found.text
    assert any(span["label"] == "PATIENT" for span in found.json()["spans"])


def test_unreadable_file_fails_alone_with_a_reason(service):
    job = finished(service, ("kaputt.pdf", b"no pdf at all"), LETTER, ("leer.txt", b""), ("fremd.xyz", b"abc"))
    states = {file["name"]: file for file in job["files"]}
    assert states["carta.txt"]["state"] == "done"
    for name in ("kaputt.pdf", "leer.txt", "fremd.xyz"):
        assert states[name]["state"] == "failed"
        assert states[name]["reason"]


def test_names_are_not_paths_and_equal_names_are_two_files(service):
    job = finished(service, ("../../etc/carta.txt", NOTE.encode()), ("..\\carta.txt", NOTE.encode()), LETTER)
    assert {file["name"] for file in job["files"]} == {"carta.txt"}
    archive = zipfile.ZipFile(io.BytesIO(service.client.get(f"/v1/jobs/{job['id']}/download?names=true").content))
    released = [name for name in archive.namelist() if name.startswith("released/")]
    assert len(set(released)) == 3
    assert not any(".." in name for name in released)


def test_archive_has_numbered_names_and_texts_only_on_request(service):
    job = finished(service)["id"]
    plain = zipfile.ZipFile(io.BytesIO(service.client.get(f"/v1/jobs/{job}/download").content))
    assert plain.namelist()[0] == "released/document-001.txt"
    assert all(CANARY.encode() not in plain.read(name) for name in plain.namelist())
    rows = list(csv.DictReader(io.StringIO(plain.read("findings.csv").decode())))
    assert {"file", "start", "end", "label", "detectors"} <= set(rows[0])
    full = zipfile.ZipFile(io.BytesIO(service.client.get(f"/v1/jobs/{job}/download?with_text=true").content))
    assert CANARY in full.read("findings.csv").decode()


def test_reviewed_file_is_not_downloaded_before_decisions_are_applied(service):
    file = finished(service)["files"][0]
    path = f"/v1/files/{file['id']}"
    spans = service.client.get(f"{path}/findings").json()["spans"]
    record = next(span for span in spans if span["label"] == "MRN")
    word = NOTE.index("disnea")
    for decision in (
        {"action": "release", "start": record["start"], "end": record["end"]},
        {"action": "add", "start": word, "end": word + 6, "label": "PROFESSION"},
        {"action": "relabel", "start": spans[0]["start"], "end": spans[0]["end"], "label": "RELATIVE"},
    ):
        assert service.client.post(f"{path}/decisions", json=decision).status_code == 200
    assert service.client.get(f"{path}/download").status_code == 400
    assert service.client.get(f"/v1/jobs/{file['job']}/download").status_code == 400
    service.client.post(f"{path}/apply")
    service.wait(file["job"])
    released = service.client.get(f"{path}/download").text
    assert "4471906" in released
    assert "disnea" not in released
    assert "[PROFESSION]" in released
    assert "[RELATIVE]" in released
    log = service.client.get(f"/v1/jobs/{file['job']}/decisions").json()["items"]
    assert [row["action"] for row in log] == ["release", "add", "relabel"]


@pytest.mark.parametrize(
    "decision",
    [
        {"action": "release", "start": 1, "end": 2},
        {"action": "add", "start": 5, "end": 5, "label": "PATIENT"},
        {"action": "add", "start": 0, "end": 10**9, "label": "PATIENT"},
        {"action": "add", "start": 0, "end": 3, "label": "NOTHING"},
    ],
)
def test_invalid_decision_is_refused(service, decision):
    file = finished(service)["files"][0]["id"]
    assert service.client.post(f"/v1/files/{file}/decisions", json=decision).status_code == 400


def test_unknown_jobs_and_files_are_not_found(service):
    assert service.client.get("/v1/jobs/nothing").status_code == 404
    assert service.client.get("/v1/files/../../etc/passwd").status_code == 404


def test_deleted_job_leaves_no_files(service):
    job = finished(service)
    folder = service.folder / job["files"][0]["id"]
    assert folder.is_dir()
    assert service.client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    assert not folder.exists()
    assert service.client.get(f"/v1/jobs/{job['id']}").status_code == 404


def test_openapi_description_is_complete(service):
    paths = service.client.get("/v1/openapi.json").json()["paths"]
    assert {"/v1/deidentify", "/v1/jobs", "/health"} <= set(paths)


def test_twenty_clients_at_once_are_all_answered(service):
    problems = []

    def ask():
        with httpx.Client(base_url=service.url, timeout=60, trust_env=False) as client:
            for _ in range(5):
                answer = client.post("/v1/deidentify", json={"text": NOTE})
                if answer.status_code != 200 or CANARY in answer.text:
                    problems.append(answer.status_code)

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_log_has_no_note_text(service):
    text_of(service)
    finished(service)
    service.client.post("/v1/deidentify", content=json.dumps({"text": [NOTE]}))
    assert CANARY not in service.log.read_text(encoding="utf8")
