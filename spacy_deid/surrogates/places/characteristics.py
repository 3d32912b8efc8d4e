"""Words that describe somebody: a nationality becomes another one, a stage of life and words of kinship stay.

An infant is no age above 89, and an only child has no name: they stay for the reason that ages and kinship do. What is
told by descent, civil status or looks has no surrogate: any other would be another fact.
"""

from ..mention import Mention
from ..persons import fold
from .gazetteer import load_words
from .geography import Geography
from .nationalities import replace_nationality
from .state import Note
from .writing import dress, split_marks

__all__ = ["replace_characteristic"]


def replace_characteristic(mention: Mention, note: Note, geography: Geography) -> str | None:
    """Replace a description.

    mention (Mention): label OTHER.
    note (Note): what the surrogates of the note share.
    geography (Geography): the places of the note.
    RETURNS (Optional[str]): the text itself if it stays; None if there is no surrogate.
    """
    before, core, after = split_marks(mention.text)
    stay = str(load_words(note.lang).get("characteristics", "")).split()
    if core and all(fold(word) in map(fold, stay) for word in core.split()):
        return mention.text
    made = replace_nationality(core, mention.variant, note, geography.region)
    return before + dress(made, core) + after if made else None
