"""How a language names persons: titles, particles, short forms, words of kinship, the order of names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ...lang import get_language
from ..persons import fold
from .lists import load_names_words, read_people

__all__ = ["Customs", "fold_word", "load_customs"]


@dataclass(frozen=True)
class Customs:
    """The habits of a language; all words are folded.

    surnames (int): surnames that a full name has.
    reversed (float): how unlikely the surname comes first without a comma, in nats.
    surname_cues (tuple[str, ...]): what stands before a field of surnames.
    titles (Mapping[str, str]): title → "female", "male" or "either".
    before_given (frozenset[str]): titles that stand before given names.
    context (Mapping[str, str]): word before a name → the sex that it tells.
    particles, suffixes (frozenset[str]): words of a name that are no name, and what follows one.
    marker (re.Pattern): what stands before a maiden name.
    short (Mapping[str, str]): written short form → full name.
    nicknames (Mapping[str, tuple[str, ...]]): given name → what its bearers are called.
    called (Mapping[str, tuple[str, ...]]): the other way round.
    kin (frozenset[str]): words of kinship.
    beside (frozenset[str]): words beside one that say nothing of a person.
    """

    surnames: int
    reversed: float
    surname_cues: tuple[str, ...]
    titles: Mapping[str, str]
    before_given: frozenset[str]
    context: Mapping[str, str]
    particles: frozenset[str]
    suffixes: frozenset[str]
    marker: re.Pattern[str]
    short: Mapping[str, str]
    nicknames: Mapping[str, tuple[str, ...]]
    called: Mapping[str, tuple[str, ...]]
    kin: frozenset[str]
    beside: frozenset[str]


@lru_cache(maxsize=16)
def load_customs(lang: str) -> Customs:
    """Read the habits of a language from ``lang/XX/people.toml`` and ``expansion.toml``.

    lang (str): ISO 639-1 code.
    RETURNS (Customs): the habits; of a language without a file, those that all languages share.
    """
    own = read_people(lang)
    order, titles, context = own.get("order", {}), own.get("titles", {}), own.get("context", {})
    nicknames = {
        fold(name): tuple(given)
        for name, given in get_language(lang).read_toml("expansion.toml").get("nicknames", {}).items()
    }
    called: dict[str, tuple[str, ...]] = {}
    for name, given in nicknames.items():
        for nickname in given:
            called[fold(nickname)] = (*called.get(fold(nickname), ()), name)
    return Customs(
        surnames=order.get("surnames", 1),
        reversed=order.get("reversed", -3.0),
        surname_cues=tuple(map(fold, order.get("surname_cues", ()))),
        titles={fold(word): sex for sex in ("either", "male", "female") for word in titles.get(sex, ())},
        before_given=frozenset(map(fold, titles.get("given", ()))),
        context={fold(word): sex for sex in ("female", "male") for word in context.get(sex, ())},
        particles=frozenset(load_names_words("particles")),
        suffixes=frozenset((*load_names_words("suffixes"), *load_names_words("credentials"))),
        marker=_any_of(own.get("markers", {}).get("maiden", ())),
        short={fold_word(word): full for word, full in own.get("short", {}).items()},
        nicknames=nicknames,
        called=called,
        kin=frozenset(map(fold, own.get("kin", {}).get("words", ()))),
        beside=frozenset(map(fold, own.get("kin", {}).get("beside", ()))),
    )


def fold_word(word: str) -> str:
    """Fold a word of a name, but keep the mark of a short form apart from a letter: "Mª" is no "Ma".

    word (str): as written.
    RETURNS (str): folded.
    """
    return fold(word.replace("ª", "").replace(".", "")) + "ª" if "ª" in word else fold(word)


def _any_of(words: tuple[str, ...] | list[str]) -> re.Pattern[str]:
    """A pattern for any of some words, as they are written ("O. S." are initials); never matches for none."""
    longest = sorted(words, key=len, reverse=True)
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, longest)) + r")(?!\w)" if words else r"(?!)")
