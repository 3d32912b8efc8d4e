"""The style "surrogate": replaces the mentions of a note by realistic values, with a strategy for each label.

Strategies choose variants, replacers make surrogates, and each surrogate is checked. A replacer is pure and sees all
mentions of its labels at once.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from dataclasses import replace as change
from datetime import date, datetime
from functools import partial
from types import MappingProxyType
from typing import Any

from ..errors import ConfigError, Errors
from ..labels import LABELS
from ..lang import get_language
from ..lang.text import fold
from .calendar import LABELS as DATES
from .calendar import replace_dates
from .calendar.shifting import DateRules
from .keys import IdentityKey
from .mention import Mention, number_entities
from .numbers import LABELS as NUMBERS
from .numbers import replace_ids
from .people import ADDRESSES, PERSONS, replace_persons
from .places import LABELS as PLACES
from .places import replace_places
from .places.descriptions import replace_sex
from .strategies import (
    FALLBACK,
    RELEASING,
    Choice,
    Replacement,
    Setting,
    Strategy,
    Suggest,
    Suggested,
    consistent,
    nothing,
    tag_of,
)

LASTING = frozenset({"AGE", "DATE", "RELATIVE", "COUNTRY", "TERRITORY", "LOCATION_OTHER"})
"""Labels whose replacers return some values unchanged because these identify nobody, such as ages up to 89."""

_WORD_BEFORE = re.compile(r"(?<![\w.'’-])([^\W\d_]+)\s+\Z")


_ROOMS: Mapping[str, str] = MappingProxyType(
    {
        label: room
        for room, labels in (
            ("people", frozenset(PERSONS) | ADDRESSES),
            ("calendar", DATES),
            ("numbers", NUMBERS),
            ("places", PLACES),
            ("sex", frozenset({"SEX"})),
        )
        for label in labels
    }
)
"""Canonical label → what replaces it. Mentions with another label get a tag."""


@dataclass(frozen=True, slots=True)
class SurrogateStyle:
    """The strategies of all labels that the policy replaces.

    default (Strategy): strategy of the labels that are not listed.
    labels (Mapping[str, Strategy]): canonical label → strategy.
    dates (Optional[DateRules]): rules for dates and ages; None for a shift.
    RAISES: ConfigError (D692) for an unknown label.
    """

    default: Strategy = consistent
    labels: Mapping[str, Strategy] = field(default_factory=dict)
    dates: DateRules | None = None

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.labels) - set(LABELS)):
            raise ConfigError(Errors.D692.format(label=unknown[0], known=", ".join(LABELS)))

    def releases(self, label: str) -> bool:
        """Whether the strategy of a label may release an original value or a part of it."""
        return self.labels.get(label, self.default) in RELEASING

    def replace(
        self,
        mentions: Sequence[Mention],
        key: IdentityKey,
        lang: str,
        forbidden: Callable[[str], bool],
        *,
        ehr: Mapping[str, Any] = MappingProxyType({}),
        year: int = 0,
        must_replace: AbstractSet[int] = frozenset(),
    ) -> list[Replacement]:
        """Replace the mentions of a note. For the other arguments see `replace_mentions`.

        ehr (Mapping[str, Any]): what is known besides the note: "note_date", and the patient's "name" and "sex".
        RETURNS (list[Replacement]): one for each mention.
        """
        rules = self.rules_of(ehr.get("note_date"))
        facts = {name: str(ehr[name]) for name in ("name", "sex") if ehr.get(name)}
        strategies = {label: self.labels.get(label, self.default) for label in LABELS}
        return replace_mentions(
            mentions, key, lang, strategies, forbidden, rules, facts=facts, year=year, must_replace=must_replace
        )

    def rules_of(self, note_date: Any) -> DateRules | None:
        """Return the date rules of one note.

        note_date (Any): the date of the note: a date, a datetime, or a string that begins with an ISO 8601 date. Other
            values are ignored.
        RETURNS (Optional[DateRules]): the rules with the date as their reference.
        """
        if isinstance(note_date, datetime):
            note_date = note_date.date()
        if isinstance(note_date, str):
            try:
                note_date = date.fromisoformat(note_date[:10])
            except ValueError:
                return self.dates
        return change(self.dates or DateRules(), reference=note_date) if isinstance(note_date, date) else self.dates


def allow_all(value: str) -> bool:
    """Forbid nothing: the default of `replace_mentions`."""
    return False


def replace_mentions(
    mentions: Sequence[Mention],
    key: IdentityKey,
    lang: str,
    strategies: Mapping[str, Strategy],
    forbidden: Callable[[str], bool] = allow_all,
    date_rules: DateRules | None = None,
    *,
    facts: Mapping[str, str] = MappingProxyType({}),
    year: int = 0,
    must_replace: AbstractSet[int] = frozenset(),
) -> list[Replacement]:
    """Replace the mentions of a note.

    mentions (Sequence[Mention]): in the order of the text.
    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    strategies (Mapping[str, Strategy]): canonical label → strategy; `consistent` for a missing label.
    forbidden (Callable[[str], bool]): whether a value must not be a surrogate; see `forbidden.Forbidden`.
    date_rules (Optional[DateRules]): rules for dates and ages; None for a shift.
    facts (Mapping[str, str]): what is known about the patient besides the note: "name", "sex".
    year (int): the year that ages are counted from when dates are generalized.
    must_replace (Set[int]): indices of mentions that are neither kept nor generalized, whatever their strategy.
    RETURNS (list[Replacement]): one for each mention.
    """
    choices = _choose(mentions, key, lang, strategies, year)
    for i in must_replace:
        chosen = choices[i]
        if isinstance(chosen, Replacement) and chosen.action in ("keep", "generalize"):
            choices[i] = 0
    sources = list(dict.fromkeys(chosen.suggest for chosen in choices if isinstance(chosen, Suggested)))
    suggest: Suggest = partial(_suggest_first, sources) if sources else nothing
    # Each room gets all its labels at once: "J. Smith" and "john.smith@…" are one person.
    rooms: dict[str, dict[int, Mention]] = defaultdict(dict)
    for i, (mention, chosen) in enumerate(zip(mentions, choices, strict=True)):
        if not isinstance(chosen, Replacement):
            label = "OTHER" if _is_description(mention) else mention.label
            if label in _ROOMS:
                variant = 0 if isinstance(chosen, Suggested) else chosen
                rooms[_ROOMS[label]][i] = mention._replace(label=label, variant=variant)
    made: dict[int, str | None] = {}
    for room, places in rooms.items():
        group, values = list(places.values()), list[str | None]()
        if room == "people":
            values = replace_persons(group, key, lang, forbidden, facts, suggest)
        elif room == "calendar":
            # no date can be read in a language without a calendar
            known = get_language(lang).has("calendar.toml")
            values = replace_dates(group, key, lang, date_rules) if known else [None] * len(group)
        elif room == "numbers":
            values = replace_ids(group, key, lang, forbidden, date_rules)
        elif room == "places":
            values = replace_places(group, key, lang, forbidden, suggest)
        else:
            values = replace_sex(group, lang)
        made.update(zip(places, values, strict=True))
    return [
        chosen if isinstance(chosen, Replacement) else _check(mention, made.get(i), i in must_replace)
        for i, (mention, chosen) in enumerate(zip(mentions, choices, strict=True))
    ]


def agree(mention: Mention, surrogate: str, lang: str) -> tuple[int, int, str] | None:
    """Change the word before a value that depends on its first sound: "a nurse" to "an Irish nurse".

    mention (Mention): the value and the text before it.
    surrogate (str): the text that replaces it.
    lang (str): ISO 639-1 code.
    RETURNS (Optional[tuple[int, int, str]]): how many characters before the value the word starts and ends, and the
        new word, in the case of the old one; None if the word stays. With an empty surrogate, the blanks before the
        value are removed.
    """
    if not surrogate:
        blank = len(mention.before) - len(mention.before.rstrip(" "))
        return (blank, 0, "") if blank else None
    found = _WORD_BEFORE.search(mention.before)
    form_before = get_language(lang).agreeing_words.get(found[1].lower()) if found else None
    if found is None or form_before is None:
        return None
    word, length = found[1], len(mention.before)
    other = form_before(surrogate)
    if other == form_before(mention.text) or other == word.lower():
        return None
    if word.isupper() and (len(word) > 1 or mention.text.isupper()):
        other = other.upper()
    elif word[0].isupper():
        other = other.capitalize()
    return length - found.start(1), length - found.end(1), other


def _choose(
    mentions: Sequence[Mention], key: IdentityKey, lang: str, strategies: Mapping[str, Strategy], year: int
) -> list[Choice]:
    """Call the strategy of each label. `consistent` is skipped: most notes have no other one."""
    out: list[Choice] = [0] * len(mentions)
    by_label: dict[str, list[int]] = defaultdict(list)
    for i, mention in enumerate(mentions):
        if strategies.get(mention.label, consistent) is not consistent:
            by_label[mention.label].append(i)
    if not by_label:
        return out
    entities, digest = number_entities(mentions), hashlib.sha256()  # used in draws only and never released
    for part in (part for mention in mentions for part in mention[:4]):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    for label, places in by_label.items():
        setting = Setting(key, lang, digest.hexdigest(), [entities[i] for i in places], year)
        chosen = strategies[label]([mentions[i] for i in places], setting)
        for i, choice in zip(places, chosen, strict=True):
            out[i] = choice
    return out


def _suggest_first(
    sources: Sequence[Suggest], name_type: str, lemma: str, pool: Sequence[str], allowed: Callable[[str], bool]
) -> str | None:
    """Return the first suggestion of several sources."""
    return next((name for suggest in sources if (name := suggest(name_type, lemma, pool, allowed))), None)


def _check(mention: Mention, made: str | None, must_replace: bool) -> Replacement:
    """Check a surrogate: use the tag if there is none, or if it is equal to the original.

    Some replacers return values unchanged on purpose, because they identify nobody and remain true: ages up to 89,
    relative days, kinship words, stages of life, and the country of the language's towns.
    """
    if made == mention.text and (mention.label in LASTING or _is_description(mention)) and not must_replace:
        return Replacement(made, "keep")
    if made is None or fold(made) == fold(mention.text):
        return Replacement(tag_of(mention), FALLBACK)
    return Replacement(made, "generalize" if mention.label == "SEX" else "replace")


def _is_description(mention: Mention) -> bool:
    """Whether a mention that is labelled as a number, or as something else, consists of words: "lactante"."""
    return mention.label in ("MRN", "OTHER") and not any(char.isdigit() for char in mention.text)
