"""Find the stems of Finnish words, to which case endings are appended, by the last part of a word or by its ending.

Every singular case consists of the strong stem (essive, Turkuna) or the weak stem (genitive, Turun) and an ending,
except the partitive (saarta) and the illative (Vantaaseen). Source: Iso suomen kielioppi (VISK) § 63-83.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from .declension_lists import (
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
from .phonology import VOWELS, count_syllables, harmonize, is_back, is_foreign, strengthen, weaken

# French endings with a silent last consonant: case endings follow an apostrophe.
_SILENT_S = ("ois", "ais", "eaux", "ault", "ieux")
# Last parts of compounds whose final a becomes o before the plural i.
_ROUNDED = ("valta", "virta", "paikka", "matka", "kanta", "silta", "hinta", "linna", "aika", "ranta", "jalka", "raha")
_LONG = tuple(vowel * 2 for vowel in "aeiouyäö")
_DIPHTHONGS = ("ai", "ei", "oi", "ui", "yi", "äi", "öi", "au", "ou", "eu", "iu", "ie", "uo", "yö", "äy", "öy")


@dataclass(frozen=True, slots=True)
class Stems:
    """The singular stems of a word, in lower case.

    strong, weak (str): the stem in the strong and in the weak grade of its consonants ("turku", "turu"), to which
        endings are appended.
    partitive, illative (str): the whole forms in these two cases.
    back (bool): whether endings have the back vowels a, o, u ("ssa") instead of ä, ö, y ("ssä").
    """

    strong: str
    weak: str
    partitive: str
    illative: str
    back: bool


def find_head(word: str) -> str | None:
    """Find the longest last part of a word that is listed in `DECLENSIONS`.

    word (str): lower case.
    RETURNS (Optional[str]): "järvi" of "pitkäjärvi"; None if no last part is listed.
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
    """Whether the letters before a last part can be a word; a short last part needs more letters before it."""
    has_vowel = any(letter in VOWELS for letter in first)
    return has_vowel and (len(head) > 3 or len(first) > 3) and not (first[-1] == head[0] and len(first) < 3)


@lru_cache(maxsize=20_000)
def find_stems(word: str, kind: str) -> Stems:
    """Find the singular stems of a word.

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
    """Whether endings of a compound have back vowels, which its last part decides."""
    if word in ("tays", "oys"):
        return True
    if word.endswith(NEUTRAL_HEADS) and any(word.endswith(head, 2) for head in NEUTRAL_HEADS):
        return False
    if word.endswith("nen") and len(word) > 5:
        return is_back(word[:-3])
    return is_back(word)


def _declension(word: str, kind: str) -> str | None:
    """Return the declension of a word; None if its stem is the nominative, with or without a final i."""
    if kind == "given":
        return GIVEN.get(word) or _by_ending(word, kind)
    head = None if word in PLAIN else find_head(word)
    return DECLENSIONS[head] if head else _by_ending(word, kind)


def _by_ending(word: str, kind: str) -> str | None:
    """Return the declension that the ending of a word implies; None if the ending does not decide it."""
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
    """Return the declension of a word in -s: Markus, Markuksen; ikävyys, ikävyyden. None if it is declined like a
    foreign word, with an i.
    """
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
    """Return the weak-grade stem of a word, to which endings such as the genitive -n are added ("katu" → "kadu").

    Foreign words and most given names weaken only double consonants ("Pekka" → "Peka"), and foreign surnames none.
    `kind` says whether the word is a "given" name, a "surname" or another word.
    """
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
    """Return the illative after a long vowel: maa, maahan; Espoo, Espooseen; tie, tiehen."""
    short = word.endswith(("maa", "pää", "puu", "kuu", "jää", "suu", "luu", "syy", "pyy", "hää", "muu"))
    if word.endswith(_LONG) and count_syllables(word) > 1 and not short and word[-1] in "aoäöue":
        return word + "seen"
    return f"{word}h{word[-1]}n"


def _decline_consonant(word: str, back: bool) -> Stems:
    """Decline a name that takes an i: Smith, Smithin; one with a silent consonant an apostrophe: Dubois'n."""
    stem = word + ("'" if word.endswith(_SILENT_S) else "i")
    return Stems(stem, stem, word + harmonize("ia", back), word + "iin", back)


def _decline_e(word: str, back: bool) -> Stems:
    """Decline words such as kivi: kiven, kiveä, kiveen."""
    strong = word[:-1] + "e"
    return Stems(strong, weaken(strong), strong + harmonize("a", back), strong + "en", back)


def _decline_consonant_stem(word: str, back: bool) -> Stems:
    """Decline words such as saari: saaren, saarta, saareen; lumi, lunta; meri, merta."""
    strong = word[:-1] + "e"
    stem = word[:-2] + "n" if word.endswith("mi") else word[:-1]
    partitive = harmonize("ta", back or word.endswith(("meri", "veri")))
    return Stems(strong, strong, stem + partitive, strong + "en", back)


def _decline_si(word: str, back: bool) -> Stems:
    """Decline words such as vesi: veden, vettä, veteen; länsi, lännen, länttä."""
    strong = word[:-2] + "te"
    return Stems(strong, weaken(strong), word[:-2] + "t" + harmonize("ta", back), strong + "en", back)


def _decline_e_long(word: str, back: bool) -> Stems:
    """Decline words such as rinne, whose nominative is weak: rinteen, rinnettä, rinteeseen."""
    strong = (word[:-1] + "ke" if word.endswith("koe") else strengthen(word)) + "e"
    return Stems(strong, strong, word + harmonize("tta", back), strong + "seen", back)


def _decline_as_long(word: str, back: bool) -> Stems:
    """Decline words such as kangas: kankaan, kangasta, kankaaseen."""
    strong = strengthen(word[:-1])
    strong += strong[-1]
    return Stems(strong, strong, word + harmonize("ta", back), strong + "seen", back)


def _decline_abstract(word: str, back: bool) -> Stems:
    """Decline abstract nouns such as terveys: terveyden, terveyttä, terveyteen."""
    stem = word[:-1]
    return Stems(stem + "te", stem + "de", stem + "t" + harmonize("ta", back), stem + "teen", back)


def _on_consonant(cut: int, ending: str, partitive: str = "") -> Callable[[str, bool], Stems]:
    """Return a declension with one vowel stem and a partitive on the consonant: Virtanen, Virtasen, Virtasta.

    cut (int): letters of the nominative that the stem replaces.
    ending (str): end of the stem, with back vowels.
    partitive (str): end of the stem of the partitive; "" for the nominative.
    """

    def decline(word: str, back: bool) -> Stems:
        stem = word[: len(word) - cut] + harmonize(ending, back)
        whole = (word[: len(word) - cut] + partitive if partitive else word) + harmonize("ta", back)
        return Stems(stem, stem, whole, f"{stem}{stem[-1]}n", back)

    return decline


def _decline_sisar(word: str, back: bool) -> Stems:
    """Decline words such as sisar: sisaren, sisarta; tytär, tyttären; manner, mantereen."""
    strong = (word[:-1] if word.endswith("sammal") else strengthen(word[:-1])) + word[-1] + "e"
    return Stems(strong, strong, word + harmonize("ta", back), strong + "en", back)


def _decline_avain(word: str, back: bool) -> Stems:
    """Decline words such as avain: avaimen, avainta; keitin, keittimen."""
    strong = (word[:-1] if word.endswith("sydän") else strengthen(word[:-1])) + "me"
    return Stems(strong, strong, word + harmonize("ta", back), strong + "en", back)


def _decline_ut(word: str, back: bool) -> Stems:
    """Decline words such as olut: oluen, olutta, olueen."""
    strong = word[:-1] + "e"
    return Stems(strong, strong, word + harmonize("ta", back), strong + "en", back)


def _decline_kevät(word: str, back: bool) -> Stems:
    """Decline kevät: kevään, kevättä, kevääseen."""
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


@dataclass(frozen=True, slots=True)
class PluralStems:
    """The plural stems and forms of a noun, in lower case.

    inner (str): stem in the weak grade, to which most endings are appended ("taloi").
    outer (str): stem in the strong grade, of the essive and the comitative.
    genitive, partitive, illative (str): the whole forms in these three cases.
    """

    inner: str
    outer: str
    genitive: str
    partitive: str
    illative: str


def find_plural(word: str, stems: Stems) -> PluralStems:
    """Find the plural stems of a noun.

    word (str): nominative singular in lower case.
    stems (Stems): its singular stems.
    RETURNS (PluralStems): its plural stems.
    """
    strong, back = stems.strong, stems.back
    if strong[-1] == "e" and not strong.endswith("ie"):
        return _from_e(word, stems)
    if strong[-2:] in ("aa", "ää", "oo", "öö", "uu", "yy", "ee"):
        return _from_long(strong, back)
    if strong[-2:] in ("ie", "uo", "yö"):
        return _long(strong[:-2] + strong[-1] + "i", back, "ihin")
    if strong[-1] == "i":
        return _from_i(word, stems)
    if strong[-1] in "aä":
        return _from_a(word, stems)
    return _short(strong + "i", stems.weak + "i", strong + "j", back)


def _short(outer: str, inner: str, glide: str, back: bool) -> PluralStems:
    """Return the plural of words such as talo: taloja, talojen, taloihin."""
    return PluralStems(inner, outer, glide + "en", glide + harmonize("a", back), outer + "hin")


def _long(stem: str, back: bool, ending: str) -> PluralStems:
    """Return the plural of words with a long stem: maa, maita, maiden, maihin; huone, huoneita, huoneisiin."""
    return PluralStems(stem, stem, stem + "den", stem + harmonize("ta", back), stem[:-1] + ending)


def _from_long(strong: str, back: bool) -> PluralStems:
    """Return the plural of a stem in a long vowel: maa, maihin; huonee-, huoneisiin; kankaa-, kankaisiin."""
    one = count_syllables(strong) == 1 or strong.endswith(("maa", "pää", "puu", "kuu", "jää", "suu", "luu"))
    return _long(strong[:-1] + "i", back, "ihin" if one else "isiin")


def _from_e(word: str, stems: Stems) -> PluralStems:
    """Return the plural of a stem in -e: joki, jokia; saari, saaria; vesi, vesiä; vastaus, vastauksia."""
    strong, back = stems.strong, stems.back
    if strong.endswith("ee"):
        return _from_long(strong, back)
    si_stem = word.endswith("si") and strong.endswith("te")
    outer = word if si_stem else strong[:-1] + "i"
    if strong.endswith("te") and word.endswith("s"):
        outer = word[:-1] + "ksi"
    inner = outer if si_stem or word.endswith("s") else stems.weak[:-1] + "i"
    genitive = outer + "en"
    if word.endswith(("lapsi", "mies")):
        genitive = word[:-3] + "sten" if word.endswith("lapsi") else word + "ten"
    if word.endswith(("nen", "s")) and strong[-2] == "s":
        genitive = (word[:-3] + "s" if word.endswith("nen") else word) + "ten"
    return PluralStems(inner, outer, genitive, outer + harmonize("a", back), outer + "in")


def _from_i(word: str, stems: Stems) -> PluralStems:
    """Return the plural of a stem in -i: risti, ristejä, ristien; lääkäri, lääkäreitä, lääkärien."""
    strong, weak, back = stems.strong, stems.weak, stems.back
    outer = strong[:-1] + "ei"
    partitive = strong[:-1] + "ejä"
    if count_syllables(word) > 2 and word[-2] in "rlnv":
        partitive = outer + "tä"
    partitive = partitive[:-1] + harmonize("a", back)
    return PluralStems(weak[:-1] + "ei", outer, strong + "en", partitive, outer + "hin")


def _from_a(word: str, stems: Stems) -> PluralStems:
    """Return the plural of a stem in -a or -ä: kala, kaloja; koira, koiria; sairaala, sairaaloita."""
    strong, weak, back = stems.strong, stems.weak, stems.back
    rounded = "o" if back else "ö"
    syllables = count_syllables(strong)
    if (
        syllables > 2
        and not strong.endswith(_ROUNDED)
        and strong[-2] in "lnrk"
        and not strong.endswith(("ija", "tta"))
    ):
        outer = strong[:-1] + rounded + "i"
        inner = weak[:-1] + rounded + "i"
        return PluralStems(inner, outer, outer + "den", outer + harmonize("ta", back), outer + "hin")
    first = next((letter for letter in strong if letter in VOWELS), "")
    if back and (strong.endswith(_ROUNDED) or (syllables == 2 and first in "aei")):
        return _short(strong[:-1] + "oi", weak[:-1] + "oi", strong[:-1] + "oj", back)
    if syllables > 2 and strong.endswith(("ia", "iä", "ea", "eä")):
        return _long(strong[:-1] + (rounded if strong[-2] == "i" else "") + "i", back, "ihin")
    outer = strong[:-1] + "i"
    inner = weaken(strong)[:-1] + "i"
    return PluralStems(inner, outer, outer + "en", outer + harmonize("a", back), outer + "in")
