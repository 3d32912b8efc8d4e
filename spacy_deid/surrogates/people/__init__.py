"""Persons: surrogates of names, initials, user names and e-mail addresses, the same for all mentions of a person."""

from .articles import needs_article_change
from .replace import replace_persons

__all__ = ["needs_article_change", "replace_persons"]
