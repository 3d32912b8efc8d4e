"""Numbering plans of telephone numbers, from which surrogates are drawn that no subscriber has."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class NumberRange(NamedTuple):
    """Numbers that are not assigned to anybody.

    prefixes (Sequence[str]): first digits.
    digits (int): number of digits behind a prefix.
    """

    prefixes: Sequence[str]
    digits: int


class NumberingPlan(NamedTuple):
    """The numbering plan of a country.

    unassigned (Callable[[str], Optional[NumberRange]]): national number → unassigned numbers of its type; None for a
        number that is not of the plan.
    trunk_prefix (str): digits before a national number that are part of it here and are not dialled behind the country
        code: "0", or "".
    """

    unassigned: Callable[[str], NumberRange | None]
    trunk_prefix: str = ""


def _unknown_country(number: str) -> str | None:
    return None


@dataclass(frozen=True, kw_only=True)
class PhoneConventions:
    """The telephone numbers of a language.

    plans (Mapping[str, NumberingPlan]): country code → plan, for notes of any language.
    home_country (Callable[[str], Optional[str]]): digits of a number without a country code → the country code that is
        meant; None if unknown.
    extension_words (Sequence[str]): regular expressions of words before an extension, in notes of any language.
    """

    plans: Mapping[str, NumberingPlan] = field(default_factory=dict)
    home_country: Callable[[str], str | None] = _unknown_country
    extension_words: Sequence[str] = ()
