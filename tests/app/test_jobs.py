"""What a job may ask for, and what goes wrong with one: surrogates, language models, limits, reports of both."""

import io
import os
import signal
import socket
import subprocess
import sys
import time
import zipfile

import docx
import psutil
import pytest
from canned_server import canned_server, with_canaries
from pdf_letters import coded, letter, needs_tesseract
from PIL import Image

from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.surrogates.keys import ProjectKey

from .conftest import CANARY, NOTE, Service, free_port
from .test_queue import worker_of


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """A service with a project key, dictionaries, a language model whose server does not run, and one that finds no
    person.
    """
    folder = tmp_path_factory.mktemp("rich")
    (folder / "keys").mkdir()
    key, lists = folder / "keys" / "project.key", folder / "lists"
    ProjectKey.make().to_file(key)
    with StoreWriter(lists) as writer:
        writer.add_patient("7", [LocalEntry("molinillo", "PATIENT", "patients.nickname")])
        writer.commit({})
    llm = f"http://127.0.0.1:{free_port()}"
    with canned_server(with_canaries({"STREET": []})) as (url, _):
        options = ("--key", str(key), "--dictionaries", str(lists), "--llm", llm, "--llm", url)
        running = Service(folder / "data", *options)
        running.llm, running.llm_without_persons = llm, url
        yield running
        running.stop()


def text_of(service, file):
    return service.client.get(f"/v1/files/{file['id']}/text?released=true").text


def test_surrogates_of_one_patient_are_the_same_in_a_text_and_a_pdf(rich):
    plain = NOTE.replace("😀 ", "")
    files = ("carta.txt", plain.encode()), ("carta.pdf", letter(plain))
    job = rich.wait(rich.add(*files, style="surrogate", patient_id="7"))
    assert [file["reason"] for file in job["files"]] == ["", ""]
    text, pdf = (text_of(rich, file) for file in job["files"])
    assert CANARY not in text + pdf
    assert "[PATIENT]" not in text + pdf
    assert text.split("NHC")[0].split() == pdf.split("NHC")[0].split()
    other = rich.wait(rich.add(files[0], style="surrogate", patient_id="8"))
    assert text_of(rich, other["files"][0]) != text


def test_dictionaries_are_searched_for_the_patient_of_a_job_and_of_a_text(rich):
    text = "Trae ropa el molinillo de siempre."
    for patient, released in (("7", text.replace("molinillo", "[PATIENT]")), ("8", text)):
        job = rich.wait(rich.add(("a.txt", text.encode()), patient_id=patient))
        assert text_of(rich, job["files"][0]) == released
        answer = rich.client.post("/v1/deidentify", json={"text": text, "patient_id": patient})
        assert answer.json()["text"] == released


def test_downloads_do_not_identify_the_patient(rich):
    facts = {"patient_name": f"{CANARY} {CANARY}", "patient_sex": "female", "note_date": "1987-06-05"}
    job = rich.wait(rich.add(("a.txt", NOTE.encode()), style="surrogate", patient_id=CANARY, **facts))
    assert job["files"][0]["state"] == "done"
    found = rich.client.get(f"/v1/files/{job['files'][0]['id']}/findings").text
    archive = zipfile.ZipFile(io.BytesIO(rich.client.get(f"/v1/jobs/{job['id']}/download").content))
    handed_out = found + "".join(archive.read(name).decode() for name in archive.namelist())
    assert not [word for word in (CANARY, "1987-06-05", "female") if word in handed_out]


def test_patient_name_determines_surrogates_and_a_wrong_date_is_refused(rich):
    text = {"text": "Paciente: Bustarviejo.", "style": "surrogate", "patient_id": "7"}
    name = {"patient_name": "Trinidad Bustarviejo Linde"}
    released = [rich.client.post("/v1/deidentify", json=text | more).json()["text"] for more in ({}, name)]
    assert released[0] != released[1]
    assert "Bustarviejo" not in "".join(released)
    answer = rich.client.post("/v1/deidentify", json=text | {"note_date": "05/06/1987"})
    assert 400 <= answer.status_code < 500
    assert "note_date" in answer.text
    assert "1987" not in answer.text


def test_unreachable_llm_fails_the_file_with_a_reason(rich):
    llm = {"location": rich.llm, "labels": ["PATIENT"]}
    job = rich.wait(rich.add(("a.txt", NOTE.encode()), llm=llm))
    assert job["files"][0]["state"] == "failed"
    assert "language model" in job["files"][0]["reason"]
    assert CANARY not in job["files"][0]["reason"]
    assert rich.client.get(f"/v1/files/{job['files'][0]['id']}/download").status_code == 400
    answer = rich.client.post("/v1/deidentify", json={"text": NOTE, "llm": llm})
    assert answer.status_code in (400, 422)
    assert CANARY not in answer.text
    assert rich.wait(rich.add(("a.txt", NOTE.encode())))["files"][0]["state"] == "done"


def test_text_without_persons_has_a_warning(rich):
    answers = [
        rich.client.post("/v1/deidentify", json={"text": NOTE} | llm).json()
        for llm in ({"llm": {"location": rich.llm_without_persons}}, {})
    ]
    assert [len(answer["warnings"]) for answer in answers] == [1, 0]
    assert answers[0]["warnings"][0].startswith("the language model (deid/llm) found no person")
    assert CANARY not in answers[0]["warnings"][0]


def test_reasons_and_tables_name_no_file(service):
    names = ("Zubeldiagoyena.pdf", "informe.Zubeldiagoyena", "=HYPERLINK(1).txt")
    job = service.wait(service.add(*[(name, NOTE.encode()) for name in names]))
    assert [file["state"] for file in job["files"]] == ["failed", "failed", "done"]
    assert not any(CANARY in file["reason"] for file in job["files"])
    archive = zipfile.ZipFile(io.BytesIO(service.client.get(f"/v1/jobs/{job['id']}/download").content))
    assert not any(CANARY.encode() in archive.read(name) for name in archive.namelist())
    named = zipfile.ZipFile(io.BytesIO(service.client.get(f"/v1/jobs/{job['id']}/download?names=true").content))
    assert "\n'=HYPERLINK(1).txt," in named.read("findings.csv").decode()


@pytest.mark.parametrize(
    "name", ["a" * 3000 + ".txt", "á" * 300 + ".txt", 'a";\r\nX-Evil: 1.txt', "..", ".txt", "\u202etxt.exe"]
)
def test_any_file_name_is_accepted_and_returned(service, name):
    job = service.wait(service.add((name, NOTE.encode())))
    given = job["files"][0]["name"]
    assert len(given.encode()) <= 200
    assert given.isprintable()
    answer = service.client.get(f"/v1/files/{job['files'][0]['id']}/download?names=true")
    assert "x-evil" not in answer.headers
    if job["files"][0]["state"] == "done":
        assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")


def test_file_in_another_encoding_needs_the_setting(service):
    note = NOTE.replace("😀", "").encode("cp1252")
    job = service.add(("a.txt", note))
    assert "encoding" in service.wait(job)["files"][0]["reason"]
    assert service.client.post(f"/v1/jobs/{job}/start", json={"encoding": "none"}).status_code == 400
    assert service.client.post(f"/v1/jobs/{job}/start", json={"encoding": "cp1252"}).status_code == 200
    file = service.wait(job)["files"][0]
    released = service.client.get(f"/v1/files/{file['id']}/download").content.decode("cp1252")
    assert CANARY not in released
    assert "Médico" in released


def test_persons_are_numbered_across_a_long_table(service):
    patients = ["Braulio Sanz", *[""] * 60, "Nadia Ferrer", *[""] * 60, "Nadia Ferrer", "Braulio Sanz"]
    table = "paciente,nota\n" + "".join(f"{patient},{'Sin fiebre ni tos. ' * 50}\n" for patient in patients)
    assert len(table) > 110_000
    settings = {"columns": {"paciente": "label:PATIENT"}, "style": "numbered"}
    job = service.wait(service.add(("a.csv", table.encode()), **settings))
    assert job["files"][0]["state"] == "done", job["files"][0]["reason"]
    released = service.client.get(f"/v1/files/{job['files'][0]['id']}/download").text.splitlines()[1:]
    numbers = {"Braulio Sanz": "[PATIENT_1]", "Nadia Ferrer": "[PATIENT_2]", "": ""}
    assert [line.split(",")[0] for line in released] == [numbers[patient] for patient in patients]


def test_columns_of_a_table_are_replaced_as_a_whole(service):
    table = b"paciente,nota\nxyzzy,Sin fiebre.\nplugh,Alta.\n"
    columns = {"paciente": "label:PATIENT"}
    job = service.wait(service.add(("a.csv", table), columns=columns))
    assert job["files"][0]["state"] == "done", job["files"][0]["reason"]
    path = f"/v1/files/{job['files'][0]['id']}"
    released = service.client.get(f"{path}/download").text
    assert "xyzzy" not in released
    assert "plugh" not in released
    assert "Sin fiebre." in released
    span = service.client.get(f"{path}/findings").json()["spans"][0]
    decision = {"action": "release", "start": span["start"], "end": span["end"]}
    assert service.client.post(f"{path}/decisions", json=decision).status_code == 200
    service.client.post(f"{path}/apply")
    service.wait(job["id"])
    assert "xyzzy" in service.client.get(f"{path}/download").text
    wrong = service.client.post("/v1/deidentify", json={"text": "a", "columns": {"a": "label:NOTHING"}})
    assert wrong.status_code == 400


def test_job_deleted_while_it_runs_leaves_no_files(service):
    job = service.add(*[(f"{i}.txt", NOTE.encode() * 20) for i in range(3)])
    for _ in range(600):
        if any(file["state"] == "running" for file in service.client.get(f"/v1/jobs/{job}").json()["files"]):
            break
        time.sleep(0.02)
    files = [file["id"] for file in service.client.get(f"/v1/jobs/{job}").json()["files"]]
    assert service.client.delete(f"/v1/jobs/{job}").status_code == 204
    service.wait(service.add(("a.txt", b"Nada.")))  # after whatever was in work
    assert not [file for file in files if (service.folder / file).exists()]


def test_five_hundred_files_are_one_job(service):
    names = [(f"{i}.txt", b"Nada.\n") for i in range(500)]
    job = service.add(*names, start=False)
    shown = service.client.get(f"/v1/jobs/{job}").json()
    assert [file["name"] for file in shown["files"]] == [name for name, _ in names]
    assert service.client.delete(f"/v1/jobs/{job}").status_code == 204


def test_concurrent_decisions_are_all_kept(service):
    from concurrent.futures import ThreadPoolExecutor

    file = service.wait(service.add(("a.txt", NOTE.encode())))["files"][0]["id"]
    path = f"/v1/files/{file}"
    words = [(NOTE.index(word), NOTE.index(word) + len(word)) for word in ("Ingresa", "disnea", "por")]

    def add(where):
        decision = {"action": "add", "start": where[0], "end": where[1], "label": "OTHER"}
        return service.client.post(f"{path}/decisions", json=decision).status_code

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(add, words)) == [200] * 3
        codes = list(pool.map(lambda _: service.client.post(f"{path}/apply").status_code, range(4)))
    assert 200 in codes
    assert set(codes) <= {200, 400}  # 400 while the file is written; a request after that writes it again
    service.wait(service.client.get(path).json()["job"])
    released = service.client.get(f"{path}/download").text
    assert not any(word in released for word in ("Ingresa", "disnea", " por "))


def test_memory_is_bounded():
    program = "from spacy_deid.app.workers import _limit_memory; _limit_memory(1)\ntry:\n bytearray(2 * 10**9)\n"
    program += "except MemoryError:\n print('bounded')\n"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout == "bounded\n"


@pytest.mark.slow
def test_slow_file_fails_alone(start_service):
    service = start_service("--file-minutes", "0.4")
    job = service.wait(service.add(("gross.txt", NOTE.encode() * 80_000), ("klein.txt", NOTE.encode())), 300)
    states = {file["name"]: file for file in job["files"]}
    assert states["gross.txt"]["state"] == "failed"
    assert "more than 0.4 minutes" in states["gross.txt"]["reason"]
    assert states["klein.txt"]["state"] == "done"


def test_stuck_worker_ends_with_the_service(start_service):
    service = start_service()
    worker = worker_of(service)
    os.kill(worker, signal.SIGSTOP)
    service.stop()
    _, alive = psutil.wait_procs([psutil.Process(worker)] if psutil.pid_exists(worker) else [], timeout=10)
    assert alive == []


def test_invalid_http_does_not_stop_the_service(service):
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as connection:
        connection.sendall(f"{CANARY} {CANARY}\r\n\r\n".encode())
        connection.recv(1000)
    assert service.client.get("/v1/health").status_code == 200
    assert CANARY not in service.log.read_text(encoding="utf8")


PAGE = ("Zubeldiagoyena.html", b"<p>Alta</p><img src='a.png'>")


def test_a_copy_with_warnings_is_downloaded_only_if_they_are_accepted(service):
    job = service.wait(service.add(PAGE, ("b.txt", NOTE.encode())))
    warned, plain = job["files"]
    assert warned["warnings"] == ["pictures and embedded objects are removed"]
    assert plain["warnings"] == []
    assert service.client.get(f"/v1/files/{plain['id']}/download").status_code == 200
    for path in (f"/v1/files/{warned['id']}/download", f"/v1/jobs/{job['id']}/download"):
        refused = service.client.get(path)
        assert refused.status_code == 400
        assert "accept_warnings=true" in refused.json()["detail"]
        accepted = service.client.get(f"{path}?accept_warnings=true")
        assert accepted.status_code == 200
    archive = zipfile.ZipFile(io.BytesIO(accepted.content))
    expected = "file,warning\ndocument-001.html,pictures and embedded objects are removed\n"
    assert archive.read("warnings.csv").decode() == expected


@needs_tesseract
@pytest.mark.parametrize("given", [{"ocr": "always"}, {"verify_ocr": "all"}])
def test_settings_of_scans_are_applied(service, given):
    job = service.add(("a.pdf", letter("Alta sin dolor.")), ocr_languages=["tlh"])
    assert service.wait(job)["files"][0]["state"] == "done"
    service.client.post(f"/v1/jobs/{job}/start", json={"ocr_languages": ["tlh"], **given})
    assert "no data for language tlh" in service.wait(job)["files"][0]["reason"]


def test_option_codes_removes_or_keeps_codes(service):
    job = service.add(("a.pdf", coded("Alta sin dolor.")))
    assert "page 1: bar codes are removed" in service.wait(job)["files"][0]["warnings"]
    service.client.post(f"/v1/jobs/{job}/start", json={"codes": "keep"})
    file = service.wait(job)["files"][0]
    assert file["state"] == "done"
    assert "page 1: bar codes are removed" not in file["warnings"]


def test_warnings_belong_to_the_settings_of_the_last_run(service):
    picture, document = io.BytesIO(), docx.Document()
    Image.new("L", (300, 100), 255).save(picture, "PNG")
    document.add_paragraph("Alta")
    document.add_picture(picture)
    document.save(out := io.BytesIO())
    job = service.add(("a.docx", out.getvalue()), pictures="keep")
    assert service.wait(job)["files"][0]["warnings"] == ["pictures are kept and were not read"]
    service.client.post(f"/v1/jobs/{job}/start", json={"pictures": "remove"})
    assert service.wait(job)["files"][0]["warnings"] == ["pictures are removed"]


def test_the_form_has_the_settings_of_scans(service):
    job = service.add(("a.txt", NOTE.encode()), start=False)
    service.wait(job)
    chosen = {"ocr": "always", "pictures": "remove", "codes": "keep", "unread": "remove", "verify_ocr": "all"}
    answer = service.client.post(f"/jobs/{job}/start", data={**chosen, "ocr_languages": "spa, eng"})
    assert answer.status_code == 303
    settings = service.wait(job)["settings"]
    assert {name: settings[name] for name in chosen} == chosen
    assert settings["ocr_languages"] == ["spa", "eng"]


def test_declared_column_is_released_only_by_a_reviewer(service):
    table = f"patient,note\n{CANARY},Alta\n".encode()
    job = service.wait(service.add(("a.csv", table), columns={"patient": "label:PATIENT"}))
    path = f"/v1/files/{job['files'][0]['id']}"
    assert service.client.get(f"{path}/download").content == b"patient,note\n[PATIENT],Alta\n"
    (span,) = service.client.get(f"{path}/findings").json()["spans"]
    assert "columns" in [item["source"] for item in span["evidence"]]
    decision = {"action": "release", "start": span["start"], "end": span["end"]}
    assert service.client.post(f"{path}/decisions", json=decision).status_code == 200
    service.client.post(f"{path}/apply")
    service.wait(job["id"])
    assert service.client.get(f"{path}/download").content == table
    assert CANARY in service.client.get(f"{path}/text?released=true").text
