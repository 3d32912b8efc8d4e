"""PDF: read from the text layer or by OCR, written as page images with a new text layer."""

from ..document import Format
from .read import read
from .write import extract, write

FORMAT = Format(read, write, extract)
