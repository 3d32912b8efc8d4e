"""The released text: there is none unless every step ran, whatever an error handler let pass."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.util import ignore_error

from spacy_deid import NotDeidentified, install_extensions
from spacy_deid.spans import MERGED, Evidence, reopen_groups, write_evidence

TEXT = "Paciente: Ana Ruiz. Tel. 600 123 456. Médico: Luis Mas."
RELEASED = "Paciente: [PATIENT]. Tel. 600 123 456. Médico: [CLINICIAN]."


class Broken:
    """A detector that raises: what a bug, a full memory or a lost model looks like."""

    key = "deid/broken"

    def __call__(self, doc):
        raise RuntimeError("no model")


def make(*names):
    nlp = spacy.blank("es")
    ruler = nlp.add_pipe("deid_ruler")
    ruler.add_terms(["Ana Ruiz"], "PATIENT", name="patients")
    ruler.add_terms(["Luis Mas"], "CLINICIAN", name="staff")
    for name in names:
        nlp.add_pipe(name)
    return nlp


@pytest.fixture
def nlp():
    return make("deid_merge", "deid_surrogate")


@pytest.fixture
def broken():
    if not spacy.Language.has_factory("test_broken"):
        spacy.Language.factory("test_broken", func=lambda nlp, name: Broken())
    return make("test_broken", "deid_merge", "deid_surrogate")


def test_a_finished_pipeline_releases_a_text(nlp):
    assert nlp(TEXT)._.deid_text == RELEASED


@pytest.mark.parametrize("getter", ["deid_text", "deid_edits", "deid_trace"])
@pytest.mark.parametrize(
    ("names", "missing"),
    [([], "deid_merge"), (["deid_merge"], "deid_surrogate")],
    ids=["nothing merged", "nothing edited"],
)
def test_every_getter_raises_while_a_step_is_missing(names, missing, getter):
    doc = make(*names)(TEXT)
    with pytest.raises(NotDeidentified, match=f"'{missing}' did not run"):
        getattr(doc._, getter)
    with pytest.raises(NotDeidentified, match=f"'{missing}' did not run"):
        doc._.deid_map(0)


def test_a_bare_doc_has_no_released_text():
    with pytest.raises(NotDeidentified, match="deid_merge"):
        spacy.blank("es")(TEXT)._.deid_text  # noqa: B018


def test_a_detector_that_raises_stops_the_pipeline(broken):
    with pytest.raises(RuntimeError, match="no model"):
        broken(TEXT)


def test_ignoring_errors_does_not_release_what_a_detector_did_not_read(broken):
    broken.set_error_handler(ignore_error)
    assert list(broken.pipe([TEXT])) == []
    doc = broken(TEXT)
    assert doc.text == TEXT
    with pytest.raises(NotDeidentified):
        doc._.deid_text  # noqa: B018


def test_ignoring_errors_of_the_last_step_releases_nothing(nlp):
    nlp.set_error_handler(ignore_error)
    nlp.get_pipe("deid_surrogate").set_style(lambda spans: [])
    with pytest.raises(NotDeidentified, match="'deid_surrogate' did not run"):
        nlp(TEXT)._.deid_text  # noqa: B018


def test_a_disabled_detector_releases_nothing(nlp):
    with nlp.select_pipes(disable="deid_ruler"), pytest.raises(NotDeidentified, match="deid/ruler"):
        nlp(TEXT)


@pytest.mark.parametrize("group", [[], None], ids=["no detector wrote it", "of an earlier run"])
def test_a_group_that_the_detector_did_not_write_is_no_receipt(nlp, group):
    doc = nlp(TEXT) if group is None else nlp.make_doc(TEXT)
    if group is not None:
        doc.spans["deid/ruler"] = group
    with nlp.select_pipes(disable="deid_ruler"), pytest.raises(NotDeidentified, match="deid/ruler"):
        nlp(doc)
    if group is not None:
        with pytest.raises(NotDeidentified):
            doc._.deid_text  # noqa: B018


def test_a_doc_goes_through_the_whole_pipeline_again(nlp):
    doc = nlp(TEXT)
    doc.spans["deid/ruler"] = []
    assert nlp(nlp(doc))._.deid_text == RELEASED


def test_a_group_of_an_earlier_run_is_known_after_bytes_and_merged_again_on_request(nlp):
    doc = Doc(nlp.vocab).from_bytes(nlp(TEXT).to_bytes())
    with nlp.select_pipes(disable="deid_ruler"):
        with pytest.raises(NotDeidentified, match="deid/ruler are left from an earlier run"):
            nlp(doc)
        reopen_groups(doc)
        assert nlp(doc)._.deid_text == RELEASED


def test_a_removed_detector_releases_nothing(nlp):
    nlp.set_error_handler(ignore_error)
    nlp.remove_pipe("deid_ruler")
    with pytest.raises(NotDeidentified):
        nlp(TEXT)._.deid_text  # noqa: B018


def test_a_detector_that_is_loaded_disabled_releases_nothing(nlp, tmp_path):
    nlp.get_pipe("deid_ruler").drop_lists()
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path, disable=["deid_ruler"])
    with pytest.raises(NotDeidentified, match="deid/ruler"):
        loaded(TEXT)


def test_a_group_that_was_taken_out_afterwards_is_missed(nlp):
    doc = nlp(TEXT)
    del doc.spans["deid/ruler"]
    with pytest.raises(NotDeidentified, match="deid/ruler are missing"):
        doc._.deid_text  # noqa: B018


def test_a_detector_that_ran_after_merging_is_noticed(nlp):
    doc = nlp(TEXT)
    write_evidence(doc, "deid/late", [Evidence(25, 36, "PHONE", "late")])
    with pytest.raises(NotDeidentified, match="deid/late have detections that 'deid_merge' did not merge"):
        doc._.deid_text  # noqa: B018


def test_a_merged_group_that_was_assigned_again_is_no_receipt(nlp):
    doc = nlp(TEXT)
    doc.spans[MERGED] = list(doc.spans[MERGED])
    with pytest.raises(NotDeidentified, match="deid_merge"):
        doc._.deid_text  # noqa: B018


@pytest.mark.filterwarnings("ignore::UserWarning")  # spaCy says which user_data it drops
def test_docs_that_were_joined_have_no_released_text(nlp):
    joined = Doc.from_docs([nlp(TEXT), nlp(TEXT)])
    with pytest.raises(NotDeidentified):
        joined._.deid_text  # noqa: B018


def test_a_part_of_a_doc_has_no_released_text(nlp):
    part = nlp(TEXT)[3:9].as_doc(copy_user_data=True)
    with pytest.raises(NotDeidentified):
        part._.deid_text  # noqa: B018


def test_released_text_survives_bytes_and_a_docbin_with_user_data(nlp):
    doc = nlp(TEXT)
    assert Doc(nlp.vocab).from_bytes(doc.to_bytes())._.deid_text == RELEASED
    kept = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (loaded,) = DocBin(store_user_data=True).from_bytes(kept).get_docs(nlp.vocab)
    assert loaded._.deid_text == RELEASED
    assert loaded._.deid_trace == doc._.deid_trace


def test_a_docbin_without_user_data_has_no_released_text(nlp):
    (loaded,) = DocBin().from_bytes(DocBin(docs=[nlp(TEXT)]).to_bytes()).get_docs(nlp.vocab)
    with pytest.raises(NotDeidentified, match="'deid_surrogate' did not run"):
        loaded._.deid_text  # noqa: B018


def test_offsets_are_carried_both_ways(nlp):
    doc = nlp(TEXT)
    there = doc._.deid_map(TEXT.index("Tel"))
    assert doc._.deid_text[there:].startswith("Tel")
    assert doc._.deid_map(there, side="released") == TEXT.index("Tel")


def test_the_trace_says_why_without_saying_what(nlp):
    rows = nlp(TEXT)._.deid_trace
    assert [(row["start"], row["end"], row["label"], row["action"]) for row in rows] == [
        (10, 18, "PATIENT", "replace"),
        (46, 54, "CLINICIAN", "replace"),
    ]
    assert {row["policy"] for row in rows} == {"strict"}
    assert {row["style"] for row in rows} == {"tag"}
    (found,) = rows[0]["evidence"]
    assert found["source"] == "deid_ruler"
    assert found["rule"] == "patients"
    assert found["version"]
    assert not {"Ana", "Ruiz", "Luis", "Mas"} & {word for row in rows for word in str(row).replace("'", " ").split()}


def test_the_trace_holds_every_detection_that_touches_a_span():
    nlp = make()
    doc = nlp(TEXT)
    write_evidence(doc, "deid/x", [Evidence(0, 14, "OTHER", "x"), Evidence(14, 18, "PATIENT", "x")])
    nlp.add_pipe("deid_merge", config={"sources": ["deid/ruler", "deid/x"]})(doc)
    nlp.add_pipe("deid_surrogate")(doc)
    touching = {(row["start"], row["end"]): len(row["evidence"]) for row in doc._.deid_trace}
    assert touching == {(0, 9): 1, (10, 18): 3, (46, 54): 1}


def test_ehr_context_belongs_to_its_doc(nlp):
    doc, other = nlp.make_doc("a"), nlp.make_doc("b")
    doc._.ehr["patient_id"] = "7"
    assert doc._.ehr == {"patient_id": "7"}
    assert other._.ehr == {}


@pytest.mark.parametrize("name", ["ehr", "deid_text", "deid_edits", "deid_trace", "deid_warnings", "deid_map"])
def test_an_extension_that_was_removed_is_installed_again(nlp, name):
    doc = nlp(TEXT)
    Doc.remove_extension(name)
    install_extensions()
    assert Doc.has_extension(name)
    assert doc._.deid_text == RELEASED
    assert doc._.deid_map(len(TEXT)) == len(RELEASED)


def test_installing_the_extensions_again_changes_nothing(nlp):
    doc = nlp(TEXT)
    install_extensions()
    assert doc._.deid_text == RELEASED


def test_detections_that_came_after_the_edits_leave_no_released_text(nlp):
    doc = nlp(TEXT)
    nlp.get_pipe("deid_ruler").add_terms(["Tel"], "HOSPITAL", name="late")
    nlp.get_pipe("deid_ruler")(doc)
    with pytest.raises(NotDeidentified, match="were changed after the edits were made"):
        _ = doc._.deid_text


def test_detections_that_were_merged_after_the_edits_leave_no_released_text(nlp):
    doc = nlp(TEXT)
    nlp.get_pipe("deid_ruler").add_terms(["Tel"], "HOSPITAL", name="late")
    with nlp.select_pipes(disable="deid_surrogate"):
        nlp(doc)
    with pytest.raises(NotDeidentified, match="were changed after the edits were made"):
        _ = doc._.deid_text
    assert nlp(doc)._.deid_text == RELEASED.replace("Tel", "[HOSPITAL]")


def test_edits_of_another_doc_are_refused(nlp):
    other = nlp(TEXT.replace("Ana Ruiz", "hoy"))
    other.user_data.update(nlp(TEXT).user_data)
    with pytest.raises(NotDeidentified, match="were changed after the edits were made"):
        _ = other._.deid_text


@pytest.mark.parametrize(("label", "released"), [("PATIENT", False), ("DISEASE", True)])
def test_identifiers_that_an_entity_ruler_adds_at_the_end_are_not_passed_over(nlp, label, released):
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": label, "pattern": "Médico"}])
    doc = nlp(TEXT)
    assert label in {ent.label_ for ent in doc.ents}
    if released:
        assert doc._.deid_text == RELEASED
    else:
        with pytest.raises(NotDeidentified, match="PATIENT at 38:44 was added"):
            _ = doc._.deid_text


def test_retokenization_after_the_edits_changes_nothing(nlp):
    doc = nlp(TEXT)
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc.ents[0])
    assert doc._.deid_text == RELEASED
