"""``spacy_deid.pipe``: many notes, in order, and a note that fails fails alone."""

import os
import signal
import sys
import threading
import time

import pytest
import spacy
from spacy.language import Language

import spacy_deid
from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.piping import choose_start

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="processes cannot be forked safely here")
NOTE = "Nombre: Aurelio Bustarviejo Linde. NHC: 4471906. Soplo 2/6."
RELEASED = "Nombre: [PATIENT]. NHC: [MRN]. Soplo 2/6."


@Language.component("deid_test_trouble")
def trouble(doc):
    """Dies, hangs or raises at the words of a note; says whose note it is."""
    if "fatal" in doc.text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "hanging" in doc.text:
        time.sleep(600)
    if "raising" in doc.text:
        raise ValueError(doc.text)
    return doc


@pytest.fixture(scope="module")
def nlp():
    return spacy_deid.load("es")


@pytest.fixture(scope="module")
def troubled(nlp):
    """The rules of a pipeline, and a component that is trouble."""
    small = spacy_deid.load("es")
    small.remove_pipe("deid_ner")
    small.get_pipe("deid_merge").sources = [key for key in small.get_pipe("deid_merge").sources if "ner" not in key]
    small.add_pipe("deid_test_trouble", first=True)
    return small


@pytest.mark.parametrize(("n_process", "start"), [(1, None), (2, None), (2, "spawn")], ids=["here", "two", "spawned"])
def test_notes_are_released_as_by_the_pipeline_itself(nlp, n_process, start):
    notes = [f"{NOTE} Control {i}." for i in range(9)]
    results = list(spacy_deid.pipe(nlp, notes, n_process=n_process, batch_size=2, start_method=start))
    docs = list(nlp.pipe(notes))
    assert [result.number for result in results] == list(range(9))
    assert [result.text for result in results] == [doc._.deid_text for doc in docs]
    assert results[0].text.startswith(RELEASED)
    assert [result.edits for result in results] == [doc._.deid_edits for doc in docs]
    assert [result.trace for result in results] == [doc._.deid_trace for doc in docs]


@needs_fork
def test_notes_that_end_their_process_hang_or_raise_fail_alone(troubled):
    notes = [f"{NOTE} {i}" for i in range(20)]
    notes[4], notes[9], notes[14] = "Ana fatal", "Ana hanging", "Ana raising"
    found = list(spacy_deid.pipe(troubled, notes, n_process=2, batch_size=4, seconds=5, start_method="fork"))
    reasons = {result.number: result.reason for result in found if not result.ok}
    assert sorted(reasons) == [4, 9, 14]
    assert "ended" in reasons[4]
    assert "5 seconds" in reasons[9]
    assert "ValueError at test_piping.py" in reasons[14]
    assert "Ana" not in f"{reasons}{found}"
    with pytest.raises(NotDeidentified, match="ended"):
        _ = found[4].text
    assert [result.text.startswith("Nombre: [PATIENT]") for result in found if result.ok] == [True] * 17


@pytest.mark.parametrize("n_process", [1, pytest.param(2, marks=needs_fork)])
def test_what_is_no_note_fails_in_its_place(troubled, n_process):
    items = [
        NOTE,
        None,
        float("nan"),
        (NOTE, {"patient_id": "7"}),
        (None, {"patient_id": "8"}),
        (NOTE, 7),
        b"Ana",
        "",
        3,
    ]
    found = list(spacy_deid.pipe(troubled, items, n_process=n_process, start_method="fork" if n_process > 1 else None))
    assert [result.ok for result in found] == [True, False, False, True, False, False, False, True, False]
    assert found[3].ehr == {"patient_id": "7"}
    assert found[4].ehr == {"patient_id": "8"}
    assert "7" not in repr(found[3]).replace("number=", "")
    assert "NoneType" in found[1].reason
    assert "float" in found[2].reason


def test_the_patient_of_a_note_reaches_the_pipeline(nlp, tmp_path):
    key = spacy_deid.surrogates.keys.ProjectKey(bytes(range(32)))
    styled = spacy_deid.load("es", style="surrogate", project_key=key)
    pairs = [(NOTE, {"patient_id": patient}) for patient in ("1", "2", "1")]
    one, two, again = (result.text for result in spacy_deid.pipe(styled, pairs))
    assert one == again != two
    spawned = [result.text for result in spacy_deid.pipe(styled, pairs, n_process=2, start_method="spawn")]
    assert spawned == [one, two, one]


@pytest.mark.parametrize("n_process", [1, pytest.param(2, marks=needs_fork)])
def test_a_stream_is_read_only_a_few_notes_ahead(troubled, n_process):
    read = []
    notes = (read.append(i) or f"{NOTE} {i}" for i in range(100_000))
    found = spacy_deid.pipe(
        troubled, notes, n_process=n_process, batch_size=2, start_method="fork" if n_process > 1 else None
    )
    assert next(found).ok
    assert len(read) <= 20
    found.close()


def test_a_note_that_is_too_long_for_the_pipeline_fails_with_its_length(troubled):
    before, troubled.max_length = troubled.max_length, 100
    try:
        short, long = spacy_deid.pipe(troubled, ["Control.", "x" * 101])
    finally:
        troubled.max_length = before
    assert short.ok
    assert "101 characters" in long.reason


@pytest.mark.parametrize(
    "wrong",
    [
        {"notes": "one string"},
        {"n_process": 0},
        {"batch_size": 0},
        {"seconds": -1},
        {"start_method": "forkserver"},
    ],
    ids=str,
)
def test_impossible_settings_are_refused_at_once(troubled, wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        spacy_deid.pipe(troubled, **{"notes": [NOTE], **wrong})


@needs_fork
def test_processes_are_forked_only_where_that_is_safe(nlp, troubled):
    if threading.active_count() == 1:
        assert choose_start(nlp) == "fork"
    assert choose_start(troubled) == "spawn"  # a component that nobody knows
    spawned = spacy.blank("es")
    spawned.add_pipe("deid_surprisal")
    assert choose_start(spawned) == "spawn"
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    assert choose_start(nlp) == "spawn"
    done.set()
    thread.join()
