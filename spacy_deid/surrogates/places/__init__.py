"""Surrogates of places, institutions and professions.

`replace_places` changes what identifies a place and keeps what a reader needs:

- CITY, STATE, TERRITORY, COUNTRY, LOCATION_OTHER: a region becomes another one of its kind, its towns and postal codes
  (ZIP) become those of the other region, with about as many inhabitants (`geography`). The country of the towns stays
  where the lists say so: Spain in Spanish notes.
- STREET, ROOM, ZIP: names and numbers are drawn; the kind of street and the punctuation stay (`addresses`).
- HOSPITAL, HEALTH_CENTER, ORGANIZATION, DEPARTMENT: the words for the kind stay (`institutions`).
- PROFESSION: another one of the same sector (`descriptions`).
- OTHER: nationalities are replaced, stages of life stay (`descriptions`).

Equal values have equal surrogates in all notes of a patient, different values of a note different ones. A surrogate is
never a value of the note. Grammar comes from the language (`spacy_deid.lang.places`).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ...lang.inflection import inflect_like
from ...lang.text import fold, match_style, split_marks, tokens
from ..keys import IdentityKey
from ..mention import Mention, NameOccurrence
from ..numbers.cipher import FormatPreservingCipher
from ..strategies import Suggest, nothing
from .addresses import (
    is_mixed,
    replace_department,
    replace_mixed,
    replace_postal_code,
    replace_room,
    replace_street,
)
from .descriptions import replace_description, replace_profession
from .geography import MAY_STAY, Geography
from .institutions import institution_words, replace_institution
from .state import NoteState

_PLACES = frozenset({"CITY", "STATE", "COUNTRY", "TERRITORY", "LOCATION_OTHER"})
_INSTITUTIONS = frozenset({"HOSPITAL", "HEALTH_CENTER", "ORGANIZATION"})
_LONGEST = 300  # characters of a mention; a longer one gets no surrogate
_BREAKS = "\r\n"
_SHORTEST = 3  # letters; a longer word may be the proper part of an institution's name

LABELS = _PLACES | _INSTITUTIONS | {"STREET", "ZIP", "DEPARTMENT", "ROOM", "PROFESSION", "OTHER"}
"""The labels that `replace_places` replaces."""


def replace_places(
    mentions: Sequence[Mention],
    key: IdentityKey,
    lang: str,
    forbidden: Callable[[str], bool],
    suggest: Suggest = nothing,
) -> list[str | None]:
    """Replace the places, institutions and professions of a note.

    mentions (Sequence[Mention]): all mentions with a label of `LABELS`, in the order of the text.
    key (IdentityKey): key of the patient.
    lang (str): language code.
    forbidden (Callable[[str], bool]): whether a value may not be a surrogate.
    suggest (Suggest): suggests towns, which are preferred.
    RETURNS (list[Optional[str]]): for each mention a surrogate in its style, None where there is none.
    """
    state = NoteState(key, lang, forbidden, (mention.text for mention in mentions))
    geography = Geography(state, suggest)
    named = (split_marks(mention.text)[1] for mention in mentions if mention.label in _PLACES)
    for place in [found[0] for found in map(geography.find, named) if found]:
        geography.context.add(place)
    for mention in mentions:
        for value in _basic_forms(mention, geography) if len(mention.text) <= _LONGEST else ():
            state.avoid(value)
    cipher = FormatPreservingCipher(key)
    made = [_replace(mention, state, geography, cipher) for mention in mentions]
    return [
        mention.text if new == mention.text and _stays(mention, geography) else _check(mention, new)
        for mention, new in zip(mentions, made, strict=True)
    ]


def find_towns(mentions: Sequence[Mention], key: IdentityKey, lang: str) -> dict[str, NameOccurrence]:
    """Find the known towns of a note.

    mentions (Sequence[Mention]): mentions of places, in the order of the text.
    key (IdentityKey): key of the patient.
    lang (str): language code.
    RETURNS (dict[str, NameOccurrence]): folded nominative of a town → its first occurrence.
    """
    geography = Geography(NoteState(key, lang, lambda value: False, ()))
    found: dict[str, NameOccurrence] = {}
    for mention in mentions:
        before, core, _ = split_marks(mention.text)
        place, case = geography.find(core, mention.label) or (None, "")
        if place is not None and place.kind == "city" and fold(place.name) not in found:
            write = partial(_write_town, lang=lang, like=core, case=case)
            at = len(before)
            found[fold(place.name)] = NameOccurrence.of(mention, [(at, at + len(core))], 0, write)
    return found


def _write_town(name: str, lang: str, like: str, case: str) -> str:
    """Write a town in the capitals and the case of another one."""
    return match_style(inflect_like(name, lang, case), like)


def _stays(mention: Mention, geography: Geography) -> bool:
    """Whether an unchanged mention may stay: the country of the towns, or a description."""
    if mention.label == "OTHER":
        return True
    found = geography.find(split_marks(mention.text)[1], mention.label) if mention.label in MAY_STAY else None
    return found is not None and geography.context.stays(found[0])


def _basic_forms(mention: Mention, geography: Geography) -> Iterator[str]:
    """Yield the nominative of a place, or the proper words of an institution."""
    if mention.label in _PLACES:
        found = geography.find(split_marks(mention.text)[1], mention.label)
        if found:
            yield found[0].name
    elif mention.label in _INSTITUTIONS:
        known = institution_words(geography.lang)
        yield from (word for _, word in tokens(mention.text) if len(word) > _SHORTEST and fold(word) not in known)


def _replace(mention: Mention, state: NoteState, geography: Geography, cipher: FormatPreservingCipher) -> str | None:
    """Replace one mention by its label."""
    label = mention.label
    if len(mention.text) > _LONGEST:
        return None
    if label in _PLACES or (label == "ZIP" and geography.provinces):
        mixed = is_mixed(mention, geography)
        return replace_mixed(mention, state, geography, cipher) if mixed else geography.replace(mention)
    if label in _INSTITUTIONS:
        return replace_institution(mention, state, geography)
    if label == "OTHER":
        return replace_description(mention, state, geography.region)
    if label == "DEPARTMENT":
        return replace_department(mention, state, geography)
    if label == "ZIP":
        return replace_postal_code(mention, state, geography, cipher)
    if label == "STREET":
        return replace_street(mention, state)
    if label == "ROOM":
        return replace_room(mention, state)
    return replace_profession(mention, state) if label == "PROFESSION" else None


def _check(mention: Mention, made: str | None) -> str | None:
    """Return a surrogate with the line breaks of the original; None for an empty or an unchanged one."""
    if made is None or not made.strip() or fold(made) == fold(mention.text):
        return None
    breaks = "".join(c for c in mention.text if c in _BREAKS)
    return made + breaks[sum(c in _BREAKS for c in made) :]
