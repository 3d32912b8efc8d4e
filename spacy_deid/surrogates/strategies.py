"""Strategies: for each mention of a kind of values, whether it gets a surrogate, and which one.

`consistent`, `randomized` and `markov` ask the replacers for a surrogate, by the number of a variant: equal values
and the parts of one name share the surrogate of a variant, and two variants have nothing in common. `keep`, `tag` and
`generalize` say themselves what is written.

Whoever reads released notes may find values that were missed because they, alone, do not vary like surrogates do: the
parrot attack. A surrogate that changes now and then, as a chain over the mentions of one entity, takes that away
(Carrell et al. 2019, 10.1093/jamia/ocz114; Carrell et al. 2020).
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import ConfigError, Errors
from .generalize import GENERALIZERS
from .keys import IdentityKey
from .mention import Mention

__all__ = [
    "FALLBACK",
    "RELEASING",
    "Choice",
    "Replacement",
    "Setting",
    "Strategy",
    "Suggest",
    "Suggested",
    "check_probability",
    "consistent",
    "generalize",
    "keep",
    "markov",
    "nothing",
    "randomized",
    "tag",
    "tag_of",
]

FALLBACK = "no_surrogate"
"""The action of a mention that no surrogate could be made for."""

_VARIANTS = 1 << 48  # so many that two mentions draw the same one never


class Replacement(NamedTuple):
    """What stands in place of a mention.

    text (str): the replacement.
    action (str): "replace", "keep", "tag", "generalize", or `FALLBACK` for the tag that stands where no surrogate
        could be made.
    """

    text: str
    action: str = "replace"

    def __repr__(self) -> str:
        """The action and the length; what was kept is text of a note."""
        return f"Replacement(action={self.action!r}, length={len(self.text)})"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a strategy knows beside the mentions.

    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    note (str): tells the note from the others of the patient, so that chance does not repeat in each.
    entities (Sequence[int]): for each mention the number of what it names: a person by all forms of the name, or a
        value.
    year (int): the year that ages are counted from; 0 if years of birth are not to be told apart.
    """

    key: IdentityKey
    lang: str
    note: str
    entities: Sequence[int]
    year: int = 0


# For a part of a name or a town, by its sort and its folded nominative: which of a pool, of those that are allowed.
Suggest = Callable[[str, str, Sequence[str], Callable[[str], bool]], str | None]


class Suggested(NamedTuple):
    """As the variant 0, but what is suggested, where anything is."""

    suggest: Suggest


# The number of a variant, for the replacers, with or without suggestions, or what is written.
Choice = int | Suggested | Replacement
# A strategy sees all mentions of one label, in the order of the text.
Strategy = Callable[[Sequence[Mention], Setting], Sequence[Choice]]


def nothing(sort: str, lemma: str, pool: Sequence[str], allowed: Callable[[str], bool]) -> str | None:
    """Suggest nothing."""
    return None


def consistent(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """The same surrogate for the same entity, in all notes of a patient."""
    return [0] * len(mentions)


def randomized(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """Another surrogate for each mention. Two mentions of one person look like two persons."""
    draws = (setting.key.draw("random", setting.note, m.label, str(i)) for i, m in enumerate(mentions))
    return [1 + draw.below(_VARIANTS) for draw in draws]


def markov(mentions: Sequence[Mention], setting: Setting, p: float) -> list[Choice]:
    """A surrogate that stays the same from one mention of an entity to the next, but for a change now and then.

    p (float): probability that it changes, from 0 (`consistent`) to 1.
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
    """What stands there stays."""
    return [Replacement(mention.text, "keep") for mention in mentions]


def tag(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """``[PATIENT]``."""
    return [Replacement(tag_of(mention), "tag") for mention in mentions]


def generalize(mentions: Sequence[Mention], setting: Setting) -> list[Choice]:
    """Something coarser, where there is such a thing (`generalize.GENERALIZERS`); else as `consistent`."""
    return [_coarser(mention, setting) for mention in mentions]


RELEASING = frozenset({keep, generalize})
"""The strategies that leave something of the original."""


def _coarser(mention: Mention, setting: Setting) -> Choice:
    """What is coarser than a mention."""
    make = GENERALIZERS.get(mention.label)
    coarse = make(mention.text, setting.year) if make else None
    if coarse is None:
        return 0
    return Replacement(coarse, "keep" if coarse == mention.text else "generalize")


def tag_of(mention: Mention) -> str:
    """The tag of a mention: its label in brackets."""
    return f"[{mention.label}]"


def check_probability(p: float) -> float:
    """Make sure that a number is a probability. RAISES: ConfigError (D690)."""
    if not 0.0 <= p <= 1.0:
        raise ConfigError(Errors.D690.format(value=p))
    return p
