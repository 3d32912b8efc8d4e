"""Lemmatizers of lemmatizers, the pipeline's own lemmas, and lemmatizers that have nothing to say."""

import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_deid.errors import ConfigError
from spacy_deid.lemmatizers import Lemmatizer, choose_lemmatizer, make_capitalised_lemmatizer, read_lemmas

VOCAB = Vocab()


def table(**lemmas: str) -> Lemmatizer:
    """A lemmatizer that knows some words and says nothing about others."""
    return lambda doc: [lemmas.get(token.text, "") for token in doc]


def first(*lemmatizers):
    return choose_lemmatizer(list(lemmatizers), "fi")


def capitalised(names, others):
    return make_capitalised_lemmatizer(names, others, "fi")


def test_the_pipelines_own_lemmas_are_read():
    doc = Doc(VOCAB, words=["Juhan", "vaimo"], lemmas=["Juha", ""])
    assert read_lemmas(doc) == ["juha", "vaimo"]


def test_a_word_with_two_lemmas_gets_one():
    doc = Doc(VOCAB, words=["leaves", "Leaves", "LEAVES"], lemmas=["leave", "leaf", ""])
    assert read_lemmas(doc) == ["leave"] * 3


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_a_blank_lemma_is_none(blank):
    doc = Doc(VOCAB, words=["Juhan"], lemmas=[blank])
    assert read_lemmas(doc) == ["juhan"]
    assert first(table(Juhan=blank))(doc) == ["juhan"]


def test_the_first_that_knows_a_word_is_taken():
    lemmatizer = first(table(talon="talo"), table(talon="x", Juhan="juha"))
    assert lemmatizer(Doc(VOCAB, words=["talon", "Juhan", "ja"])) == ["talo", "juha", "ja"]


def test_the_first_of_none_is_an_error():
    with pytest.raises(ConfigError, match="at least one"):
        first()


def test_finnish_names_fall_back_on_the_rule():
    lemmatizer = first(table(talossa="talo"), "rules")
    assert lemmatizer(Doc(VOCAB, words=["Virtasen", "talossa"])) == ["virtanen", "talo"]


def test_capitals_within_a_sentence_go_to_the_one_for_names():
    lemmatizer = capitalised(table(Juhan="juha", juhan="juha"), table(Juhan="x", talon="talo"))
    assert lemmatizer(Doc(VOCAB, words=["se", "Juhan", "talon", "juhan"])) == ["se", "juha", "talo", "juha"]


def test_at_the_start_of_a_sentence_the_one_for_words_is_asked_first():
    lemmatizer = capitalised(table(Talon="x", Juhan="juha"), table(Talon="talo"))
    assert lemmatizer(Doc(VOCAB, words=["Talon", "ovi", ".", "Juhan", "ovi"])) == ["talo", "ovi", ".", "juha", "ovi"]
