"""Replace names, initials, user names and e-mail addresses of persons, consistently for all mentions of a person.

`replace_persons` reads all mentions of a note together, finds out which of them name the same person, and draws one
surrogate for each given name and each surname. It writes the surrogate like the mention: with the same capitals,
omitted accents, hyphens, line breaks and grammatical case.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from unicodedata import combining, normalize

from ...lang import get_language, shared_words
from ...lang.inflection import inflects
from ...lang.text import fold
from ..keys import IdentityKey
from ..mention import Mention, NameOccurrence
from ..strategies import Suggest, nothing
from .addresses import like, read_address, replace_digits, write_address
from .assignment import NameAssignment, is_forbidden, resolve_full_names
from .identities import Person, find_identities, name_type_of
from .name_lists import NAME_TYPES, NameLists, load_names
from .name_parts import NamePart, NameParts

PERSONS = ("PATIENT", "RELATIVE", "PERSON", "CLINICIAN")
"""Labels of mentions of persons. Surrogates are drawn in this order, those of patients first."""

ADDRESSES = frozenset({"USERNAME", "EMAIL"})
"""Labels of values that are often derived from a person's name."""

_OLDEST = 89  # older ages are aggregated: 45 CFR 164.514(b)(2)(i)(C)

# Start and end of a replaced part of a mention (character offsets in the mention), and the text in its place.
Edit = tuple[int, int, str]


def replace_persons(
    mentions: Sequence[Mention],
    key: IdentityKey,
    lang: str,
    forbidden: Callable[[str], bool],
    facts: Mapping[str, str] = MappingProxyType({}),
    suggest: Suggest = nothing,
    known: Sequence[tuple[str, str]] = (),
) -> list[str | None]:
    """Replace the names, user names and e-mail addresses in a note, with one surrogate per given name and surname.

    mentions (Sequence[Mention]): names, user names and e-mail addresses, in the order of the text.
    key (IdentityKey): the key of the patient, from which all surrogates are drawn.
    lang (str): ISO 639-1 code of the note's language.
    forbidden (Callable[[str], bool]): returns True for a value that must not be a surrogate.
    facts (Mapping[str, str]): what is known about the patient: "name" (the full name), "sex" ("female" or "male").
    suggest (Suggest): a function that proposes a surrogate for a name, which is used if it is allowed.
    known (Sequence[tuple[str, str]]): further names of the patient and of relatives, with their label.
    RETURNS (list[Optional[str]]): the surrogate of each mention; None if no safe one can be made. A mention of a
        relative without a name ("madre") is returned unchanged.
    """
    names = load_names(lang)
    named = [i for i, mention in enumerate(mentions) if mention.label in PERSONS]
    note = find_identities([mentions[i] for i in named], names, facts, known)
    addresses = {
        i: read_address(mention, note.persons, names)
        for i, mention in enumerate(mentions)
        if mention.label in ADDRESSES
    }
    taken = note.taken.union(*(address.lemmas for address in addresses.values()))
    assignment = NameAssignment(key, names, taken, forbidden, suggest)

    def rank(person: Person) -> tuple[int, list[tuple[str, str]]]:
        return min(map(PERSONS.index, person.labels), default=len(PERSONS)), sorted(person.parts)

    # A surrogate that is in use is not drawn again, so the order of the draws must not depend on that of the text.
    first_variant = min((mention.variant for mention in mentions), default=0)
    for bearer in sorted(note.persons, key=rank):
        for kind, lemma in bearer.parts:
            assignment.name(name_type_of(kind, lemma, bearer, names), lemma, first_variant)
    values = {fold(mention.text) for mention in mentions}
    read = dict(zip(named, zip(note.mentions, note.owners, strict=True), strict=True))
    full = [(parts, person, mentions[i].variant) for i, (parts, person) in read.items() if person]
    resolve_full_names(full, assignment)
    made: list[str | None] = []
    for i, mention in enumerate(mentions):
        parts, person = read.get(i, ([], None))
        # a mention of a relative without a name; a number alone may be anything
        kinship = all(map(_stays, parts)) and any(part.role != "number" for part in parts)
        if mention.label == "RELATIVE" and kinship:
            made.append(mention.text)
            continue
        if person and is_forbidden(parts, person, mention.variant, assignment):
            made.append(None)
            continue
        text = None
        if i in addresses:
            text = write_address(mention, addresses[i], assignment)
        elif parts and not (mention.label == "RELATIVE" and _is_unresolvable(parts, names)):
            text = _write_mention(mention, parts, person, assignment)
        made.append(text if text and _is_safe(text, mention, parts, values, assignment) else None)
    return made


def link_persons(mentions: Sequence[Mention], lang: str) -> list[int]:
    """Number the persons whom mentions name, as surrogates do.

    mentions (Sequence[Mention]): mentions of persons, in the order of the text.
    lang (str): ISO 639-1 code of the note's language.
    RETURNS (list[int]): for each mention the number of its person, from 1; 0 for a mention without a name.
    """
    note = find_identities(mentions, load_names(lang), {})
    numbers = {id(person): number for number, person in enumerate(note.persons, 1)}
    return [numbers[id(owner)] if owner else 0 for owner in note.owners]


def find_names(mentions: Sequence[Mention], lang: str) -> dict[str, NameOccurrence]:
    """Find where each name of a note occurs, so that a language model can propose names that fit the context.

    mentions (Sequence[Mention]): mentions of persons, in the order of the text.
    lang (str): ISO 639-1 code of the note's language.
    RETURNS (dict[str, NameOccurrence]): folded nominative of a name → its occurrence in the mention that has the most
        names; the first one if several have as many.
    """
    read = find_identities(mentions, load_names(lang), {}).mentions
    found: dict[str, NameOccurrence] = {}
    for mention, parts in zip(mentions, read, strict=True):
        named = [part for part in parts if part.role == "name" and not part.known_as]
        places = [(part.start, part.end) for part in named]
        for number, part in enumerate(named):
            if part.lemma not in found or len(found[part.lemma].places) < len(named):
                write = partial(_write_like_part, part=part, lang=lang)
                found[part.lemma] = NameOccurrence.of(mention, places, number, write)
    return found


def _stays(part: NamePart) -> bool:
    """Whether a word in a mention of a relative is kept, because it identifies nobody.

    Kinship words and the listed words beside them are kept, because a family history needs them ("madre con cáncer de
    mama"). So are numbers up to 89, which are mostly ages.
    """
    if part.role == "number":
        return part.text.isascii() and len(part.text) < 3 and int(part.text) <= _OLDEST
    return part.role in ("kin", "kept") and not part.ending  # "A:B" is not a kept word


def _is_unresolvable(parts: NameParts, names: NameLists) -> bool:
    """Whether a mention of a relative has an unlisted word in lower case that may be a name."""
    plain = [part for part in parts if part.role == "name" and part.text.islower()]
    listed = [names.is_listed(part.lemma) for part in plain]
    return bool(plain) and not all(listed) and (not any(listed) or any(part.role == "kin" for part in parts))


def _is_safe(made: str, mention: Mention, parts: NameParts, values: set[str], assignment: NameAssignment) -> bool:
    """Whether a surrogate differs from all values of the note and, as a whole, is not forbidden.

    The whole is not checked in a language with inflection, nor in a mention with words that are kept ("née", "Jr.",
    "años"): these words are part of the original too, so the whole would be forbidden. There, only the single names
    were checked when they were drawn.
    """
    if fold(made) in values or not made.strip():
        return False
    whole = mention.label in PERSONS and not inflects(assignment.lang)
    only_names = all(part.role in ("name", "initial", "particle") for part in parts)
    return not (whole and only_names and assignment.forbidden(made))


def _write_mention(
    mention: Mention, parts: NameParts, person: Person | None, assignment: NameAssignment
) -> str | None:
    """Write the surrogate of a mention of a person; None if a name in it has no surrogate."""
    edits: list[Edit] = []
    bare = any(_lacks_accents(part, assignment.names) for part in parts if part.role == "name")
    initials = _match_initials(parts, person) if person else {}
    for place, part in enumerate(parts):
        if part.role == "name" and person is not None:
            name_type = name_type_of(part.kind, part.lemma, person, assignment.names)
            name = assignment.name(name_type, part.lemma, mention.variant)
            if name is None:
                return None
            if part.known_as:
                name = assignment.nickname(name, part.known_as, mention.variant)
            particles = assignment.names.particles[name_type].get(fold(name), ())
            edits += _edit_particles(parts, place, particles, mention.text)
            form = _inflect_like(name, part, assignment.lang)
            if bare:
                form = "".join(c for c in normalize("NFKD", form) if not combining(c))
            written = like(part.text, form)
            breaks = "".join(c for c in part.text if c in "\r\n")  # a line break within a word follows the surrogate
            edits.append((part.start, part.end, written + breaks))
        elif part.role == "initial" and person is not None:
            if whole := initials.get(id(part)):
                name = assignment.name(name_type_of(*whole, person, assignment.names), whole[1], mention.variant)
            else:
                name = assignment.letter(part.kind, part.folded, mention.variant)
            if name is None:
                return None
            letter = (name[0].upper() if part.text.isupper() else name[0].lower()) if name else ""
            initial = _inflect_initial(part, letter, assignment.lang)
            edits.append((part.start, part.end + len(part.ending), initial))
        elif part.role == "number" and not (mention.label == "RELATIVE" and _stays(part)):
            age = mention.label == "RELATIVE" and part.text.isascii() and len(part.text) < 4
            number = "90+" if age else replace_digits(part.text, assignment.key, mention.variant)
            edits.append((part.start, part.end, number))
    if not edits:
        return None
    out, last = [], 0
    for start, end, new in sorted(edits):
        out += [mention.text[last:start], new]
        last = end
    return "".join((*out, mention.text[last:]))


def _write_like_part(name: str, part: NamePart, lang: str) -> str:
    """Write a name, given in the nominative, with the capitals and in the grammatical case of an original part."""
    return like(part.text, _inflect_like(name, part, lang))


def _inflect_like(name: str, part: NamePart, lang: str) -> str:
    """Inflect a nominative with the case, number, possessive suffix and clitic of an original part."""
    inflector = get_language(lang).inflector
    if inflector is None:
        return name
    if found := part.analysis:
        name = inflector.inflect(name, found.case, kind=part.kind, number=found.number, possessive=found.possessive)
    if part.ending and not part.ending.startswith(":"):
        name = inflector.write_clitic(name, part.ending)
    return name


def _edit_particles(parts: NameParts, place: int, particles: Sequence[str], text: str) -> list[Edit]:
    """Return the edits that replace the particles before a name by those of its surrogate: "de la" by "del"."""
    first = place
    while first and parts[first - 1].role == "particle":
        first -= 1
    if first == place:
        return []
    run = parts[first:place]
    gaps = [text[left.end : right.start] for left, right in zip(run, parts[first + 1 : place + 1], strict=True)]
    breaks = next((gap for gap in gaps if "\n" in gap), "")
    if not particles:
        return [(run[0].start, parts[place].start, breaks.strip(" \t"))]
    words = list(particles)
    if run[0].text.isupper() and len(run[0].text) > 1:
        words = [word.upper() for word in particles]
    elif run[0].text[0].isupper() and run[0].folded not in shared_words("people.toml", "particles", "saints"):
        words[0] = words[0][0].upper() + words[0][1:]
    return [(run[0].start, parts[place].start, " ".join(words) + (breaks or gaps[-1] or " "))]


def _match_initials(parts: NameParts, person: Person) -> dict[int, tuple[str, str]]:
    """Find the name that each initial of a mention stands for: `id` of the initial → kind and lemma of the name."""
    used = {(part.kind, part.lemma) for part in parts if part.role == "name"}
    found: dict[int, tuple[str, str]] = {}
    for part in parts:
        fits = [whole for whole in person.parts if whole[1].startswith(part.folded) and whole not in used]
        if part.role == "initial" and fits:
            found[id(part)] = min(fits, key=lambda whole: whole[0] != part.kind)
            used.add(found[id(part)])
    return found


def _inflect_initial(part: NamePart, letter: str, lang: str) -> str:
    """Write an initial with the case ending of the original one: "K:n", "S:ään", "A:han"."""
    inflector = get_language(lang).inflector
    if inflector is None or not part.ending:
        return letter + part.ending
    for case in inflector.cases:
        if inflector.inflect_acronym(part.text.upper(), case).lower() == (part.text + part.ending).lower():
            return letter + inflector.inflect_acronym(letter.upper(), case)[1:]
    return letter + part.ending


def _lacks_accents(part: NamePart, names: NameLists) -> bool:
    """Whether a name is written without the accents that it has, in the same grammatical case, in the name lists."""
    if part.folded in names.conventions.short or part.folded != part.text.lower():
        return False
    listed = (names.proper[name_type].get(part.lemma) for name_type in NAME_TYPES)
    name = next((name for name in listed if name), "")
    if fold(name) == name.lower():
        return False
    form = _inflect_like(name, part, names.lang)
    return fold(form) != form.lower()
