"""DOCX in and out."""

from collections.abc import Sequence

from ...offsets import Edit
from ..document import Document, ReadSettings, WriteSettings
from ..embedded import add_picture, write_picture
from ..office import OfficeParts, edit_places
from ..places import PlacedText
from .clean import clean
from .names import W
from .package import Package, open_package
from .walk import add_text

__all__ = ["read", "write"]


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a document.

    data (bytes): the file.
    name (str): its name, for errors.
    settings (ReadSettings): limits, and what becomes of pictures.
    RETURNS (Document): its text.
    RAISES: InputError if it is damaged or an attack (D715), or if pictures cannot be read here (D716, D717).
    """
    package, text, notes = _open(data, name, settings)
    pictures: dict[str, Document] = {}
    for i, part in enumerate(package.of("image")):
        notes.append(add_picture(part.data, str(i), name, settings, text, pictures))
    warnings = tuple(note for note in dict.fromkeys(notes) if note)
    return Document(name, "docx", text.text, (), warnings, OfficeParts(data, settings, pictures))


def _open(data: bytes, name: str, settings: ReadSettings) -> tuple[Package, PlacedText, list[str]]:
    """Open a document, clean it and read what is no picture."""
    package = open_package(data, name, settings)
    notes = clean(package)
    text = PlacedText()
    add_text(package, text)
    return package, text, notes


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write a document with its formatting.

    document (Document): what `read` gave.
    edits (Sequence[Edit]): in order. A replacement takes the formatting of the first character that it replaces.
    settings (WriteSettings): how pictures are painted over.
    RETURNS (bytes): the file.
    RAISES: DeidError (D003, D004, D719).
    """
    parts: OfficeParts = document.parts
    package, text, _ = _open(parts.data, document.name, parts.settings)
    painted = edit_places(document, text, edits, {W + "p"}, W + "pPr")
    for i, part in enumerate(package.of("image")):
        seen = parts.pictures.get(str(i))
        part.data = write_picture(part.data, seen, painted.get(str(i), []), parts.settings, settings)
    return package.save()
