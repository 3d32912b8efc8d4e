"""The mentions of one note, replaced: strategies choose, replacers make, and what they made is looked over."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace as change
from functools import partial
from itertools import count
from types import MappingProxyType

from .calendar import DateRules
from .keys import IdentityKey
from .mention import AROUND, Mention
from .persons import fold, number_persons
from .replacers import Request, allow_all, replacer_of
from .strategies import FALLBACK, Choice, Replacement, Setting, Strategy, Suggest, Suggested, consistent, tag_of

__all__ = ["PERSONS", "find_mentions", "number_entities", "replace_mentions"]

PERSONS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
COARSER = frozenset({"SEX"})
"""Labels whose replacer says less, and nothing else: `sex`."""
LASTING = frozenset({"AGE", "DATE", "RELATIVE", "COUNTRY", "TERRITORY", "LOCATION_OTHER"})


def find_mentions(text: str, spans: Sequence[tuple[int, int, str]]) -> list[Mention]:
    """Cut the mentions out of a note.

    text (str): the note.
    spans (Sequence[tuple]): start, end and canonical label, disjoint, in the order of the text.
    RETURNS (list[Mention]): with what stands around them.
    """
    return [
        Mention(text[start:end], label, text[max(0, start - AROUND) : start], text[end : end + AROUND])
        for start, end, label in spans
    ]


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
    firm: AbstractSet[int] = frozenset(),
) -> list[Replacement]:
    """Replace the mentions of a note.

    mentions (Sequence[Mention]): in the order of the text.
    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    strategies (Mapping[str, Strategy]): canonical label → strategy; a label that is missing is `consistent`.
    forbidden (Callable[[str], bool]): whether a value may not be a surrogate; see `forbidden.Forbidden`.
    date_rules (Optional[DateRules]): what is done with dates and ages; None for a shift.
    facts (Mapping[str, str]): what is known of the patient beside the note.
    year (int): the year that ages are counted from where dates are generalized.
    firm (AbstractSet[int]): mentions that neither stay nor become coarser, whatever their strategy.
    RETURNS (list[Replacement]): one for each mention.
    """
    request = Request(key, lang, forbidden, date_rules, facts)
    choices = _choose(mentions, request, strategies, year)
    for i in firm:
        chosen = choices[i]
        if isinstance(chosen, Replacement) and chosen.action in ("keep", "generalize"):
            choices[i] = 0
    suggestions = list(dict.fromkeys(chosen.suggest for chosen in choices if isinstance(chosen, Suggested)))
    if suggestions:
        request = change(request, suggest=partial(_first_of, suggestions))
    asked = {i: _variant(chosen) for i, chosen in enumerate(choices) if not isinstance(chosen, Replacement)}
    made = _make([(i, mentions[i]._replace(variant=variant)) for i, variant in asked.items()], request)
    return [
        chosen if isinstance(chosen, Replacement) else _look_over(mention, made.get(i), i in firm)
        for i, (mention, chosen) in enumerate(zip(mentions, choices, strict=True))
    ]


def _variant(chosen: int | Suggested) -> int:
    """The number of a variant that was chosen."""
    return 0 if isinstance(chosen, Suggested) else chosen


def _first_of(
    suggestions: Sequence[Suggest], sort: str, lemma: str, pool: Sequence[str], allowed: Callable[[str], bool]
) -> str | None:
    """What the first strategy suggests that knows a name."""
    return next((name for suggest in suggestions if (name := suggest(sort, lemma, pool, allowed))), None)


def _choose(
    mentions: Sequence[Mention], request: Request, strategies: Mapping[str, Strategy], year: int
) -> list[Choice]:
    """Ask the strategy of each label."""
    entities: list[int] = []
    out: list[Choice] = [0] * len(mentions)
    for label, places in _by_label(mentions).items():
        if strategies.get(label, consistent) is consistent:  # asks for nothing but 0, and most notes have no other
            continue
        if not entities:
            entities, note = number_entities(mentions), _digest(mentions)
        setting = Setting(request.key, request.lang, note, [entities[i] for i in places], year)
        chosen = strategies[label]([mentions[i] for i in places], setting)
        for i, choice in zip(places, chosen, strict=True):
            out[i] = choice
    return out


def _make(asked: Sequence[tuple[int, Mention]], request: Request) -> dict[int, str | None]:
    """Ask each replacer once, for all its labels: "J. Smith" and "john.smith@…" are one person."""
    groups: dict[object, list[tuple[int, Mention]]] = defaultdict(list)
    for i, mention in asked:
        told = mention._replace(label="OTHER") if describes(mention) else mention
        groups[replacer_of(told.label)].append((i, told))
    made: dict[int, str | None] = {}
    for replacer, group in groups.items():
        if callable(replacer):
            values = replacer([mention for _, mention in group], request)
            made.update(zip((i for i, _ in group), values, strict=True))
    return made


def _look_over(mention: Mention, made: str | None, firm: bool) -> Replacement:
    """What was made of a mention, or the tag: if there is nothing, or it is the original again.

    Ages up to 89, days relative to others and words of kinship are given back as they are, because they stay true, and
    so are the country that the towns of the language lie in and stages of life.
    """
    if made == mention.text and (mention.label in LASTING or describes(mention)) and not firm:
        return Replacement(made, "keep")
    if made is None or fold(made) == fold(mention.text):
        return Replacement(tag_of(mention), FALLBACK)
    return Replacement(made, "generalize" if mention.label in COARSER else "replace")


def describes(mention: Mention) -> bool:
    """Whether what is annotated as a number, or as something else, is words: "lactante", "boliviano"."""
    return mention.label in ("MRN", "OTHER") and not any(char.isdigit() for char in mention.text)


def number_entities(mentions: Sequence[Mention]) -> list[int]:
    """Number what mentions name: persons by all forms of their names, other things by label and folded value.

    mentions (Sequence[Mention]): in the order of the text.
    RETURNS (list[int]): numbers from 1; a person and a value never have the same.
    """
    places = [i for i, mention in enumerate(mentions) if mention.label in PERSONS]
    numbers = dict(zip(places, number_persons([mentions[i].text for i in places]), strict=True))
    fresh = count(max(numbers.values(), default=0) + 1)
    seen: dict[tuple[str, str], int] = {}
    for i, mention in enumerate(mentions):
        if i not in numbers:
            value = (mention.label, fold(mention.text))
            if value not in seen:
                seen[value] = next(fresh)
            numbers[i] = seen[value]
    return [numbers[i] for i in range(len(mentions))]


def _by_label(mentions: Sequence[Mention]) -> dict[str, list[int]]:
    """The places of the mentions of each label."""
    places: dict[str, list[int]] = defaultdict(list)
    for i, mention in enumerate(mentions):
        places[mention.label].append(i)
    return places


def _digest(mentions: Sequence[Mention]) -> str:
    """Tell a note from others by its mentions and what stands around them. It never leaves the draws of a key."""
    digest = hashlib.sha256()
    for mention in mentions:
        for part in mention[:4]:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()
