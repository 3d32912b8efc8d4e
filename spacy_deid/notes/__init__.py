"""Tables of notes, read in pieces: CSV, JSONL, Parquet, or any SQL database. Text is read where it is asked for."""

from .opening import open_source
from .source import Columns, Key, NoteSource, as_id, as_text, require_columns

__all__ = ["Columns", "Key", "NoteSource", "as_id", "as_text", "open_source", "require_columns"]
