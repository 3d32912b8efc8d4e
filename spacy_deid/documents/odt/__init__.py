"""OpenDocument texts (.odt): headers, footers, body, notes and comments, edited in place, so that formatting stays."""

from ..document import Format
from .text import extract, read, write

__all__ = ["FORMAT"]

FORMAT = Format(read, write, extract)
