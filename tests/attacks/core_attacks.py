"""Attacks on Docs and on the Python interface."""

from functools import cache
from pathlib import Path

from attacks.catalogue import Outcome, attack
from spacy.language import Language
from spacy.tokens import Doc

import spacy_deid
from spacy_deid.context import set_edits
from spacy_deid.errors import NotDeidentified
from spacy_deid.policies import Policy

EDITS, DECISIONS = "deid/edits", "deid/decisions"
NOTE = "Nombre: Aurelio Bustarviejo Linde. NHC: 4471906. Soplo 2/6."


@cache
def pipeline() -> Language:
    """The Spanish pipeline, loaded once."""
    return spacy_deid.load("es")


def read_text(doc: Doc, *planted: str) -> Outcome:
    """What the getters of a Doc still give of the planted strings."""
    try:
        released = "\n".join([doc._.deid_text, repr(doc._.deid_edits)])
    except NotDeidentified:
        return Outcome(len(planted), 0, "refused")
    return Outcome(len(planted), sum(word in released for word in planted))


@attack("Doc: all edits are deleted after the pipeline ran")
def delete_edits(folder: Path) -> Outcome:
    """Without edits the released text would be the original."""
    doc = pipeline()(NOTE)
    doc.user_data[EDITS] = []
    return read_text(doc, "Aurelio", "Bustarviejo", "4471906")


@attack("Doc: one edit is deleted after the pipeline ran")
def delete_one_edit(folder: Path) -> Outcome:
    """Each edit that is missing releases one value."""
    doc = pipeline()(NOTE)
    del doc.user_data[EDITS][0]
    return read_text(doc, "Bustarviejo")


@attack("Doc: one action becomes 'keep' and its edit is deleted")
def keep_one_action(folder: Path) -> Outcome:
    """The action and the edit agree with each other, but not with the receipt."""
    doc = pipeline()(NOTE)
    del doc.user_data[EDITS][0]
    doc.user_data[DECISIONS]["actions"][0][3] = "keep"
    return read_text(doc, "Bustarviejo")


@attack("Doc: edits and decisions of another note are put in")
def swap_decisions(folder: Path) -> Outcome:
    """The other note has no identifiers, so its edits would release this one as it is."""
    nlp = pipeline()
    doc = nlp(NOTE)
    doc.user_data.update(nlp("Soplo 2/6. " * 5).user_data)
    return read_text(doc, "Bustarviejo", "4471906")


@attack("Doc: fewer edits than were decided on are stored with a valid receipt")
def sign_fewer_edits(folder: Path) -> Outcome:
    """A component of one's own may call `set_edits`; the guard compares edits, actions and detections all the same."""
    doc = pipeline()(NOTE)
    set_edits(doc, doc._.deid_edits[1:], doc.user_data[DECISIONS])
    return read_text(doc, "Bustarviejo")


@attack("Policy: CLINICIAN is kept, and the classifier takes the patient for a clinician")
def keep_a_mistaken_role(folder: Path) -> Outcome:
    """A label that one detector gives, however sure of it, releases no name."""
    nlp = spacy_deid.load("es")
    nlp.get_pipe("deid_surrogate").set_policy(Policy("own", "replace", {"CLINICIAN": "keep"}))
    return read_text(nlp("Paciente Mohamed El Khattabi"), "Mohamed", "Khattabi")


@attack("Doc: an empty group is set by hand in place of a disabled detector")
def forge_empty_group(folder: Path) -> Outcome:
    """An empty group that no detector wrote is no proof that the detector ran."""
    nlp = pipeline()
    doc = nlp.make_doc(NOTE)
    for key in ("deid/ner", "deid/patterns", "deid/ruler"):
        doc.spans[key] = []
    return run_without_detectors(nlp, doc)


@attack("Doc: groups of an earlier run stand in for disabled detectors")
def reuse_groups(folder: Path) -> Outcome:
    """What another run left on a Doc, as before the dictionaries were opened, is no proof that detectors ran."""
    nlp = pipeline()
    doc = nlp(NOTE)
    return run_without_detectors(nlp, doc)


def run_without_detectors(nlp: Language, doc: Doc) -> Outcome:
    """Decide on a Doc without running a detector."""
    try:
        with nlp.select_pipes(disable=["deid_ner", "deid_patterns", "deid_ruler"]):
            return read_text(nlp(doc), "Bustarviejo", "4471906")
    except NotDeidentified:
        return Outcome(2, 0, "refused")


@attack("Doc: all detections of one detector are deleted after the pipeline ran")
def delete_detections(folder: Path) -> Outcome:
    """The getter must notice that the detections are not those that the decision was made on."""
    doc = pipeline()(NOTE)
    del doc.spans["deid/ner"]
    return read_text(doc, "Bustarviejo")
