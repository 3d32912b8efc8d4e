"""Word texts (.docx): read from every part, edited in place, so that formatting stays.

Tracked changes are accepted, fields, links and content controls leave what they show, and everything that is not
shown is not in the copy: see `docs/guides/documents.md`.
"""

from ..document import Format
from .text import extract, read, write

__all__ = ["FORMAT"]

FORMAT = Format(read, write, extract)
