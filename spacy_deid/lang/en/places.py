"""Make surrogates of English places: streets, institutions, nationalities, and postal codes of the US and the UK."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ..places import (
    SPANISH_DAY,
    Exchange,
    PlaceConventions,
    PostalCodes,
    agrees,
    common_given_names,
    invent_persons,
    listed,
    place_words,
    redraw_code,
    spanish_days,
    word_set,
)
from ..text import DIGITS, Draw, fold, match_style, redraw, tokens

_ORDINAL = re.compile(r"(\d+)(st|nd|rd|th)\b", re.IGNORECASE)
_POST_BOX = re.compile(
    r"(?<!\w)(?:(?:g\.?\s*)?p\.?\s*o\.?\s*|post(?:al)?\s+(?:office\s+)?|private\s+|locked\s+)(?:box|bag|drawer)\b",
    re.IGNORECASE,
)
_SAINTS = ("st", "saint")
_NOUNS = ("n", "i")  # endings of adjectives of nationality that are nouns too: Mexicans, Somalis
_WARD_NAMES = "Hartwell Langford Ashbury Penrose Selby Radcliffe Holbrook Marwood Verney Wexford".split()
# Spanish dates in the names of institutions: "Hospital 12 de octubre".
_MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()


def draw_street(address: str, draw: Draw) -> str:
    """Draw a random English street address to replace another one.

    address (str): the original without punctuation around it: "12 SE Oak Ct #5".
    draw (Draw): source of random numbers.
    RETURNS (str): address with the same kind of street and compass directions, and another name and other numbers.
    """
    words = place_words("en")["streets"]
    if box := _POST_BOX.search(address):
        before, after = address[: box.start()], address[box.end() :]
        return (draw_street(before, draw) if before.strip() else before) + box.group() + redraw(after, draw)
    pieces = re.split(rf"({_ORDINAL.pattern})", address, flags=re.IGNORECASE)[::4]
    ordinals = [*(_draw_ordinal(found, draw) for found in _ORDINAL.finditer(address)), ""]
    drawn = (redraw(piece, draw, letters="ABCDEFGH") + number for piece, number in zip(pieces, ordinals, strict=True))
    types = word_set(words, "types")
    keep = types | word_set(words, "small")
    parts = tokens(_restore_compass(address, "".join(drawn)))
    proper = [i for i, (_, word) in enumerate(parts) if _is_proper(word, keep)]
    last = max((i for i, (_, word) in enumerate(parts) if fold(word) in types), default=-1)
    if not proper and last > 0 and len(parts[last - 1][1]) > 1 and parts[last - 1][1].isalpha():
        proper = [] if _ORDINAL.search(address) else [last - 1]
    out, named = [], False
    for i, (gap, word) in enumerate(parts):
        if i not in proper:
            out.append(gap + word)
        elif not named or i - 1 not in proper:
            saint = i > 0 and fold(parts[i - 1][1]) in _SAINTS
            name = str(draw.choice(_street_saints() if saint else listed(words, "names")))
            out.append(gap + match_style(name, word))
            named = True
    return "".join(out)


@cache
def _street_saints() -> list[str]:
    """Return names of saints, which follow "St" in the name of a street, without apostrophes."""
    return [str(name).replace("'", "") for name in place_words("en")["institutions"]["saints_male"]]


def _is_proper(word: str, keep: frozenset[str]) -> bool:
    """Whether a word belongs to the name of a street."""
    return len(word) > 1 and word[0].isalpha() and fold(word) not in keep


def _restore_compass(address: str, drawn: str) -> str:
    """Put single letters N, S, E and W back into a drawn address of the same length."""
    if len(address) != len(drawn):
        return drawn
    for point in re.finditer(r"\b[NSEWnsew]\b(?=[. ]+[^\W_])", address):
        drawn = drawn[: point.start()] + point.group() + drawn[point.end() :]
    return drawn


def _draw_ordinal(found: re.Match[str], draw: Draw) -> str:
    """Draw another ordinal of as many digits: "33rd" becomes "41st"."""
    number = int(found[1])
    while number == int(found[1]):
        number = int(str(1 + draw.below(9)) + "".join(str(draw.below(10)) for _ in found[1][1:]))
    end = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{end.upper() if found[2].isupper() else end}"


def institution_names(name: str, before: Sequence[str]) -> Sequence[str] | None:
    """Return names that can replace the proper name within the name of an English institution.

    name (str): proper name: a saint, a person, a mountain, a denomination.
    before (Sequence[str]): parts of the institution's name before it.
    RETURNS (Optional[Sequence[str]]): names of the same kind; a possessive for a possessive.
    """
    if SPANISH_DAY.fullmatch(name):
        return spanish_days(name)
    words: Mapping[str, Any] = place_words("en").get("institutions", {})
    parts = name.replace("’", "'").split()
    last = fold(before[-1]).rstrip(".") if before else ""
    if last in ("st", "saint", "sts"):
        return [saint for saint in words["saints_male"] if ("'" in saint) == ("'" in name)]
    if last in ("mount", "mt", "fort", "ft", "lake"):
        return list(words["mounts"])
    if fold(parts[-1]).endswith("'s"):
        return list(words["possessives"])
    given = fold(parts[0])
    if len(parts) > 1 and any(given in common_given_names("en", sex) for sex in ("male", "female")):
        return invent_persons("en", parts, given=True)
    if name.title() in words["denominations"]:
        return list(words["denominations"])
    return list(words["doubles"] if len(parts) > 1 else words["names"])


def nationality_plural(name: str) -> str:
    """Return the plural of a noun of nationality: "Mexicans"."""
    return name + "s"


def nationality_agrees(other: Sequence[str], own: Sequence[str], plural: bool) -> bool:
    """Whether a nationality can replace another one; in the plural only those that are nouns can ("Mexicans")."""
    return other[0].endswith(_NOUNS) if plural else agrees(other, own, plural)


# Postal codes. United States: the first three digits of a ZIP code belong to a state (USPS, Domestic Mail Manual,
# L002). Only those of an area with more than 20,000 inhabitants may be written (HIPAA Safe Harbor,
# 45 CFR 164.514(b)(2)(i)(B)). The inhabitants are those of the Census Bureau's ZIP code tabulation areas, American
# Community Survey 2018 – 2022. An area without any (post boxes, armed forces), or that HHS listed as small by the
# census of 2000, counts as small. United Kingdom: the first letters belong to a post town.
_LIMIT = 20_000
# "Guidance Regarding Methods for De-identification of Protected Health Information", HHS, 2012.
_HHS_2000 = frozenset("036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893".split())
_US = re.compile(r"\d{5}(?:\d{4})?")
_UK = re.compile(r"([A-Z]{1,2})(\d[A-Z\d]?)(\d[A-Z]{2})")
_INWARD = "ABDEFGHJLNPQRSTUWXYZ"  # letters of the second half of a British code
_UK_AREAS = (
    "AB AL BA BB BD BH BL BN BR BS BT CA CB CF CH CM CO CR CT CV CW DA DD DE DG DH DL DN DT DY EH EN EX FK FY GL "
    "GU HA HD HG HP HR HU HX IG IP IV KA KT KY LA LD LE LL LN LS LU ME MK ML NE NG NN NP NR OL OX PA PE PH PL PO "
    "PR RG RH RM SA SE SG SK SL SM SN SO SP SR SS ST SW SY TA TD TF TN TQ TR TS TW UB WA WD WF WN WR WS WV YO B E "
    "G L M N S W"
).split()


def is_small_area(area: str) -> bool:
    """Whether at most 20,000 people live in the area of a ZIP code, so that it must not be released (Safe Harbor).

    area (str): first three digits of the ZIP code.
    RETURNS (bool): True also if the number of inhabitants is not known.
    """
    return area in _HHS_2000 or _inhabitants().get(area, 0) <= _LIMIT


@cache
def _inhabitants() -> dict[str, int]:
    """Read the number of inhabitants of each area, the first three digits of ZIP codes."""
    from .. import get_language

    rows = (line.split(",") for line in get_language("en").read_lines("zip_areas.csv")[1:])
    return {area: int(people) for area, people in rows}


@cache
def states_by_area() -> Mapping[str, str]:
    """Map the first three digits of ZIP codes to the state, written as in places.toml."""
    ranges = (
        (state, *span.split("-"))
        for state, spans in place_words("en").get("zip_areas", {}).items()
        for span in spans.split()
    )
    return {f"{area:03}": state for state, *ends in ranges for area in range(int(ends[0]), int(ends[-1]) + 1)}


def _has_area(code: str) -> bool:
    return _US.fullmatch(code) is not None


def rewrite_code(code: str, area: str, draw: Draw, exchange: Exchange) -> str:
    """Draw a random ZIP code or British postal code to replace another one.

    code (str): letters and digits of the original.
    area (str): first three digits that the new ZIP code should have; "" keeps those of the original, or writes 000 for
        an area with few inhabitants.
    draw (Draw): source of random numbers.
    exchange (Exchange): replaces the post town of a British code, its first letters.
    RETURNS (str): code of the same form. An original of any other form is redrawn character by character.
    """
    if _US.fullmatch(code):
        area = area or ("000" if is_small_area(code[:3]) else code[:3])
        return area + f"{1 + draw.below(99):02}" + redraw_code(code[5:], draw)
    if match := _UK.fullmatch(code):
        town, district, _ = match.groups()
        inward = draw.choice(DIGITS) + draw.choice(_INWARD) + draw.choice(_INWARD)
        alike = [other for other in _UK_AREAS if len(other) == len(town)]
        return exchange(town, alike) + draw.choice(DIGITS[1:]) + redraw_code(district[1:], draw) + inward
    return redraw_code(code, draw)


PLACES = PlaceConventions(
    generic_before="city|county|town|state|province",
    generic_after="county|parish|township|borough|province",
    prepositions="of",
    articles="the",
    nationality_plural=nationality_plural,
    nationality_agrees=nationality_agrees,
    street=draw_street,
    institution_names=institution_names,
    kind_may_be_name=True,
    named_day=SPANISH_DAY,
    lower_case_names=frozenset(_MONTHS),
    ward_names=_WARD_NAMES,
    before_places=frozenset({"of", "at", "in"}),
    not_acronyms=frozenset({"sex", "ass", "tit", "fag", "gay", "kkk", "ss", "sa", "poo", "pee", "die", "hiv"}),
)
POSTAL_CODES = PostalCodes(
    rewrite=rewrite_code,
    has_area=_has_area,
    regions=states_by_area,
    region_before=re.compile(r"([A-Z]{2}|[A-Z][a-z]+(?: [A-Z][a-z]+)?)[\s,.]*$"),  # "TX 79468"
    is_small=is_small_area,
    in_address=re.compile(r"\d{5}(?:-\d{4})?\b"),
)
