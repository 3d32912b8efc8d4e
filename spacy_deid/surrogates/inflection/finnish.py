"""Finnish names, places and nouns in the case that their sentence asks for.

Only the last word of a name inflects ("Anna Virtanen", "Anna Virtasen"), and only the last part of a double name
("Anna-Liisa", "Anna-Liisan"); adjectives before a noun agree with it ("yliopistollisessa keskussairaalassa").
"""

import re
from functools import lru_cache

from ...errors import ConfigError, Errors
from .finnish_acronyms import inflect_acronym, is_acronym
from .finnish_places import AGREEING, PLURAL_NAMES, takes_outer
from .finnish_plural import find_plural
from .finnish_sounds import harmonize
from .finnish_stems import Stems, find_stems

__all__ = ["CASES", "KINDS", "POSSESSIVES", "case_forms", "inflect", "inflect_unkept"]

# What stands on the weak stem; the other cases have shapes of their own.
_ON_WEAK = {
    "gen": "n",
    "ine": "ssa",
    "ela": "sta",
    "ade": "lla",
    "abl": "lta",
    "all": "lle",
    "tra": "ksi",
    "abe": "tta",
}
CASES = ("nom", "gen", "par", "ine", "ela", "ill", "ade", "abl", "all", "ess", "tra", "abe", "com")
"""Cases, by the first letters that grammars and treebanks use."""

_OBLIQUE = CASES[1:-1]
_NUMBERS = ("sing", "plur")

KINDS = ("given", "surname", "name", "place", "noun")
"""What a word is: given names, surnames, names of unknown sort, places and common nouns inflect each their own way."""

POSSESSIVES = {"1sg": "ni", "2sg": "si", "1pl": "mme", "2pl": "nne", "3": "nsa"}
"""Possessive suffixes by person."""

_BOTH_PARTS = frozenset(name for names in AGREEING.values() for name in names)
_OUTER = {"ine": "ade", "ela": "abl", "ill": "all"}
_WORD = re.compile(r"[^\s-]+$")


def inflect(text: str, case: str, *, kind: str = "name", number: str = "sing", possessive: str | None = None) -> str:
    """Inflect a name, a place or a noun phrase.

    text (str): nominative, as written; capitals are kept.
    case (str): one of `CASES`. For a place the inner cases mean "in", "from" and "to": a town that takes the outer
        ones gets those (Tampereella).
    kind (str): one of `KINDS`.
    number (str): "sing" or "plur".
    possessive (str | None): person of a possessive suffix, one of `POSSESSIVES`.
    RETURNS (str): the inflected text.
    RAISES: ConfigError (D630) for an unknown case, kind, number or person.
    """
    _check(case, kind, number, possessive)
    if kind in ("given", "surname") and text.isalpha() and text.lower() not in _BOTH_PARTS:
        return _inflect_word(text, case, kind, number, possessive)  # what most are needs no look at its parts
    if not text or not text[-1].isalnum() or text[-1].isdigit():
        return text
    if kind == "place" and case in _OUTER and takes_outer(text):
        case = _OUTER[case]
    if text.lower() in _BOTH_PARTS:
        return _inflect_word(text, case, "place", number, possessive)
    found = _WORD.search(text)
    if found is None:
        return text
    last, before = found.group(), text[: found.start()]
    if kind in ("place", "noun") and before.endswith(" "):
        before = _agree(before, case, number)
    if kind == "name" and before.endswith(" "):
        kind = "surname"
    return before + _inflect_word(last, case, kind, number, possessive)


def case_forms(text: str, kind: str = "name") -> frozenset[str]:
    """All singular forms of a name, for dictionaries that must find it in a sentence.

    text (str): nominative.
    kind (str): one of `KINDS`.
    RETURNS (frozenset[str]): the forms in every case but the comitative, the nominative itself among them; for a
        place in the inner and in the outer cases.
    RAISES: ConfigError (D630) for an unknown kind.
    """
    _check("nom", kind, "sing", None)
    as_kind = "noun" if kind == "place" and takes_outer(text) else kind
    if len(text) > 1 and text.isalpha() and _is_regular(text, as_kind):
        stems = find_stems.__wrapped__(text.lower(), as_kind)  # a patient's name is not kept
        return frozenset((text, *(_recase(text, _case_form(stems, case)) for case in _OBLIQUE)))
    return frozenset(inflect(text, case, kind=as_kind) for case in CASES if case != "com")


def inflect_unkept(name: str, case: str, kind: str) -> str:
    """Inflect a name of a note that no list has: as `inflect` in the singular, but nothing of it is kept.

    name (str): nominative in lower case.
    case (str): one of `CASES`.
    kind (str): "given" or "surname".
    RETURNS (str): the form, in lower case.
    """
    found = _WORD.search(name)
    if found is None or not name[-1].isalpha() or name in _BOTH_PARTS:  # a word of our own lists, or none
        return inflect(name, case, kind=kind)
    before, last = name[: found.start()], found.group()
    if len(last) < 2 or case == "nom":
        return name
    if is_acronym(last, kind):
        return before + inflect_acronym(last, case)
    stems = find_stems.__wrapped__(last, kind)
    return before + (find_plural(last, stems).outer + "neen" if case == "com" else _case_form(stems, case))


def _is_regular(word: str, kind: str) -> bool:
    """Whether a word has the endings of the singular on stems of its own."""
    lower = word.lower()
    return lower not in _BOTH_PARTS and lower not in PLURAL_NAMES and not is_acronym(word, kind)


def _check(case: str, kind: str, number: str, possessive: str | None) -> None:
    """Refuse a setting that there is not."""
    if case in CASES and kind in KINDS and number in _NUMBERS and (possessive is None or possessive in POSSESSIVES):
        return
    for value, known in ((case, CASES), (kind, KINDS), (number, _NUMBERS)):
        if value not in known:
            raise ConfigError(Errors.D630.format(value=value, known=", ".join(known)))
    raise ConfigError(Errors.D630.format(value=possessive, known=", ".join(POSSESSIVES)))


def _agree(before: str, case: str, number: str) -> str:
    """Inflect the adjectives before a noun: "yliopistollinen" in "Helsingin yliopistollinen keskussairaala"."""
    words = before.split(" ")
    for place, word in enumerate(words):
        if (word.endswith("nen") and word.islower()) or word.lower() in AGREEING:
            words[place] = _inflect_word(word, case, "noun", number, None)
    return " ".join(words)


@lru_cache(maxsize=50_000)
def _inflect_word(word: str, case: str, kind: str, number: str, possessive: str | None) -> str:
    """Inflect one word; a single letter stays as it is."""
    if len(word) < 2:
        return word
    if is_acronym(word, kind):
        return inflect_acronym(word, case)
    lower = word.lower()
    if lower in PLURAL_NAMES and kind in ("place", "name", "noun"):
        return word if case == "nom" else _recase(word, _plural(PLURAL_NAMES[lower], case, None))
    if kind in ("place", "name"):
        for first, second in AGREEING.items():
            if lower.startswith(first) and lower in second:
                start = _inflect_word(word[: len(first)], case, "noun", number, None)
                rest = word[len(first) :].removeprefix("-")
                hyphen = "-" if word[len(first)] == "-" else ""
                return start + hyphen + _inflect_word(rest, case, "place", number, possessive)
    if number == "plur":
        return _recase(word, _plural(lower, case, possessive))
    return _recase(word, _singular(lower, case, kind, possessive))


def _singular(word: str, case: str, kind: str, possessive: str | None) -> str:
    """A form of the singular, lower case."""
    if case == "nom" and possessive is None:
        return word
    stems = find_stems(word, kind)
    if possessive is not None:
        return _add_possessive(
            _before_possessive(stems, word, case), possessive, stems.back, bare=case in ("nom", "gen")
        )
    if case == "com":
        return find_plural(word, stems).outer + "neen"
    return _case_form(stems, case)


def _case_form(stems: Stems, case: str) -> str:
    """A singular form without a suffix."""
    if case in ("par", "ill"):
        return stems.partitive if case == "par" else stems.illative
    if case == "ess":
        return stems.strong + harmonize("na", stems.back)
    return stems.weak + harmonize(_ON_WEAK[case], stems.back)


def _before_possessive(stems: Stems, word: str, case: str) -> str:
    """What a possessive suffix stands on: the strong stem in the nominative and genitive, else the case form."""
    if case in ("nom", "gen"):
        return stems.strong
    if case == "com":
        return find_plural(word, stems).outer + "ne"
    if case == "tra":
        return stems.weak + "kse"
    form = _case_form(stems, case)
    return form.removesuffix("n")


def _add_possessive(form: str, person: str, back: bool, *, bare: bool) -> str:
    """Put a possessive suffix on a bare stem ("äitinsä") or a case form ("äidillään", "taloonsa")."""
    if person == "3" and not bare and form[-1] in "aäe" and form[-2] != form[-1]:
        return form + form[-1] + "n"
    return form + harmonize(POSSESSIVES[person], back)


def _plural(word: str, case: str, possessive: str | None) -> str:
    """A form of the plural, lower case."""
    stems = find_stems(word, "noun")
    plural = find_plural(word, stems)
    if possessive is not None and case == "nom":
        return _add_possessive(stems.strong, possessive, stems.back, bare=True)
    forms = {
        "nom": stems.weak + "t",
        "gen": plural.genitive,
        "par": plural.partitive,
        "ill": plural.illative,
        "ess": plural.outer + harmonize("na", stems.back),
        "com": plural.outer + "neen",
    }
    form = forms.get(case) or plural.inner + harmonize(_ON_WEAK[case], stems.back)
    if possessive is None or case == "com":
        return form
    return _add_possessive(form.removesuffix("n"), possessive, stems.back, bare=case == "gen")


def _recase(word: str, form: str) -> str:
    """Give a form the capitals of the word: it may differ from the word's end on only."""
    if word.isupper() and len(word) > 1:
        return form.upper()
    lower = word.lower()
    if lower == word:
        return form
    if len(lower) == len(word) and form.startswith(lower):
        return word + form[len(word) :]
    same = next((i for i, (a, b) in enumerate(zip(lower, form, strict=False)) if a != b), min(len(word), len(form)))
    return word[:same] + form[same:]
