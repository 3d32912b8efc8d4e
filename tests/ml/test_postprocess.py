"""Guesses of the classifier that cannot have their label are relabelled, cut or let go."""

import pytest
import spacy

from spacy_deid.labels import LABELS
from spacy_deid.lang.inflection import forms_of_names
from spacy_deid.ml.postprocess import (
    admit,
    join_names,
    propagate_names,
    read_admission,
    settle_roles,
    split_contacts,
    trim,
)
from spacy_deid.tokenizer import make_clinical_tokenizer

PATIENT, CLINICIAN, CITY = 0, 1, 2
PERSONS = {PATIENT, CLINICIAN}


@pytest.fixture(scope="module")
def nlp():
    return spacy.blank("en")


def test_parts_of_a_name_with_two_roles_become_one_span_of_the_longer_part(nlp):
    doc = nlp.make_doc("Ada Obi Okafor came")
    assert join_names(doc, [(0, 1, CLINICIAN, 0.9), (1, 3, PATIENT, 0.8)], PERSONS) == [(0, 3, PATIENT, 0.8)]


@pytest.mark.parametrize(
    ("text", "labels"),
    [("hermana Ana", (PATIENT, CLINICIAN)), ("Ada Ana", (PATIENT, PATIENT)), ("Ada Reno", (PATIENT, CITY))],
)
def test_kin_words_same_roles_and_places_are_left_apart(nlp, text, labels):
    spans = [(i, i + 1, label, 0.9) for i, label in enumerate(labels)]
    assert join_names(nlp.make_doc(text), spans, PERSONS) == spans


def test_names_with_a_word_between_are_left_apart(nlp):
    spans = [(0, 1, PATIENT, 0.9), (2, 3, CLINICIAN, 0.9)]
    assert join_names(nlp.make_doc("Ada and Obi"), spans, PERSONS) == spans


def test_closing_marks_go_and_opening_ones_stay(nlp):
    doc = nlp.make_doc(", Ada ( 212 ) .")
    assert trim(doc, [(0, 2, PATIENT, 0.9), (2, 5, CITY, 0.9), (5, 6, CITY, 0.9)]) == [
        (1, 2, PATIENT, 0.9),
        (2, 5, CITY, 0.9),
    ]


def test_a_part_that_was_found_by_another_mention_completes_a_name_of_the_same_role(nlp):
    doc, echo = nlp.make_doc("Ada Okafor came"), (0, 1, PATIENT, 0.9)
    assert join_names(doc, [echo, (1, 2, PATIENT, 0.8)], PERSONS, {echo}) == [(0, 2, PATIENT, 0.8)]


def test_a_name_has_one_role_in_a_note(nlp):
    doc = nlp.make_doc("Okafor Okafor Okafor Reno")
    spans = [(0, 1, CLINICIAN, 0.9), (1, 2, PATIENT, 0.6), (2, 3, CLINICIAN, 0.5), (3, 4, CITY, 0.9)]
    assert [label for _, _, label, _ in settle_roles(doc, spans, PERSONS)] == [CLINICIAN] * 3 + [CITY]


def test_other_words_of_the_same_family_keep_their_role(nlp):
    doc = nlp.make_doc("Ada Okafor Obi Okafor")
    spans = [(0, 2, CLINICIAN, 0.9), (2, 4, PATIENT, 0.9)]
    assert settle_roles(doc, spans, PERSONS) == spans


@pytest.mark.parametrize("text", ["Okafor Ada Okafor Okafor Dr. Okafor", "Okafor Ada Okafor Okafor Mika Okafor"])
def test_neither_a_title_nor_a_longer_name_is_voted_down(text, nlp):
    doc = nlp.make_doc(text)
    last = (len(doc) - (1 if "Dr" in text else 2), len(doc), CLINICIAN, 0.9)
    spans = [(0, 1, PATIENT, 0.9), (1, 3, PATIENT, 0.9), (3, 4, PATIENT, 0.9), last]
    assert settle_roles(doc, spans, PERSONS) == spans


def test_a_bare_surname_takes_the_role_of_the_full_name(nlp):
    doc = nlp.make_doc("Ada Okafor and Okafor")
    spans = [(0, 2, CLINICIAN, 0.9), (3, 4, PATIENT, 0.7)]
    assert [label for _, _, label, _ in settle_roles(doc, spans, PERSONS)] == [CLINICIAN, CLINICIAN]


def test_initials_vote_for_nobody(nlp):
    doc = nlp.make_doc("A B")
    spans = [(0, 1, CLINICIAN, 0.9), (1, 2, PATIENT, 0.9)]
    assert settle_roles(doc, spans, PERSONS) == spans


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("ana@x.es eva@x.es", ["ana@x.es", "eva@x.es"]),
        ("956 013 059 y 956 013 060", ["956 013 059", "956 013 060"]),
        ("ext. 12 y 13", ["ext. 12 y 13"]),
        ("ana@x.es", ["ana@x.es"]),
        ("956 013 059", ["956 013 059"]),
    ],
)
def test_two_contacts_side_by_side_are_two(text, parts):
    nlp = spacy.blank("es")
    nlp.tokenizer = make_clinical_tokenizer()(nlp)
    doc = nlp.make_doc(text)
    found = split_contacts(doc, [(0, len(doc), CITY, 0.9)], {CITY})
    assert [doc[start:end].text for start, end, *_ in found] == parts
    assert split_contacts(doc, [(0, len(doc), CITY, 0.9)], set()) == [(0, len(doc), CITY, 0.9)]


def test_the_word_for_number_is_no_part_of_a_name():
    nlp = spacy.blank("es")
    nlp.tokenizer = make_clinical_tokenizer()(nlp)
    doc = nlp.make_doc("Begoña IzaNºCol: 28")
    assert trim(doc, [(0, 3, CLINICIAN, 0.9)]) == [(0, 2, CLINICIAN, 0.9)]


@pytest.mark.parametrize(
    ("text", "first", "left"),
    [
        ("Hb 13,2 03/05/2019", "2", "03/05/2019"),
        ("Hb\t13,2\t03/05/2019", "2", "03/05/2019"),
        ("el 03.05.2019 12:30", "2019", "2019 12:30"),  # of a date, not of a result
        ("NHC 13,2345 03", "2345", "2345 03"),
        ("tiene 13,2 .", "2", "2 ."),  # nothing else would be left
    ],
)
def test_decimals_of_the_result_before_a_date_are_not_its_own(text, first, left):
    nlp = spacy.blank("es")
    doc = make_clinical_tokenizer()(nlp)(text)
    start = next(token.i for token in doc if token.text == first)
    assert [doc[a:b].text for a, b, *_ in trim(doc, [(start, len(doc), CITY, 0.9)])] == [left]


PERSON, PLACE = 0, 1


@pytest.fixture(scope="module")
def clinical_nlp():
    nlp = spacy.blank("es")
    nlp.tokenizer = make_clinical_tokenizer()(nlp)
    return nlp


def echoes(clinical_nlp, text, name, label=PERSON):
    doc = clinical_nlp.make_doc(text)
    start = text.index(name)
    span = doc.char_span(start, start + len(name))
    found = propagate_names(doc, [(span.start, span.end, label, 0.9)], {PERSON})
    return [(doc[s:e].text, number, score) for s, e, number, score in found]


def test_a_name_from_the_header_is_found_in_the_prose(clinical_nlp):
    assert echoes(clinical_nlp, "Nombre: Nadia Sanz\nNadia duerme mal.", "Nadia Sanz") == [("Nadia", PERSON, 0.9)]


def test_capitals_do_not_matter(clinical_nlp):
    assert echoes(clinical_nlp, "Nombre: Nadia\nNADIA duerme mal.", "Nadia") == [("NADIA", PERSON, 0.9)]


def test_neighbouring_words_of_the_name_are_one_span(clinical_nlp):
    text = "Nombre: Nadia Sanz\nHoy Nadia Sanz duerme."
    assert [found[0] for found in echoes(clinical_nlp, text, "Nadia Sanz")] == ["Nadia Sanz"]


@pytest.mark.parametrize(
    "text",
    [
        "Nombre: Ana del Cruz\nEn la cruz roja. Cruz",  # a common word of this note
        "Nombre: Ana del Cruz\nDel resto, nada; del todo.",  # a particle
        "Nombre: Ana del Cruz\nvive con ana",  # in lower case
    ],
)
def test_what_is_not_written_like_a_name_is_left_alone(clinical_nlp, text):
    assert echoes(clinical_nlp, text, "Ana del Cruz") == []


def test_a_note_in_capitals_has_no_echo(clinical_nlp):
    assert echoes(clinical_nlp, "NOMBRE: ANA DEL CRUZ\nDOLOR DEL BRAZO. CRUZ ROJA.", "ANA DEL CRUZ") == []


def test_short_words_are_left_alone(clinical_nlp):
    assert echoes(clinical_nlp, "Nombre: J. A.\nGrupo A. Grado J.", "J. A.") == []


PRINT_OUT = (
    "AFTER VISIT SUMMARY Page 1 of 4 Care Plan Partner Code Status Full Code Rosalba Zyxwalda Care Plan Follow Plan B "
    "Zyxwalda denies pain Inhale 2 puffs Inhale slowly Code 12 Dr Zyxwalda Plan reviewed"
)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Care Plan Partner"], []),  # a field that the classifier took for a relative
        (["Inhale"], []),
        (["Rosalba Zyxwalda"], ["Zyxwalda", "Zyxwalda Plan"]),  # a rare surname, found once
        (["Code Status", "Full Code"], ["Code"]),  # two places
    ],
)
def test_field_keys_and_verbs_of_a_print_out_are_not_names(clinical_nlp, names, expected):
    doc = clinical_nlp.make_doc(PRINT_OUT)
    starts = [PRINT_OUT.index(name) for name in names]
    spans = [doc.char_span(start, start + len(name)) for start, name in zip(starts, names, strict=True)]
    numbered = [(span.start, span.end, PERSON, 0.9) for span in spans]
    if "Rosalba Zyxwalda" in names:  # "Plan" next to a name belongs to it
        plan = doc.char_span(PRINT_OUT.index("Plan"), PRINT_OUT.index("Plan") + 4)
        numbered.append((plan.start, plan.end, PERSON, 0.9))
    known = {"care", "plan", "partner", "code", "status", "full", "inhale"}
    found = propagate_names(doc, sorted(numbered), {PERSON}, is_known=known.__contains__)
    assert [doc[start:end].text for start, end, *_ in found] == expected


def test_names_of_places_do_not_echo(clinical_nlp):
    assert echoes(clinical_nlp, "Nombre: Soria\nSoria", "Soria", PLACE) == []


def test_nothing_found_has_no_echo(clinical_nlp):
    assert propagate_names(clinical_nlp.make_doc("Nadia duerme"), [], {PERSON}) == []


def test_a_name_is_found_in_the_cases_of_its_language():
    nlp = spacy.blank("fi")
    doc = nlp.make_doc("Nimi VIRTANEN Matti\nSoitettu Virtaselle, Matin vointi hyvä. Kiven kanssa kaatunut.")
    found = propagate_names(doc, [(1, 3, PERSON, 0.9)], {PERSON}, forms_of_names("fi"))
    assert [doc[start:end].text for start, end, *_ in found] == ["Virtaselle", "Matin"]
    assert propagate_names(doc, [(1, 3, PERSON, 0.9)], {PERSON}) == []


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
