"""What DOCX and ODT have in common: edits go to the places of the text, and every XML part is searched."""

from collections.abc import Callable, Container, Iterator, Sequence
from typing import NamedTuple

from ..errors import DeidError, Errors
from ..offsets import Edit, apply_edits
from .document import Document, Found, ReadSettings
from .embedded import Picture
from .markup import parse, strings
from .paragraphs import join_paragraphs
from .places import PlacedText

__all__ = ["LEAST_ATTRIBUTE", "OfficeParts", "edit_places", "search_xml"]

LEAST_ATTRIBUTE = 5  # letters of the shortest string that attributes are searched for
_LEAST_JOINED = 6
_LEAST_NUMBER = 8  # digits of the shortest number that is searched for in numbers: sizes of drawings have seven


class OfficeParts(NamedTuple):
    """What is needed to write a file: the original, how it was read, and its pictures as documents."""

    data: bytes
    settings: ReadSettings
    pictures: dict[str, Document]

    def __repr__(self) -> str:
        return f"OfficeParts({len(self.pictures)} pictures)"


def edit_places(
    document: Document, text: PlacedText, edits: Sequence[Edit], paragraphs: Container[str], properties: str = ""
) -> dict[str, list[Edit]]:
    """Make edits in the places that a text stands in.

    document (Document): what was read; its parts are `OfficeParts`.
    text (PlacedText): the text of the original, opened once more, without its pictures.
    edits (Sequence[Edit]): in order.
    paragraphs, properties: as in `join_paragraphs`.
    RETURNS (dict[str, list[Edit]]): the edits that pictures get, by picture.
    RAISES: DeidError (D715) if it reads otherwise than before.
    """
    parts: OfficeParts = document.parts
    for key, inner in parts.pictures.items():
        text.gap("\n\n")
        text.add(inner.text, Picture(key))
        text.gap("\n\n")
    if text.text != document.text:
        raise DeidError(Errors.D715.format(path=document.name, reason="reads otherwise than before"))
    painted: dict[str, list[Edit]] = {}
    for piece, local in text.edits_by_piece(edits):
        if isinstance(piece.place, Picture):
            painted[piece.place.key] = local
        else:
            piece.place.set(apply_edits(piece.place.get(), local))
    join_paragraphs(text, edits, paragraphs, properties)
    return painted


def search_xml(content: bytes, member: str, is_own: Callable[[str, str], bool]) -> Iterator[Found]:
    """Every text and attribute of a part, and all text in one piece.

    content (bytes): the part.
    member (str): its name.
    is_own (Callable[[str, str], bool]): takes the local name of an attribute and its value. Says whether the value is
        a word of the format, which is not searched.
    YIELDS (Found): texts. A value that stands in several attributes of one name comes once.
    RAISES: InputError (D715) if it is not XML that can be read.
    """
    root = parse(content, "copy")
    yield Found(member, "".join(root.itertext()), _LEAST_JOINED)
    seen = set()
    for attribute, value in strings(root):
        if not attribute:
            yield Found(member, value)
        elif (attribute, value) not in seen:
            seen.add((attribute, value))
            if not is_own(attribute, value):
                number = not any(char.isalpha() and char not in "ABCDEF" for char in value)
                yield Found(f"{member}, {attribute}", value, _LEAST_NUMBER if number else LEAST_ATTRIBUTE)
