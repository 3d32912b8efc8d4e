"""Finnish inflection, the well-known cases written out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError
from spacy_deid.lang.fi import inflection, stems
from spacy_deid.lang.fi.inflection import CASES, KINDS
from spacy_deid.lang.fi.morphology import analyze
from spacy_deid.lang.fi.phonology import strengthen, weaken
from spacy_deid.lang.inflection import case_forms, inflect, inflects

GIVEN = """Heikki Heikin|Pekka Pekan|Toivo Toivon|Aino Ainon|Marjatta Marjatan|Matti Matin|Antti Antin|Tapio Tapion
Hannes Hanneksen|Markus Markuksen|Mervi Mervin|Eeva Eevan|Outi Outin|Arto Arton|Virpi Virpin|Heta Hetan|Lauri Laurin
Juan Juanin|Ali Alin|Mary Maryn|George Georgen|Satu Sadun|Tuomas Tuomaan|Anne Annen|Ville Villen|Erkki Erkin
Anna-Liisa Anna-Liisan|Juha-Pekka Juha-Pekan|Pentti Pentin|Kerttu Kertun|Martti Martin|Kyösti Kyöstin|Elias Eliaksen
Iiris Iiriksen|Kai Kain|Veikko Veikon|Charlotta Charlotan|Kevin Kevinin|Niilo Niilon|James Jamesin|Lumi Lumin
Onni Onnin|Suvi Suvin|Into Innon|Ahti Ahdin|Ilta Illan"""

SURNAMES = """Virtanen Virtasen|Korhonen Korhosen|Mäkelä Mäkelän|Lahti Lahden|Joki Joen|Niemi Niemen|Lehti Lehden
Susi Suden|Kivi Kiven|Järvi Järven|Vesi Veden|Saari Saaren|Koski Kosken|Lumi Lumen|Niskanen Niskasen|Aalto Aallon
Ranta Rannan|Mattila Mattilan|Nieminen Niemisen|Räty Rädyn|Smith Smithin|Anderson Andersonin|Nguyen Nguyenin|Mäki Mäen
Rinne Rinteen|Laine Laineen|Kangas Kankaan|Lampi Lammen|Salmi Salmen|Hauta-aho Hauta-ahon|Uusitalo Uusitalon
Virtanen-Lahti Virtanen-Lahden|Ahokas Ahokkaan|Lindroos Lindroosin|Pelto Pellon|Parta Parran|Kettu Ketun|Haka Haan
Pitkäjärvi Pitkäjärven|Halko Halon|Kurki Kurjen|Rautio Raution|Salo Salon|Mustapää Mustapään|Jones Jonesin
Sibelius Sibeliuksen|Moore Mooren|Taipale Taipaleen|Lähde Lähteen|Sirén Sirénin|Lindqvist Lindqvistin|Varis Variksen
Suo Suon|Kokko Kokon|Leppänen Leppäsen|Koivumäki Koivumäen|Talvitie Talvitien|Koskimies Koskimiehen"""

PLACES = """Helsinki ine Helsingissä|Tampere gen Tampereen|Tampere ine Tampereella|Tampere ill Tampereelle
Tampere ela Tampereelta|Turku ine Turussa|Turku gen Turun|Rauma ine Raumalla|Vantaa ine Vantaalla|Espoo ine Espoossa
Espoo ill Espooseen|Rovaniemi ine Rovaniemellä|Seinäjoki ine Seinäjoella|Jyväskylä ine Jyväskylässä|Lahti ine Lahdessa
Uusikaupunki ine Uudessakaupungissa|Kauniainen ine Kauniaisissa|Oulu ill Ouluun|Riihimäki ine Riihimäellä
Hämeenlinna ela Hämeenlinnasta|Porvoo par Porvoota|Ii ine Iissä|Raahe gen Raahen|Yhdysvallat ine Yhdysvalloissa
Venäjä ine Venäjällä|Suomi ill Suomeen|Lontoo ill Lontooseen|Pihtipudas ine Pihtiputaalla|Orivesi ine Orivedellä
Kuopio ill Kuopioon|Isokyrö gen Isonkyrön|Hanko ine Hangossa|Vihti ine Vihdissä|Iisalmi ine Iisalmessa
Alavus ine Alavudella|Varkaus ine Varkaudessa|Punkalaidun ine Punkalaitumella|Virrat ine Virroilla|Kitee ine Kiteellä
Iso-Britannia ine Isossa-Britanniassa|Sydney ine Sydneyssä|Arabianranta gen Arabianrannan|Kumlinge gen Kumlingen
Muurame gen Muuramen|Loppi gen Lopen|Toholampi gen Toholammin|Korsnäs ine Korsnäsissä"""

NOUNS = """sairaala ill sairaalaan|terveyskeskus ine terveyskeskuksessa|lääkäri gen lääkärin|potilas gen potilaan
hoitaja all hoitajalle|sairaus gen sairauden|tauti ine taudissa|katu ade kadulla|tie ade tiellä|äiti gen äidin
poika gen pojan|tytär gen tyttären|mies all miehelle|vaimo par vaimoa|veli gen veljen|lapsi par lasta|puku ine puvussa
sairaanhoitopiiri ine sairaanhoitopiirissä|hyvinvointialue ade hyvinvointialueella|toimenpide gen toimenpiteen
yhdistys gen yhdistyksen|puhelin gen puhelimen|koti ine kodissa|apteekki ela apteekista|käsi par kättä
sydän gen sydämen|lääke gen lääkkeen|ikä gen iän|aika gen ajan|työtön gen työttömän|sähkömies ess sähkömiehenä
HUS ill HUS:iin|TAYS ine TAYS:ssa|KYS ine KYS:ssä|OYS ill OYS:iin|THL gen THL:n|Tays ine Taysissa"""

PLURALS = """talo talojen taloja|kala kalojen kaloja|koira koirien koiria|sairaala sairaaloiden sairaaloita
hoitaja hoitajien hoitajia|lääkäri lääkärien lääkäreitä|joki jokien jokia|vastaus vastausten vastauksia
huone huoneiden huoneita|kangas kankaiden kankaita|käsi käsien käsiä|lapsi lasten lapsia|nainen naisten naisia
potilas potilaiden potilaita|sairaus sairauksien sairauksia|tie teiden teitä|mies miesten miehiä
asia asioiden asioita"""


def rows(table):
    return [row.split() for row in table.replace("\n", "|").split("|")]


@pytest.mark.parametrize(("name", "genitive"), rows(GIVEN))
def test_given_names_keep_single_consonants_and_halve_double_ones(name, genitive):
    assert inflect(name, "fi", "gen", kind="given") == genitive


@pytest.mark.parametrize(("name", "genitive"), rows(SURNAMES))
def test_surnames_inflect_as_the_nouns_they_are(name, genitive):
    assert inflect(name, "fi", "gen", kind="surname") == genitive


@pytest.mark.parametrize(("name", "case", "form"), rows(PLACES))
def test_places_take_their_own_local_cases(name, case, form):
    assert inflect(name, "fi", case, kind="place") == form


@pytest.mark.parametrize(("noun", "case", "form"), rows(NOUNS))
def test_nouns_and_acronyms_inflect(noun, case, form):
    assert inflect(noun, "fi", case, kind="noun") == form


@pytest.mark.parametrize(("noun", "genitive", "partitive"), rows(PLURALS))
def test_nouns_have_plurals(noun, genitive, partitive):
    assert inflect(noun, "fi", "gen", kind="noun", number="plur") == genitive
    assert inflect(noun, "fi", "par", kind="noun", number="plur") == partitive


def test_every_singular_case_of_a_surname():
    forms = [inflect("Virtanen", "fi", case, kind="surname") for case in CASES if case != "com"]
    assert (
        forms
        == (
            "Virtanen Virtasen Virtasta Virtasessa Virtasesta Virtaseen Virtasella Virtaselta Virtaselle Virtasena "
            "Virtaseksi Virtasetta"
        ).split()
    )


@pytest.mark.parametrize(
    ("text", "case", "kind", "form"),
    [
        ("Anna Virtanen", "gen", "name", "Anna Virtasen"),
        ("Anna-Liisa Mäki-Laine", "all", "name", "Anna-Liisa Mäki-Laineelle"),
        ("VIRTANEN", "gen", "surname", "VIRTASEN"),
        ("Helsingin yliopistollinen keskussairaala", "ine", "noun", "Helsingin yliopistollisessa keskussairaalassa"),
        ("Jyväskylän keskussairaala", "ine", "noun", "Jyväskylän keskussairaalassa"),
        ("Uusi lastensairaala", "ine", "noun", "Uudessa lastensairaalassa"),
        ("Kalasataman terveysasema", "ade", "noun", "Kalasataman terveysasemalla"),
        ("New York", "ine", "place", "New Yorkissa"),
        ("Koivumäki", "ine", "surname", "Koivumäessä"),
        ("Koivuniemi", "ade", "surname", "Koivuniemellä"),
    ],
)
def test_of_several_words_the_last_inflects_and_adjectives_agree(text, case, kind, form):
    assert inflect(text, "fi", case, kind=kind) == form


@pytest.mark.parametrize(
    ("noun", "case", "person", "form"),
    [
        ("äiti", "nom", "3", "äitinsä"),
        ("äiti", "gen", "1sg", "äitini"),
        ("äiti", "ade", "3", "äidillään"),
        ("vaimo", "par", "3", "vaimoaan"),
        ("poika", "ill", "3", "poikaansa"),
        ("tytär", "all", "3", "tyttärelleen"),
        ("mies", "com", "3", "miehineen"),
        ("sisar", "tra", "1pl", "sisareksemme"),
    ],
)
def test_possessive_suffixes_stand_on_the_strong_stem_or_the_case(noun, case, person, form):
    assert inflect(noun, "fi", case, kind="noun", possessive=person) == form


def test_case_forms_hold_the_name_and_all_its_forms():
    forms = case_forms("Räty", "fi", kind="surname")
    assert {"Räty", "Rädyn", "Rätyä", "Rädyltä", "Rädylle", "Rätyyn"} <= forms
    assert {"Tampere", "Tampereella", "Tampereesta"} <= case_forms("Tampere", "fi", kind="place")


def test_a_language_that_does_not_inflect_gives_the_name_back():
    assert inflect("García", "es", "gen", kind="surname") == "García"
    assert case_forms("García", "es", kind="surname") == {"García"}
    assert inflects("fi")
    assert not inflects("es")


@pytest.mark.parametrize(
    "setting", [{"case": "dative"}, {"kind": "animal"}, {"number": "dual"}, {"possessive": "4"}], ids=str
)
def test_an_unknown_setting_is_refused_by_its_name(setting):
    given_settings = {"case": "gen", "kind": "noun"} | setting
    with pytest.raises(ConfigError, match=next(iter(setting.values()))):
        inflect("talo", "fi", given_settings.pop("case"), **given_settings)


@given(
    st.text("aeiouyäöbdfghjklmnprstvABKLMTÄ '-é", max_size=12),
    st.sampled_from(CASES),
    st.sampled_from(KINDS),
    st.sampled_from(["sing", "plur"]),
)
def test_any_text_inflects_and_keeps_its_beginning(text, case, kind, number):
    form = inflect(text, "fi", case, kind=kind, number=number)
    assert form[:1] == text[:1] or text in ("ie", "uo", "yö")  # yö, öissä
    assert len(form) >= len(text) - 3
    assert inflect(text, "fi", "nom", kind=kind) == text


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        ("kukka", "kuka"),
        ("lahte", "lahde"),
        ("turku", "turu"),
        ("puku", "puvu"),
        ("kenkä", "kengä"),
        ("kampa", "kamma"),
    ],
)
def test_gradation_goes_both_ways(strong, weak):
    assert weaken(strong) == weak
    if weak not in ("turu", "puvu"):
        assert strengthen(weak) == strong


def test_unlisted_names_of_a_note_are_not_cached():
    caches = (inflection._inflect_word, stems.find_stems)
    before = [cache.cache_info().currsize for cache in caches]
    (reading, *_) = analyze("zubeldiagoyenalla", lambda name: False)
    assert (reading.nominative, reading.case) == ("zubeldiagoyena", "ade")
    assert "Zubeldiagoyenassa" in case_forms("Zubeldiagoyena", "fi", kind="place")
    assert [cache.cache_info().currsize for cache in caches] == before


@pytest.mark.parametrize("kind", ["given", "surname"])
@pytest.mark.parametrize("name", ["virtanen", "anna-liisa", "lehto", "o'neil", "tays", "heikki", "ng", "aho", "jean"])
def test_an_uncached_name_has_the_same_forms(name, kind):
    for case in CASES:
        assert inflection.inflect_unkept(name, case, kind) == inflection.inflect(name, case, kind=kind)
