"""Surrogates keep the sex of a person; names behind titles are read as surnames; no name is abusive or a brand."""

import pytest

from spacy_deid.lang import get_language
from spacy_deid.lang.text import fold
from spacy_deid.medical.name_context import unfit_words
from spacy_deid.surrogates.forbidden import Forbidden
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.people import replace_persons
from spacy_deid.surrogates.people.identities import find_identities, name_type_of
from spacy_deid.surrogates.people.name_lists import guess_sex, load_names
from spacy_deid.surrogates.style import allow_all

PATIENTS = [ProjectKey(bytes(range(32))).patient(str(number)) for number in range(300)]
RARE = [
    ("es", "SAGRARIO LÓPEZ", "female"),
    ("es", "Araceli", "female"),
    ("en", "Summer Baker", "female"),
    ("en", "Marguerite", "female"),
    ("fi", "Katri Nieminen", "female"),
    ("fi", "Esko", "male"),
]


@pytest.mark.parametrize(("lang", "name", "sex"), RARE)
def test_a_surrogate_has_the_sex_of_the_name(lang, name, sex):
    names = load_names(lang)
    for patient in PATIENTS:
        made = replace_persons([Mention(name, "PATIENT")], patient, lang, allow_all)[0]
        given = fold(made.split()[0])
        own, other = names.count(sex, given), names.count({"female": "male", "male": "female"}[sex], given)
        assert own >= 9 * other


@pytest.mark.parametrize(
    ("name", "first", "second"), [("José María", "male", "male"), ("Ana Héctor", "female", "male")]
)
def test_a_second_given_name_has_its_own_sex_unless_both_are_one_name(name, first, second):
    names = load_names("es")
    person = find_identities([Mention(f"{name} Ruiz", "PATIENT")], names, {}).persons[0]
    kinds = [name_type_of("given", fold(part), person, names) for part in name.split()]
    assert kinds == [first, second]


@pytest.mark.parametrize("lang", ["en", "es", "fi"])
def test_a_rare_name_is_listed_where_its_ending_misleads(lang):
    names = load_names(lang)
    assert len(names.rare_sexes) > 2000
    assert not any(names.count("given", name) for name in names.rare_sexes)
    misleading = [name for name, sex in names.rare_sexes.items() if guess_sex(name, names) != sex]
    assert len(misleading) > 1900


@pytest.mark.parametrize(
    ("lang", "before", "after", "sex"),
    [
        ("en", "", " is a 40-year-old woman. She denies", "female"),
        ("en", "", " says he fell", "male"),
        ("es", "", ", ingresada ayer por dolor", "female"),
        ("fi", "", ", 70-vuotias mies", "male"),
    ],
)
def test_words_near_an_unlisted_name_tell_the_sex(lang, before, after, sex):
    names = load_names(lang)
    note = find_identities([Mention("Zqyvarel", "PATIENT", before, after)], names, {})
    assert name_type_of("given", "zqyvarel", note.persons[0], names) == sex


@pytest.mark.parametrize("title", ["Dra.", "Dr.", "la Dra."])
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("Aldasorotxea Ezpeletarraga", "ss"),
        ("Aldasorotxea García", "ss"),
        ("Quintanarejo Pradoluengo", "ss"),
        ("Ana Ezpeletarraga", "gs"),
        ("Sagrario Quintanarejo", "gs"),
        ("Ana Quintanarejo Pradoluengo", "gss"),
    ],
)
def test_two_names_behind_a_title_are_surnames_unless_the_first_is_a_given_name(title, name, kinds):
    names = load_names("es")
    note = find_identities([Mention(name, "CLINICIAN", f"Valorado por {title} ")], names, {})
    assert "".join(part.kind[0] for part in note.mentions[0] if part.role == "name") == kinds


@pytest.mark.parametrize("lang", ["en", "es", "fi"])
def test_no_surrogate_is_a_word_of_abuse_or_a_brand(lang):
    words = unfit_words(lang)
    assert {"hell", "toyota"} <= words
    assert {fold(line) for line in get_language(lang).read_lines("offensive.txt")} <= words
    mentions = [
        Mention("Anna Smith", "PATIENT"),
        Mention("Peter Virtanen", "CLINICIAN"),
        Mention("Rosa Ruiz", "PERSON"),
    ]
    forbidden = Forbidden(mentions, lang, words)
    made = {
        word
        for patient in PATIENTS
        for name in replace_persons(mentions, patient, lang, forbidden)
        for word in fold(name).split()
    }
    assert len(made) > 300
    assert made.isdisjoint(words)
