"""List the formats in which notes write the values of a patient record other than names.

There is one function for each kind of value: dates, phone numbers, identifiers, addresses and institutions. The
conventions of a language are read from ``lang/XX/expansion.toml``.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from importlib import resources
from typing import Any

import phonenumbers

from ..dictionaries.normalise import normal_form
from ..errors import ConfigError, Errors
from ..lang import all_languages, get_language, language_codes
from ..lang.inflection import case_forms, inflects


@dataclass(frozen=True, slots=True)
class Language:
    """The conventions by which a language writes dates, phone numbers, addresses and names. Words are normal forms.

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
    """List the languages for which `load_language` has conventions. RETURNS (list[str]): ISO 639-1 codes, sorted."""
    return language_codes("expansion.toml")


@cache
def load_language(lang: str) -> Language:
    """Load the conventions by which a language writes dates, phone numbers, addresses and names.

    lang (str): ISO 639-1 code.
    RETURNS (Language): the conventions; they are cached.
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
        nicknames=_nicknames(data),
    )


@cache
def name_words() -> NameWords:
    """Load titles, particles and the like of all languages together, because records contain names from anywhere."""
    shared = resources.files("spacy_deid") / "resources" / "expansion" / "names.toml"
    data = [tomllib.loads(shared.read_text(encoding="utf-8"))]
    data += [language.read_toml("expansion.toml") for language in all_languages("expansion.toml")]
    keys = ("particles", "titles", "suffixes", "credentials")
    return NameWords(*(_words([word for words in data for word in words.get(key, ())]) for key in keys))


def _nicknames(data: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Merge the usual and the rare nicknames of each given name."""
    merged: dict[str, tuple[str, ...]] = {}
    for table in ("nicknames", "rare_nicknames"):
        for name, others in data.get(table, {}).items():
            merged[normal_form(name)] = (*merged.get(normal_form(name), ()), *others)
    return merged


def _words(words: Sequence[str]) -> frozenset[str]:
    """Return the normal forms of words."""
    return frozenset(map(normal_form, words))


_KEPT = 20_000
_SEPARATORS = re.compile(r"[\s\-‐-―−./_·:]+")
_BOUNDARY = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
_MISREAD = (("0", "o"), ("1", "l"), ("1", "i"), ("o", "0"), ("l", "1"), ("i", "1"))
_MISREAD_LENGTH = 6
_LEAD = 5  # first digits of a national number, which determine its groups
_NUMBER_LENGTH = 5  # minimal digits of an identifier without its leading zeros


def date_forms(value: str, lang: str) -> tuple[str, ...]:
    """List the formats in which notes of a language write a date: numeric formats, and those with names of months.

    value (str): a date in ISO 8601; a time after it is ignored.
    lang (str): ISO 639-1 code.
    RETURNS (tuple[str, ...]): normal forms; empty if the value is not a date.
    """
    try:
        day = date.fromisoformat(value.strip()[:10])
    except ValueError:
        return ()
    language = load_language(lang)
    ending = "th" if 11 <= day.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    year = f"{day.year:04}"
    fields = {
        "d": str(day.day),
        "dd": f"{day.day:02}",
        "m": str(day.month),
        "mm": f"{day.month:02}",
        "y": year,
        "yy": year[2:],
        "th": ending,
    } | {"month": language.months[day.month - 1], "mon": language.months_short[day.month - 1]}
    forms = [separator.join(fields[name] for name in ("y", "mm", "dd")) for separator in (" ", "/", "")]
    for order in language.orders:
        forms += _numeric(order, fields)
    forms += (normal_form(pattern.format(**fields)) for pattern in language.dates_in_words)
    return tuple(dict.fromkeys(forms))


def _numeric(order: str, fields: dict[str, str]) -> Iterator[str]:
    """Yield numeric formats of a date, with and without leading zeros, with two and four digits of the year."""
    for year in ("y", "yy"):
        for width in (1, 2):
            names = [year if letter == "y" else letter * width for letter in order]
            yield from (separator.join(fields[name] for name in names) for separator in ("/", ".", " "))
        yield "".join(fields[year if letter == "y" else letter * 2] for letter in order)


def id_forms(value: str, lang: str) -> tuple[str, ...]:
    """List the formats of an identifier: with its separators, with spaces, without; without leading zeros; misread by
    OCR.

    value (str): the identifier in the record.
    lang (str): unused; identifiers do not depend on the language.
    RETURNS (tuple[str, ...]): normal forms.
    """
    plain = normal_form(value)
    parts = [part for part in _SEPARATORS.split(plain) if part]
    joined = "".join(parts)
    forms = [plain, joined, *(separator.join(parts) for separator in (" ", ".", "/"))]
    if pieces := [piece for piece in _BOUNDARY.split(joined) if piece]:
        forms.append(" ".join(pieces))
    if joined.isdigit() and len(bare := joined.lstrip("0")) >= _NUMBER_LENGTH:
        forms.append(bare)
    if len(joined) >= _MISREAD_LENGTH:
        forms += (joined.replace(old, new) for old, new in _MISREAD if old in joined)
    return tuple(dict.fromkeys(form for form in forms if form))


def email_forms(value: str, lang: str) -> tuple[str, ...]:
    """List the formats of an e-mail address: unchanged, and with "@" spelled out.

    value (str): the address in the record.
    lang (str): unused.
    RETURNS (tuple[str, ...]): normal forms; empty if there is no "@".
    """
    plain = normal_form(value)
    name, at, domain = plain.partition("@")
    if not (name and at and domain):
        return ()
    return tuple(dict.fromkeys([plain, f"{name} @ {domain}", f"{name}(at){domain}", f"{name} at {domain}"]))


def phone_forms(value: str, lang: str) -> tuple[str, ...]:
    """List the formats of a phone number: national and international, grouped and ungrouped.

    value (str): the number in the record.
    lang (str): ISO 639-1 code; selects the country of a number without a country code.
    RETURNS (tuple[str, ...]): normal forms; empty if the value is not a phone number.
    """
    country, national, trunk = read_phone(value, load_language(lang).region)
    if not national:
        return ()
    plain = normal_form(value)
    forms = [plain, " ".join(_SEPARATORS.split(plain)), trunk + national]
    # With the country code attached, no shorter form would match.
    forms += (f"{code}{national}" for code in (f"+{country}", f"00{country}", country))
    for sizes in _groups_of(country, national[:_LEAD], len(national)):
        digits, cut = national, []
        for size in sizes:
            cut.append(digits[:size])
            digits = digits[size:]
        forms += _grouped(cut, country, trunk)
    return tuple(dict.fromkeys(form for form in forms if form))


def _grouped(cut: list[str], country: str, trunk: str) -> Iterator[str]:
    """Yield formats of a grouped number: international, with trunk prefix, with a separate area code."""
    area, rest = trunk + cut[0], " ".join(cut[1:])
    abroad = " ".join(cut)
    yield from (f"{trunk}{abroad}", abroad, f"+{country} {abroad}", f"+{country}{abroad}")
    if rest:
        yield from (f"{trunk}{'.'.join(cut)}", ".".join(cut), f"({area}) {rest}", f"({area}){rest}", f"{area}/{rest}")
    if trunk:
        yield from (f"+{country} ({trunk}) {abroad}", f"+{country} ({trunk}){abroad}")


@lru_cache(1_000)  # a value is parsed when it is checked and again when it is expanded
def read_phone(value: str, region: str) -> tuple[str, str, str]:
    """Split a phone number into country code and national number.

    value (str): the number in the record.
    region (str): ISO 3166 code of the country of a number without a country code.
    RETURNS (tuple[str, str, str]): country code, national number, and the trunk prefix that is dialled before it; all
        empty if the value is not a phone number.
    """
    try:
        number = phonenumbers.parse(value, region)
    except phonenumbers.NumberParseException:
        return "", "", ""
    national = phonenumbers.national_significant_number(number)
    home = phonenumbers.region_code_for_country_code(number.country_code or 0)
    trunk = phonenumbers.ndd_prefix_for_region(home, True) or ""
    return str(number.country_code), national, "" if home == "US" else trunk


@lru_cache(_KEPT)
def _groups_of(country: str, lead: str, length: int) -> tuple[tuple[int, ...], ...]:
    """Sizes of the digit groups of numbers with the same first digits: those of phonenumbers and common ones."""
    number = phonenumbers.parse(f"+{country}{lead.ljust(length, '5')}", None)
    written = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
    sizes = tuple(len(part) for part in re.findall(r"\d+", written)[1:])
    found: list[tuple[int, ...]] = [(length,)]
    if sum(sizes) == length and len(sizes) > 1:
        found += [sizes, (sizes[0], length - sizes[0]), _even(length, sizes[0])]
    else:
        found += [_even(length, first) for first in (2, 3) if length > first + 2]
    if length == 9 and len(sizes) > 1 and sizes[0] == 3:
        found += [(3, 2, 2, 2), (3, 3, 3)]
    return tuple(dict.fromkeys(found))


def _even(length: int, first: int) -> tuple[int, ...]:
    """A group of two or three digits followed by groups of three and a last one of up to four, as in 40 123 4567."""
    rest = length - first
    sizes = [first]
    while rest > 4:
        sizes.append(3)
        rest -= 3
    return (*sizes, rest) if rest else tuple(sizes)


_BRACKETS = re.compile(r"\(([^()]*)\)")
_SAINT = re.compile(r"\b(?:Saint|St\.?) ")
_NUMBER = re.compile(r"\d+[^\W\d_]?\b")
_ACRONYM_LENGTH = 3
_PARTS_LENGTH = 6  # minimal length of a part of an institution's name
_SHORT_STREET = 6  # minimal length of a street without a number


def term_forms(value: str, lang: str) -> tuple[str, ...]:
    """Return the normal form of a term, which is matched without variants.

    value (str): the term in the record.
    lang (str): unused.
    RETURNS (tuple[str, ...]): one item, the normal form.
    """
    return (normal_form(value),)


def zip_forms(value: str, lang: str) -> tuple[str, ...]:
    """List the formats of a postal code: with and without its separator, and the first part of a ZIP+4 code.

    value (str): the code in the record.
    lang (str): unused.
    RETURNS (tuple[str, ...]): normal forms.
    """
    plain = normal_form(value)
    first, _, rest = plain.partition(" ")
    forms = [plain, plain.replace(" ", "")]
    if rest and first.isdigit() and len(first) == 5:  # ZIP+4
        forms.append(first)
    return tuple(dict.fromkeys(forms))


def city_forms(value: str, lang: str) -> tuple[str, ...]:
    """List the forms of a town, province or region: inflected, and both names of a bilingual place ("Helsinki /
    Helsingfors").

    value (str): the name in the record.
    lang (str): ISO 639-1 code.
    RETURNS (tuple[str, ...]): normal forms.
    """
    whole = _BRACKETS.sub(" ", value)
    names = [name.strip() for name in re.split(r"[/,;]", whole)]
    inner = [name.strip() for name in _BRACKETS.findall(value)]
    pieces = [name for name in names + inner if len(name) >= _ACRONYM_LENGTH]
    return _normal([value.strip(), *pieces, *_cases(pieces, lang, "place")])


def phrase_forms(value: str, lang: str) -> tuple[str, ...]:
    """List the forms of an institution's name: whole, without brackets, an acronym in brackets, up to the comma;
    inflected.

    value (str): the name in the record.
    lang (str): ISO 639-1 code.
    RETURNS (tuple[str, ...]): normal forms.
    """
    bare = " ".join(_BRACKETS.sub(" ", value).split())
    inner = [name for name in _BRACKETS.findall(value) if len(name) >= _ACRONYM_LENGTH and name.isupper()]
    before = bare.partition(",")[0].strip()
    pieces = [bare, *inner, *([before] if len(before) >= _PARTS_LENGTH else [])]
    saints = [_SAINT.sub(saint, piece) for piece in pieces for saint in ("Saint ", "St ", "St. ")]
    dotted = [piece.replace(".", "") for piece in pieces if "." in piece]
    return _normal([value, *pieces, *saints, *dotted, *_cases(pieces, lang, "noun")])


def street_forms(value: str, lang: str) -> tuple[str, ...]:
    """List the forms of an address: whole, up to the house number, without number; with the street type abbreviated or
    not.

    value (str): the address in the record.
    lang (str): ISO 639-1 code.
    RETURNS (tuple[str, ...]): normal forms.
    """
    language = load_language(lang)
    whole = normal_form(value)
    house = _to_house(whole, language)
    pieces = dict.fromkeys([whole, house, house.replace(",", "")])
    after = re.sub(r"[\s,]*(n\.?[ºo°]?\s*)?\d+[^\W\d_]?$", "", house)
    street = re.sub(r"^\d+[^\W\d_]?\s+", "", after).strip(" ,")
    if len(street) >= _SHORT_STREET and street != whole:
        pieces[street] = None
    forms = [other for piece in pieces for other in _street_kinds(piece, language)]
    if street and inflects(lang):
        number = house.removeprefix(street)
        cases = _cases([_as_written(value, street)], lang, "place")
        forms += [form for case in cases for form in (case, normal_form(case) + number)]
    return _normal(forms)


def _to_house(address: str, language: Language) -> str:
    """Cut an address after the house number, which is the first number with a street name before it."""
    for found in _NUMBER.finditer(address):
        before = address[: found.start()]
        words = before.replace(".", " ").replace(",", " ").split()
        if words and words[-1] in language.within_address:
            return before.rsplit(words[-1], 1)[0].rstrip(" ,.")
        if any(word.isalpha() for word in words):
            return address[: found.end()]
    return address.partition(",")[0].strip()


def _street_kinds(street: str, language: Language) -> list[str]:
    """Write the street type ("street", "st.") in each of its forms."""
    forms = [street]
    for names in language.streets:
        if not _find_any(names).search(street):
            continue
        found = next(hit for name in names if (hit := _find_kind(name).search(street)))
        before, after = street[: found.start()], street[found.end() :].strip()
        space = "" if after.startswith(",") else " "
        forms += (f"{before}{other}{space}{after}".strip() for other in names)
        forms += (f"{before}{other}{after}" for other in names if other.endswith("/"))
    return forms


def title_case(text: str) -> str:
    """Convert a name in upper or lower case to title case, which inflection requires.

    text (str): the name in the record.
    RETURNS (str): "VIRTANEN" → "Virtanen"; mixed case ("McDonald") is unchanged.
    """
    return text.title() if len(text) > 1 and (text.isupper() or text.islower()) else text


@cache
def _find_any(names: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern of a street type in any of its forms."""
    return re.compile("|".join(_find_kind(name).pattern for name in names))


@cache
def _find_kind(name: str) -> re.Pattern[str]:
    """The pattern of one form of a street type. A form that ends in a period or slash needs no space after it."""
    return re.compile(rf"(?<!\w){re.escape(name)}" + ("" if name[-1] in "/." else r"(?![\w./])"))


def _as_written(value: str, street: str) -> str:
    """The part of a value that has the given normal form, for inflection, which needs the original letters."""
    for end in range(len(value), 0, -1):
        if normal_form(value[:end]) == street:
            return value[:end].strip()
    return street


def _cases(names: Iterable[str], lang: str, kind: str) -> list[str]:
    """Inflect names, if the language does."""
    if not inflects(lang):
        return []
    return [
        form
        for name in names
        for form in sorted(
            case_forms(name if name.isupper() and len(name) <= _PARTS_LENGTH else title_case(name), lang, kind=kind)
        )
    ]


def _normal(forms: Iterable[str]) -> tuple[str, ...]:
    """Normal forms without repetition."""
    return tuple(dict.fromkeys(form for text in forms if (form := normal_form(text))))
