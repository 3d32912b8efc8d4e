"""What the files of a job add up to, counted by the database."""

import pytest

from spacy_deid.app.storage import EncryptedStorage
from spacy_deid.app.store import Store
from spacy_deid.app.summaries import next_to_review, summarize_job

ABOUT = {"characters": 100, "seconds": 2.0, "warnings": [], "reviewed": False, "open": 0}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "data", EncryptedStorage())


def finish(store, job, *facts):
    """Parse and de-identify the files of a job. A file without facts fails."""
    for file in store.files(job):
        store.queue.finish(store.queue.claim(), "parsed", characters=100)
        assert file.state == "uploaded"
    store.queue.start(job, {})
    for about in facts:
        store.queue.finish(store.queue.claim(), "done" if about else "failed", **(about or {}))


def test_files_are_counted_by_what_a_page_shows(store):
    job = store.add_job({}, [(f"{i}.txt", b"a") for i in range(5)])
    assert summarize_job(store.database, job).states == {"waiting": 5}
    more = [{"reviewed": True}, {"open": 2}, {"warnings": ["a", "b"]}]
    finish(store, job, *({**ABOUT, **one} for one in more), None)
    summary = summarize_job(store.database, job)
    assert summary.states == {"done": 3, "failed": 1, "queued": 1}
    assert (summary.total, summary.done, summary.failed, summary.busy) == (5, 3, 1, 1)
    assert (summary.readable, summary.reviewed, summary.open, summary.warned) == (3, 1, 1, 1)
    assert summary.started
    assert summary.seconds_left == 2.0  # 100 characters in 2 seconds


def test_a_file_that_is_written_again_is_reviewed_but_not_done(store):
    job = store.add_job({}, [("a.txt", b"a")])
    finish(store, job, {**ABOUT, "reviewed": True})
    store.queue.request(store.files(job)[0].id, "write")
    summary = summarize_job(store.database, job)
    assert (summary.states, summary.done, summary.busy) == ({"waiting": 1}, 0, 1)
    assert (summary.readable, summary.reviewed, summary.started) == (1, 1, True)
    store.queue.claim()
    assert summarize_job(store.database, job).states == {"writing": 1}


def test_a_job_that_was_only_parsed_is_not_started(store):
    job = store.add_job({}, [("a.txt", b"a")])
    summary = summarize_job(store.database, job)
    assert (summary.started, summary.seconds_left) == (False, None)
    store.queue.finish(store.queue.claim(), "failed")
    assert not summarize_job(store.database, job).started


def test_the_riskiest_file_that_is_not_reviewed_comes_next(store):
    job = store.add_job({}, [(f"{i}.txt", b"a") for i in range(4)])
    risks = [{"risk": 1}, {"risk": 9, "reviewed": True}, {"risk": 7}, {"risk": 7}]
    finish(store, job, *({**ABOUT, **one} for one in risks))
    files = store.files(job)
    assert next_to_review(store.database, job) == files[2].id
    assert next_to_review(store.database, job, but=files[2].id) == files[3].id
    for file in files:
        store.update(file.id, reviewed=True)
    assert next_to_review(store.database, job) == ""
    other = store.add_job({}, [("a.txt", b"a")])
    assert next_to_review(store.database, other) == ""


def test_files_are_listed_in_parts_by_position_or_by_risk(store):
    job = store.add_job({}, [(f"{i}.txt", b"a") for i in range(4)])
    risks = [{"risk": 1}, {"risk": 9, "reviewed": True}, {"risk": 7}, None]
    finish(store, job, *(one and {**ABOUT, **one} for one in risks))

    def names(*part, **order):
        return "".join(file.name[0] for file in store.page_files(job, *part, **order))

    assert (names(3), names(3, 3), names(3, 6)) == ("012", "3", "")
    assert names(4, by_risk=True) == "2031"
    assert names(2, 2, by_risk=True) == "31"
