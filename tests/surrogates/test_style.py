"""The style "surrogate": a strategy for each label, rules of dates for each note."""

from datetime import date, datetime

import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.labels import LABELS
from spacy_deid.surrogates.calendar import DateRules
from spacy_deid.surrogates.strategies import consistent, generalize, keep, tag
from spacy_deid.surrogates.style import SurrogateStyle


def test_each_label_has_a_strategy():
    strategies = SurrogateStyle(tag, {"CITY": keep}).strategies
    assert strategies.keys() == LABELS.keys()
    assert (strategies["CITY"], strategies["PATIENT"]) == (keep, tag)
    assert set(SurrogateStyle().strategies.values()) == {consistent}


def test_labels_whose_values_may_stay_are_known():
    style = SurrogateStyle(labels={"CITY": keep, "AGE": generalize, "SEX": tag})
    assert [label for label in LABELS if style.releases(label)] == ["AGE", "CITY"]


def test_an_unknown_label_is_refused():
    with pytest.raises(ConfigError, match="unknown label 'TOWN'"):
        SurrogateStyle(labels={"TOWN": keep})


@pytest.mark.parametrize("given", [date(2024, 5, 3), "2024-05-03", "2024-05-03T10:00:00", datetime(2024, 5, 3, 10)])
def test_the_date_of_a_note_is_what_its_dates_refer_to(given):
    rules = SurrogateStyle(dates=DateRules(keep_weekday=True)).rules_of(given)
    assert (rules.reference.year, rules.reference.month, rules.reference.day) == (2024, 5, 3)
    assert rules.keep_weekday


@pytest.mark.parametrize("given", [None, "", "3.5.2024", 20240503])
def test_what_is_no_date_is_left_aside(given):
    dates = DateRules(span=30)
    assert SurrogateStyle(dates=dates).rules_of(given) == dates
    assert SurrogateStyle().rules_of(given) is None
