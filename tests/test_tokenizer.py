"""The clinical tokenizer: fine tokens that add up to the text."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

CONFIG = {"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}}
NLP = spacy.blank("es", config=CONFIG)


def words(text, nlp=NLP):
    return [token.text for token in nlp.make_doc(text)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Madrid.CP:28035", ["Madrid", ".", "CP", ":", "28035"]),
        ("53años", ["53", "años"]),
        ("GarcíaNºCol:28", ["García", "NºCol", ":", "28"]),
        ("soplo 2/6", ["soplo", "2", "/", "6"]),
        ("T3N0M0", ["T", "3", "N", "0", "M", "0"]),
        ("a--b (..)", ["a", "-", "-", "b", "(", ".", ".", ")"]),
        ("ana_ruiz@example.org", ["ana", "_", "ruiz", "@", "example", ".", "org"]),
        ("Pe\u0301rezLuna", ["Pe\u0301rez", "Luna"]),
        ("a\tb\n\nc", ["a", "\t", "b", "\n", "\n", "c"]),
        ("ab\u200bcd", ["ab", "\u200b", "cd"]),
        ("😀x", ["😀", "x"]),
        ("", []),
    ],
)
def test_marks_digits_and_capitals_part_words(text, tokens):
    assert words(text) == tokens


@given(st.text(max_size=60))
def test_the_tokens_add_up_to_the_text(text):
    doc = NLP.make_doc(text)
    assert doc.text == text
    assert "".join(token.text_with_ws for token in doc) == text


@given(st.text(alphabet="aZñ1 9.-/_@:()\n", max_size=40))
def test_no_token_mixes_letters_digits_and_marks(text):
    for word in words(text):
        kinds = {"letter" if c.isalpha() else "digit" if c.isdigit() else "space" if c.isspace() else c for c in word}
        assert len(kinds) == 1
        assert word.isalnum() or word.isspace() or len(word) == 1


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
def test_the_same_in_every_language(lang):
    assert words("Tel.600", spacy.blank(lang, config=CONFIG)) == ["Tel", ".", "600"]


def test_a_saved_tokenizer_splits_in_the_same_way(tmp_path):
    text = "Dr.Mas,53años-2/6"
    NLP.to_disk(tmp_path)
    assert words(text, spacy.load(tmp_path)) == words(text)
    assert words(text, spacy.blank("es", config=CONFIG).from_bytes(NLP.to_bytes())) == words(text)
