"""Everything that can be got out of an ODT, for verifying."""

from collections.abc import Iterator

from ..archive import open_archive
from ..document import Found, WriteSettings
from ..embedded import picture_settings
from ..image import FORMAT as IMAGE
from ..markup import parse
from ..office import LEAST_ATTRIBUTE, search_xml
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
        yield Found("names of parts", member, LEAST_ATTRIBUTE)
        if member.startswith("Pictures/"):
            read = settings.read.pictures == "ocr" and settings.verify_ocr != "none"
            yield from IMAGE.extract(content, picture_settings(settings, read))
        elif member != "mimetype":
            yield from search_xml(content, member, _FONTS)
