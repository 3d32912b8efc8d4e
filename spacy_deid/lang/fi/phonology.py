"""The Finnish sound rules that inflection needs: syllables, vowel harmony, and consonant gradation in both directions.

Consonant gradation changes p, t and k before the last vowel of a stem: they are in the strong grade if the last
syllable is open, and in the weak grade if a case ending closes it. Most words are strong in the nominative (Turku,
Turun); those in -e and -as are weak in the nominative and strong in the other cases (Rinne, Rinteen). See Iso suomen
kielioppi (VISK) § 41-46.
"""

import re

VOWELS = "aeiouyäöåéèêëáàâíóôúüøæ"
FRONT = str.maketrans("ao", "äö")

_BACK = "aouáàâóôúå"
_FRONT_ENDS = ("yy", "kyky", "hyppy", "myrsky", "tyly", "sky", "ely", "ily", "yty")
# Strong → weak grade of two consonants; a geminate becomes a single consonant.
_PAIRS = {"nk": "ng", "mp": "mm", "nt": "nn", "lt": "ll", "rt": "rr", "ht": "hd", "lp": "lv", "rp": "rv"}
_STRONG = {weak: strong for strong, weak in _PAIRS.items()}
_GEMINATES = {"kk": "k", "pp": "p", "tt": "t"}
_STAY = {"st", "sk", "sp", "tk", "hk", "ft", "kt", "pt", "ts", "ps", "ks"}
_LAST = re.compile(rf"(?P<vowels>[{VOWELS}]*)(?P<consonants>[^\W\d_{VOWELS}]+)(?P<end>[{VOWELS}])$")
_NUCLEUS = re.compile(r"aa|ee|ii|oo|uu|yy|ää|öö|[aeouyäö]i|[aeio]u|[eiäö]y|ie|uo|yö|[aeiouyäöåéüø]")
_FOREIGN_LETTERS = frozenset("bcfqwxzåšžéèêëáàâíóôúüøæñç")
_FOREIGN_START = re.compile(r"d|[stpk]h|[^aeiouyäö]{3}")
_FOREIGN_PAIR = re.compile(r"(?<!n)g|[stpk]h(?![aeiouyäö])|nd")


def is_foreign(word: str) -> bool:
    """Whether a word has letters or clusters that inherited Finnish words do not have.

    word (str): lower case.
    RETURNS (bool): True for "smith", False for "virtanen".
    """
    if _FOREIGN_START.match(word) or not _FOREIGN_LETTERS.isdisjoint(word):
        return True
    return any(letter in word for letter in "ghd") and _FOREIGN_PAIR.search(word) is not None


def count_syllables(word: str) -> int:
    """Count the syllables of a word, diphthongs as one.

    word (str): lower case.
    RETURNS (int): at least 1.
    """
    return max(1, len(_NUCLEUS.findall(word)))


def is_back(word: str) -> bool:
    """Whether endings after a word have the back vowels a, o, u instead of ä, ö, y.

    The last of a, o, u, ä, ö, y decides. A final y of a name is often pronounced i ("Maryn, Marylla"), so it does not
    count after back vowels; nor does any y of a foreign word.

    word (str): lower case; of a compound the last part.
    RETURNS (bool): True for "turku", False for "helsinki".
    """
    front = "äöøæ" if is_foreign(word) else "yäöøæ"
    body = word[:-1] if word.endswith("y") and not word.endswith(_FRONT_ENDS) else word
    return next((letter in _BACK for letter in reversed(body) if letter in _BACK or letter in front), False)


def harmonize(ending: str, back: bool) -> str:
    """Write an ending with the vowels that vowel harmony requires.

    ending (str): with back vowels, "ssa".
    back (bool): whether the word has back vowels; see `is_back`.
    RETURNS (str): "ssa" or "ssä".
    """
    return ending if back else ending.translate(FRONT)


def weaken(stem: str, *, quality: bool = True) -> str:
    """Put the last p, t or k of a stem into the weak grade.

    stem (str): strong stem in lower case that ends in one short vowel, "turku", "lahte".
    quality (bool): whether single consonants and pairs change too (Turku, Turun) or geminates only (Heikki, Heikin).
    RETURNS (str): weak stem, "turu", "lahde"; the stem itself if nothing alternates.
    """
    found = _LAST.search(stem)
    if found is None:
        return stem
    before, consonants, end = found["vowels"], found["consonants"], found["end"]
    head = stem[: found.start("consonants")]
    if consonants[-2:] in _GEMINATES:
        return head + consonants[:-2] + _GEMINATES[consonants[-2:]] + end
    if not quality or consonants[-1] not in "ptk" or consonants[-2:] in _STAY or not before:
        return stem
    if len(consonants) == 1:
        return head + _weak_single(before, consonants, end) + end
    if consonants[-2:] in _PAIRS:
        return head + consonants[:-2] + _PAIRS[consonants[-2:]] + end
    if consonants[-2:] in ("lk", "rk"):
        return head + consonants[:-1] + ("j" if end == "e" else "") + end
    return stem


def _weak_single(before: str, consonant: str, end: str) -> str:
    """Weaken a consonant between vowels: tapa, tavan; katu, kadun; haka, haan; puku, puvun; raaka, raa'an."""
    if consonant != "k":
        return {"p": "v", "t": "d"}[consonant]
    if before in ("u", "y") and before == end:
        return "v"
    return "'" if len(before) > 1 and before[-1] == end else ""


def strengthen(stem: str) -> str:
    """Put the last consonants of a stem into the strong grade: "rinne" becomes "rinte", "kanga" becomes "kanka".

    stem (str): weak stem in lower case that ends in one short vowel.
    RETURNS (str): strong stem; the stem itself if nothing alternates.
    """
    found = _LAST.search(stem)
    if found is None:
        return stem
    consonants, end = found["consonants"], found["end"]
    head = stem[: found.start("consonants")]
    if consonants[-2:] in _STRONG:
        return head + consonants[:-2] + _STRONG[consonants[-2:]] + end
    if consonants[-1] == "d":
        return head + consonants[:-1] + "t" + end
    if consonants[-1] in "ptk" and consonants[-2:] not in _STAY and (len(consonants) == 1 or consonants[-2] in "lmnr"):
        return head + consonants + consonants[-1] + end
    return stem
