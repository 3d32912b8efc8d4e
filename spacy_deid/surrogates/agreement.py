"""Words before a value that its first sound decides, and that change with it: "an Irish nurse", "Pedro e Inés"."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from .mention import Mention
from .people import needs_article_change

__all__ = ["agree"]

# In both forms, as they stand before a value.
_BEFORE: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "en": re.compile(r"(?<![\w.'’-])(an?)\s+\Z", re.IGNORECASE),
        "es": re.compile(r"(?<![\w.'’-])([yeou])\s+\Z", re.IGNORECASE),
    }
)
_OTHER = MappingProxyType({"a": "an", "an": "a", "y": "e", "e": "y", "o": "u", "u": "o"})


def agree(mention: Mention, surrogate: str, lang: str) -> tuple[int, int, str] | None:
    """Change the word before a value, if the surrogate sounds otherwise.

    mention (Mention): the value, and what stands before it.
    surrogate (str): what takes its place.
    lang (str): ISO 639-1 code.
    RETURNS (Optional[tuple]): how many characters before the value the word starts and ends, and the word that takes
        its place, in the case of the old one; None if it stays. With a value of which nothing is left the blanks go.
    """
    if not surrogate:
        blank = len(mention.before) - len(mention.before.rstrip(" "))
        return (blank, 0, "") if blank else None
    found = _BEFORE[lang].search(mention.before) if lang in _BEFORE else None
    if found is None or not needs_article_change(mention.text, surrogate, lang):
        return None
    word, length = found[1], len(mention.before)
    other = _OTHER[word.lower()]
    if word.isupper() and (len(word) > 1 or mention.text.isupper()):
        other = other.upper()
    elif word[0].isupper():
        other = other.capitalize()
    return length - found.start(1), length - found.end(1), other
