"""Lists of Finnish words and places whose inflection cannot be derived from their nominative.

A surname, place or common noun inflects like its last part (Pitkäjärvi like järvi), so the lists contain last parts.
Given names inflect by their ending, except those listed here. Source of the rules: Iso suomen kielioppi (VISK).
"""

_LISTS = {
    # kivi: kiven, kiveä
    "e-stem": """
        arki hauki helmi hanhi hirvi henki järki järvi joki jälki kaikki kaski kivi kylki koski kurki kärki
        lahti lampi lehti louhi lovi läpi mäki niemi nimi nummi nurmi olki onni ovi pilvi polvi poski reki retki
        rupi salmi sarvi savi sormi suomi suvi särki talvi tammi torvi tuki tuomi luomi toimi loimi taimi tähti
        väki parvi siipi lempi impi säppi onki länki hetki tilhi ilmi korpi vaski sampi tyvi haahti kaihi putki
        kanki hanki happi veitsi loppi
        """,
    # saari: saaren, saarta
    "consonant-stem": """
        saari vuori kaari suuri hiiri kieli mieli tuli uni sieni pieni tuuli suoli nuoli veri meri ääri juuri
        moni tuoni lumi kuusi nuori huuli kuori liemi riihi vuohi ruuhi jouhi lohi puoli ääni jousi tuohi sulhi
        huoli juoni tyyni
        """,
    # vesi: veden, vettä
    "si-stem": """
        vesi vuosi susi käsi tosi uusi kausi viisi köysi täysi hirsi virsi länsi kansi kynsi varsi liesi reisi
        paasi orsi
        """,
    # rinne: rinteen, rinnettä
    "e-long": """
        rinne laine halme helle lahde lumme kare louhe tarve viive vene huone kone alue taide säde perhe vuode
        lääke väline tarvike tiede virhe piste ohje tunne sade aste hede side aate liike tuote näyte lähete
        toimenpide oire suhde lause kirje kaste kate kuume murre turve lehde haude terve penne häme aine palve
        kanerve luode rakenne raade vanne tampere vaate puute luote laite asete paiste aarre tuike lappe raide
        vanhe alanne koste virne lepe sarake
        """,
    # kangas: kankaan, kangasta
    "as-long": """
        kangas varvas hammas taivas lammas kuningas oras porras seiväs rakas potilas asiakas asukas oppilas
        sairas vieras rikas opas varas armas porsas ratas ahdas valas rengas saapas pensas sammas allas kannas
        lounas mätäs keihäs tervas ruumis kallis altis ruis kaunis kirves hidas tuomas pudas tehdas ruhtinas
        sotilas kauppias messias vehmas rastas kunnas äyräs pylväs uljas hyrkäs köngäs kyngäs
        """,
    # terveys: terveyden, terveyttä
    "abstract": """
        sairaus terveys oikeus vapaus rakkaus rikkaus hulluus pituus leveys korkeus syvyys paksuus taajuus
        tiheys kipeys itsenäisyys nopeus kosteus kateus arkuus pimeys vahvuus hauraus kalpeus ylpeys hitaus
        raskaus viisaus lihavuus talous runous varkaus alavus
        """,
    # lapsi: lapsen, lasta
    "lapsi": """
        lapsi
        """,
    # mies: miehen, miestä
    "mies": """
        mies
        """,
    # veli: veljen, veljeä
    "veli": """
        veli
        """,
    # kevät: kevään, kevättä
    "kevät": """
        kevät
        """,
    # olut: oluen, olutta
    "olut": """
        olut lyhyt kevyt neitsyt
        """,
    # sisar: sisaren, sisarta; tytär: tyttären
    "sisar": """
        tytär sisar udar manner askel kyynel sammal siemen joutsen jäsen taival
        """,
    # avain: avaimen, avainta
    "avain": """
        avain puhelin eläin keitin sydän laidun hoidin mittain puhallin tahdistin laskin
        """,
}

DECLENSIONS = {word: name for name, words in _LISTS.items() for word in words.split()}
"""Last part of a word → name of its declension in `stems`."""

GIVEN = {"tuomas": "as-long", "säde": "e-long"}
"""Given names whose declension differs from that of others with the same ending."""

GRADED_GIVEN = frozenset(
    """
    satu ahti ahto into sointu ilta lempi taito tahto sampo tähti aatto
    """.split()
)
"""Given names whose single consonants alternate (Satu, Sadun); those of others do not (Outi, Outin)."""

UNGRADED = frozenset(
    """
    evita toyota alko nato sato opo moto foto loto muki beta delta data meta malta atlanta toronto kreeta sparta
    jakarta bogota kuopio haiti tahiti alta kyoto soto vito judo logo klima jeti seti lima kiva nika
    """.split()
)
"""Words without consonant gradation, although their ending suggests it."""

UNGRADED_HEADS = ("auto", "opera", "paprika", "kuopio")
"""Last parts of compounds without consonant gradation."""

GRADED_HEADS = tuple("ranta katu pöytä hoito tauti pelto silta koti kenttä lehto kanta raitti".split())
"""Last parts that alternate even after a foreign first part (Arabianrannan)."""

PLAIN = frozenset(
    """
    raahe kumlinge muurame toholampi moore lange linde rose heine muse musse kalle anne chile itse kolme nalle nukke
    pelle
    """.split()
)
"""Words in -e or -i whose stem is the nominative."""

WHOLE = frozenset(
    """
    onni uni veri suuri moni tosi ilmi impi loppi
    """.split()
)
"""Listed words that are never the last part of a compound: toveri is no compound of veri."""

SOUNDED_S = frozenset(
    """
    tays kys oys hus tyks hyks james jones charles hughes holmes rhodes hayes miles simons roberts evans lewis
    davis harris ellis morris jesus lopes gomes korsnäs
    """.split()
)
"""Names in -s with a stem in -i: James, Jamesin."""

NEUTRAL_HEADS = tuple(
    """
    piiri tiimi niemi kivi tie vesi lehti rinne helmi mies kieli retki leiri viini siipi setti metri litri riihi
    virsi liesi reki nimi henki hetki niitti linni pelti tiili kilpi merkki sieni liike hirvi hirsi kylki kirje
    piste perhe side vene selli rivi peli jengi penkki pyykki nimike liikenne presidentti ihminen meri kirves
    helle liite viite pieli mieli virhe lippi terve leike kiille ilmi
    """.split()
)
"""Last parts with neutral vowels only: endings after them have front vowels (Rovaniemellä)."""


# Local cases are a matter of usage: Helsingissä, but Tampereella. Names in -joki, -järvi, … take the outer cases.
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
"""First words that inflect with the following word → the places written as one word where they do (Uudenkaupungin)."""

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
"""Places that inflect in the plural → the singular (Kauniainen, Kauniaisissa)."""


def takes_outer(name: str) -> bool:
    """Check whether a place takes the outer local cases (Tampereella) instead of the inner ones (Helsingissä).

    name (str): name of the place in the nominative.
    RETURNS (bool): True for the outer local cases.
    """
    word = name.lower()
    return word in _OUTER or (word.endswith(_OUTER_HEADS) and word not in _INNER)
