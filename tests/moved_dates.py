"""Moves one mention by a known shift, as `replace_dates` does by a secret one."""

from datetime import date

from spacy_deid.surrogates.calendar.grammar import load_calendar, load_grammar
from spacy_deid.surrogates.calendar.parsing import find_conventions, parse_date, resolve_order
from spacy_deid.surrogates.calendar.rules import Shift
from spacy_deid.surrogates.calendar.shifting import NoteShift, shift_date

TODAY = date(2014, 6, 15)
# Ten days on; each coarser date one unit on, so that a table can be checked without a computer.
TEN = Shift(days=10, months=1, quarters=1, years=1, decades=1)


def conventions_of(texts, lang):
    """The conventions of a note with these mentions."""
    grammar = load_grammar(lang)
    dates = [parsed for text in texts if (parsed := parse_date(text, "", grammar))]
    return find_conventions(dates, load_calendar(lang))[0]


def moved(text, lang, shift=TEN, *, conventions=None, today=TODAY, note=None, before=""):
    """A mention, moved; None if it cannot be parsed."""
    calendar, parsed = load_calendar(lang), parse_date(text, before, load_grammar(lang))
    if parsed is None:
        return None
    conventions = conventions or find_conventions([parsed], calendar)[0]
    resolved = resolve_order(parsed, conventions.month_first, calendar)
    return shift_date(resolved, NoteShift(shift, calendar, conventions, today, note))
