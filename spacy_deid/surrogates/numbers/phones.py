"""Replace telephone numbers by numbers from ranges that are not assigned to anybody.

The ranges come from the numbering plans of all languages (`spacy_deid.lang.phones`). For a country without a plan,
the digits after the country code are random, but never a number that is valid in the numbering plan of the country
(package phonenumbers, from the plans that the ITU publishes). For a number without a country code, this holds for all
countries of the language. If possible, such a number keeps its first digit, which tells mobile numbers from landlines
in many countries. The rest of the area code is replaced, because it identifies a region smaller than a state. The
format is kept: trunk prefix, country code, extension, blanks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import phonenumbers

from ...lang import all_languages, get_language
from ...lang.phones import NumberingPlan, NumberRange
from ...lang.text import DIGITS
from ..keys import Draw, FormatPreservingCipher
from .identifiers import Layout

_COUNTRY = re.compile(r"[\s(]*(?:\+|00(?!0))\s*\(?")
_LETTER = re.compile(r"[^\W\d_]|[;,#*~]")  # of an extension or a word
_TRIES = 200
_KEEPING = 60  # of these tries keep the first digit
_LOCAL = 7  # digits: a shorter number is an extension, whose first digit is not kept


@cache
def _plans() -> Mapping[str, NumberingPlan]:
    """Return a dict of country code → numbering plan, for all languages."""
    return {code: plan for language in all_languages() for code, plan in language.phones.plans.items()}


@cache
def _extension() -> re.Pattern[str]:
    """Return a regular expression for an extension at the end of a number, with the words of all languages."""
    words = "|".join(word for language in all_languages() for word in language.phones.extension_words)
    return re.compile(rf"(?i)(?:\b(?:{words})|#)[\s.:]*([\d-]{{1,7}})\s*$")


def read_phone(text: str, lang: str, country_of_note: str = "") -> "Phone | None":
    """Parse a telephone number into country code, national number and extension.

    text (str): the mention.
    lang (str): ISO 639-1 code, which determines the country of a number without a country code.
    country_of_note (str): ISO 3166-1 code of the country of a number without a country code, if the number is valid
        there; "" if unknown.
    RETURNS (Optional[Phone]): the number; None if the text contains other letters than the word for an extension.
    """
    extension = _extension().search(text)
    end = extension.start() if extension else len(text)
    tail = [extension.span(1)] if extension else []
    match = _COUNTRY.match(text)
    digits = [i for i in range(match.end() if match else 0, end) if text[i].isdecimal()]
    country, start = None, 0  # the country code, and the offset after it
    if not match or len(digits) < 7:
        country = _home_country("".join(text[i] for i in digits), lang, country_of_note)
    else:
        found = "".join(text[i] for i in digits[:3])
        codes = (found[:width] for width in (1, 2, 3))
        country = next((code for code in codes if int(code) in phonenumbers.COUNTRY_CODE_TO_REGION_CODE), None)
        start = digits[len(country)] if country else 0
    main = Layout(text, (start, end))
    if not main.code.isdecimal() and (main.code or not tail):
        return None
    abroad = country is not None and start > 0
    number = main.code if abroad or country != "1" or len(main.code) != 11 else main.code[1:]
    if len(number) != len(main.code):  # 1 before an area code
        start = main.positions[0] + 1
    plan = _plans().get(country or "")
    trunk = plan.trunk_prefix if plan else ""
    bare = abroad and bool(trunk) and not number.startswith(trunk)
    national = trunk + number if bare else number
    unassigned = plan.unassigned(national) if plan else None
    layout = Layout(text, (start, end), *tail)
    conventions = get_language(lang).phones
    is_certain = country is not None and (abroad or country == _country_code(country_of_note))
    countries = [country] if is_certain and country else [*conventions.plans, *conventions.other_countries]
    own = country if unassigned and country else ""
    return Phone(layout, own, national, unassigned, len(trunk) if bare else 0, countries)


def _country_code(region: str) -> str | None:
    """Return the telephone country code of a country, given by its ISO 3166-1 code; None for ""."""
    return str(phonenumbers.country_code_for_region(region)) if region else None


def _home_country(digits: str, lang: str, country_of_note: str) -> str | None:
    """Return the country code of a number without one; None if it is unknown."""
    if country_of_note and is_valid_in(digits, country_of_note):
        return _country_code(country_of_note)
    return get_language(lang).phones.home_country(digits)


class Phone:
    """A telephone number in a mention, with methods to replace it; see `ParsedNumber`.

    layout (Layout): positions of the digits to replace, those of an extension last.
    country (str): country code; "" if there is no numbering plan for it.
    number (str): the national number, including its trunk prefix.
    unassigned (Optional[NumberRange]): the range of unassigned numbers for surrogates; None to draw all digits at
        random.
    unwritten (int): length of a trunk prefix that `number` has but the mention does not, as after a country code.
    countries (Sequence[str]): country codes of the countries in which a random surrogate must not be a valid number.
    """

    def __init__(
        self,
        layout: Layout,
        country: str,
        number: str,
        unassigned: NumberRange | None,
        unwritten: int,
        countries: Sequence[str] = (),
    ) -> None:
        self._layout, self._range, self._number, self._unwritten = layout, unassigned, number, unwritten
        self._countries = countries
        self._extension = layout.code[len(number) - unwritten :]
        self._national = f"{country}:{number}"
        self.identity = f"{self._national};{self._extension}"

    def __repr__(self) -> str:
        return "Phone(…)"

    def candidates(self, cipher: FormatPreservingCipher, variant: int) -> Iterator[str]:
        """Yield random surrogates: national number with trunk prefix, followed by the digits of the extension."""
        for attempt in range(_TRIES):
            draw = cipher.draw("phone", self._national, str(variant), str(attempt))
            if self._range:
                number = draw.choice(self._range.prefixes) + _draw_digits(draw, self._range.digits)
            else:
                number = self._draw_number(draw, attempt < _KEEPING)
                if any(_is_valid(number, country) for country in self._countries):
                    continue
            inside = cipher.draw("extension", self.identity, str(variant), str(attempt))
            yield number[: len(self._number)] + _draw_digits(inside, len(self._extension))

    def _draw_number(self, draw: Draw, keep_first: bool) -> str:
        """Draw a number of a country without a plan. Only a digit that is 0 in the original can become 0.

        keep_first (bool): whether the first digit after the trunk prefix 0 is kept.
        """
        kept = int(self._number[:1] == "0") + int(keep_first and len(self._number) >= _LOCAL)
        rest = self._number[kept:]
        return self._number[:kept] + "".join(draw.choice(DIGITS if digit == "0" else DIGITS[1:]) for digit in rest)

    def write(self, value: str) -> str:
        """Return the mention with its digits replaced by those of a surrogate."""
        return self._layout.write(value[self._unwritten :])


def is_valid_in(text: str, region: str) -> bool:
    """Whether a telephone number is valid in the numbering plan of a country, with or without the country code.

    text (str): the number, with or without its trunk prefix.
    region (str): ISO 3166-1 code of the country.
    RETURNS (bool): as `phonenumbers` says for a number that is dialled in the country.
    """
    if not _may_be_valid(text, region):
        return False
    try:
        return phonenumbers.is_valid_number_for_region(phonenumbers.parse(text, region), region)
    except phonenumbers.NumberParseException:
        return False


def _may_be_valid(text: str, region: str) -> bool:
    """Whether a number has a form that can be valid in a country. It is much faster than to parse the number."""
    plan = _numbering(region)
    if plan is None or _LETTER.search(text) or not text.isascii():
        return True
    forms = {"".join(filter(str.isdecimal, text))}
    for prefix in (plan.abroad, plan.code, plan.trunk):
        forms |= {form[found.end() :] for form in forms if (found := prefix.match(form))}
    return any(map(plan.national.fullmatch, forms))


class _Numbering(NamedTuple):
    """Patterns of the parts of telephone numbers in a country: prefix for calls abroad, country code, trunk prefix and
    national number.
    """

    abroad: re.Pattern[str]
    code: re.Pattern[str]
    trunk: re.Pattern[str]
    national: re.Pattern[str]


@cache
def _numbering(region: str) -> _Numbering | None:
    """Return the patterns of a country; None if numbers are rewritten when they are parsed, as those of Argentina."""
    data = phonenumbers.PhoneMetadata.metadata_for_region(region)
    if data is None or data.general_desc is None or data.national_prefix_transform_rule:
        return None
    trunk, national = data.national_prefix_for_parsing, data.general_desc.national_number_pattern
    parts = (data.international_prefix, str(data.country_code), trunk, national)
    abroad, code, before, number = (re.compile(part or "(?!)") for part in parts)
    return _Numbering(abroad, code, before, number)


def _is_valid(number: str, country: str) -> bool:
    """Whether a national number, with or without its trunk prefix, is valid in the plan of a country code."""
    region = phonenumbers.COUNTRY_CODE_TO_REGION_CODE[int(country)][0]
    if not _may_be_valid(number, region):
        return False
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(number, region))
    except phonenumbers.NumberParseException:
        return False


def _draw_digits(draw: Draw, digits: int) -> str:
    """Draw a string of the given number of random digits; "" for none."""
    return f"{draw.below(10**digits):0{digits}}" if digits > 0 else ""
