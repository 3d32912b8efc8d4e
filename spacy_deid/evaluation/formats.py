"""One way into and out of the formats: a folder or a file, its format named or told by the files in it."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import spacy
from spacy.tokens import Doc

from ..errors import ConfigError, Errors, InputError
from ..labels import SCHEMES
from .brat import read_brat, write_brat
from .docbin import read_docbin, write_docbin
from .documents import AnnotatedText, index_documents
from .i2b2 import read_i2b2, write_i2b2
from .jsonl import read_jsonl, write_jsonl

__all__ = ["FORMATS", "detect_format", "read_folder", "write_folder"]

FORMATS = {"brat": (".ann", ".txt"), "i2b2": (".xml",), "jsonl": (".jsonl",), "spacy": (".spacy",)}
_FORMAT_OF = {suffix: name for name, suffixes in FORMATS.items() for suffix in suffixes}


def detect_format(path: Path) -> str:
    """Tell the format of a folder or a file by its suffixes.

    path (Path): folder or file.
    RETURNS (str): a key of `FORMATS`.
    RAISES: InputError if it is not there (D303), or holds none or several formats (D306).
    """
    found = sorted({_FORMAT_OF[file.suffix] for file in _files(path) if file.suffix in _FORMAT_OF})
    if len(found) != 1:
        what = " and ".join(found) or "no file of a known format"
        raise InputError(Errors.D306.format(path=path, found=what, known=", ".join(FORMATS)))
    return found[0]


def read_folder(
    path: str | Path, format: str | None = None, *, scheme: str = "canonical", check_text: bool = True
) -> list[AnnotatedText]:
    """Read every document of a folder, or of one file. Folders within are not entered, hidden files not read.

    path (str | Path): folder or file.
    format (str): "brat", "i2b2", "jsonl" or "spacy"; None to tell it by the suffixes.
    scheme (str): scheme of the labels in the files.
    check_text (bool): whether the quotes of brat and i2b2 files must be the text at their offsets.
    RETURNS (list[AnnotatedText]): by name, with canonical labels.
    RAISES: ConfigError for an unknown format (D314) or scheme (D002); InputError naming file and line for what cannot
        be read (D301–D306), half of a pair (D307) or a name that stands twice (D308).
    """
    path = Path(path)
    _check_scheme(scheme)
    format = _check_format(format) if format else detect_format(path)
    files = [file for file in _files(path) if file.suffix in FORMATS[format]]
    if not files:
        raise InputError(Errors.D306.format(path=path, found=f"no file of format {format}", known=", ".join(FORMATS)))
    documents: list[AnnotatedText] = []
    if format == "brat":
        stems = _check_pairs(path, files)
        documents = [read_brat(stem, scheme=scheme, check_text=check_text) for stem in stems]
    elif format == "i2b2":
        documents = [read_i2b2(file, scheme=scheme, check_text=check_text) for file in files]
    else:
        read = read_jsonl if format == "jsonl" else read_docbin
        documents = [document for file in files for document in read(file, scheme=scheme)]
    return sorted(index_documents(documents).values(), key=lambda document: document.name)


def write_folder(
    documents: Iterable[AnnotatedText],
    folder: str | Path,
    format: str,
    *,
    scheme: str = "canonical",
    include_text: bool = True,
    tokenizer: Callable[[str], Doc] | None = None,
) -> int:
    """Write documents into a folder, which is made if it is not there.

    documents (Iterable[AnnotatedText]): what to write.
    folder (str | Path): brat and i2b2 get files by name; jsonl and spacy one file, "documents".
    format (str): "brat", "i2b2", "jsonl" or "spacy".
    scheme (str): scheme to write the labels in.
    include_text (bool): whether JSONL holds the notes themselves.
    tokenizer (Callable[[str], Doc]): makes the Docs of "spacy"; None for that of a blank multi-language pipeline.
    RETURNS (int): entities trimmed; only "spacy" trims any, where they overlap.
    RAISES: ConfigError for an unknown format (D314) or scheme (D002); InputError as the writers.
    """
    folder = Path(folder)
    _check_scheme(scheme)
    _check_format(format)
    named = index_documents(documents).values()
    folder.mkdir(parents=True, exist_ok=True)
    if format == "spacy":
        return write_docbin(named, folder / "documents.spacy", tokenizer or spacy.blank("xx").make_doc, scheme=scheme)
    if format == "jsonl":
        write_jsonl(named, folder / "documents.jsonl", scheme=scheme, include_text=include_text)
        return 0
    write = partial(write_brat if format == "brat" else write_i2b2, folder=folder, scheme=scheme)
    for document in named:
        write(document)
    return 0


def _files(path: Path) -> list[Path]:
    """The files of a folder in order, or the one file."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(Errors.D303.format(path=path, reason="no such folder or file"))
    return sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))


def _check_pairs(path: Path, files: list[Path]) -> list[Path]:
    """Make sure that each note has its annotations and the other way round; RETURNS the .ann files."""
    if path.is_file():
        return [path]
    notes, annotations = ({file.stem for file in files if file.suffix == suffix} for suffix in (".txt", ".ann"))
    for alone, has, missing in ((notes - annotations, ".txt", ".ann"), (annotations - notes, ".ann", ".txt")):
        if alone:
            names = ", ".join(f"{name}{has}" for name in sorted(alone)[:5])
            raise InputError(Errors.D307.format(path=path, names=names, missing=missing))
    return [path / f"{name}.ann" for name in sorted(notes)]


def _check_format(format: str) -> str:
    """Make sure that a format is known."""
    if format not in FORMATS:
        raise ConfigError(Errors.D314.format(format=format, known=", ".join(FORMATS)))
    return format


def _check_scheme(scheme: str) -> None:
    """Make sure that a scheme is known, before anything is read or written."""
    if scheme not in SCHEMES:
        raise ConfigError(Errors.D002.format(scheme=scheme, known=", ".join(SCHEMES)))
