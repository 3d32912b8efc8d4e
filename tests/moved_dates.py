"""Moves one mention by a known shift, as `replace_dates` does by a secret one."""

from datetime import date

from spacy_deid.surrogates.calendar.grammar import load_grammar
from spacy_deid.surrogates.calendar.habits import find_habits
from spacy_deid.surrogates.calendar.reading import read, settle
from spacy_deid.surrogates.calendar.rules import Shift
from spacy_deid.surrogates.calendar.shifting import shift_reading
from spacy_deid.surrogates.calendar.words import load_words
from spacy_deid.surrogates.calendar.written import Move

TODAY = date(2014, 6, 15)
# Ten days on; each coarser date one on, so that a table can be checked in the head.
TEN = Shift(days=10, months=1, quarters=1, years=1, decades=1)


def habits_of(texts, lang):
    """How the note writes that has these mentions."""
    grammar = load_grammar(lang)
    return find_habits([r for text in texts if (r := read(text, "", grammar))], load_words(lang))[0]


def moved(text, lang, shift=TEN, *, habits=None, today=TODAY, note=None, before=""):
    """A mention, moved; None if it cannot be read."""
    words, reading = load_words(lang), read(text, before, load_grammar(lang))
    if reading is None:
        return None
    habits = habits or find_habits([reading], words)[0]
    return shift_reading(settle(reading, habits.month_first, words), Move(shift, words, habits, today, note))
