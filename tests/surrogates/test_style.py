"""The style "surrogate": a strategy for each label, replacement of a note, date rules."""

from datetime import date, datetime
from functools import partial

import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.labels import LABELS
from spacy_deid.surrogates.calendar.rules import DateRules
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention, find_mentions
from spacy_deid.surrogates.strategies import FALLBACK, Replacement, generalize, keep, markov, tag
from spacy_deid.surrogates.style import SurrogateStyle, allow_all, replace_mentions

KEY = ProjectKey(bytes(range(32))).patient("17")
TEXT = "Nombre: Ana Ruiz Gil. Vive en Soria. Sra. Ruiz: 93 años."


def test_labels_without_a_strategy_of_their_own_get_the_default():
    mentions = find_mentions(TEXT, [at("Ana Ruiz Gil", "PATIENT"), at("Soria", "CITY")])
    made = SurrogateStyle(tag, {"CITY": keep}).replace(mentions, KEY, "es", allow_all)
    assert made == [Replacement("[PATIENT]", "tag"), Replacement("Soria", "keep")]
    assert SurrogateStyle().replace(mentions, KEY, "es", allow_all) == replace_mentions(mentions, KEY, "es", {})


def test_labels_whose_values_may_be_kept_are_known():
    style = SurrogateStyle(labels={"CITY": keep, "AGE": generalize, "SEX": tag})
    assert [label for label in LABELS if style.releases(label)] == ["AGE", "CITY"]


def test_an_unknown_label_is_refused():
    with pytest.raises(ConfigError, match="unknown label 'TOWN'"):
        SurrogateStyle(labels={"TOWN": keep})


@pytest.mark.parametrize("given", [date(2024, 5, 3), "2024-05-03", "2024-05-03T10:00:00", datetime(2024, 5, 3, 10)])
def test_the_date_of_the_note_is_the_reference_of_its_dates(given):
    rules = SurrogateStyle(dates=DateRules(keep_weekday=True)).rules_of(given)
    assert (rules.reference.year, rules.reference.month, rules.reference.day) == (2024, 5, 3)
    assert rules.keep_weekday


@pytest.mark.parametrize("given", [None, "", "3.5.2024", 20240503])
def test_an_invalid_note_date_is_ignored(given):
    dates = DateRules(span=30)
    assert SurrogateStyle(dates=dates).rules_of(given) == dates
    assert SurrogateStyle().rules_of(given) is None


def at(surface, label, text=TEXT):
    return (text.index(surface), text.index(surface) + len(surface), label)


def test_each_label_has_its_strategy():
    mentions = find_mentions(TEXT, [at("Ana Ruiz Gil", "PATIENT"), at("Soria", "CITY"), at("93 años", "AGE")])
    strategies = {"PATIENT": tag, "CITY": keep, "AGE": generalize}
    assert replace_mentions(mentions, KEY, "es", strategies) == [
        Replacement("[PATIENT]", "tag"),
        Replacement("Soria", "keep"),
        Replacement("90+", "generalize"),
    ]


def test_a_mention_without_a_surrogate_gets_a_tag():
    mentions = [Mention("huella 4", "BIOMETRIC"), Mention("Ana", "FOOD")]
    assert replace_mentions(mentions, KEY, "es", {}) == [
        Replacement("[BIOMETRIC]", FALLBACK),
        Replacement("[FOOD]", FALLBACK),
    ]
    strategies = {"BIOMETRIC": partial(markov, p=0.5)}
    assert replace_mentions(mentions[:1], KEY, "es", strategies)[0].action == FALLBACK


def test_mentions_that_must_be_replaced_are_neither_kept_nor_generalized():
    mentions = [Mention("huella", "BIOMETRIC"), Mention("iris", "BIOMETRIC")]
    made = replace_mentions(mentions, KEY, "es", {"BIOMETRIC": keep}, must_replace={1})
    assert [replacement.action for replacement in made] == ["keep", FALLBACK]


def test_a_note_without_mentions_has_no_replacements():
    assert replace_mentions([], KEY, "es", {}) == []


def test_words_labelled_as_a_number_are_read_as_a_description():
    texts = ["boliviana", "Lactante", "raza blanca", "4471906"]
    made = replace_mentions([Mention(text, "MRN") for text in texts], KEY, "es", {})
    assert made[0].action == "replace"
    assert made[0].text.endswith("a")
    assert made[1] == Replacement("Lactante", "keep")
    assert made[2].action == FALLBACK
    assert made[3].text.isdecimal()


def test_a_description_that_must_be_replaced_is_not_kept():
    mentions = [Mention("lactante", "OTHER"), Mention("España", "COUNTRY")]
    assert {made.action for made in replace_mentions(mentions, KEY, "es", {})} == {"keep"}
    assert {made.action for made in replace_mentions(mentions, KEY, "es", {}, must_replace={0, 1})} == {FALLBACK}
