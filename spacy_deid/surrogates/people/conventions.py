"""Load the conventions of a language for names of persons: titles, particles, nicknames, kinship words, name order."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from ...lang import all_languages, get_language
from ...lang.text import fold


@dataclass(frozen=True)
class NamingConventions:
    """The conventions of a language for names of persons. Words are without case and accents (`fold`).

    surnames (int): number of surnames in a full name.
    reversed (float): log probability (nats) that a surname is written before the given name without a comma.
    surname_cues (tuple[str, ...]): names of form fields that contain only surnames, such as "apellidos".
    titles (Mapping[str, str]): title → the sex of its bearers: "female", "male" or "either".
    before_given (frozenset[str]): titles that usually precede a given name, such as "don".
    context (Mapping[str, str]): word before a name, such as "madre" → the sex that it indicates.
    nearby (Mapping[str, str]): word near a name, such as "she" or "ingresada" → the sex that it suggests.
    particles (frozenset[str]): words within a name that are not names, such as "de".
    suffixes (frozenset[str]): words after a name that are not names, such as "Jr.".
    marker (re.Pattern): matches the words before a maiden name, such as "née".
    short (Mapping[str, str]): written abbreviation of a name, such as "mª" → full name.
    nicknames (Mapping[str, tuple[str, ...]]): given name → its nicknames.
    full_names (Mapping[str, tuple[str, ...]]): nickname → the given names that it stands for, folded.
    rare_full_names (Mapping[str, frozenset[str]]): the same for nicknames that are only read if the note has the full
        name, because they are rare or names of their own.
    kin (frozenset[str]): kinship words, such as "madre".
    beside_kin (frozenset[str]): words that occur beside a kinship word and identify nobody, such as "older".
    """

    surnames: int
    reversed: float
    surname_cues: tuple[str, ...]
    titles: Mapping[str, str]
    before_given: frozenset[str]
    context: Mapping[str, str]
    nearby: Mapping[str, str]
    particles: frozenset[str]
    suffixes: frozenset[str]
    marker: re.Pattern[str]
    short: Mapping[str, str]
    nicknames: Mapping[str, tuple[str, ...]]
    full_names: Mapping[str, tuple[str, ...]]
    rare_full_names: Mapping[str, frozenset[str]]
    kin: frozenset[str]
    beside_kin: frozenset[str]


@lru_cache(maxsize=16)
def load_conventions(lang: str) -> NamingConventions:
    """Read the naming conventions from ``people.toml`` and ``expansion.toml`` of a language.

    lang (str): ISO 639-1 code.
    RETURNS (NamingConventions): the conventions. A language without these files has default values, and the particles
        and suffixes that all languages share.
    """
    language = get_language(lang)
    own, nicknames = language.read_toml("people.toml"), language.read_toml("expansion.toml").get("nicknames", {})
    order, titles, context = own.get("order", {}), own.get("titles", {}), own.get("context", {})
    nearby = own.get("nearby", {})
    markers = sorted(own.get("markers", {}).get("maiden", ()), key=len, reverse=True)
    folded_nicknames = {fold(name): tuple(given) for name, given in nicknames.items()}
    full_names: dict[str, tuple[str, ...]] = {}
    for name, given in folded_nicknames.items():
        for nickname in given:
            full_names[fold(nickname)] = (*full_names.get(fold(nickname), ()), name)
    rare: dict[str, set[str]] = defaultdict(set)
    for name, given in language.read_toml("expansion.toml").get("rare_nicknames", {}).items():
        for nickname in given:
            rare[fold(nickname)].add(fold(name))
    return NamingConventions(
        surnames=order.get("surnames", 1),
        reversed=order.get("reversed", -3.0),
        surname_cues=tuple(map(fold, order.get("surname_cues", ()))),
        titles={fold(word): sex for sex in ("either", "male", "female") for word in titles.get(sex, ())},
        before_given=frozenset(map(fold, titles.get("given", ()))),
        context={fold(word): sex for sex in ("female", "male") for word in context.get(sex, ())},
        nearby={fold(word): sex for sex in ("female", "male") for word in nearby.get(sex, ())},
        particles=frozenset(load_name_words("particles")),
        suffixes=frozenset((*load_name_words("suffixes"), *load_name_words("credentials"))),
        # as written, because "O. S." are initials; a pattern that never matches if there are no markers
        marker=re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, markers))})(?!\w)" if markers else r"(?!)"),
        short={fold_word(word): full for word, full in own.get("short", {}).items()},
        nicknames=folded_nicknames,
        full_names=full_names,
        rare_full_names={nickname: frozenset(names) for nickname, names in rare.items()},
        kin=frozenset(map(fold, own.get("kin", {}).get("words", ()))),
        beside_kin=frozenset(map(fold, own.get("kin", {}).get("beside", ()))),
    )


@lru_cache
def load_name_words(table: str) -> Sequence[str]:
    """Read the words of all languages that occur within names but are not names, such as "de" or "Jr.".

    table (str): which words: "particles", "titles", "suffixes" or "credentials".
    RETURNS (Sequence[str]): folded words.
    """
    path = files("spacy_deid") / "resources" / "expansion" / "names.toml"
    data = [tomllib.loads(path.read_text(encoding="utf8"))]
    data += [language.read_toml("expansion.toml") for language in all_languages("expansion.toml")]
    return list(dict.fromkeys(word for words in data for word in words.get(table, ())))


def fold_word(word: str) -> str:
    """Remove case and accents from a word of a name, but keep the mark of an abbreviation: "Mª" (María) is not "Ma".

    word (str): the word as written.
    RETURNS (str): the folded word, with "ª" at its end if it has one.
    """
    return fold(word.replace("ª", "").replace(".", "")) + "ª" if "ª" in word else fold(word)
