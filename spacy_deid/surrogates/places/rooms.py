"""Wards and rooms: numbers, doors and names change, the words for them and their endings stay."""

from ..keys import Draw
from ..mention import Mention
from ..persons import fold
from .acronyms import replace_acronym
from .geography import Geography
from .institutions import replace_institution
from .runs import kinds_of
from .state import Note
from .writing import dress, redraw, split_marks, tokens

__all__ = ["replace_department", "replace_room"]

_SHORT = 4  # letters of a code beside a number, such as NW4
_LONGEST_CODE = 7
_NAMES = (
    "Hartwell",
    "Langford",
    "Ashbury",
    "Penrose",
    "Selby",
    "Radcliffe",
    "Holbrook",
    "Marwood",
    "Verney",
    "Wexford",
)


def replace_room(mention: Mention, note: Note) -> str | None:
    """Replace the number of a room or bed.

    mention (Mention): label ROOM.
    note (Note): what the surrogates of the note share.
    RETURNS (Optional[str]): as many digits as before; None for words.
    """
    before, core, after = split_marks(mention.text)
    letters = sum(c.isalpha() for c in core)
    if not any(c.isdigit() for c in core) and letters != 1:
        shouted = core.upper()
        made = replace_acronym(shouted, note, mention.variant) if letters <= _LONGEST_CODE and core.isalpha() else None
        return before + dress(made, core) + after if made else None
    made = note.retry("room", lambda draw: redraw(core, draw), "room", fold(core), str(mention.variant))
    return before + made + after if made else None


def replace_department(mention: Mention, note: Note, geography: Geography) -> str | None:
    """Replace a ward: by its number if it has one, else as an institution.

    mention (Mention): label DEPARTMENT.
    note (Note): what the surrogates of the note share.
    geography (Geography): the places of the note.
    RETURNS (Optional[str]): the surrogate as the mention is written; None if there is none.
    """
    before, core, after = split_marks(mention.text)
    if not any(c.isdigit() for c in core):
        return replace_institution(mention, note, geography)
    context = ("ward", fold(core), str(mention.variant))
    made = note.retry("ward", lambda draw: _renumber(core, draw, note.lang), *context)
    return before + made + after if made else None


def _renumber(core: str, draw: Draw, lang: str) -> str:
    """Numbers and single letters drawn, names replaced, the words for wards kept."""
    out = []
    for gap, word in tokens(redraw(core, draw, letters="ABCDEF")):
        proper = word.isalpha() and len(word) > _SHORT and lang == "en" and fold(word) not in kinds_of(lang)
        out.append(gap + (dress(draw.choice(_NAMES), word) if proper else word))
    return "".join(out)
