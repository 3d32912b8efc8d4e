"""What a Finnish form may be a form of: the rules that make forms, run backwards and then forwards again.

An ending is taken off, the stem is given every shape that a nominative could have had, and each is inflected anew:
what comes out as the form that was read is a reading. So a reading never disagrees with `finnish.inflect`.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from .finnish import CASES, POSSESSIVES, inflect, inflect_unkept
from .finnish_sounds import VOWELS, is_back, strengthen, weaken

__all__ = ["Reading", "read_form", "split_clitic", "write_clitic"]


class Reading(NamedTuple):
    """One way to read a form.

    nominative (str): in lower case.
    case, number (str): as `finnish.inflect` has them.
    possessive (Optional[str]): person of a possessive suffix.
    kind (str): "given" or "surname".
    """

    nominative: str
    case: str = "nom"
    number: str = "sing"
    possessive: str | None = None
    kind: str = "surname"


# Ending → case, for endings on the weak or strong stem; two-vowel variants by harmony.
_ENDINGS = {
    "n": "gen", "ssa": "ine", "ssä": "ine", "sta": "ela", "stä": "ela", "lla": "ade", "llä": "ade", "lta": "abl",
    "ltä": "abl", "lle": "all", "na": "ess", "nä": "ess", "ksi": "tra", "tta": "abe", "ttä": "abe", "neen": "com",
}  # fmt: skip
_PARTITIVES = ("tta", "ttä", "ta", "tä", "a", "ä")
_PLURALS = {**_ENDINGS, "t": "nom", "ten": "gen", "en": "gen", "den": "gen", "in": "ill", "hin": "ill", "siin": "ill"}
_CLITICS = ("kinko", "kinkö", "kohan", "köhän", "kin", "kaan", "kään", "han", "hän", "ko", "kö", "pa", "pä")
_PLURAL_SIGNS = frozenset("ij")
_LEAST = 2  # letters of a stem
_FRONT = str.maketrans("ao", "äö")
_BACK = str.maketrans("äö", "ao")


def read_form(form: str, known: Callable[[str], bool], kinds: tuple[str, ...] = ("surname", "given")) -> list[Reading]:
    """Read a form of a name.

    form (str): one word in lower case.
    known (Callable[[str], bool]): whether a word in lower case is a name of the lists.
    kinds (tuple[str, ...]): the kinds of name that it may be of; the first is tried first.
    RETURNS (list[Reading]): every reading whose nominative is known; if there is none, every reading of the
        singular. The form itself as a nominative is always the last one, known or not.
    """
    itself = Reading(form, kind=kinds[0])
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


def _guess(form: str, kinds: tuple[str, ...]) -> Iterator[Reading]:
    """Readings of the singular of a name that no list has. Nothing of it is kept, as it is of a note."""
    for name, case, number, _ in dict.fromkeys(_singular(form)):
        if name != form and _may_be_word(name):
            kind = next((kind for kind in kinds if inflect_unkept(name, case, kind) == form), None)
            if kind is not None:
                yield Reading(name, case, number, None, kind)


def _may_be_word(name: str) -> bool:
    """Whether a nominative that nobody knows may be one: no word begins with a double consonant."""
    return len(name) > _LEAST and (name[0] != name[1] or name[0] in VOWELS)


def split_clitic(form: str) -> tuple[str, str]:
    """Take a clitic off: "virtanenkin", "jukkako".

    form (str): lower case.
    RETURNS (tuple[str, str]): what is left, and the clitic; the form and "" if there is none.
    """
    for clitic in _CLITICS:
        if form.endswith(clitic) and len(form) - len(clitic) > _LEAST:
            return form[: -len(clitic)], clitic
    return form, ""


def write_clitic(form: str, clitic: str) -> str:
    """Put a clitic behind another form, in harmony with it."""
    return form + (clitic.translate(_BACK) if is_back(form.lower()) else clitic.translate(_FRONT))


def _verify(
    form: str, shapes: Iterator[tuple[str, str, str, str | None]], known: Callable[[str], bool], kinds: tuple[str, ...]
) -> list[Reading]:
    """The shapes that are known and give the form again."""
    found: dict[tuple[str, str, str, str | None], Reading] = {}
    for shape in shapes:
        name, case, number, possessive = shape
        if not known(name) or shape in found or name == form:
            continue
        for kind in kinds:
            if inflect(name, case, kind=kind, number=number, possessive=possessive) == form:
                found[shape] = Reading(name, case, number, possessive, kind)
                break
    return list(found.values())


def _singular(form: str) -> Iterator[tuple[str, str, str, str | None]]:
    """Nominatives that a form of the singular may come from."""
    for stem, case in _stems(form):
        for name in _from_plural(stem) if case == "com" else _nominatives(stem):
            yield name, case, "sing", None


def _stems(form: str) -> Iterator[tuple[str, str]]:
    """Every ending of the singular taken off, and its case."""
    for length in (4, 3, 2, 1):
        case = _ENDINGS.get(form[-length:])
        if case and len(form) - length >= _LEAST:
            yield form[:-length], case
    for ending in _PARTITIVES:
        if form.endswith(ending) and len(form) - len(ending) >= _LEAST:
            yield form.removesuffix(ending), "par"
    if form.endswith("n") and len(form) > 3 and form[-2] in VOWELS:
        yield form[:-2], "ill"
        if form[-3] == "h":
            yield form[:-3], "ill"
        if form.endswith("seen"):
            yield form[:-4], "ill"


def _nominatives(stem: str) -> Iterator[str]:
    """Every nominative that a stem may belong to: weak and strong ones, and those of the partitive."""
    yield from (stem, stem + "i")
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
    if stem[-1] in "i'":
        yield stem[:-1]
    yield from _graded(stem)


def _graded(stem: str) -> Iterator[str]:
    """Nominatives in the other grade, and those that end otherwise than their stem."""
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
    if stem.endswith("e"):
        yield from (stem[:-1], weaken(stem)[:-1], stem[:-2] + "s", stem[:-2] + "n")


def _strong(stem: str) -> Iterator[str]:
    """Strong stems that a weak one may come from."""
    yield strengthen(stem)
    start = len(stem) - 1
    while start and stem[start - 1] not in VOWELS:
        start -= 1
    head, consonants, end = stem[:start], stem[start:-1], stem[-1]
    if consonants in ("v", "j"):
        yield from (head + "p" + end, head + "k" + end)
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
    """Nominatives that a form of the plural may come from: "virtaset", "virtasilla", "mäkelöiden"."""
    for length in (4, 3, 2, 1):
        case = _PLURALS.get(form[-length:])
        if case and len(form) - length >= _LEAST:
            for name in _from_plural(form[:-length]):
                yield name, case, "plur", None
    for ending in _PARTITIVES[2:]:
        if form.endswith(ending) and len(form) - len(ending) >= _LEAST:
            for name in _from_plural(form.removesuffix(ending)):
                yield name, "par", "plur", None


def _from_plural(stem: str) -> Iterator[str]:
    """Nominatives of a plural stem: the i of the plural is taken off, what it swallowed put back."""
    yield from _nominatives(stem)
    if stem[-1] not in "ij":
        return
    bare = stem[:-1]
    swallowed = {"o": "a", "ö": "ä", "e": "i"}.get(bare[-1:], "")
    for vowel in ("", "e", "a", "ä", "i", bare[-1:]):
        yield from _nominatives(bare + vowel)
    if swallowed:
        yield from _nominatives(bare[:-1] + swallowed)


def _possessed(form: str) -> Iterator[tuple[str, str, str, str | None]]:
    """Nominatives that a form with a possessive suffix may come from: "annani", "virtasellemme"."""
    for person, suffix in POSSESSIVES.items():
        for ending in {suffix, suffix.translate(_FRONT)}:
            if form.endswith(ending) and len(form) - len(ending) > _LEAST:
                yield from _owned(form.removesuffix(ending), person)
    if form.endswith(("aan", "ään", "een")) and len(form) > 5:
        yield from _owned(form[:-2], "3")


def _owned(base: str, person: str) -> Iterator[tuple[str, str, str, str | None]]:
    """The same, without the suffix."""
    for name in _nominatives(base):
        yield name, "nom", "sing", person
    for stem, case in (*_stems(base), *_stems(base + "n"), (base.removesuffix("kse"), "tra")):
        if case in CASES and len(stem) >= _LEAST:
            for name in _nominatives(stem):
                yield name, case, "sing", person
