"""Guesses of the classifier that cannot have their label are relabelled, cut or let go."""

import pytest
import spacy

from spacy_deid.labels import LABELS
from spacy_deid.ml.postprocess import admit, read_admission

NUMBERS = list(LABELS)


def decided(lang: str, text: str, guess: str, label: str, labels: list[str] = NUMBERS) -> list[tuple[str, str]]:
    """What becomes of a guess: texts and labels."""
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    doc = nlp(text)
    at = text.index(guess)
    span = doc.char_span(at, at + len(guess))
    found = admit(doc, [(span.start, span.end, labels.index(label), 0.9)], labels)
    return [(doc[start:end].text, labels[number]) for start, end, number, _ in found]


@pytest.mark.parametrize(
    ("lang", "text", "guess", "label"),
    [
        ("es", "Valorado por medicina de familia.", "familia", "RELATIVE"),
        ("es", "Aseguradora: póliza 1", "Aseguradora", "PROFESSION"),
        ("en", "Referred to family medicine today", "family", "RELATIVE"),
        ("en", "Date: 12/06/2025 08:35", "35", "AGE"),
        ("fi", "Vakuutusyhtiö: puuttuu", "Vakuutusyhtiö", "ORGANIZATION"),
    ],
)
def test_what_identifies_nobody_is_let_go(lang, text, guess, label):
    assert decided(lang, text, guess, label) == []


@pytest.mark.parametrize(
    ("lang", "text", "guess", "label"),
    [
        ("es", "Vive con su familia en Lugo", "familia", "RELATIVE"),
        ("es", "Medicina de familia Familia Sanz", "Familia Sanz", "PATIENT"),
        ("es", "Paciente Viudo Sanz", "Viudo Sanz", "PATIENT"),
        ("es", "Aseguradora de profesión", "Aseguradora", "PROFESSION"),
        ("es", "pasaporte ABCDEF", "ABCDEF", "NATIONAL_ID"),
        ("es", "del 3/5/2019-8/6/2019", "3/5/2019-8/6/2019", "DATE"),
        ("es", "basal 2010/2011/2012", "2010/2011/2012", "DATE"),
        ("en", "aged 35", "35", "AGE"),
        ("de", "Familie", "Familie", "RELATIVE"),
    ],
)
def test_what_may_identify_keeps_its_label(lang, text, guess, label):
    assert decided(lang, text, guess, label) == [(guess, label)]


@pytest.mark.parametrize(
    ("text", "guess", "label", "instead"),
    [
        ("minero, viudo, de 66 años", "viudo", "MRN", "OTHER"),
        ("tarjeta sanitaria caducada", "caducada", "INSURANCE_ID", "OTHER"),
        ("póliza 5520-117-0048", "5520-117-0048", "DATE", "ID_OTHER"),
        ("Dr. 373708821", "373708821", "CLINICIAN", "ID_OTHER"),
    ],
)
def test_what_cannot_be_what_it_says_stays_covered_under_another_label(text, guess, label, instead):
    assert decided("es", text, guess, label) == [(guess, instead)]


def test_a_label_that_the_classifier_does_not_have_is_not_given():
    assert decided("es", "viudo", "viudo", "MRN", ["MRN"]) == [("viudo", "MRN")]


def test_an_address_ends_before_postal_code_and_telephone_number():
    text = "C/ Mayor 12, 28013 Madrid. Tel. 612 345 678"
    parts = [("C/ Mayor 12", "STREET"), ("28013", "TERRITORY"), ("Madrid", "TERRITORY"), ("612 345 678", "PHONE")]
    assert decided("es", text, text, "STREET") == parts


@pytest.mark.parametrize("text", ["Calle Pancasinos, 14, #63462 6 A", "Calle Móvil 3", "Plaza 28013"])
def test_an_address_without_them_is_left_whole(text):
    assert decided("es", text, text, "STREET") == [(text, "STREET")]


def test_a_name_ends_before_the_next_key_of_the_record():
    assert decided("es", "Braulio Sanz NHC", "Braulio Sanz NHC", "PATIENT") == [("Braulio Sanz", "PATIENT")]
    parts = [("Braulio Sanz", "PATIENT"), ("118340", "ID_OTHER")]
    assert decided("es", "Braulio Sanz NHC: 118340", "Braulio Sanz NHC: 118340", "PATIENT") == parts


@pytest.mark.parametrize("lang", ["es", "en", "fi", "de"])
def test_conditions_name_known_labels(lang):
    rules = read_admission(lang)
    named = rules.numbers | rules.names | rules.dates | rules.ages | rules.streets
    assert named
    assert named | set(rules.contacts.values()) | set(rules.places.values()) <= set(LABELS)
    assert all(word == word.lower() for word in [*rules.nothing, *rules.keys, *rules.describing, *rules.ends])
