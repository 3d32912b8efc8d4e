"""Finds the lemma of each word of the names in a note: one for all its cases, spellings and spelling mistakes."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log

from rapidfuzz.distance import OSA

from ...lang import get_language
from ...lang.inflection import Analysis, Inflector
from ...lang.text import fold
from .conventions import NamingConventions
from .name_lists import NameLists
from .name_parts import NamePart, NameParts

_SHORTEST_MISSPELLED, _LONGEST_MISSPELLED = 5, 60  # letters of a word that may be misspelled
# Shares of forms among the proper nouns of running text.
_RARE_CASE, _PLURAL_OR_POSSESSIVE = 0.01, 0.002
_POSSESSIVE_BEARERS = 5000  # bearers of a given name that may have a possessive suffix without other evidence
_LISTED = 20  # nats by which a listed nominative is preferred to an unlisted one


def find_lemmas(
    mentions: Sequence[NameParts], lang: str, conventions: NamingConventions, names: NameLists
) -> frozenset[str]:
    """Set the lemma of every name in a note.

    mentions (Sequence[list[NamePart]]): the words of each mention; `lemma`, `analysis` and `ending` are set.
    lang (str): ISO 639-1 code.
    conventions (NamingConventions): the naming conventions of the language.
    names (NameLists): the name lists of the language.
    RETURNS (frozenset[str]): all folded words that a word of the note may be a form of.
    """
    words = [part for parts in mentions for part in parts if part.role == "name"]
    for part in words:
        short = conventions.short.get(part.folded)
        part.lemma = fold(short) if short else part.folded
    possible = {part.lemma for part in words} | {part.folded for part in words}
    if inflector := get_language(lang).inflector:
        possible |= _find_nominatives(mentions, words, names, inflector)
    _correct_spelling(mentions, words, names)
    return frozenset(possible)


def _find_nominatives(
    mentions: Sequence[NameParts], words: NameParts, names: NameLists, inflector: Inflector
) -> set[str]:
    """Set the nominative of each inflected form: the one that most forms of the note share, then the most probable.

    RETURNS (set[str]): all nominatives that the forms may have, folded.
    """
    analyses: dict[str, list[Analysis]] = {}
    clitics: dict[str, str] = {}
    for form in dict.fromkeys(map(_form, words)):
        analyses[form] = inflector.analyze(form, names.known.__contains__)
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
    for part in words:
        form = _form(part)
        kinds = ("surname",) if form in within else ("surname", "given")
        part.analysis = _choose_analysis(
            analyses[form], support, names, kinds, inflector, nominative=id(part) in nominatives
        )
        part.lemma = fold(part.analysis.nominative)
        part.ending = part.ending or clitics.get(form, "")
    return {fold(analysis.nominative) for found in analyses.values() for analysis in found}


def _form(part: NamePart) -> str:
    """A word in lower case, without a line break in it."""
    return "".join(part.text.lower().split()).replace("-", "")


def _choose_analysis(
    found: Sequence[Analysis],
    support: Counter[str],
    names: NameLists,
    kinds: Sequence[str],
    inflector: Inflector,
    *,
    nominative: bool,
) -> Analysis:
    """Choose the analysis of a form.

    found (Sequence[Analysis]): all analyses; the last one takes the form as a nominative.
    support (Counter[str]): nominative → number of forms in the note that it may have.
    kinds (Sequence[str]): kinds of name that the form may be.
    nominative (bool): whether a nominative is expected.
    """
    itself = found[-1]
    if nominative and (itself.nominative in names.known or len(found) == 1):
        return itself

    def may_be_possessive(analysis: Analysis) -> bool:
        bearers = names.count("given", fold(analysis.nominative))
        return support[analysis.nominative] > 1 or bearers >= _POSSESSIVE_BEARERS

    found = [analysis for analysis in found if not analysis.possessive or may_be_possessive(analysis)]
    return max(
        found, key=lambda analysis: (support[analysis.nominative], _likelihood(analysis, names, kinds, inflector))
    )


def _likelihood(analysis: Analysis, names: NameLists, kinds: Sequence[str], inflector: Inflector) -> float:
    """Log likelihood (nats) of an analysis, from its case and from the bearers of its nominative or its ending.

    A form is analysed as that of a surname first. Where a given name has the same form, `kinds` decides whether the
    bearers of the given name count too.
    """
    folded = fold(analysis.nominative)
    marked = analysis.possessive or analysis.number == "plur"
    share = log(_PLURAL_OR_POSSESSIVE if marked else inflector.case_shares.get(analysis.case, _RARE_CASE))
    if not names.is_listed(folded):
        return share + names.ending_likelihood(analysis.nominative)
    counted = [kind for kind in kinds if kind == analysis.kind or _has_same_form(analysis, kind, inflector)] or [
        analysis.kind
    ]
    counted = ["given", "surname"] if analysis.case == "nom" else counted
    return share + log(1 + sum(names.count(kind, folded) for kind in counted)) + _LISTED


def _has_same_form(analysis: Analysis, other_kind: str, inflector: Inflector) -> bool:
    """Whether a name of another kind with the same nominative has the same form."""
    name, case, number, possessive, kind = analysis
    forms = {
        inflector.inflect(name, case, kind=one, number=number, possessive=possessive) for one in (kind, other_kind)
    }
    return len(forms) == 1


def _correct_spelling(mentions: Sequence[NameParts], words: NameParts, names: NameLists) -> None:
    """Give an unlisted word the lemma of a word in the note that is one edit away (optimal string alignment)."""
    counts = Counter(part.lemma for part in words)
    unlisted = [
        word
        for word in counts
        if _SHORTEST_MISSPELLED <= len(word) <= _LONGEST_MISSPELLED and not names.is_listed(word)
    ]
    if not unlisted:
        return
    near: dict[str, set[str]] = defaultdict(set)
    for word in counts:
        if _SHORTEST_MISSPELLED - 1 <= len(word) <= _LONGEST_MISSPELLED:
            for deletion in _deletions(word):
                near[deletion].add(word)
    together = {frozenset((a.lemma, b.lemma)) for parts in mentions for a in parts for b in parts if a is not b}
    alike: dict[str, list[str]] = {}
    for word in unlisted:  # words that occur together in one name are different names
        others = {other for deletion in _deletions(word) for other in near[deletion]} - {word}
        alike[word] = [o for o in others if OSA.distance(word, o) == 1 and frozenset((word, o)) not in together]

    def weight(word: str) -> tuple[bool, int, int, str]:
        return names.is_listed(word), counts[word], len(alike.get(word, ())), word

    best = {word: max(others, key=weight) for word, others in alike.items() if others}
    corrected = {word: other for word, other in best.items() if weight(other) > weight(word)}
    for part in words:
        while part.lemma in corrected:  # each correction has a greater weight, so this ends
            part.lemma = corrected[part.lemma]


def _deletions(word: str) -> set[str]:
    """A word and the word without each of its letters. Two words that are one edit apart share one of these."""
    return {word} | {word[:i] + word[i + 1 :] for i in range(len(word))}
