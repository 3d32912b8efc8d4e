"""Documents: PDF, pictures, Word and other files in, redacted copies of the same kind out. Knows nothing of spaCy."""

from .document import Document, Page, ReadSettings, WriteSettings
from .formats import SUFFIXES, read_document, redact_document, verify

__all__ = [
    "SUFFIXES",
    "Document",
    "Page",
    "ReadSettings",
    "WriteSettings",
    "read_document",
    "redact_document",
    "verify",
]
