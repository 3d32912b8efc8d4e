"""Finnish pronouns, the verbs "to be" and "not", and words that do not inflect: too short and too odd for rules."""

from functools import cache

from ..lang import get_language

__all__ = ["load_function_words"]

_FORMS = """
    minä: minun minut minua minussa minusta minuun minulla minulta minulle
    sinä: sinun sinut sinua sinussa sinusta sinuun sinulla sinulta sinulle
    hän: hänen hänet häntä hänessä hänestä häneen hänellä häneltä hänelle hänenkin hänkin
    me: meidän meidät meitä meissä meistä meihin meillä meiltä meille
    te: teidän teidät teitä teissä teistä teihin teillä teiltä teille
    he: heidän heidät heitä heissä heistä heihin heillä heiltä heille
    se: sen sitä siinä siitä siihen sillä siltä sille sinä siksi ne niiden niitä
    se: niissä niistä niihin niillä niiltä niille
    tämä: tämän tätä tässä tästä tähän tällä tältä tälle tänä täksi
    tämä: nämä näiden näitä näissä näistä näihin näillä näille
    tuo: tuon tuota tuossa tuosta tuohon tuolla tuolta tuolle nuo noiden noita noissa noista noihin noilla noille
    joka: jonka jota jossa josta johon jolla jolta jolle jona joksi
    joka: jotka joiden joita joissa joista joihin joilla joille
    mikä: minkä mitä missä mistä mihin millä miltä mille minä miksi mitkä
    kuka: kenen ketä kenessä kenestä keneen kenellä keneltä kenelle ketkä
    jokin: jonkin jotain jotakin jossain jossakin jostain jostakin johonkin jollain jollakin joltain joltakin joillekin
    mikään: minkään mitään missään mistään mihinkään millään miltään millekään
    itse: itseä itsensä itseään itsessään itsestään itseensä itsellään itseltään itselleen
    olla: on ovat olen olet olemme olette oli olivat olin olit olimme olitte
    olla: ole onko olisi olisivat olisin ollut olleet olevan
    ei: en et emme ette eivät eikä eivätkä enkä
    """


@cache
def load_function_words() -> dict[str, str]:
    """Read the words and their lemmas.

    RETURNS (dict[str, str]): form → lemma, lower case; words that do not inflect are their own.
    """
    words = [word for line in get_language("fi").read_lines("function_words.txt") for word in line.split()]
    lemmas: dict[str, str] = {}
    for line in _FORMS.strip().splitlines():
        lemma, forms = line.split(":")
        for form in (lemma.strip(), *forms.split()):  # "minä" is a pronoun before it is a form of "mikä"
            lemmas.setdefault(form, lemma.strip())
    return dict(zip(words, words, strict=True)) | lemmas
