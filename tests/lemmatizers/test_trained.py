"""Lemmatizers that need something else: a trained pipeline, Voikko."""

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_deid.errors import ConfigError
from spacy_deid.lemmatizers import _load_pipeline, make_edit_tree_lemmatizer, make_voikko_lemmatizer

WORDS = {"Virtasen": "Virtanen", "Nieminen": "Nieminen", "talossa": "talo", "autossa": "auto", "Korhosen": "Korhonen"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A pipeline trained on a few words."""
    nlp = spacy.blank("fi")
    nlp.add_pipe("trainable_lemmatizer", config={"min_tree_freq": 1})
    docs = [Doc(nlp.vocab, words=list(WORDS), lemmas=list(WORDS.values())) for _ in range(4)]
    examples = [Example(Doc(nlp.vocab, words=list(WORDS)), doc) for doc in docs]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(40):
        nlp.update(examples, sgd=optimizer)
    path = tmp_path_factory.mktemp("lemmatizer") / "fi"
    nlp.to_disk(path)
    return path


def test_a_trained_pipeline_gives_its_lemmas(folder):
    doc = Doc(spacy.blank("fi").vocab, words=list(WORDS))
    assert make_edit_tree_lemmatizer(folder)(doc) == [lemma.lower() for lemma in WORDS.values()]


def test_the_trained_pipeline_keeps_no_word_of_a_note(folder):

    words = ["Xyzzyqvistin", "talossa"]
    make_edit_tree_lemmatizer(folder)(Doc(spacy.blank("fi").vocab, words=words))
    strings = _load_pipeline(str(folder)).vocab.strings
    assert len(strings) > 0
    assert "Xyzzyqvistin" not in strings


def test_an_empty_doc_of_a_trained_pipeline(folder):
    assert make_edit_tree_lemmatizer(folder)(Doc(spacy.blank("fi").vocab)) == []


def test_a_pipeline_without_a_lemmatizer_is_an_error(tmp_path):
    spacy.blank("fi").to_disk(tmp_path / "none")
    with pytest.raises(ConfigError, match="lemmatizer"):
        make_edit_tree_lemmatizer(tmp_path / "none")


def has_voikko():
    try:
        make_voikko_lemmatizer()
    except ConfigError:
        return False
    return True


@pytest.mark.skipif(has_voikko(), reason="Voikko is installed")
def test_without_voikko_an_error_says_what_to_install():
    with pytest.raises(ConfigError, match="voikko-fi"):
        make_voikko_lemmatizer()


@pytest.mark.skipif(not has_voikko(), reason="Voikko is not installed")
def test_voikko_gives_base_forms():
    assert make_voikko_lemmatizer()(Doc(spacy.blank("fi").vocab, words=["Virtasen", "talossa", "qqqq", ","])) == [
        "virtanen",
        "talo",
        "qqqq",
        ",",
    ]
