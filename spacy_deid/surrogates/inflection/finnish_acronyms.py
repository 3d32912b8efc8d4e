"""Endings of Finnish acronyms: a colon, and the vowels of how the letters are read."""

from .finnish_sounds import harmonize

__all__ = ["inflect_acronym", "is_acronym"]

# Acronyms that are read as words and not by letters; their stem ends in i.
_READ_AS_WORDS = frozenset("HUS TAYS TYKS KYS OYS HYKS TYKSI PHHYKY SOTE KELA KOKS EKSOTE SIUN ESKO ESSOTE".split())
# Letter → the end of its name: what an illative repeats, and whether it takes back vowels.
_LETTERS = {
    "A": ("h", "a"), "B": ("h", "e"), "C": ("h", "e"), "D": ("h", "e"), "E": ("h", "e"), "F": ("", "ää"),
    "G": ("h", "e"), "H": ("h", "o"), "I": ("h", "i"), "J": ("", "ii"), "K": ("h", "o"), "L": ("", "ää"),
    "M": ("", "ää"), "N": ("", "ää"), "O": ("h", "o"), "P": ("h", "e"), "Q": ("h", "u"), "R": ("", "ää"),
    "S": ("", "ää"), "T": ("h", "e"), "U": ("h", "u"), "V": ("h", "e"), "W": ("h", "e"), "X": ("", "ää"),
    "Y": ("h", "y"), "Z": ("", "aa"), "Å": ("h", "o"), "Ä": ("h", "ä"), "Ö": ("h", "ö"),
}  # fmt: skip
_ENDINGS = {
    "nom": "", "gen": "n", "ine": "ssa", "ela": "sta", "ade": "lla", "abl": "lta", "all": "lle", "ess": "na",
    "tra": "ksi", "abe": "tta", "com": "neen",
}  # fmt: skip


def is_acronym(word: str, kind: str) -> bool:
    """Whether a word is an acronym: two to five capitals. Names in capitals are names, whatever their length.

    word (str): as written.
    kind (str): "given", "surname", "name", "place" or "noun".
    RETURNS (bool): True for "HUS".
    """
    return (
        kind in ("noun", "place") and word.isupper() and 2 <= len(word) <= 6 and word.isalpha() and _looks_short(word)
    )


def _looks_short(word: str) -> bool:
    """Whether capitals are an acronym and not a word in capitals: known, or without a vowel before the end."""
    return word in _READ_AS_WORDS or len(word) < 4 or not any(letter in "AEIOUYÄÖ" for letter in word[1:])


def inflect_acronym(word: str, case: str) -> str:
    """Inflect an acronym: "HUS:iin", "TAYS:ssa", "THL:ään".

    word (str): the acronym.
    case (str): case, see `finnish.CASES`.
    RETURNS (str): with a colon and its ending.
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
    return word + ":" + harmonize(_ENDINGS[case], back)
