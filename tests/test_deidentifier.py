"""``spacy_deid.Deidentifier``: texts, Docs and files, one by one and in streams."""

import os
import signal
import sys
import threading
import time

import pytest
import spacy
from odf.opendocument import OpenDocumentText
from odf.style import Style
from odf.text import P
from spacy.language import Language

import spacy_deid
from spacy_deid import Deidentifier, Edit, Evidence, File
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.documents import ReadSettings, WriteSettings, read_document
from spacy_deid.errors import ConfigError, InputError, NotDeidentified
from spacy_deid.policies import Policy
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.workers import choose_start

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="processes cannot be forked safely here")
here_and_in_two_processes = pytest.mark.parametrize("n_process", [1, pytest.param(2, marks=needs_fork)])
NOTE = "Nombre: Aurelio Bustarviejo Linde. NHC: 4471906. Soplo 2/6."
RELEASED = "Nombre: [PATIENT]. NHC: [MRN]. Soplo 2/6."
CANARY = "Zubeldiagoyena"
TABLE = f"patient,town,note\n{CANARY},Oza,Vive en Puerto Esparza.\n".encode()
COLUMNS = {"patient": "label:PATIENT", "town": "label:CITY"}
KEY = ProjectKey(bytes(range(32)))


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
def deid():
    return Deidentifier("es")


@pytest.fixture(scope="module")
def troubled():
    """The rules of a pipeline, and a component that fails at certain words."""
    small = spacy_deid.load("es")
    small.remove_pipe("deid_ner")
    small.get_pipe("deid_merge").sources = [key for key in small.get_pipe("deid_merge").sources if "ner" not in key]
    small.add_pipe("deid_test_trouble", first=True)
    return Deidentifier(small)


@pytest.fixture
def table():
    return read_document(TABLE, "visits.csv", ReadSettings(columns=COLUMNS))


# one item


def test_a_text_gives_its_released_text_with_edits_entities_and_trace(deid):
    result = deid(NOTE, {"patient_id": "17"})
    assert result.text == RELEASED
    assert (result.status, result.ok, result.reason, result.warnings) == ("released", True, "", [])
    assert result.ehr == {"patient_id": "17"}
    assert result.edits == [Edit(8, 33, "PATIENT", "[PATIENT]"), Edit(40, 47, "MRN", "[MRN]")]
    assert result.entities == [(8, 33, "PATIENT"), (40, 47, "MRN")]
    assert [row["action"] for row in result.trace] == ["replace", "replace"]
    assert "Bustarviejo" not in repr(result)
    assert "17" not in repr(result)
    with pytest.raises(InputError, match="not a file"):
        _ = result.copy


def test_a_doc_is_processed_in_place_and_a_processed_doc_is_only_released(deid):
    doc = deid.nlp.make_doc(NOTE)
    assert deid(doc).text == doc._.deid_text == RELEASED
    assert deid(doc).text == RELEASED
    changed = deid.nlp(NOTE)
    del changed.spans["deid/merged"]
    assert deid(changed).status == "withheld"


def test_invisible_characters_do_not_hide_an_identifier_and_offsets_refer_to_the_given_text(deid):
    result = deid("Nombre: Aure\u200blio Bustarviejo Linde. \u200bSoplo 2/6.")
    assert result.text == "Nombre: [PATIENT]. \u200bSoplo 2/6."
    assert result.edits == [Edit(8, 34, "PATIENT", "[PATIENT]")]
    assert result.entities == [(8, 34, "PATIENT")]
    assert (result.trace[0]["start"], result.trace[0]["end"]) == (8, 34)
    assert {(item["start"], item["end"]) for item in result.trace[0]["evidence"]} == {(8, 34)}


def test_policy_style_key_and_operating_point_are_settings(tmp_path):
    deid = Deidentifier("es", policy="safe_harbor", style="surrogate", key=KEY, operating_point="max_recall")
    one, two, again = (deid(NOTE, {"patient_id": patient}) for patient in ("1", "2", "1"))
    assert one.text == again.text != two.text
    assert one.identity == "patient"
    assert deid(NOTE).identity == "document"
    said = deid.provenance
    assert (said["policy"], said["style"], said["operating_point"]) == ("safe_harbor", "surrogate", "max_recall")
    assert said["pipeline"]["name"] == "es_deid"


def test_settings_that_cannot_work_are_refused_when_the_deidentifier_is_made_or_called(nlp):
    with pytest.raises(ConfigError, match="key"):
        Deidentifier(nlp, style="surrogate")
    with pytest.raises(ConfigError, match="key"):  # the pipeline has the style already
        Deidentifier(nlp)("Alta.")
    with pytest.raises(ConfigError, match="dictionaries"):
        Deidentifier(nlp, without_patient="refuse")
    nlp.remove_pipe("deid_surrogate")
    with pytest.raises(ConfigError, match="deid_surrogate"):
        Deidentifier(nlp)("Alta.")
    with pytest.raises(ConfigError, match="deid_surrogate"):
        Deidentifier(nlp).pipe(["Alta."])
    assert [result.entities for result in Deidentifier(nlp).detect(["Puerto Esparza"])] == [[(0, 14, "CITY")]]


# files


def test_a_file_can_be_a_path_bytes_or_a_document(nlp, tmp_path):
    deid = Deidentifier(nlp)
    path = tmp_path / "note.txt"
    path.write_bytes(b"Vive en Puerto Esparza.")
    results = [deid(source) for source in (path, File(path.read_bytes(), "note.txt"), deid.read(path))]
    assert [result.copy for result in results] == [b"Vive en [CITY]."] * 3
    assert results[0].text == "Vive en [CITY]."
    assert "Esparza" not in repr(File(path.read_bytes(), "note.txt"))
    for wrong in (tmp_path / "missing.txt", File(b"x", "note.unknown")):
        assert deid(wrong).status == "failed"
        with pytest.raises(NotDeidentified, match=r"missing|unknown"):
            _ = deid(wrong).copy


def test_columns_that_a_table_declares_are_replaced_beside_what_is_detected(nlp, table):
    result = Deidentifier(nlp)(table)
    assert result.copy == b"patient,town,note\n[PATIENT],[CITY],Vive en [CITY].\n"
    assert [edit.label for edit in result.edits] == ["PATIENT", "CITY", "CITY"]
    assert CANARY not in repr(result)
    settings = WriteSettings(read=ReadSettings(columns=COLUMNS))
    assert Deidentifier(nlp, documents=settings)(File(TABLE, "visits.csv")).copy == result.copy
    assert nlp("Vive en Puerto Esparza.")._.deid_text == "Vive en [CITY]."  # the pipeline is as it was


def test_a_declared_column_stays_if_the_policy_keeps_its_label(nlp, table):
    deid = Deidentifier(nlp, policy=Policy("towns stay", labels={"CITY": "keep"}))
    assert deid(table).copy == b"patient,town,note\n[PATIENT],Oza,Vive en Puerto Esparza.\n"
    deid = Deidentifier(nlp, policy=Policy("staff stays", labels={"CLINICIAN": "keep"}))
    staff = read_document(TABLE, "visits.csv", ReadSettings(columns={"patient": "label:CLINICIAN"}))
    assert CANARY.encode() in deid(staff).copy


def test_declared_cells_are_numbered_with_what_is_detected(nlp):
    document = read_document(TABLE, "visits.csv", ReadSettings(columns={"town": "label:CITY"}))
    assert b",[CITY_1],Vive en [CITY_2]." in Deidentifier(nlp, style="numbered")(document).copy


def test_warnings_of_a_file_ask_for_a_review(nlp):
    result = Deidentifier(nlp)(File(b"<p>Alta</p><img src='a.png'>", "a.html"))
    assert result.warnings == ["pictures and embedded objects are removed"]
    assert result.status == "review"
    assert result.ok


@pytest.mark.parametrize("patient", ["123", 123.0])
def test_a_copy_that_names_its_patient_elsewhere_is_withheld(nlp, tmp_path, patient):
    with StoreWriter(tmp_path / "local") as writer:
        writer.add_patient("123", [LocalEntry(CANARY, "PATIENT", "patients.surname")])
        writer.commit({})
    letter = OpenDocumentText()
    style = Style(name=CANARY, family="paragraph")  # names of styles are searched, but are no text
    letter.styles.addElement(style)
    letter.text.addElement(P(text="Alta sin dolor.", stylename=style))
    letter.save(str(tmp_path / "letter.odt"))
    result = Deidentifier(nlp, dictionaries=tmp_path / "local")(tmp_path / "letter.odt", {"patient_id": patient})
    assert (result.status, result.ok) == ("withheld", False)
    assert CANARY not in result.reason
    with pytest.raises(NotDeidentified, match="withheld"):
        _ = result.copy


# given detections


def test_given_detections_are_released_without_a_detector(nlp, table):
    deid = Deidentifier(nlp)
    found = {"deid/reviewer": [Evidence(0, 4, "PATIENT", "reviewer")]}
    assert deid.release("Luis vive en Puerto Esparza.", found).text == "[PATIENT] vive en Puerto Esparza."
    start = table.text.index("Oza")
    towns = {"deid/reviewer": [Evidence(start, start + 3, "CITY", "reviewer")]}
    assert deid.release(table, towns).copy == b"patient,town,note\n[PATIENT],[CITY],Vive en Puerto Esparza.\n"
    name = table.text.index(CANARY)
    kept = deid.release(table, towns, kept=[(name, name + len(CANARY))])
    assert kept.copy == f"patient,town,note\n{CANARY},[CITY],Vive en Puerto Esparza.\n".encode()


def test_given_detections_outside_the_text_release_nothing(nlp):
    result = Deidentifier(nlp).release("Luis", {"deid/reviewer": [Evidence(0, 40, "PATIENT", "reviewer")]})
    assert not result.ok


# streams


@pytest.mark.parametrize(("n_process", "start"), [(1, None), (2, None), (2, "spawn")], ids=["here", "two", "spawned"])
def test_a_stream_gives_the_output_of_the_pipeline_in_order(deid, n_process, start):
    notes = [f"{NOTE} Control {i}." for i in range(9)]
    results = list(deid.pipe(notes, n_process=n_process, batch_size=2, start_method=start))
    docs = list(deid.nlp.pipe(notes))
    assert [result.number for result in results] == list(range(9))
    assert [result.text for result in results] == [doc._.deid_text for doc in docs]
    assert results[0].text.startswith(RELEASED)
    assert [result.edits for result in results] == [doc._.deid_edits for doc in docs]
    assert [result.trace for result in results] == [doc._.deid_trace for doc in docs]


@here_and_in_two_processes
def test_texts_docs_and_files_can_share_a_stream_with_their_row_ids(deid, tmp_path, n_process):
    (tmp_path / "a.txt").write_text("NHC: 4471906", encoding="utf8")
    items = [
        (NOTE, "row 1"),
        ((tmp_path / "a.txt", {"patient_id": "7"}), "row 2"),
        (None, "row 3"),
        (deid.nlp.make_doc(NOTE), "row 4"),
        ((File(b"%PDF-broken", "a.pdf"), {}), "row 5"),
    ]
    found = list(deid.pipe(items, as_tuples=True, n_process=n_process))
    assert [row for _, row in found] == [f"row {i}" for i in range(1, 6)]
    assert [result.status for result, _ in found] == ["released", "released", "failed", "released", "failed"]
    assert found[1][0].copy == b"NHC: [MRN]"
    assert found[1][0].ehr == {"patient_id": "7"}
    assert found[3][0].text == RELEASED


@needs_fork
def test_only_the_item_fails_that_ends_its_process_hangs_or_raises(troubled):
    notes = [f"{NOTE} {i}" for i in range(20)]
    notes[4], notes[9], notes[14] = "Ana fatal", "Ana hanging", "Ana raising"
    found = list(troubled.pipe(notes, n_process=2, batch_size=4, seconds=5, start_method="fork"))
    reasons = {result.number: result.reason for result in found if not result.ok}
    assert sorted(reasons) == [4, 9, 14]
    assert "killed" in reasons[4]
    assert "5 seconds" in reasons[9]
    assert "ValueError at test_deidentifier.py" in reasons[14]
    assert "Ana" not in f"{reasons}{found}"
    assert [found[number].error for number in (4, 9, 14, 0)] == ["known", "known", "unexpected", ""]
    with pytest.raises(NotDeidentified, match="killed"):
        _ = found[4].text
    assert [result.text.startswith("Nombre: [PATIENT]") for result in found if result.ok] == [True] * 17


@here_and_in_two_processes
def test_a_value_that_is_no_item_fails_in_its_place(troubled, n_process):
    pairs = [(NOTE, {"patient_id": "7"}), (None, {"patient_id": "8"}), (NOTE, 7)]
    items = [NOTE, None, float("nan"), *pairs, b"Ana", "", 3]
    found = list(troubled.pipe(items, n_process=n_process, start_method="fork" if n_process > 1 else None))
    assert [result.ok for result in found] == [True, False, False, True, False, False, False, True, False]
    assert found[3].ehr == {"patient_id": "7"}
    assert found[4].ehr == {"patient_id": "8"}
    assert "NoneType" in found[1].reason
    assert "float" in found[2].reason


def test_the_ehr_context_reaches_spawned_workers():
    styled = Deidentifier("es", style="surrogate", key=KEY)
    pairs = [(NOTE, {"patient_id": patient}) for patient in ("1", "2", "1")]
    one, two, again = (result.text for result in styled.pipe(pairs))
    assert one == again != two
    assert [result.text for result in styled.pipe(pairs, n_process=2, start_method="spawn")] == [one, two, one]


@here_and_in_two_processes
def test_a_stream_is_read_only_a_few_items_ahead(troubled, n_process):
    read = []
    notes = (read.append(i) or f"{NOTE} {i}" for i in range(100_000))
    found = troubled.pipe(notes, n_process=n_process, batch_size=2, start_method="fork" if n_process > 1 else None)
    assert next(found).ok
    assert len(read) <= 20
    found.close()


@needs_fork
def test_workers_are_kept_between_streams_only_within_the_context(troubled):
    with troubled:
        for _ in range(2):
            assert [result.ok for result in troubled.pipe([NOTE], n_process=2, start_method="fork")] == [True]
            (kept,) = troubled._workers.values()
    assert troubled._workers == {}
    assert not kept._workers._workers
    assert [result.ok for result in troubled.pipe([NOTE], n_process=2, start_method="fork")] == [True]
    assert troubled._workers == {}


def test_a_text_that_is_too_long_for_the_pipeline_fails_with_its_length(troubled):
    before, troubled.nlp.max_length = troubled.nlp.max_length, 100
    try:
        short, long = troubled.pipe(["Control.", "x" * 101])
    finally:
        troubled.nlp.max_length = before
    assert short.ok
    assert "101 characters" in long.reason


@pytest.mark.parametrize(
    "wrong",
    [{"items": "one string"}, {"n_process": 0}, {"batch_size": 0}, {"seconds": -1}, {"start_method": "forkserver"}],
    ids=str,
)
def test_settings_of_a_stream_that_are_out_of_range_are_refused_at_once(troubled, wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        troubled.pipe(**{"items": [NOTE], **wrong})


@needs_fork
def test_processes_are_forked_only_where_that_is_safe(deid, troubled):
    if threading.active_count() == 1:
        assert choose_start(deid.nlp) == "fork"
    assert choose_start(troubled.nlp) == "spawn"  # a component of an unknown package
    spawned = spacy.blank("es")
    spawned.add_pipe("deid_surprisal")
    assert choose_start(spawned) == "spawn"
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    assert choose_start(deid.nlp) == "spawn"
    done.set()
    thread.join()
