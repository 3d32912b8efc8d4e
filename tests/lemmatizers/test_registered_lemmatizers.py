"""What every registered lemmatizer does: one lemma a token, never empty, nothing changed, nothing kept."""

import pickle

import pytest
import spacy
from spacy.tokens import Doc

from spacy_deid.errors import ConfigError
from spacy_deid.lemmatizers import lower_form

CONFIGS = {
    "doc": {"@misc": "spacy_deid.doc_lemmas.v1"},
    "lookup es": {"@misc": "spacy_deid.lookup_lemmas.v1", "lang": "es"},
    "simplemma fi": {"@misc": "spacy_deid.simplemma_lemmas.v1", "lang": "fi"},
    "finnish": {"@misc": "spacy_deid.finnish_name_lemmas.v1"},
    "default en": {"@misc": "spacy_deid.default_lemmas.v1", "lang": "en"},
    "default es": {"@misc": "spacy_deid.default_lemmas.v1", "lang": "es"},
    "default fi": {"@misc": "spacy_deid.default_lemmas.v1", "lang": "fi"},
    "first": {
        "@misc": "spacy_deid.first_lemmas.v1",
        "*": {
            "main": {"@misc": "spacy_deid.doc_lemmas.v1"},
            "names": {"@misc": "spacy_deid.finnish_name_lemmas.v1"},
        },
    },
    "capitalised": {
        "@misc": "spacy_deid.capitalised_lemmas.v1",
        "capitalised": {"@misc": "spacy_deid.finnish_name_lemmas.v1"},
        "others": {"@misc": "spacy_deid.doc_lemmas.v1"},
    },
}
WORDS = (
    "VIRTASEN Juhan juhan.virtanen@sairaala.fi 12.3.2020 , \n ' -- Ångströmin HUS:iin O'Brien's a Ä niños 53v".split(
        " "
    )
)


def make(config):
    return spacy.registry.resolve({"lemmatizer": config})["lemmatizer"]


@pytest.fixture(params=CONFIGS)
def lemmatizer(request):
    return make(CONFIGS[request.param])


@pytest.fixture
def vocab():
    return spacy.blank("fi").vocab


def test_each_token_has_a_lemma_that_is_not_empty(lemmatizer, vocab):
    lemmas = lemmatizer(Doc(vocab, words=WORDS))
    assert len(lemmas) == len(WORDS)
    assert all(isinstance(lemma, str) and lemma for lemma in lemmas)


def test_an_empty_doc_has_no_lemmas(lemmatizer, vocab):
    assert lemmatizer(Doc(vocab)) == []


def test_lemmas_are_in_lower_case_and_composed(lemmatizer, vocab):
    lemmas = lemmatizer(Doc(vocab, words=WORDS))
    assert lemmas == [lower_form(lemma) for lemma in lemmas]


def test_capitals_and_decomposed_accents_make_no_difference(lemmatizer, vocab):
    upper, lower, apart = lemmatizer(Doc(vocab, words=["MÄKELÄ", "mäkelä", "Ma\u0308kela\u0308"]))
    assert upper == lower == apart


def test_marks_are_their_own_lemmas(lemmatizer, vocab):
    words = [",", "--", "12", "@"]
    assert lemmatizer(Doc(vocab, words=words)) == words


def test_the_doc_stays_as_it_is(lemmatizer, vocab):
    doc = Doc(vocab, words=WORDS)
    before = doc.to_bytes()
    lemmatizer(doc)
    assert doc.to_bytes() == before


def test_it_goes_to_another_process(lemmatizer, vocab):
    doc = Doc(vocab, words=WORDS)
    assert pickle.loads(pickle.dumps(lemmatizer))(doc) == lemmatizer(doc)


def test_it_keeps_no_word_of_a_note(lemmatizer, vocab):
    lemmatizer(Doc(vocab, words=["Xyzzyqvistin"]))
    assert b"yzzyqvist" not in pickle.dumps(lemmatizer)
    assert "yzzyqvist" not in repr(lemmatizer)


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"@misc": "spacy_deid.lookup_lemmas.v1", "lang": "fi"}, "spacy-lookups-data"),
        ({"@misc": "spacy_deid.simplemma_lemmas.v1", "lang": "xx"}, "simplemma"),
        ({"@misc": "spacy_deid.edit_tree_lemmas.v1", "path": "no/such/folder"}, "no/such/folder"),
        ({"@misc": "spacy_deid.default_lemmas.v1", "lang": "sv"}, "en, es, fi"),
    ],
)
def test_what_cannot_be_made_is_an_error_that_says_what_is_missing(config, code):
    with pytest.raises(ConfigError, match=code):
        make(config)
