"""Read PDF files from their text layer or by OCR, and write them as page images with a new text layer."""

from ..document import Format
from .read import read
from .write import extract, write

FORMAT = Format(read, write, extract)
