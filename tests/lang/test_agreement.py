"""Words that change with the first sound of the following word: English articles, Spanish conjunctions."""

import pytest

from spacy_deid.lang.en.grammar import indefinite_article
from spacy_deid.lang.es.grammar import conjunction_and, conjunction_or
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.style import agree


@pytest.mark.parametrize(
    "text", ["Allen", "Owens", "M. Smith", "Upton", "hour", "Hourani", "MRI", "Irish nurse", "(Ann)"]
)
def test_an_precedes_the_sound_of_a_vowel(text):
    assert indefinite_article(text) == "an"


@pytest.mark.parametrize("text", ["Smith", "Baker", "T. Baker", "Eugene", "Young", "European", "one-off"])
def test_a_precedes_the_sound_of_a_consonant(text):
    assert indefinite_article(text) == "a"


@pytest.mark.parametrize(
    ("text", "conjunctions"),
    [
        ("Isabel", ("e", "o")),
        ("Hilario", ("e", "o")),
        ("Iago", ("y", "o")),
        ("Óscar", ("y", "u")),
        ("Horacio", ("y", "u")),
        ("Ana", ("y", "o")),
    ],
)
def test_spanish_conjunctions_change_before_their_own_sound(text, conjunctions):
    assert (conjunction_and(text), conjunction_or(text)) == conjunctions


@pytest.mark.parametrize(
    ("lang", "before", "original", "surrogate", "after"),
    [
        ("en", "he is a ", "Swedish", "Irish", "he is an "),
        ("en", "he is an ", "engineer", "baker", "he is a "),
        ("en", "A ", "baker", "engineer", "An "),
        ("en", "A ", "BAKER", "ENGINEER", "AN "),
        ("en", "SEEN BY AN ", "ENGINEER", "BAKER", "SEEN BY A "),
        ("en", "with a\n", "baker", "engineer", "with an\n"),
        ("es", "Pedro y ", "Carmen", "Inés", "Pedro e "),
        ("es", "Pedro e ", "Inés", "Carmen", "Pedro y "),
        ("es", "Ana o ", "Luis", "Óscar", "Ana u "),
        ("es", "Ana, ", "Luis", "", "Ana,"),
    ],
)
def test_the_word_before_a_surrogate_agrees_with_it(lang, before, original, surrogate, after):
    start, end, word = agree(Mention(original, "PATIENT", before), surrogate, lang)
    assert before[: len(before) - start] + word + before[len(before) - end :] == after


@pytest.mark.parametrize(
    ("lang", "before", "original", "surrogate"),
    [
        ("en", "he is a ", "baker", "nurse"),
        ("en", "hepatitis-A ", "baker", "engineer"),
        ("en", "seen by ", "Ann", "Bob"),
        ("en", "", "Ann", "Bob"),
        ("en", "", "Ann", ""),
        ("es", "vive en ", "Soria", "Ibiza"),
        ("es", "grupo y", "Soria", "Ibiza"),
        ("es", "Ana y ", "Luis", "Óscar"),
        ("fi", "a ", "Soria", "Ibiza"),
        ("zz", "a ", "Soria", "Ibiza"),
    ],
)
def test_other_words_stay(lang, before, original, surrogate):
    assert agree(Mention(original, "CITY", before), surrogate, lang) is None
