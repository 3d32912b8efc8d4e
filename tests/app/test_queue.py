"""Jobs outlive the service and its worker."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from spacy_deid.app.queue import ATTEMPTS
from spacy_deid.app.storage import EncryptedStorage
from spacy_deid.app.store import Store
from spacy_deid.errors import InputError
from spacy_deid.surrogates.keys import ProjectKey

from .conftest import CANARY, NOTE, Service


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "data", EncryptedStorage())


def test_files_are_parsed_first_and_then_done_in_order(store):
    first = store.add_job({}, [("a.txt", b"a"), ("b.txt", b"b")])
    store.queue.start(first, {})
    second = store.add_job({}, [("c.txt", b"c")])
    tasks = []
    while task := store.queue.claim():
        tasks.append((store.file(task.file).name, task.task))
        store.queue.finish(task, "parsed" if task.task == "parse" else "done")
    parsed = [(name, "parse") for name in ("a.txt", "b.txt", "c.txt")]
    assert tasks == [*parsed, ("a.txt", "deidentify"), ("b.txt", "deidentify")]
    assert store.files(second)[0].state == "parsed"


def test_two_workers_never_take_the_same_file(store):
    store.add_job({}, [("a.txt", b"a"), ("b.txt", b"b")])
    assert store.queue.claim().file != store.queue.claim().file
    assert store.queue.claim() is None


def test_task_of_a_crashed_worker_is_repeated_once(store):
    job = store.add_job({}, [("a.txt", b"a")])
    for _ in range(ATTEMPTS):
        assert store.queue.claim() is not None
        store.queue.reclaim()
    assert store.queue.claim() is None
    assert store.files(job)[0].state == "failed"
    assert "twice" in store.files(job)[0].reason


def test_result_of_a_cancelled_job_is_discarded(store):
    job = store.add_job({}, [("a.txt", b"a"), ("b.txt", b"b")])
    for _ in range(2):
        store.queue.finish(store.queue.claim(), "parsed")
    store.queue.start(job, {})
    task = store.queue.claim()
    store.queue.cancel(job)
    assert store.queue.claim() is None
    assert store.queue.finish(task, "done", spans=3) is False
    assert [file.state for file in store.files(job)] == ["cancelled", "cancelled"]
    store.queue.start(job, {})
    assert store.queue.claim().task == "deidentify"


def test_starting_a_running_job_again_does_nothing(store):
    job = store.add_job({}, [("a.txt", b"a")])
    store.queue.finish(store.queue.claim(), "parsed")
    assert store.queue.start(job, {"style": "tag"}) == 1
    task = store.queue.claim()
    assert store.queue.start(job, {"style": "tag"}) == 0
    with pytest.raises(InputError, match="other settings"):
        store.queue.start(job, {"style": "mask"})
    assert store.job(job).settings == {"style": "tag"}
    assert store.queue.finish(task, "done")


def test_result_with_old_settings_is_discarded_after_a_new_start(store):
    job = store.add_job({}, [("a.txt", b"a")])
    store.queue.finish(store.queue.claim(), "parsed")
    store.queue.start(job, {"style": "tag"})
    stale = store.queue.claim()
    store.queue.cancel(job)
    store.queue.start(job, {"style": "mask"})
    assert store.queue.finish(stale, "done") is False
    assert store.files(job)[0].task == "deidentify"
    assert store.queue.finish(store.queue.claim(), "done") is True


def test_file_has_one_task_at_a_time(store):
    job = store.add_job({}, [("a.txt", b"a")])
    file = store.queue.claim().file
    with pytest.raises(InputError, match="still being processed"):
        store.queue.request(file, "write")
    assert store.files(job)[0].task == "parse"


def test_files_written_for_a_deleted_job_are_removed(store):
    job = store.add_job({}, [("a.txt", b"a")])
    task = store.queue.claim()
    store.delete(job)
    store.put(task.file, "text", CANARY.encode())
    assert store.queue.finish(task, "parsed") is False
    store.remove_orphans()
    assert not (store.folder / task.file).exists()


def test_unfinished_upload_is_removed_at_a_restart(store):
    def files():
        yield "a.txt", CANARY.encode()
        store.recover()
        yield "b.txt", b"b"

    with pytest.raises(InputError):
        store.add_job({}, files())
    assert store.jobs() == []
    assert not any(path.is_dir() for path in store.folder.iterdir())


def test_task_of_a_slow_file_is_given_up(store):
    store.add_job({}, [("a.txt", b"a"), ("b.txt", b"b")])
    task = store.queue.claim(3)
    claim = (task.file, task.claimed)
    assert store.queue.claims() == {claim: 3}
    store.queue.give_up(*claim, "late")
    assert store.queue.finish(task, "done") is False
    assert store.file(task.file).reason == "late"
    assert store.queue.claim().file != task.file


def test_only_tasks_of_the_stopped_worker_are_reclaimed(store):
    store.add_job({}, [("a.txt", b"a"), ("b.txt", b"b")])
    first, second = store.queue.claim(0), store.queue.claim(1)
    store.queue.reclaim(0)
    assert store.queue.claim(0).file == first.file
    assert store.queue.claim(0) is None
    assert store.queue.finish(second, "parsed") is True


def test_database_of_a_single_worker_version_is_upgraded(tmp_path):
    old = Store(tmp_path / "data", EncryptedStorage())
    job = old.add_job({}, [("a.txt", b"a")])
    with old.database.change() as database:
        database.execute("ALTER TABLE file DROP COLUMN worker")
    new = Store(tmp_path / "data", EncryptedStorage())
    assert new.queue.claim(1).job == job


def test_files_of_older_jobs_are_ahead_in_the_queue(store):
    first = store.add_job({}, [("a.txt", b"a"), ("b.txt", b"b")])
    second = store.add_job({}, [("c.txt", b"c")])
    assert store.queue.count_ahead(store.job(first).created) == 0
    assert store.queue.count_ahead(store.job(second).created) == 2


@pytest.mark.parametrize("key", [None, ProjectKey.make()], ids=["plain", "sealed"])
def test_settings_of_jobs_are_encrypted(tmp_path, key):
    store = Store(tmp_path / "data", EncryptedStorage(key))
    job = store.add_job({"patient_id": CANARY}, [(f"{CANARY}.txt", b"a")])
    assert store.job(job).settings == {"patient_id": CANARY}
    written = b"".join(path.read_bytes() for path in store.folder.glob("jobs.sqlite*"))
    assert (CANARY.encode() in written) is (key is None)
    store.delete(job)
    assert not any(CANARY.encode() in path.read_bytes() for path in store.folder.glob("jobs.sqlite*"))


def test_expired_jobs_are_deleted_with_their_files(store):
    job = store.add_job({}, [("a.txt", CANARY.encode())])
    assert store.expire(3600) == 0
    time.sleep(0.01)
    assert store.expire(0) == 1
    assert store.jobs() == []
    assert not any(CANARY.encode() in path.read_bytes() for path in store.folder.rglob("*") if path.is_file())
    with pytest.raises(InputError):
        store.job(job)


def test_store_of_another_key_is_refused(tmp_path):
    job = Store(tmp_path, EncryptedStorage(ProjectKey.make())).add_job({}, [("a.txt", b"a")])
    with pytest.raises(InputError, match="another key"):
        Store(tmp_path, EncryptedStorage(ProjectKey.make())).files(job)


def test_encrypted_file_cannot_replace_another():
    storage = EncryptedStorage(ProjectKey.make())
    assert storage.decrypt(storage.encrypt(b"a", "here"), "here") == b"a"
    with pytest.raises(InputError):
        storage.decrypt(storage.encrypt(b"a", "here"), "there")


def test_folder_is_accessible_only_to_its_owner(store):
    store.add_job({}, [("a.txt", b"a")])
    assert store.folder.stat().st_mode & 0o077 == 0


@pytest.fixture(scope="module")
def mortal(tmp_path_factory):
    """A service whose processes the tests may end."""
    running = Service(tmp_path_factory.mktemp("mortal") / "data")
    yield running
    running.stop()


def test_killed_service_continues_its_jobs(mortal):
    service = mortal
    job = service.add(*[(f"{i}.txt", NOTE.encode() * 10) for i in range(12)])
    for _ in range(600):
        if 0 < service.client.get(f"/v1/jobs/{job}").json()["done"] < 12:
            break
        time.sleep(0.02)
    worker = worker_of(service)
    service.stop(kill=True)
    psutil.wait_procs([psutil.Process(worker)] if psutil.pid_exists(worker) else [], timeout=30)
    assert not psutil.pid_exists(worker)
    service.start()
    shown = service.wait(job)
    assert [file["state"] for file in shown["files"]] == ["done"] * 12
    texts = {service.client.get(f"/v1/files/{file['id']}/download").text for file in shown["files"]}
    assert len(texts) == 1
    assert CANARY not in texts.pop()


def test_crashed_worker_is_restarted(mortal):
    os.kill(worker_of(mortal), signal.SIGKILL)
    shown = mortal.wait(mortal.add(("a.txt", NOTE.encode())))
    assert shown["files"][0]["state"] == "done"


def test_several_workers_share_a_job_and_its_estimated_time(start_service):
    service = start_service("--workers", "2")
    job = service.add(*((f"{i}.txt", (NOTE * 20).encode()) for i in range(6)))
    at_once, left = 0, []
    while (shown := service.client.get(f"/v1/jobs/{job}").json())["busy"]:
        at_once = max(at_once, sum(file["state"] == "running" for file in shown["files"]))
        left.append(shown["seconds_left"])
        time.sleep(0.05)
    assert at_once == 2
    assert [file["state"] for file in shown["files"]] == ["done"] * 6
    assert any(left)


def test_text_of_a_killed_process_fails_and_the_next_one_succeeds(mortal):
    service = mortal
    workers = {child.pid for child in psutil.Process(service.process.pid).children()}
    ask = {"json": {"text": NOTE}}
    assert service.client.post("/v1/deidentify", **ask).status_code == 200
    (new,) = {child.pid for child in psutil.Process(service.process.pid).children()} - workers
    process = psutil.Process(new)
    used = sum(process.cpu_times()[:2])
    with ThreadPoolExecutor() as threads:
        long = threads.submit(service.client.post, "/v1/deidentify", json={"text": NOTE * 1000})
        while sum(process.cpu_times()[:2]) < used + 0.3 and not long.done():
            time.sleep(0.02)
        os.kill(new, signal.SIGKILL)
    assert long.result().status_code == 500
    assert "was killed" in long.result().json()["detail"]
    answer = service.client.post("/v1/deidentify", **ask)
    assert CANARY not in answer.text
    assert answer.status_code == 200


def worker_of(service):
    """The process that the service has spawned and that works on files."""
    for _ in range(100):
        for child in psutil.Process(service.process.pid).children():
            if any("spawn_main" in word for word in child.cmdline()):
                return child.pid
        time.sleep(0.1)
    raise AssertionError("no worker")


def test_write_error_is_a_507_without_a_path(tmp_path):
    """Files of this process may have no more than 300 kB from now on: a disk that is full."""
    program = f"""
import resource, signal
from pathlib import Path
from fastapi.testclient import TestClient
from spacy_deid.app.service import make_service
from spacy_deid.app.settings import ServiceSettings
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
client = TestClient(make_service(ServiceSettings(Path({str(tmp_path)!r}))), base_url="http://127.0.0.1")
answer = client.post("/v1/jobs", files=[("files", ("a.txt", b"a" * 400_000))])
print(answer.status_code, answer.text, client.get("/v1/jobs").json()["items"])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout.startswith("507 "), ran.stderr
    assert ran.stdout.endswith(" []\n")
    assert str(tmp_path) not in ran.stdout
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
