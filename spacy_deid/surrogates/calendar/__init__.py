"""Replace dates and ages: dates are shifted by a secret offset, or reduced to what HIPAA Safe Harbor allows.

All full dates of a patient are shifted by the same number of days, so that the intervals between them stay the same.
By default it is a multiple of 7, so that weekdays stay the same, too. Dates keep their format: order, separators,
leading zeros, blanks, line breaks, and the case and inflection of names. A part of a full date of the note ("February"
next to "14-2", "the 14th") moves with that date. Other dates without a day, month or year are shifted by a constant
number of months, quarters, years or decades that follows from the offset (`rules.Shift`). Relative days ("ayer", "3
days later") and times of day are not changed. A day that does not exist (31/02) is treated as a day of the next month.
Ages up to 89 years are not changed, because they remain true.

An age over 89 becomes "90+". A date more than 90 years before the note is moved to a later year, so that it reveals an
age of 90 at most. An age that only follows from several mentions ("at 70, 25 years ago") is not detected. The age is
computed at the date of each note, so notes of several years can show different years of birth for such a patient.

A mention that cannot be parsed completely has no surrogate (None), because no part of a date may remain.

Source: 45 CFR 164.514(b)(2)(i)(C), and the guidance of HHS on it (question "What are examples of dates that are not
permitted"): a year that reveals an age over 89 is reported as "on or before" the year that corresponds to age 90.
"""

import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache

from ...lang import shared_words
from ..keys import IdentityKey
from ..mention import Mention
from .grammar import Calendar, load_calendar, load_grammar
from .parsing import (
    ParsedDate,
    find_conventions,
    find_days,
    find_reference,
    full_year,
    parse_date,
    written_year,
)
from .rules import OLDEST_AGE, DateRules, Shift
from .shifting import NoteShift, shift_date

LABELS = frozenset({"DATE", "AGE"})
"""The labels that `replace_dates` replaces."""

# Kinds of expressions that are not changed in each style.
_HARMLESS = {"year": frozenset({"kept", "weekday"}), "safe_harbor": frozenset({"kept"})}
_WHOLE = frozenset({"year", "decade", "kept"})

_NUMBER = re.compile(r"(?<![\d.,])\d+(?:[.,]\d+)?(?!\d)\+?")
_IN_YEAR = {"days": 365.2425, "weeks": 52.1775, "months": 12.0, "years": 1.0}
_LONGEST = 200  # characters of a mention of an age
_NEAR = 40  # characters after a number in which its unit is searched
_PLAUSIBLE_YEAR = range(1850, 2101)


def replace_dates(
    mentions: Sequence[Mention], key: IdentityKey, lang: str, rules: DateRules | None = None
) -> list[str | None]:
    """Replace the dates and ages of a note in the format of the originals.

    mentions (Sequence[Mention]): all mentions of a note with the labels DATE and AGE, in the order of the text. The
        format of ambiguous dates and the date of the note are inferred from all of them.
    key (IdentityKey): key of the patient.
    lang (str): language code, with or without a region ("en-GB").
    rules (Optional[DateRules]): how dates are replaced; None for the default rules.
    RETURNS (list[Optional[str]]): for each mention its surrogate, or None if none could be made. Ages up to 89 and
        relative days are returned unchanged.
    RAISES: ConfigError (D662) if the language has no ``calendar.toml``.
    """
    rules, calendar, grammar = rules or DateRules(), load_calendar(lang), load_grammar(lang)
    out = [replace_age(m.text, m.after, lang) if m.label == "AGE" else None for m in mentions]
    known = [
        (i, parsed)
        for i, m in enumerate(mentions)
        if m.label == "DATE" and (parsed := parse_date(m.text, m.before, grammar))
    ]
    conventions, resolved = find_conventions([parsed for _, parsed in known], calendar)
    note = rules.reference or find_reference(resolved, calendar, rules.year)
    # If no date is known, a day drawn with the key is used in place of the date of the note.
    today = note or date(2000 + key.draw("dates", "some day").below(20), 7, 1)
    days = find_days(resolved, calendar, today)
    stays = frozenset(
        kind for kind, kept in (("weekday", rules.keep_weekday), ("season", rules.season is not None)) if kept
    )
    shifts = {v: Shift.draw(key, rules, v) for v in {mentions[i].variant for i, _ in known}}
    for (i, _), parsed in zip(known, resolved, strict=True):
        if rules.style == "shift":
            move = NoteShift(shifts[mentions[i].variant], calendar, conventions, today, note, stays, days)
            out[i] = shift_date(parsed, move)
        else:
            out[i] = reduce_to_years(parsed, calendar, rules.style, note, today)
    return out


def reduce_to_years(parsed: ParsedDate, calendar: Calendar, style: str, note: date | None, today: date) -> str | None:
    """Reduce the mention of a date to its year or years, for the styles "year" and "safe_harbor".

    parsed (ParsedDate): the parsed mention after `parsing.resolve_order`.
    calendar (Calendar): calendar of the language.
    style (str): "year" or "safe_harbor".
    note (Optional[date]): date of the note, at which the age of the patient is computed; None if it is unknown.
    today (date): date of the note, or a substitute, for years of two digits.
    RETURNS (Optional[str]): the year, or the first and the last year ("2012-2014"). The text is returned unchanged if
        it contains only years. A year that reveals an age over 89 is replaced by "… or earlier" in the language. None
        if the mention has no year, or if `note` is None.
    """
    if all(expression.kind in _HARMLESS[style] for expression in parsed.expressions):
        return parsed.text
    years = []
    for expression in parsed.expressions:
        if written := expression.field_text("e"):  # of a decade without a century, the latest possible one
            years.append(full_year(written, today, born=True))
        elif written := written_year(expression, calendar):
            years.append(full_year(written, today, parsed.born))
            if second := expression.field_text("z"):
                years.append(years[-1] + (int(second) - years[-1]) % 100)
    if not years or note is None:
        return None
    latest = note.year - OLDEST_AGE
    young = [year for year in years if year > latest]
    if len(young) == len(years):
        if all(expression.kind in _WHOLE for expression in parsed.expressions):
            return parsed.text
        first = str(min(young))
    else:
        first = str(calendar.settings["or_earlier"]).format(year=latest)
    return "-".join(dict.fromkeys([first, *([str(max(young))] if young else [])]))


def replace_age(text: str, after: str, lang: str) -> str | None:
    """Replace an age over 89 years by "90+" or by words such as "over 90" in the language of the note.

    text (str): the age as written, in digits or words.
    after (str): the text after it, which may contain the unit, such as "months".
    lang (str): language code.
    RETURNS (Optional[str]): the unchanged text for an age up to 89 years; for an older one the text with "90+" (in its
        unit), or with words for it in the language. None if the text has a word that is not part of an age, or a
        number that can be a year.
    RAISES: ConfigError (D662) if the language has no ``calendar.toml``.
    """
    settings = load_calendar(lang).settings["age"]
    unknown, old, units = _age_patterns(lang)
    if len(text) > _LONGEST or unknown.search(old.sub(" ", text)) or not re.search(r"\w", text):
        return None
    if any(n.isdecimal() and int(n) in _PLAUSIBLE_YEAR for n in _NUMBER.findall(text)):
        return None

    def write_words(match: re.Match[str]) -> str:
        """Return the words for an age of 90 and more, in the case of the original."""
        new = str(settings["oldest"][int((match.lastgroup or "")[1:])]["as"])
        if match[0].isupper():
            return new.upper()
        return new[:1].upper() + new[1:] if match[0][:1].isupper() else new

    def limit(match: re.Match[str]) -> str:
        """Return a number unchanged, or "90+" in its unit if it is an age of 90 years or more."""
        behind = (words[match.end() :] + " " + after)[:_NEAR]
        unit = next((unit for unit, pattern in units.items() if pattern.match(behind)), "years")
        if float(match[0].rstrip("+").replace(",", ".")) / _IN_YEAR[unit] < OLDEST_AGE:
            return match[0]
        return str(settings["oldest_figures"]).format(n=int(OLDEST_AGE * _IN_YEAR[unit]))

    words = old.sub(write_words, text)
    return _NUMBER.sub(limit, words)


@lru_cache
def _age_patterns(lang: str) -> tuple[re.Pattern[str], re.Pattern[str], dict[str, re.Pattern[str]]]:
    """Return patterns of words that are not part of ages, of ages over 89 in words, and of each unit.

    The second pattern has one group per row of "oldest" in ``calendar.toml``.
    """
    age = load_calendar(lang).settings["age"]
    known = rf"(?:{age['words']}|{age['young']})"
    unknown = rf"(?<![^\W\d_])(?!{known}(?![^\W\d_]))[^\W\d_]+"
    oldest = "|".join(f"(?P<g{i}>{row['match']})" for i, row in enumerate(age["oldest"]))
    # More numbers may be between a number and its unit: "3 a 5 meses".
    between = "|".join(rf"\b{word}\b" for word in shared_words("calendar.toml", "age", "between"))
    further = rf"(?:[\s\-–.,½]|\d|{between})*"
    units = {unit: re.compile(rf"{further}(?:{form})", re.IGNORECASE) for unit, form in age["units"].items()}
    old = re.compile(rf"(?<![^\W\d_])(?:{oldest})", re.IGNORECASE)
    return re.compile(unknown, re.IGNORECASE), old, units
