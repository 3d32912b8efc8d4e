"""The benchmark of kept-out eponyms marks what it fills in, and hides the names from the dictionary."""

import random

from benchmarks.eponyms import Given, Hidden, flagging, rename, write_case
from spacy_deid.medical.dictionary import MedicalDictionary
from spacy_deid.synth.authored import AuthoredNote, Mark, Person


def test_a_mention_spans_the_head_word_and_the_flag_only_the_name():
    case, flags = write_case("Sairastaa [[{n.gen} tautia]].", ["Crohn"], "fi", person=False)
    ((start, end),) = case.medical
    assert case.text[start:end] == "Crohnin tautia"
    assert [case.text[start:end] for start, end in flags] == ["Crohnin"]


def test_a_person_is_flagged_as_a_whole():
    case, flags = write_case("Patient [[{n}, John]] came.", ["Crohn"], "en", person=True)
    assert flags == case.phi
    assert [case.text[start:end] for start, end in flags] == ["Crohn, John"]


def test_the_dictionary_does_not_find_what_is_hidden():
    hidden = Hidden(MedicalDictionary.load("en"))
    text = "Parkinson's disease"
    assert hidden.find(text)
    hidden.texts = ["Parkinson"]
    assert not hidden.find(text)


def test_surnames_of_a_note_are_replaced_consistently_in_their_case():
    text = "QUILLFEATHER, Ann. Mrs Quillfeather came."
    person = Person("patient", ("Ann",), ("Quillfeather",), "female")
    marks = (Mark(0, 17, "PATIENT", "patient"), Mark(23, 35, "PATIENT", "patient"))
    note = AuthoredNote("en-t01", 1, text, marks, {"patient": person})
    case, flags = rename(note, ["Crohn"], random.Random(1))
    assert case.text == "CROHN, Ann. Mrs Crohn came."
    assert [case.text[start:end] for start, end, _ in flags] == ["CROHN, Ann", "Crohn"]
    assert case.phi == [flag[:2] for flag in flags]


def test_the_detector_flags_only_the_given_spans():
    (doc,) = Given(flagging("en"), [[(4, 11, "PERSON")]]).pipe(iter(["Dr. Xanthou and Quillfeather"]))
    assert [ent.text for ent in doc.ents] == ["Xanthou"]
