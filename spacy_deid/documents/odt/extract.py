"""Everything that can be got out of an ODT, for verifying."""

import re
from collections.abc import Iterator

from ..archive import open_archive
from ..document import Found, WriteSettings
from ..embedded import picture_settings
from ..image import FORMAT as IMAGE
from ..markup import parse
from ..office import LEAST_ATTRIBUTE, search_xml
from ..places import PlacedText
from ..vocabulary import is_built_in_style, is_font
from .walk import add_text
from .write import PARTS

__all__ = ["extract"]

# words of the format, as "roman", "black" and "center", and numbers: a patient may be called Roman
_KEYWORD = re.compile(r"[a-z][A-Za-z\d]*|[\dA-F]+")

# names that LibreOffice gives to automatic styles, columns and lists
_AUTOMATIC = re.compile(
    r"([A-Z]{1,2}|Mpm?|dp|WWNum|WW8Num|Table|fr|gr|Sect|ta|co|ro|ce)\d{1,3}(\.[A-Z]?\d{0,3})?(z\d)?"
)


def _is_own(attribute: str, value: str) -> bool:
    """Whether the value of an attribute is one of the format. Names of styles and the like are somebody's."""
    if attribute.startswith(("font-name", "font-family")):
        return is_font(value)
    if attribute.endswith("name"):
        return is_built_in_style(value) or is_font(value) or _AUTOMATIC.fullmatch(value) is not None
    return _KEYWORD.fullmatch(value) is not None


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
            yield from search_xml(content, member, _is_own)
