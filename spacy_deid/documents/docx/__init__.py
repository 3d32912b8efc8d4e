"""Word documents (.docx): the text of every part is edited in place, so that formatting is kept.

Tracked changes are accepted. Fields, links and content controls are replaced by the text they display. Everything that
is not displayed is left out of the copy; see `docs/guides/documents.md`.
"""

from ..document import Format
from .text import extract, read, write

__all__ = ["FORMAT"]

FORMAT = Format(read, write, extract)
