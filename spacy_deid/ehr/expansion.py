"""Expand the values of a patient record into the ways in which notes write them, called variants.

Differences of case, accents, hyphens and spaces need no variants, because the store compares normal forms. Variants
are made for the order of names, initials, the parts of double names, particles, nicknames, inflection, joined words,
characters that a scanner misreads, and the formats of dates, phone numbers and identifiers (`value_formats`).

A record often stores a name in one field ("VIRTANEN, Anna Liisa", "Dr. Ana García de la Fuente"), and a surname often
has two parts, so names are split into given names, surnames, particles and titles first. The variants of one name are
cached, because a million patients have only some ten thousand given names.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple
from unicodedata import normalize

from ..dictionaries.normalise import normal_form
from ..errors import ConfigError, Errors
from ..lang.inflection import case_forms, inflects
from .value_formats import (
    city_forms,
    date_forms,
    email_forms,
    id_forms,
    load_language,
    name_words,
    phone_forms,
    phrase_forms,
    street_forms,
    term_forms,
    title_case,
    zip_forms,
)

_WORD = re.compile(r"[^\s\-‐-―]+")
_KEPT_NAMES = 100_000  # names whose parts are cached


def split_words(name: str) -> list[str]:
    """Split a name into words at spaces and hyphens.

    name (str): a name.
    RETURNS (list[str]): the words without surrounding punctuation; initials lose their period.
    """
    words = (word.strip(".,;:()[]\"'’`´") for word in _WORD.findall(name))
    return [word for word in words if any(char.isalpha() for char in word)]


@lru_cache(_KEPT_NAMES)
def split_surnames(surname: str) -> tuple[str, ...]:
    """Split a surname into its parts. A particle ("de la") belongs to the name that follows it.

    surname (str): a surname, such as "García de la Fuente" or "Virtanen-Lahti".
    RETURNS (tuple[str, ...]): the parts, such as ("García", "de la Fuente").
    """
    particles = name_words().particles
    groups: list[str] = []
    held: list[str] = []
    for word in split_words(surname):
        held.append(word)
        if normal_form(word) not in particles:
            groups.append(" ".join(held))
            held = []
    if held:  # only particles remain, so they are names here
        groups.append(" ".join(held))
    return tuple(groups)


def strip_particles(group: str) -> str:
    """Remove the particles of a surname.

    group (str): one part of a surname, such as "de la Fuente".
    RETURNS (str): the part without particles ("Fuente"); unchanged if it contains nothing but particles.
    """
    particles = name_words().particles
    words = [word for word in group.split() if normal_form(word) not in particles]
    return " ".join(words) or group


@lru_cache(_KEPT_NAMES)
def split_full(name: str, lang: str, *, surname_first: bool = False) -> Mapping[str, Sequence[str]]:
    """Split a full name into given names and surnames: at a comma, or else by the naming convention of the language.

    name (str): a full name.
    lang (str): ISO 639-1 code.
    surname_first (bool): whether names without a comma start with the surname.
    RETURNS (Mapping[str, Sequence[str]]): "given" and "surname", each with at most one value. Titles, suffixes and
        credentials are left out.
    """
    words = name_words()
    pieces = [piece.strip() for piece in name.split(",")]
    kept = [piece for piece in pieces[1:] if normal_form(piece).rstrip(".") not in words.credentials]
    first = _without_titles(pieces[0])
    given = " ".join(_without_titles(piece) for piece in kept).strip()
    if given:
        return _parts(given, first)
    listed = first.split()
    while len(listed) > 2 and _bare(listed[-1]) in words.suffixes:
        listed.pop()
    if len(listed) < 2:
        return _parts("", " ".join(listed))
    at = _find_surname(listed, load_language(lang).surnames, surname_first=surname_first)
    first, last = " ".join(listed[:at]), " ".join(listed[at:])
    return _parts(last, first) if surname_first else _parts(first, last)


def _parts(given: str, surname: str) -> Mapping[str, Sequence[str]]:
    """Return the parts that are not empty."""
    return {key: (value,) for key, value in (("given", given), ("surname", surname)) if value}


def _without_titles(text: str) -> str:
    """Remove the titles at the beginning of a name."""
    words = text.split()
    titles = name_words().titles
    while len(words) > 1 and (_bare(words[0]) in titles or normal_form(words[0]) in titles):
        words.pop(0)
    return " ".join(words)


def _bare(word: str) -> str:
    """The normal form of a word without periods."""
    return normal_form(word).replace(".", "")


def _find_surname(words: Sequence[str], surnames: int, *, surname_first: bool) -> int:
    """Find the index at which the second part of a name without a comma starts. At least one given name remains."""
    particles = name_words().particles
    names = [i for i, word in enumerate(words) if normal_form(word) not in particles] or list(range(len(words)))
    taken = min(surnames, max(1, len(names) - 1))
    if surname_first:
        return max(1, min(names[taken - 1] + 1, len(words) - 1))
    at = names[-taken]
    while at > 1 and normal_form(words[at - 1]) in particles:
        at -= 1
    return max(1, at)


_KEPT = 20_000  # names whose variants are cached
_PARTS = frozenset({"given", "middle", "surname", "former", "nickname"})
_OCR_LENGTH = 8  # minimal length; a misread shorter name is another name
_SIDES = 4  # maximal number of given names, middle names and nicknames to combine, each
_SURNAMES = 6
_SPELLED_OUT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"}
)  # spellings on keyboards without these letters
_MISREAD = (("rn", "m"), ("m", "rn"), ("l", "1"), ("o", "0"))


class Form(NamedTuple):
    """A variant: one way in which notes can write a value.

    text (str): the variant in normal form.
    exact (bool): whether only this spelling counts as a match. If False, it can be matched with a spelling error.
    weak (bool): whether the variant matches only in the context of a name, however rare it is. True for initials.
    basis (str): the phrase whose frequency in running text decides whether the variant is also a common word. Many
        variants of a name share one: that of "a. virtanen" and "virtanen, a." is "virtanen,". "" means the variant
        itself.
    """

    text: str
    exact: bool = True
    weak: bool = False
    basis: str = ""

    def __repr__(self) -> str:
        """Show the flags without the text."""
        return f"Form(text=…, exact={self.exact}, weak={self.weak})"


def expand(kind: str, value: str, lang: str) -> list[Form]:
    """Expand one value into its variants. Variants that combine several values ("Virtanen, Anna") are made by
    `expand_person`.

    kind (str): one of `KINDS`.
    value (str): the value in the record; dates in ISO 8601.
    lang (str): ISO 639-1 code.
    RETURNS (list[Form]): distinct variants, of which the first is the normal form of the value; empty if the value is
        invalid for its kind.
    RAISES: ConfigError if the kind (D185) or the language (D184) is unknown.
    """
    if kind not in _EXPANDERS:
        raise ConfigError(Errors.D185.format(kind=kind, known=", ".join(KINDS)))
    load_language(lang)
    return list(_expand(kind, value, lang))


def _expand(kind: str, value: str, lang: str) -> Sequence[Form]:
    """Expand a value. The variants of names are cached."""
    return _expand_part(kind, value, lang) if kind in _PARTS else _distinct_forms(_EXPANDERS[kind](value, lang))


@lru_cache(_KEPT)
def _expand_part(kind: str, value: str, lang: str) -> Sequence[Form]:
    """Expand a part of a name, with a cache."""
    return _distinct_forms(_EXPANDERS[kind](value, lang))


def _distinct_forms(forms: Iterable[Form]) -> tuple[Form, ...]:
    """Drop repeated and empty variants; keep the order."""
    kept: dict[str, Form] = {}
    for form in forms:
        if text := " ".join(form.text.split()):
            kept.setdefault(text, form if text == form.text else form._replace(text=text))
    return tuple(kept.values())


def expand_person(parts: Mapping[str, Sequence[str]], lang: str) -> list[Form]:
    """Expand a person's name into the variants that combine several parts: order, initials, middle names.

    parts (Mapping[str, Sequence[str]]): "given", "middle", "surname", "former", "nickname" → the values.
    lang (str): ISO 639-1 code.
    RETURNS (list[Form]): distinct variants; empty if there are fewer than two parts.
    """
    givens = _distinct(form for name in parts.get("given", ()) for form in _given_sides(name))
    nicknames = _distinct(map(normal_form, parts.get("nickname", ())))
    middles = _distinct(map(normal_form, parts.get("middle", ())))[:_SIDES]
    several = _distinct(map(normal_form, parts.get("surname", ())))
    whole = " ".join(several)  # a record may have one column per surname
    names = [name for kind in ("surname", "former") for name in parts.get(kind, ())]
    surnames = _distinct([whole, *(form for name in names for form in _surname_sides(name))])
    forms = [Form(whole)] if len(several) > 1 else []
    for surname in surnames[:_SURNAMES]:
        tails = [form for form in _cases(surname, lang, "surname") if form != surname] if inflects(lang) else ()
        for given in givens[:_SIDES]:
            forms += _pair(given, surname, tails, middles)
        forms += (Form(f"{nickname} {surname}") for nickname in nicknames[:_SIDES])
    return list(_distinct_forms([*forms, *_initials(givens, middles, surnames)]))


def person_parts(parts: Mapping[str, Sequence[str]], lang: str) -> dict[str, list[str]]:
    """Replace the full names in a person's record by given names and surnames.

    parts (Mapping[str, Sequence[str]]): as for `expand_person`, and "full" → the full names.
    lang (str): ISO 639-1 code; selects the naming convention.
    RETURNS (dict[str, list[str]]): the parts without "full", which `expand_person` accepts.
    """
    result = {kind: list(values) for kind, values in parts.items() if kind != "full"}
    for name in parts.get("full", ()):
        for kind, values in split_full(name, lang).items():
            result.setdefault(kind, []).extend(values)
    return result


def _given(value: str, lang: str) -> Iterator[Form]:
    """Yield the variants of given names: all together, each one, joined, and their nicknames."""
    yield from _nickname(value, lang)
    words = split_words(value)
    names = [normal_form(value), *map(normal_form, words)]
    for nickname in (other for name in names for other in load_language(lang).nicknames.get(name, ())):
        yield from _inflected(nickname, lang, "given")


def _nickname(value: str, lang: str) -> Iterator[Form]:
    """Yield the variants of given names without their nicknames."""
    words = split_words(value)
    for name in [value.strip(" .,;"), *words] if len(words) > 1 else words:
        yield from _inflected(name, lang, "given")
    yield from _slips(words)


def _surname(value: str, lang: str) -> Iterator[Form]:
    """Yield the variants of surnames: all together, each one, without particles, joined."""
    groups = split_surnames(value)
    whole = " ".join(groups)
    for name in _distinct([whole, *groups, *map(strip_particles, groups)]):
        yield from _inflected(name, lang, "surname")
    yield from (Form(normal_form(group).replace(" ", ""), exact=False) for group in groups if " " in group)
    yield from _slips(split_words(value))


def _full(value: str, lang: str) -> Iterator[Form]:
    """Yield the variants of a full name: those of its parts, and those that combine them."""
    yield Form(normal_form(value), exact=False)
    parts = split_full(value, lang)
    for kind, values in parts.items():
        yield from (form for part in values for form in _expand(kind, part, lang))
    yield from expand_person(parts, lang)


def _slips(words: Sequence[str]) -> Iterator[Form]:
    """Yield variants with words joined, without apostrophes, with umlauts spelled out, or misread by OCR."""
    plain = [normal_form(word) for word in words if len(word) > 1]
    if len(plain) > 1:
        yield Form("".join(plain), exact=False)
    spelled = (normal_form(normalize("NFC", word).lower().translate(_SPELLED_OUT)) for word in words)
    yield from (Form(new, exact=False) for old, new in zip(words, spelled, strict=True) if new != normal_form(old))
    for word in plain:
        if "'" in word:
            yield Form(word.replace("'", ""), exact=False)
            yield Form(normal_form(word.replace("'", " ")))
        if len(word) >= _OCR_LENGTH:
            yield from (Form(word.replace(old, new)) for old, new in _MISREAD if old in word)


def _inflected(name: str, lang: str, kind: str) -> Iterator[Form]:
    """Yield a name and its inflected forms; nothing for a single letter."""
    if len(name) < 2:
        return
    yield Form(normal_form(name), exact=False)
    if inflects(lang):
        yield from (Form(form, exact=False) for form in _cases(name, lang, kind))


@lru_cache(_KEPT)
def _cases(name: str, lang: str, kind: str) -> tuple[str, ...]:
    """The normal forms of a name's inflected forms, sorted."""
    return tuple(sorted({normal_form(form) for form in case_forms(title_case(name), lang, kind=kind)}))


@lru_cache(_KEPT)
def _given_sides(name: str) -> tuple[str, ...]:
    """The given names to combine with a surname: all together, and the first alone."""
    words = [normal_form(word) for word in split_words(name)]
    return tuple(_distinct([" ".join(words), *words[:1]]))


@lru_cache(_KEPT)
def _surname_sides(name: str) -> tuple[str, ...]:
    """The surnames to combine with a given name: all together, each one, and the first without its particles."""
    groups = split_surnames(name)
    return tuple(_distinct(map(normal_form, [" ".join(groups), *groups, *map(strip_particles, groups[:1])])))


def _pair(given: str, surname: str, tails: Sequence[str], middles: Sequence[str]) -> Iterator[Form]:
    """Combine a given name and a surname in both orders, and with initials."""
    i = given[0]
    both, marked = f"{given} {surname}", f"{surname},"
    whole = [both, f"{surname}, {given}", f"{surname} {given}", *(f"{given} {tail}" for tail in tails)]
    dotted = [f"{i}. {surname}", f"{i}.{surname}", f"{surname}, {i}.", f"{surname} {i}."]
    dotted += [f"{i}. {tail}" for tail in tails]
    for middle in middles:
        m = middle[0]
        whole += (f"{given} {middle} {surname}", f"{surname}, {given} {middle}", f"{given} {m} {surname}")
        whole += (f"{given} {m}. {surname}", f"{surname}, {given} {m}", f"{surname} {given} {m}")
        dotted += (f"{i}. {m}. {surname}", f"{i}.{m}. {surname}")
    yield from (Form(text, True, False, both) for text in whole)
    yield from (Form(text, True, False, marked) for text in dotted)
    yield from (Form(text, True, False, surname) for text in (f"{i} {surname}", f"{surname} {i}"))


def _initials(givens: Sequence[str], middles: Sequence[str], surnames: Sequence[str]) -> Iterator[Form]:
    """Yield variants that consist of initials: "A.V.", "A. L. V.", "AV"."""
    if not givens or not surnames:
        return
    lasts = "".join(strip_particles(group)[0] for group in split_surnames(surnames[0]))
    firsts = "".join(word[0] for word in f"{givens[0]} {' '.join(middles)}".split())
    for letters in _distinct(first + last for first in (firsts[0], firsts) for last in (lasts[:1], lasts[:2])):
        yield Form("".join(f"{letter}." for letter in letters), weak=True)
        yield Form(" ".join(f"{letter}." for letter in letters), weak=True)
        yield Form(letters, weak=True)


def _distinct(texts: Iterable[str]) -> list[str]:
    """Drop repeated and empty texts; keep the order."""
    return [text for text in dict.fromkeys(texts) if text]


def _exact(make: Callable[[str, str], Iterable[str]]) -> Callable[[str, str], Iterator[Form]]:
    """Make an expander whose variants must be matched exactly."""
    return lambda value, lang: map(Form, make(value, lang))


_EXPANDERS: Mapping[str, Callable[[str, str], Iterator[Form]]] = MappingProxyType(
    {
        "given": _given,
        "middle": _given,
        "surname": _surname,
        "former": _surname,
        "nickname": _nickname,
        "full": _full,
        "clinician": _full,
        "birth_date": _exact(date_forms),
        "date": _exact(date_forms),
        "phone": _exact(phone_forms),
        "email": _exact(email_forms),
        "id": _exact(id_forms),
        "street": _exact(street_forms),
        "zip": _exact(zip_forms),
        "city": _exact(city_forms),
        "state": _exact(city_forms),
        "clinic": _exact(phrase_forms),
        "location": _exact(phrase_forms),
        "organization": _exact(phrase_forms),
        "term": _exact(term_forms),
    }
)
KINDS = tuple(_EXPANDERS)
"""Kinds of values. "id" is any identifier, "full" a full name, "term" any text that is matched without variants."""
