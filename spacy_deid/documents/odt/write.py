"""ODT in and out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lxml import etree

from ...errors import Errors, InputError
from ...offsets import Edit
from ..archive import check_elements, open_archive, pack
from ..document import Document, ReadSettings, WriteSettings
from ..embedded import add_picture, write_picture
from ..markup import parse, serialize
from ..office import OfficeParts, edit_places
from ..places import PlacedText
from .clean import IMAGE, clean, drop_hidden, hidden_styles
from .names import OFFICE, XLINK
from .settings import clean_settings
from .walk import PARAGRAPHS, add_text

__all__ = ["PARTS", "read", "write"]

PARTS = ("styles.xml", "content.xml")  # headers and footers stand in the styles
SETTINGS = "settings.xml"
MIME = "application/vnd.oasis.opendocument.text"
_MANIFEST = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"


class _Opened(NamedTuple):
    """A document that is clean: parts by name, pictures by their names in the copy, what is lost, and settings."""

    roots: dict[str, Any]
    pictures: dict[str, bytes]
    notes: list[str]
    settings: Any = None


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a document.

    data (bytes): the file.
    name (str): its name, for errors.
    settings (ReadSettings): limits, and what becomes of pictures.
    RETURNS (Document): its text.
    RAISES: InputError if it is damaged or an attack (D715), or if pictures cannot be read here (D716, D717).
    """
    opened, text = _open(data, name, settings)
    notes = opened.notes
    pictures: dict[str, Document] = {}
    for key, picture in opened.pictures.items():
        notes.append(add_picture(picture, key, name, settings, text, pictures))
    warnings = tuple(note for note in dict.fromkeys(notes) if note)
    return Document(name, "odt", text.text, (), warnings, OfficeParts(data, settings, pictures))


def _open(data: bytes, name: str, settings: ReadSettings) -> tuple[_Opened, PlacedText]:
    """Open a document, clean it and read what is no picture."""
    members = open_archive(data, name, settings)
    if b"encryption-data" in members.get("META-INF/manifest.xml", b""):
        raise InputError(Errors.D715.format(path=name, reason="encrypted"))
    if "content.xml" not in members:
        raise InputError(Errors.D715.format(path=name, reason="damaged: its text is missing"))
    check_elements(members.values(), name)
    roots = {part: parse(members[part], name) for part in PARTS if part in members}
    if roots["content.xml"].find(f"{OFFICE}body/{OFFICE}text") is None:
        raise InputError(Errors.D715.format(path=name, reason="not an OpenDocument text"))
    names: dict[str, str] = {}
    for root in roots.values():
        for image in root.iter(IMAGE):
            member = image.get(XLINK + "href", "").removeprefix("./")
            if member in members:
                names.setdefault(member, f"Pictures/{len(names) + 1}")
    styles = hidden_styles(roots.values())
    hidden = [drop_hidden(root, styles) for root in roots.values()]
    lost = [clean(root, names) for root in roots.values()]
    notes = ["embedded objects are removed"] * any(lost) + ["hidden texts are removed"] * any(hidden)
    configured = clean_settings(parse(members[SETTINGS], name)) if SETTINGS in members else None
    text = PlacedText()
    for root in roots.values():
        add_text(root, text)
    return _Opened(roots, {new: members[old] for old, new in names.items()}, notes, configured), text


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write a document with its formatting.

    document (Document): what `read` gave.
    edits (Sequence[Edit]): in order. A replacement takes the formatting of the first character that it replaces.
    settings (WriteSettings): how pictures are painted over.
    RETURNS (bytes): the file.
    RAISES: DeidError (D003, D004, D719).
    """
    parts: OfficeParts = document.parts
    opened, text = _open(parts.data, document.name, parts.settings)
    painted = edit_places(document, text, edits, PARAGRAPHS)
    members = {"mimetype": MIME.encode()} | {part: serialize(root) for part, root in opened.roots.items()}
    if opened.settings is not None:
        members[SETTINGS] = serialize(opened.settings)
    for key, picture in opened.pictures.items():
        seen = parts.pictures.get(key)
        members[key] = write_picture(picture, seen, painted.get(key, []), parts.settings, settings)
    members["META-INF/manifest.xml"] = _manifest(members)
    return pack(members, stored="mimetype")


def _manifest(members: dict[str, bytes]) -> bytes:
    """Write what is packed in the file."""
    key = f"{{{_MANIFEST}}}"
    root = etree.Element(key + "manifest", nsmap={"manifest": _MANIFEST})
    root.set(key + "version", "1.2")
    for member in ["/", *members]:
        if member == "mimetype":
            continue
        entry = etree.SubElement(root, key + "file-entry")
        kind = MIME if member == "/" else "text/xml" if member.endswith(".xml") else ""
        entry.set(key + "full-path", member)
        entry.set(key + "media-type", kind)
    return serialize(root)
