"""TODO."""

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

# kind → the module of this folder that has its FORMAT. Imported when a file of the kind comes, since each has packages
# of its own.
FORMATS = {"txt": "plain", "pdf": "pdf", "image": "image", "docx": "docx"}
FORMATS |= {"html": "html", "rtf": "rtf", "eml": "mail", "odt": "odt"}
FORMATS |= {"csv": "tables.delimited", "xlsx": "tables.workbook", "parquet": "tables.parquet"}

SUFFIXES = {".txt": "txt", ".text": "txt", ".pdf": "pdf", ".png": "image", ".jpg": "image", ".jpeg": "image"}
SUFFIXES |= {".tif": "image", ".tiff": "image", ".docx": "docx", ".odt": "odt", ".xlsx": "xlsx", ".rtf": "rtf"}
SUFFIXES |= {".html": "html", ".htm": "html", ".eml": "eml", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}

# kinds without magic bytes of their own: the suffix says which, and the format itself finds out if it lies
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
    """Tell the kind of a file.

    data (bytes): the file.
    name (str): its name, with the suffix that it was given.
    RETURNS (str): the kind.
    RAISES: InputError if no format knows the suffix (D711) or the content is of another kind (D712).
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
    """The kind that the bytes speak of; "txt" if no other and they look like text, else "unknown"."""
    # readers of PDF look for its mark in the first kilobyte
    if b"%PDF-" in data[:1024]:
        return "pdf"
    kind = next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
    if kind is not None:
        return kind
    if data.startswith(b"PK\x03\x04"):
        return _by_members(data)
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"))
    return "txt" if marked or b"\0" not in data[:4096] else "unknown"


def _by_members(data: bytes) -> str:
    """The kind of a ZIP file, told by what is packed in it."""
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
    """The format of a kind.

    kind (str): the kind.
    name (str): name of the file, for the error.
    RETURNS (Format): how it is read, written and searched.
    RAISES: InputError (D713) if packages that it needs are not installed.
    """
    try:
        found: Format = import_module(f"{__package__}.{FORMATS[kind]}").FORMAT
    except ImportError as error:
        raise InputError(Errors.D713.format(path=name, package=error.name)) from None
    return found


_SEEN = {"pdf", "image"}  # read from the page, so their text is what is seen


def read_document(data: bytes, name: str, settings: ReadSettings | None = None) -> Document:
    """Read a file.

    data (bytes): the file.
    name (str): its name. Only the suffix is used, and the name stands in errors.
    settings (ReadSettings | None): how it is read.
    RETURNS (Document): its text.
    RAISES: InputError if it is empty or too large (D715), of no known kind (D711), of another kind than its name says
        (D712), or cannot be read.
    """
    settings = settings or ReadSettings()
    if not 0 < len(data) <= settings.max_bytes:
        reason = f"more than {settings.max_bytes} bytes" if data else "the file is empty"
        raise InputError(Errors.D715.format(path=name, reason=reason))
    document = get_format(detect_kind(data, name), name).read(data, name, settings)
    reading = read_as_seen(document.text) if document.kind not in _SEEN else None
    if reading is not None:
        marks = reading.visible_marks(document.marks)
        document = replace(document, text=reading.text, marks=marks, reading=reading)
    return replace(document, settings=settings)


def redact_document(
    document: Document,
    edits: Sequence[Edit],
    settings: WriteSettings | None = None,
    identifiers: Sequence[str] = (),
    known: Sequence[str] = (),
    kept: Iterable[tuple[int, int]] = (),
) -> bytes:
    """Write a copy of a file with edits made, and verify it.

    Marks of the document that the edits leave uncovered are replaced by the tag of their label; see `cover_marks`.
    `spacy_deid.redact` runs a pipeline on a document and then calls this function.

    document (Document): what `read_document` gave.
    edits (Sequence[Edit]): what to replace, in the order of the text.
    settings (WriteSettings | None): how it is written; None for the defaults, with the copy read again for verifying
        as the document was read.
    identifiers (Sequence[str]): what must stand nowhere in the copy, as the patient's names and numbers.
    known (Sequence[str]): what is known of the patient. It must stand nowhere that the released text does not have it.
    kept (Iterable[tuple[int, int]]): start and end of what a policy or a reviewer decided to release although the
        document marks it.
    RETURNS (bytes): a file of the same kind.
    RAISES: DeidError if the edits are wrong (D003, D004) or the copy still holds something (D714, D719).
    """
    edits = cover_marks(document, edits, kept)
    settings = settings or WriteSettings(read=document.settings or ReadSettings())
    settings = replace(settings, ocr_pages=tuple(page.number for page in document.pages if page.ocr))
    released = apply_edits(document.text, edits)
    removed = {document.text[edit.start : edit.end]: edit.label for edit in edits}
    if document.reading is not None:
        edits = document.reading.raw_edits(edits)
        document = replace(document, text=document.reading.raw, marks=(), reading=None)
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
    """Search everything that can be got out of a file for removed strings.

    data (bytes): the file.
    kind (str): its kind.
    removed (Mapping[str, str] | Sequence[str]): what was removed, with its labels if known.
    settings (WriteSettings): how thoroughly.
    released (str): the text that the file should hold. A removed string may stand somewhere as often as it does here:
        a surrogate may be another's name, a word be a name in one place only.
    identifiers (Sequence[str]): what may stand nowhere.
    RAISES: DeidError (D714) for the first string that is found, with place and label, never the string.
    """
    check_removed(get_format(kind, "copy").extract(data, settings), removed, released, identifiers)
