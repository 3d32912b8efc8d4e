"""The word before a value goes with the value that stands there now."""

import pytest

from spacy_deid.surrogates.agreement import agree
from spacy_deid.surrogates.mention import Mention


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
    ],
)
def test_the_word_before_changes_with_the_sound(lang, before, original, surrogate, after):
    start, end, word = agree(Mention(original, "PATIENT", before), surrogate, lang)
    assert before[: len(before) - start] + word + before[len(before) - end :] == after


@pytest.mark.parametrize(
    ("lang", "before", "original", "surrogate"),
    [
        ("en", "he is a ", "baker", "nurse"),
        ("en", "hepatitis-A ", "baker", "engineer"),
        ("en", "seen by ", "Ann", "Bob"),
        ("en", "", "Ann", "Bob"),
        ("es", "vive en ", "Soria", "Ibiza"),
        ("es", "grupo y", "Soria", "Ibiza"),
        ("fi", "a ", "Soria", "Ibiza"),
    ],
)
def test_other_words_stay(lang, before, original, surrogate):
    assert agree(Mention(original, "CITY", before), surrogate, lang) is None
