"""Surrogates of professions: others of the same sector, in the grammatical form of the original."""

from ...lang import get_language
from ...lang.text import match_style, split_marks
from ..mention import Mention
from .state import NoteState


def replace_profession(mention: Mention, state: NoteState) -> str | None:
    """Replace a profession, or an activity ("mantenimiento de calderas").

    mention (Mention): mention with the label PROFESSION.
    state (NoteState): state of the note's surrogates.
    RETURNS (Optional[str]): surrogate in the style of the mention, None if the language has no professions.
    """
    before, core, after = split_marks(mention.text)
    find = get_language(state.lang).replace_profession
    if not core or find is None:
        return None
    found = find(core, mention.before)
    state.avoid(found.name)
    made = state.pick("profession", found.options, found.name, str(mention.variant))
    return before + match_style(found.inflect(made), core, noun=True) + after if made else None
