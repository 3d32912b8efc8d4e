"""A place that is more than a place: with a street, a number or a postal code in it, or the name of an institution.

Labels are not always as fine as the text: "12 Oak St., Fresno, CA 93701" may be one mention. Each part is replaced as
what it is; where one of them has no surrogate the whole has none, as a part of it must not stay.
"""

import re

from ..mention import Mention
from ..numbers.chance import Chance
from ..persons import fold
from .geography import Geography
from .institutions import replace_institution
from .postal import replace_postal_code
from .runs import kinds_of
from .state import Note
from .streets import replace_street
from .writing import tokens

__all__ = ["is_mixed", "replace_mixed"]

_CODE = r"\d{5}(?:-\d{4})?\b"
_GAPS = re.compile(rf"(\s*[,;()\n]+\s*|\s+-\s+|\s+(?={_CODE})|(?<=\d{{5}})\s+|\s+(?=[A-Z]{{2}}\b))")
_WORD = re.compile(r"[^\W\d_]{3}")


def is_mixed(mention: Mention, geography: Geography) -> bool:
    """Whether a mention of a place holds words and numbers, or is no town but an institution."""
    if any(char.isdecimal() for char in mention.text):
        return mention.label != "COUNTRY" and _WORD.search(mention.text) is not None
    return _is_institution(mention.text, geography.lang) and geography.find(mention.text.strip()) is None


def replace_mixed(mention: Mention, note: Note, geography: Geography, chance: Chance) -> str | None:
    """Replace a mention of a place part by part.

    mention (Mention): label of a place.
    note (Note): what the surrogates of the note share.
    geography (Geography): the places of the note.
    chance (Chance): of the patient.
    RETURNS (Optional[str]): the surrogate as the mention is written; None if a part has none.
    """
    if not any(char.isdecimal() for char in mention.text):
        return replace_institution(mention, note, geography)
    out, before = [], mention.before
    for i, piece in enumerate(_GAPS.split(mention.text)):
        part = mention._replace(text=piece, before=before)
        made = piece if i % 2 or not piece else _part(part, note, geography, chance)
        if made is None:
            return None
        out.append(made)
        before += piece
    return "".join(out)


def _part(part: Mention, note: Note, geography: Geography, chance: Chance) -> str | None:
    """Replace one part."""
    if not any(char.isdecimal() for char in part.text):
        return geography.replace(part) if _WORD.search(part.text) or part.text.isupper() else part.text
    if _WORD.search(part.text):
        return replace_street(part, note)
    if note.lang == "en" and re.fullmatch(_CODE, part.text):
        return replace_postal_code(part, note, geography, chance)
    return geography.replace(part)


def _is_institution(text: str, lang: str) -> bool:
    """Whether a word of a text says that it is an institution, whatever else it says."""
    heads = kinds_of(lang, "heads")
    return bool(heads) and any(fold(word) in heads for _, word in tokens(text))
