"""The text of a document, in the order in which it is read."""

from typing import Any, NamedTuple

from ..markup import Spot, keep_space
from ..places import PlacedText
from .clean import READ
from .names import ALT_TEXTS, CHARACTERS, TEXTS, A, W
from .package import Package

__all__ = ["Character", "Run", "add_text"]

_LATER = {W + "txbxContent", W + "rt"}  # text boxes, readings above words
_PARAGRAPHS = {W + "p", A + "p"}
_STOPS = W + "tabs"  # in it, a tab is a place and no character
_GAPS = {W + "tc": "\t", W + "tr": "\n"}
_LEAST = 3  # letters that the label of a list must have to be text and not a bullet


class Run(NamedTuple):
    """A place of characters: an element that holds text."""

    element: Any

    def get(self) -> str:
        """What stands there."""
        return self.element.text or ""

    def set(self, text: str) -> None:
        """Write something else."""
        Spot(self.element, "text").set(text)
        if self.element.tag != A + "t":  # which knows no attributes
            keep_space(self.element)


class Character(NamedTuple):
    """A place of one character: an element that stands for it."""

    element: Any
    character: str

    def get(self) -> str:
        """The character."""
        return self.character

    def set(self, text: str) -> None:
        """Write something else: the element becomes one that holds text."""
        if text != self.character:
            self.element.tag = W + "t"
            self.element.attrib.clear()
            Run(self.element).set(text)


def add_text(package: Package, text: PlacedText) -> None:
    """Read the parts of a document. What is in pictures is not read.

    package (Package): a document that is clean.
    text (PlacedText): gets the text: headers, body, footers, notes, comments, labels of lists.
    """
    for part in package.of(*READ):
        text.gap("\n\n")
        _add_block(part.root, text)
        text.gap("\n\n")


def _add_block(element: Any, text: PlacedText) -> None:
    """Add what an element holds, then the text boxes and descriptions in it: they would break the words around."""
    later: list[Any] = []
    _add(element, text, later)
    for item in later:
        text.gap("\n")
        if not isinstance(item, Spot):
            _add_block(item, text)
        elif item.element.tag != W + "lvlText" or sum(map(str.isalpha, item.get())) >= _LEAST:
            text.add(item.get(), item)
        text.gap("\n")


def _add(element: Any, text: PlacedText, later: list[Any]) -> None:
    """Add what an element holds; what must come later goes to `later`."""
    for child in element:
        if child.tag in TEXTS:
            text.add(child.text or "", Run(child))
        elif child.tag in CHARACTERS and element.tag != _STOPS:
            text.add(CHARACTERS[child.tag], Character(child, CHARACTERS[child.tag]))
        elif child.tag == W + "sym":
            text.add(_symbol(child), Character(child, _symbol(child)))
        elif child.tag in _PARAGRAPHS:
            before = len(text.pieces)
            _add_block(child, text)
            text.gap("\n" if len(text.pieces) > before else "\n\n")
        elif child.tag in _LATER:
            later.append(child)
        else:
            later += [Spot(child, "@" + key) for key in ALT_TEXTS.get(child.tag, ()) if child.get(key)]
            _add(child, text, later)
            if child.tag in _GAPS:
                text.gap(_GAPS[child.tag])


def _symbol(element: Any) -> str:
    """The character of a symbol; fonts of symbols have theirs in a private area."""
    try:
        code = int(element.get(W + "char", ""), 16)
    except ValueError:
        return "?"
    code -= 0xF000 * (0xF000 < code < 0xF100)
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "?"
