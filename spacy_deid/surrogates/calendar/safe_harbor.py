"""Dates and ages under HIPAA Safe Harbor: years only, and no age over 89.

Source: 45 CFR 164.514(b)(2)(i)(C), and the guidance of HHS on it (question "What are examples of dates that are not
permitted"): a year that shows an age over 89 is reported as "on or before" the year that shows 90.
"""

import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache

from .grammar import Calendar, DateExpression, load_calendar
from .parsing import ParsedDate, full_year
from .rules import OLDEST_AGE

# Kinds of expressions that stay in each style.
_HARMLESS = {"year": frozenset({"kept", "weekday"}), "safe_harbor": frozenset({"kept"})}
_WHOLE = frozenset({"year", "decade", "kept"})


def reduce_to_years(parsed: ParsedDate, calendar: Calendar, style: str, note: date | None, today: date) -> str | None:
    """Reduce a mention to its years.

    parsed (ParsedDate): parsed mention, its order resolved.
    calendar (Calendar): calendar of the language.
    style (str): "year" or "safe_harbor".
    note (Optional[date]): date from which ages are counted, None if it is unknown.
    today (date): date of the note, or a substitute.
    RETURNS (Optional[str]): the year, or the first and the last year; the text itself if it has nothing finer than
        years. None if it has no year, or it is unknown whether the year shows an age over 89.
    """
    if all(expression.kind in _HARMLESS[style] for expression in parsed.expressions):
        return parsed.text
    years = [year for expression in parsed.expressions for year in _years(parsed, expression, today)]
    if not years or note is None:
        return None
    latest = note.year - OLDEST_AGE
    young = [year for year in years if year > latest]
    if len(young) == len(years) and all(expression.kind in _WHOLE for expression in parsed.expressions):
        return parsed.text
    return _span(young, "" if len(young) == len(years) else str(calendar.settings["or_earlier"]).format(year=latest))


def _span(years: Sequence[int], earlier: str) -> str:
    """Write the first and the last year; years that show an age over 89 are summarized by a phrase."""
    ends = [earlier] if earlier else [str(min(years))]
    return "-".join(dict.fromkeys([*ends, *([str(max(years))] if years else [])]))


def _years(parsed: ParsedDate, expression: DateExpression, today: date) -> list[int]:
    """Return the years of an expression; of a decade without a century, the latest possible one."""
    if written := parsed.field_text(expression, "e"):
        return [full_year(written, today, born=True)]
    if not (written := parsed.field_text(expression, "y")):
        return []
    year = full_year(written, today, parsed.born)
    second = parsed.field_text(expression, "z")
    return [year, year + (int(second) - year) % 100] if second else [year]


# --- ages ---

_NUMBER = re.compile(r"(?<![\d.,])\d+(?:[.,]\d+)?(?!\d)\+?")
_IN_YEAR = {"days": 365.2425, "weeks": 52.1775, "months": 12.0, "years": 1.0}
_LONGEST = 200  # characters of a mention
_NEAR = 40  # characters behind a number in which its unit is searched
_PLAUSIBLE_YEAR = range(1850, 2101)


def replace_age(text: str, after: str, lang: str) -> str | None:
    """Replace an age over 89.

    text (str): age as written, in digits or words.
    after (str): text after it, which may hold the unit.
    lang (str): language code.
    RETURNS (Optional[str]): the text itself for an age up to 89 years, in any unit; for an older one the text with
        "90+", or its words in the language; None if the age cannot be understood.
    RAISES: ConfigError (D662) if the language has no ``calendar.toml``.
    """
    calendar = load_calendar(lang)
    unknown, old = _patterns(lang)
    if len(text) > _LONGEST or unknown.search(old.sub(" ", text)) or not re.search(r"\w", text):
        return None
    if any(n.isdecimal() and int(n) in _PLAUSIBLE_YEAR for n in _NUMBER.findall(text)):
        return None
    out = old.sub(lambda match: _worded(match, lang), text)
    return _NUMBER.sub(lambda match: _limit(match, out, after, calendar), out)


def _limit(match: re.Match[str], text: str, after: str, calendar: Calendar) -> str:
    """Return a number, or "90+" if it is an age of 90 years or more in its unit."""
    value = float(match[0].rstrip("+").replace(",", "."))
    behind = (text[match.end() :] + " " + after)[:_NEAR]
    unit = next((unit for unit, pattern in _units(calendar.lang).items() if pattern.match(behind)), "years")
    if value / _IN_YEAR[unit] < OLDEST_AGE:
        return match[0]
    return str(calendar.settings["age"]["oldest_figures"]).format(n=int(OLDEST_AGE * _IN_YEAR[unit]))


@lru_cache
def _units(lang: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of each unit of time after a number; more numbers may be between ("3 a 5 meses")."""
    further = r"(?:[\s\-–.,½]|\d|\b[ayoe]\b|\bto\b|\btai\b)*"
    units = load_calendar(lang).settings["age"]["units"]
    return {unit: re.compile(rf"{further}(?:{form})", re.IGNORECASE) for unit, form in units.items()}


def _worded(match: re.Match[str], lang: str) -> str:
    """Return the words for 90 and more in the capitals of the original."""
    row = load_calendar(lang).settings["age"]["oldest"][int((match.lastgroup or "")[1:])]
    new = str(row["as"])
    if match[0].isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if match[0][:1].isupper() else new


@lru_cache
def _patterns(lang: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of unknown words, and of words for ages over 89, with one group per row of the file."""
    age = load_calendar(lang).settings["age"]
    known = rf"(?:{age['words']}|{age['young']})"
    unknown = rf"(?<![^\W\d_])(?!{known}(?![^\W\d_]))[^\W\d_]+"
    oldest = "|".join(f"(?P<g{i}>{row['match']})" for i, row in enumerate(age["oldest"]))
    return re.compile(unknown, re.IGNORECASE), re.compile(rf"(?<![^\W\d_])(?:{oldest})", re.IGNORECASE)
