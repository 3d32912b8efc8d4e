"""What a lemmatizer is, and the helpers that all lemmatizers share.

A lemma is a key: in lower case and in Unicode's composed form (NFC), so that "VIRTASEN" and "Virtanen" compare equal
and an accent is the same however it was typed. Lemmatizers store no words of notes beyond a call.
"""

from collections.abc import Callable, Iterable
from unicodedata import normalize

from spacy.tokens import Doc

Lemmatizer = Callable[[Doc], list[str]]
"""Doc → one lemma per token, none of them empty."""


def lower_form(word: str) -> str:
    """Return the form of a word that lemmas have.

    word (str): as written.
    RETURNS (str): in lower case and composed.
    """
    return normalize("NFC", word).lower()


def fill(words: Iterable[str], lemmas: Iterable[str | None]) -> list[str]:
    """Fill in missing lemmas, and give all occurrences of a word the same lemma.

    A lemmatizer that reads the sentence, or does not know capitalized words, may return several lemmas for a word; two
    occurrences of it would then count as two words. The first lemma that differs from the word itself is used for all.

    words (Iterable[str]): the words as written.
    lemmas (Iterable[Optional[str]]): a lemma for each word; None or blank if unknown.
    RETURNS (list[str]): one lemma per word; the lower-case form of a word without one.
    """
    forms = []
    chosen: dict[str, str] = {}
    for word, lemma in zip(words, lemmas, strict=True):
        form = lower_form(word)
        forms.append(form)
        if lemma and chosen.get(form, form) == form and not lemma.isspace():
            chosen[form] = lower_form(lemma)
    return [chosen.get(form, form) for form in forms]


def lemmatize_words(doc: Doc, lemma_of: Callable[[str], str | None]) -> list[str]:
    """Lemmatize a Doc word by word; each distinct word is looked up once.

    doc (Doc): the Doc.
    lemma_of (Callable[[str], Optional[str]]): word as written → lemma; None or blank if unknown.
    RETURNS (list[str]): one lemma per token.
    """
    words = [token.text for token in doc]
    distinct = list(dict.fromkeys(words))
    lemmas = dict(zip(distinct, fill(distinct, map(lemma_of, distinct)), strict=True))
    return [lemmas[word] for word in words]
