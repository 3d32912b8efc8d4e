"""Fields: their codes can name people, files and addresses, so only what they show is kept, as plain text."""

import re
from typing import Any

from ..markup import remove, unwrap
from .names import CHARACTERS, TEXTS, W

__all__ = ["flatten_fields"]

# numbers of pages, which say nothing of anybody and must be counted anew when the document is laid out
_KEPT = re.compile(r"\s*(PAGE|NUMPAGES|SECTION|SECTIONPAGES)(\s+\\\*\s*\w+)*\s*")
_CHAR, _INSTR, _SIMPLE = W + "fldChar", W + "instrText", W + "fldSimple"


def flatten_fields(root: Any) -> None:
    """Take fields out and leave what they show; numbers of pages stay fields.

    root (Any): a tree; it changes.
    """
    _flatten_simple(root)
    open_fields: list[_Field] = []
    gone: list[Any] = []
    for element in root.iter(_CHAR, _INSTR, *TEXTS, *CHARACTERS):
        if element.tag == _CHAR:
            _meet(element, open_fields, gone)
        elif element.tag == _INSTR:
            if open_fields and open_fields[-1].in_code:
                open_fields[-1].add_code(element)
            else:
                gone.append(element)
        elif any(field.in_code for field in open_fields):
            gone.append(element)  # text that is worked with, but not shown
    for field in open_fields:  # never ended: damaged
        gone += field.elements
    for element in gone:
        if element.getparent() is not None:
            remove(element)


class _Field:
    """A field that was begun and not yet ended."""

    def __init__(self, begin: Any) -> None:
        self.elements = [begin]
        self.code = ""
        self.in_code = True

    def add_code(self, element: Any) -> None:
        self.elements.append(element)
        self.code += element.text or ""


def _meet(element: Any, open_fields: list[_Field], gone: list[Any]) -> None:
    """Meet the begin, the middle or the end of a field."""
    kind = element.get(W + "fldCharType")
    if kind == "begin":
        open_fields.append(_Field(element))
    elif not open_fields:
        gone.append(element)
    elif kind == "separate":
        open_fields[-1].elements.append(element)
        open_fields[-1].in_code = False
    else:
        field = open_fields.pop()
        field.elements.append(element)
        if not _KEPT.fullmatch(field.code):
            gone += field.elements


def _flatten_simple(root: Any) -> None:
    """Leave what simple fields show."""
    for element in [*root.iter(_SIMPLE)]:
        if not _KEPT.fullmatch(element.get(W + "instr", "")):
            unwrap(element)
