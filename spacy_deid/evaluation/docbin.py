"""spaCy Docs from annotated notes and back, for training data and for files that spaCy reads.

A Doc's name stands in ``doc.user_data["deid/name"]``. Entities are widened to whole tokens and cannot overlap, so a
Doc may hold more characters than the note's annotation, and fewer entities: how many is returned, not hidden.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.util import filter_spans
from spacy.vocab import Vocab

from ..errors import Errors, InputError
from .documents import AnnotatedText, Entity, index_documents, relabel
from .files import read_label

__all__ = ["NAME", "from_doc", "make_docs", "read_docbin", "write_docbin"]

NAME = "deid/name"


def make_docs(
    documents: Iterable[AnnotatedText], tokenizer: Callable[[str], Doc], *, scheme: str = "canonical"
) -> tuple[list[Doc], int]:
    """Make Docs whose ``ents`` are the gold entities, widened to whole tokens.

    Where entities overlap, the one of more tokens stays and the other goes: ``doc.ents`` cannot hold both.

    documents (Iterable[AnnotatedText]): annotated notes.
    tokenizer (Callable[[str], Doc]): ``nlp.make_doc`` or a tokenizer.
    scheme (str): scheme to write the labels in.
    RETURNS (tuple[list[Doc], int]): the Docs in the given order, and how many entities were left out.
    """
    docs, dropped = [], 0
    for document in documents:
        doc = tokenizer(document.text)
        entities = relabel(document.entities, scheme)
        spans = [doc.char_span(e.start, e.end, label=e.label, alignment_mode="expand") for e in entities]
        # A span of nothing but the blank between two tokens covers no token: it comes back empty.
        kept = filter_spans(span for span in spans if span)
        doc.set_ents(kept)
        doc.user_data[NAME] = document.name
        docs.append(doc)
        dropped += len(spans) - len(kept)
    return docs, dropped


def from_doc(doc: Doc, name: str = "", *, scheme: str = "canonical") -> AnnotatedText:
    """Take the entities of a Doc.

    doc (Doc): its ``ents`` are the entities.
    name (str): name of the document; "" for the one that the Doc carries.
    scheme (str): scheme of the labels in ``doc.ents``.
    RETURNS (AnnotatedText): with canonical labels.
    RAISES: InputError (D304) for a label that is not in the scheme.
    """
    name = name or str(doc.user_data.get(NAME, ""))
    found = [Entity(e.start_char, e.end_char, read_label(e.label_, scheme, Path(name), 1)) for e in doc.ents]
    return AnnotatedText(name, doc.text, tuple(found))


def read_docbin(path: Path, *, scheme: str = "canonical") -> list[AnnotatedText]:
    """Read a .spacy file.

    path (Path): the file.
    scheme (str): scheme of the labels in it.
    RETURNS (list[AnnotatedText]): in the order of the file; Docs without a name are numbered.
    RAISES: InputError if it is no DocBin (D303), a name stands twice (D308) or a label is not known (D304).
    """
    try:
        docs = list(DocBin().from_disk(path).get_docs(Vocab()))
    except Exception:  # msgpack and zlib raise whatever they meet, some with the bytes in the message
        raise InputError(Errors.D303.format(path=path, reason="not a DocBin")) from None
    named = [
        from_doc(doc, str(doc.user_data.get(NAME, f"{path.stem}-{i}")), scheme=scheme) for i, doc in enumerate(docs)
    ]
    return list(index_documents(named).values())


def write_docbin(
    documents: Iterable[AnnotatedText], path: Path, tokenizer: Callable[[str], Doc], *, scheme: str = "canonical"
) -> int:
    """Write a .spacy file for ``spacy train`` and ``spacy evaluate``.

    documents (Iterable[AnnotatedText]): annotated notes.
    path (Path): the file.
    tokenizer (Callable[[str], Doc]): ``nlp.make_doc`` or a tokenizer.
    scheme (str): scheme to write the labels in.
    RETURNS (int): how many entities were left out because they overlap a longer one.
    """
    docs, dropped = make_docs(index_documents(documents).values(), tokenizer, scheme=scheme)
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    return dropped
