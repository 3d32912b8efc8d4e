"""Everything that can be got out of a DOCX, for verifying."""

from collections.abc import Iterator

from ..archive import open_archive
from ..document import Found, WriteSettings
from ..embedded import picture_settings
from ..image import FORMAT as IMAGE
from ..office import LEAST_ATTRIBUTE, search_xml
from ..places import PlacedText
from .names import BUILT_IN
from .package import open_package
from .walk import add_text

__all__ = ["extract"]

# attributes that hold names of fonts, which can be names of persons and places
_FONTS = {"typeface", "ascii", "hAnsi", "cs", "eastAsia", "name"}


def extract(data: bytes, settings: WriteSettings) -> Iterator[Found]:
    """All text of a file: as it is read, and every text and attribute of every part, whether it is known or not.

    data (bytes): the file.
    settings (WriteSettings): whether pictures are read again.
    YIELDS (Found): texts.
    RAISES: InputError if it cannot be read.
    """
    text = PlacedText()
    add_text(open_package(data, "copy", settings.read), text)
    yield Found("text", text.text)
    for member, content in open_archive(data, "copy", settings.read).items():
        yield Found("names of parts", member, LEAST_ATTRIBUTE)
        if member.endswith((".xml", ".rels")):
            yield from search_xml(content, member, _FONTS, BUILT_IN)
        else:
            read = settings.read.pictures == "ocr" and settings.verify_ocr != "none"
            yield from IMAGE.extract(content, picture_settings(settings, read))
