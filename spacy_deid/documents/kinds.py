"""Which kinds of files there are, and which one a file is: told by its content, checked against its suffix."""

import io
import zipfile
from importlib import import_module
from pathlib import PurePath

from ..errors import Errors, InputError
from .archive import DAMAGED
from .document import Format

__all__ = ["FORMATS", "SUFFIXES", "detect_kind", "format_of"]

# kind → the module of this folder that has its FORMAT. Imported when a file of the kind comes, since each has packages
# of its own.
FORMATS = {"txt": "plain", "pdf": "pdf", "image": "image", "docx": "docx"}
FORMATS |= {"html": "html", "rtf": "rtf", "eml": "mail", "odt": "odt"}
FORMATS |= {"csv": "tables.delimited", "xlsx": "tables.workbook", "parquet": "tables.arrow"}

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


def format_of(kind: str, name: str) -> Format:
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
