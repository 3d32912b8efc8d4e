"""The replacer of persons: reads all mentions of a note together, draws once for each part of a name, writes them."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ...lang.inflection import inflects
from ..keys import IdentityKey
from ..mention import Mention
from ..persons import fold
from ..strategies import Suggest, nothing
from .addresses import Address, read_address, write_address
from .choice import Choices
from .customs import load_customs
from .identities import Note, Person, find_identities, sort_of
from .kin import is_kinship
from .lists import Names, load_names
from .wholes import is_forbidden, settle_wholes
from .words import Parts
from .writing import write_mention

__all__ = ["ADDRESSES", "PERSONS", "replace_persons"]

PERSONS = ("PATIENT", "RELATIVE", "PERSON", "CLINICIAN")
"""Labels of names, in the order in which their surrogates are drawn."""

_NAMES = frozenset({"name", "initial", "particle"})

ADDRESSES = frozenset({"USERNAME", "EMAIL"})
"""Labels of what is made of names."""


def replace_persons(
    mentions: Sequence[Mention],
    key: IdentityKey,
    lang: str,
    forbidden: Callable[[str], bool],
    facts: Mapping[str, str] = MappingProxyType({}),
    suggest: Suggest = nothing,
) -> list[str | None]:
    """Replace the persons of a note.

    mentions (Sequence[Mention]): names, user names and e-mail addresses, in the order of the text.
    key (IdentityKey): the key of the patient.
    lang (str): ISO 639-1 code.
    forbidden (Callable[[str], bool]): whether a value may not be a surrogate.
    facts (Mapping[str, str]): what is known of the patient: "name" in full, "sex" as "female" or "male".
    suggest (Suggest): names that are taken before others.
    RETURNS (list[Optional[str]]): for each mention the surrogate; None where none can be made safely. A relative
        without a name ("madre") stays as it is.
    """
    names, customs = load_names(lang), load_customs(lang)
    named = [i for i, mention in enumerate(mentions) if mention.label in PERSONS]
    note = find_identities([mentions[i] for i in named], lang, customs, names, facts)
    addresses = {
        i: read_address(mention, note.persons, customs, names)
        for i, mention in enumerate(mentions)
        if mention.label in ADDRESSES
    }
    taken = note.taken.union(*(address.lemmas for address in addresses.values()))
    choices = Choices(key, lang, names, customs, taken, forbidden, suggest)
    _draw_in_order(note, {mention.variant for mention in mentions}, choices)
    values = {fold(mention.text) for mention in mentions}
    read = dict(zip(named, zip(note.mentions, note.owners, strict=True), strict=True))
    settle_wholes([(parts, person, mentions[i].variant) for i, (parts, person) in read.items() if person], choices)
    made: list[str | None] = []
    for i, mention in enumerate(mentions):
        parts, person = read.get(i, ([], None))
        if mention.label == "RELATIVE" and is_kinship(parts):
            made.append(mention.text)
            continue
        if person and is_forbidden(parts, person, mention.variant, choices):
            made.append(None)
            continue
        text = _write(mention, parts, person, addresses.get(i), choices)
        made.append(text if text and _is_safe(text, mention, parts, values, choices) else None)
    return made


def _draw_in_order(note: Note, variants: set[int], choices: Choices) -> None:
    """Draw the patient's names first, and those of one label by the alphabet.

    A draw that falls on a surrogate in use is drawn again; so who comes first must not depend on where names stand.
    """
    for person in sorted(note.persons, key=_rank):
        for variant in sorted(variants)[:1]:
            for kind, lemma in person.parts:
                choices.name(sort_of(kind, lemma, person, choices.names), lemma, variant)


def _rank(person: Person) -> tuple[int, list[tuple[str, str]]]:
    """Patient, relatives, others, clinicians; then by name."""
    return min(map(PERSONS.index, person.labels), default=len(PERSONS)), sorted(person.parts)


def _write(
    mention: Mention, parts: Parts, person: Person | None, address: Address | None, choices: Choices
) -> str | None:
    """Write the surrogate of a mention of any kind."""
    if address is not None:
        return write_address(mention, address, choices)
    if not parts or (mention.label == "RELATIVE" and _is_riddle(parts, choices.names)):
        return None
    return write_mention(mention, parts, person, choices)


def _is_riddle(parts: Parts, names: Names) -> bool:
    """Whether a mention of a relative has a word in lower case that is neither a name nor known beside kinship."""
    plain = [part for part in parts if part.role == "name" and part.text.islower()]
    listed = [names.is_listed(part.lemma) for part in plain]
    return bool(plain) and not all(listed) and (not any(listed) or any(part.role == "kin" for part in parts))


def _is_safe(made: str, mention: Mention, parts: Parts, values: set[str], choices: Choices) -> bool:
    """Whether what was made is not the original, no value of the note, and not forbidden as a whole.

    Words that stay ("née", "Jr.", "años") stand in the original too and may be forbidden for that; in a mention that
    has such words, and in a language with cases, the names have been asked about one by one.
    """
    if fold(made) in values or not made.strip():
        return False
    whole = mention.label in PERSONS and not inflects(choices.lang)
    return not (whole and all(part.role in _NAMES for part in parts) and choices.forbidden(made))
