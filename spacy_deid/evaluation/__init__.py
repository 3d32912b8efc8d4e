"""Read and write annotated notes in common formats, and compare predicted annotations with gold ones."""

from .counts import HEADER_WIDTH, HIPAA_I2B2
from .documents import AnnotatedText, Entity, pair_documents, relabel
from .formats import FORMATS, detect_format, from_doc, make_docs, read_docbin, read_folder, write_docbin, write_folder
from .metrics import REGIONS, evaluate, format_table
from .rows import MetricRow, read_rows, write_rows

__all__ = [
    "FORMATS",
    "HEADER_WIDTH",
    "HIPAA_I2B2",
    "REGIONS",
    "AnnotatedText",
    "Entity",
    "MetricRow",
    "detect_format",
    "evaluate",
    "format_table",
    "from_doc",
    "make_docs",
    "pair_documents",
    "read_docbin",
    "read_folder",
    "read_rows",
    "relabel",
    "write_docbin",
    "write_folder",
    "write_rows",
]
