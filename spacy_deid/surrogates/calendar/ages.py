"""Ages: all up to 89 stay, as they stay true when all dates move alike; older ones become "90+" or its words.

Source: 45 CFR 164.514(b)(2)(i)(C). An age that no one can read is not released.
"""

import re
from functools import lru_cache

from .shifting import OLDEST
from .words import Words, load_words

__all__ = ["replace_age"]

_NUMBER = re.compile(r"(?<![\d.,])\d+(?:[.,]\d+)?(?!\d)\+?")
_IN_YEAR = {"days": 365.2425, "weeks": 52.1775, "months": 12.0, "years": 1.0}
_LONGEST = 200  # characters of a mention; more is no age
_NEAR = 40  # characters behind a number that its unit is looked for in
_PLAUSIBLE_YEAR = range(1850, 2101)


def replace_age(text: str, after: str, lang: str) -> str | None:
    """Replace an age.

    text (str): as written, in figures or words.
    after (str): what stands after it; the unit may.
    lang (str): the language.
    RETURNS (Optional[str]): the text itself for ages up to 89 years in any unit; the text with "90+" for the figures
        of older ones, or with the words of the language; None if a word or a number cannot be understood.
    """
    words = load_words(lang)
    unknown, old = _patterns(lang)
    if len(text) > _LONGEST or unknown.search(old.sub(" ", text)) or not re.search(r"\w", text):
        return None
    if any(n.isdecimal() and int(n) in _PLAUSIBLE_YEAR for n in _NUMBER.findall(text)):
        return None
    out = old.sub(lambda match: _worded(match, lang), text)
    return _NUMBER.sub(lambda match: _figures(match, out, after, words), out)


def _figures(match: re.Match[str], text: str, after: str, words: Words) -> str:
    """A number, or "90+" if it tells an age of 90 years or more."""
    value = float(match[0].rstrip("+").replace(",", "."))
    behind = (text[match.end() :] + " " + after)[:_NEAR]
    unit = next((unit for unit, pattern in _units(words.lang).items() if pattern.match(behind)), "years")
    if value / _IN_YEAR[unit] < OLDEST:
        return match[0]
    return str(words.settings["age"]["oldest_figures"]).format(n=int(OLDEST * _IN_YEAR[unit]))


@lru_cache
def _units(lang: str) -> dict[str, re.Pattern[str]]:
    """Unit of time → what a text begins with where it comes next, behind further numbers at most ("3 a 5 meses")."""
    further = r"(?:[\s\-–.,½]|\d|\b[ayoe]\b|\bto\b|\btai\b)*"
    units = load_words(lang).settings["age"]["units"]
    return {unit: re.compile(rf"{further}(?:{form})", re.IGNORECASE) for unit, form in units.items()}


def _worded(match: re.Match[str], lang: str) -> str:
    """The words for 90 and more, in the case of those that stood there."""
    row = load_words(lang).settings["age"]["oldest"][int((match.lastgroup or "")[1:])]
    new = str(row["as"])
    if match[0].isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if match[0][:1].isupper() else new


@lru_cache
def _patterns(lang: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What is no word of age, and the words for 90 and more, a group for each row of them."""
    age = load_words(lang).settings["age"]
    known = rf"(?:{age['words']}|{age['young']})"
    unknown = rf"(?<![^\W\d_])(?!{known}(?![^\W\d_]))[^\W\d_]+"
    oldest = "|".join(f"(?P<g{i}>{row['match']})" for i, row in enumerate(age["oldest"]))
    return re.compile(unknown, re.IGNORECASE), re.compile(rf"(?<![^\W\d_])(?:{oldest})", re.IGNORECASE)
