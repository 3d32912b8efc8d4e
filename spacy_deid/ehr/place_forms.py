"""Ways of writing addresses, places and the names of institutions."""

import re
from collections.abc import Iterable
from functools import cache

from ..dictionaries.normalise import normal_form
from ..surrogates.inflection import case_forms, inflects
from .languages import Language, load_language
from .name_parts import proper

__all__ = ["city_forms", "phrase_forms", "street_forms", "term_forms", "zip_forms"]

_BRACKETS = re.compile(r"\(([^()]*)\)")
_SAINT = re.compile(r"\b(?:Saint|St\.?) ")
_NUMBER = re.compile(r"\d+[^\W\d_]?\b")
_ACRONYM_LENGTH = 3
_PARTS_LENGTH = 6  # a shorter piece of an institution's name says too little
_SHORT_STREET = 6  # characters of a street's name that stands without a number


def term_forms(value: str, lang: str) -> tuple[str, ...]:
    """A term as it stands.

    value (str): as the record has it.
    lang (str): not used.
    RETURNS (tuple[str, ...]): its normal form.
    """
    return (normal_form(value),)


def zip_forms(value: str, lang: str) -> tuple[str, ...]:
    """A postal code, its first part, and without its separator.

    value (str): as the record has it.
    lang (str): not used.
    RETURNS (tuple[str, ...]): normal forms.
    """
    plain = normal_form(value)
    first, _, rest = plain.partition(" ")
    forms = [plain, plain.replace(" ", "")]
    if rest and first.isdigit() and len(first) == 5:  # ZIP+4
        forms.append(first)
    return tuple(dict.fromkeys(forms))


def city_forms(value: str, lang: str) -> tuple[str, ...]:
    """A town, a province or a region, in its cases; two names of one place apart ("Helsinki / Helsingfors").

    value (str): as the record has it.
    lang (str): ISO 639-1 code.
    RETURNS (tuple[str, ...]): normal forms.
    """
    whole = _BRACKETS.sub(" ", value)
    names = [name.strip() for name in re.split(r"[/,;]", whole)]
    inner = [name.strip() for name in _BRACKETS.findall(value)]
    pieces = [name for name in names + inner if len(name) >= _ACRONYM_LENGTH]
    return _normal([value.strip(), *pieces, *_cases(pieces, lang, "place")])


def phrase_forms(value: str, lang: str) -> tuple[str, ...]:
    """The name of an institution: whole, without brackets, an acronym in them, up to the comma; in its cases.

    value (str): as the record has it.
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
    """A street: the whole address, up to the number of the house, without a number; abbreviated and in full.

    value (str): as the record has it.
    lang (str): ISO 639-1 code.
    RETURNS (tuple[str, ...]): normal forms.
    """
    language = load_language(lang)
    whole = normal_form(value)
    house = _to_house(whole, language)
    pieces = dict.fromkeys([whole, house, house.replace(",", "")])
    street = _without_number(house)
    if len(street) >= _SHORT_STREET and street != whole:
        pieces[street] = None
    forms = [other for piece in pieces for other in _street_kinds(piece, language)]
    if street and inflects(lang):
        number = house.removeprefix(street)
        cases = _cases([_as_written(value, street)], lang, "place")
        forms += [form for case in cases for form in (case, normal_form(case) + number)]
    return _normal(forms)


def _to_house(address: str, language: Language) -> str:
    """An address without floor and door: what stands after the first number that has a street before it."""
    for found in _NUMBER.finditer(address):
        before = address[: found.start()]
        words = before.replace(".", " ").replace(",", " ").split()
        if words and words[-1] in language.within_address:
            return before.rsplit(words[-1], 1)[0].rstrip(" ,.")
        if any(word.isalpha() for word in words):
            return address[: found.end()]
    return address.partition(",")[0].strip()


def _without_number(house: str) -> str:
    """A street without the number of the house, before or after it."""
    after = re.sub(r"[\s,]*(n\.?[ºo°]?\s*)?\d+[^\W\d_]?$", "", house)
    return re.sub(r"^\d+[^\W\d_]?\s+", "", after).strip(" ,")


def _street_kinds(street: str, language: Language) -> list[str]:
    """A street with its kind ("street", "st.") written in each way."""
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


@cache
def _find_any(names: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern of a street's kind in any of its ways."""
    return re.compile("|".join(_find_kind(name).pattern for name in names))


@cache
def _find_kind(name: str) -> re.Pattern[str]:
    """The pattern of a street's kind: a word of its own; what ends in a mark needs no space after it."""
    return re.compile(rf"(?<!\w){re.escape(name)}" + ("" if name[-1] in "/." else r"(?![\w./])"))


def _as_written(value: str, street: str) -> str:
    """The part of a value that a normal form stands for, so that inflection sees its letters."""
    for end in range(len(value), 0, -1):
        if normal_form(value[:end]) == street:
            return value[:end].strip()
    return street


def _cases(names: Iterable[str], lang: str, kind: str) -> list[str]:
    """The cases of names, where the language has any."""
    if not inflects(lang):
        return []
    return [form for name in names for form in sorted(case_forms(_proper(name), lang, kind=kind))]


def _proper(name: str) -> str:
    """Proper case, except of what may be an acronym."""
    return name if name.isupper() and len(name) <= _PARTS_LENGTH else proper(name)


def _normal(forms: Iterable[str]) -> tuple[str, ...]:
    """Normal forms, without repetition."""
    return tuple(dict.fromkeys(form for text in forms if (form := normal_form(text))))
