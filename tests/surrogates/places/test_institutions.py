"""Surrogates of hospitals, health centres, employers and schools."""

import re

import pytest

from spacy_deid.lang.fi.inflection import inflect as inflect_finnish
from spacy_deid.lang.inflection import inflect
from spacy_deid.lang.places import place_words
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.places import replace_places
from spacy_deid.surrogates.places.geography import place_forms
from spacy_deid.surrogates.style import allow_all

PROJECT = ProjectKey(bytes(range(32)))
KEYS = [PROJECT.patient(f"patient {number}") for number in range(6)]


def replaced(text, label, lang, key=KEYS[0]):
    return replace_places([Mention(text, label)], key, lang, allow_all)[0]


SPANISH = [
    ("Hospital Universitario de Salamanca", r"Hospital Universitario de (?!Salamanca)\w.*"),
    ("Hospital Universitario La Paz", r"Hospital Universitario La (?!Paz)\w+"),
    ("Hospital Universitario de La Princesa", r"Hospital Universitario de La (?!Princesa)\w+"),
    ("Hospital del Henares", r"Hospital del (?!Henares)\w+"),
    ("Hospital San Agustín", r"Hospital San (?!Agustín)\w+"),
    ("Clínica Santa Elena", r"Clínica Santa (?!Elena)\w+"),
    ("Hospital Virgen del Rocío", r"Hospital Virgen (?!del Rocío)de.*"),
    ("Hospital Infanta Sofía", r"Hospital Infanta (?!Sofía)\w+"),
    ("Hospital Doctor Peset", r"Hospital Doctor (?!Peset)\w+"),
    ('Hospital "Gregorio Marañón"', r'Hospital "(?!Gregorio)\w.* (?!Marañón)\w+"'),
    ("Hospital 12 de Octubre", r"Hospital (?!12)[1-9]\d de (?!Octubre)[A-Z]\w+"),
    ("HOSPITAL GENERAL", r"HOSPITAL (?!GENERAL)[A-Z]+"),
    ("hospital local", r"hospital (?!local)[a-z]+"),
    ("Centro de Salud Zona 4", r"Centro de Salud Zona (?!4)[1-9]"),
    ("Centro de Salud de Chantrea", r"Centro de Salud de (?!Chantrea)\w.*"),
    ("HUCA", r"(?!HUCA)[A-Z]{4}"),
    ("Facultad de Odontología", r"Facultad de (?!Odontología)[A-Z]\w+"),
    ("Universidad de Navarra", r"Universidad de (?!Navarra)[A-ZÁ]\w.*"),
    ("Servicio Murciano de Salud", r"Servicio (?!Murciano)[A-Z]\w+ de Salud"),
    ("Servicio Castellano-Leonés de Salud", r"Servicio Castellano-Manchego de Salud"),
]
ENGLISH = [
    ("St. Mary's Medical Center", r"St\. (?!Mary)\w+'s Medical Center"),
    ("St Elizabeth Florence", r"St (?!Elizabeth)\w.*"),
    ("Mount Sinai Hospital", r"Mount (?!Sinai)\w+ Hospital"),
    ("Worcester General Hospital", r"(?!Worcester)\w.* General Hospital"),
    ("CEDAR CREEK GP PRACTICE", r"(?!CEDAR CREEK)[A-Z ]+ GP PRACTICE"),
    ("Larkfield Women's Health", r"(?!Larkfield)\w.* Women's Health"),
    ("MGH", r"(?!MGH)[A-Z]{3}"),
    ("University of Oregon", r"University of (?!Oregon)[A-Z].*"),
    ("Station Physicians", r"(?!Station)\w.* Physicians"),
    ("Walgreens #4471", r"(?!Walgreens)\w.*#(?!4471)[1-9]\d{3}"),
    ("Ward 4B", r"Ward [1-9][A-F]"),
    ("Nightingale Ward", r"(?!Nightingale)\w+ Ward"),
]
FINNISH = [
    ("Jyväskylän keskussairaalassa", r"(?!Jyväskylän)\w.*n keskussairaalassa"),
    ("Päijät-Hämeen keskussairaalaan", r"(?!Päijät-Hämeen)\w.*n keskussairaalaan"),
    ("Meilahden tornisairaalasta", r"(?!Meilahden)\w+n tornisairaalasta"),
    ("Tampereen yliopistollisessa sairaalassa", r"(?!Tampereen)\w+n yliopistollisessa sairaalassa"),
    ("Hoivakoti Kotkarinteestä", r"Hoivakoti (?!Kotka)\w+rinteestä"),
    ("Siltasairaalaan", r"(?!Silta)\w+sairaalaan"),
    ("TAYS:ssa", r"(?!TAYS)[A-Z]{3}S:ssa"),
    ("HIFK:n", r"(?!HIFK)[A-Z]{3}K:n"),
    ("Kirurginen sairaala", r"Kirurginen (?!sairaala)\w+"),
    ("Vuokkokodissa", r"(?!Vuokko)\w+kodissa"),
    ("osasto 4BIIN", r"osasto (?!4)[1-9]BIIN"),
    ("lukioon", r"(?!lukioon)\w+(Vn|[aeiouyäö]n)"),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(("text", "shape"), SPANISH, ids=lambda value: value[:30])
def test_a_spanish_name_keeps_its_kind(text, shape, key):
    label = "ORGANIZATION" if text.startswith(("Facultad", "Universidad")) else "HOSPITAL"
    made = replaced(text, label, "es", key)
    assert re.fullmatch(shape, made), made


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(("text", "shape"), ENGLISH, ids=lambda value: value[:30])
def test_an_english_name_keeps_its_kind(text, shape, key):
    label = "DEPARTMENT" if "Ward" in text else "ORGANIZATION" if text[-1].isdigit() else "HOSPITAL"
    made = replaced(text, label, "en", key)
    assert re.fullmatch(shape, made), made


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(("text", "shape"), FINNISH, ids=lambda value: value[:30])
def test_a_finnish_name_keeps_its_kind_and_case(text, shape, key):
    label = "DEPARTMENT" if "osasto" in text else "ORGANIZATION" if "HIFK" in text else "HOSPITAL"
    made = replaced(text, label, "fi", key)
    assert re.fullmatch(shape, made), made


def test_a_hospital_lies_where_its_town_now_lies():
    mentions = [Mention("Segovia", "TERRITORY"), Mention("Hospital General de Segovia", "HOSPITAL")]
    town, hospital = replace_places(mentions, KEYS[0], "es", allow_all)
    assert hospital == f"Hospital General de {town}"


def test_a_hospital_is_the_same_with_and_without_its_first_words():
    mentions = [
        Mention("Hospital General Universitario Gregorio Marañón", "HOSPITAL"),
        Mention("Hospital Gregorio Marañón", "HOSPITAL"),
        Mention("HOSPITAL GREGORIO MARAÑÓN", "HOSPITAL"),
    ]
    long, short, shouted = replace_places(mentions, KEYS[0], "es", allow_all)
    assert long.removeprefix("Hospital General Universitario ") == short.removeprefix("Hospital ")
    assert fold(shouted) == fold(short)


def test_a_finnish_hospital_is_the_same_in_every_case():
    mentions = [
        Mention(text, "HOSPITAL") for text in ("Meilahden sairaala", "Meilahden sairaalassa", "meilahden sairaalaan")
    ]
    first, second, third = replace_places(mentions, KEYS[0], "fi", allow_all)
    assert second == first + "ssa"
    assert third == first.lower() + "an"


def test_a_company_becomes_a_company_in_its_case():
    made = replaced("Nokialla", "ORGANIZATION", "fi")
    assert made.endswith(("lla", "llä"))
    assert "Noki" not in made


@pytest.mark.parametrize(
    ("text", "lang"), [("12", "en"), ("4A", "en"), ("B2-14", "en"), ("17/3", "fi"), ("ADSEG 02", "en")]
)
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_room_keeps_its_shape(text, lang, key):
    made = replaced(text, "ROOM", lang, key)
    assert made != text
    assert re.sub(r"\d", "9", made) == re.sub(r"\d", "9", text) or len(made) == len(text)


@pytest.mark.parametrize("key", KEYS)
def test_the_maker_of_a_device_becomes_a_maker_and_an_employer_an_employer(key):
    words = place_words("es")["institutions"]
    lens, work = (Mention("Zurigaya", "ORGANIZATION", before) for before in ("lente plegable (", "trabaja en "))
    assert replace_places([lens], key, "es", allow_all)[0] in words["makers"]
    assert replace_places([work], key, "es", allow_all)[0] in words["companies"]
    assert replace_places([Mention("Allergan", "ORGANIZATION", "de ")], key, "es", allow_all)[0] in words["makers"]


def replace_finnish(patient, *mentions):
    key = PROJECT.patient(str(patient))
    return replace_places([Mention(*mention) for mention in mentions], key, "fi", allow_all)


KINDRED = place_words("fi")["institutions"]["kindred"]


@pytest.mark.parametrize("patient", range(5))
@pytest.mark.parametrize("group", range(len(KINDRED)))
def test_a_school_becomes_a_school_and_a_county_a_county(group, patient):
    name = KINDRED[group][0]
    bare, form = replace_finnish(
        patient, (name, "ORGANIZATION"), (inflect(name, "fi", "ine", kind="noun"), "ORGANIZATION")
    )
    assert bare in set(KINDRED[group]) - {name}
    assert form == inflect(bare, "fi", "ine", kind="noun")


def test_the_first_half_of_a_kind_stays():
    [made] = replace_finnish(1, ("Helsingin sosiaali-, terveys- ja pelastustoimiala", "ORGANIZATION"))
    town, kind = made.split(" ", 1)
    assert kind == "sosiaali-, terveys- ja pelastustoimiala"
    assert town != "Helsingin"


@pytest.mark.parametrize("patient", range(5))
@pytest.mark.parametrize(("case", "kind"), [("ine", "Keskussairaalassa"), ("ela", "Keskussairaalasta")])
def test_a_central_hospital_keeps_its_kind_and_case_and_gets_another_town(patient, case, kind):
    assert inflect("Keskussairaala", "fi", case, kind="noun") == kind
    [made] = replace_finnish(patient, (f"Jyväskylän {kind}", "HOSPITAL"))
    town, noun = made.split()
    assert noun == kind
    assert town != "Jyväskylän"
    assert place_forms("fi")[fold(town)][1] == "gen"


PATIENTS = [PROJECT.patient(str(number)) for number in range(300)]


@pytest.mark.parametrize(
    ("name", "lang"),
    [
        ("Hospital 12 de Octubre", "es"),
        ("Hospital Universitario 12 de octubre", "es"),
        ("H. 2 de Mayo", "es"),
        ("HOSPITAL 12 DE OCTUBRE", "es"),
        ("Hospital 12 de Octubre", "en"),
    ],
)
def test_a_day_in_a_name_becomes_another_day_of_the_calendar(name, lang):
    before = name[: re.search(r"\d", name).start()]
    for patient in PATIENTS:
        made = replaced(name, "HOSPITAL", lang, patient)
        day = re.fullmatch(re.escape(before) + r"(\d+) (?i:de) \w+", made)
        assert day
        assert 1 <= int(day[1]) <= 31
        assert fold(made) != fold(name)


@pytest.mark.parametrize(
    ("name", "before", "lang", "setting"),
    [
        ("Los Peques", "Acude a la guardería ", "es", 0),
        ("Pinocho", "", "es", 0),
        ("San Blas", "alumno del colegio ", "es", 1),
        ("Del Río", "recogido en la farmacia ", "es", 2),
        ("Little Acorns", "", "en", 0),
        ("Larch Hill", "He attends ", "en", 1),
        ("Boots", "collected from the pharmacy ", "en", 2),
    ],
)
def test_an_organization_becomes_one_of_its_kind(name, before, lang, setting):
    names = place_words(lang)["institutions"]["settings"][setting]["names"]
    again = Mention(name, "ORGANIZATION", "llaman de ")
    for patient in PATIENTS:
        made = replace_places([again, Mention(name, "ORGANIZATION", before)], patient, lang, allow_all)
        assert made[0] == made[1]
        assert made[0] in names


def test_a_nursery_keeps_its_kind():
    for patient in PATIENTS:
        made = replaced("Guardería Pinocho", "ORGANIZATION", "es", patient)
        assert made.removeprefix("Guardería ") in place_words("es")["institutions"]["settings"][0]["names"]


def test_a_word_before_another_name_does_not_tell_the_kind():
    for patient in PATIENTS[:20]:
        work = Mention("Mercadona", "ORGANIZATION", "Va a la guardería Pinocho y trabaja en ")
        made = replace_places([work], patient, "es", allow_all)[0]
        assert made in place_words("es")["institutions"]["companies"]


@pytest.mark.parametrize("lang", ["en", "es", "fi"])
def test_firms_that_exist_are_never_drawn(lang):
    words = place_words(lang)["institutions"]
    known = {fold(name) for key in ("known_makers", "known_companies", "known_clinics") for name in words.get(key, ())}
    known |= {"walmart", "nestle", "mercadona", "pfizer", "kone", "fazer", "mehilainen"}
    for patient in PATIENTS:
        for name in ("Walmart", "Nokia", "Mehiläinen"):
            assert fold(replaced(name, "ORGANIZATION", lang, patient)) not in known


@pytest.mark.parametrize(
    ("name", "pattern", "case"),
    [
        ("Ortopediasairaala Silta", r"Ortopediasairaala (\w+)", "nom"),
        ("Ortopediasairaala Sillassa", r"Ortopediasairaala (\w+)", "ine"),
        ("Silmäklinikka Kaisla", r"Silmäklinikka (\w+)", "nom"),
    ],
)
def test_a_finnish_hospital_keeps_its_speciality_and_case(name, pattern, case):
    names = place_words("fi")["institutions"]["names"]
    forms = {inflect_finnish(other, case, kind="surname") for other in names}
    for patient in PATIENTS:
        made = re.fullmatch(pattern, replaced(name, "HOSPITAL", "fi", patient))
        assert made
        assert made[1] in forms


@pytest.mark.parametrize(
    "name", ["P.O. Box 1284", "PO Box 7", "P. O. Box 77, Suite 3", "Post Office Box 9", "p.o. box 3"]
)
def test_a_post_box_stays_one(name):
    box = re.match(r"(?i)(p\.? ?o\.? |post office )box", name).group()
    for patient in PATIENTS:
        made = replaced(name, "STREET", "en", patient)
        assert re.match(re.escape(box) + r" \d+", made)
        assert made != name


@pytest.mark.parametrize(
    ("name", "label", "form"),
    [
        ("Oriveden terveysasemaltamme", "HEALTH_CENTER", r"\w+n terveysasemaltamme"),
        ("Pyynikinharjun yliopistosairaalaanne", "HOSPITAL", r"\w+n yliopistosairaalaanne"),
    ],
)
def test_a_finnish_noun_with_a_possessive_suffix_keeps_its_kind(name, label, form):
    for patient in PATIENTS:
        made = replaced(name, label, "fi", patient)
        assert re.fullmatch(form, made)
        assert made.split()[0] != name.split()[0]


@pytest.mark.parametrize(("lang", "before", "name"), [("es", "EPS", "Comfacosta"), ("en", "insurer", "Brantley")])
def test_an_insurer_becomes_an_insurer(lang, before, name):
    names = place_words(lang)["institutions"]["settings"][-1]["names"]
    mention = Mention(name, "ORGANIZATION", before=f"{before} ", after=".")
    assert replace_places([mention], KEYS[0], lang, allow_all)[0] in names
