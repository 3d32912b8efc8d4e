"""Replace places, institutions, professions, and words that describe a person.

`replace_places` replaces what identifies a place or a person and keeps what a reader needs. By label:

- CITY, STATE, TERRITORY, COUNTRY, LOCATION_OTHER: a region becomes another one of its kind. Its towns and postal codes
  (ZIP) become those of the other region, a town one of about as many inhabitants (`geography`). They do not leave the
  country that the note is from (`country`). The home country stays if the language's lists say so: Spain in Spanish
  notes.
- STREET, ROOM, ZIP: names and numbers are drawn; the kind of street and the punctuation are kept (`addresses`).
- HOSPITAL, HEALTH_CENTER, ORGANIZATION, DEPARTMENT: the name and the town are replaced; the words for the kind of
  institution are kept (`institutions`).
- PROFESSION, OTHER: a profession becomes another one of its sector, a nationality another one. Stages of life and
  kinship words are kept (`descriptions`).

The same value has the same surrogate in all notes of a patient, unless that is already in use in the note. Two values
of a note never share one, and a surrogate is never a value of the note. The rules of grammar are in
`spacy_deid.lang.places`.
"""

from collections.abc import Callable, Sequence
from functools import partial

from ...lang.inflection import inflect_like
from ...lang.text import fold, match_style, split_marks, tokens
from ..keys import IdentityKey
from ..mention import Mention, NameOccurrence
from ..strategies import Suggest, nothing
from .addresses import (
    is_mixed,
    replace_department,
    replace_mixed,
    replace_postal_code,
    replace_room,
    replace_street,
)
from .country import find_country
from .descriptions import replace_description, replace_profession
from .gazetteer import load_gazetteer
from .geography import MAY_STAY, Geography
from .institutions import find_setting, institution_words, replace_institution
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
    country: str | None = None,
) -> list[str | None]:
    """Replace the places, institutions, professions and descriptions in a note.

    mentions (Sequence[Mention]): all mentions with a label of `LABELS`, in the order of the text.
    key (IdentityKey): the key of the patient, from which all surrogates are drawn.
    lang (str): ISO 639-1 code of the note's language.
    forbidden (Callable[[str], bool]): returns True for a value that must not be a surrogate.
    suggest (Suggest): a function that proposes a town, which is used if it is allowed.
    country (Optional[str]): ISO 3166-1 code of the country that the note is from, "" if unknown; by default it is
        inferred from `mentions`.
    RETURNS (list[Optional[str]]): the surrogate of each mention, with its capitals and line breaks; None if there is
        none.
    """
    state = NoteState(key, lang, forbidden, (mention.text for mention in mentions))
    if country is None:
        country = find_country(mentions, lang, load_gazetteer(lang))
    geography = Geography(state, suggest, country)
    geography.settle(mentions)
    named = (split_marks(mention.text)[1] for mention in mentions if mention.label in _PLACES)
    for place in [found[0] for found in map(geography.find, named) if found]:
        geography.context.add(place)
    for mention in mentions:
        if len(mention.text) > _LONGEST:
            continue
        if mention.label in _PLACES and (found := geography.find(split_marks(mention.text)[1], mention.label)):
            state.avoid(found[0].name)
        elif mention.label in _INSTITUTIONS:
            if mention.label == "ORGANIZATION" and (setting := find_setting(mention, lang)) is not None:
                geography.settings.setdefault(fold(split_marks(mention.text)[1]), setting)
            for _, word in tokens(mention.text):
                if len(word) > _SHORTEST and fold(word) not in institution_words(lang):
                    state.avoid(word)
    return [_replace(mention, geography) if len(mention.text) <= _LONGEST else None for mention in mentions]


def _replace(mention: Mention, geography: Geography) -> str | None:
    """Replace a mention with the function for its label; None if there is no surrogate, or it equals the original."""
    label, made = mention.label, None
    if label in _PLACES or (label == "ZIP" and geography.provinces):
        made = replace_mixed(mention, geography) if is_mixed(mention, geography) else geography.replace(mention)
    elif label in _INSTITUTIONS:
        made = replace_institution(mention, geography)
    elif label == "OTHER":
        made = replace_description(mention, geography.state, geography.region)
    elif label == "DEPARTMENT":
        made = replace_department(mention, geography)
    elif label == "ZIP":
        made = replace_postal_code(mention, geography)
    elif label == "STREET":
        made = replace_street(mention, geography)
    elif label == "ROOM":
        made = replace_room(mention, geography)
    elif label == "PROFESSION":
        made = replace_profession(mention, geography.state)
    if made == mention.text:  # the country of the towns and some descriptions stay
        found = geography.find(split_marks(mention.text)[1], label) if label in MAY_STAY else None
        if label == "OTHER" or (found and geography.stays(found[0])):
            return made
    if made is None or not made.strip() or fold(made) == fold(mention.text):
        return None
    breaks = "".join(c for c in mention.text if c in _BREAKS)
    return made + breaks[sum(c in _BREAKS for c in made) :]


def find_towns(mentions: Sequence[Mention], key: IdentityKey, lang: str) -> dict[str, NameOccurrence]:
    """Find where the listed towns of a note occur, so that a language model can propose towns that fit the context.

    mentions (Sequence[Mention]): mentions of places, in the order of the text.
    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code of the note's language.
    RETURNS (dict[str, NameOccurrence]): folded nominative of a town → its first occurrence.
    """
    geography = Geography(NoteState(key, lang, lambda value: False, ()))
    found: dict[str, NameOccurrence] = {}
    for mention in mentions:
        before, core, _ = split_marks(mention.text)
        place, case = geography.find(core, mention.label) or (None, "")
        if place is not None and place.kind == "city" and fold(place.name) not in found:
            write = partial(_write_town, lang=lang, like=core, case=case)
            span = (len(before), len(before) + len(core))
            found[fold(place.name)] = NameOccurrence.of(mention, [span], 0, write)
    return found


def _write_town(name: str, lang: str, like: str, case: str) -> str:
    """Write a town, given in the nominative, in the grammatical case `case` and with the capitals of `like`."""
    return match_style(inflect_like(name, lang, case), like)
