"""Lemmas that the pipeline has already found."""

from spacy.tokens import Doc
from spacy.util import registry

from .words import Lemmatizer, fill

__all__ = ["make_doc_lemmas", "read_lemmas"]


@registry.misc("spacy_deid.doc_lemmas.v1")
def make_doc_lemmas() -> Lemmatizer:
    """Make a lemmatizer that takes what a lemmatizer before it in the pipeline wrote.

    RETURNS (Lemmatizer): `read_lemmas`. Without such a component it gives lower-case forms.
    """
    return read_lemmas


def read_lemmas(doc: Doc) -> list[str]:
    """Read ``token.lemma_``.

    doc (Doc): the Doc.
    RETURNS (list[str]): one lemma for each token; the lower-case form where the Doc has none.
    """
    return fill((token.text for token in doc), (token.lemma_ for token in doc))
