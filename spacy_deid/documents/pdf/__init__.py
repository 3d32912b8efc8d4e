"""PDF: read from its text layer or by OCR, written anew as pictures with a text layer."""

from ..document import Format
from .extract import extract
from .read import read
from .write import write

__all__ = ["FORMAT"]

FORMAT = Format(read, write, extract)
