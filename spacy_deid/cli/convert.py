"""``spacy-deid convert``: a corpus to the binary format that spaCy trains on."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.tokens import Doc

from ..errors import Errors, InputError
from ..evaluation import AnnotatedText, detect_format, read_folder
from ..evaluation.docbin import align_entities, write_docbin
from ..evaluation.formats import annotation_files
from ..io import read_bytes, whole_file
from .console import reporting, say
from .options import CasLayer, Scheme

__all__ = ["convert", "hash_folder"]


def convert(
    folder: Annotated[Path, typer.Argument(help="Folder of brat, i2b2 XML, JSONL, UIMA CAS JSON or XMI files.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.spacy", help="File to write.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of the corpus.")],
    sha256: Annotated[str | None, typer.Option(help="What the SHA-256 of the annotation files must be.")] = None,
    lang: Annotated[str, typer.Option(help="Language of the pipeline that will be trained.")] = "es",
    layer: CasLayer = None,
) -> None:
    """Convert a corpus to .spacy: canonical labels, the tokens of ClinicalTokenizer.

    Entities that begin or end within a token are widened, those that overlap a longer one keep the rest of their
    tokens; both are named on stderr by document and offsets, and none is dropped.

    The SHA-256 is that of each annotation file's name, a NUL, its length in bytes, a NUL and its content, in the order
    of the names relative to the folder.
    """
    with reporting():
        digest = hash_folder(folder)
        if sha256 and digest != sha256.lower():
            raise InputError(Errors.D414.format(path=folder, found=digest, expected=sha256.lower()))
        documents = read_folder(folder, scheme=str(scheme), layer=layer)
        tokenizer = {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}
        nlp = spacy.blank(lang, config={"nlp": {"tokenizer": tokenizer}})
        with whole_file(out) as temporary:
            overlapping = write_docbin(documents, temporary, nlp.make_doc)
        entities = sum(len(document.entities) for document in documents)
        misaligned = name_conflicts(documents, nlp.make_doc)
        typer.echo(
            f"{len(documents)} documents, {entities} entities, {misaligned} misaligned, {overlapping} overlapping"
        )
        typer.echo(f"sha256 {digest}")


def name_conflicts(documents: Sequence[AnnotatedText], tokenizer: Callable[[str], Doc]) -> int:
    """Name the entities that do not begin and end at a token's edge or overlap another, by document and offsets.

    documents (Sequence[AnnotatedText]): the corpus.
    tokenizer (Callable[[str], Doc]): makes the Docs.
    RETURNS (int): how many do not begin and end at a token's edge.
    """
    misaligned = 0
    for document in documents:
        for conflict in align_entities(tokenizer(document.text), list(document.entities))[1]:
            say(f"{document.name}: {conflict}")
            misaligned += conflict.kind == "misaligned"
    return misaligned


def hash_folder(folder: Path) -> str:
    """Hash the annotation files of a folder, or one file.

    folder (Path): what `evaluation.read_folder` reads.
    RETURNS (str): SHA-256, hexadecimal; see `convert`.
    RAISES: InputError if there are no annotation files (D303, D306) or one cannot be read (D402).
    """
    digest = hashlib.sha256()
    for file in annotation_files(folder, detect_format(folder)):
        data = read_bytes(file)
        digest.update(b"%s\0%d\0" % (file.name.encode("utf-8", "surrogateescape"), len(data)))
        digest.update(data)
    return digest.hexdigest()
