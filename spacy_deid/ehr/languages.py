"""How a language writes what a patient record holds: months, streets, nicknames, the words of a name that are no name.

One small TOML file a language, ``lang/XX/expansion.toml``.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ..dictionaries.normalise import normal_form
from ..errors import ConfigError, Errors
from ..lang import get_language, language_codes

_NAMES = "names"  # name of the file that all languages share


@dataclass(frozen=True, slots=True)
class Language:
    """What is known of one language. All words are in normal form.

    lang (str): ISO 639-1 code.
    region (str): ISO 3166 code of the country that telephone numbers without one belong to.
    surnames (int): how many words of a full name are surnames, particles apart.
    orders (tuple[str, ...]): "dmy" and "mdy": the orders of numeric dates, the usual one first.
    months, months_short (tuple[str, ...]): as they stand in a date.
    dates_in_words (tuple[str, ...]): format strings of d, dd, th, month, mon, y, yy and m.
    streets (tuple[tuple[str, ...], ...]): a street's kind and its abbreviations.
    within_address (frozenset[str]): words after which the number of a door follows, not that of a house.
    nicknames (Mapping[str, tuple[str, ...]]): given name → what such persons are called, as written.
    """

    lang: str
    region: str
    surnames: int
    orders: tuple[str, ...]
    months: tuple[str, ...]
    months_short: tuple[str, ...]
    dates_in_words: tuple[str, ...]
    streets: tuple[tuple[str, ...], ...]
    within_address: frozenset[str]
    nicknames: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class NameWords:
    """Words that stand in names and are none, in normal form: "de la", "Dr.", "Jr", "MD"."""

    particles: frozenset[str]
    titles: frozenset[str]
    suffixes: frozenset[str]
    credentials: frozenset[str]


def known_languages() -> list[str]:
    """The languages that have a file, sorted."""
    return language_codes("expansion.toml")


@cache
def load_language(lang: str) -> Language:
    """What is known of a language.

    lang (str): ISO 639-1 code.
    RETURNS (Language): its facts.
    RAISES: ConfigError (D184) if there is no file for it.
    """
    if lang not in known_languages():
        raise ConfigError(Errors.D184.format(lang=lang, known=", ".join(known_languages())))
    data = get_language(lang).read_toml("expansion.toml")
    first, second = ("dmy", "mdy") if data["day_first"] else ("mdy", "dmy")
    return Language(
        lang=lang,
        region=data["region"],
        surnames=data["surnames"],
        orders=(first, second) if data.get("both_orders") else (first,),
        months=tuple(map(normal_form, data["months"])),
        months_short=tuple(map(normal_form, data["months_short"])),
        dates_in_words=tuple(data["dates_in_words"]),
        streets=tuple(tuple(map(normal_form, names)) for names in data["streets"]),
        within_address=_words(data["within_address"]),
        nicknames={normal_form(name): tuple(others) for name, others in data["nicknames"].items()},
    )


@cache
def name_words() -> NameWords:
    """The words that stand in names and are none, of all languages together."""
    file = resources.files("spacy_deid") / "resources" / "expansion" / "names.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return NameWords(*(_words(data[key]) for key in ("particles", "titles", "suffixes", "credentials")))


def _words(words: Sequence[str]) -> frozenset[str]:
    """A set of normal forms."""
    return frozenset(map(normal_form, words))
