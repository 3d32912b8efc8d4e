"""Variants of values are normal forms and are found in notes; names are split into their parts."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.dictionaries.patients import PatientTerms
from spacy_deid.dictionaries.terms import Tag, is_too_general
from spacy_deid.ehr.expansion import (
    KINDS,
    Form,
    expand,
    expand_person,
    person_parts,
    split_full,
    split_surnames,
    split_words,
    strip_particles,
)
from spacy_deid.ehr.value_formats import known_languages, title_case
from spacy_deid.errors import ConfigError

LANGS = known_languages()
NAME = st.text("abcdeéñöäßøİ'’-. ABÇĐ\u00adﬁ", min_size=1, max_size=16)
VALUE = st.one_of(
    NAME, st.text(max_size=20), st.from_regex(r"\+?[0-9 ./-]{4,14}", fullmatch=True), st.dates().map(str)
)
PARTS = st.dictionaries(
    st.sampled_from(["given", "middle", "surname", "former", "nickname"]), st.lists(NAME, max_size=2), max_size=4
)


def texts(forms):
    return [form.text for form in forms]


def is_found(forms, text):
    terms = PatientTerms((form.text, Tag("PATIENT", "a.b", "")) for form in forms)
    return any((match.start, match.end) == (0, len(text)) for match in terms.find(text))


@given(st.sampled_from(KINDS), VALUE, st.sampled_from(LANGS))
@example("phone", "00/", "en")
@settings(max_examples=300)
def test_forms_are_distinct_normal_forms(kind, value, lang):
    found = texts(expand(kind, value, lang))
    assert all(found)
    assert [normal_form(text) for text in found] == found
    assert len(set(found)) == len(found)
    assert expand(kind, value, lang) == expand(kind, value, lang)


@given(PARTS, st.sampled_from(LANGS))
def test_combinations_are_distinct_normal_forms(parts, lang):
    found = texts(expand_person(parts, lang))
    assert [normal_form(text) for text in found] == found
    assert len(set(found)) == len(found)


@given(PARTS, st.sampled_from(LANGS))
def test_the_basis_of_a_variant_is_not_longer_than_the_variant(parts, lang):
    for form in expand_person(parts, lang):
        if form.basis and not form.weak and not is_too_general(form.basis):
            assert not is_too_general(form.text)


@settings(deadline=None)  # the first text makes the tables
@given(st.text("abcdefgéñöäÁÇ", min_size=3, max_size=12), st.sampled_from(LANGS), st.data())
def test_a_name_is_found_in_any_case_with_and_without_accents(name, lang, data):
    written = data.draw(st.sampled_from([str, str.upper, str.lower, str.title]))(name)
    written = data.draw(st.sampled_from([lambda text: unicodedata.normalize("NFD", text), normal_form]))(written)
    assert is_found(expand("surname", name, lang), written)


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize(
    "written",
    ["Villaseca-Olmedo", "VILLASECA OLMEDO", "villaseca\u2011\nolmedo", "VillasecaOlmedo", "Olmedo", "Villaseca"],
)
def test_a_double_surname_is_found_whole_split_and_joined(lang, written):
    assert is_found(expand("surname", "Villaseca Olmedo", lang), written)
    assert is_found(expand("surname", "Villaseca-Olmedo", lang), written)


@pytest.mark.parametrize("written", ["Virtanen, Anna", "ANNA VIRTANEN", "Virtanen Anna", "A. Virtanen", "A.Virtanen"])
@pytest.mark.parametrize("lang", LANGS)
def test_order_and_initials(lang, written):
    assert is_found(expand_person({"given": ["Anna"], "surname": ["Virtanen"]}, lang), written)
    assert is_found(expand("full", "Anna Virtanen", lang), written)
    assert is_found(expand("clinician", "Dr. Anna Virtanen, MD", lang), written)


@pytest.mark.parametrize(
    ("parts", "lang", "written"),
    [
        ({"given": ["Anna", "Liisa"], "surname": ["Virtanen"]}, "fi", "Liisa Virtanen"),
        ({"given": ["Anna"], "middle": ["Liisa"], "surname": ["Virtanen"]}, "en", "Anna L. Virtanen"),
        ({"given": ["Anna"], "middle": ["Liisa"], "surname": ["Virtanen"]}, "en", "Virtanen, Anna Liisa"),
        ({"given": ["Anna"], "surname": ["Virtanen"], "former": ["Lahti"]}, "en", "Anna Lahti"),
        ({"given": ["William"], "surname": ["Ndu"], "nickname": ["Dub"]}, "en", "Dub Ndu"),
        ({"given": ["Ana María"], "surname": ["García", "de la Fuente"]}, "es", "García de la Fuente, Ana María"),
        ({"given": ["Ana María"], "surname": ["García", "de la Fuente"]}, "es", "Ana García"),
        ({"given": ["Ana María"], "surname": ["García", "de la Fuente"]}, "es", "A. Fuente"),
        ({"given": ["Ana María"], "surname": ["García", "de la Fuente"]}, "es", "A.M.G.F."),
        ({"given": ["Anna"], "surname": ["Virtanen"]}, "fi", "Anna Virtaselle"),
        ({"given": ["Anna"], "surname": ["Virtanen"]}, "fi", "A. Virtasen"),
    ],
)
def test_combinations_of_parts(parts, lang, written):
    assert is_found(expand_person(parts, lang), written)


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        ("surname", "Mäkinen", "Mäkisen"),
        ("surname", "Virtanen-Lahti", "Virtanen-Lahdelle"),
        ("surname", "VIRTANEN", "Virtasta"),
        ("given", "Anna-Liisa", "Annaliisa"),
        ("given", "Liisa", "Liisalle"),
        ("city", "Helsinki / Helsingfors", "Helsingissä"),
        ("clinic", "Meilahden sairaala", "Meilahden sairaalassa"),
        ("street", "Mannerheimintie 12 B 34", "Mannerheimintiellä"),
        ("street", "Mannerheimintie 12 B 34", "Mannerheimintien 12"),
    ],
)
def test_finnish_cases(kind, value, written):
    assert is_found(expand(kind, value, "fi"), written)


@pytest.mark.parametrize(
    ("kind", "value", "lang", "written"),
    [
        ("surname", "Mäkinen", "fi", "Maekinen"),
        ("surname", "Bjørnsson", "en", "Bjoernsson"),
        ("surname", "O'Hara", "en", "OHARA"),
        ("surname", "O'Hara", "en", "O Hara"),
        ("surname", "Barrionuevo", "es", "Bamionuevo".replace("Bam", "Barr")),
        ("surname", "Cornejuelo", "es", "Comejuelo"),
        ("surname", "Villaseca", "es", "Vi11aseca"),
        ("given", "Concepción", "es", "Conchi"),
        ("given", "William", "en", "Bill"),
        ("surname", "de la Fuente", "es", "Delafuente"),
        ("id", "00012345", "es", "12345"),
        ("id", "010257-123A", "fi", "010257123a"),
        ("id", "05348211K", "es", "05348211-K"),
        ("id", "5348211", "es", "53482ll"),
        ("phone", "612345678", "es", "+34 612 34 56 78"),
        ("phone", "(617) 555-1234", "en", "617.555.1234"),
        ("phone", "040 123 4567", "fi", "+358 40 1234567"),
        ("email", "ana@example.org", "en", "ana at example.org"),
        ("birth_date", "1957-03-02", "es", "2 de marzo de 1957"),
        ("birth_date", "1957-03-02", "en", "March 2nd, 1957"),
        ("birth_date", "1957-03-02", "fi", "2.3.1957"),
        ("birth_date", "1957-03-02", "es", "02/03/57"),
        ("street", "C/ Ancha, 14, 2º B", "es", "calle Ancha 14"),
        ("street", "123 Main Street, Apt 4", "en", "123 Main St, Apt 4"),
        ("clinic", "Hospital Universitario de Tormes (HUT)", "es", "HUT"),
        ("clinic", "Saint Mary Clinic", "en", "St. Mary Clinic"),
    ],
)
def test_spellings_and_formats(kind, value, lang, written):
    assert is_found(expand(kind, value, lang), written)


def test_short_names_have_no_misread_forms():
    assert "l0l" not in texts(expand("surname", "Lol", "es"))
    assert texts(expand("surname", "Ndu", "es")) == ["ndu"]


def test_an_initial_is_not_a_given_name():
    assert texts(expand("given", "A.", "en")) == []
    assert all(len(text) > 1 for text in texts(expand("given", "Anna M.", "en")))


def test_a_full_name_is_split():
    parts = person_parts({"full": ["VIRTANEN, Anna Liisa"], "surname": ["Lahti"]}, "fi")
    assert parts == {"surname": ["Lahti", "VIRTANEN"], "given": ["Anna Liisa"]}


@pytest.mark.parametrize(
    ("kind", "lang", "message"), [("name", "es", "unknown kind"), ("given", "xx", "no name expansion")]
)
def test_an_unknown_kind_or_language_is_named(kind, lang, message):
    with pytest.raises(ConfigError, match=message) as error:
        expand(kind, "Zarzaquemada", lang)
    assert "Zarzaquemada" not in str(error.value)


def test_the_repr_of_a_variant_hides_its_text():
    assert "zarza" not in repr([Form("zarzaquemada")])


@pytest.mark.parametrize(
    ("name", "lang", "given_names", "surname"),
    [
        ("Anna Liisa Virtanen", "fi", "Anna Liisa", "Virtanen"),
        ("VIRTANEN, Anna Liisa", "fi", "Anna Liisa", "VIRTANEN"),
        ("Ana García de la Fuente", "es", "Ana", "García de la Fuente"),
        ("Ana María García López", "es", "Ana María", "García López"),
        ("Dra. Ana García López", "es", "Ana", "García López"),
        ("John Smith Jr", "en", "John", "Smith"),
        ("Smith, John, MD", "en", "John", "Smith"),
        ("John Smith, MD", "en", "John", "Smith"),
        ("Ludwig van Beethoven", "en", "Ludwig", "van Beethoven"),
        ("Ndu", "en", None, "Ndu"),
    ],
)
def test_full_names(name, lang, given_names, surname):
    parts = split_full(name, lang)
    assert (parts.get("given", (None,))[0], parts["surname"][0]) == (given_names, surname)


def test_a_table_may_put_the_surname_first():
    parts = split_full("García López Ana María", "es", surname_first=True)
    assert dict(parts) == {"given": ("Ana María",), "surname": ("García López",)}


@given(st.text(max_size=30), st.sampled_from(["es", "en", "fi"]), st.booleans())
def test_splitting_a_name_keeps_its_words(name, lang, first):
    parts = split_full(name, lang, surname_first=first)
    kept = " ".join(value for values in parts.values() for value in values).split()
    assert set(kept) <= set(name.replace(",", " ").split())


def test_particles_go_with_the_name_that_follows():
    assert split_surnames("García de la Fuente") == ("García", "de la Fuente")
    assert strip_particles("de la Fuente") == "Fuente"
    assert strip_particles("de la") == "de la"


def test_words_of_a_name():
    assert split_words("Anna-Liisa (Anu) M. O'Hara 3") == ["Anna", "Liisa", "Anu", "M", "O'Hara"]
    assert [title_case(name) for name in ("VIRTANEN", "ana", "McDonald", "A")] == ["Virtanen", "Ana", "McDonald", "A"]
