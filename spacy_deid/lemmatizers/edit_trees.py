"""Lemmas of a trained spaCy pipeline with an edit-tree lemmatizer, such as configs/lemmatizer.cfg trains."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import registry

from ..errors import ConfigError, Errors
from .words import Lemmatizer, fill

__all__ = ["EditTreeLemmas", "make_edit_tree_lemmas"]


@registry.misc("spacy_deid.edit_tree_lemmas.v1")
def make_edit_tree_lemmas(path: str | Path) -> Lemmatizer:
    """Make a lemmatizer of a trained pipeline.

    path (str | Path): folder of the pipeline. It has its own components; the words are those of the Doc.
    RETURNS (Lemmatizer): runs the pipeline over the words of each Doc.
    RAISES: ConfigError (D823) if the folder is no pipeline with a lemmatizer.
    """
    _load(str(path))
    return EditTreeLemmas(str(path))


@cache
def _load(path: str) -> Language:
    """The pipeline."""
    try:
        nlp = spacy.load(path)
    except (OSError, ValueError, TypeError):
        raise ConfigError(Errors.D823.format(path=path)) from None
    if not any("lemmatizer" in nlp.get_pipe_meta(name).factory for name in nlp.pipe_names):
        raise ConfigError(Errors.D823.format(path=path))
    return nlp


@dataclass(frozen=True, slots=True)
class EditTreeLemmas:
    """Runs a pipeline of its own over the words.

    path (str): folder of the pipeline.
    """

    path: str

    def __call__(self, doc: Doc) -> list[str]:
        """Find lemmas.

        doc (Doc): the Doc, which stays as it is.
        RETURNS (list[str]): one for each token.
        """
        if not len(doc):
            return []
        nlp = _load(self.path)
        words, spaces = [token.text for token in doc], [bool(token.whitespace_) for token in doc]
        with nlp.memory_zone():  # so that the pipeline's vocab does not keep the words
            read = nlp(Doc(nlp.vocab, words=words, spaces=spaces))
            return fill(words, [token.lemma_ for token in read])
