"""Where the towns of a note stand, and how another one is written that is put in the place of one."""

from collections.abc import Sequence
from functools import partial

from ..keys import IdentityKey
from ..mention import Mention
from ..persons import fold
from ..standing import Standing
from .finnish_forms import in_case
from .geography import Geography
from .state import Note
from .writing import dress, split_marks

__all__ = ["find_towns"]


def find_towns(mentions: Sequence[Mention], key: IdentityKey, lang: str) -> dict[str, Standing]:
    """Find where towns stand that are known.

    mentions (Sequence[Mention]): mentions of places, in the order of the text.
    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    RETURNS (dict[str, Standing]): folded nominative → the first mention.
    """
    geography = Geography(Note(key, lang, lambda value: False, ()))
    found: dict[str, Standing] = {}
    for mention in mentions:
        before, core, _ = split_marks(mention.text)
        place, case = geography.find(core, mention.label) or (None, "")
        if place is not None and place.kind == "city" and fold(place.name) not in found:
            write = partial(_write, like=core, case=case if lang == "fi" else "")
            at = len(before)
            found[fold(place.name)] = Standing.of(mention, [(at, at + len(core))], 0, write)
    return found


def _write(name: str, like: str, case: str) -> str:
    """Write a town as another is written: its capitals, its grammatical case."""
    return dress(in_case(name, case) if case else name, like)
