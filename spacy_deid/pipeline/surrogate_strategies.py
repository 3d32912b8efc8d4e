"""The strategies of the style "surrogate" by their registered names, for configs.

    [components.deid_surrogate.style]
    @misc = "spacy_deid.surrogate_style.v1"

    [components.deid_surrogate.style.labels.PATIENT]
    @misc = "spacy_deid.markov_strategy.v1"
    p = 0.1

A strategy of one's own is a registered function that makes a `surrogates.strategies.Strategy`: it sees all mentions of
a label in a note and says for each which variant of a surrogate is to be made, or what is written.
"""

from functools import partial
from typing import Any

from spacy.util import registry

from ..surrogates.calendar import DateRules
from ..surrogates.strategies import (
    Strategy,
    check_probability,
    consistent,
    generalize,
    keep,
    markov,
    randomized,
    tag,
)
from ..surrogates.style import SurrogateStyle

__all__ = [
    "make_consistent_strategy",
    "make_date_rules",
    "make_generalize_strategy",
    "make_keep_strategy",
    "make_markov_strategy",
    "make_random_strategy",
    "make_surrogate_style",
    "make_tag_strategy",
]


@registry.misc("spacy_deid.surrogate_style.v1")
def make_surrogate_style(
    default: Strategy | None = None, labels: dict[str, Any] | None = None, dates: DateRules | None = None
) -> SurrogateStyle:
    """Make the style "surrogate".

    default (Optional[Strategy]): strategy of the labels that are not listed; None for `consistent`.
    labels (Optional[dict]): canonical label → strategy. Of the type Any, because what is registered is checked
        before it is made.
    dates (Optional[DateRules]): what is done with dates and ages; None for a shift of at most three years.
    RAISES: ConfigError (D692) for an unknown label.
    """
    return SurrogateStyle(default or consistent, labels or {}, dates)


@registry.misc("spacy_deid.date_rules.v1")
def make_date_rules(
    style: str = "shift", span: int = 1095, past: bool = True, keep_weekday: bool = False, season: int | None = None
) -> DateRules:
    """Make rules of dates and ages.

    style (str): "shift" moves all dates of a patient by the same number of days; "year" leaves their year alone;
        "safe_harbor" as well, and leaves no weekday or season either.
    span (int): the offset is at most so many days.
    past (bool): the offset is to the past, so that no note is dated after today; False: to the past or the future.
    keep_weekday (bool): Mondays stay Mondays.
    season (Optional[int]): the offset is at most so many days away from whole years, so that the season stays.
    RAISES: ConfigError for an unknown style (D660), or if no offset fits (D661).
    """
    return DateRules(style=style, span=span, past=past, keep_weekday=keep_weekday, season=season)


@registry.misc("spacy_deid.consistent_strategy.v1")
def make_consistent_strategy() -> Strategy:
    """Make the strategy `consistent`."""
    return consistent


@registry.misc("spacy_deid.random_strategy.v1")
def make_random_strategy() -> Strategy:
    """Make the strategy `randomized`."""
    return randomized


@registry.misc("spacy_deid.markov_strategy.v1")
def make_markov_strategy(p: float) -> Strategy:
    """Make the strategy `markov`.

    p (float): probability that a surrogate changes from one mention of an entity to the next.
    RAISES: ConfigError (D690) for a number that is no probability.
    """
    return partial(markov, p=check_probability(p))


@registry.misc("spacy_deid.keep_strategy.v1")
def make_keep_strategy() -> Strategy:
    """Make the strategy `keep`."""
    return keep


@registry.misc("spacy_deid.tag_strategy.v1")
def make_tag_strategy() -> Strategy:
    """Make the strategy `tag`."""
    return tag


@registry.misc("spacy_deid.generalize_strategy.v1")
def make_generalize_strategy() -> Strategy:
    """Make the strategy `generalize`."""
    return generalize
