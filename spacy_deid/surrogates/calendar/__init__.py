"""Dates and ages of a note, moved by one secret offset a patient.

Dates of any format move by the same number of days, so that every interval between full dates stays what it was, and
keep their format: order, separators, leading zeros, names in their case and case form, blanks and line breaks. Dates
that name no day, month or year move by a constant number of months, quarters, years or decades that follows from the
offset (see `rules.Shift`). Days relative to others ("ayer", "3 days later") and times of day tell no date and stay.
A date that no calendar has (31/02) runs on into the next month. Ages up to 89 years stay, as they stay true.

What tells an age over 89 does not stay: ages become "90+", and a date more than 90 years before the note is moved on
by whole years until it tells an age of 90. An age that only follows from more than one mention ("at 70, 25 years ago")
is not found, and where such a patient has notes of several years, each counts from its own date.

What cannot be read to its end has no surrogate (None): half a date must not stay.
"""

from collections.abc import Sequence
from datetime import date

from ..keys import IdentityKey
from ..mention import Mention
from .ages import replace_age
from .grammar import load_grammar
from .habits import find_habits, find_reference
from .reading import read
from .rules import DateRules, Shift
from .shifting import shift_reading
from .words import load_words
from .written import Move
from .years import year_of

__all__ = ["LABELS", "DateRules", "Shift", "replace_dates"]

LABELS = frozenset({"DATE", "AGE"})


def replace_dates(
    mentions: Sequence[Mention], key: IdentityKey, lang: str, rules: DateRules | None = None
) -> list[str | None]:
    """Replace the dates and ages of a note.

    mentions (Sequence[Mention]): of the labels DATE and AGE, in the order of the text. All of a note at once: they
        tell how it writes dates and when it was written.
    key (IdentityKey): the key of the patient.
    lang (str): language of the note: "es", "en", "en-GB", "fi", or one that has a ``lang/XX/calendar.toml``.
    rules (Optional[DateRules]): what is done with dates; None for a shift.
    RETURNS (list[Optional[str]]): for each mention a surrogate, or None. Ages up to 89 and relative days are given
        back as they are: nothing of them has to go.
    RAISES: ConfigError (D662) for an unknown language.
    """
    rules, words, grammar = rules or DateRules(), load_words(lang), load_grammar(lang)
    out = [replace_age(m.text, m.after, lang) if m.label == "AGE" else None for m in mentions]
    known = [
        (i, reading)
        for i, m in enumerate(mentions)
        if m.label == "DATE" and (reading := read(m.text, m.before, grammar))
    ]
    habits, settled = find_habits([reading for _, reading in known], words)
    note = rules.reference or find_reference(settled, words, rules.year)
    today = note or _some_day(key)
    shifts = {v: Shift.draw(key, rules, v) for v in {mentions[i].variant for i, _ in known}}
    for (i, _), reading in zip(known, settled, strict=True):
        if rules.style == "shift":
            move = Move(shifts[mentions[i].variant], words, habits, today, note, _staying(rules))
            out[i] = shift_reading(reading, move)
        else:
            out[i] = year_of(reading, words, rules.style, note, today)
    return out


def _staying(rules: DateRules) -> frozenset[str]:
    """Kinds of dates that the rules let be."""
    weekday = {"weekday"} if rules.keep_weekday else set()
    return frozenset(weekday | ({"season"} if rules.season is not None else set()))


def _some_day(key: IdentityKey) -> date:
    """The day that stands for the date of a note of a patient where nothing tells one."""
    return date(2000 + key.draw("dates", "some day").below(20), 7, 1)
