"""The stems of a Finnish word: how it declines, from its last part or its ending.

Every singular case is an ending on the strong stem (essive, Turkuna), on the weak stem (genitive, Turun), or one of
the two forms that have shapes of their own, partitive (saarta) and illative (Vantaaseen). See VISK § 63-74.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from .finnish_sounds import VOWELS, count_syllables, harmonize, is_back, is_foreign, strengthen, weaken
from .finnish_words import (
    DECLENSIONS,
    GIVEN,
    GRADED_GIVEN,
    GRADED_HEADS,
    NEUTRAL_HEADS,
    PLAIN,
    SOUNDED_S,
    UNGRADED,
    UNGRADED_HEADS,
    WHOLE,
)

__all__ = ["Stems", "find_head", "find_stems"]

# French endings whose last consonant is silent: endings follow an apostrophe.
_SILENT_S = ("ois", "ais", "eaux", "ault", "ieux")
_LONG = tuple(vowel * 2 for vowel in "aeiouyäö")
_DIPHTHONGS = ("ai", "ei", "oi", "ui", "yi", "äi", "öi", "au", "ou", "eu", "iu", "ie", "uo", "yö", "äy", "öy")


@dataclass(frozen=True, slots=True)
class Stems:
    """What the endings are put on, in lower case.

    strong, weak (str): vowel stems.
    partitive, illative (str): whole forms.
    back (bool): whether endings take back vowels.
    """

    strong: str
    weak: str
    partitive: str
    illative: str
    back: bool


def find_head(word: str) -> str | None:
    """Find the longest last part of a word that the lists know.

    word (str): lower case.
    RETURNS (str | None): "järvi" of "pitkäjärvi"; None if the lists have none.
    """
    for start in range(len(word) - 1):
        head = word[start:]
        if (
            head in DECLENSIONS
            and not (start and head in WHOLE)
            and (not start or (start > 1 and len(head) > 2 and _may_precede(word[:start], head)))
        ):
            return head
    return None


def _may_precede(first: str, head: str) -> bool:
    """Whether the letters before a last part can be a word: short parts need more before them."""
    has_vowel = any(letter in VOWELS for letter in first)
    return has_vowel and (len(head) > 3 or len(first) > 3) and not (first[-1] == head[0] and len(first) < 3)


@lru_cache(maxsize=20_000)
def find_stems(word: str, kind: str) -> Stems:
    """Find the stems of a word.

    word (str): nominative singular in lower case, one word or compound.
    kind (str): "given", "surname", "name", "place" or "noun".
    RETURNS (Stems): its stems.
    """
    back = _takes_back(word)
    declension = _declension(word, kind)
    if declension:
        return _DECLINE[declension](word, back)
    if word[-1] in VOWELS:
        return _decline_vowel(word, kind, back)
    return _decline_consonant(word, back)


def _takes_back(word: str) -> bool:
    """Whether a compound takes back vowels: its last part decides. Tays and Oys have an a and an o in their names."""
    if word in ("tays", "oys"):
        return True
    if word.endswith(NEUTRAL_HEADS) and any(word.endswith(head, 2) for head in NEUTRAL_HEADS):
        return False
    if word.endswith("nen") and len(word) > 5:
        return is_back(word[:-3])
    return is_back(word)


def _declension(word: str, kind: str) -> str | None:
    """The declension of a word, None if its stem is the nominative itself or takes an i."""
    if kind == "given":
        return GIVEN.get(word) or _by_ending(word, kind)
    head = None if word in PLAIN else find_head(word)
    return DECLENSIONS[head] if head else _by_ending(word, kind)


def _by_ending(word: str, kind: str) -> str | None:
    """The declension that the ending tells."""
    if word.endswith("nen") and len(word) > 4:
        return "nen"
    if word.endswith("s"):
        return _by_final_s(word, kind)
    if word.endswith("e") and kind in ("surname", "place", "name", "noun") and word not in PLAIN:
        native = not is_foreign(word) and count_syllables(word) > 1 and not word.endswith((*_LONG, "ie"))
        native = native and not _starts_foreign(word)
        return "e-long" if native and (kind != "name" or word.endswith("nne")) else None
    if kind == "noun" and word.endswith("in") and count_syllables(word) > 1:
        return "avain"
    if word.endswith(("tön", "ton")) and kind == "noun":
        return "tön"
    return None


def _starts_foreign(word: str) -> bool:
    """Whether a word begins with two consonants, as inherited words do not."""
    return word[0] not in VOWELS and word[1] not in VOWELS


def _by_final_s(word: str, kind: str) -> str | None:
    """The declension of a word in -s: Markus, Markuksen; ikävyys, ikävyyden; foreign ones take an i."""
    if word.endswith(("uus", "yys", "eus", "eys")):
        return "abstract" if kind == "noun" else "s"
    if count_syllables(word) < 2 or word[-2] not in VOWELS:
        return None
    if word.endswith(("kas", "käs")) and kind != "given" and count_syllables(word) > 2 and not is_foreign(word):
        return "as-long"
    if word in SOUNDED_S or word[-3:-1] in _LONG or (word.endswith("es") and is_foreign(word)):
        return None
    return "s"


def _decline_vowel(word: str, kind: str, back: bool) -> Stems:
    """Decline a word whose stem is its nominative: Turku, Turun; Outi, Outin; Espoo, Espoota."""
    weak = _weak(word, kind)
    if _ends_long(word):
        return Stems(word, weak, word + harmonize("ta", back), _long_illative(word), back)
    partitive = harmonize("ta" if _takes_ta(word) else "a", back)
    return Stems(word, weak, word + partitive, word + word[-1] + "n", back)


def _weak(word: str, kind: str) -> str:
    """The weak stem: foreign words and most given names change geminates only."""
    if word in UNGRADED or word.endswith(UNGRADED_HEADS):
        return word
    if word.endswith(("poika", "aika")) and kind != "given":
        return word[:-3] + "ja"
    if kind == "given":
        return weaken(word, quality=word in GRADED_GIVEN)
    if is_foreign(word) and not word.endswith(GRADED_HEADS):
        return word if kind == "surname" else weaken(word, quality=False)
    return weaken(word)


def _ends_long(word: str) -> bool:
    """Whether a word ends in a long vowel or, with one syllable in its last part, in a diphthong."""
    if word.endswith(_LONG):
        return True
    if word.endswith(("ie", "uo", "yö")):
        return True
    return word.endswith(_DIPHTHONGS) and not word.endswith(("au", "iu"))


def _takes_ta(word: str) -> bool:
    """Whether the partitive of a word in two vowels is -ta: Rautio, Rautiota; museo, museota."""
    return word.endswith(("io", "iö", "eo", "ue")) and count_syllables(word) > 2


def _long_illative(word: str) -> str:
    """The illative after a long vowel: maa, maahan; Espoo, Espooseen; tie, tiehen."""
    short = word.endswith(("maa", "pää", "puu", "kuu", "jää", "suu", "luu", "syy", "pyy", "hää", "muu"))
    if word.endswith(_LONG) and count_syllables(word) > 1 and not short and word[-1] in "aoäöue":
        return word + "seen"
    return f"{word}h{word[-1]}n"


def _decline_consonant(word: str, back: bool) -> Stems:
    """Decline a name that takes an i: Smith, Smithin; one with a silent consonant an apostrophe: Dubois'n."""
    stem = word + ("'" if word.endswith(_SILENT_S) else "i")
    return Stems(stem, stem, word + harmonize("ia", back), word + "iin", back)


def _decline_e(word: str, back: bool) -> Stems:
    """Kivi, kiven, kiveä, kiveen."""
    strong = word[:-1] + "e"
    return Stems(strong, weaken(strong), strong + harmonize("a", back), strong + "en", back)


def _decline_consonant_stem(word: str, back: bool) -> Stems:
    """Saari, saaren, saarta, saareen; lumi, lunta; meri, merta."""
    strong = word[:-1] + "e"
    stem = word[:-2] + "n" if word.endswith("mi") else word[:-1]
    partitive = harmonize("ta", back or word.endswith(("meri", "veri")))
    return Stems(strong, strong, stem + partitive, strong + "en", back)


def _decline_si(word: str, back: bool) -> Stems:
    """Vesi, veden, vettä, veteen; länsi, lännen, länttä."""
    strong = word[:-2] + "te"
    return Stems(strong, weaken(strong), word[:-2] + "t" + harmonize("ta", back), strong + "en", back)


def _decline_e_long(word: str, back: bool) -> Stems:
    """Rinne, rinteen, rinnettä, rinteeseen: strong where the nominative is weak."""
    strong = (word[:-1] + "ke" if word.endswith("koe") else strengthen(word)) + "e"
    return Stems(strong, strong, word + harmonize("tta", back), strong + "seen", back)


def _decline_as_long(word: str, back: bool) -> Stems:
    """Kangas, kankaan, kangasta, kankaaseen."""
    strong = strengthen(word[:-1])
    strong += strong[-1]
    return Stems(strong, strong, word + harmonize("ta", back), strong + "seen", back)


def _decline_abstract(word: str, back: bool) -> Stems:
    """Terveys, terveyden, terveyttä, terveyteen."""
    stem = word[:-1]
    return Stems(stem + "te", stem + "de", stem + "t" + harmonize("ta", back), stem + "teen", back)


def _on_consonant(cut: int, ending: str, partitive: str = "") -> Callable[[str, bool], Stems]:
    """A declension with one vowel stem, its partitive on the consonant: Virtanen, Virtasen, Virtasta."""

    def decline(word: str, back: bool) -> Stems:
        stem = word[: len(word) - cut] + harmonize(ending, back)
        whole = (word[: len(word) - cut] + partitive if partitive else word) + harmonize("ta", back)
        return Stems(stem, stem, whole, f"{stem}{stem[-1]}n", back)

    return decline


def _decline_sisar(word: str, back: bool) -> Stems:
    """Sisar, sisaren, sisarta; tytär, tyttären; manner, mantereen."""
    strong = strengthen(word[:-1]) + word[-1] + "e"
    return Stems(strong, strong, word + harmonize("ta", back), strong + "en", back)


def _decline_avain(word: str, back: bool) -> Stems:
    """Avain, avaimen, avainta; keitin, keittimen."""
    strong = (word[:-1] if word.endswith("sydän") else strengthen(word[:-1])) + "me"
    return Stems(strong, strong, word + harmonize("ta", back), strong + "en", back)


def _decline_ut(word: str, back: bool) -> Stems:
    """Olut, oluen, olutta, olueen."""
    strong = word[:-1] + "e"
    return Stems(strong, strong, word + harmonize("ta", back), strong + "en", back)


def _decline_kevät(word: str, back: bool) -> Stems:
    """Kevät, kevään, kevättä, kevääseen."""
    strong = word[:-1] + word[-2]
    return Stems(strong, strong, word + harmonize("ta", back), strong + "seen", back)


_DECLINE: dict[str, Callable[[str, bool], Stems]] = {
    "e-stem": _decline_e,
    "consonant-stem": _decline_consonant_stem,
    "si-stem": _decline_si,
    "e-long": _decline_e_long,
    "as-long": _decline_as_long,
    "abstract": _decline_abstract,
    "nen": _on_consonant(3, "se", "s"),
    "s": _on_consonant(1, "kse"),
    "mies": _on_consonant(1, "he"),
    "veli": lambda word, back: Stems(word[:-1] + "je", word[:-1] + "je", word[:-1] + "jeä", word[:-1] + "jeen", back),
    "lapsi": lambda word, back: Stems(word[:-1] + "e", word[:-1] + "e", word[:-3] + "sta", word[:-1] + "een", back),
    "kevät": _decline_kevät,
    "olut": _decline_ut,
    "sisar": _decline_sisar,
    "avain": _decline_avain,
    "tön": lambda word, back: Stems(
        strengthen(word[:-1])[:-1] + harmonize("toma", back)[-3:],
        strengthen(word[:-1])[:-1] + harmonize("toma", back)[-3:],
        word + harmonize("ta", back),
        word,
        back,
    ),
}
