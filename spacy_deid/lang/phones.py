"""Types that describe the telephone numbers of a country, so that surrogates can be chosen that nobody has.

A numbering plan maps a national number to a range of unassigned numbers of the same type (mobile, landline, …). The
plans of a country are in ``lang/XX/phones.py``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class NumberRange(NamedTuple):
    """A range of telephone numbers that are assigned to nobody: one of the prefixes, followed by any digits.

    prefixes (Sequence[str]): the prefixes, of which each is the first digits of some of the numbers.
    digits (int): number of digits after the prefix.
    """

    prefixes: Sequence[str]
    digits: int


class NumberingPlan(NamedTuple):
    """The numbering plan of a country: which of its telephone numbers are unassigned and can be surrogates.

    unassigned (Callable[[str], Optional[NumberRange]]): national number → unassigned numbers of the same type; None
        if the number does not follow the plan.
    trunk_prefix (str): first digit of a national number that is omitted after the country code ("0"), "" if there is
        none. National numbers are passed to `unassigned` with it.
    """

    unassigned: Callable[[str], NumberRange | None]
    trunk_prefix: str = ""


def _unknown_country(number: str) -> str | None:
    return None


@dataclass(frozen=True, kw_only=True)
class PhoneConventions:
    """The telephone numbers of the countries of a language.

    plans (Mapping[str, NumberingPlan]): telephone country code ("34") → numbering plan. It is used in notes of any
        language.
    home_country (Callable[[str], Optional[str]]): digits of a number without a country code, in a note of this
        language → telephone country code of the number; None if unknown.
    other_countries (Sequence[str]): country codes of further countries where the language is spoken. A surrogate of a
        number without a country code must not be valid in them either.
    extension_words (Sequence[str]): regular expressions of words that introduce an extension ("ext"). They are used
        in notes of any language.
    """

    plans: Mapping[str, NumberingPlan] = field(default_factory=dict)
    home_country: Callable[[str], str | None] = _unknown_country
    other_countries: Sequence[str] = ()
    extension_words: Sequence[str] = ()
