"""Record numbers keep a plausible year, which moves with the patient's dates, and nothing else."""

import re
from datetime import date, timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacy_deid.surrogates.calendar import replace_dates
from spacy_deid.surrogates.calendar.rules import DateRules, Shift
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.numbers import replace_ids
from spacy_deid.surrogates.numbers.identifiers import Layout, identifier_kinds
from spacy_deid.surrogates.numbers.records import LABELS, find_segments, find_year

PROJECT = ProjectKey(bytes(range(32)))
KEY = PROJECT.patient("4711")
YEARS = st.integers(1950, 2039)


def replace(*texts, lang="es", label="MRN", key=KEY, rules=None, forbidden=lambda value: False):
    return replace_ids([Mention(text, label) for text in texts], key, lang, forbidden, rules)


@pytest.mark.parametrize("lang", ["es", "en", "fi", "sv"])
@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("HC-2019/4432", r"HC-YEAR/\d{4}"),
        ("2019/0443", r"YEAR/\d{4}"),
        ("4432/2019", r"\d{4}/YEAR"),
        ("PAD-2019-443", r"[A-Z]{3}-YEAR-\d{3}"),
        ("b2019-4456", r"[a-z]YEAR-\d{4}"),
        ("12-2019-44", r"\d\d-YEAR-\d\d"),
        ("2019 - 44320", r"YEAR - \d{5}"),
        ("٢٠١٩-٤٤٣٢", r"YEAR-\d{4}"),
    ],
)
def test_the_year_of_a_record_number_moves_like_a_date_with_only_a_year(lang, text, form):
    rules = DateRules(reference=date(2020, 3, 1))
    (new,) = replace(text, lang=lang, rules=rules)
    (year,) = replace_dates([Mention("2019", "DATE")], KEY, lang, rules)
    assert year != "2019"
    plain = "".join(str(int(char)) if char.isdecimal() else char for char in new)
    assert re.fullmatch(form.replace("YEAR", year), plain)
    assert not set(re.findall(r"\d{2,}", plain)) & set(re.findall(r"\d{2,}", text))


@pytest.mark.parametrize("label", sorted(LABELS))
def test_the_year_moves_under_each_label_of_records(label):
    (new,) = replace("2008-641", label=label, lang="en")
    assert re.fullmatch(rf"{2008 + Shift.draw(KEY, DateRules()).years}-\d{{3}}", new)


@pytest.mark.parametrize(
    "text",
    ["20194432", "HC2019", "2034 5678 9012", "2034-5678-90", "1949/443", "2040/443", "2019/4", "12019/443", "2019A44"],
)
def test_other_numbers_have_no_year(text):
    assert find_year(text) is None


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("S25-10-04417", r"SYEAR-(0[1-9]|1[0-2])-\d{5}"),
        ("R-118/25", r"R-\d{3}/YEAR"),
        ("MB25-0377", r"[A-Z]{2}YEAR-\d{4}"),
        ("25/6619", r"YEAR/\d{4}"),
        ("SN/25/1164", r"[A-Z]{2}/YEAR/\d{4}"),
        ("5710/S/8846/25", r"\d{4}/[A-Z]/\d{4}/YEAR"),
    ],
)
def test_a_year_of_two_digits_moves_like_one_of_four(text, form):
    (new,) = replace(text)
    year = 25 + Shift.draw(KEY, DateRules()).years
    assert re.fullmatch(form.replace("YEAR", f"{year:02}"), new)


@pytest.mark.parametrize("text", ["AK170509-0212", "V17-0509-3306", "170509-21"])
def test_a_date_in_a_record_number_moves_like_all_dates(text):
    (new,) = replace(text)
    moved = date(2017, 5, 9) + timedelta(Shift.draw(KEY, DateRules()).days)
    assert re.sub(r"\D", "", new)[:6] == f"{moved:%y%m%d}"
    assert new[-2:] != text[-2:]


@pytest.mark.parametrize("text", ["12/44", "4412/58", "12", "AB12", "45-0611"])
def test_other_groups_of_two_digits_are_no_year(text):
    layout = Layout(text)
    assert not find_segments(layout.plain_text, layout.positions, -1, lambda day: day)


def test_a_series_of_numbers_keeps_its_common_letters_and_nothing_else():
    new = replace("SF-0017", "SF-0024", "SF-0031", "KL-0017")
    first, *others = [text.split("-")[0] for text in new]
    assert others[:2] == [first, first]
    assert others[2] != first
    assert not {first, others[2]} & {"SF", "KL"}
    assert len({text.split("-")[1] for text in new[:3]}) == 3


@pytest.mark.parametrize("label", sorted(LABELS))
def test_a_single_letter_before_the_digits_of_a_record_number_is_kept(label):
    assert re.fullmatch(r"B-\d{4}", replace("B-4417", label=label)[0])
    assert len({replace("B-4417", label="INSURANCE_ID", key=PROJECT.patient(str(n)))[0][0] for n in range(9)}) > 2


@pytest.mark.parametrize("label", ["NATIONAL_ID", "SSN", "INSURANCE_ID", "HEALTH_PLAN"])
def test_a_year_that_can_be_one_of_birth_is_not_moved_but_replaced(label):
    made = {replace("1961-4432", label=label, key=PROJECT.patient(str(n)))[0][:4] for n in range(20)}
    assert len(made - {str(year) for year in range(1950, 1961)}) > 10


def test_spellings_of_a_note_have_one_surrogate_in_any_order():
    texts = ["20194432", "HC-2019/4432", "2019-4432", "2019 4432"]
    for order in (texts, texts[::-1]):
        assert len({re.sub(r"\D", "", new) for new in replace(*order)}) == 1
    assert len({re.sub(r"\D", "", replace(text)[0]) for text in texts[1:]}) == 1


def test_record_numbers_of_a_year_stay_different():
    texts = [f"2019/{n}" for n in range(4000, 4300)]
    new = replace(*texts)
    assert len(set(new)) == len(texts)
    assert not set(new) & set(texts)


def test_a_forbidden_record_number_is_never_a_surrogate():
    first = replace("2019/44")[0]
    assert replace("2019/44", forbidden=lambda value: value == first)[0] not in (first, "2019/44", None)
    assert replace("2019/44", forbidden=lambda value: True) == [None]


@settings(max_examples=150, deadline=None)
@given(
    YEARS,
    st.from_regex(r"(HC|NHC|EX|B|HUCA|)[-/ ]?", fullmatch=True),
    st.from_regex(r"[-/._][0-9]{2,8}", fullmatch=True),
    st.text(min_size=1, max_size=4, alphabet="0123456789"),
    st.booleans(),
)
def test_the_original_year_and_number_never_stay(year, prefix, rest, patient, past):
    key, rules = PROJECT.patient(patient), DateRules(past=past)
    text = f"{prefix}{year}{rest}"
    assume(find_year(text) is not None)
    assume(not any(kind.fits(Layout(text).code, text, "MRN") for kind in identifier_kinds("xx")))
    (new,) = replace(text, lang="xx", key=key, rules=rules)
    assert new is not None
    moved, number = re.search(r"(\d{4})[-/._](\d+)$", new).groups()
    assert int(moved) == year + Shift.draw(key, rules).years != year
    assert len(number) == len(rest) - 1
    assert number != rest[1:]
    assert new == replace(text, lang="xx", key=key, rules=rules)[0]
    assert len(set(replace(text, new, lang="xx", key=key, rules=rules)) | {text, new}) == 4


@settings(max_examples=300)
@given(st.text(alphabet="AB0129/-. \n", max_size=16))
def test_a_year_that_is_found_is_a_whole_group_of_four_digits(text):
    at = find_year(text)
    if at is not None:
        assert 1950 <= int(text[at : at + 4]) <= 2039
        assert not text[at - 1 : at].isdigit()
        assert not text[at + 4 : at + 5].isdigit()
