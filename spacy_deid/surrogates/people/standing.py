"""Where the parts of the names of a note stand, and how a name is written that is put in the place of one."""

from collections.abc import Sequence
from functools import partial

from ..mention import Mention
from ..standing import Standing
from .customs import load_customs
from .identities import find_identities
from .lists import load_names
from .words import Part
from .writing import inflected, like

__all__ = ["find_names"]


def find_names(mentions: Sequence[Mention], lang: str) -> dict[str, Standing]:
    """Find where the parts of names stand.

    mentions (Sequence[Mention]): mentions of persons, in the order of the text.
    lang (str): ISO 639-1 code.
    RETURNS (dict[str, Standing]): folded nominative → the part in the first of the fullest mentions.
    """
    read = find_identities(mentions, lang, load_customs(lang), load_names(lang), {}).mentions
    found: dict[str, Standing] = {}
    for mention, parts in zip(mentions, read, strict=True):
        named = [part for part in parts if part.role == "name" and not part.known_as]
        places = [(part.start, part.end) for part in named]
        for number, part in enumerate(named):
            if part.lemma not in found or len(found[part.lemma].places) < len(named):
                found[part.lemma] = Standing.of(mention, places, number, partial(_write, part=part, lang=lang))
    return found


def _write(name: str, part: Part, lang: str) -> str:
    """Write a name as a part is written: its case, its grammatical case."""
    return like(part.text, inflected(name, part, lang))
