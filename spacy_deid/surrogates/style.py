"""The style "surrogate": replaces the mentions of a note by realistic values (surrogates).

First the strategy of each label decides which mentions share a surrogate, and which are kept, tagged or generalized.
Then one function per group of labels (people, dates, numbers, places, sex) makes the surrogates. It receives all
mentions of its labels at once and has no side effects. Finally each surrogate is checked; see `_check`.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from dataclasses import replace as change
from datetime import date, datetime
from functools import cache, partial
from types import MappingProxyType
from typing import Any

from ..errors import ConfigError, Errors
from ..labels import LABELS
from ..lang import get_language
from ..lang.text import fold
from .calendar import LABELS as DATES
from .calendar import replace_dates
from .calendar.rules import DateRules
from .damaged import CODES, read_damaged, read_spelled, refuse_read_words
from .keys import IdentityKey
from .mention import Mention, number_entities
from .numbers import LABELS as NUMBERS
from .numbers import PHONES, replace_ids
from .numbers.dictated import read_dictated
from .people import ADDRESSES, PERSONS, replace_persons
from .places import LABELS as PLACES
from .places import replace_places
from .places.country import find_country
from .places.descriptions import replace_sex
from .places.gazetteer import load_gazetteer
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
from .wear import lacks_accents, wear, wear_number, without_accents

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
"""Canonical label → group of labels that one function replaces. Mentions with other labels are replaced by tags."""

_DICTATED = NUMBERS | {"ZIP", "ROOM"}  # labels of numbers that may be written in words


@dataclass(frozen=True, slots=True)
class SurrogateStyle:
    """Settings of the style "surrogate": the strategy of each label, and how dates are replaced.

    default (Strategy): strategy of the labels that are not in `labels`.
    labels (Mapping[str, Strategy]): canonical label → strategy.
    dates (Optional[DateRules]): how dates and ages are replaced; None for the default rules, which shift dates.
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
        """Replace the mentions of a note with the strategies of this style.

        The arguments are those of `replace_mentions`, except:

        ehr (Mapping[str, Any]): fields of the health record: "note_date", the patient's "name" and "sex", and
            "known_names", names with their label (PATIENT or RELATIVE). All are optional.
        RETURNS (list[Replacement]): one replacement per mention, in the same order.
        """
        rules = self.rules_of(ehr.get("note_date"))
        facts = {name: str(ehr[name]) for name in ("name", "sex") if ehr.get(name)}
        strategies = {label: self.labels.get(label, self.default) for label in LABELS}
        return replace_mentions(
            mentions,
            key,
            lang,
            strategies,
            forbidden,
            rules,
            facts=facts,
            known=ehr.get("known_names", ()),
            year=year,
            must_replace=must_replace,
        )

    def rules_of(self, note_date: Any) -> DateRules | None:
        """Return the date rules for one note: those of the style, with the date of the note as their reference.

        note_date (Any): the date of the note: a date, a datetime, or a string that begins with an ISO 8601 date. Other
            values are ignored.
        RETURNS (Optional[DateRules]): the rules; those of the style, unchanged, if there is no valid date.
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
    """Return False: every value can be a surrogate. This is the default for `forbidden` in `replace_mentions`."""
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
    known: Sequence[tuple[str, str]] = (),
    year: int = 0,
    must_replace: AbstractSet[int] = frozenset(),
) -> list[Replacement]:
    """Replace the mentions of a note by surrogates, or as their strategy says.

    A mention for which no surrogate can be made is replaced by its tag, with the action `FALLBACK`.

    mentions (Sequence[Mention]): all mentions of the note, in the order of the text.
    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    strategies (Mapping[str, Strategy]): canonical label → strategy. Labels without one use `consistent`.
    forbidden (Callable[[str], bool]): returns True for a value that must not be a surrogate; see
        `forbidden.Forbidden`.
    date_rules (Optional[DateRules]): how dates and ages are replaced; None for the default rules, which shift dates.
    facts (Mapping[str, str]): "name" and "sex" of the patient from the health record, as far as they are known.
    known (Sequence[tuple[str, str]]): names of the patient and of relatives that need not occur in the note, each with
        its label. Mentions of a part of them get the surrogate of the whole.
    year (int): the year in which the age of a patient is computed when the strategy `generalize` reduces a date to
        its year; 0 if it is unknown.
    must_replace (Set[int]): indices of mentions that must not be kept or generalized, whatever their strategy.
    RETURNS (list[Replacement]): one replacement per mention, in the same order.
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
    read = read_damaged(mentions, lang)
    forbidden = refuse_read_words(mentions, read, forbidden)
    dictated = {
        i: number
        for i, mention in enumerate(read)
        if mention and mention.label in _DICTATED and (number := read_dictated(mention.text, lang))
    }
    for i, number in dictated.items():
        read[i] = mentions[i]._replace(text=number.figures)
    for i, (mention, chosen) in enumerate(zip(read, choices, strict=True)):
        if mention is not None and not isinstance(chosen, Replacement):
            label = "OTHER" if _is_description(mention) else mention.label
            if label in _ROOMS:
                variant = 0 if isinstance(chosen, Suggested) else chosen
                rooms[_ROOMS[label]][i] = mention._replace(label=label, variant=variant)
    country = cache(partial(find_country, mentions, lang, load_gazetteer(lang)))
    made: dict[int, str | None] = {}
    for room, places in rooms.items():
        group, values = list(places.values()), list[str | None]()
        if room == "people":
            values = replace_persons(group, key, lang, forbidden, facts, suggest, known)
        elif room == "calendar":
            values = replace_dates(group, key, lang, date_rules) if _has_calendar(lang) else [None] * len(group)
        elif room == "numbers":
            has_phone = any(mention.label in PHONES for mention in group)
            values = replace_ids(group, key, lang, forbidden, date_rules, country() if has_phone else "")
        elif room == "places":
            values = replace_places(group, key, lang, forbidden, suggest, country())
        else:
            values = replace_sex(group, lang)
        made.update(zip(places, values, strict=True))
    for i, mention in enumerate(mentions):
        if mention.label in PERSONS and made.get(i) and (spelled := read_spelled(mention.text)):
            made[i] = spelled[1].join(filter(str.isalpha, made[i] or ""))
    for i, number in dictated.items():
        made[i] = number.write(made[i] or "")
    plain = lacks_accents(mentions, lang)
    for i, (old, new) in enumerate(zip(mentions, read, strict=True)):
        surrogate = made.get(i)
        if surrogate and new and i not in dictated and surrogate != old.text:
            worn = _damage_again(surrogate, old, new, key)
            made[i] = without_accents(worn) if plain else worn
    return [
        chosen if isinstance(chosen, Replacement) else _check(mention, made.get(i), i in must_replace)
        for i, (mention, chosen) in enumerate(zip(mentions, choices, strict=True))
    ]


def _damage_again(surrogate: str, mention: Mention, read: Mention, key: IdentityKey) -> str:
    """Write a surrogate with the damage of its original; see `wear`."""
    if read.text == mention.text or mention.label == "AGE" or read_spelled(mention.text):
        return surrogate
    if mention.label in PHONES | CODES:
        return wear_number(surrogate, mention.text, read.text)
    draw = key.draw("wear", mention.label, mention.text, str(mention.variant))
    return wear(surrogate, mention.text, read.text, draw)


@cache
def _has_calendar(lang: str) -> bool:
    """Whether the dates of a language can be read."""
    return get_language(lang).has("calendar.toml")


def agree(mention: Mention, surrogate: str, lang: str) -> tuple[int, int, str] | None:
    """Adapt the word before a mention to the first sound of its surrogate: "a nurse" becomes "an engineer".

    mention (Mention): the mention with the text before it.
    surrogate (str): the text that replaces the mention; if it is empty, the blanks before the mention are removed.
    lang (str): ISO 639-1 code.
    RETURNS (Optional[tuple[int, int, str]]): an edit: start and end of the word as distances in characters before the
        mention, and the new word in the case of the old one. None if the word does not change.
    """
    if not surrogate:
        blank = len(mention.before) - len(mention.before.rstrip(" "))
        return (blank, 0, "") if blank else None
    agreeing = get_language(lang).agreeing_words
    found = _WORD_BEFORE.search(mention.before) if agreeing else None
    form_before = agreeing.get(found[1].lower()) if found else None
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
    """Call the strategy of each label and return one choice per mention.

    `consistent` is not called, for speed: it would return 0 for every mention.
    """
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
    """Call several sources of suggestions in order and return the first surrogate, or None if there is none."""
    return next((name for suggest in sources if (name := suggest(name_type, lemma, pool, allowed))), None)


def _check(mention: Mention, made: str | None, must_replace: bool) -> Replacement:
    """Return the surrogate of a mention, or its tag if there is no surrogate or if it equals the original.

    A few values are returned unchanged on purpose and are kept, because they identify nobody and remain true: ages up
    to 89, relative days ("yesterday"), kinship words, stages of life, and the country of the language's towns.
    """
    if made == mention.text and (mention.label in LASTING or _is_description(mention)) and not must_replace:
        return Replacement(made, "keep")
    if made is None or fold(made) == fold(mention.text):
        return Replacement(tag_of(mention), FALLBACK)
    return Replacement(made, "generalize" if mention.label == "SEX" else "replace")


def _is_description(mention: Mention) -> bool:
    """Whether a mention with the label MRN or OTHER has no digit, so that it is a description such as "lactante"."""
    return mention.label in ("MRN", "OTHER") and not any(char.isdigit() for char in mention.text)
