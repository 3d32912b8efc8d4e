"""How a language writes the values of a patient record: dates, streets, nicknames, and the words in names that are not
names. Read from ``lang/XX/expansion.toml``.
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
    """The writing conventions of a language. All words are normal forms.

    lang (str): ISO 639-1 code.
    region (str): ISO 3166 code of the country for phone numbers without a country code.
    surnames (int): number of surnames at the end of a full name, without particles.
    orders (tuple[str, ...]): orders of numeric dates, "dmy" or "mdy", the usual one first.
    months, months_short (tuple[str, ...]): names of the months as they appear in dates.
    dates_in_words (tuple[str, ...]): format strings with the fields d, dd, th, month, mon, y, yy and m.
    streets (tuple[tuple[str, ...], ...]): street types, each with its abbreviations.
    within_address (frozenset[str]): words that precede the number of a door or floor rather than of a house.
    nicknames (Mapping[str, tuple[str, ...]]): given name → its nicknames, in original spelling.
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
    """Words in names that are not names, as normal forms: "de la", "Dr.", "Jr", "MD".

    particles, titles, suffixes, credentials (frozenset[str]): the words of each type.
    """

    particles: frozenset[str]
    titles: frozenset[str]
    suffixes: frozenset[str]
    credentials: frozenset[str]


def known_languages() -> list[str]:
    """List the languages with writing conventions. RETURNS (list[str]): ISO 639-1 codes, sorted."""
    return language_codes("expansion.toml")


@cache
def load_language(lang: str) -> Language:
    """Load the writing conventions of a language.

    lang (str): ISO 639-1 code.
    RETURNS (Language): the conventions.
    RAISES: ConfigError (D184) if the language has none.
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
    """Load the words in names that are not names. All languages share one list."""
    file = resources.files("spacy_deid") / "resources" / "expansion" / "names.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return NameWords(*(_words(data[key]) for key in ("particles", "titles", "suffixes", "credentials")))


def _words(words: Sequence[str]) -> frozenset[str]:
    """Normalise words."""
    return frozenset(map(normal_form, words))
