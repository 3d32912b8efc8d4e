"""Surrogates of dates and ages: moved by one secret offset per patient.

Dates of any format move by the same number of days, so that every interval between full dates stays the same, and keep
their format: order, separators, leading zeros, names in their case and case form, blanks and line breaks. Dates
without a day, month or year move by a constant number of months, quarters, years or decades that follows from the
offset (`rules.Shift`). Relative days ("ayer", "3 days later") and times of day are no dates and stay. A day that does
not exist (31/02) runs into the next month. Ages up to 89 years stay, because they stay true.

An age over 89 becomes "90+", and a date more than 90 years before the note is moved on by whole years until it shows
an age of 90. An age that only follows from several mentions ("at 70, 25 years ago") is not found, and in notes of
several years such a patient's age is counted from the date of each note.

A mention that cannot be parsed to its end has no surrogate (None), because half a date must not stay.
"""

from collections.abc import Sequence
from datetime import date

from ..keys import IdentityKey
from ..mention import Mention
from .grammar import load_calendar, load_grammar
from .parsing import find_conventions, find_reference, parse_date
from .rules import DateRules, Shift
from .safe_harbor import reduce_to_years, replace_age
from .shifting import NoteShift, shift_date

__all__ = ["LABELS", "DateRules", "Shift", "replace_dates"]

LABELS = frozenset({"DATE", "AGE"})
"""The labels that `replace_dates` replaces."""


def replace_dates(
    mentions: Sequence[Mention], key: IdentityKey, lang: str, rules: DateRules | None = None
) -> list[str | None]:
    """Replace the dates and ages of a note.

    mentions (Sequence[Mention]): all mentions of a note with the labels DATE and AGE, in the order of the text.
        Together they show how the note writes dates, and when it was written.
    key (IdentityKey): key of the patient.
    lang (str): language code, with or without a region ("en-GB").
    rules (Optional[DateRules]): how dates are replaced; None for the default rules.
    RETURNS (list[Optional[str]]): for each mention a surrogate, None where there is none. Ages up to 89 and relative
        days are returned unchanged.
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
    # For a patient without any known date, a keyed day is a substitute for the date of the note.
    today = note or date(2000 + key.draw("dates", "some day").below(20), 7, 1)
    stays = frozenset(
        kind for kind, kept in (("weekday", rules.keep_weekday), ("season", rules.season is not None)) if kept
    )
    shifts = {v: Shift.draw(key, rules, v) for v in {mentions[i].variant for i, _ in known}}
    for (i, _), parsed in zip(known, resolved, strict=True):
        if rules.style == "shift":
            move = NoteShift(shifts[mentions[i].variant], calendar, conventions, today, note, stays)
            out[i] = shift_date(parsed, move)
        else:
            out[i] = reduce_to_years(parsed, calendar, rules.style, note, today)
    return out
