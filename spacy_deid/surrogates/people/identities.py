"""Finds the persons of a note: which mentions name the same person, and the sex of each person."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...lang.text import fold
from ..mention import Mention
from ..persons import number_persons
from .conventions import NamingConventions
from .lemmas import find_lemmas
from .name_lists import NameLists
from .name_parts import NameParts, read_parts, set_kinds, title_before

_CLEAR = 0.9  # share of the bearers of a given name that makes its sex clear
_NICKNAME_ONLY = 100  # ratio of bearers from which a nickname is not a name of its own
_NAME_AND_NICKNAME = 3000  # bearers from which a nickname is a name of its own
# Votes for the sex of a person.
_FACTS, _TITLE, _TITLE_AGAINST_NAME, _FIRST_NAME, _OTHER_NAME, _WORD_BEFORE = 200, 100, 5, 10, 1, 1


@dataclass(slots=True)
class Person:
    """A person of a note.

    parts (dict[tuple[str, str], None]): kind ("given" or "surname") and lemma of each part of the name, in order.
    sex (str): "female", "male", or "" if unknown.
    labels (Counter[str]): labels of the person's mentions.
    """

    parts: dict[tuple[str, str], None] = field(default_factory=dict)
    sex: str = ""
    labels: Counter[str] = field(default_factory=Counter)

    def __repr__(self) -> str:
        return f"Person(parts={len(self.parts)})"


@dataclass(slots=True)
class NotePersons:
    """The persons of a note.

    mentions (list[list[NamePart]]): the words of each mention.
    owners (list[Optional[Person]]): the person of each mention; None for a mention without a name.
    persons (list[Person]): all persons, by first mention.
    taken (frozenset[str]): folded words of the note that no surrogate may be.
    """

    mentions: list[NameParts]
    owners: list[Person | None]
    persons: list[Person]
    taken: frozenset[str]

    def __repr__(self) -> str:
        return f"NotePersons(mentions={len(self.mentions)}, persons={len(self.persons)})"


def find_identities(
    mentions: Sequence[Mention],
    lang: str,
    conventions: NamingConventions,
    names: NameLists,
    facts: Mapping[str, str],
) -> NotePersons:
    """Find the persons of a note.

    mentions (Sequence[Mention]): mentions of persons, in the order of the text.
    lang (str): ISO 639-1 code.
    conventions (NamingConventions): the naming conventions of the language.
    names (NameLists): the name lists of the language.
    facts (Mapping[str, str]): what is known about the patient: "name" (the full name), "sex" ("female" or "male").
    RETURNS (NotePersons): the persons.
    """
    known = [Mention(facts["name"], "PATIENT")] if facts.get("name") else []
    everyone = [*known, *mentions]
    read = [read_parts(mention, conventions, names) for mention in everyone]
    taken = find_lemmas(read, lang, conventions, names)
    for parts, mention in zip(read, everyone, strict=True):
        set_kinds(parts, mention, conventions, names)
    _resolve_nicknames(read, conventions, names)
    owners, persons = _group_mentions(read, everyone)
    for person in persons:
        _settle_kinds(person, [parts for parts, owner in zip(read, owners, strict=True) if owner is person])
    _find_sexes(read, everyone, owners, conventions, names, facts)
    initials = {part.folded for parts in read for part in parts if part.role == "initial"}
    return NotePersons(read[len(known) :], owners[len(known) :], persons, taken | initials)


def name_type_of(kind: str, lemma: str, person: Person, names: NameLists) -> str:
    """Return the name type of a part of a person's name.

    kind (str): "given" or "surname".
    lemma (str): the part, folded.
    person (Person): the bearer. The first given name indicates a sex by itself; in "José María" the second does not.
    names (NameLists): the name lists of the language.
    RETURNS (str): one of `name_lists.NAME_TYPES`.
    """
    if kind == "surname":
        return kind
    first = next((name for kind, name in person.parts if kind == "given"), lemma)
    clear = _clear_sex(lemma, names)
    sex = (clear or person.sex) if lemma == first else (person.sex or clear)
    if sex:
        return sex
    female, male = names.count("female", lemma), names.count("male", lemma)
    if female != male:
        return "female" if female > male else "male"
    return names.sex_of_ending(lemma) or ("female" if lemma.endswith("a") else "male")


def _resolve_nicknames(read: Sequence[NameParts], conventions: NamingConventions, names: NameLists) -> None:
    """Replace the lemma of a nickname by that of the given name.

    That is the given name in the note. If the note has none, it is the most frequent one, unless the nickname is
    itself a given name.
    """
    given = {part.lemma for parts in read for part in parts if part.kind == "given"}
    surnames = {part.lemma for parts in read for part in parts if part.kind == "surname"}
    with_surname = {
        part.lemma
        for parts in read
        for part in parts
        if part.kind == "given" and any(other.kind == "surname" for other in parts)
    }
    for parts in read:
        for part in parts:
            if part.role != "name" or part.kind != "given" or part.lemma in surnames:
                continue
            full = conventions.full_names.get(part.lemma, ())
            here = [name for name in full if given.issuperset(name.split()) and name != part.lemma]
            bearers = names.count("given", part.lemma)
            if len(here) == 1 and not (part.lemma in with_surname and bearers >= _NAME_AND_NICKNAME):
                part.known_as, part.lemma = part.lemma, here[0].split()[0]
            elif full and not here:
                first = full[0].replace("-", " ").split()[0]  # of a double name, its first part
                if _NICKNAME_ONLY * bearers < names.count("given", first) + 1:
                    part.known_as, part.lemma = part.lemma, first


def _group_mentions(
    read: Sequence[NameParts], mentions: Sequence[Mention]
) -> tuple[list[Person | None], list[Person]]:
    """Group mentions into persons by their lemmas and initials. A maiden name counts like any other part."""
    canonical = [
        " ".join(part.lemma if part.role == "name" else part.folded for part in parts if part.kind) for parts in read
    ]
    places = [i for i, name in enumerate(canonical) if name]
    numbers = number_persons([canonical[i] for i in places])
    persons = [Person() for _ in range(max(numbers, default=0))]
    owners: list[Person | None] = [None] * len(read)
    for place, number in zip(places, numbers, strict=True):
        owners[place] = persons[number - 1]
        persons[number - 1].labels[mentions[place].label] += 1
    return owners, persons


def _settle_kinds(person: Person, read: Sequence[NameParts]) -> None:
    """Give each lemma of a person one kind, by a vote in which fuller mentions weigh more.

    A name that a single mention has as given name and as surname ("Martín Martín Ruiz") keeps both.
    """
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    both: set[str] = set()
    for parts in read:
        words = [part for part in parts if part.role == "name"]
        for part in words:
            votes[part.lemma][part.kind] += len(words) ** 2
        given, surnames = ({part.lemma for part in parts if part.kind == kind} for kind in ("given", "surname"))
        both |= given & surnames
    for parts in sorted(read, key=lambda parts: -sum(bool(part.kind) for part in parts)):
        for part in parts:
            if part.role == "name":
                part.kind = part.kind if part.lemma in both else votes[part.lemma].most_common(1)[0][0]
                person.parts.setdefault((part.kind, part.lemma))
    person.parts = dict.fromkeys(sorted(person.parts, key=lambda part: part[0] == "surname"))


def _find_sexes(
    read: Sequence[NameParts],
    mentions: Sequence[Mention],
    owners: Sequence[Person | None],
    conventions: NamingConventions,
    names: NameLists,
    facts: Mapping[str, str],
) -> None:
    """Set the sex of each person by a vote of titles, known facts, given names and the words before mentions."""
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for parts, mention, owner in zip(read, mentions, owners, strict=True):
        if owner is None:
            continue
        first = next((lemma for kind, lemma in owner.parts if kind == "given"), "")
        sex = conventions.titles.get(title_before(mention, parts, conventions), "")
        if sex in ("female", "male"):
            # a title before a surname alone may be that of a relative: "Mrs. Smith"
            fits = not _clear_sex(first, names) or any(part.kind == "given" for part in parts)
            votes[id(owner)][sex] += _TITLE if fits else _TITLE_AGAINST_NAME
        for word in fold(mention.before.replace(",", " ")).split()[-2:]:
            if word in conventions.context:
                votes[id(owner)][conventions.context[word]] += _WORD_BEFORE
        if mention.label == "PATIENT" and facts.get("sex") in ("female", "male"):
            votes[id(owner)][facts["sex"]] += _FACTS
        for part in parts:
            if part.role == "name" and part.kind == "given" and (sex := _clear_sex(part.lemma, names)):
                votes[id(owner)][sex] += _FIRST_NAME if part.lemma == first else _OTHER_NAME
    for owner in owners:
        if owner is not None and votes[id(owner)]:
            owner.sex = votes[id(owner)].most_common(1)[0][0]


def _clear_sex(lemma: str, names: NameLists) -> str:
    """The sex of at least 90 % of the bearers of a given name; "" if there is no such majority."""
    female, male = names.count("female", lemma), names.count("male", lemma)
    if female + male == 0:
        female, male = (int(lemma in names.proper[sex]) for sex in ("female", "male"))
    if female + male and max(female, male) >= _CLEAR * (female + male):
        return "female" if female > male else "male"
    return ""
