"""The identity graph of a note: which mentions name one person, and which part of the name each word is."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..mention import Mention
from ..persons import fold, number_persons
from .customs import Customs
from .lemmas import find_lemmas
from .lists import Names
from .order import order_parts, title_before
from .words import Part, Parts, read_parts

__all__ = ["Note", "Person", "find_identities", "sort_of"]

_CLEAR = 0.9  # share of the bearers of a given name that tells its sex
_RARELY = 100  # times that a name is commoner than its nickname, if that is no name of its own
_EITHER_LISTED = 3000  # bearers of a nickname that is a name in its own right


@dataclass(slots=True)
class Person:
    """One person of a note.

    parts (dict[tuple[str, str], None]): (kind, lemma) of the parts of the name, in order.
    sex (str): "female", "male", or "" if nothing tells.
    labels (Counter[str]): what the mentions are labelled.
    """

    parts: dict[tuple[str, str], None] = field(default_factory=dict)
    sex: str = ""
    labels: Counter[str] = field(default_factory=Counter)

    def __repr__(self) -> str:
        return f"Person(parts={len(self.parts)})"


@dataclass(slots=True)
class Note:
    """The persons of a note.

    mentions (list[list[Part]]): the words of each mention.
    owners (list[Optional[Person]]): the person of each mention; None if it has no name.
    persons (list[Person]): by first mention.
    taken (frozenset[str]): folded words that no surrogate may be.
    """

    mentions: list[Parts]
    owners: list[Person | None]
    persons: list[Person]
    taken: frozenset[str]

    def __repr__(self) -> str:
        return f"Note(mentions={len(self.mentions)}, persons={len(self.persons)})"


def find_identities(
    mentions: Sequence[Mention], lang: str, customs: Customs, names: Names, facts: Mapping[str, str]
) -> Note:
    """Find the persons of a note.

    mentions (Sequence[Mention]): mentions of persons, in the order of the text.
    lang (str): ISO 639-1 code.
    customs (Customs): the habits of the language.
    names (Names): the lists of the language.
    facts (Mapping[str, str]): what is known of the patient: "name" in full, "sex" as "female" or "male".
    RETURNS (Note): the persons.
    """
    known = [Mention(facts["name"], "PATIENT")] if facts.get("name") else []
    everyone = [*known, *mentions]
    read = [read_parts(mention, customs, names) for mention in everyone]
    taken = find_lemmas(read, lang, customs, names)
    for parts, mention in zip(read, everyone, strict=True):
        order_parts(parts, mention, customs, names)
    _call_by_name(read, customs, names)
    owners, persons = _gather(read, everyone)
    for person in persons:
        _settle_kinds(person, [parts for parts, owner in zip(read, owners, strict=True) if owner is person])
    _find_sexes(read, everyone, owners, customs, names, facts)
    initials = {part.folded for parts in read for part in parts if part.role == "initial"}
    return Note(read[len(known) :], owners[len(known) :], persons, taken | initials)


def _call_by_name(read: Sequence[Parts], customs: Customs, names: Names) -> None:
    """Lead nicknames back to given names: to the one of the note, or to the first, if it is no name of its own."""
    given = {part.lemma for parts in read for part in parts if part.kind == "given"}
    surnames = {part.lemma for parts in read for part in parts if part.kind == "surname"}
    full = {part.lemma for parts in read for part in parts if part.kind == "given" and _is_full(parts)}
    for parts in read:
        for part in parts:
            called = customs.called.get(part.lemma, ()) if part.role == "name" and part.kind == "given" else ()
            here = [name for name in called if given.issuperset(name.split()) and name != part.lemma]
            if part.lemma in surnames:
                continue
            own = part.lemma in full and names.count("given", part.lemma) >= _EITHER_LISTED
            if len(here) == 1 and not own:
                part.known_as, part.lemma = part.lemma, here[0].split()[0]
            elif called and not here and _RARELY * names.count("given", part.lemma) < _bearers(called[0], names):
                part.known_as, part.lemma = part.lemma, called[0].replace("-", " ").split()[0]


def _bearers(name: str, names: Names) -> int:
    """How many bear a name, of a double name its first part; never none."""
    return names.count("given", name.replace("-", " ").split()[0]) + 1


def _is_full(parts: Parts) -> bool:
    """Whether a mention has a surname."""
    return any(part.kind == "surname" for part in parts)


def _gather(read: Sequence[Parts], mentions: Sequence[Mention]) -> tuple[list[Person | None], list[Person]]:
    """Number the persons by their lemmas and initials; a maiden name is a part of the name like any other."""
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


def _settle_kinds(person: Person, read: Sequence[Parts]) -> None:
    """Give each lemma of a person one kind: the one that the fullest mentions give it."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for parts in read:
        words = [part for part in parts if part.role == "name"]
        for part in words:
            votes[part.lemma][part.kind] += len(words) ** 2
    both = {lemma for parts in read for lemma in _as_both_kinds(parts)}
    for parts in sorted(read, key=lambda parts: -sum(bool(part.kind) for part in parts)):
        for part in parts:
            if part.role == "name":
                part.kind = part.kind if part.lemma in both else votes[part.lemma].most_common(1)[0][0]
                person.parts.setdefault((part.kind, part.lemma))
    ordered = sorted(person.parts, key=lambda part: part[0] == "surname")
    person.parts = dict.fromkeys(ordered)


def _as_both_kinds(parts: Parts) -> set[str]:
    """The names that one mention has as given name and as surname: "Martín Martín Ruiz"."""
    given, surnames = ({part.lemma for part in parts if part.kind == kind} for kind in ("given", "surname"))
    return given & surnames


def _find_sexes(
    read: Sequence[Parts],
    mentions: Sequence[Mention],
    owners: Sequence[Person | None],
    customs: Customs,
    names: Names,
    facts: Mapping[str, str],
) -> None:
    """Find the sex of each person: by title, by what is known, by the given names, by the words before."""
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for parts, mention, owner in zip(read, mentions, owners, strict=True):
        if owner is None:
            continue
        first = next((lemma for kind, lemma in owner.parts if kind == "given"), "")
        sex = customs.titles.get(title_before(mention, parts, customs), "")
        if sex in ("female", "male"):
            votes[id(owner)][sex] += 100 if not _clear_sex(first, names) or _is_called(parts) else 5
        for word in fold(mention.before.replace(",", " ")).split()[-2:]:
            if word in customs.context:
                votes[id(owner)][customs.context[word]] += 1
        if mention.label == "PATIENT" and facts.get("sex") in ("female", "male"):
            votes[id(owner)][facts["sex"]] += 200
        for part in parts:
            if sex := _sex_of(part, names):
                votes[id(owner)][sex] += 10 if part.lemma == first else 1
    for owner in owners:
        if owner is not None and votes[id(owner)]:
            owner.sex = votes[id(owner)].most_common(1)[0][0]


def _is_called(parts: Parts) -> bool:
    """Whether a mention has a given name; a surname with a title may be that of a relative: "Mrs. Smith"."""
    return any(part.kind == "given" for part in parts)


def _sex_of(part: Part, names: Names) -> str:
    """The sex that a given name tells, "" if it tells none."""
    if part.role != "name" or part.kind != "given":
        return ""
    return _clear_sex(part.lemma, names)


def sort_of(kind: str, lemma: str, person: Person, names: Names) -> str:
    """The sort of a part of a name: "surname", or the sex of a given name.

    kind (str): "given" or "surname".
    lemma (str): the part.
    person (Person): whose it is. The first given name tells its sex itself; in "José María" the second does not.
    names (Names): the lists of the language.
    RETURNS (str): one of `lists.SORTS`.
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


def _clear_sex(lemma: str, names: Names) -> str:
    """The sex of nearly all who bear a given name, "" if there is none."""
    female, male = names.count("female", lemma), names.count("male", lemma)
    if female + male == 0:
        female, male = (int(lemma in names.proper[sex]) for sex in ("female", "male"))
    if female + male and max(female, male) >= _CLEAR * (female + male):
        return "female" if female > male else "male"
    return ""
