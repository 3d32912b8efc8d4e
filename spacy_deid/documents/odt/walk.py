"""The text of a document, in the order in which it is read."""

import re
from typing import Any, NamedTuple

from lxml import etree

from ..markup import Spot
from ..places import PlacedText
from .clean import HOLDERS, LABELS
from .names import DRAW, OFFICE, SVG, TABLE, TEXT

__all__ = ["PARAGRAPHS", "Character", "add_text"]

PARAGRAPHS = {TEXT + "p", TEXT + "h"}
_LATER = {OFFICE + "annotation", TEXT + "note", TEXT + "ruby-text"}
_DESCRIPTIONS = {SVG + "title", SVG + "desc"}
_GAPS = {TABLE + "table-cell": "\t", TABLE + "table-row": "\n", TEXT + "note-citation": " "}
_LEAST = 3  # letters of what stands beside a number that make it text


class Character(NamedTuple):
    """A place of an element that stands for white space."""

    element: Any
    character: str

    def get(self) -> str:
        """The white space."""
        return self.character

    def set(self, text: str) -> None:
        """Write something else: the element becomes one that holds text, with blanks that readers do not make one."""
        if text == self.character:
            return
        self.element.tag = TEXT + "span"
        self.element.attrib.clear()
        for part in re.split(r"( +)", text):
            if part.startswith(" "):
                etree.SubElement(self.element, TEXT + "s", {TEXT + "c": str(len(part))})
            elif len(self.element):
                Spot(self.element[-1], "tail").set(part)
            else:
                Spot(self.element, "text").set(part)


def add_text(root: Any, text: PlacedText) -> None:
    """Read a part.

    root (Any): a part that is clean.
    text (PlacedText): gets its text. Notes, comments, frames and descriptions come behind their paragraph.
    """
    text.gap("\n\n")
    for element in root.iter():
        for key in LABELS:
            if sum(map(str.isalpha, element.get(key, ""))) >= _LEAST:
                text.gap("\n")
                text.add(element.get(key), Spot(element, "@" + key))
                text.gap("\n\n")
    _add_block(root, text)
    text.gap("\n\n")


def _add_block(element: Any, text: PlacedText) -> None:
    """Add what an element holds, then what is anchored in it and would break words."""
    later: list[Any] = []
    _add(element, text, later)
    for item in later:
        text.gap("\n")
        _add_block(item, text)
        text.gap("\n")


def _add(element: Any, text: PlacedText, later: list[Any]) -> None:
    """Add what an element holds; what must come later goes to `later`."""
    holds = element.tag in HOLDERS
    if holds:
        _add_spot(Spot(element, "text"), text)
    for child in element:
        if child.tag in PARAGRAPHS or child.tag in _DESCRIPTIONS:
            before = len(text.pieces)
            _add_block(child, text)
            text.gap("\n" if len(text.pieces) > before else "\n\n")
        elif child.tag in _LATER or child.tag.startswith(DRAW):
            later.append(child)
        elif _white(child):
            text.add(_white(child), Character(child, _white(child)))
        else:
            _add(child, text, later)
            if child.tag in _GAPS:
                text.gap(_GAPS[child.tag])
        if holds:
            _add_spot(Spot(child, "tail"), text)


def _add_spot(spot: Spot, text: PlacedText) -> None:
    """Add a text; a blank that begins a paragraph or follows one is not shown, but where an element stands for it."""
    after_element = text.pieces and isinstance(text.pieces[-1].place, Character)
    if spot.get().startswith(" ") and text.at_break and not after_element:
        spot.set(spot.get()[1:])
    text.add(spot.get(), spot)


def _white(element: Any) -> str:
    """The white space that an element stands for, "" if none."""
    if element.tag == TEXT + "s":
        count = element.get(TEXT + "c", "1")
        return " " * min(int(count), 1000) if count.isdecimal() else " "
    return {TEXT + "tab": "\t", TEXT + "line-break": "\n"}.get(element.tag, "")
