"""Names of OpenDocument: namespaces, and what is done with each element of a text."""

__all__ = ["CONFIG", "DRAW", "KNOWN", "OFFICE", "STYLE", "SVG", "TABLE", "TEXT", "XLINK", "tags"]

_ODF = "{urn:oasis:names:tc:opendocument:xmlns:"
OFFICE, TEXT, TABLE = _ODF + "office:1.0}", _ODF + "text:1.0}", _ODF + "table:1.0}"
DRAW, STYLE, SVG = _ODF + "drawing:1.0}", _ODF + "style:1.0}", _ODF + "svg-compatible:1.0}"
CONFIG = _ODF + "config:1.0}"
XLINK = "{http://www.w3.org/1999/xlink}"
# how the namespaces begin whose elements and attributes are known; those of single programs are left out
KNOWN = (_ODF[1:], XLINK[1:], "http://purl.org/dc/elements/1.1/", "http://www.w3.org/XML/1998/namespace")


def tags(namespace: str, names: str) -> set[str]:
    """Tags of a namespace."""
    return {namespace + name for name in names.split()}
