"""Strategies decide how the mentions of a label are replaced: by which surrogate, or kept, tagged or generalized.

`consistent`, `randomized` and `markov` return a number for each mention, its variant. Mentions of one value with the
same variant have the same surrogate; with different variants they have different surrogates. `keep`, `tag` and
`generalize` return the replacement itself.

If all mentions of a person have the same surrogate, a reader can recognize names that a detector missed (the parrot
attack). `markov` makes this harder: it changes the surrogate of an entity now and then, as a Markov chain over its
mentions (Carrell et al. 2019, 10.1093/jamia/ocz114; Carrell et al. 2020).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ..errors import ConfigError, Errors
from .keys import IdentityKey
from .mention import Mention

FALLBACK = "no_surrogate"
"""Action of a mention that is replaced by its tag because no surrogate could be made."""

OLDEST = 89
"""Oldest age that may be released. Source: HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(C)."""

_VARIANTS = 1 << 48  # so many that two mentions practically never draw the same one
_NUMBER = re.compile(r"\d+")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


class Replacement(NamedTuple):
    """The text that replaces a mention, and how it was made.

    text (str): the text that replaces the mention.
    action (str): "replace" (by a surrogate), "keep", "tag", "generalize", or `FALLBACK` for a tag that is used because
        no surrogate could be made.
    """

    text: str
    action: str = "replace"

    def __repr__(self) -> str:
        """Show only action and length, because a kept text is part of a note."""
        return f"Replacement(action={self.action!r}, length={len(self.text)})"


@dataclass(frozen=True, slots=True)
class Setting:
    """The arguments of a strategy that are common to all mentions of one call.

    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    note (str): hash of the mentions and their context, so that random choices differ between the notes of a patient.
    entities (Sequence[int]): for each mention the number of the entity it refers to; see `mention.number_entities`.
    year (int): the year in which the age of a patient is computed, for `generalize_date`; 0 to allow all years.
    """

    key: IdentityKey
    lang: str
    note: str
    entities: Sequence[int]
    year: int = 0


# A function that chooses a surrogate for a part of a name or a town. Its arguments are the name type or "city", the
# folded nominative of the original, the candidates, and a function that returns whether a candidate is allowed. It
# returns one of the candidates, or None if it makes no choice.
Suggest = Callable[[str, str, Sequence[str], Callable[[str], bool]], str | None]


class Suggested(NamedTuple):
    """The choice of the usual surrogate (variant 0), unless `suggest` returns another one to use instead."""

    suggest: Suggest


# What a strategy returns for a mention: a variant, variant 0 with suggestions, or the replacement itself.
Choice = int | Suggested | Replacement
# A strategy gets all mentions of one label, in the order of the text, and returns a choice for each.
Strategy = Callable[[Sequence[Mention], Setting], Sequence[Choice]]


def nothing(name_type: str, lemma: str, pool: Sequence[str], allowed: Callable[[str], bool]) -> str | None:
    """Return None: a `Suggest` function that never makes a choice."""
    return None


def consistent(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """Use the same surrogate for an entity in all notes of a patient: return variant 0 for each mention."""
    return [0] * len(mentions)


def randomized(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """Use a different surrogate for each mention, so that two mentions of one person look like two persons."""
    draws = (setting.key.draw("random", setting.note, m.label, str(i)) for i, m in enumerate(mentions))
    return [1 + draw.below(_VARIANTS) for draw in draws]


def markov(mentions: Sequence[Mention], setting: Setting, p: float) -> list[Choice]:
    """Change the surrogate of an entity between two of its mentions with a fixed probability.

    p (float): probability of a change, from 0 (as `consistent`) to 1.
    """
    out: list[Choice] = []
    state: dict[int, int] = {}
    seen: dict[int, int] = defaultdict(int)
    for mention, entity in zip(mentions, setting.entities, strict=True):
        draw = setting.key.draw("markov", setting.note, mention.label, str(entity), str(seen[entity]))
        if seen[entity] and draw.chance(p):
            state[entity] = 1 + draw.below(_VARIANTS)
        seen[entity] += 1
        out.append(state.get(entity, 0))
    return out


def keep(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """Keep the original text of each mention."""
    return [Replacement(mention.text, "keep") for mention in mentions]


def tag(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """Replace each mention by its tag, such as ``[PATIENT]``."""
    return [Replacement(tag_of(mention), "tag") for mention in mentions]


def generalize(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """Replace each value by a less specific one with the function of its label in `GENERALIZERS`.

    A value without such a function, or for which it returns None, gets a surrogate as with `consistent`.
    """
    out: list[Choice] = []
    for mention in mentions:
        make = GENERALIZERS.get(mention.label)
        coarse = make(mention.text, setting.year) if make else None
        if coarse is None:
            out.append(0)
        else:
            out.append(Replacement(coarse, "keep" if coarse == mention.text else "generalize"))
    return out


RELEASING = frozenset({keep, generalize})
"""The strategies whose replacements can be or contain the original value."""


def tag_of(mention: Mention) -> str:
    """Return the tag of a mention: its label in square brackets."""
    return f"[{mention.label}]"


def check_probability(p: float) -> float:
    """Return a probability unchanged. RAISES: ConfigError (D690) if it is not between 0 and 1."""
    if not 0.0 <= p <= 1.0:
        raise ConfigError(Errors.D690.format(value=p))
    return p


def generalize_age(text: str, reference_year: int) -> str | None:
    """Keep an age up to 89 and replace an older one by "90+". Source: 45 CFR 164.514(b)(2)(i)(C).

    text (str): the age as written in the note.
    reference_year (int): not used; functions in `GENERALIZERS` have the same arguments.
    RETURNS (Optional[str]): the same text, "90+", or None if it has no number in digits.
    """
    numbers = [int(n) for n in _NUMBER.findall(text)]
    if not numbers:
        return None
    return "90+" if max(numbers) > OLDEST else text


def generalize_date(text: str, reference_year: int) -> str | None:
    """Reduce a date to its year, unless the year reveals an age over 89. Source: 45 CFR 164.514(b)(2)(i)(C).

    text (str): the date as written in the note.
    reference_year (int): the year in which the age is computed; 0 to allow all years.
    RETURNS (Optional[str]): the year in four digits. None if the text has no such year or several different ones, or
        if the year is more than 89 years before the reference year.
    """
    years = set(_YEAR.findall(text))
    if len(years) != 1:
        return None
    year = years.pop()
    return year if int(year) >= reference_year - OLDEST else None


GENERALIZERS: Mapping[str, Callable[[str, int], str | None]] = MappingProxyType(
    {"AGE": generalize_age, "DATE": generalize_date}
)
"""Canonical label → function (text, reference year) that returns a less specific text, or None if that is unsafe."""
