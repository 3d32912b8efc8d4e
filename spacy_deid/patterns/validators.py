"""Look up validators by the names that rules files use, such as "iban" or "phone:ES,MX".

A validator is a function that takes the text that a rule matched and returns whether it is a valid number or date.
Validators for the identifiers of a country belong to a language (`LanguageData.validators`); this module defines the
international ones. "phone" takes regions after a colon. "given_name" looks a name up in the lists of the language of
the rule, which is faster than a pattern with thousands of alternatives.
"""

import ipaddress
from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType

import phonenumbers

from ..lang import all_languages, get_language, language_codes, resource_folders
from ..lang.validation import (
    Validator,
    compact,
    is_date,
    is_day_month,
    is_day_month_any,
    is_dmy,
    is_luhn,
    is_mdy,
    is_month_year,
    is_ymd,
    read_digits,
)
from .normalization import fold

_VIN_VALUES = dict(
    zip("ABCDEFGHJKLMNPRSTUVWXYZ", (1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 7, 9, *range(2, 10)), strict=True)
)
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def is_card(text: str) -> bool:
    """Whether a text is a payment card number: 13 to 19 digits, a network's first digit, correct Luhn check digit."""
    digits = read_digits(text)
    return 13 <= len(digits) <= 19 and digits[0] in (2, 3, 4, 5, 6) and len(set(digits)) > 1 and is_luhn(text)


def is_iban(text: str) -> bool:
    """Whether a text is an IBAN with correct check digits (ISO 13616)."""
    code = compact(text)
    if not (15 <= len(code) <= 34 and code[:2].isalpha() and code[2:4].isdecimal() and code.isascii()):
        return False
    return int("".join(str(int(char, 36)) for char in code[4:] + code[:4])) % 97 == 1


def is_vin(text: str) -> bool:
    """Whether a text is a vehicle identification number with the correct North American check character (49 CFR
    565.15)."""
    code = compact(text)
    if len(code) != 17 or set("IOQ") & set(code) or not code.isascii():
        return False
    values = [int(char) if char.isdecimal() else _VIN_VALUES[char] for char in code]
    total = sum(value * weight for value, weight in zip(values, _VIN_WEIGHTS, strict=True)) % 11
    return code[8] == ("X" if total == 10 else str(total))


def is_ip(text: str) -> bool:
    """Whether a text is an IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


INTERNATIONAL: Mapping[str, Validator] = MappingProxyType(
    {
        "card": is_card,
        "date": is_date,
        "date_dmy": is_dmy,
        "date_mdy": is_mdy,
        "date_ymd": is_ymd,
        "day_month": is_day_month,
        "day_month_any": is_day_month_any,
        "iban": is_iban,
        "ip": is_ip,
        "luhn": is_luhn,
        "month_year": is_month_year,
        "vin": is_vin,
    }
)
"""Name → validator that belongs to no language."""

_GIVEN_NAME, _NAME_FILES = "given_name", ("names/female.csv", "names/male.csv")
_CHECK_DIGITS = frozenset({"card", "iban", "luhn", "vin"})


def has_check_digit(name: str) -> bool:
    """Check whether a validator tests a check digit or is as strict, so that accepted text is certainly an identifier.

    name (str): name of an existing validator, or "".
    RETURNS (bool): True for "card", "iban", "luhn", "vin" and all validators of languages, which accept at most one
        random number in ten.
    """
    plain = INTERNATIONAL.keys() - _CHECK_DIGITS
    return bool(name) and name.partition(":")[0] not in {"phone", _GIVEN_NAME, *plain}


def validator_names() -> list[str]:
    """List the names of all validators except "phone", which needs regions.

    RETURNS (list[str]): names of the international validators, "given_name", then those of all languages.
    """
    return [*INTERNATIONAL, _GIVEN_NAME, *(name for language in all_languages() for name in language.validators)]


@lru_cache(maxsize=256)
def get_validator(name: str, lang: str = "") -> Validator:
    """Look up a validator by its name.

    name (str): a name of `validator_names`, or "phone:" and region codes (ISO 3166) separated by commas. An empty
        region accepts only numbers with a country code.
    lang (str): code of the language that is searched first, before all others.
    RETURNS (Callable[[str], bool]): the validator.
    RAISES: KeyError if there is none of that name.
    """
    kind, _, regions = name.partition(":")
    if kind == "phone" and all(not r or r in phonenumbers.SUPPORTED_REGIONS for r in regions.split(",")):
        wanted = [region or None for region in regions.split(",")]
        return lambda text: any(_is_valid_phone(text, region) for region in wanted)
    if name == _GIVEN_NAME:
        return lambda text: _begins_with_given_name(text, lang)
    if name in INTERNATIONAL:
        return INTERNATIONAL[name]
    if lang and name in get_language(lang).validators:
        return get_language(lang).validators[name]
    for language in all_languages():
        if name in language.validators:
            return language.validators[name]
    raise KeyError(name)


def _begins_with_given_name(text: str, lang: str) -> bool:
    """Whether a name, or what follows its comma, begins with a given name of the lists of a language."""
    words = text.rpartition(",")[2].split()
    return bool(words) and fold(words[0]) in _given_names(lang)


@cache
def _given_names(lang: str) -> frozenset[str]:
    """Read the given names of a language, or of all languages if it has none, without case and accents."""
    texts = [get_language(lang).read_text(file) for file in _NAME_FILES] if lang in language_codes() else []
    if not any(texts):
        texts = [folder.read_text(file) for folder in resource_folders(_NAME_FILES[0]) for file in _NAME_FILES]
    return frozenset(fold(line.partition(",")[0]) for text in texts for line in text.splitlines()[1:])


def _is_valid_phone(text: str, region: str | None) -> bool:
    """Whether a telephone number is valid in a region by the numbering plans of the phonenumbers library."""
    try:
        return bool(phonenumbers.is_valid_number(phonenumbers.parse(text, region)))
    except phonenumbers.NumberParseException:
        return False
