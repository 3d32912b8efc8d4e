"""Find the persons of a note: which mentions name the same person, with which names, and the sex of each person.

Names are compared by their lemma, the folded nominative. It is the same for all grammatical cases, accents and
spelling mistakes of a name, and for its nicknames.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from rapidfuzz.distance import OSA

from ...lang import get_language
from ...lang.inflection import Analysis, Inflector
from ...lang.text import fold
from ..mention import Mention
from .linking import NameWords, number_names
from .name_lists import NameLists, guess_sex
from .name_parts import NamePart, NameParts, read_parts, set_kinds, title_before
from .variants import join_spellings, resolve_nicknames, settle_initials

_CLEAR = 0.9  # share of one sex among the bearers of a given name above which the name indicates this sex
# Votes for the sex of a person.
_FACTS, _TITLE, _TITLE_AGAINST_NAME, _FIRST_NAME, _OTHER_NAME, _WORD_BEFORE = 200, 100, 5, 10, 1, 1

_WORDS = re.compile(r"[^\W\d_]+")
_SHORTEST_MISSPELLED, _LONGEST_MISSPELLED = 5, 60  # letters of a word that may be misspelled
_MOST_PAIRS = 5000  # pairs of words that are compared one by one
# Shares of forms among the proper nouns of running text.
_RARE_CASE, _PLURAL_OR_POSSESSIVE = 0.01, 0.002
_POSSESSIVE_BEARERS = 5000  # bearers of a given name that may have a possessive suffix without other evidence
_SHARED_START = 2  # letters that all forms of a name share
_LISTED = 20  # nats by which a listed nominative is preferred to an unlisted one


@dataclass(slots=True)
class Person:
    """A person who is mentioned in a note, with all parts of the name that the mentions contain.

    parts (dict[tuple[str, str], None]): kind ("given" or "surname") and lemma of each part of the name, given
        names first. The values are not used.
    sex (str): "female", "male", or "" if unknown.
    labels (Counter[str]): number of the person's mentions by label.
    """

    parts: dict[tuple[str, str], None] = field(default_factory=dict)
    sex: str = ""
    labels: Counter[str] = field(default_factory=Counter)

    def __repr__(self) -> str:
        return f"Person(parts={len(self.parts)})"


@dataclass(slots=True)
class NotePersons:
    """The persons of a note and their mentions.

    mentions (list[list[NamePart]]): the words of each mention.
    owners (list[Optional[Person]]): the person that each mention names; None for a mention without a name.
    persons (list[Person]): all persons, in the order of their first mention.
    taken (frozenset[str]): folded names and initials of the note, which must not be surrogates.
    """

    mentions: list[NameParts]
    owners: list[Person | None]
    persons: list[Person]
    taken: frozenset[str]

    def __repr__(self) -> str:
        return f"NotePersons(mentions={len(self.mentions)}, persons={len(self.persons)})"


def find_identities(
    mentions: Sequence[Mention],
    names: NameLists,
    facts: Mapping[str, str],
    others: Sequence[tuple[str, str]] = (),
) -> NotePersons:
    """Find out which mentions of a note name the same person, and the names and the sex of each person.

    mentions (Sequence[Mention]): mentions of persons, in the order of the text.
    names (NameLists): the name lists of the language.
    facts (Mapping[str, str]): what is known about the patient: "name" (the full name), "sex" ("female" or "male").
    others (Sequence[tuple[str, str]]): further known names, each with its label (PATIENT or RELATIVE).
    RETURNS (NotePersons): the persons and their mentions.
    """
    known = [Mention(facts["name"], "PATIENT")] if facts.get("name") else []
    known += [Mention(name, label) for name, label in others]
    everyone = [*known, *mentions]
    read = [read_parts(mention, names) for mention in everyone]
    _restore_known_names(read, len(known))
    settle_initials(read, everyone, names)
    taken = find_lemmas(read, names)
    for parts, mention in zip(read, everyone, strict=True):
        set_kinds(parts, mention, names)
    join_spellings(read, everyone, names)
    resolve_nicknames(read, everyone, names)
    # A maiden name counts like any other part.
    words = [_name_words(parts) for parts in read]
    named = [i for i, name in enumerate(words) if any(name)]
    numbers = number_names([words[i] for i in named], [everyone[i].label for i in named])
    persons = [Person() for _ in range(max(numbers, default=0))]
    owners: list[Person | None] = [None] * len(read)
    for i, number in zip(named, numbers, strict=True):
        owners[i] = persons[number - 1]
        persons[number - 1].labels[everyone[i].label] += 1
    for person in persons:
        _settle_kinds(person, [parts for parts, owner in zip(read, owners, strict=True) if owner is person])
    _find_sexes(read, everyone, owners, names, facts)
    initials = {part.folded for parts in read for part in parts if part.role == "initial"}
    return NotePersons(read[len(known) :], owners[len(known) :], persons, taken | initials)


def _restore_known_names(read: Sequence[NameParts], known: int) -> None:
    """Set the role "name" of capitalised titles and kinship words that are part of a known name: the "Doctor" of
    "Doctor Hume" is a given name if the dictionaries have "Hume, Doctor".

    read (Sequence[list[NamePart]]): the words of each mention, changed in place. The known names come first.
    known (int): number of known names.
    """
    own = {part.folded for parts in read[:known] for part in parts if part.role == "name"}
    for part in (part for parts in read for part in parts):
        if part.role in ("kept", "kin") and part.folded in own and part.text[:1].isupper():
            part.role = "name"


def _name_words(parts: NameParts) -> NameWords:
    """Return the words of a mention by which persons are compared."""
    words: dict[str, list[str]] = {"given": [], "surname": [], "initial": []}
    for part in parts:
        if part.kind:
            word = part.lemma if part.role == "name" else part.folded
            if not word:  # a letter that has no folded form
                continue
            words[part.kind if len(word) > 1 else "initial"].append(word)
    return NameWords(
        *(tuple(dict.fromkeys(group)) if kind != "initial" else tuple(group) for kind, group in words.items())
    )


def name_type_of(kind: str, lemma: str, person: Person, names: NameLists) -> str:
    """Return the name type of a part of a name: the list that its surrogate is drawn from.

    kind (str): "given" or "surname".
    lemma (str): the part, folded, in the nominative.
    person (Person): the bearer. A given name that is clearly of one sex decides, unless it can follow a name of the
        other sex: "María" in "José María" is a man's name.
    names (NameLists): the name lists of the language.
    RETURNS (str): one of `name_lists.NAME_TYPES`.
    """
    if kind == "surname":
        return kind
    first = next((name for kind, name in person.parts if kind == "given"), lemma)
    clear = _clear_sex(lemma, names)
    follows = lemma != first and (not clear or lemma in names.seconds.get(person.sex, ()))
    sex = person.sex or clear if follows else clear or person.sex
    if sex:
        return sex
    female, male = names.count("female", lemma), names.count("male", lemma)
    if female != male:
        return "female" if female > male else "male"
    return guess_sex(lemma, names)


def _settle_kinds(person: Person, read: Sequence[NameParts]) -> None:
    """Decide for each name of a person whether it is a given name or a surname, by a vote of all its mentions.

    Mentions with more names weigh more. A name that is both in one mention ("Martín Martín Ruiz") stays both.
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
    names: NameLists,
    facts: Mapping[str, str],
) -> None:
    """Set the sex of each person by a weighted vote of known facts, titles, given names and words before mentions.

    If there are no votes, such as for an unlisted given name, words near the mentions decide: "she", "ingresada".
    """
    conventions = names.conventions
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    near: dict[int, Counter[str]] = defaultdict(Counter)
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
    for mention, owner in zip(mentions, owners, strict=True):
        if owner is not None and not votes[id(owner)]:
            words = _WORDS.findall(fold(f"{mention.before} {mention.after}"))
            near[id(owner)].update(conventions.nearby[word] for word in words if word in conventions.nearby)
    for owner in owners:
        if owner is not None and (near[id(owner)].total() and near[id(owner)]["female"] != near[id(owner)]["male"]):
            owner.sex = near[id(owner)].most_common(1)[0][0]
        if owner is not None and votes[id(owner)]:
            owner.sex = votes[id(owner)].most_common(1)[0][0]


def _clear_sex(lemma: str, names: NameLists) -> str:
    """Return the sex of at least 90 % of the bearers of a given name; "" if there is no such majority, or if the name
    is on no list.
    """
    female, male = names.count("female", lemma), names.count("male", lemma)
    if female + male == 0:
        if rare := names.rare_sexes.get(lemma):
            return rare
        female, male = (int(lemma in names.proper[sex]) for sex in ("female", "male"))
    if female + male and max(female, male) >= _CLEAR * (female + male):
        return "female" if female > male else "male"
    return ""


# --- lemmas ---


def find_lemmas(mentions: Sequence[NameParts], names: NameLists) -> frozenset[str]:
    """Set the lemma of every name in a note, so that all forms of a name have the same lemma.

    mentions (Sequence[list[NamePart]]): the words of each mention. Their `lemma`, `analysis` and `ending` are set.
    names (NameLists): the name lists of the language.
    RETURNS (frozenset[str]): the names of the note and every nominative that they may be a form of, folded.
    """
    words = [part for parts in mentions for part in parts if part.role == "name"]
    for part in words:
        short = names.conventions.short.get(part.folded)
        part.lemma = fold(short) if short else part.folded
    possible = {part.lemma for part in words} | {part.folded for part in words}
    if inflector := get_language(names.lang).inflector:
        possible |= _find_nominatives(mentions, words, names, inflector)
    _correct_spelling(mentions, words, names)
    return frozenset(possible)


def _find_nominatives(
    mentions: Sequence[NameParts], words: NameParts, names: NameLists, inflector: Inflector
) -> set[str]:
    """Set the nominative of each inflected name: of several possible ones, that which most forms in the note can have.

    If several are equal in this, that which a longer name has is chosen, then the most probable one.
    RETURNS (set[str]): all possible nominatives of the forms, folded.
    """
    analyses: dict[str, list[Analysis]] = {}
    clitics: dict[str, str] = {}
    forms = dict.fromkeys(map(_form, words))
    unlisted = {form for form in forms if form not in names.known}
    for form in forms:
        analyses[form] = [
            *_unlisted_analyses(form, unlisted, inflector),
            *inflector.analyze(form, names.known.__contains__),
        ]
        bare, clitic = inflector.split_clitic(form)
        if clitic and not any(analysis.nominative in names.known for analysis in analyses[form]):
            found = inflector.analyze(bare, names.known.__contains__)
            if any(analysis.nominative in names.known for analysis in found):
                analyses[form], clitics[form] = found, clitic
    support = Counter(name for found in analyses.values() for name in {analysis.nominative for analysis in found})
    nominatives: set[int] = set()  # names that are followed by another one: only the last one is inflected
    within: set[str] = set()  # forms that occur within a longer name; a form alone may be of either kind
    for parts in mentions:
        named = [part for part in parts if part.role in ("name", "initial")]
        nominatives.update(map(id, named[:-1]))
        if len(named) != 1:
            within.update(_form(part) for part in named if part.role == "name")
    settled: set[str] = set()  # nominatives of names within a longer one
    for part in sorted(words, key=lambda part: _form(part) not in within):
        form = _form(part)
        kinds = ("surname",) if form in within else ("surname", "given")
        found = analyses[form]
        itself = found[-1]  # the form as a nominative
        if id(part) in nominatives and (itself.nominative in names.known or len(found) == 1):
            part.analysis = itself
        else:
            possible = [
                analysis
                for analysis in found
                if not analysis.possessive
                or support[analysis.nominative] > 1
                or names.count("given", fold(analysis.nominative)) >= _POSSESSIVE_BEARERS
            ]
            scores = [
                (support[one.nominative], one.nominative in settled, _likelihood(one, names, kinds, inflector))
                for one in possible
            ]
            part.analysis = possible[scores.index(max(scores))]
        if form in within:
            settled.add(part.analysis.nominative)
        part.lemma = fold(part.analysis.nominative)
        part.ending = part.ending or clitics.get(form, "")
    return {fold(analysis.nominative) for found in analyses.values() for analysis in found}


def _unlisted_analyses(form: str, unlisted: set[str], inflector: Inflector) -> list[Analysis]:
    """Return the analyses of a form whose nominative is an unlisted word of the note: "Rämiä" beside "Ala-Rämi"."""
    if not any(other != form and other[:_SHARED_START] == form[:_SHARED_START] for other in unlisted):
        return []
    guesses = inflector.analyze(form, lambda word: False)
    return [analysis for analysis in guesses if analysis.nominative in unlisted and analysis.nominative != form]


def _form(part: NamePart) -> str:
    """Return a word in lower case, without the hyphen and the line break of a word that is cut in two."""
    return "".join(part.text.lower().split()).replace("-", "")


def _likelihood(analysis: Analysis, names: NameLists, kinds: Sequence[str], inflector: Inflector) -> float:
    """Return the log likelihood (nats) of a morphological analysis of a name.

    It depends on how frequent the case is, and on the number of people with the nominative as their name. For an
    unlisted nominative, names with the same ending count. `kinds` says whether bearers of the surname, the given name
    or both count, if both are inflected alike.
    """
    name, case, number, possessive, own_kind = analysis
    folded = fold(name)
    share = log(
        _PLURAL_OR_POSSESSIVE if possessive or number == "plur" else inflector.case_shares.get(case, _RARE_CASE)
    )
    if not names.is_listed(folded):
        return share + names.ending_likelihood(name)
    if case == "nom":
        counted = ["given", "surname"]
    else:
        forms = {
            kind: inflector.inflect(name, case, kind=kind, number=number, possessive=possessive)
            for kind in {own_kind, *kinds}
        }
        counted = [kind for kind in kinds if forms[kind] == forms[own_kind]] or [own_kind]
    return share + log(1 + sum(names.count(kind, folded) for kind in counted)) + _LISTED


def _correct_spelling(mentions: Sequence[NameParts], words: NameParts, names: NameLists) -> None:
    """Give an unlisted word the lemma of a similar word in the note (one edit away): it is probably a misspelling."""
    counts = Counter(part.lemma for part in words)
    unlisted = [
        word
        for word in counts
        if _SHORTEST_MISSPELLED <= len(word) <= _LONGEST_MISSPELLED and not names.is_listed(word)
    ]
    if not unlisted:
        return
    others = [word for word in counts if _SHORTEST_MISSPELLED - 1 <= len(word) <= _LONGEST_MISSPELLED]
    together = {frozenset((a.lemma, b.lemma)) for parts in mentions for a in parts for b in parts if a is not b}
    # words that occur together in one name are different names
    alike = {
        word: [
            other for other in near if not _is_of_other_sex(word, other) and frozenset((word, other)) not in together
        ]
        for word, near in _one_edit_apart(unlisted, others).items()
    }

    def weight(word: str) -> tuple[bool, int, int, str]:
        return names.is_listed(word), counts[word], len(alike.get(word, ())), word

    best = {word: max(others, key=weight) for word, others in alike.items() if others}
    corrected = {word: other for word, other in best.items() if weight(other) > weight(word)}
    for part in words:
        while part.lemma in corrected:  # each correction has a greater weight, so this ends
            part.lemma = corrected[part.lemma]


def _one_edit_apart(words: Sequence[str], others: Sequence[str]) -> dict[str, list[str]]:
    """Map each of some words to the other words that are one edit apart.

    Many words are compared by their deletions, because comparing every pair takes minutes for a long document.
    """
    if len(words) * len(others) <= _MOST_PAIRS:
        return {word: [o for o in others if OSA.distance(word, o, score_cutoff=1) == 1] for word in words}
    near: dict[str, set[str]] = defaultdict(set)
    for other in others:
        for deletion in _deletions(other):
            near[deletion].add(other)
    found = {word: sorted({other for deletion in _deletions(word) for other in near[deletion]}) for word in words}
    return {word: [o for o in possible if OSA.distance(word, o) == 1] for word, possible in found.items()}


def _is_of_other_sex(first: str, second: str) -> bool:
    """Return whether two names differ only in the ending "o" or "a", as those of a man and a woman do."""
    return first[:-1] == second[:-1] and {first[-1], second[-1]} == {"a", "o"}


def _deletions(word: str) -> set[str]:
    """Return a word, and all words made by deleting one of its letters. Words that are one edit apart share one."""
    return {word} | {word[:i] + word[i + 1 :] for i in range(len(word))}
