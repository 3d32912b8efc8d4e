"""A surrogate written as the mention is: case, accents left away, hyphens, line breaks, grammatical case."""

from unicodedata import combining, normalize

from ...lang.fi.inflection import CASES, inflect_acronym
from ...lang.fi.morphology import write_clitic
from ...lang.inflection import inflect, inflects
from ..mention import Mention
from ..persons import fold
from .choice import Choices
from .identities import Person, sort_of
from .kin import replace_number, stays
from .strata import SORTS
from .words import Part, Parts

__all__ = ["inflected", "like", "write_mention"]

Edit = tuple[int, int, str]

_SAINTS = frozenset({"san", "santa", "saint", "st"})  # always with a capital: it does not say that one belongs there


def write_mention(mention: Mention, parts: Parts, person: Person | None, choices: Choices) -> str | None:
    """Write the surrogate of a mention.

    mention (Mention): the mention.
    parts (list[Part]): its words.
    person (Optional[Person]): whose name it is.
    choices (Choices): the surrogates of the note.
    RETURNS (Optional[str]): the text; None if there is none that may be.
    """
    edits: list[Edit] = []
    bare = any(_lacks_accents(part, choices) for part in parts if part.role == "name")
    initials = _whose(parts, person)
    for place, part in enumerate(parts):
        if part.role == "name" and person is not None:
            name = _surrogate(part, person, choices, mention.variant)
            if name is None:
                return None
            edits += _edits_before(parts, place, name, person, mention.text, choices)
            written = like(
                part.text,
                _without_accents(inflected(name, part, choices.lang)) if bare else inflected(name, part, choices.lang),
            )
            edits.append((part.start, part.end, _with_break(part.text, written)))
        elif part.role == "initial" and person is not None:
            letter = _letter(part, initials.get(id(part)), person, choices, mention.variant)
            if letter is None:
                return None
            edits.append((part.start, part.end + len(part.ending), _end_alike(part, letter)))
        elif part.role == "number" and not (mention.label == "RELATIVE" and stays(part)):
            age = mention.label == "RELATIVE"
            edits.append((part.start, part.end, replace_number(part.text, age, choices.key, mention.variant)))
    return _apply(mention.text, edits) if edits else None


def like(text: str, name: str) -> str:
    """Write a name in capitals or in lower case, if a text is.

    text (str): the original word.
    name (str): as lists write it.
    RETURNS (str): the name.
    """
    if text.isupper() and len(text) > 1:
        return name.upper()
    return name.lower() if text.islower() else name


def _surrogate(part: Part, person: Person, choices: Choices, variant: int) -> str | None:
    """The surrogate of a part in the nominative."""
    sort = sort_of(part.kind, part.lemma, person, choices.names)
    name = choices.name(sort, part.lemma, variant)
    return choices.nickname(name, part.known_as, variant) if name and part.known_as else name


def inflected(name: str, part: Part, lang: str) -> str:
    """Put a name into the case and the number of a part, with its suffixes.

    name (str): nominative.
    part (Part): the original.
    lang (str): ISO 639-1 code.
    RETURNS (str): the form, as lists write names.
    """
    if part.reading is not None and inflects(lang):
        found = part.reading
        name = inflect(name, lang, found.case, kind=part.kind, number=found.number, possessive=found.possessive)
    if part.ending and not part.ending.startswith(":"):
        name = write_clitic(name, part.ending)
    return name


def _edits_before(parts: Parts, place: int, name: str, person: Person, text: str, choices: Choices) -> list[Edit]:
    """Give a name its own particles in place of those of the original: "de la Fuente" becomes "del Río"."""
    first = place
    while first and parts[first - 1].role == "particle":
        first -= 1
    if first == place:
        return []
    part = parts[place]
    sort = sort_of(part.kind, part.lemma, person, choices.names)
    own = choices.names.particles[sort].get(fold(name), ())
    run = parts[first:place]
    gaps = [text[left.end : right.start] for left, right in zip(run, parts[first + 1 : place + 1], strict=True)]
    breaks = next((gap for gap in gaps if "\n" in gap), "")
    if not own:
        return [(run[0].start, part.start, breaks.strip(" \t"))]
    words = list(own)
    if run[0].text.isupper() and len(run[0].text) > 1:
        words = [word.upper() for word in own]
    elif run[0].text[0].isupper() and run[0].folded not in _SAINTS:
        words[0] = words[0][0].upper() + words[0][1:]
    return [(run[0].start, part.start, " ".join(words) + (breaks or gaps[-1] or " "))]


def _whose(parts: Parts, person: Person | None) -> dict[int, tuple[str, str]]:
    """Which part of the person's name each initial of a mention stands for."""
    if person is None:
        return {}
    used = {(part.kind, part.lemma) for part in parts if part.role == "name"}
    found: dict[int, tuple[str, str]] = {}
    for part in parts:
        if part.role != "initial":
            continue
        fits = [whole for whole in person.parts if whole[1].startswith(part.folded) and whole not in used]
        if fits:
            best = min(fits, key=lambda whole: whole[0] != part.kind)
            used.add(best)
            found[id(part)] = best
    return found


def _letter(part: Part, whole: tuple[str, str] | None, person: Person, choices: Choices, variant: int) -> str | None:
    """The initial of the surrogate."""
    if whole:
        name = choices.name(sort_of(*whole, person, choices.names), whole[1], variant)
    else:
        name = choices.letter(part.kind, part.folded, variant)
    return name and (name[0].upper() if part.text.isupper() else name[0].lower())


def _end_alike(part: Part, letter: str) -> str:
    """Put the ending of one letter behind another: "K:n", "S:ään", "A:han"."""
    for case in CASES if part.ending else ():
        if inflect_acronym(part.text.upper(), case).lower() == (part.text + part.ending).lower():
            return letter + inflect_acronym(letter.upper(), case)[1:]
    return letter + part.ending


def _lacks_accents(part: Part, choices: Choices) -> bool:
    """Whether a name is written without the accents that it has in the lists."""
    if part.folded in choices.customs.short:
        return False
    listed = next((name for sort in SORTS if (name := choices.names.write(sort, part.lemma))), None)
    return listed is not None and fold(listed) != listed.lower() and part.folded == part.text.lower()


def _without_accents(name: str) -> str:
    """A name without its accents, its capitals as they are."""
    return "".join(c for c in normalize("NFKD", name) if not combining(c))


def _with_break(text: str, written: str) -> str:
    """Keep the line break that cut a word in two: it follows the surrogate."""
    return written + "".join(c for c in text if c in "\r\n")


def _apply(text: str, edits: list[Edit]) -> str:
    """Put the edits into the mention."""
    out, last = [], 0
    for start, end, new in sorted(edits):
        out += [text[last:start], new]
        last = end
    return "".join((*out, text[last:]))
