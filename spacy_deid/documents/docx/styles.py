"""Names of styles: those that somebody made can tell of people and places, so they are numbered."""

from typing import Any

from ..markup import remove
from ..vocabulary import is_built_in_style
from .names import W, w
from .package import Package

__all__ = ["rename_styles"]

_REFERENCES = w("pStyle rStyle tblStyle basedOn next link styleLink numStyleLink")


def rename_styles(package: Package) -> None:
    """Number styles, and take out names of lists. Names that Word has itself stay: headings are known by them.

    package (Package): the parts; they change.
    """
    ids: dict[str, str] = {}
    for part in package.of("styles"):
        for style in part.root.iter(W + "style"):
            old = style.get(W + "styleId", "")
            style.set(W + "styleId", ids.setdefault(old, f"s{len(ids) + 1}"))
            _rename(style.find(W + "name"), f"Style {ids[old][1:]}")
        for exception in [*part.root.iter(W + "lsdException")]:
            if not is_built_in_style(exception.get(W + "name", "")):
                remove(exception)
    for part in package.of("numbering"):
        for name in [*part.root.iter(W + "name")]:
            remove(name)
    for part in package.parts:
        for reference in [*part.root.iter(*_REFERENCES)] if part.root is not None else ():
            if reference.get(W + "val") in ids:
                reference.set(W + "val", ids[reference.get(W + "val")])
            else:
                remove(reference)


def _rename(name: Any, new: str) -> None:
    """Give a style another name if it is not one of Word's."""
    if name is not None and not is_built_in_style(name.get(W + "val", "")):
        name.set(W + "val", new)
