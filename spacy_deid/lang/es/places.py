"""Make surrogates of Spanish places: towns with articles, streets, institutions, nationalities and postal codes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..places import (
    SPANISH_DAY,
    PlaceConventions,
    PostalCodes,
    common_given_names,
    common_surnames,
    invent_persons,
    listed,
    place_words,
    spanish_days,
    word_set,
)
from ..text import Draw, fold, match_style, redraw, tokens

MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()

_ARTICLE = re.compile(r"\b(d?el|la|los|las)\s+$", re.IGNORECASE)
_ARTICLES = frozenset("el la los las".split())
_LADIES = frozenset("infanta reina princesa condesa duquesa marquesa".split())
_GENTLEMEN = frozenset("infante rey principe conde duque marques don doctor dr prof profesor padre obispo".split())
# The name of a street ends before its first number, door or comma; "12 de Octubre" is part of a name.
_STREET = re.compile(
    r"(?P<name>(?:\d+\s+de\s+[^\W\d_]+|[^\d,;#]|\d+(?=\s+de\s+[^\W\d_]{4,}))*?)"
    r"(?P<rest>(?:[\s,;.-]*(?:s\s*/\s*n|(?<!\w)(?:sn\b|n\s?[ºo°]\.?\s*\d|núm|num|no\.\s*\d|km\b)|#|\d)|[,;]).*)?",
    re.IGNORECASE | re.DOTALL,
)
_NAMED_DAY = re.compile(r"\s*\d+\s+de\s+[^\W\d_]{4,}", re.IGNORECASE)
_POST_BOX = re.compile(r"(?:apartado|apdo\.?)(?: (?:de )?correos)?(?=\W)", re.IGNORECASE)
_NUMBER_SIGN = re.compile(r"((?<!\w)n\s[ºo°])", re.IGNORECASE)  # the letter of "n º 4" is not a door
_PERSONS = 0.5  # share of streets that get the name of a person, so that the list does not show the surrogates


def find_article(before: str) -> str:
    """Return the article that the text before a town ends in, such as "la" for "a la "; "" if there is none."""
    found = _ARTICLE.search(before)
    return found[1].lower().removeprefix("d") if found else ""


def nationality_plural(name: str) -> str:
    """Return the plural of an adjective of nationality: "peruanos", "marroquíes", "portugueses"."""
    if name[-1] in "aeoé":
        return name + "s"
    return (name[:-2] + "eses" if name.endswith("és") else name + "es").replace("ánes", "anes")


def draw_street(address: str, draw: Draw) -> str:
    """Draw a random Spanish street address to replace another one.

    address (str): the original without punctuation around it: kind of street, name, numbers ("Avda. de Lugo, 21, 7
        A").
    draw (Draw): source of random numbers.
    RETURNS (str): address with the same kind of street and floor, and another name, numbers and doors.
    """
    words = place_words("es")["streets"]
    kind, rest = _split_kind(address, word_set(words, "types"))
    day = _NAMED_DAY.match(rest)
    found = _STREET.fullmatch(rest[day.end() :] if day else rest)
    name, tail = (found["name"], found["rest"] or "") if found else (rest, "")
    name = day.group() + name if day else name
    if not name.strip():
        return kind + _redraw_numbers(rest, words, draw)
    blank = name[: len(name) - len(name.lstrip())]
    new = _street_name(name.split(), bool(kind), words, draw)
    blank = blank or (" " if kind[-1:].isalpha() else "")
    new = match_style(new, name.strip()) if name.strip()[-1:].isupper() or name.strip().islower() else new
    return kind + blank + new + _redraw_numbers(tail, words, draw)


def _street_name(parts: list[str], has_kind: bool, words: Mapping[str, Any], draw: Draw) -> str:
    """Draw a listed street name; in half of the cases, if the original is capitalized, the name of a person."""
    if parts[0].istitle() and draw.chance(_PERSONS):
        return draw.choice(_persons(parts, given=len(parts) > 1))
    return str(draw.choice([name for name in listed(words, "names") if has_kind or name[0].isupper()]))


def _split_kind(address: str, types: frozenset[str]) -> tuple[str, str]:
    """Split the kind of street with its punctuation from the rest; the kind is "" if there is none."""
    if box := _POST_BOX.match(address):
        return box.group(), address[box.end() :]
    found = re.match(r"([^\W\d_]+[ºª]?)([./\\ªº]*)", address)
    if found is None or not types & {fold(found[1]), fold(found[1]) + "/"} or found.end() == len(address):
        return "", address
    return address[: found.end()], address[found.end() :]


def _redraw_numbers(tail: str, words: Mapping[str, Any], draw: Draw) -> str:
    """Draw numbers and doors anew and keep floors; replace any other word by the name of a street."""
    small = word_set(words, "small") | word_set(words, "types")
    out = []
    drawn = "".join(
        piece if _NUMBER_SIGN.fullmatch(piece) else redraw(piece, draw, letters="ABCDEF")
        for piece in _NUMBER_SIGN.split(tail)
    )
    for gap, word in tokens(drawn):
        known = not word or not any(c.isalpha() for c in word) or len(word) < 3 or fold(word) in small
        one_word = [name for name in listed(words, "names") if " " not in name] if not known else []
        out.append(gap + (word if known else match_style(str(draw.choice(one_word)), word)))
    return "".join(out)


def institution_names(name: str, before: Sequence[str]) -> Sequence[str] | None:
    """Return names that can replace the proper name within the name of a Spanish institution.

    name (str): proper name: a saint, a person, a date, a place.
    before (Sequence[str]): parts of the institution's name before it. An article or title decides the gender.
    RETURNS (Optional[Sequence[str]]): names of the same kind; None if the name is a town.
    """
    words: Mapping[str, Any] = place_words("es").get("institutions", {})
    parts = name.split()
    first, last = fold(parts[0]), fold(before[-1]) if before else ""
    if SPANISH_DAY.fullmatch(name):
        return spanish_days(name)
    if first in MONTHS and len(parts) == 1:
        return [month.capitalize() for month in MONTHS]
    if first in ("san", "sant", "santo"):
        saints = words["saints_male"] if first != "santo" else ["Domingo", "Tomás", "Toribio"]
        return [f"{parts[0]} {saint}" for saint in saints]
    if first in ("santa", "sta"):
        return [f"{parts[0]} {saint}" for saint in words["saints_female"]]
    if first in ("virgen", "verge", "mare"):
        return [f"Virgen {virgin}" for virgin in words["virgins"]]
    if first in ("nuestra", "ntra"):
        return [f"{' '.join(parts[:2])} {virgin}" for virgin in words["virgins"]]
    if last in _LADIES:
        return list(words["titled_female"])
    male = common_given_names("es", "male")
    if last in _GENTLEMEN or first in male or first in common_given_names("es", "female"):
        return _persons(parts, given=last not in _GENTLEMEN or first in male)
    return _names_after_article(parts, before, words, last)


def _names_after_article(
    parts: Sequence[str], before: Sequence[str], words: Mapping[str, Any], last: str
) -> Sequence[str] | None:
    """Return names that can follow the words before them: with the same article or "del" ("La [Paz]", "del
    [Henares]"), otherwise names with as many parts as the original.

    parts (Sequence[str]): words of the name to replace.
    before (Sequence[str]): parts of the institution's name before it.
    words (Mapping[str, Any]): the lists of names in places.toml.
    last (str): last word before the name, folded.
    RETURNS (Optional[Sequence[str]]): the names; None after "de", where any name is possible.
    """
    earlier = fold(before[-2]) if len(before) > 1 else ""
    if last == "del" or (last in _ARTICLES and earlier == "de"):
        start = "del " if last == "del" else f"de {last} "
        return [name[len(start) :] for name in words["toponyms"] if name.startswith(start)]
    if last in _ARTICLES:
        return [name[len(last) + 1 :] for name in words["names"] if name.lower().startswith(last + " ")]
    if last == "de":
        return None
    if len(parts) > 2:
        return [f"{first} {name}" for first in words["compounds"] for name in words["toponyms"]]
    single = [*words["single"], *common_surnames("es")[:150]]
    return single if len(parts) == 1 else [f"{a} {b}" for a, b in zip(single, reversed(single), strict=True) if a != b]


def _persons(parts: Sequence[str], *, given: bool) -> list[str]:
    """Return names of persons; two surnames for a name of three words or more."""
    return invent_persons("es", parts, given=given, surnames=2 if len(parts) > 2 else 1)


def draw_local_part(digits: str, draw: Draw) -> str:
    """Draw random last three digits for a Spanish postal code.

    digits (str): the last three digits of the original. If the first one is 0, the code belongs to the capital of the
        province.
    draw (Draw): source of random numbers.
    RETURNS (str): three digits; those of a capital are replaced by those of a capital.
    """
    return f"0{1 + draw.below(40):02}" if digits[0] == "0" else f"{1 + draw.below(9)}{draw.below(100):02}"


PLACES = PlaceConventions(
    article=find_article,
    generic_before="isla|islas|provincia|municipio|villa|barrio|ciudad|comarca|valle|departamento|estado|región|distrito|"
    "partido",
    generic_after="metropolitana",
    prepositions="de|del",
    articles="la|las|los|el",
    nationality_plural=nationality_plural,
    street=draw_street,
    institution_names=institution_names,
    towns_are_names=True,
    not_towns=frozenset("san santa santo la el los las nuestra virgen".split()),
    named_day=SPANISH_DAY,
    lower_case_names=frozenset(MONTHS),
    before_places=frozenset({"de", "d", "en"}),
    after_titles=frozenset({"de", "del"}),
    not_acronyms=frozenset({"sida", "eta", "pis"}),
)
# The first two digits are the province (Correos); their table is in places.toml.
POSTAL_CODES = PostalCodes(
    province=re.compile(r"(?:es?-)?(\d\d)[ .]?\d{3}", re.IGNORECASE), local_part=draw_local_part
)
