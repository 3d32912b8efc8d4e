"""PDF: read from the text layer or by OCR, written as page images with a new text layer."""

from ..document import Format
from .extract import extract
from .read import read
from .write import write

__all__ = ["FORMAT"]

FORMAT = Format(read, write, extract)
