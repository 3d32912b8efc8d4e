"""Finnish words whose form does not tell how they inflect, by declension. Our own list, from the grammar.

A surname, place or common noun inflects as its last part does (Pitkäjärvi as järvi), so the lists hold last parts.
Given names inflect by their ending and only the few named here do not.
"""

__all__ = [
    "DECLENSIONS",
    "GIVEN",
    "GRADED_GIVEN",
    "GRADED_HEADS",
    "NEUTRAL_HEADS",
    "PLAIN",
    "SOUNDED_S",
    "UNGRADED",
    "UNGRADED_HEADS",
    "WHOLE",
]

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
"""Last part of a word → declension."""

GIVEN = {"tuomas": "as-long", "säde": "e-long"}
"""Given names that inflect otherwise than others with their ending."""

GRADED_GIVEN = frozenset(
    """
    satu ahti ahto into sointu ilta lempi taito tahto sampo tähti aatto
    """.split()
)
"""Given names whose single consonants alternate: Satu, Sadun. All others keep them: Outi, Outin."""

UNGRADED = frozenset(
    """
    evita toyota alko nato sato opo moto foto loto muki beta delta data meta malta atlanta toronto kreeta sparta
    jakarta bogota kuopio haiti tahiti alta kyoto soto vito judo logo klima jeti seti lima kiva nika
    """.split()
)
"""Last parts that never alternate, though they end as words that do."""

UNGRADED_HEADS = ("auto", "opera", "paprika", "kuopio")
"""The same, in compounds too."""

GRADED_HEADS = tuple("ranta katu pöytä hoito tauti pelto silta koti kenttä lehto kanta raitti".split())
"""Last parts that alternate after a foreign first part too (Arabianrannan)."""

PLAIN = frozenset(
    """
    raahe kumlinge muurame toholampi moore lange linde rose heine muse musse kalle anne chile itse kolme nalle nukke
    pelle
    """.split()
)
"""Words in -e or -i that keep their nominative as the stem."""

WHOLE = frozenset(
    """
    onni uni veri suuri moni tosi ilmi impi loppi
    """.split()
)
"""Words of the lists that only count as a whole: toveri is no compound of veri."""

SOUNDED_S = frozenset(
    """
    tays kys oys hus tyks hyks james jones charles hughes holmes rhodes hayes miles simons roberts evans lewis
    davis harris ellis morris jesus lopes gomes korsnäs
    """.split()
)
"""Names in -s that take an i: James, Jamesin."""

NEUTRAL_HEADS = tuple(
    """
    piiri tiimi niemi kivi tie vesi lehti rinne helmi mies kieli retki leiri viini siipi setti metri litri riihi
    virsi liesi reki nimi henki hetki niitti linni pelti tiili kilpi merkki sieni liike hirvi hirsi kylki kirje
    piste perhe side vene selli rivi peli jengi penkki pyykki nimike liikenne presidentti ihminen meri kirves
    helle liite viite pieli mieli virhe lippi terve leike kiille ilmi
    """.split()
)
"""Last parts with neutral vowels only: after them endings take front vowels, whatever stands before (Rovaniemellä)."""
