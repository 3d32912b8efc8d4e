"""What every lemmatizer does: one lemma a token, never empty, nothing changed, nothing kept."""

import pickle

import pytest
import spacy
from spacy.tokens import Doc

from spacy_deid.errors import ConfigError
from spacy_deid.lemmatizers import choose_lemmatizer, lower_form

BLOCK = "@deid_lemmatizers"
CAPITALISED = "spacy_deid.capitalised_lemmatizer.v1"
CONFIGS = {
    "doc": ("doc", "fi"),
    "lookup": ("lookup", "es"),
    "simplemma": ("simplemma", "fi"),
    "rules": ("rules", "fi"),
    "default en": (None, "en"),
    "default es": (None, "es"),
    "default fi": (None, "fi"),
    "first": (["doc", "rules"], "fi"),
    "capitalised": ({BLOCK: CAPITALISED, "capitalised": "rules", "others": "doc", "lang": "fi"}, "fi"),
}
WORDS = (
    "VIRTASEN Juhan juhan.virtanen@sairaala.fi 12.3.2020 , \n ' -- Ångströmin HUS:iin O'Brien's a Ä niños 53v".split(
        " "
    )
)


def make(config, lang):
    return choose_lemmatizer(spacy.registry.resolve({"lemmatizer": config})["lemmatizer"], lang)


@pytest.fixture(params=CONFIGS)
def lemmatizer(request):
    return make(*CONFIGS[request.param])


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
    ("config", "lang", "message"),
    [
        ("lookup", "fi", "spacy-lookups-data"),
        ("simplemma", "xx", "simplemma"),
        ({BLOCK: "spacy_deid.edit_tree_lemmatizer.v1", "path": "no/such/folder"}, "fi", "no/such/folder"),
        ("spacy_deid.edit_tree_lemmatizer.v1", "fi", r"lemmatizer 'spacy_deid.*' needs settings"),
        ("rules", "sv", "Languages with one: .*fi"),
        ("nonsense", "fi", "unknown lemmatizer 'nonsense'. Known names: rules, simplemma, lookup, voikko, doc"),
    ],
)
def test_a_lemmatizer_that_cannot_be_made_is_an_error_that_says_why(config, lang, message):
    with pytest.raises(ConfigError, match=message):
        make(config, lang)
