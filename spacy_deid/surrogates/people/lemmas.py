"""The lemma of each word of the names of a note: one for all its cases, spellings and slips of the pen."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log

from rapidfuzz.distance import OSA

from ...lang.fi.inflection import inflect
from ...lang.fi.morphology import analyze, split_clitic
from ...lang.inflection import Analysis, inflects
from ..persons import fold
from .customs import Customs
from .lists import Names
from .words import Part, Parts

__all__ = ["find_lemmas"]

_SHORTEST = 5  # letters of a word that may be a slip of the pen
# How often names stand in a case: rough shares of the proper nouns of running text, in nats.
_SHARES = {"nom": log(0.3), "gen": log(0.25), "all": log(0.04), "ine": log(0.03), "ela": log(0.03), "ade": log(0.03)}
_OTHER_CASE = log(0.01)
_MARKED = log(0.002)  # plurals and possessives
_CUTS = 60  # letters of a word of which slips are looked for
_COMMON = 5000  # bearers of a given name that may have a possessive suffix
_BEARERS = 20  # a nominative that no list has is worth so many


def find_lemmas(mentions: Sequence[Parts], lang: str, customs: Customs, names: Names) -> frozenset[str]:
    """Set the lemma of every name of a note.

    mentions (Sequence[list[Part]]): the words of each mention; `lemma`, `reading` and `ending` are set.
    lang (str): ISO 639-1 code.
    customs (Customs): the habits of the language.
    names (Names): the lists of the language.
    RETURNS (frozenset[str]): folded, all words that a word of the note may be a form of.
    """
    words = [part for parts in mentions for part in parts if part.role == "name"]
    for part in words:
        short = customs.short.get(part.folded)
        part.lemma = fold(short) if short else part.folded
    possible = {part.lemma for part in words} | {part.folded for part in words}
    if inflects(lang):
        possible |= _read(mentions, words, names)
    _mend(mentions, words, names)
    return frozenset(possible)


def _read(mentions: Sequence[Parts], words: Parts, names: Names) -> set[str]:
    """Find the nominatives: of several, the one that most forms of the note may come from, then the likeliest."""
    readings: dict[str, list[Analysis]] = {}
    clitics: dict[str, str] = {}
    for form in dict.fromkeys(map(_form, words)):
        readings[form] = analyze(form, names.known.__contains__)
        bare, clitic = split_clitic(form)
        if clitic and not any(reading.nominative in names.known for reading in readings[form]):
            found = analyze(bare, names.known.__contains__)
            if any(reading.nominative in names.known for reading in found):
                readings[form], clitics[form] = found, clitic
    support = Counter(name for found in readings.values() for name in {reading.nominative for reading in found})
    inner = {id(part) for parts in mentions for part in _inner(parts)}
    within = {_form(part) for parts in mentions for part in parts if part.role == "name" and not _is_single(parts)}
    for part in words:
        form = _form(part)
        kinds = ("surname",) if form in within else ("surname", "given")
        part.reading = _choose(readings[form], support, names, kinds, nominative=id(part) in inner)
        part.lemma = fold(part.reading.nominative)
        part.ending = part.ending or clitics.get(form, "")
    return {fold(reading.nominative) for found in readings.values() for reading in found}


def _form(part: Part) -> str:
    """A word in lower case, without a line break in it."""
    return "".join(part.text.lower().split()).replace("-", "")


def _inner(parts: Parts) -> Iterable[Part]:
    """The names of a mention that another one follows: they stand in the nominative."""
    words = [part for part in parts if part.role in ("name", "initial")]
    return words[:-1]


def _is_single(parts: Parts) -> bool:
    """Whether a mention is one name alone, which may be a given name as well as a surname."""
    return sum(part.role in ("name", "initial") for part in parts) == 1


def _choose(
    found: Sequence[Analysis], support: Counter[str], names: Names, kinds: Sequence[str], *, nominative: bool
) -> Analysis:
    """The reading of a word: a listed nominative where one should stand, else the best supported and likeliest."""
    itself = found[-1]
    if nominative and (itself.nominative in names.known or len(found) == 1):
        return itself
    found = [reading for reading in found if not reading.possessive or _may_be_owned(reading, support, names)]
    return max(found, key=lambda reading: (support[reading.nominative], _likelihood(reading, names, kinds)))


def _may_be_owned(reading: Analysis, support: Counter[str], names: Names) -> bool:
    """Whether a possessive suffix is believed: on a name that the note has in another form too, or a common one."""
    return support[reading.nominative] > 1 or names.count("given", fold(reading.nominative)) >= _COMMON


def _likelihood(reading: Analysis, names: Names, kinds: Sequence[str]) -> float:
    """How likely a reading is: its case, and the bearers of its nominative or how listed names end.

    A form is read as one of a surname first; where it would be the same of a given name, `kinds` says whether that
    is meant too.
    """
    folded = fold(reading.nominative)
    share = _MARKED if reading.possessive or reading.number == "plur" else _SHARES.get(reading.case, _OTHER_CASE)
    if names.is_listed(folded):
        meant = [kind for kind in kinds if kind == reading.kind or _is_alike(reading, kind)] or [reading.kind]
        meant = ["given", "surname"] if reading.case == "nom" else meant
        return share + log(1 + sum(names.count(kind, folded) for kind in meant)) + _BEARERS
    return share + names.ending_likelihood(reading.nominative)


def _is_alike(reading: Analysis, kind: str) -> bool:
    """Whether a name of another kind has the same form."""
    name, case, number, possessive, own = reading
    return len({inflect(name, case, kind=sort, number=number, possessive=possessive) for sort in (own, kind)}) == 1


def _mend(mentions: Sequence[Parts], words: Parts, names: Names) -> None:
    """Take a word that no list has as a slip of another one of the note that is one letter away."""
    counts = Counter(part.lemma for part in words)
    slips = [w for w in counts if len(w) >= _SHORTEST and not names.is_listed(w) and len(w) <= _CUTS]
    if not slips:
        return
    near: dict[str, set[str]] = defaultdict(set)
    for word in counts:
        if _SHORTEST - 1 <= len(word) <= _CUTS:
            for cut in _cuts(word):
                near[cut].add(word)
    together = {frozenset((a.lemma, b.lemma)) for parts in mentions for a in parts for b in parts if a is not b}
    alike = {slip: _alike(slip, near, together) for slip in slips}

    def weight(word: str) -> tuple[bool, int, int, str]:
        return names.is_listed(word), counts[word], len(alike.get(word, ())), word

    best = {slip: max(others, key=weight) for slip, others in alike.items() if others}
    meant = {slip: word for slip, word in best.items() if weight(word) > weight(slip)}
    for part in words:
        part.lemma = _follow(part.lemma, meant)


def _alike(slip: str, near: Mapping[str, set[str]], together: Collection[frozenset[str]]) -> list[str]:
    """The words one slip away, less those that stand in one name with it."""
    others = {word for cut in _cuts(slip) for word in near[cut]} - {slip}
    return [o for o in others if OSA.distance(slip, o) == 1 and frozenset((slip, o)) not in together]


def _follow(word: str, meant: dict[str, str]) -> str:
    """Go from slip to slip to the word that is none; each step goes up, so it ends."""
    while word in meant:
        word = meant[word]
    return word


def _cuts(word: str) -> set[str]:
    """A word, and the word without each of its letters: two words one slip apart share one."""
    return {word} | {word[:i] + word[i + 1 :] for i in range(len(word))}
