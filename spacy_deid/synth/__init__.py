"""Generate notes with invented, annotated identifiers, from templates and from real notes without identifiers."""

from .corpus import SPLITS, make_corpus, make_note
from .language import Language, load_language, read_origins, read_table

__all__ = ["SPLITS", "Language", "load_language", "make_corpus", "make_note", "read_origins", "read_table"]
