"""Days as a language writes them.

Formats are those of ``strftime``, with "%-d" and "%-m" without a zero, month and weekday names from language.toml,
"%W" for the day of the month in words and "%N" for the year in words where the language has them.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from .identity import Case

__all__ = ["format_day"]

_CODE = re.compile(r"%-?[a-zA-Z]")
_DEFAULT = ("%d/%m/%Y",)


def format_day(case: Case, day: date, filters: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Write a day.

    case (Case): its language, and the hand that writes all dates of a note alike.
    day (date): the day.
    filters (tuple[str, ...]): the first that is a format ("%d.%m.") or names one of ``[dates.named]`` is used.
    RETURNS (tuple[str, tuple[str, ...]]): the text, and the other filters.
    """
    settings = case.language.settings.get("dates", {})
    named = settings.get("named", {})
    used = next((name for name in filters if "%" in name or name in named), None)
    rest = tuple(name for name in filters if name != used)
    if used is None:
        formats: Sequence[str] = settings.get("formats", _DEFAULT)
        usual = formats[int(case.style * len(formats))]
        pattern = usual if case.rng.random() < 0.85 else case.rng.choice(formats)
    else:
        pattern = used if "%" in used else case.rng.choice(named[used])
    return _CODE.sub(lambda match: _write(match[0], day, settings), pattern), rest


def _write(code: str, day: date, settings: dict[str, Any]) -> str:
    """One code of a format."""
    tables = {"%B": ("months", day.month - 1), "%b": ("months_short", day.month - 1)}
    tables |= {"%A": ("weekdays", day.weekday()), "%a": ("weekdays_short", day.weekday())}
    tables |= {"%W": ("days_in_words", day.day - 1)}
    if code in tables and tables[code][0] in settings:
        key, index = tables[code]
        return str(settings[key][index])
    plain = {"%-d": str(day.day), "%-m": str(day.month), "%Y": str(day.year)}
    return plain.get(code) or day.strftime(code)
