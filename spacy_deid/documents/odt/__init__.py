"""OpenDocument texts (.odt): headers, footers, body, notes and comments are edited in place, so that formatting is
kept.
"""

from ..document import Format
from .text import extract, read, write

__all__ = ["FORMAT"]

FORMAT = Format(read, write, extract)
