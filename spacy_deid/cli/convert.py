"""``spacy-deid convert``: a corpus to the binary format that spaCy trains on."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.tokens import Doc

from ..errors import Errors, InputError
from ..evaluation import FORMATS, AnnotatedText, detect_format, read_folder
from ..evaluation.docbin import write_docbin
from ..io import read_bytes, whole_file
from .console import reporting
from .options import Scheme

__all__ = ["convert", "hash_folder"]


def convert(
    folder: Annotated[Path, typer.Argument(help="Folder of brat, i2b2 XML or JSONL files.")],
    out: Annotated[Path, typer.Argument(metavar="OUT.spacy", help="File to write.")],
    scheme: Annotated[Scheme, typer.Option(help="Labels of the corpus.")],
    sha256: Annotated[str | None, typer.Option(help="What the SHA-256 of the annotation files must be.")] = None,
    lang: Annotated[str, typer.Option(help="Language of the pipeline that will be trained.")] = "es",
) -> None:
    """Convert a corpus to .spacy: canonical labels, the tokens of ClinicalTokenizer.

    The SHA-256 is that of each annotation file's name, a NUL, its length in bytes, a NUL and its content, in the order
    of the names relative to the folder.
    """
    with reporting():
        digest = hash_folder(folder)
        if sha256 and digest != sha256.lower():
            raise InputError(Errors.D414.format(path=folder, found=digest, expected=sha256.lower()))
        documents = read_folder(folder, scheme=str(scheme))
        tokenizer = {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}
        nlp = spacy.blank(lang, config={"nlp": {"tokenizer": tokenizer}})
        with whole_file(out) as temporary:
            overlapping = write_docbin(documents, temporary, nlp.make_doc)
        entities = sum(len(document.entities) for document in documents)
        misaligned = count_misaligned(documents, nlp.make_doc)
        typer.echo(
            f"{len(documents)} documents, {entities} entities, {misaligned} misaligned, {overlapping} overlapping"
        )
        typer.echo(f"sha256 {digest}")


def count_misaligned(documents: Sequence[AnnotatedText], tokenizer: Callable[[str], Doc]) -> int:
    """Count the entities that do not begin and end at a token's edge; they are widened to whole tokens.

    documents (Sequence[AnnotatedText]): the corpus.
    tokenizer (Callable[[str], Doc]): makes the Docs.
    RETURNS (int): how many.
    """
    docs = ((tokenizer(document.text), document.entities) for document in documents)
    return sum(doc.char_span(entity.start, entity.end) is None for doc, entities in docs for entity in entities)


def hash_folder(folder: Path) -> str:
    """Hash the annotation files of a folder, or one file.

    folder (Path): what `evaluation.read_folder` reads.
    RETURNS (str): SHA-256, hexadecimal; see `convert`.
    RAISES: InputError if there are no annotation files (D303, D306) or one cannot be read (D402).
    """
    suffixes = FORMATS[detect_format(folder)]
    files = [folder] if folder.is_file() else [file for file in folder.iterdir() if file.suffix in suffixes]
    digest = hashlib.sha256()
    for file in sorted(file for file in files if file.is_file() and not file.name.startswith(".")):
        data = read_bytes(file)
        digest.update(b"%s\0%d\0" % (file.name.encode("utf-8", "surrogateescape"), len(data)))
        digest.update(data)
    return digest.hexdigest()
