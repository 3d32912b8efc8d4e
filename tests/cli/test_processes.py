"""Jobs in several processes."""

import os
import signal
import time

import pytest
import spacy
from spacy.language import Language

from spacy_deid.cli.batches import process
from spacy_deid.cli.processes import Failure, attempt_all, can_fork
from spacy_deid.errors import InputError

needs_fork = pytest.mark.skipif(not can_fork(), reason="processes cannot be copied here")


def work(job):
    """Double a number; some numbers are trouble."""
    if job == 3:
        raise InputError("three")
    if job == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01 * (job % 2))
    return 2 * job


@pytest.mark.parametrize("n_process", [1, 3])
def test_jobs_come_back_in_order_and_one_that_fails_fails_alone(n_process):
    numbers = [0, 1, 2, 3, 4, 6, 7, 8]
    done = list(attempt_all(work, numbers, n_process))
    assert [number for number, _ in done] == numbers
    assert [result for _, result in done if not isinstance(result, Failure)] == [0, 2, 4, 8, 12, 14, 16]
    assert dict(done)[3].reason == "three"


@needs_fork
def test_a_job_that_ends_its_process_fails_alone():
    done = dict(attempt_all(work, range(40), 3))
    assert done.pop(5).reason.startswith("its process was ended")
    assert done.pop(3).reason == "three"
    assert done == {number: 2 * number for number in range(40) if number not in (3, 5)}


@needs_fork
def test_a_job_that_takes_too_long_fails_alone():
    done = dict(attempt_all(lambda job: time.sleep(job) or job, [0, 60, 0.1], 1, seconds=0.5))
    assert "took too long" in done.pop(60).reason
    assert done == {0: 0, 0.1: 0.1}


@needs_fork
def test_processes_have_what_was_loaded_and_are_not_this_one():
    loaded = object()
    done = list(attempt_all(lambda _: (id(loaded), os.getpid()), range(8), 2))
    assert {address for _, (address, _) in done} == {id(loaded)}
    assert os.getpid() not in {pid for _, (_, pid) in done}


@Language.component("deid_test_ends_processes")
def end_process(doc):
    if "fatal" in doc.text:
        os.kill(os.getpid(), signal.SIGKILL)
    return doc


@needs_fork
def test_a_note_that_ends_its_process_fails_and_no_other_waits_for_it():
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_test_ends_processes")
    texts = [f"nota {i}" for i in range(50)]
    texts[20] = "nota fatal"
    found = process(nlp, texts, lambda doc: doc.text, batch_size=8, n_process=2)
    assert isinstance(found[20], Failure)
    assert [text for text in found if not isinstance(text, Failure)] == texts[:20] + texts[21:]


def test_no_jobs_are_no_matter():
    assert list(attempt_all(work, [], 4)) == []
