"""Words that no surrogate has."""

import pytest

from spacy_deid.medical.name_context import unfit_words


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
def test_eponyms_and_offensive_words_are_unfit(lang):
    assert {"parkinson", "crohn", "babinski", "dick"} <= unfit_words(lang)


@pytest.mark.parametrize(("lang", "name"), [("es", "garcia"), ("en", "johnson"), ("fi", "virtanen")])
def test_the_commonest_surnames_are_not(lang, name):
    assert name not in unfit_words(lang)
