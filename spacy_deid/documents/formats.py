"""Read files of all supported formats, and write redacted copies that are checked for removed text before release."""

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import PurePath

from ..errors import Errors, InputError
from ..offsets import Edit, apply_edits
from .archive import DAMAGED
from .document import Document, Format, ReadSettings, WriteSettings, cover_marks
from .verification import absent_identifiers, check_removed
from .visible_text import read_as_seen

# format → module of this package that exports it as FORMAT. Modules are imported on first use, because they need
# different packages.
FORMATS = {"txt": "plain", "pdf": "pdf", "image": "image", "docx": "docx"}
FORMATS |= {"html": "html", "rtf": "rtf", "eml": "mail", "odt": "odt"}
FORMATS |= {"csv": "tables", "xlsx": "workbook", "parquet": "parquet"}

SUFFIXES = {".txt": "txt", ".text": "txt", ".pdf": "pdf", ".png": "image", ".jpg": "image", ".jpeg": "image"}
SUFFIXES |= {".tif": "image", ".tiff": "image", ".docx": "docx", ".odt": "odt", ".xlsx": "xlsx", ".rtf": "rtf"}
SUFFIXES |= {".html": "html", ".htm": "html", ".eml": "eml", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}

# formats without magic bytes: the suffix decides, and reading fails if it is wrong
_TEXTS = {"txt", "html", "eml", "csv"}
_MAGIC = {b"\x89PNG\r\n\x1a\n": "image", b"\xff\xd8\xff": "image", b"II*\0": "image", b"MM\0*": "image"}
_MAGIC |= {
    b"{\\rtf": "rtf",
    b"PAR1": "parquet",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an encrypted or old Office file",
}
_FOLDERS = {"word": "docx", "xl": "xlsx"}
_ODT = b"application/vnd.oasis.opendocument.text"


def detect_kind(data: bytes, name: str) -> str:
    """Return the format of a file, and check that its content matches the suffix of its name.

    Text formats, such as HTML and CSV, cannot be told apart by their content; for them the suffix decides.

    data (bytes): the file.
    name (str): file name; only the suffix is used.
    RETURNS (str): a key of `FORMATS`.
    RAISES: InputError if the suffix is not supported (D711) or the content has a different format (D712).
    """
    suffix = PurePath(name).suffix.lower()
    said = SUFFIXES.get(suffix)
    if said not in FORMATS:
        known = " ".join(end for end, kind in SUFFIXES.items() if kind in FORMATS)
        raise InputError(Errors.D711.format(path=name, known=known))
    seen = _by_content(data)
    if said != seen and not (seen == "txt" and said in _TEXTS):
        raise InputError(Errors.D712.format(path=name, said=said, seen=seen))
    return said


def _by_content(data: bytes) -> str:
    """Return the format of a file according to its content: a key of `FORMATS` ("txt" for text of any kind), else a
    description for the error message, such as "unknown".
    """
    if b"%PDF-" in data[:1024]:  # PDF readers accept the signature anywhere in the first kilobyte
        return "pdf"
    kind = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
    if kind is not None:
        return kind
    if not data.startswith(b"PK\x03\x04"):
        marked = data.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"))
        return "txt" if marked or b"\0" not in data[:4096] else "unknown"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
                return "odt" if archive.read("mimetype").strip() == _ODT else "unknown"
    except DAMAGED:
        return "a damaged ZIP file"
    folders = {member.partition("/")[0].lower() for member in names if "[Content_Types].xml" in names}
    return next((kind for folder, kind in _FOLDERS.items() if folder in folders), "unknown")


def get_format(kind: str, name: str) -> Format:
    """Return the functions that read and write a format. Its module is imported on first use.

    kind (str): a key of `FORMATS`.
    name (str): file name, for the error message.
    RETURNS (Format): the functions of the format.
    RAISES: InputError (D713) if a required package is not installed.
    """
    try:
        found: Format = import_module(f"{__package__}.{FORMATS[kind]}").FORMAT
    except ImportError as error:
        raise InputError(Errors.D713.format(path=name, package=error.name)) from None
    return found


_SEEN = {"pdf", "image"}  # read from the rendered page, so the text is already the visible text


def read_document(data: bytes, name: str, settings: ReadSettings | None = None) -> Document:
    """Read a file of any supported format into a `Document`, which holds its visible text.

    data (bytes): the file.
    name (str): file name. Only the suffix is used; error messages contain the name.
    settings (ReadSettings | None): how to read the file; None for the defaults.
    RETURNS (Document): the document.
    RAISES: InputError if the file is empty or too large (D715), its suffix is not supported (D711), its content does
        not match the suffix (D712), or it cannot be read.
    """
    settings = settings or ReadSettings()
    if not 0 < len(data) <= settings.max_bytes:
        reason = f"more than {settings.max_bytes} bytes" if data else "the file is empty"
        raise InputError(Errors.D715.format(path=name, reason=reason))
    document = get_format(detect_kind(data, name), name).read(data, name, settings)
    visible = read_as_seen(document.text) if document.kind not in _SEEN else None
    if visible is not None:
        marks = visible.visible_marks(document.marks)
        document = replace(document, text=visible.text, marks=marks, visible=visible)
    return replace(document, settings=settings)


def redact_document(
    document: Document,
    edits: Sequence[Edit],
    settings: WriteSettings | None = None,
    identifiers: Sequence[str] = (),
    known: Sequence[str] = (),
    kept: Iterable[tuple[int, int]] = (),
) -> bytes:
    """Apply edits to a document, write it as a file of the same format, and verify the result.

    Marks are identifiers that the file itself declares, such as the cells of a column of names. Marks that the edits
    leave uncovered are replaced by the tag of their label; see `cover_marks`.
    `spacy_deid.redact` runs a pipeline on a document and then calls this function.

    document (Document): a document from `read_document`.
    edits (Sequence[Edit]): replacements in the order of the text.
    settings (WriteSettings | None): how to write the copy; None for the defaults and the read settings of the
        document.
    identifiers (Sequence[str]): strings that must not occur anywhere in the copy, such as the patient's names and
        numbers.
    known (Sequence[str]): known identifiers of the patient. Those that do not occur in the released text must not
        occur anywhere else in the copy.
    kept (Iterable[tuple[int, int]]): start and end of marked spans that a policy or a reviewer decided to release.
    RETURNS (bytes): the content of the new file.
    RAISES: DeidError if the edits are invalid (D003, D004) or the copy still contains removed text (D714, D719).
    """
    edits = cover_marks(document, edits, kept)
    settings = settings or WriteSettings(read=document.settings or ReadSettings())
    settings = replace(settings, ocr_pages=tuple(page.number for page in document.pages if page.ocr))
    released = apply_edits(document.text, edits)
    removed = {document.text[edit.start : edit.end]: edit.label for edit in edits}
    if document.visible is not None:
        edits = document.visible.raw_edits(edits)
        document = replace(document, text=document.visible.raw, marks=(), visible=None)
    data = get_format(document.kind, document.name).write(document, edits, settings)
    verify(data, document.kind, removed, settings, released, [*identifiers, *absent_identifiers(known, released)])
    return data


def verify(
    data: bytes,
    kind: str,
    removed: Mapping[str, str] | Sequence[str],
    settings: WriteSettings,
    released: str = "",
    identifiers: Sequence[str] = (),
) -> None:
    """Raise an error if any text that can be extracted from a copy contains a removed string.

    data (bytes): the copy.
    kind (str): its format, a key of `FORMATS`.
    removed (Mapping[str, str] | Sequence[str]): removed strings, optionally with their labels.
    settings (WriteSettings): how thoroughly to check.
    released (str): the text that the file should contain. A removed string may occur as often as it does in this text:
        a surrogate can equal another patient's name, and a word can be a name in one place only.
    identifiers (Sequence[str]): strings that must not occur at all.
    RAISES: DeidError (D714) for the first string found, with its place and label but without the string itself.
    """
    check_removed(get_format(kind, "copy").extract(data, settings), removed, released, identifiers)
