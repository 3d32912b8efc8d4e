"""The corpus workshop: notes with gold PHI, made from templates, carriers and coherent invented people."""

from .corpus import SPLITS, make_corpus, make_note
from .language import Language, load_language
from .names import read_origins, read_table

__all__ = ["SPLITS", "Language", "load_language", "make_corpus", "make_note", "read_origins", "read_table"]
