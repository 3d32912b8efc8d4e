"""Finnish notes: what the rules must find, in any case ending, and what they must leave alone."""

import pytest
import spacy
from spacy.language import Language

from spacy_deid.patterns import parse_example

FOUND = [
    ("PATIENT", "Nimi: [[Aino Lehtovaara]]\nHetu: 010594Y9032"),
    ("PATIENT", "POTILAS: [[VIRTASALO, EERO]]  Ikä: 53"),
    ("PATIENT", "Sukunimi: [[Saarinen-Koskela]]"),
    ("PATIENT", "potilas [[Aino Lehtovaara]] saapui ambulanssilla"),
    ("CLINICIAN", "Hoitava lääkäri: [[Pekka Salmelainen]]"),
    ("CLINICIAN", "konsultoitu tri [[Korhelaa]] puhelimitse"),
    ("CLINICIAN", "lääkäri [[Salmelainen]] tutki"),
    ("CLINICIAN", "sh [[Arola]] soitti omaiselle"),
    ("CLINICIAN", "[[Outi Kiveläinen]], LL"),
    ("PATIENT", "rouva [[Lehtovaara]] voi hyvin"),
    ("PERSON", "opettaja [[Lehtovaara]] soitti koulusta"),
    ("RELATIVE", "vaimo [[Liisa]] mukana vastaanotolla"),
    ("RELATIVE", "Lähiomainen: [[Matti Lehtovaara]]"),
    ("DATE", "tullut [[3.5.2019]] päivystykseen"),
    ("DATE", "kontrolli [[03.05.19]]."),
    ("DATE", "leikattu [[3.5.-19]]"),
    ("DATE", "poliklinikka-aika [[3.5.]] klo 9"),
    ("DATE", "sairausloma [[3.-8.5.2019]]"),
    ("DATE", "leikattu [[toukokuussa 2019]]"),
    ("DATE", "[[3. toukokuuta 2019]] kotiin"),
    ("DATE", "[[TOUKOKUUSSA]] uusi kuvaus"),
    ("DATE", "[[kolmantena toukokuuta]] tähystys"),
    ("DATE", "todettu [[11/93]]."),
    ("DATE", "leikattu [[5/2019]]"),
    ("DATE", "[[vuonna 2015]] tekonivel"),
    ("DATE", "v. [[-98]] leikattu"),
    ("DATE", "[[1990-luvulla]] hoidettu"),
    ("DATE", "[[syksyllä 2016]] alkanut"),
    ("DATE", "kaatui [[juhannuksena]] mökillä"),
    ("DATE", "pvm: [[323/20]]"),
    ("DATE", "uusi aika [[9. päivänä]]"),
    ("AGE", "[[53-vuotias]] mies"),
    ("AGE", "Nainen [[53 v]], jolla"),
    ("AGE", "[[97-vuotiaana]] kuollut"),
    ("AGE", "[[viisikymmentäkolmevuotias]] opettaja"),
    ("AGE", "[[6 kk:n ikäinen]] vauva"),
    ("AGE", "Ikä: [[92]]"),
    ("SEX", "Sukupuoli: [[nainen]]"),
    ("NATIONAL_ID", "hetu [[131052-308T]]"),
    ("NATIONAL_ID", "potilas [[010594Y9032]] tullut"),
    ("NATIONAL_ID", "[[131052\u2011308T]] tarkistettu"),
    ("NATIONAL_ID", "[[131052-308U]] väärin näppäilty"),
    ("NATIONAL_ID", "Henkilötunnus: [[010170-xxxx]]"),
    ("MRN", "Potilasnumero: [[004829]]"),
    ("ENCOUNTER_ID", "Näytenumero: [[19-00213]]"),
    ("LICENSE", "SV-numero: [[123456]]"),
    ("HEALTH_PLAN", "Vakuutusnumero: [[48-2913-7]]"),
    ("ACCOUNT", "tili [[FI21 1234 5600 0007 85]]"),
    ("DEVICE", "tahdistin, sarjanumero [[PJN-123456]]"),
    ("VEHICLE", "auton rekisterinumero [[ABC-123]]"),
    ("ROOM", "huone [[204 B]]"),
    ("ID_OTHER", "asiakirja [[1.2.246.556.12001.4.32.2]]"),
    ("PHONE", "puh. [[040 123 4567]]"),
    ("PHONE", "soitettu [[040\u00a01234567]]"),
    ("PHONE", "tavoittaa [[+358 40 1234567]]"),
    ("FAX", "Faksi: [[09 471 12345]]"),
    ("EMAIL", "[[aino.lehtovaara@esimerkki.fi]]"),
    ("URL", "ohje [[https://ohjeet.esimerkki.fi/polvi]]"),
    ("STREET", "asuu [[Mannerheimintie 12 A 5]] yksin"),
    ("STREET", "Osoite: [[Koivukatu 12 A 5]], 33100 Tampere"),
    ("STREET", "asuu [[Koivukadulla]] yksin"),
    ("ZIP", "Koivukatu 12, [[33100]] Tampere"),
    ("CITY", "Koivukatu 12, 33100 [[Tampere]]"),
    ("CITY", "asuu [[Turussa]] yksin"),
    ("CITY", "Kotikunta: [[Salo]]"),
    ("STATE", "muutti [[Pirkanmaalta]]"),
    ("COUNTRY", "loma [[Thaimaassa]] tammikuussa"),
    ("HOSPITAL", "hoidettu [[Vaasan keskussairaalassa]] aiemmin"),
    ("HOSPITAL", "siirto [[TYKS:ssä]] sovittu"),
    ("HEALTH_CENTER", "asioi [[Kallion terveysasemalla]]"),
    ("DEPARTMENT", "siirtyy [[osastolle A12]]"),
    ("ORGANIZATION", "töissä [[Saaren Sähkö Oy:ssä]] asentajana"),
    ("USERNAME", "Käyttäjätunnus: [[lehtoai1]]"),
]

LEFT = [
    "Systolinen sivuääni 2/6 kärjessä.",
    "RR 120/80 mmHg, syke 72.",
    "Hb 134, CRP 45, leuk 12.3, tromb 206.",
    "K 4.1, Na 136, Krea 78.",
    "Levinneisyys T3N0M0, Gleason 3+4.",
    "Aloitettu 5-FU ja leukovoriini.",
    "Parasetamoli 1 g 1x3.",
    "Kipu VAS 7/10.",
    "Visus 5/50 oikealla.",
    "GCS 15/15 tullessa.",
    "Seuranta 6 kk välein.",
    "5 vuotta sitten sydäninfarkti.",
    "Tupakoinut 30 vuotta.",
    "Ejektiofraktio 55 %.",
    "Leesio 3,5 x 2,1 cm.",
    "Lämpö 38,5 ja saturaatio 97 %.",
    "Välilevyn pullistuma L4-L5.",
    "Lääkäri tutki potilaan.",
    "Äiti sairasti rintasyövän.",
    "Potilas on kävelevä ja asiallinen.",
    "Annettu 2000 ml nestettä.",
    "HIV ja hepatiitti C negatiiviset.",
    "Antibiootti 3 päivän ajan.",
    "Joulukuusi kaatui päälle.",
    "Parin kuukauden ajan väsymystä.",
    "Parkinsonin tauti ja Crohnin tauti.",
    "Virtsatieinfektio hoidettu.",
    "Virtsatie 12 mm.",
    "Hengitystiet auki.",
    "EKG:ssa ST-nousut V2-V4.",
    "Insuliini 10 yksikköä illalla.",
    "Paino 70 kg, pituus 172 cm, BMI 23,7.",
    "HbA1c 52, LDL 2,1.",
    "pH 7,35 ja laktaatti 1,8.",
    "Päivystyksessä todettu murtuma.",
    "Huoneilma oli kuiva.",
    "Sairaalassa hoidettu viikon.",
    "Omaiset tavattu.",
    "Ei lääkeaineallergioita.",
    "Laboratoriossa INR 2.5.",
    "Annos 25 mg x 2.",
    "Tulehdusarvot laskussa, CRP-123.",
    "Kotiutuu, jatkohoito sovittu.",
    "Neljäs päivä antibioottia.",
    "Kaksi viikkoa kipuja.",
    "Kolmas kerta leikkauksessa.",
    "Uusi kontrolli tarvittaessa.",
    "Osastolla 3,5 vrk.",
    "Kalsium 2,35 ja albumiini 38.",
    "PEF 450/500.",
    "   \n\t ",
]


@pytest.fixture(scope="module")
def nlp() -> Language:
    nlp = spacy.blank("fi")
    nlp.add_pipe("deid_patterns")
    return nlp


@pytest.mark.parametrize(("label", "marked"), FOUND)
def test_finds_the_identifier_with_its_label_and_edges(nlp: Language, label: str, marked: str) -> None:
    text, spans = parse_example(marked)
    assert spans
    found = [(e.start, e.end, e.label) for e in nlp.get_pipe("deid_patterns").find(nlp.make_doc(text))]
    assert (*spans[0], label) in found


@pytest.mark.parametrize("text", LEFT)
def test_leaves_clinical_text_alone(nlp: Language, text: str) -> None:
    assert [e.rule for e in nlp.get_pipe("deid_patterns").find(nlp.make_doc(text))] == []
