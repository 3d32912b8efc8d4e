import pytest
import spacy

from spacy_deid.lang.inflection import forms_of_names
from spacy_deid.ml.postprocess import propagate_names
from spacy_deid.tokenizer import make_clinical_tokenizer

PERSON, PLACE = 0, 1


@pytest.fixture(scope="module")
def nlp():
    nlp = spacy.blank("es")
    nlp.tokenizer = make_clinical_tokenizer()(nlp)
    return nlp


def echoes(nlp, text, name, label=PERSON):
    doc = nlp.make_doc(text)
    start = text.index(name)
    span = doc.char_span(start, start + len(name))
    found = propagate_names(doc, [(span.start, span.end, label, 0.9)], {PERSON})
    return [(doc[s:e].text, number, score) for s, e, number, score in found]


def test_a_name_from_the_header_is_found_in_the_prose(nlp):
    assert echoes(nlp, "Nombre: Nadia Sanz\nNadia duerme mal.", "Nadia Sanz") == [("Nadia", PERSON, 0.9)]


def test_capitals_do_not_matter(nlp):
    assert echoes(nlp, "Nombre: Nadia\nNADIA duerme mal.", "Nadia") == [("NADIA", PERSON, 0.9)]


def test_neighbouring_words_of_the_name_are_one_span(nlp):
    text = "Nombre: Nadia Sanz\nHoy Nadia Sanz duerme."
    assert [found[0] for found in echoes(nlp, text, "Nadia Sanz")] == ["Nadia Sanz"]


@pytest.mark.parametrize(
    "text",
    [
        "Nombre: Ana del Cruz\nEn la cruz roja. Cruz",  # a common word of this note
        "Nombre: Ana del Cruz\nDel resto, nada; del todo.",  # a particle
        "Nombre: Ana del Cruz\nvive con ana",  # in lower case
    ],
)
def test_what_is_not_written_like_a_name_is_left_alone(nlp, text):
    assert echoes(nlp, text, "Ana del Cruz") == []


def test_a_note_in_capitals_has_no_echo(nlp):
    assert echoes(nlp, "NOMBRE: ANA DEL CRUZ\nDOLOR DEL BRAZO. CRUZ ROJA.", "ANA DEL CRUZ") == []


def test_short_words_are_left_alone(nlp):
    assert echoes(nlp, "Nombre: J. A.\nGrupo A. Grado J.", "J. A.") == []


def test_names_of_places_do_not_echo(nlp):
    assert echoes(nlp, "Nombre: Soria\nSoria", "Soria", PLACE) == []


def test_nothing_found_has_no_echo(nlp):
    assert propagate_names(nlp.make_doc("Nadia duerme"), [], {PERSON}) == []


def test_a_name_is_found_in_the_cases_of_its_language():
    nlp = spacy.blank("fi")
    doc = nlp.make_doc("Nimi VIRTANEN Matti\nSoitettu Virtaselle, Matin vointi hyvä. Kiven kanssa kaatunut.")
    found = propagate_names(doc, [(1, 3, PERSON, 0.9)], {PERSON}, forms_of_names("fi"))
    assert [doc[start:end].text for start, end, *_ in found] == ["Virtaselle", "Matin"]
    assert propagate_names(doc, [(1, 3, PERSON, 0.9)], {PERSON}) == []
