"""Read and write annotated notes in all formats: a folder or a file, in a given or detected format."""

from collections.abc import Callable, Iterable
from pathlib import Path
from types import MappingProxyType

import spacy
from spacy.tokens import Doc

from ..errors import ConfigError, Errors, InputError
from ..labels import SCHEMES
from .cas import TYPE_SYSTEM, is_cas_json, parse_layer, read_cas, write_cas_json, write_xmi
from .docbin import read_docbin, write_docbin
from .documents import AnnotatedText, index_documents
from .json_formats import read_jsonl, write_jsonl
from .standoff import read_brat, read_i2b2, write_brat, write_i2b2

FORMATS = {
    "brat": (".ann", ".txt"),
    "i2b2": (".xml",),
    "jsonl": (".jsonl",),
    "spacy": (".spacy",),
    "cas": (".json",),
    "xmi": (".xmi",),
}
# formats of one or more files a note
WRITERS = MappingProxyType({"brat": write_brat, "i2b2": write_i2b2, "cas": write_cas_json, "xmi": write_xmi})
_FORMAT_OF = {suffix: name for name, suffixes in FORMATS.items() for suffix in suffixes}


def detect_format(path: Path) -> str:
    """Detect the format of a folder or file by file suffix.

    path (Path): folder or file.
    RETURNS (str): a key of `FORMATS`.
    RAISES: InputError if the path does not exist (D303), or has files of no format or of several formats (D306).
    """
    found = sorted({_FORMAT_OF[file.suffix] for file in _files(path)})
    if len(found) != 1:
        what = " and ".join(found) or "no file of a known format"
        raise InputError(Errors.D306.format(path=path, found=what, known=", ".join(FORMATS)))
    return found[0]


def annotation_files(path: Path, format: str) -> list[Path]:
    """List the files of a format in a folder, or the file itself.

    JSON files that are not CAS, and the type system file of XMI, are left out.

    path (Path): folder or file.
    format (str): a key of `FORMATS`.
    RETURNS (list[Path]): files in sorted order.
    RAISES: InputError (D303) if the path does not exist.
    """
    return [file for file in _files(path) if file.suffix in FORMATS[format]]


def read_folder(
    path: str | Path,
    format: str | None = None,
    *,
    scheme: str = "canonical",
    check_text: bool = True,
    layer: str | None = None,
) -> list[AnnotatedText]:
    """Read all documents of a folder, or of one file. Subfolders and hidden files are ignored.

    path (str | Path): folder or file.
    format (str): a key of `FORMATS`; None to detect it by suffix.
    scheme (str): label scheme of the files.
    check_text (bool): whether to check that the text quoted in brat and i2b2 files is the text at the offsets.
    layer (str | None): layer and feature of a CAS that hold the identifiers, "TYPE:FEATURE"; None to find them, see
        `cas.find_layer`.
    RETURNS (list[AnnotatedText]): documents sorted by name, with canonical labels.
    RAISES: ConfigError for an unknown format (D314) or scheme (D002), or an invalid layer (D758); InputError naming
        file and line for malformed input (D301–D306, D753–D759), an incomplete .txt/.ann pair (D307) or a name that
        occurs twice (D308).
    """
    path = Path(path)
    _check_scheme(scheme)
    format = _check_format(format) if format else detect_format(path)
    files = annotation_files(path, format)
    if not files:
        raise InputError(Errors.D306.format(path=path, found=f"no file of format {format}", known=", ".join(FORMATS)))
    documents: list[AnnotatedText] = []
    if format == "brat":
        stems = _check_pairs(path, files)
        documents = [read_brat(stem, scheme=scheme, check_text=check_text) for stem in stems]
    elif format == "i2b2":
        documents = [read_i2b2(file, scheme=scheme, check_text=check_text) for file in files]
    elif format in ("cas", "xmi"):
        where = parse_layer(layer)
        documents = [read_cas(file, scheme=scheme, layer=where) for file in files]
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
    """Write documents to a folder, which is created if missing.

    documents (Iterable[AnnotatedText]): documents to write.
    folder (str | Path): target folder. "jsonl" and "spacy" write one file named "documents", the other formats one or
        two files per document.
    format (str): a key of `FORMATS`.
    scheme (str): label scheme of the files.
    include_text (bool): whether JSONL includes the texts.
    tokenizer (Callable[[str], Doc]): tokenizer for "spacy"; None for that of a blank multi-language pipeline.
    RETURNS (int): number of entities trimmed because they overlap; always 0 except for "spacy".
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
    for document in named:
        WRITERS[format](document, folder, scheme=scheme)
    return 0


def _files(path: Path) -> list[Path]:
    """List the files of a known format in a folder in sorted order, or the file itself."""
    if path.is_file():
        return [path] if _has_format(path) else []
    if not path.is_dir():
        raise InputError(Errors.D303.format(path=path, reason="no such folder or file"))
    files = (file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    return sorted(filter(_has_format, files))


def _has_format(file: Path) -> bool:
    """Test whether a file has a known format, by its suffix; for JSON also by its first bytes."""
    if file.suffix == ".json":
        return is_cas_json(file)
    return file.suffix in _FORMAT_OF and file.name != TYPE_SYSTEM


def _check_pairs(path: Path, files: list[Path]) -> list[Path]:
    """Check that each .txt file has an .ann file and vice versa. RETURNS (list[Path]): the .ann files."""
    if path.is_file():
        return [path]
    notes, annotations = ({file.stem for file in files if file.suffix == suffix} for suffix in (".txt", ".ann"))
    for alone, has, missing in ((notes - annotations, ".txt", ".ann"), (annotations - notes, ".ann", ".txt")):
        if alone:
            names = ", ".join(f"{name}{has}" for name in sorted(alone)[:5])
            raise InputError(Errors.D307.format(path=path, names=names, missing=missing))
    return [path / f"{name}.ann" for name in sorted(notes)]


def _check_format(format: str) -> str:
    """Return the format, or raise ConfigError (D314) if it is unknown."""
    if format not in FORMATS:
        raise ConfigError(Errors.D314.format(format=format, known=", ".join(FORMATS)))
    return format


def _check_scheme(scheme: str) -> None:
    """Raise ConfigError (D002) if a scheme is unknown, before anything is read or written."""
    if scheme not in SCHEMES:
        raise ConfigError(Errors.D002.format(scheme=scheme, known=", ".join(SCHEMES)))
