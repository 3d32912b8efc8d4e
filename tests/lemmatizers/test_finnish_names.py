"""Finnish names by rule: forms go back to their names, alone and with the note's help."""

import csv
from importlib.resources import files

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from spacy.vocab import Vocab

from spacy_deid.lang.fi.lemmas import find_candidates, lemmatize, load_function_words, load_index
from spacy_deid.lang.inflection import inflect

VOCAB = Vocab()
CASES = ("gen", "par", "ine", "ela", "ill", "ade", "abl", "all", "ess", "tra")
FORMS = """Juhan juha|Juhalla juha|Juhaa juha|Heikkilän heikkilä|Heikin heikki|Pekalle pekka|Liisan liisa
Tuomaan tuomas|Virtasella virtanen|VIRTASEN virtanen|Virtasta virtanen|Korhoseen korhonen|Mäen mäki|Mäelle mäki
Lahdessa lahti|Lahteen lahti|Lahtea lahti|Tampereella tampere|Tampereelle tampere|Helsingistä helsinki|Turkuun turku
Uudessakaupungissa uusikaupunki|Kauniaisissa kauniainen|Espooseen espoo|Vantaalta vantaa|Koskea koski|Laineen laine
Virta-Laineen virta-laine|Anna-Liisalle anna-liisa|Juha-Pekan juha-pekka|Etelä-Suomen etelä-suomi
Virtaset virtanen|Virtasten virtanen|Virtasilla virtanen|Niemisille nieminen
Juhakin juha|Virtasenkaan virtanen|Heikkiläkö heikkilä|Juhallakin juha|Liisahan liisa
Juhamme juha|Liisallani liisa|Liisallaan liisa|Kyllikkinsä kyllikki
HUS:iin hus|THL:n thl|Dubois'n dubois|Smithille smith|Aallon aalto|Sadun satu|Kurjen kurki|Rädyn räty|Haan haka"""
UNLISTED = """Zetterbergin zetterberg|Zetterbergille zetterberg|Kuuskorven kuuskorpi|Kuuskorpea kuuskorpi
Repolahdesta repolahti|Mustakankaan mustakangas|Pohjoislampelan pohjoislampela|Kissavuoresta kissavuori"""


def pairs(table):
    return [row.split() for row in table.replace("\n", "|").split("|")]


def lemmas(*words):
    return lemmatize(words)


def listed_names(limit):
    """The commonest names of each list, with the kind that they inflect as."""
    for stem, kind in (("female", "given"), ("male", "given"), ("surname", "surname")):
        path = files("spacy_deid") / "lang" / "fi" / "names" / f"{stem}.csv"
        rows = list(csv.DictReader(path.read_text(encoding="utf8").splitlines()))
        yield from ((row["name"], kind) for row in rows[:limit] if row["name"].isalpha() and len(row["name"]) > 2)


NAMES = list(listed_names(3000))
COMMON = list(listed_names(300))


@pytest.mark.parametrize(("form", "name"), pairs(FORMS))
def test_a_form_goes_back_to_its_name(form, name):
    assert lemmas(form) == [name]


@pytest.mark.parametrize(("form", "name"), pairs(UNLISTED))
def test_names_that_no_list_has_go_back_as_others_with_their_ending(form, name):
    assert lemmas(form) == [name]


@pytest.mark.parametrize(
    "word", ["Virtanen", "Helsinki", "Anna-Liisa", "hän", "12.3.", "juha.virtanen@x.fi", "\n", "a"]
)
def test_what_is_no_form_of_something_else_stays(word):
    assert lemmas(word) == [word.lower()]


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        (["Kari", "soitti", "Karin", "vaimo"], "kari"),
        (["Karin", "soitti", "Karinin", "mies"], "karin"),
        (["Martti", "tuli", "Martin", "kanssa"], "martti"),
        (["Ole", "tuli", "Olella", "on"], "ole"),
    ],
)
def test_the_other_words_of_the_note_decide_between_two_names(note, expected):
    found = lemmas(*note)
    assert found[0] == found[2] == expected


@settings(deadline=None)  # the first example builds the index
@given(st.sampled_from(NAMES), st.sampled_from(CASES))
def test_the_name_is_among_what_its_forms_may_come_from(listed, case):
    name, kind = listed
    form = inflect(name, "fi", case, kind=kind).lower()
    assume(form not in load_index().counts)  # "Camilla" is a name before it is a form of Cam
    assert name.lower() in find_candidates(form)


@settings(deadline=None)  # the first example builds the index
@given(st.sampled_from(NAMES), st.sampled_from(CASES))
def test_a_form_and_its_name_in_one_note_fall_together(listed, case):
    name, kind = listed
    form = inflect(name, "fi", case, kind=kind)
    assume(form.lower() not in load_function_words())  # "ennen" is a word before it is a form of Enne
    assume(form.lower() not in load_index().counts)  # "Camilla" is a name before it is a form of Cam
    first, second = lemmas(name, form)
    assert first == second


@settings(deadline=None)  # the first example builds the index
@given(st.sampled_from(NAMES), st.sampled_from(CASES))
def test_capitals_and_small_letters_have_one_lemma(listed, case):
    name, kind = listed
    form = inflect(name, "fi", case, kind=kind)
    assert len(set(lemmas(form, form.upper(), form.lower()))) == 1


@settings(deadline=None)  # the first example builds the index
@given(st.sampled_from(COMMON), st.sampled_from(COMMON))
def test_two_common_names_stay_two(first, second):
    assume(f"{first[0]}n" != second[0] and f"{second[0]}n" != first[0])  # "Karin" is the genitive of Kari, too
    one, two = lemmas(first[0], second[0])
    assert (one == two) == (first[0].lower() == second[0].lower())


@settings(deadline=None)  # the first example builds the index
@given(st.text(max_size=30))
def test_any_word_has_one_lemma(word):
    words = [word] if word else ["x"]
    assert len(lemmas(*words)) == 1
    assert lemmas(*words)[0]


def test_a_long_word_takes_no_long_time():
    assert len(lemmas("a" * 100_000, "Virtasen")) == 2
