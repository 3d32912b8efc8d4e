"""Dates and ages of a whole note: one secret offset a patient, the rules, and what tells an age over 89."""

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.date_reader import moved_together
from spacy_deid.errors import ConfigError
from spacy_deid.surrogates.calendar import replace_dates
from spacy_deid.surrogates.calendar.rules import DateRules, Shift, offsets
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention, find_mentions
from spacy_deid.synth.corpus import make_corpus

PROJECT = ProjectKey(bytes(range(32)))
KEY = PROJECT.patient("patient 1")
NOTE = date(2014, 6, 15)
KEYS = st.integers(0, 10_000).map(lambda n: PROJECT.patient(str(n)))
DAYS = st.dates(date(1940, 1, 1), date(2025, 12, 31))


def replace(*texts, lang="es", label="DATE", key=KEY, before="", after="", variant=0, **rules):
    mentions = [Mention(text, label, before, after, variant) for text in texts]
    return replace_dates(mentions, key, lang, DateRules(**rules))


def birth(day, *others, **rules):
    """The surrogate of a date of birth in ISO format, and those of other dates."""
    mentions = [Mention(day, "DATE", "Fecha de nacimiento: ", ""), *(Mention(other, "DATE") for other in others)]
    return replace_dates(mentions, KEY, "es", DateRules(**rules))


def years_between(first, second):
    return second.year - first.year - ((second.month, second.day) < (first.month, first.day))


@given(KEYS, st.lists(DAYS, min_size=2, max_size=6))
@settings(deadline=None, max_examples=100)
def test_all_intervals_of_a_patient_are_kept(key, days):
    moved = [date.fromisoformat(text) for text in replace(*[d.isoformat() for d in days], key=key)]
    assert len({after - before for before, after in zip(days, moved, strict=True)}) == 1


@given(KEYS, DAYS, st.sampled_from([{}, {"reference": NOTE}, {"keep_weekday": False}, {"season": 20}]))
@settings(deadline=None, max_examples=100)
def test_no_date_moves_to_the_future_with_or_without_a_known_note_date(key, day, rules):
    moved = date.fromisoformat(replace(day.isoformat(), key=key, **rules)[0])
    assert moved < day


@given(KEYS)
@settings(deadline=None, max_examples=60)
def test_dates_without_a_day_move_to_the_past(key):
    month, year, decade = replace("marzo de 2014", "2014", "años 1980", key=key)
    assert int(month[-4:]) <= 2014
    assert month != "marzo de 2014"
    assert int(year) < 2014
    assert int(decade[-4:]) < 1980


def test_dates_may_move_to_the_future_if_the_rules_say_so():
    drawn = {Shift.draw(PROJECT.patient(str(n)), DateRules(past=False)).days > 0 for n in range(40)}
    assert drawn == {False, True}


@given(KEYS, DAYS, DAYS)
@settings(deadline=None, max_examples=50)
def test_two_notes_of_a_patient_move_alike(key, first, second):
    apart = [date.fromisoformat(replace(d.isoformat(), key=key)[0]) for d in (first, second)]
    assert apart[1] - apart[0] == second - first


def test_the_same_key_draws_the_same_offset_and_others_draw_others():
    drawn = [Shift.draw(PROJECT.patient(str(n)), DateRules()).days for n in range(40)]
    assert drawn == [Shift.draw(PROJECT.patient(str(n)), DateRules()).days for n in range(40)]
    assert len(set(drawn)) > 30


def test_a_variant_has_an_offset_of_its_own():
    assert replace("12/03/2014") != replace("12/03/2014", variant=7)
    assert replace("12/03/2014", variant=7) == replace("12/03/2014", variant=7)


@given(KEYS, st.integers(1, 2000), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=100)
def test_the_offset_is_never_zero_and_within_its_span(key, span, past, keep):
    if keep and span < 7:
        span = 7
    drawn = Shift.draw(key, DateRules(span=span, past=past, keep_weekday=keep)).days
    assert 0 < abs(drawn) <= span
    assert not past or drawn < 0
    assert (drawn % 7 == 0) == keep


@given(KEYS)
@settings(deadline=None, max_examples=60)
def test_dates_of_every_precision_change(key):
    shift = Shift.draw(key, DateRules(span=20))
    assert shift.months % 12
    assert shift.quarters % 4
    assert shift.years
    assert shift.decades


@given(KEYS, DAYS)
@settings(deadline=None, max_examples=60)
def test_the_season_stays_if_the_rules_say_so(key, day):
    moved = date.fromisoformat(replace(day.isoformat(), key=key, season=10)[0])
    assert (
        min(
            abs((moved.replace(year=2001, day=min(moved.day, 28)) - day.replace(year=y, day=min(day.day, 28))).days)
            for y in (2000, 2001, 2002)
        )
        <= 15
    )
    assert replace("verano", key=key, season=10) == ["verano"]


@given(KEYS, DAYS)
@settings(deadline=None, max_examples=100)
def test_the_weekday_stays(key, day):
    assert replace("lunes", key=key) == ["lunes"]
    assert date.fromisoformat(replace(day.isoformat(), key=key)[0]).weekday() == day.weekday()


@pytest.mark.parametrize(
    ("lang", "text"), [("es", "martes 4 de noviembre de 2014"), ("en", "Tue, Nov 4, 2014"), ("fi", "ti 4.11.2014")]
)
def test_a_weekday_beside_its_date_stays_and_the_date_moves(lang, text):
    made = replace(text, lang=lang)[0]
    assert made != text
    assert made.split()[0] == text.split()[0]


def test_the_weekday_changes_if_the_rules_say_so():
    assert replace("lunes", keep_weekday=False) not in (["lunes"], [None])
    moved = date.fromisoformat(replace("2014-03-12", keep_weekday=False)[0])
    assert moved.weekday() != date(2014, 3, 12).weekday()


@pytest.mark.parametrize(
    ("rules", "number"),
    [({}, 155), ({"keep_weekday": False}, 930), ({"span": 3650}, 517), ({"span": 3650, "season": 30}, 80)],
)
def test_there_are_as_many_offsets_as_the_guide_says_and_all_of_them_are_drawn(rules, number):
    """An attacker who knows a date has to guess among them; the guide has the same table."""
    chosen = DateRules(**rules)
    possible = offsets(chosen.span, chosen.past, chosen.keep_weekday, chosen.season)
    assert len(possible) == len(set(possible)) == number
    drawn = {Shift.draw(PROJECT.patient(str(n)), chosen).days for n in range(2_000)}
    assert drawn <= set(possible)
    assert len(drawn) > 0.85 * number


def test_the_offset_is_never_a_whole_year():
    assert not {365, 366, 730, 731, -365, 0} & set(offsets(1095, False, False, None))


@given(KEYS, st.dates(date(1900, 1, 1), date(1924, 1, 1)))
@settings(deadline=None, max_examples=100)
def test_a_birth_more_than_89_years_ago_shows_an_age_of_90(key, born):
    mentions = [Mention(born.isoformat(), "DATE"), Mention(NOTE.isoformat(), "DATE")]
    day, note = (date.fromisoformat(text) for text in replace_dates(mentions, key, "es"))
    assert years_between(day, note) == 90
    assert years_between(born, NOTE) >= 90


@given(KEYS, st.dates(date(1924, 7, 1), NOTE))
@settings(deadline=None, max_examples=100)
def test_an_age_up_to_89_stays_true(key, born):
    mentions = [Mention(born.isoformat(), "DATE"), Mention(NOTE.isoformat(), "DATE")]
    day, note = (date.fromisoformat(text) for text in replace_dates(mentions, key, "es"))
    assert note - day == NOTE - born
    assert abs(years_between(day, note) - years_between(born, NOTE)) <= 1


@pytest.mark.parametrize("text", ["1918", "marzo de 1918", "05/1918", "verano de 1918", "12 de mayo de 1918"])
def test_a_partial_date_of_a_hundred_years_ago_shows_an_age_of_90(text):
    made, note = replace(text, "2014-06-15")
    year = int("".join(c for c in made if c.isdigit())[-4:])
    assert int(note[:4]) - year in (89, 90, 91)


def test_the_date_of_a_note_is_its_latest_date_that_is_no_birth():
    old, _ = birth("12/03/1918", "15/06/2014")
    assert int(old[-4:]) > 1918
    assert birth("12/03/1950", reference=None)[0] is not None


@pytest.mark.parametrize(
    ("lang", "texts"),
    [
        ("fi", ["7. joulukuuta 2022", "28/2/1969", "5/12"]),
        ("fi", ["2017-10-04", "6/10"]),
        ("fi", ["2016-04-04", "02-17"]),
        ("es", ["25/04/1998", "11/30/2021"]),
        ("es", ["02/11/2021", "nueve días del mes de noviembre"]),
    ],
)
@pytest.mark.parametrize("number", range(8))
def test_a_date_in_another_order_than_the_note_moves_with_its_other_dates(lang, texts, number):
    made = replace(*texts, lang=lang, key=ProjectKey(bytes(range(32))).patient(str(number)))
    flags = list(moved_together(list(zip(texts, made, strict=True)), lang))
    assert flags
    assert all(flags)


def test_a_time_beside_a_date_stays():
    made = replace("07.31 / 18.2.2010", lang="fi")[0]
    assert made.startswith("07.31 / ")
    assert made != "07.31 / 18.2.2010"


def test_a_day_without_a_year_moves_with_the_full_dates_of_the_note():
    full, short = replace("12/03/2014", "15/03")
    there = [date(int(full[6:]), int(part[3:5]), int(part[:2])) for part in (full, short)]
    assert there[1] - there[0] == timedelta(days=3)


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("es", "12/03/2014", "2014"),
        ("es", "12 de marzo de 2014", "2014"),
        ("es", "marzo de 2014", "2014"),
        ("es", "12/03/14", "2014"),
        ("es", "2014", "2014"),
        ("es", "en 2014", "en 2014"),
        ("es", "2010-2014", "2010-2014"),
        ("es", "del 25/12/2013 al 03/01/2014", "2013-2014"),
        ("es", "12 de marzo", None),
        ("es", "marzo", None),
        ("es", "verano de 2013", "2013"),
        ("es", "los años 80", "los años 80"),
        ("es", "12/03/1918", "1924 o antes"),
        ("es", "1918", "1924 o antes"),
        ("es", "12/03/1924", "1924 o antes"),
        ("es", "12/03/1925", "1925"),
        ("es", "ayer", "ayer"),
        ("en", "March 12th, 1910", "1924 or earlier"),
        ("en", "Q1 2014", "2014"),
        ("fi", "maaliskuussa 2014", "2014"),
        ("fi", "12.3.1910", "1924 tai aiemmin"),
    ],
)
@pytest.mark.parametrize("style", ["year", "safe_harbor"])
def test_only_the_year_of_a_date_stays(lang, text, expected, style):
    assert replace(text, lang=lang, style=style, reference=NOTE) == [expected]


def test_safe_harbor_leaves_no_weekday():
    assert replace("lunes", style="year", reference=NOTE) == ["lunes"]
    assert replace("lunes", style="safe_harbor", reference=NOTE) == [None]


def test_no_year_stays_without_a_date_of_the_note():
    assert birth("12/03/1918", style="safe_harbor") == [None]
    assert birth("12/03/1918", style="safe_harbor", year=2014) == ["1924 o antes"]


@pytest.mark.parametrize(
    ("lang", "text", "after", "expected"),
    [
        ("es", "45 años", "", "45 años"),
        ("es", "89 años", "", "89 años"),
        ("es", "90 años", "", "90+ años"),
        ("es", "92 AÑOS", "", "90+ AÑOS"),
        ("es", "92 a", "", "90+ a"),
        ("es", "92", " años", "90+"),
        ("es", "250 años", "", "90+ años"),
        ("es", "noventa y dos años", "", "noventa o más años"),
        ("es", "Noventa y dos\naños", "", "Noventa o más\naños"),
        ("es", "NOVENTA AÑOS", "", "NOVENTA O MÁS AÑOS"),
        ("es", "ciento tres años", "", "noventa o más años"),
        ("es", "treinta y dos años", "", "treinta y dos años"),
        ("es", "95 meses", "", "95 meses"),
        ("es", "95", " meses", "95"),
        ("es", "100 días", "", "100 días"),
        ("es", "1200 meses", "", "1080+ meses"),
        ("es", "entre 85 y 92 años", "", "entre 85 y 90+ años"),
        ("es", "3 a 5 meses", "", "3 a 5 meses"),
        ("es", "1,5 años", "", "1,5 años"),
        ("es", "9 años y 6 meses", "", "9 años y 6 meses"),
        ("es", "recién nacida", "", "recién nacida"),
        ("es", "octogenaria", "", "octogenaria"),
        ("es", "centenaria", "", "nonagenaria"),
        ("es", "Dra. García", "", None),
        ("es", "nacido en 1930", "", None),
        ("es", "", "", None),
        ("en", "58", "-year-old", "58"),
        ("en", "92", "-year-old", "90+"),
        ("en", "92 y/o", "", "90+ y/o"),
        ("en", "ninety-two", "", "ninety-plus"),
        ("en", "Ninety-two-year-old", "", "Ninety-plus-year-old"),
        ("en", "one hundred and two", "", "ninety-plus"),
        ("en", "eighty-nine", "", "eighty-nine"),
        ("en", "mid 90s", "", "nineties or later"),
        ("en", "90+", "", "90+"),
        ("en", "95+", "", "90+"),
        ("en", "80s", "", "80s"),
        ("en", "97", " days old", "97"),
        ("en", "97-day-old", "", "97-day-old"),
        ("en", "newborn", "", "newborn"),
        ("en", "Mr. Smith", "", None),
        ("fi", "58 v", "", "58 v"),
        ("fi", "92", "-vuotias", "90+"),
        ("fi", "92-vuotias", "", "90+-vuotias"),
        ("fi", "yhdeksänkymmentäkaksivuotias", "", "vähintään yhdeksänkymmentävuotias"),
        ("fi", "Yhdeksänkymmentäkaksi vuotta", "", "Vähintään yhdeksänkymmentä vuotta"),
        ("fi", "yhdeksänkymmenenkahden vuoden", "", "vähintään yhdeksänkymmenen vuoden"),
        ("fi", "kahdeksankymmentäyhdeksän", "", "kahdeksankymmentäyhdeksän"),
        ("fi", "kaksikymmentäviisivuotias", "", "kaksikymmentäviisivuotias"),
        ("fi", "95", " kk", "95"),
        ("fi", "Virtanen", "", None),
    ],
)
def test_an_age_over_89_becomes_90_and_more(lang, text, after, expected):
    assert replace(text, lang=lang, label="AGE", after=after) == [expected]


@given(st.integers(0, 400), st.sampled_from(["es", "en", "fi"]))
def test_no_age_over_89_stays(age, lang):
    made = replace(str(age), lang=lang, label="AGE")[0]
    assert made == (str(age) if age < 90 else "90+")


@given(st.text(max_size=40), st.sampled_from(["es", "en", "fi"]))
@settings(deadline=None)
def test_any_age_is_parsed_or_refused(text, lang):
    made = replace(text, lang=lang, label="AGE")[0]
    assert made is None or isinstance(made, str)


@pytest.mark.parametrize(
    "rules", [{"style": "months"}, {"span": 0}, {"span": 100_000}, {"span": 3, "keep_weekday": True}]
)
def test_invalid_rules_are_refused(rules):
    with pytest.raises(ConfigError, match=r"date style|no date offset"):
        DateRules(**rules)


def test_a_language_without_a_calendar_is_refused():
    with pytest.raises(ConfigError, match="no date words for language 'xx'"):
        replace("12/03/2014", lang="xx")


def test_nothing_secret_or_of_the_note_is_shown():
    assert "secret" in repr(Shift.draw(KEY, DateRules()))
    assert str(Shift.draw(KEY, DateRules()).days) not in repr(Shift.draw(KEY, DateRules()))


def test_a_mention_with_another_label_has_no_surrogate():
    assert replace_dates([Mention("12/03/2014", "MRN")], KEY, "es") == [None]


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
def test_dates_and_ages_of_synthetic_notes_have_surrogates(lang):
    made = []
    for note in make_corpus(lang, 40, 11, noise=0.0):
        spans = [(e.start, e.end, e.label) for e in note.entities if e.label in ("DATE", "AGE")]
        made += replace_dates(find_mentions(note.text, spans), KEY, lang)
    assert len(made) > 30
    assert made.count(None) <= 0.01 * len(made)


@given(KEYS)
@settings(deadline=None, max_examples=40)
def test_an_abbreviated_month_stays_abbreviated(key):
    alone = replace("MAY. 14, 2024", lang="en", key=key)[0]
    among = replace("05-MAY-2013", "03-MAR-2014", lang="en", key=key)[0]
    assert len(alone.split(".")[0]) == 3
    assert len(among.split("-")[1]) == 3
