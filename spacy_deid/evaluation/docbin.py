"""spaCy Docs from annotated notes and back, for training data and for files that spaCy reads.

A Doc's name stands in ``doc.user_data["deid/name"]``. Entities are widened to whole tokens and cannot overlap, so a
Doc may hold more characters than the note's annotation, and an entity may be trimmed: how many are is returned, not
hidden.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import Errors, InputError
from .alignment import align_entities
from .documents import AnnotatedText, Entity, index_documents, relabel
from .files import read_label

__all__ = ["NAME", "from_doc", "make_docs", "read_docbin", "write_docbin"]

NAME = "deid/name"


def make_docs(
    documents: Iterable[AnnotatedText], tokenizer: Callable[[str], Doc], *, scheme: str = "canonical"
) -> tuple[list[Doc], int]:
    """Make Docs whose ``ents`` are the gold entities, widened to whole tokens.

    Where entities overlap, the one of more tokens stays and the other keeps the rest: ``doc.ents`` cannot hold both,
    and no token of either is lost. See `alignment.align_entities`.

    documents (Iterable[AnnotatedText]): annotated notes.
    tokenizer (Callable[[str], Doc]): ``nlp.make_doc`` or a tokenizer.
    scheme (str): scheme to write the labels in.
    RETURNS (tuple[list[Doc], int]): the Docs in the given order, and how many entities were trimmed.
    """
    docs, trimmed = [], 0
    for document in documents:
        doc = tokenizer(document.text)
        spans, conflicts = align_entities(doc, relabel(document.entities, scheme))
        doc.set_ents(spans)
        doc.user_data[NAME] = document.name
        docs.append(doc)
        trimmed += sum(conflict.trimmed for conflict in conflicts)
    return docs, trimmed


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
    RETURNS (int): how many entities were trimmed because they overlap a longer one.
    """
    docs, trimmed = make_docs(index_documents(documents).values(), tokenizer, scheme=scheme)
    DocBin(docs=docs, store_user_data=True).to_disk(path)
    return trimmed
