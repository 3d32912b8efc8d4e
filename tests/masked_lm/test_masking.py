"""Context masking: which words are masked together."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.masked_lm.masking import make_no_masking, make_same_lemma_masking, make_same_word_masking

TOKENIZER = {"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}}
NLP = spacy.blank("es", config=TOKENIZER)


def together(text, masking):
    """The words that are masked with another one."""
    doc = NLP.make_doc(text)
    words = [token.i for token in doc if any(map(str.isalnum, token.text))]
    found = masking.find(doc, words)
    return [{doc[words[place]].text for place in places} for places in found if len(places) > 1]


def test_none_masks_no_other_word():
    assert together("Ignacio e Ignacio", make_no_masking()) == []


@pytest.mark.parametrize("other", ["IGNACIO", "ignacio", "Ignácio", "Igna\N{COMBINING ACUTE ACCENT}cio"])
def test_the_same_word_whatever_its_case_and_accents(other):
    assert together(f"Ignacio llegó. {other} se fue", make_same_word_masking()) == [{"Ignacio", other}] * 2


def test_a_name_inside_an_address_and_a_user_name():
    found = together("Ignacio Salgado: ignacio@gmail.com, usuario isalgado77", make_same_word_masking())
    assert {"Ignacio", "ignacio"} in found
    assert {"Salgado", "isalgado"} in found


def test_short_words_are_left_alone():
    assert together("de la mano de la madre", make_same_word_masking()) == []


def test_forms_of_a_lemma():
    masking = make_same_lemma_masking(lambda doc: [token.text.removesuffix("n") for token in doc])
    assert together("Potilas Juha, Juhan vaimo", masking) == [{"Juha", "Juhan"}] * 2


def test_a_lemmatizer_that_returns_nothing_leaves_the_words():
    masking = make_same_lemma_masking(lambda doc: [" "] * len(doc))
    assert together("Juha ja Juha", masking) == [{"Juha"}] * 2


@given(
    st.lists(
        st.sampled_from(["Ana", "ana", "ana7", "mariana7", "maria", "Maria.Ana@x.es", "anamaria_1", "de"]), max_size=12
    )
)
def test_it_is_an_equivalence(words):
    doc = NLP.make_doc(" ".join(words))
    places = [token.i for token in doc if any(map(str.isalnum, token.text))]
    found = make_same_word_masking().find(doc, places)
    for place, others in enumerate(found):
        assert place in others
        assert list(others) == sorted(set(others))
        assert all(list(found[other]) == list(others) for other in others)
