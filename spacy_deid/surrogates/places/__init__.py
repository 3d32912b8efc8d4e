"""Surrogates of places, institutions and professions.

`replace_places` keeps what a reader needs and changes what tells the one place from others:

- towns, regions, countries (CITY, STATE, TERRITORY, COUNTRY, LOCATION_OTHER): a region becomes another one of its
  kind, its towns and postal codes (ZIP) those of the other, of about as many inhabitants (`geography`, `postal`). The
  country of the towns stays, where the lists say so: Spain in Spanish notes;
- STREET: kind of road, floor and marks stay (`streets`);
- HOSPITAL, HEALTH_CENTER, ORGANIZATION, DEPARTMENT: the words for the kind stay (`institutions`), acronyms become
  acronyms (`acronyms`); ROOM: numbers are drawn (`rooms`);
- PROFESSION: another one of the sector (`professions`).

Spanish articles, gender and number, English "a" and "an", Finnish case, number and possessive suffix fit the
surrogate.
Of OTHER nationalities have one, and stages of life stay (`characteristics`).

Equal values have equal surrogates in all notes of a patient, different ones of a note different ones. A surrogate is
never a value of the note.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ..keys import IdentityKey
from ..mention import Mention
from ..numbers.chance import Chance
from ..persons import fold
from ..strategies import Suggest, nothing
from .characteristics import replace_characteristic
from .geography import MAY_STAY, Geography
from .institutions import replace_institution
from .mixed import is_mixed, replace_mixed
from .postal import replace_postal_code
from .professions import replace_profession
from .rooms import replace_department, replace_room
from .runs import kinds_of
from .state import Note
from .streets import replace_street
from .writing import split_marks, tokens

__all__ = ["LABELS", "replace_places"]

_PLACES = frozenset({"CITY", "STATE", "COUNTRY", "TERRITORY", "LOCATION_OTHER"})
_INSTITUTIONS = frozenset({"HOSPITAL", "HEALTH_CENTER", "ORGANIZATION"})

_OTHERS: Mapping[str, Callable[[Mention, Note], str | None]] = MappingProxyType(
    {"STREET": replace_street, "PROFESSION": replace_profession, "ROOM": replace_room}
)
_LONGEST = 300  # characters: whatever is longer is no name
_BREAKS = "\r\n"
_SHORTEST = 3  # letters of a word that tells one institution from others

LABELS = _PLACES | _INSTITUTIONS | {"STREET", "ZIP", "DEPARTMENT", "ROOM", "PROFESSION", "OTHER"}
"""The labels that `replace_places` answers for."""


def replace_places(
    mentions: Sequence[Mention],
    key: IdentityKey,
    lang: str,
    forbidden: Callable[[str], bool],
    suggest: Suggest = nothing,
) -> list[str | None]:
    """Replace the places, institutions and professions of a note.

    mentions (Sequence[Mention]): all of them, in the order of the text; labels of `LABELS`.
    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    forbidden (Callable[[str], bool]): whether a value may not be a surrogate.
    suggest (Suggest): towns that are taken before others.
    RETURNS (list[Optional[str]]): a surrogate for each, written as the mention is; None where there is none.
    """
    note = Note(key, lang, forbidden, (mention.text for mention in mentions))
    geography = Geography(note, suggest)
    named = (split_marks(mention.text)[1] for mention in mentions if mention.label in _PLACES)
    for place in [found[0] for found in map(geography.find, named) if found]:
        geography.surroundings.add(place)
    for mention in mentions:
        for value in _parts(mention, geography) if len(mention.text) <= _LONGEST else ():
            note.avoid(value)
    chance = Chance(key)
    made = [_replace(mention, note, geography, chance) for mention in mentions]
    return [
        mention.text if new == mention.text and _stays(mention, geography) else _other(mention, new)
        for mention, new in zip(mentions, made, strict=True)
    ]


def _stays(mention: Mention, geography: Geography) -> bool:
    """Whether a mention is the country that the towns of the language lie in, or describes a stage of life."""
    if mention.label == "OTHER":
        return True
    found = geography.find(split_marks(mention.text)[1], mention.label) if mention.label in MAY_STAY else None
    return found is not None and geography.surroundings.stays(found[0])


def _parts(mention: Mention, geography: Geography) -> Iterator[str]:
    """The nominative of a place, and the words that are proper to an institution."""
    if mention.label in _PLACES:
        found = geography.find(split_marks(mention.text)[1], mention.label)
        if found:
            yield found[0].name
    elif mention.label in _INSTITUTIONS:
        known = kinds_of(geography.lang)
        yield from (word for _, word in tokens(mention.text) if len(word) > _SHORTEST and fold(word) not in known)


def _replace(mention: Mention, note: Note, geography: Geography, chance: Chance) -> str | None:
    """Replace one mention."""
    if len(mention.text) > _LONGEST:
        return None
    if mention.label in _PLACES or (mention.label == "ZIP" and geography.provinces):
        mixed = is_mixed(mention, geography)
        return replace_mixed(mention, note, geography, chance) if mixed else geography.replace(mention)
    if mention.label in _INSTITUTIONS:
        return replace_institution(mention, note, geography)
    if mention.label == "OTHER":
        return replace_characteristic(mention, note, geography)
    if mention.label == "DEPARTMENT":
        return replace_department(mention, note, geography)
    if mention.label == "ZIP":
        return replace_postal_code(mention, note, geography, chance)
    make = _OTHERS.get(mention.label)
    return make(mention, note) if make else None


def _other(mention: Mention, made: str | None) -> str | None:
    """A surrogate with the line breaks of the original, if it is something else."""
    if made is None or not made.strip() or fold(made) == fold(mention.text):
        return None
    breaks = "".join(c for c in mention.text if c in _BREAKS)
    return made + breaks[sum(c in _BREAKS for c in made) :]
