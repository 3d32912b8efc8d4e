"""Which replacer makes the surrogates of which label. Each is pure and sees all mentions of its labels at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ..errors import ConfigError
from .calendar import LABELS as DATES
from .calendar import DateRules, replace_dates
from .calendar.grammar import load_calendar
from .keys import IdentityKey
from .mention import Mention
from .numbers import LABELS as NUMBERS
from .numbers import replace_ids
from .people import replace_persons
from .people.replace import ADDRESSES, PERSONS
from .places import LABELS as PLACES
from .places import replace_places
from .sex import replace_sex
from .strategies import Suggest, nothing

__all__ = ["REPLACERS", "Replacer", "Request", "allow_all", "replacer_of"]


@dataclass(frozen=True, slots=True)
class Request:
    """What replacers are asked with.

    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    forbidden (Callable[[str], bool]): whether a value may not be a surrogate.
    date_rules (Optional[DateRules]): what is done with dates and ages.
    facts (Mapping[str, str]): what is known of the patient beside the note: "name", "sex".
    suggest (Suggest): names and towns that are taken before others.
    """

    key: IdentityKey
    lang: str
    forbidden: Callable[[str], bool]
    date_rules: DateRules | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    suggest: Suggest = nothing


# For each mention a surrogate, None where none can be made safely.
Replacer = Callable[[Sequence[Mention], Request], Sequence[str | None]]


def allow_all(value: str) -> bool:
    """Forbid nothing."""
    return False


def _persons(mentions: Sequence[Mention], request: Request) -> list[str | None]:
    return replace_persons(mentions, request.key, request.lang, request.forbidden, request.facts, request.suggest)


def _dates(mentions: Sequence[Mention], request: Request) -> list[str | None]:
    try:
        load_calendar(request.lang)
    except ConfigError:  # a language without words of dates: none can be read
        return [None] * len(mentions)
    return replace_dates(mentions, request.key, request.lang, request.date_rules)


def _numbers(mentions: Sequence[Mention], request: Request) -> list[str | None]:
    return replace_ids(mentions, request.key, request.lang, request.forbidden, request.date_rules)


def _places(mentions: Sequence[Mention], request: Request) -> list[str | None]:
    return replace_places(mentions, request.key, request.lang, request.forbidden, request.suggest)


def _sex(mentions: Sequence[Mention], request: Request) -> list[str | None]:
    return replace_sex(mentions, request.lang)


REPLACERS: Mapping[Replacer, frozenset[str]] = MappingProxyType(
    {
        _persons: frozenset(PERSONS) | ADDRESSES,
        _dates: DATES,
        _numbers: NUMBERS,
        _places: PLACES,
        _sex: frozenset({"SEX"}),
    }
)


_BY_LABEL = {label: replacer for replacer, labels in REPLACERS.items() for label in labels}


def replacer_of(label: str) -> Replacer | None:
    """The replacer of a label, None if there is none."""
    return _BY_LABEL.get(label)
