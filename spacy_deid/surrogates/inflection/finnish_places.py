"""Finnish places: which take the outer local cases, which have two inflected parts, which are plural.

Usage is a matter of each place: it is Helsingissä but Tampereella. Names in -joki, -järvi, -koski, -mäki, -niemi and
the like take the outer cases as a rule; the lists name those that do so without, and those that do not.
"""

__all__ = ["AGREEING", "PLURAL_NAMES", "takes_outer"]

_OUTER_HEADS = ("joki", "järvi", "koski", "mäki", "niemi", "vesi", "harju", "asema")
_OUTER = frozenset(
    """
    tampere vantaa rauma nokia imatra hyvinkää kangasala kirkkonummi viitasaari laihia loimaa hankasalmi
    leppävirta rautalampi ruokolahti savitaipale taipalsaari kontiolahti vesilahti punkalaidun merikarvia
    uurainen parainen keuruu multia pihtipudas virolahti haukipudas tyrnävä suomussalmi hyrynsalmi pyhäntä
    toholampi alavus pertunmaa hirvensalmi rantasalmi sulkava vieremä lapinlahti rautavaara kaavi vesanto
    keitele ylitornio ranua posio loppi hauho lammi kerava lohja somero vehmaa pöytyä virrat pälkäne pyhtää lemi
    kitee juva uusimaa kaustinen kuortane puolanka venäjä ahvenanmaa malmi puijo
    """.split()
)
_INNER = frozenset("myyrmäki herttoniemi munkkiniemi".split())

AGREEING: dict[str, tuple[str, ...]] = {
    "uusi": ("uusikaupunki", "uusikaarlepyy", "uusimaa", "uusi-seelanti"),
    "iso": ("isokyrö", "iso-britannia"),
    "vähä": ("vähäkyrö",),
    "vanha": ("vanhakaupunki",),
    "tyyni": ("tyynimeri",),
    "pieni": (),
    "entinen": (),
}
"""First words that inflect with what follows, and the places of one word where they do (Uudenkaupungin)."""

_SINGULAR_SHAPE = """
    huittinen nousiainen oulainen pornainen jokioinen parainen kauniainen kaskinen joroinen uurainen siikainen
    ikaalinen kuhmoinen
    """
PLURAL_NAMES = {name: name for name in _SINGULAR_SHAPE.split()} | {
    "yhdysvallat": "yhdysvalta",
    "alankomaat": "alankomaa",
    "filippiinit": "filippiini",
    "virrat": "virta",
}
"""Places that inflect in the plural → their singular (Kauniainen, Kauniaisissa)."""


def takes_outer(name: str) -> bool:
    """Whether one is at a place (Tampereella) and not in it (Helsingissä).

    name (str): name of the place in the nominative.
    RETURNS (bool): True for the outer local cases.
    """
    word = name.lower()
    return word in _OUTER or (word.endswith(_OUTER_HEADS) and word not in _INNER)
