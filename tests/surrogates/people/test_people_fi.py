"""Finnish mini notes: a surrogate has the case, number and suffix of its mention. All persons are invented."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.lang.fi.inflection import CASES
from spacy_deid.lang.fi.morphology import analyze
from spacy_deid.lang.inflection import inflect
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.people import replace_persons
from spacy_deid.surrogates.people.name_lists import load_names

KEYS = [ProjectKey(bytes(range(32))).patient(str(n)) for n in range(2)]
EVERY_KEY = pytest.mark.parametrize("key", KEYS, ids=range(2))
SURNAMES = ["Virtanen", "Mäki", "Lahti", "Salmi", "Koski", "Rinne", "Kangas", "Niemi", "Mattila", "Vuori", "Susi"]
GIVEN = ["Anna", "Pekka", "Outi", "Tuomas", "Markus", "Satu", "Heikki", "Inkeri", "Aino"]


def replace(key, *texts, label="PATIENT", facts=None):
    mentions = [Mention(text, label) if isinstance(text, str) else Mention(*text) for text in texts]
    return replace_persons(mentions, key, "fi", lambda value: False, facts or {})


@EVERY_KEY
@pytest.mark.parametrize("surname", SURNAMES)
def test_the_case_of_a_surname_is_kept(key, surname):
    made = {case: replace(key, f"Anna {surname}", inflect(surname, "fi", case, kind="surname")) for case in CASES}
    expected = {case: inflect(full.split()[1], "fi", case, kind="surname") for case, (full, _) in made.items()}
    assert {case: form for case, (_, form) in made.items()} == expected


@EVERY_KEY
@pytest.mark.parametrize("name", GIVEN)
def test_the_case_of_a_given_name_is_kept(key, name):
    made = {case: replace(key, f"{name} Virtanen", inflect(name, "fi", case, kind="given")) for case in CASES}
    expected = {case: inflect(full.split()[0], "fi", case, kind="given") for case, (full, _) in made.items()}
    assert {case: form for case, (_, form) in made.items()} == expected


@EVERY_KEY
@pytest.mark.parametrize("case", [case for case in CASES if case != "com"])
def test_the_last_word_of_a_full_name_inflects(key, case):
    made = replace(key, "Anna Virtanen", inflect("Anna Virtanen", "fi", case), "VIRTANEN ANNA")
    assert made[1] == inflect(made[0], "fi", case)
    assert made[2] == " ".join(made[0].upper().split()[::-1])


@EVERY_KEY
@pytest.mark.parametrize("case", ["nom", "gen", "par", "ine", "ade", "all", "ill"])
def test_the_plural_of_a_family_name_is_kept(key, case):
    made = replace(key, "Anna Virtanen", inflect("Virtanen", "fi", case, kind="surname", number="plur"))
    assert made[1] == inflect(made[0].split()[1], "fi", case, kind="surname", number="plur")


@EVERY_KEY
@pytest.mark.parametrize("person", ["1sg", "1pl"])
@pytest.mark.parametrize("case", ["nom", "all", "ade"])
def test_a_possessive_suffix_is_kept(key, case, person):
    made = replace(key, "Anna Virtanen", inflect("Anna", "fi", case, kind="given", possessive=person))
    assert made[1] == inflect(made[0].split()[0], "fi", case, kind="given", possessive=person)


@EVERY_KEY
def test_an_inflected_form_alone_has_the_surrogate_of_the_full_name(key):
    given_name, surname = replace(key, "Anna Virtanen")[0].split()
    assert replace(key, "Virtasen") == [inflect(surname, "fi", "gen", kind="surname")]
    assert replace(key, "Annalle") == [inflect(given_name, "fi", "all", kind="given")]


@EVERY_KEY
def test_double_given_names_keep_their_hyphen_and_inflect_at_the_end(key):
    made = replace(key, "Anna-Maija Koskinen", "Anna-Maijan", "Maija", "A-M Koskisen")
    double, surname = made[0].split()
    first, second = double.split("-")
    assert made[1] == f"{first}-{inflect(second, 'fi', 'gen', kind='given')}"
    assert made[2] == second
    assert made[3] == f"{first[0]}-{second[0]} {inflect(surname, 'fi', 'gen', kind='surname')}"


@EVERY_KEY
def test_a_maiden_name_is_a_surname_of_the_person(key):
    made = replace(key, "Anna Virtanen o.s. Lahti", "Lahden", "Virtasen")
    _given, surname, marker, maiden = made[0].split()
    assert marker == "o.s."
    assert made[1] == inflect(maiden, "fi", "gen", kind="surname")
    assert made[2] == inflect(surname, "fi", "gen", kind="surname")


@EVERY_KEY
def test_initials_are_inflected(key):
    made = replace(key, "Anna Virtanen", "A.V:n", "AV:lle", "A. Virtasella")
    given_name, surname = made[0].split()
    assert made[1:3] == [f"{given_name[0]}.{surname[0]}:n", f"{given_name[0]}{surname[0]}:lle"]
    assert made[3] == f"{given_name[0]}. {inflect(surname, 'fi', 'ade', kind='surname')}"


@EVERY_KEY
def test_titles_and_clitics_are_kept(key):
    made = replace(key, ("tri Mäkelälle", "CLINICIAN"), ("Mäkelä", "CLINICIAN"), ("Mäkeläkin", "CLINICIAN"))
    assert made[0] == f"tri {inflect(made[1], 'fi', 'all', kind='surname')}"
    assert made[2] == made[1] + "kin"


@EVERY_KEY
def test_a_misspelled_name_is_the_same_person(key):
    made = replace(key, "Anna Lindqvistinen", "Lindqvstinen", "Lindqvistinne")
    assert made[1] == made[2] == made[0].split()[1]


@EVERY_KEY
def test_an_unlisted_name_agrees_in_all_cases(key):
    made = replace(key, "Teivosen", "Teivonen", "Teivoselle", "Teivosta")
    assert made == [inflect(made[1], "fi", case, kind="surname") for case in ("gen", "nom", "all", "par")]


@EVERY_KEY
def test_relatives_share_the_surname(key):
    made = replace(key, "Anna Virtanen", ("Pekka Virtanen", "RELATIVE"), ("Pekalla", "RELATIVE"), "Virtanen Anna")
    assert made[0].split()[1] == made[1].split()[1] == made[3].split()[0]
    assert made[2] == inflect(made[1].split()[0], "fi", "ade", kind="given")


@EVERY_KEY
def test_an_address_is_written_without_accents(key):
    made = replace(key, "Päivi Mäkelä", ("paivi.makela@sairaala.example.fi", "EMAIL"))
    assert made[1].partition("@")[0] == ".".join(fold(word) for word in made[0].split())


@EVERY_KEY
def test_a_name_keeps_its_group_of_origin(key):
    surname = replace(key, "Abdi Warsame")[0].split()[1]
    assert load_names("fi").stratum("surname", fold(surname)).group == "somali"


@EVERY_KEY
def test_names_in_nen_become_names_in_nen(key):
    assert all(re.search("nen$", text) for text in replace(key, "Virtanen", "Korhonen", "Teivonen"))


@settings(max_examples=100, deadline=None)
@given(name=st.sampled_from(SURNAMES), case=st.sampled_from(CASES), number=st.sampled_from(("sing", "plur")))
def test_every_form_has_an_analysis_with_its_nominative(name, case, number):
    form = inflect(name.lower(), "fi", case, kind="surname", number=number)
    readings = analyze(form, lambda word: load_names("fi").is_listed(fold(word)))
    assert (name.lower(), form) in {
        (r.nominative, inflect(r.nominative, "fi", r.case, kind=r.kind, number=r.number)) for r in readings
    }


@pytest.mark.parametrize("form", ["a", "ab", "x", "--", "", "nnn", "ssa"])
def test_an_unknown_form_is_analyzed_as_a_nominative(form):
    assert analyze(form, lambda word: False)[-1].nominative == form


@EVERY_KEY
def test_a_nominative_that_ends_like_a_case_is_one(key):
    made = replace(key, "Kaarina Korhonen", "Korhonen, Kaarina", "Kaarina", ("Karin Salmi", "RELATIVE"), "Toini")
    given_name, surname = made[0].split()
    assert made[1:3] == [f"{surname}, {given_name}", given_name]


@EVERY_KEY
def test_a_given_name_that_looks_like_a_particle_is_a_name(key):
    assert re.fullmatch(r"\w+ \w+", replace(key, "Ben Murtola")[0])


def listed():
    """Surnames of the Finnish list, and double names whose parts are on it. It is read when a test draws one."""
    surnames = set(load_names("fi").proper["surname"].values())
    return st.sampled_from(sorted(name for name in surnames if surnames.issuperset(name.split("-"))))


@given(name=st.deferred(listed), case=st.sampled_from(CASES), patient=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_the_surrogate_of_a_form_has_its_case(name, case, patient):
    key = ProjectKey(bytes(range(32))).patient(str(patient))
    whole, form = replace(key, f"Anna {name}", inflect(name, "fi", case, kind="surname"))
    surname = whole.split()[-1]
    # A surname that is commoner as a given name ("Eero") is read as one, and is inflected like it.
    kinds = [kind for kind in ("surname", "given") if inflect(surname, "fi", case, kind=kind) == form]
    assert kinds
    readings = analyze(form.lower(), lambda word: load_names("fi").is_listed(fold(word)) or word == surname.lower())
    same = {c for c in CASES for kind in kinds if inflect(surname, "fi", c, kind=kind) == form}
    assert any(reading.nominative == surname.lower() and reading.case in same for reading in readings)


@pytest.mark.parametrize(
    ("name", "form"),
    [("Ala-Rämi", "Ala-Rämiä"), ("Kylätie", "Kyläteineen"), ("Vireä", "Vireineen"), ("Mäki-Korte", "Mäki-Kortetta")],
)
def test_a_rare_form_has_the_surrogate_of_the_full_name(name, form):
    case = "com" if form.endswith("neen") else "par"
    for patient in range(20):
        whole, made = replace(ProjectKey(bytes(range(32))).patient(str(patient)), f"Anna {name}", form)
        assert made == inflect(whole.split()[-1], "fi", case, kind="surname")


def test_a_form_without_the_accents_of_its_nominative_has_a_surrogate_with_accents():
    made = [replace(ProjectKey(bytes(range(32))).patient(str(n)), "Anna Helevä", "Helevineen")[1] for n in range(40)]
    assert any(fold(form) != form.lower() for form in made)


def test_virtasen_becomes_korhosen():
    [reading] = [r for r in analyze("virtasen", lambda word: word == "virtanen") if r.nominative == "virtanen"]
    assert inflect("Korhonen", "fi", reading.case, kind=reading.kind, number=reading.number) == "Korhosen"


@EVERY_KEY
@pytest.mark.parametrize(
    ("before", "name"), [("tyttären ", "Anjan"), ("vaimo ", "Irja"), ("Äiti ", "Meri"), ("isän ", "Raimon")]
)
def test_a_name_after_a_kinship_word_is_a_given_name_of_its_sex(key, before, name):
    [made] = replace(key, (name, "RELATIVE", f"Mukana {before}"))
    sex = "male" if before == "isän " else "female"
    readings = analyze(made.lower(), lambda word: fold(word) in load_names("fi").proper[sex])
    assert any(fold(reading.nominative) in load_names("fi").proper[sex] for reading in readings)


@EVERY_KEY
def test_a_title_does_not_override_the_sex_of_a_given_name(key):
    mentions = ("Ranta", "PATIENT", "Rouva "), ("Gustav Raimo Ranta", "RELATIVE", "veljelle (")
    wife, brother = replace(key, *mentions)
    first, second, surname = brother.split()
    assert surname == wife
    assert load_names("fi").counts["male"][fold(first)] > load_names("fi").counts["female"][fold(first)]
    assert load_names("fi").counts["male"][fold(second)] > load_names("fi").counts["female"][fold(second)]


@EVERY_KEY
def test_an_unlisted_surname_is_no_form_of_an_impossible_word(key):
    [made] = replace(key, "Salla-Maija Kulta")
    assert not made.endswith(("lta", "ltä"))


@EVERY_KEY
def test_an_address_belongs_to_the_relative_whose_given_name_it_has(key):
    made = replace(key, "Tiina Leppinen", ("Mikael Leppinen", "RELATIVE"), ("mikaelleppinen53@posti.fi", "EMAIL"))
    given, surname = made[1].split()
    assert made[2].startswith(fold(given + surname))


@EVERY_KEY
@pytest.mark.parametrize("signature", ["tl", "mk", "jxl"])
def test_a_signature_in_lower_case_becomes_letters(key, signature):
    (made,) = replace(key, signature, label="CLINICIAN")
    assert made.islower()
    assert len(made) == len(signature)


@pytest.mark.parametrize("form", ["e", "en", "ein", "eita", "eihin", "een"])
def test_a_form_with_a_stem_of_one_letter_can_be_read(form):
    assert analyze(form, lambda word: False)[-1].nominative == form
