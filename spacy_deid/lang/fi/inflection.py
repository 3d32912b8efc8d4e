"""Inflect Finnish names, places and nouns in any case and number, with or without a possessive suffix.

Only the last word of a name inflects ("Anna Virtanen", "Anna Virtasen"), and only the last part of a double name
("Anna-Liisa", "Anna-Liisan"); adjectives before a noun agree with it ("yliopistollisessa keskussairaalassa").
"""

import re
from functools import lru_cache

from ...errors import ConfigError, Errors
from .declension_lists import AGREEING, PLURAL_NAMES, takes_outer
from .phonology import harmonize
from .stems import Stems, find_plural, find_stems

# Endings of the weak stem; the other cases are formed in other ways.
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
"""Abbreviations of the cases, as grammars and treebanks have them."""

_OBLIQUE = CASES[1:-1]
_NUMBERS = ("sing", "plur")

KINDS = ("given", "surname", "name", "place", "noun")
"""Kinds of words that inflect differently. A "name" may be a given name, a surname or both."""

POSSESSIVES = {"1sg": "ni", "2sg": "si", "1pl": "mme", "2pl": "nne", "3": "nsa"}
"""Possessive suffixes by person."""

# Acronyms that are read as words, not letter by letter; their stem ends in i.
_READ_AS_WORDS = frozenset("HUS TAYS TYKS KYS OYS HYKS TYKSI PHHYKY SOTE KELA KOKS EKSOTE SIUN ESKO ESSOTE".split())
# Letter → the end of its Finnish name: the consonant of the illative, and the vowels, which also give the harmony.
_LETTERS = {
    "A": ("h", "a"), "B": ("h", "e"), "C": ("h", "e"), "D": ("h", "e"), "E": ("h", "e"), "F": ("", "ää"),
    "G": ("h", "e"), "H": ("h", "o"), "I": ("h", "i"), "J": ("", "ii"), "K": ("h", "o"), "L": ("", "ää"),
    "M": ("", "ää"), "N": ("", "ää"), "O": ("h", "o"), "P": ("h", "e"), "Q": ("h", "u"), "R": ("", "ää"),
    "S": ("", "ää"), "T": ("h", "e"), "U": ("h", "u"), "V": ("h", "e"), "W": ("h", "e"), "X": ("", "ää"),
    "Y": ("h", "y"), "Z": ("", "aa"), "Å": ("h", "o"), "Ä": ("h", "ä"), "Ö": ("h", "ö"),
}  # fmt: skip
_ACRONYM_ENDINGS = {
    "nom": "", "gen": "n", "ine": "ssa", "ela": "sta", "ade": "lla", "abl": "lta", "all": "lle", "ess": "na",
    "tra": "ksi", "abe": "tta", "com": "neen",
}  # fmt: skip

_BOTH_PARTS = frozenset(name for names in AGREEING.values() for name in names)
_OUTER = {"ine": "ade", "ela": "abl", "ill": "all"}
_WORD = re.compile(r"[^\s-]+$")


def inflect(text: str, case: str, *, kind: str = "name", number: str = "sing", possessive: str | None = None) -> str:
    """Inflect a name, a place or a noun phrase.

    text (str): nominative, as written; capitals are kept.
    case (str): one of `CASES`. For a place the inner cases mean "in", "from" and "to"; a town that takes the outer
        cases is put into those (Tampereella).
    kind (str): one of `KINDS`.
    number (str): "sing" or "plur".
    possessive (str | None): person of a possessive suffix, one of `POSSESSIVES`.
    RETURNS (str): the inflected text.
    RAISES: ConfigError (D630) for an unknown case, kind, number or person.
    """
    _check(case, kind, number, possessive)
    if kind in ("given", "surname") and text.isalpha() and text.lower() not in _BOTH_PARTS:
        return _inflect_word(text, case, kind, number, possessive)  # the common case needs no splitting
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
    """Return all singular forms of a name, for dictionaries that must find it where it is inflected.

    text (str): nominative.
    kind (str): one of `KINDS`.
    RETURNS (frozenset[str]): the forms in every case except the comitative, including the nominative. For a place they
        include the inner and the outer local cases.
    RAISES: ConfigError (D630) for an unknown kind.
    """
    _check("nom", kind, "sing", None)
    as_kind = "noun" if kind == "place" and takes_outer(text) else kind
    if len(text) > 1 and text.isalpha() and _is_regular(text, as_kind):
        stems = find_stems.__wrapped__(text.lower(), as_kind)  # do not cache a patient's name
        return frozenset((text, *(_recase(text, _case_form(stems, case)) for case in _OBLIQUE)))
    return frozenset(inflect(text, case, kind=as_kind) for case in CASES if case != "com")


def inflect_unkept(name: str, case: str, kind: str) -> str:
    """Inflect a name in the singular without caching it, for names that come from a note.

    name (str): nominative in lower case.
    case (str): one of `CASES`.
    kind (str): "given" or "surname".
    RETURNS (str): the form, in lower case.
    """
    found = _WORD.search(name)
    if found is None or not name[-1].isalpha() or name in _BOTH_PARTS:  # a listed word, or nothing to inflect
        return inflect(name, case, kind=kind)
    before, last = name[: found.start()], found.group()
    if len(last) < 2 or case == "nom":
        return name
    if is_acronym(last, kind):
        return before + inflect_acronym(last, case)
    stems = find_stems.__wrapped__(last, kind)
    return before + (find_plural(last, stems).outer + "neen" if case == "com" else _case_form(stems, case))


def _is_regular(word: str, kind: str) -> bool:
    """Whether a word inflects regularly in the singular, unlike plural names, acronyms and compounds that agree."""
    lower = word.lower()
    return lower not in _BOTH_PARTS and lower not in PLURAL_NAMES and not is_acronym(word, kind)


def _check(case: str, kind: str, number: str, possessive: str | None) -> None:
    """Raise ConfigError (D630) for an unknown case, kind, number or person."""
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
    """Inflect one word; a single letter does not change."""
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
    """Return a word in a grammatical case of the singular, with a possessive suffix unless `possessive` is None. The
    word and the result are in lower case. The case "com" (comitative) has the plural form.
    """
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
    """Return a singular form without a possessive suffix."""
    if case in ("par", "ill"):
        return stems.partitive if case == "par" else stems.illative
    if case == "ess":
        return stems.strong + harmonize("na", stems.back)
    return stems.weak + harmonize(_ON_WEAK[case], stems.back)


def _before_possessive(stems: Stems, word: str, case: str) -> str:
    """Return the stem of a possessive suffix: the strong stem in the nominative and genitive, else the case form."""
    if case in ("nom", "gen"):
        return stems.strong
    if case == "com":
        return find_plural(word, stems).outer + "ne"
    if case == "tra":
        return stems.weak + "kse"
    form = _case_form(stems, case)
    return form.removesuffix("n")


def _add_possessive(form: str, person: str, back: bool, *, bare: bool) -> str:
    """Append a possessive suffix to a bare stem ("äitinsä") or a case form ("äidillään", "taloonsa")."""
    if person == "3" and not bare and form[-1] in "aäe" and form[-2] != form[-1]:
        return form + form[-1] + "n"
    return form + harmonize(POSSESSIVES[person], back)


def _plural(word: str, case: str, possessive: str | None) -> str:
    """Return a plural form in lower case."""
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
    """Write an inflected form, given in lower case, with the capitals of the original word."""
    if word.isupper() and len(word) > 1:
        return form.upper()
    lower = word.lower()
    if lower == word:
        return form
    if len(lower) == len(word) and form.startswith(lower):
        return word + form[len(word) :]
    same = next((i for i, (a, b) in enumerate(zip(lower, form, strict=False)) if a != b), min(len(word), len(form)))
    return word[:same] + form[same:] if same else form[0].upper() + form[1:]


def is_acronym(word: str, kind: str) -> bool:
    """Check whether a word is an acronym: a place or noun of two to six capitals. Personal names never are.

    word (str): as written.
    kind (str): "given", "surname", "name", "place" or "noun".
    RETURNS (bool): True for "HUS".
    """
    return (
        kind in ("noun", "place") and word.isupper() and 2 <= len(word) <= 6 and word.isalpha() and _looks_short(word)
    )


def _looks_short(word: str) -> bool:
    """Whether capitals are an acronym: listed, short, or without a vowel after the first letter."""
    return word in _READ_AS_WORDS or len(word) < 4 or not any(letter in "AEIOUYÄÖ" for letter in word[1:])


def inflect_acronym(word: str, case: str) -> str:
    """Inflect an acronym: "HUS:iin", "TAYS:ssa", "THL:ään".

    word (str): the acronym.
    case (str): one of `CASES`.
    RETURNS (str): the acronym, a colon and the ending; the acronym alone in the nominative.
    """
    if case == "nom":
        return word
    glide, vowel = _LETTERS.get(word[-1], ("", "i"))
    as_word = word in _READ_AS_WORDS and word[-1] not in "AEIOUYÄÖ"
    back = any(letter in "AOU" for letter in word) if word in _READ_AS_WORDS else vowel[-1] in "aou"
    if case == "ill":
        return f"{word}:iin" if as_word else f"{word}:{glide}{vowel}n"
    if case == "par":
        return word + ":" + harmonize("ia" if as_word else "ta", back).replace("i", "")
    return word + ":" + harmonize(_ACRONYM_ENDINGS[case], back)
