"""Read PDF, image, office, mail and table files as text, and write edited copies in the same format.

The package does not depend on spaCy.
"""

from .document import Document, File, Page, ReadSettings, WriteSettings
from .formats import SUFFIXES, read_document, redact_document, verify

__all__ = [
    "SUFFIXES",
    "Document",
    "File",
    "Page",
    "ReadSettings",
    "WriteSettings",
    "read_document",
    "redact_document",
    "verify",
]
