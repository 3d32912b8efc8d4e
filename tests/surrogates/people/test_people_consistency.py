"""What holds of every note: one person, one surrogate; no original is left; no two persons become one."""

import csv
import re
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.lang.inflection import case_forms
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.people import replace_persons
from spacy_deid.surrogates.people.customs import load_customs
from spacy_deid.surrogates.persons import fold

PROJECT = ProjectKey(bytes(range(32)))
KEY = PROJECT.patient("1")
LANGUAGES = ("es", "en", "fi")


def nothing(value):
    return False


def replace(texts, lang="en", label="PATIENT", key=KEY, forbidden=nothing, facts=None):
    mentions = [Mention(text, label) for text in texts]
    return replace_persons(mentions, key, lang, forbidden, facts or {})


def read(stem):
    lang, part = stem.split("_")
    path = files("spacy_deid") / "lang" / lang / "names" / f"{part}.csv"
    with path.open(encoding="utf8") as file:
        return [row["name"] for row in csv.DictReader(file)]


def names(lang, part, most=400):
    return st.sampled_from([name for name in read(f"{lang}_{part}")[:most] if name.isalpha() and len(name) > 3])


def full_names(lang):
    sex = st.sampled_from(("female", "male"))
    return sex.flatmap(lambda part: st.tuples(names(lang, part), names(lang, "surname")))


def words(text):
    return re.findall(r"[^\W\d_]+", fold(text))


WRITTEN = (
    "{given} {surname}",
    "{surname}, {given}",
    "{surname}",
    "{given}",
    "{GIVEN} {SURNAME}",
    "{g}. {surname}",
    "{given}\n{surname}",
    "{GIVEN}",
    "{g}.{s}.",
)


def write(form, name):
    given_name, surname = name
    values = {"given": given_name, "surname": surname, "GIVEN": given_name.upper(), "SURNAME": surname.upper()}
    return form.format(**values, g=given_name[0], s=surname[0])


@pytest.mark.parametrize("lang", LANGUAGES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_every_mention_of_a_person_has_parts_of_the_same_surrogate(lang, data):
    name = data.draw(full_names(lang))
    if fold(name[0]) == fold(name[1]):
        return
    forms = data.draw(st.lists(st.sampled_from(WRITTEN), min_size=1, max_size=6))
    first, *rest = replace([write(form, name) for form in ["{given} {surname}", *forms]], lang)
    given_name, surname = first.split(" ")
    assert rest == [write(form, (given_name, surname)) for form in forms]


@pytest.mark.parametrize("lang", LANGUAGES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_no_word_of_an_original_is_left(lang, data):
    originals = data.draw(st.lists(full_names(lang), min_size=1, max_size=8))
    texts = [" ".join(name) for name in originals]
    left = {word for text in texts for word in words(text)}
    made = replace(texts, lang)
    assert None not in made
    for surrogate in made:
        assert not left & set(words(surrogate))


@pytest.mark.parametrize("lang", LANGUAGES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_persons_who_differ_get_surrogates_that_differ(lang, data):
    originals = data.draw(st.lists(full_names(lang), min_size=2, max_size=8, unique_by=lambda n: fold(" ".join(n))))
    texts = [" ".join(name) for name in originals]
    made = replace(texts, lang)
    folded = [frozenset(words(text)) for text in texts]
    assert len({fold(text) for text in made}) >= len(set(folded))


@settings(max_examples=30, deadline=None)
@given(name=full_names("fi"), case=st.sampled_from(("gen", "par", "ine", "ela", "ade", "abl", "all", "ess", "tra")))
def test_no_form_of_a_finnish_surrogate_is_a_form_of_the_original(name, case):
    original, surrogate = " ".join(name), replace([" ".join(name)], "fi")[0]
    before = {fold(form) for word in original.split() for form in case_forms(word, "fi")}
    after = {fold(form) for word in surrogate.split() for form in case_forms(word, "fi")}
    assert not {fold(word) for word in original.split()} & after
    assert not {fold(word) for word in surrogate.split()} & before


@pytest.mark.parametrize("lang", LANGUAGES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_surname_alone_in_another_note_has_the_surrogate_of_the_full_name(lang, data):
    name = data.draw(full_names(lang))
    if fold(name[0]) == fold(name[1]):
        return
    whole = replace([" ".join(name)], lang)[0]
    assert replace([f"{name[0]} {name[1]}", name[1]], lang)[1] == whole.split(" ")[-1]


def test_another_key_gives_other_surrogates():
    texts = ["Anna Smith", "Robert Jones", "Mary Brown"]
    assert replace(texts) == replace(texts)
    assert replace(texts) != replace(texts, key=PROJECT.patient("2"))
    assert replace(texts) != replace(texts, key=ProjectKey(bytes(32)).patient("1"))


def test_a_variant_is_drawn_apart():
    mentions = [Mention("Anna Smith", "PATIENT", variant=n) for n in (0, 0, 1, 2, 1)]
    made = replace_persons(mentions, KEY, "en", nothing)
    assert made[0] == made[1]
    assert made[2] == made[4]
    assert len(set(made)) == 3


def test_the_order_of_the_mentions_does_not_matter():
    texts = ["Anna Smith", "Robert Jones", "Mary Brown", "Jones", "Anna"]
    assert replace(texts[::-1])[::-1] == replace(texts)


def test_what_is_forbidden_is_never_taken():
    usual = replace(["Anna Smith"])[0].split()
    other = replace(["Anna Smith"], forbidden=lambda value: fold(value) in {fold(word) for word in usual})[0].split()
    assert not set(usual) & set(other)


def test_a_list_that_is_all_forbidden_leaves_no_surrogate():
    assert replace(["Anna Smith", "A. S."], forbidden=lambda value: True) == [None, None]


def test_a_language_without_lists_has_no_surrogates():
    assert replace(["Anna Smith", "A. S.", "asmith@example.org"], lang="xx") == [None, None, None]


@pytest.mark.parametrize("text", ["", " ", "...", "-", "Dr.", "\n"])
def test_a_mention_without_a_name_has_no_surrogate(text):
    assert replace([text, "Anna Smith"])[0] is None


@pytest.mark.parametrize("lang", LANGUAGES)
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text(max_size=12), max_size=4), label=st.sampled_from(("PATIENT", "EMAIL")))
def test_any_text_is_replaced_or_given_up(lang, texts, label):
    for text, made in zip(texts, replace(texts, lang, label), strict=True):
        assert made is None or fold(made) != fold(text)


@pytest.mark.parametrize("lang", LANGUAGES)
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text(max_size=12), max_size=4))
def test_of_relatives_nothing_stays_but_words_that_the_lists_know(lang, texts):
    customs = load_customs(lang)
    known = customs.kin | customs.beside | set(customs.titles) | customs.suffixes | customs.particles
    for text, made in zip(texts, replace(texts, lang, "RELATIVE"), strict=True):
        if made is not None and fold(made) == fold(text):
            assert {fold(word) for word in re.findall(r"[^\W\d_ªº]+", text)} <= known


def test_a_list_of_many_persons_is_replaced_in_time():
    surnames = read("en_surname")[:3000]
    made = replace([f"Anna {surname}" for surname in surnames])
    assert len(made) == 3000
