"""Every format that notes write dates in: what is moved, and that all else stays."""

import re
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from moved_dates import TEN, TODAY, conventions_of, moved

from spacy_deid.surrogates.calendar.grammar import load_calendar, load_grammar
from spacy_deid.surrogates.calendar.rules import Shift

TABLES = Path(__file__).parent / "tables"


def rows(lang):
    """The table of a language: a mention → the mention after the shift `TEN`."""
    lines = (TABLES / f"{lang}.txt").read_text(encoding="utf8").splitlines()[1:]
    return dict(line.replace("\\n", "\n").split(" => ") for line in lines)


MONTHS = {
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
    "en": "January February March April May June July August September October November December".split(),
    "fi": "tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu".split(),
}
SHORT = {
    "es": "ene feb mar abr may jun jul ago sep oct nov dic".split(),
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(),
}

# Full dates: %-d and %-m without leading zero, %B and %b names, %o the English ordinal.
NUMERIC = ["%d/%m/%Y", "%-d/%-m/%Y", "%d-%m-%Y", "%-d-%-m-%y", "%d/%m/%y", "%d.%m.%Y", "%-d.%-m.%Y", "%d / %m / %Y"]
NUMERIC += ["%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%Y-%m-%dT08:30:00", "%-d/%-m/%Y 17:45", "%d/%m-%Y", "%-d/%m/%Y"]
WRITTEN = {
    "es": [
        "%-d de %B de %Y",
        "%d de %B de %Y",
        "%-d de %B del %Y",
        "el %-d %B %Y",
        "%-d-%b-%Y",
        "%d-%b-%y",
        "%-d %b %Y",
    ],
    "en": ["%B %-d, %Y", "%b %-d, %Y", "%B %-d%o, %Y", "%-d %B %Y", "%d %b %y", "%-d%o of %B, %Y", "%^B %-d, %Y"],
    "fi": ["%-d.%-m.-%y", "%-d. %Bkuuta %Y", "%d. %Bkuuta %Y", "%Bkuun %-d. päivänä %Y", "%-d. päivänä %Bkuuta %Y"],
}
WRITTEN["es"] += ["%-d DE %^B DE %Y", "%-d\nde %B de %Y", "%-d-%B-%Y", "día %-d de %B del año %Y"]
WRITTEN["en"] += ["%d-%b-%Y", "%-d-%b-%y", "%B\n%-d, %Y", "the %-d%o of %B %Y"]
WRITTEN["fi"] += ["%-d.%-m.%Y klo 8.30", "%-d. %^BKUUTA %Y", "%-d.\n%Bkuuta %Y"]
SWAPPED = [f.replace("%d/%m", "%m/%d").replace("%-d/%-m", "%-m/%-d").replace("%-d/%m", "%-m/%d") for f in NUMERIC]
FULL = {lang: [*(SWAPPED if lang == "en" else NUMERIC), *forms] for lang, forms in WRITTEN.items()}
PARTIAL = {
    "es": ["%B de %Y", "%B", "%m/%Y", "%-m/%Y", "%Y-%m", "%b-%y", "%Y", "en %Y", "finales de %B de %Y"],
    "en": ["%B %Y", "%B", "%m/%Y", "%-m/%Y", "%Y-%m", "%b '%y", "%Y", "in %Y", "mid-%B %Y"],
    "fi": ["%Bkuussa %Y", "%Bkuu", "%m/%Y", "%-m/%Y", "%-m/%y", "%Bkuun %Y", "%Y", "vuonna %Y", "%Bkuun alussa"],
}
LANGS = st.sampled_from(sorted(FULL))
DAYS = st.dates(date(1935, 1, 1), date(2023, 12, 31))
SHIFTS = st.builds(
    Shift,
    days=st.integers(-1500, 1500).filter(bool),
    months=st.integers(-50, 50).filter(lambda n: n % 12),
    quarters=st.integers(-17, 17).filter(lambda n: n % 4),
    years=st.integers(-5, 5).filter(bool),
    decades=st.integers(-2, 2).filter(bool),
)


def write(day, form, lang):
    """A date in a format."""
    ends = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
    name, short = MONTHS[lang][day.month - 1], SHORT.get(lang, MONTHS[lang])[day.month - 1]
    slots = {"%-d": f"{day.day}", "%-m": f"{day.month}", "%d": f"{day.day:02}", "%m": f"{day.month:02}"}
    slots |= {"%Y": f"{day.year:04}", "%y": f"{day.year % 100:02}", "%B": name, "%^B": name.upper(), "%b": short}
    slots["%o"] = ends.get(day.day, "th")
    return re.sub(r"%(?:-[dm]|\^B|[dmYyBbo])", lambda slot: slots[slot[0]], form)


@st.composite
def dates(draw, forms):
    """A language, a format, and a day."""
    lang = draw(LANGS)
    return lang, draw(st.sampled_from(forms[lang])), draw(DAYS)


def evidence(form, lang):
    """A date that shows beyond doubt how a format is written."""
    return write(date(2013, 9, 5), form, lang), write(date(2013, 2, 27), form, lang)


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
def test_dates_of_the_table_move_and_keep_their_format(lang):
    table = rows(lang)
    assert len(table) >= 60
    assert {text: moved(text, lang) for text in table} == table


@given(dates(FULL), SHIFTS)
@settings(deadline=None, max_examples=200)
def test_a_full_date_moves_by_the_offset_in_its_own_format(case, shift):
    lang, form, day = case
    expected = write(day + timedelta(days=shift.days), form, lang)
    out = moved(write(day, form, lang), lang, shift, conventions=conventions_of(evidence(form, lang), lang), today=day)
    assert out == expected


def opposite(shift):
    """The shift that undoes another one."""
    return Shift(-shift.days, -shift.months, -shift.quarters, -shift.years, -shift.decades)


@given(dates(FULL), SHIFTS)
@settings(deadline=None, max_examples=150)
def test_a_date_moved_there_and_back_is_unchanged(case, shift):
    lang, form, day = case
    text, conventions = write(day, form, lang), conventions_of(evidence(form, lang), lang)
    there = moved(text, lang, shift, conventions=conventions, today=day)
    assert moved(there, lang, opposite(shift), conventions=conventions, today=day + timedelta(days=shift.days)) == text


@given(dates(PARTIAL), SHIFTS)
@settings(deadline=None, max_examples=200)
def test_a_partial_date_moved_there_and_back_is_unchanged(case, shift):
    lang, form, day = case
    text, conventions = write(day, form, lang), conventions_of(evidence(form, lang), lang)
    there = moved(text, lang, shift, conventions=conventions, today=day)
    assert there is not None
    assert there.lower() != text.lower()
    if form == "%b-%y":  # "feb-03" is read as a day, "ene-00" can only be a year
        assume((1 <= int(text[-2:]) <= 31) == (1 <= int(there[-2:]) <= 31))
    assert moved(there, lang, opposite(shift), conventions=conventions, today=day + timedelta(days=shift.days)) == text


@given(LANGS, DAYS, st.integers(-180, 180), SHIFTS)
@settings(deadline=None, max_examples=200)
def test_a_day_without_a_year_keeps_its_distance_to_the_note(lang, note, apart, shift):
    day = note + timedelta(days=apart)
    assume((day.month, day.day) != (2, 29))
    month_first = lang == "en"
    text = f"{day:%m/%d}" if month_first else f"{day:%d.%m.}"
    conventions = conventions_of(["09/25/2013" if month_first else "25.09.2013"], lang)
    out = moved(text, lang, shift, conventions=conventions, today=note)
    if out is None:  # the date would not change
        assert shift.days in (-365, -366, 365, 366) or abs(shift.days) > 366
        return
    first, second = map(int, re.findall(r"\d+", out))
    month, new = (first, second) if month_first else (second, first)
    moved_note = note + timedelta(days=shift.days)
    years = [
        year for year in range(moved_note.year - 1, moved_note.year + 2) if (month, new) != (2, 29) or year % 4 == 0
    ]
    assert apart in [(date(year, month, new) - moved_note).days for year in years]


@given(LANGS, DAYS, DAYS, SHIFTS)
@settings(deadline=None, max_examples=100)
def test_the_interval_of_two_dates_is_kept_in_days(lang, day, other, shift):
    iso = [moved(d.isoformat(), lang, shift) for d in (day, other)]
    assert (date.fromisoformat(iso[1]) - date.fromisoformat(iso[0])) == other - day


@given(st.text(max_size=60), LANGS)
@settings(deadline=None, max_examples=150)
def test_any_text_is_parsed_or_refused(text, lang):
    out = moved(text, lang)
    assert out is None or isinstance(out, str)


@given(st.text("0123456789/.-– dealto,'ºymarzoMch", max_size=30), LANGS)
@settings(deadline=None, max_examples=250)
def test_any_text_like_a_date_is_parsed_or_refused(text, lang):
    out = moved(text, lang)
    assert out is None or isinstance(out, str)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("31/02/2014", "13/03/2014"),
        ("29/02/2013", "11/03/2013"),
        ("31/04", "11/05"),
        ("32/01/2014", "11/02/2014"),
        ("00/03/2014", "00/04/2014"),
        ("00/00/0000", None),
    ],
)
def test_a_day_that_does_not_exist_runs_into_the_next_month(text, expected):
    assert moved(text, "es") == expected


@pytest.mark.parametrize(
    "text", ["12 de marzo Dr. García", "12/03/2014 NHC 123456", "Ana", "", " ", "5551234", "a" * 5000]
)
def test_a_text_that_is_only_partly_a_date_is_refused(text):
    assert moved(text, "es") is None


@pytest.mark.parametrize(
    ("lang", "text"), [("es", "ayer"), ("es", "hace 3 días"), ("en", "3 days ago"), ("fi", "eilen")]
)
def test_relative_days_stay(lang, text):
    assert moved(text, lang) == text


@pytest.mark.parametrize(
    ("note", "text", "expected"),
    [
        (["25/03/2014"], "03/04/2014", "13/04/2014"),
        (["03/25/2014"], "03/04/2014", "03/14/2014"),
        ([], "03/04/2014", "03/14/2014"),
        (["03/25/2014", "25/03/2014", "26/03/2014"], "03/04/2014", "13/04/2014"),
    ],
)
def test_the_note_decides_the_order_of_day_and_month(note, text, expected):
    assert moved(text, "en", conventions=conventions_of([*note, text], "en")) == expected


def test_british_english_puts_the_day_first():
    assert moved("03/04/2014", "en-GB") == "13/04/2014"


@pytest.mark.parametrize(("note", "expected"), [("2/3/2014", "5/10/2014"), ("02/03/2014", "05/10/2014")])
def test_the_note_decides_on_leading_zeros(note, expected):
    shift = Shift(days=-8, months=1, quarters=1, years=1, decades=1)
    assert moved("13/10/2014", "es", shift, conventions=conventions_of([note, "13/10/2014"], "es")) == expected


def test_a_year_of_two_digits_is_of_the_nearest_century():
    leap = Shift(days=1, months=1, quarters=1, years=1, decades=1)
    assert moved("28/02/24", "es", leap, before="Fecha de nacimiento: ") == "29/02/24"
    assert moved("28/02/1900", "es", leap) == "01/03/1900"


def test_the_tables_state_their_shift():
    assert (TEN.days, TEN.months, TEN.years, TODAY) == (10, 1, 1, date(2014, 6, 15))


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
def test_names_of_months_and_weekdays_agree_with_cldr(lang):
    babel = pytest.importorskip("babel.dates")
    words = load_calendar(lang).names
    months = babel.get_month_names("wide", "stand-alone", locale=lang)
    days = babel.get_day_names("wide", "stand-alone", locale=lang)
    assert [words["months"].find(months[i])[0][1] for i in range(1, 13)] == list(range(12))
    assert [words["weekdays"].find(days[i])[0][1] for i in range(7)] == list(range(7))


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
def test_families_of_names_are_complete(lang):
    counts = {"months": 12, "weekdays": 7, "seasons": 4, "days": 31, "tens": 10}
    for kind, count in counts.items():
        assert {len(family.forms) for family in load_calendar(lang).names[kind].families} == {count}


def test_a_hostile_text_is_parsed_in_linear_time():
    assert load_grammar("es").parse("1/" * 99 + "w") is None
