"""A pipeline run on a document."""

import pytest
from odf.opendocument import OpenDocumentText
from odf.style import Style
from odf.text import P

import spacy_deid
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry
from spacy_deid.documents import ReadSettings, read_document
from spacy_deid.errors import DeidError, NotDeidentified
from spacy_deid.loading import use_dictionaries
from spacy_deid.policies import Policy
from spacy_deid.redaction import redact

CANARY = "Zubeldiagoyena"
TABLE = f"patient,town,note\n{CANARY},Oza,Vive en Puerto Esparza.\n".encode()
COLUMNS = {"patient": "label:PATIENT", "town": "label:CITY"}


@pytest.fixture
def document():
    return read_document(TABLE, "visits.csv", ReadSettings(columns=COLUMNS))


def test_what_a_table_declares_is_replaced_beside_what_is_found(nlp, document):
    redacted = spacy_deid.redact(document, nlp)
    assert redacted.data == b"patient,town,note\n[PATIENT],[CITY],Vive en [CITY].\n"
    assert [edit.label for edit in redacted.edits] == ["PATIENT", "CITY", "CITY"]
    assert CANARY not in repr(redacted)


def test_the_pipeline_is_afterwards_as_it_was(nlp, document):
    redact(document, nlp)
    assert nlp("Vive en Puerto Esparza.")._.deid_text == "Vive en [CITY]."


def test_a_declared_column_stays_where_the_policy_keeps_its_label(nlp, document):
    nlp.get_pipe("deid_surrogate").set_policy(Policy("towns stay", labels={"CITY": "keep"}))
    assert redact(document, nlp).data == b"patient,town,note\n[PATIENT],Oza,Vive en Puerto Esparza.\n"


def test_a_declared_column_of_staff_stays_where_the_policy_keeps_clinicians(nlp):
    nlp.get_pipe("deid_surrogate").set_policy(Policy("staff stays", labels={"CLINICIAN": "keep"}))
    document = read_document(TABLE, "visits.csv", ReadSettings(columns={"patient": "label:CLINICIAN"}))
    assert CANARY.encode() in redact(document, nlp).data


def test_declared_cells_are_numbered_with_what_is_found(nlp):
    nlp.get_pipe("deid_surrogate").set_style("numbered")
    document = read_document(TABLE, "visits.csv", ReadSettings(columns={"town": "label:CITY"}))
    assert b",[CITY_1],Vive en [CITY_2]." in redact(document, nlp).data


def test_there_is_no_copy_if_a_step_did_not_run(nlp, document):
    nlp.remove_pipe("deid_surrogate")
    with pytest.raises(NotDeidentified):
        redact(document, nlp)


def test_warnings_come_with_the_copy(nlp):
    page = read_document(b"<p>Alta</p><img src='a.png'>", "a.html")
    assert redact(page, nlp).warnings == ("pictures and embedded objects are removed",)


@pytest.mark.parametrize("patient", ["123", 123.0])
def test_a_copy_that_names_its_patient_elsewhere_is_withheld(nlp, tmp_path, patient):
    with StoreWriter(tmp_path / "local") as writer:
        writer.add_patient("123", [LocalEntry(CANARY, "PATIENT", "patients.surname")])
        writer.commit({})
    use_dictionaries(nlp, tmp_path / "local")
    letter = OpenDocumentText()
    style = Style(name=CANARY, family="paragraph")  # names of styles are searched, but are no text
    letter.styles.addElement(style)
    letter.text.addElement(P(text="Alta sin dolor.", stylename=style))
    letter.save(str(tmp_path / "letter.odt"))
    document = read_document((tmp_path / "letter.odt").read_bytes(), "letter.odt")
    with pytest.raises(DeidError, match="withheld"):
        redact(document, nlp, ehr={"patient_id": patient})
