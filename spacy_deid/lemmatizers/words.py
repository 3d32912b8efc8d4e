"""What all lemmatizers share: what one is, and how the words of a Doc are gone through.

A lemma is in lower case and in Unicode's composed form (NFC), so that "VIRTASEN" and "Virtanen" compare equal and an
accent is the same however it was typed. Nothing of a note is kept beyond a call: there is no cache but the one that
lives as long as the Doc is being read.
"""

from collections.abc import Callable, Iterable
from unicodedata import normalize

from spacy.tokens import Doc

__all__ = ["Lemmatizer", "each_word", "fill", "lower_form"]

Lemmatizer = Callable[[Doc], list[str]]
"""Doc → one lemma for each token, none of them empty."""


def lower_form(word: str) -> str:
    """Bring a word into the form that lemmas have.

    word (str): as written.
    RETURNS (str): lower case, composed.
    """
    return normalize("NFC", word).lower()


def fill(words: Iterable[str], lemmas: Iterable[str | None]) -> list[str]:
    """Put the lower-case form of a word where a lemmatizer had nothing to say, and give each word one lemma.

    A lemmatizer that reads the sentence, or is at a loss before capitals, may give a word several; two occurrences of
    a word would then count as two words. The first lemma that is not the word itself is taken for all.

    words (Iterable[str]): the words as written.
    lemmas (Iterable[Optional[str]]): what was found for each; None, empty or blank if nothing.
    RETURNS (list[str]): one lemma for each word.
    """
    forms = []
    chosen: dict[str, str] = {}
    for word, lemma in zip(words, lemmas, strict=True):
        form = lower_form(word)
        forms.append(form)
        if lemma and chosen.get(form, form) == form and not lemma.isspace():
            chosen[form] = lower_form(lemma)
    return [chosen.get(form, form) for form in forms]


def each_word(doc: Doc, lemma_of: Callable[[str], str | None]) -> list[str]:
    """Find the lemmas of a Doc word by word, each distinct word once.

    doc (Doc): the Doc.
    lemma_of (Callable[[str], Optional[str]]): word as written → lemma; None, empty or blank if there is none.
    RETURNS (list[str]): one lemma for each token.
    """
    words = [token.text for token in doc]
    distinct = list(dict.fromkeys(words))
    lemmas = dict(zip(distinct, fill(distinct, map(lemma_of, distinct)), strict=True))
    return [lemmas[word] for word in words]
