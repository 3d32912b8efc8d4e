"""Analyze inflected Finnish forms: find the nominatives, cases and numbers that a form can have.

An ending is removed, the stem is expanded to every nominative that it can belong to, and each nominative is inflected
again. Those that result in the form are its analyses, so that an analysis always agrees with `inflection.inflect`.
"""

from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType

from ..inflection import Analysis
from ..text import fold
from .declension_lists import takes_outer
from .inflection import CASES, POSSESSIVES, case_forms, inflect, inflect_acronym, inflect_unkept
from .phonology import VOWELS, is_back, strengthen, weaken

# Ending → case, for endings on the weak or strong stem, in both vowel harmonies.
_ENDINGS = {
    "n": "gen", "ssa": "ine", "ssä": "ine", "sta": "ela", "stä": "ela", "lla": "ade", "llä": "ade", "lta": "abl",
    "ltä": "abl", "lle": "all", "na": "ess", "nä": "ess", "ksi": "tra", "tta": "abe", "ttä": "abe", "neen": "com",
}  # fmt: skip
_PARTITIVES = ("tta", "ttä", "ta", "tä", "a", "ä")
_PLURALS = {**_ENDINGS, "t": "nom", "ten": "gen", "en": "gen", "den": "gen", "in": "ill", "hin": "ill", "siin": "ill"}
_CLITICS = ("kinko", "kinkö", "kohan", "köhän", "kin", "kaan", "kään", "han", "hän", "ko", "kö", "pa", "pä")
_PLURAL_SIGNS = frozenset("ij")
# What is left before the plural i of a final diphthong → the diphthong: "teineen", "tie".
_OPENED = {"e": "ie", "o": "uo", "ö": "yö"}
_SHORTEST_STEM = 2  # letters
_FRONT = str.maketrans("ao", "äö")
_BACK = str.maketrans("äö", "ao")
# Outer → inner local case.
_INNER = {"ade": "ine", "abl": "ela", "all": "ill"}
# Ending → the case that it suggests in an unlisted word.
_ENDS = (
    ("ssa", "ine"), ("sta", "ela"), ("lla", "ade"), ("lta", "abl"), ("lle", "all"), ("ksi", "tra"), ("nen", "nom"),
    ("seen", "ill"), ("siin", "ill"), ("aan", "ill"), ("een", "ill"), ("iin", "ill"), ("oon", "ill"), ("uun", "ill"),
    ("yyn", "ill"), ("han", "ill"), ("hin", "ill"), ("hon", "ill"), ("hun", "ill"), ("n", "gen"), ("na", "ess"),
    ("tta", "par"), ("ta", "par"), ("aa", "par"),
)  # fmt: skip
_SHORTEST_GUESS = 5  # letters of an unlisted word that may have an ending


def analyze(form: str, known: Callable[[str], bool], kinds: tuple[str, ...] = ("surname", "given")) -> list[Analysis]:
    """Find the nominatives and cases that an inflected name can have.

    form (str): one word in lower case.
    known (Callable[[str], bool]): returns whether a word in lower case is a listed name.
    kinds (tuple[str, ...]): kinds of name to try, in this order.
    RETURNS (list[Analysis]): the analyses whose nominative is a listed name; if there are none, all possible analyses
        as a singular form. The last one always takes the form itself for a nominative.
    """
    itself = Analysis(form, kind=kinds[0])
    if form.endswith("nen") and known(form):
        return [itself]
    found = _verify(form, _singular(form), known, kinds)
    if form.endswith(("t", "ten")) or not _PLURAL_SIGNS.isdisjoint(form[-6:-1]):
        found += _verify(form, _plural(form), known, kinds)
    found = found or _verify(form, _possessed(form), known, kinds)
    if found:
        return [*found, itself]
    if known(form):
        return [itself]
    return [*_guess(form, kinds), itself]


def _guess(form: str, kinds: tuple[str, ...]) -> Iterator[Analysis]:
    """Yield analyses of the singular of an unlisted name. Nothing is cached, because the name comes from a note."""
    for name, case, number, _ in dict.fromkeys(_singular(form)):
        if name != form and _may_be_word(name):
            kind = next((kind for kind in kinds if inflect_unkept(name, case, kind) == form), None)
            if kind is not None:
                yield Analysis(name, case, number, None, kind)


def _may_be_word(name: str) -> bool:
    """Whether an unlisted nominative is possible: no word begins with a double consonant."""
    return len(name) > _SHORTEST_STEM and (name[0] != name[1] or name[0] in VOWELS)


def split_clitic(form: str) -> tuple[str, str]:
    """Split a clitic, an attached particle such as "-kin" or "-ko", from a form: "virtanenkin", "jukkako".

    form (str): lower case.
    RETURNS (tuple[str, str]): form without the clitic, clitic; the clitic is "" if there is none.
    """
    for clitic in _CLITICS:
        if form.endswith(clitic) and len(form) - len(clitic) > _SHORTEST_STEM:
            return form[: -len(clitic)], clitic
    return form, ""


def write_clitic(form: str, clitic: str) -> str:
    """Append a clitic to a form, with the vowels that the vowel harmony of the form requires."""
    return form + (clitic.translate(_BACK) if is_back(form.lower()) else clitic.translate(_FRONT))


def _verify(
    form: str, shapes: Iterator[tuple[str, str, str, str | None]], known: Callable[[str], bool], kinds: tuple[str, ...]
) -> list[Analysis]:
    """Return the candidates with a known nominative that inflect to the form."""
    found: dict[tuple[str, str, str, str | None], Analysis] = {}
    for shape in shapes:
        name, case, number, possessive = shape
        if not known(name) or shape in found or name == form:
            continue
        for kind in kinds:
            if inflect(name, case, kind=kind, number=number, possessive=possessive) == form:
                found[shape] = Analysis(name, case, number, possessive, kind)
                break
    return list(found.values())


def _singular(form: str) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield candidates for a singular form: (nominative, case, number, possessive), with None for no possessive."""
    for stem, case in _stems(form):
        for name in _from_plural(stem) if case == "com" else _nominatives(stem):
            yield name, case, "sing", None


def _stems(form: str) -> Iterator[tuple[str, str]]:
    """Yield (stem, case) for every singular ending that a form may have."""
    for length in (4, 3, 2, 1):
        case = _ENDINGS.get(form[-length:])
        if case and len(form) - length >= _SHORTEST_STEM:
            yield form[:-length], case
    for ending in _PARTITIVES:
        if form.endswith(ending) and len(form) - len(ending) >= _SHORTEST_STEM:
            yield form.removesuffix(ending), "par"
    if form.endswith("n") and len(form) > 3 and form[-2] in VOWELS:
        yield form[:-2], "ill"
        if form[-3] == "h":
            yield form[:-3], "ill"
        if form.endswith("seen"):
            yield form[:-4], "ill"


def _nominatives(stem: str) -> Iterator[str]:
    """Yield every nominative that a stem may belong to: a weak, strong or partitive stem."""
    yield from (stem, stem + "i")
    if not stem:
        return
    if stem[-1] == "s":
        yield stem[:-1] + "nen"
    if stem[-1] == "t":
        yield from (stem[:-1] + "si", stem[:-1] + "s")
    if stem[-1] == "n":
        yield stem[:-1] + "mi"
    if stem[-1] not in VOWELS:
        return
    if stem.endswith("kse"):
        yield stem[:-3] + "s"
    if stem.endswith("se"):
        yield stem[:-2] + "nen"
    if stem.endswith("lje"):
        yield stem[:-2] + "i"
    if stem[-1] in "i'":
        yield stem[:-1]
    yield from _graded(stem)


def _graded(stem: str) -> Iterator[str]:
    """Yield nominatives in the other grade, and those whose ending differs from the stem."""
    for other in dict.fromkeys((stem, *_strong(stem))):
        yield other
        if other[-1] == "e":
            yield other[:-1] + "i"
            if other.endswith("te"):
                yield other[:-2] + "si"
    if len(stem) > 2 and stem[-1] == stem[-2]:
        short = weaken(stem[:-1])
        yield from (short, short + "s", stem[:-1] + "s", stem[:-2])
    if stem.endswith(("de", "te")):
        yield stem[:-2] + "s"
    if stem.endswith("e") and len(stem) > 1:
        yield from (stem[:-1], weaken(stem)[:-1], weaken(stem[:-2]) + stem[-2], stem[:-2] + "s", stem[:-2] + "n")


def _strong(stem: str) -> Iterator[str]:
    """Yield the strong stems that a weak stem may come from."""
    yield strengthen(stem)
    start = len(stem) - 1
    while start and stem[start - 1] not in VOWELS:
        start -= 1
    head, consonants, end = stem[:start], stem[start:-1], stem[-1]
    if consonants in ("v", "j"):
        yield from (head + "p" + end, head + "k" + end, head + "ik" + end)
    elif consonants == "":
        yield stem[:-1] + "k" + end
    elif consonants == "'":
        yield head + "k" + end
    elif consonants in ("r", "l", "h"):
        yield head + consonants + "k" + end
    elif consonants[-1:] == "j":
        yield head + consonants[:-1] + "k" + end
    elif consonants[-1:] in ("p", "t", "k"):
        yield head + consonants + consonants[-1] + end


def _plural(form: str) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield candidates for a plural form: "virtaset", "virtasilla", "mäkelöiden". The comitative has no number."""
    for length in (4, 3, 2, 1):
        case = _PLURALS.get(form[-length:])
        if case and case != "com" and len(form) - length >= _SHORTEST_STEM:
            for name in _from_plural(form[:-length]):
                yield name, case, "plur", None
    for ending in _PARTITIVES[2:]:
        if form.endswith(ending) and len(form) - len(ending) >= _SHORTEST_STEM:
            for name in _from_plural(form.removesuffix(ending)):
                yield name, "par", "plur", None


def _from_plural(stem: str) -> Iterator[str]:
    """Yield the nominatives of a plural stem: remove the plural i and restore the vowel that it replaced."""
    yield from _nominatives(stem)
    if stem[-1] not in "ij":
        return
    bare = stem[:-1]
    swallowed = {"o": "a", "ö": "ä", "e": "i"}.get(bare[-1:], "")
    for vowel in ("", "e", "a", "ä", "i", bare[-1:]):
        yield from _nominatives(bare + vowel)
    if swallowed:
        yield from _nominatives(bare[:-1] + swallowed)
        yield bare[:-1] + _OPENED[bare[-1]]


def _possessed(form: str) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield candidates for a form with a possessive suffix: "annani", "virtasellemme"."""
    for person, suffix in POSSESSIVES.items():
        for ending in {suffix, suffix.translate(_FRONT)}:
            if form.endswith(ending) and len(form) - len(ending) > _SHORTEST_STEM:
                yield from _owned(form.removesuffix(ending), person)
    if form.endswith(("aan", "ään", "een")) and len(form) > 5:
        yield from _owned(form[:-2], "3")


def _owned(base: str, person: str) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield candidates for a form whose possessive suffix has been removed."""
    for name in _nominatives(base):
        yield name, "nom", "sing", person
    for stem, case in (*_stems(base), *_stems(base + "n"), (base.removesuffix("kse"), "tra")):
        if case in CASES and len(stem) >= _SHORTEST_STEM:
            for name in _nominatives(stem):
                yield name, case, "sing", person


def index_forms(names: Iterable[str], kind: str) -> dict[str, tuple[str, str]]:
    """Build a table that looks up the nominative of an inflected name.

    names (Iterable[str]): nominatives. A form that two names share is mapped to the first of them.
    kind (str): as for `inflect`.
    RETURNS (dict[str, tuple[str, str]]): folded form → (nominative, case). For a place "ine", "ela" and "ill" mean
        in, from and to, whether it takes the inner or the outer cases.
    """
    found: dict[str, tuple[str, str]] = {}
    listed = list(names)
    for name in listed:
        found.setdefault(fold(name), (name, "nom"))
    for name in listed:
        outer = kind == "place" and takes_outer(name)
        for case in CASES[1:-1]:
            found.setdefault(fold(inflect(name, case, kind=kind)), (name, _INNER.get(case, case) if outer else case))
        if outer:
            for case in ("ine", "ela", "ill"):
                found.setdefault(fold(inflect(name, case, kind="noun")), (name, case))
    return found


def guess_case(word: str) -> str:
    """Guess the case of an unlisted word from its ending.

    word (str): as written.
    RETURNS (str): case; "nom" if the word is short or its ending is not decisive.
    """
    folded = fold(word)
    if len(folded) < _SHORTEST_GUESS:
        return "nom"
    return next((case for end, case in _ENDS if folded.endswith(end)), "nom")


def analyze_noun(word: str, known: Callable[[str], bool]) -> Analysis | None:
    """Analyze an inflected form of a noun of a word list.

    word (str): one word, in upper or lower case.
    known (Callable[[str], bool]): whether a word in lower case is on the list.
    RETURNS (Optional[Analysis]): nominative, case, number and possessive suffix; None if the word is not a form of a
        listed noun.
    """
    analyses = analyze(word.lower(), known, kinds=("noun",))
    return next((analysis for analysis in analyses if known(analysis.nominative)), None)


_CASE_SHARES = {"nom": 0.3, "gen": 0.25, "par": 0.03, "all": 0.04, "ine": 0.03, "ela": 0.03, "ade": 0.03}


class FinnishInflector:
    """Inflects and analyzes Finnish words; implements `spacy_deid.lang.inflection.Inflector`."""

    cases = CASES
    case_shares = MappingProxyType(_CASE_SHARES)
    inflect = staticmethod(inflect)
    case_forms = staticmethod(case_forms)
    index_forms = staticmethod(index_forms)
    inflect_acronym = staticmethod(inflect_acronym)
    analyze = staticmethod(analyze)
    analyze_noun = staticmethod(analyze_noun)
    guess_case = staticmethod(guess_case)
    split_clitic = staticmethod(split_clitic)
    write_clitic = staticmethod(write_clitic)
