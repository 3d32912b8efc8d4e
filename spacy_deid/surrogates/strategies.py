"""Strategies: which mentions of a label share a surrogate, and which are kept, tagged or generalized instead.

`consistent`, `randomized` and `markov` return the number of a variant for each mention: equal values and the parts of
a name have the same surrogate in a variant, and different ones in two variants. `keep`, `tag` and `generalize` return
the replacement itself.

Readers of released notes may recognize missed values, because these alone do not vary like surrogates do: the parrot
attack. A surrogate that changes now and then, as a Markov chain over the mentions of an entity, prevents that (Carrell
et al. 2019, 10.1093/jamia/ocz114; Carrell et al. 2020).
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
"""Action of a mention for which no surrogate could be made."""

OLDEST = 89
"""Oldest age that may be released. Source: HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(C)."""

_VARIANTS = 1 << 48  # so many that two mentions practically never draw the same one
_NUMBER = re.compile(r"\d+")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


class Replacement(NamedTuple):
    """The replacement of a mention.

    text (str): the text that replaces the mention.
    action (str): "replace", "keep", "tag", "generalize", or `FALLBACK` for a tag in place of a surrogate.
    """

    text: str
    action: str = "replace"

    def __repr__(self) -> str:
        """Show action and length; a kept text is text of the note."""
        return f"Replacement(action={self.action!r}, length={len(self.text)})"


@dataclass(frozen=True, slots=True)
class Setting:
    """The input of a strategy besides the mentions.

    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    note (str): digest of the note, so that random choices differ between the notes of a patient.
    entities (Sequence[int]): for each mention the number of the entity that it names; see `persons.number_entities`.
    year (int): the year that ages are counted from; 0 to allow all years of birth.
    """

    key: IdentityKey
    lang: str
    note: str
    entities: Sequence[int]
    year: int = 0


# Chooses a surrogate for a part of a name or a town: (name type or "city", folded nominative, candidates, whether a
# candidate is allowed) → one of the candidates, None for no choice.
Suggest = Callable[[str, str, Sequence[str], Callable[[str], bool]], str | None]


class Suggested(NamedTuple):
    """The choice of variant 0 with suggested surrogates, where there are any."""

    suggest: Suggest


# The number of a variant, with or without suggestions, or the replacement itself.
Choice = int | Suggested | Replacement
# A strategy gets all mentions of one label, in the order of the text, and returns a choice for each.
Strategy = Callable[[Sequence[Mention], Setting], Sequence[Choice]]


def nothing(name_type: str, lemma: str, pool: Sequence[str], allowed: Callable[[str], bool]) -> str | None:
    """Suggest nothing; see `Suggest`."""
    return None


def consistent(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """Use the same surrogate for the same entity in all notes of a patient. RETURNS (list[Choice]): zeros."""
    return [0] * len(mentions)


def randomized(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """Use a different surrogate for each mention, so that two mentions of one person seem to be two persons."""
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
    """Keep the original text."""
    return [Replacement(mention.text, "keep") for mention in mentions]


def tag(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """Replace each mention by its tag, such as ``[PATIENT]``."""
    return [Replacement(tag_of(mention), "tag") for mention in mentions]


def generalize(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """Replace a value by a coarser one if `GENERALIZERS` has a function for its label, otherwise as `consistent`."""
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
"""The strategies that release the original or a part of it."""


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

    text (str): the age as written.
    reference_year (int): not used for ages.
    RETURNS (Optional[str]): the same text, "90+", or None if it has no number in digits.
    """
    numbers = [int(n) for n in _NUMBER.findall(text)]
    if not numbers:
        return None
    return "90+" if max(numbers) > OLDEST else text


def generalize_date(text: str, reference_year: int) -> str | None:
    """Reduce a date to its year, unless the year reveals an age over 89. Source: 45 CFR 164.514(b)(2)(i)(C).

    text (str): the date as written.
    reference_year (int): the year that ages are counted from.
    RETURNS (Optional[str]): a year of four digits; None if there is not exactly one, or it is too long ago.
    """
    years = set(_YEAR.findall(text))
    if len(years) != 1:
        return None
    year = years.pop()
    return year if int(year) >= reference_year - OLDEST else None


GENERALIZERS: Mapping[str, Callable[[str, int], str | None]] = MappingProxyType(
    {"AGE": generalize_age, "DATE": generalize_date}
)
"""Canonical label → function that makes a value coarser: (text, reference year) → text, None if that is not safe."""
