"""The plural stems of a Finnish noun. See VISK § 77-83."""

from dataclasses import dataclass

from .finnish_sounds import VOWELS, count_syllables, harmonize, weaken
from .finnish_stems import Stems

__all__ = ["PluralStems", "find_plural"]


# Last parts of compounds whose a becomes o, as in words of two syllables with a, e or i in the first.
_ROUNDED = ("valta", "virta", "paikka", "matka", "kanta", "silta", "hinta", "linna", "aika", "ranta", "jalka", "raha")


@dataclass(frozen=True, slots=True)
class PluralStems:
    """What the endings of the plural are put on, in lower case.

    inner (str): weak stem, "taloi".
    outer (str): strong stem of the essive and comitative.
    genitive, partitive, illative (str): whole forms.
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
    """Talo: taloja, talojen, taloihin."""
    return PluralStems(inner, outer, glide + "en", glide + harmonize("a", back), outer + "hin")


def _long(stem: str, back: bool, ending: str) -> PluralStems:
    """Maa: maita, maiden, maihin; huone: huoneita, huoneiden, huoneisiin."""
    return PluralStems(stem, stem, stem + "den", stem + harmonize("ta", back), stem[:-1] + ending)


def _from_long(strong: str, back: bool) -> PluralStems:
    """Maa, maihin; huonee-, huoneisiin; kankaa-, kankaisiin."""
    one = count_syllables(strong) == 1 or strong.endswith(("maa", "pää", "puu", "kuu", "jää", "suu", "luu"))
    return _long(strong[:-1] + "i", back, "ihin" if one else "isiin")


def _from_e(word: str, stems: Stems) -> PluralStems:
    """Joki, jokia; saari, saaria, saarten; vesi, vesiä; vastaus, vastauksia, vastausten; virtanen, virtasia."""
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
    """Risti: ristejä, ristien; lääkäri: lääkäreitä, lääkärien."""
    strong, weak, back = stems.strong, stems.weak, stems.back
    outer = strong[:-1] + "ei"
    partitive = strong[:-1] + "ejä"
    if count_syllables(word) > 2 and word[-2] in "rlnv":
        partitive = outer + "tä"
    partitive = partitive[:-1] + harmonize("a", back)
    return PluralStems(weak[:-1] + "ei", outer, strong + "en", partitive, outer + "hin")


def _from_a(word: str, stems: Stems) -> PluralStems:
    """Kala, kaloja; koira, koiria; sairaala, sairaaloita; hoitaja, hoitajia; päivä, päiviä."""
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
