"""Everything that can be got out of an ODT, for verifying."""

from collections.abc import Iterator

from ..archive import open_archive
from ..document import Found, WriteSettings
from ..embedded import picture_settings
from ..image import FORMAT as IMAGE
from ..markup import parse, strings
from ..places import PlacedText
from .walk import add_text
from .write import PARTS

__all__ = ["extract"]

# attributes that hold names of fonts, which can be names of persons and places
_FONTS = {
    "font-name",
    "font-family",
    "font-name-asian",
    "font-name-complex",
    "font-family-asian",
    "font-family-complex",
}
_LEAST_JOINED = 6
_LEAST_ATTRIBUTE = 5


def extract(data: bytes, settings: WriteSettings) -> Iterator[Found]:
    """All text of a file: as it is read, and every text and attribute of every part, whether it is known or not.

    data (bytes): the file.
    settings (WriteSettings): whether pictures are read again.
    YIELDS (Found): texts.
    RAISES: InputError if it cannot be read.
    """
    members = open_archive(data, "copy", settings.read)
    text = PlacedText()
    for part in PARTS:
        if part in members:
            add_text(parse(members[part], "copy"), text)
    yield Found("text", text.text)
    for member, content in members.items():
        yield Found("names of parts", member, _LEAST_ATTRIBUTE)
        if member.startswith("Pictures/"):
            read = settings.read.pictures == "ocr" and settings.verify_ocr != "none"
            yield from IMAGE.extract(content, picture_settings(settings, read))
        elif member != "mimetype":
            yield from _in_xml(content, member)


def _in_xml(content: bytes, member: str) -> Iterator[Found]:
    """Every text and attribute of a part, and all text in one piece."""
    root = parse(content, "copy")
    yield Found(member, "".join(root.itertext()), _LEAST_JOINED)
    for attribute, value in strings(root):
        if not attribute:
            yield Found(member, value)
        elif attribute not in _FONTS and any(map(str.isalpha, value)):
            yield Found(f"{member}, {attribute}", value, _LEAST_ATTRIBUTE)
