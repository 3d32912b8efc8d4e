"""Replace streets, rooms, wards, postal codes, and mentions that contain several parts of an address.

A postal code becomes one of the region or town that replaces its own, if the language defines how codes are assigned
(`spacy_deid.lang.places.PostalCodes`). Otherwise its digits and letters are replaced at random. Spanish codes are
replaced together with the provinces (`Geography.replace`).
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from ...lang import get_language
from ...lang.text import fold, match_style, redraw, split_marks, tokens
from ..keys import Draw
from ..mention import Mention
from ..numbers.identifiers import Layout
from .gazetteer import Place, load_gazetteer
from .geography import Geography
from .institutions import institution_words, is_institution, replace_acronym, replace_institution

_SHORT = 4  # letters of a code beside a number, such as NW4
_LONGEST_CODE = 7  # letters of a room's name that is replaced like an acronym
_TRIES = 200
_NEAR = 40  # characters after a postal code in which its town is searched
_WORD = re.compile(r"[^\W\d_][\w-]*")
_LETTERS = re.compile(r"[^\W\d_]{3}")
_ZIP = r"\d{5}(?:-\d{4})?\b"
_GAPS = re.compile(rf"(\s*[,;()\n]+\s*|\s+-\s+|\s+(?={_ZIP})|(?<=\d{{5}})\s+|\s+(?=[A-Z]{{2}}\b))")


def replace_street(mention: Mention, geography: Geography) -> str | None:
    """Replace a street address by a drawn one in the same format. None if the language has no rules for streets."""
    before, core, after = split_marks(mention.text)
    draw_street = get_language(geography.lang).places.street
    if not core or draw_street is None:
        return None
    context = (fold(core), str(mention.variant))
    made = geography.state.retry("street", lambda draw: draw_street(core, draw), *context)
    return before + made + after if made else None


def replace_room(mention: Mention, geography: Geography) -> str | None:
    """Replace the number or code of a room or bed.

    RETURNS (Optional[str]): the room with other digits, or another acronym for a short name. None for a longer
        name, and for a name with a number if the language has no list of words for institutions.
    """
    before, core, after = split_marks(mention.text)
    letters = sum(c.isalpha() for c in core)
    if letters > _LONGEST_CODE and not institution_words(geography.lang):
        return None
    if not any(c.isdigit() for c in core) and letters != 1:
        short = letters <= _LONGEST_CODE and core.isalpha()
        made = replace_acronym(core.upper(), geography.state, mention.variant) if short else None
        return before + match_style(made, core) + after if made else None
    context = ("room", fold(core), str(mention.variant))
    made = geography.state.retry("room", lambda draw: redraw(core, draw), *context)
    if made is None and core.isdecimal():  # all rooms with as many digits are in the note
        made = geography.state.retry("room", lambda draw: draw.choice("123") + redraw(core, draw), "wide", *context)
    return before + made + after if made else None


def replace_department(mention: Mention, geography: Geography) -> str | None:
    """Replace the name of a hospital department or ward.

    In a numbered ward, the numbers, single letters and names are replaced. Any other department is replaced as an
    institution is.

    RETURNS (Optional[str]): the surrogate, with the capitals of the mention; None if there is none, or if the
        language has no list of words for wards, without which names cannot be recognized.
    """
    before, core, after = split_marks(mention.text)
    if not any(c.isdigit() for c in core):
        return replace_institution(mention, geography)
    kinds, names = institution_words(geography.lang), get_language(geography.lang).places.ward_names
    if not kinds:
        return None

    def redraw_ward(draw: Draw) -> str:
        out = []
        for gap, word in tokens(redraw(core, draw, letters="ABCDEF")):
            proper = names and word.isalpha() and len(word) > _SHORT and fold(word) not in kinds
            out.append(gap + (match_style(draw.choice(names), word) if proper else word))
        return "".join(out)

    made = geography.state.retry("ward", redraw_ward, "ward", fold(core), str(mention.variant))
    return before + made + after if made else None


# --- postal codes ---


def replace_postal_code(mention: Mention, geography: Geography) -> str | None:
    """Replace a postal code and keep its format. None if the mention contains words, or if no code is free."""
    layout, state = Layout(mention.text), geography.state
    if layout.has_words or not any(char.isdecimal() for char in layout.code):
        return None
    options = _draw_codes(layout.code, _find_areas(layout.code, mention, geography), geography, str(mention.variant))
    decision = ("zip", layout.code, mention.variant)
    made = state.once(decision, lambda: next((new for new in options if state.take("zip", layout.write(new))), None))
    return None if made is None else layout.write(made)


def _find_areas(code: str, mention: Mention, geography: Geography) -> Sequence[str]:
    """Return the possible first digits of the new code: those of the region or town that replaces its own; () if
    unknown.
    """
    postal = get_language(geography.lang).postal_codes
    if not postal.has_area(code):
        return ()
    if towns := postal.towns():
        town = _find_town(code, mention, geography, towns)
        made = geography.place(town, mention.variant) if town else None
        found = geography.find(made) if made else None
        areas = _areas_by_place(geography.lang)
        return areas.get(found[0].name) or areas.get(found[0].region, ()) if found else ()
    before = postal.region_before.search(mention.before) if postal.region_before else None
    named = geography.find(before[1], "STATE") if before else None
    regions = postal.regions()
    region = (
        named[0].region if named and named[0].region in regions.values() else regions.get(code[: postal.area_digits])
    )
    other = geography.region(region, mention.variant) if region else None
    return [area for area, name in regions.items() if name == other and not postal.is_small(area)]


def _find_town(code: str, mention: Mention, geography: Geography, towns: Mapping[str, Sequence[str]]) -> Place | None:
    """Return the town that a postal code belongs to: the first one after it ("02100 Espoo"), else one with such a
    code; None if no listed town has it.
    """
    for word in _WORD.findall(mention.after[:_NEAR].partition("\n")[0]):
        found = geography.find(word)
        if found and found[0].kind == "city":
            return found[0]
    for part in (code, code[: get_language(geography.lang).postal_codes.area_digits]):
        for name, codes in towns.items():
            if any(own.startswith(part) for own in codes) and (found := geography.find(name)):
                return found[0]
    return None


@cache
def _areas_by_place(lang: str) -> Mapping[str, Sequence[str]]:
    """Return a dict: town or region → the first digits of its postal codes, sorted."""
    areas: dict[str, dict[str, None]] = defaultdict(dict)
    gazetteer, postal = load_gazetteer(lang), get_language(lang).postal_codes
    for town, codes in postal.towns().items():
        own = {code[: postal.area_digits]: None for code in codes}
        areas[town].update(own)
        for place in gazetteer.find(town):
            if place.kind == "city":
                areas[place.region].update(own)
    return {name: tuple(sorted(found)) for name, found in areas.items()}


def _draw_codes(code: str, areas: Sequence[str], geography: Geography, variant: str) -> Iterator[str]:
    """Yield codes that can replace a postal code. Codes of the same area are replaced by codes of the same area."""
    postal, cipher = get_language(geography.lang).postal_codes, geography.state.cipher

    def exchange(area: str, all_areas: Sequence[str]) -> str:
        """Replace an area by the next one in an order drawn with the key, so that no two areas become the same."""
        if area not in all_areas:
            return cipher.draw("areas", area, variant).choice(all_areas)
        order = cipher.draw("areas", str(len(all_areas)), variant).shuffled(all_areas)
        return order[(order.index(area) + 1) % len(order)]

    for attempt in range(_TRIES):
        draw = cipher.draw("postal code", code, variant, str(attempt))
        own = code[: postal.area_digits]
        area = cipher.draw("zip area", own, variant).choice(areas) if areas else ""
        yield postal.rewrite(code, area, draw, exchange)


# --- several parts in one mention ---


def is_mixed(mention: Mention, geography: Geography) -> bool:
    """Whether a mention of a place contains words and numbers, or is the name of an institution."""
    if any(char.isdecimal() for char in mention.text):
        return mention.label != "COUNTRY" and _LETTERS.search(mention.text) is not None
    return is_institution(mention.text, geography.lang) and geography.find(mention.text.strip()) is None


def replace_mixed(mention: Mention, geography: Geography) -> str | None:
    """Replace a mention that contains several parts of an address, such as "12 Oak St., Fresno, CA 93701".

    RETURNS (Optional[str]): the mention with all parts replaced; None if a part has no surrogate.
    """
    if not any(char.isdecimal() for char in mention.text):
        return replace_institution(mention, geography)
    in_address = get_language(geography.lang).postal_codes.in_address
    out, before = [], mention.before
    for i, piece in enumerate(_GAPS.split(mention.text)):
        part, words, made = mention._replace(text=piece, before=before), _LETTERS.search(piece), None
        if i % 2 or not piece:
            made = piece
        elif not any(char.isdecimal() for char in piece):
            made = geography.replace(part) if words or piece.isupper() else piece
        elif words:
            made = replace_street(part, geography)
        elif in_address and in_address.fullmatch(piece):
            made = replace_postal_code(part, geography)
        else:
            made = geography.replace(part)
        if made is None:
            return None
        out.append(made)
        before += piece
    return "".join(out)
