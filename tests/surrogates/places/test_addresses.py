"""Surrogates of streets, postal codes, and mentions that hold several parts of an address."""

import csv
import re
from importlib.resources import files

import pytest

from spacy_deid.lang.en.places import is_small_area, states_by_area
from spacy_deid.lang.inflection import inflect
from spacy_deid.lang.places import invent_persons, place_words
from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.places import replace_places
from spacy_deid.surrogates.places.gazetteer import load_gazetteer
from spacy_deid.surrogates.style import allow_all

PROJECT = ProjectKey(bytes(range(32)))
KEYS = [PROJECT.patient(f"patient {number}") for number in range(5)]


def replaced(text, label, lang, key=KEYS[0], before="", after=""):
    return replace_places([Mention(text, label, before, after)], key, lang, allow_all)[0]


def replace_codes(lang, *texts):
    return replace_places([Mention(text, "ZIP") for text in texts], KEYS[0], lang, allow_all)


def replace_finnish(patient, *mentions):
    return replace_places(mentions, PROJECT.patient(str(patient)), "fi", allow_all)


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(
    ("text", "lang", "shape"),
    [
        ("C/ Cobre, 5, 3, Izq", "es", r"C/ (?!Cobre)[^\d]+, \d, \d, Izq"),
        ("Avda. Menéndez Pidal, s/n", "es", r"Avda\. (?!Menéndez)[^\d]+, s/n"),
        ("Calle de Serrano 92, piso 3, puerta 4", "es", r"Calle (?!de Serrano)[^\d]+ \d\d, piso \d, puerta \d"),
        ("CALLE MAYOR, 18, BAJO A", "es", r"CALLE (?!MAYOR,)[^\da-z]+, \d\d, BAJO [A-F]"),
        ("c/ Juan Bosco, 17, 2º Izda", "es", r"c/ (?!Juan Bosco)[^\d]+, \d\d, \dº Izda"),
        ("Pº Isabel la Católica 1 y 3", "es", r"Pº (?!Isabel)\D+ \d y \d"),
        ("C/ San Francisco n° 1", "es", r"C/ (?!San Francisco)\D+ n° \d"),
        ("Avda. Valdecilla sn", "es", r"Avda\. (?!Valdecilla)\D+ sn"),
        ("Apartado de correos 41", "es", r"Apartado de correos \d\d"),
        ("Boulevard Louis Pasteur, 32", "es", r"Boulevard (?!Louis)\D+, \d\d"),
        ("Paseo de la Libertad", "es", r"Paseo (?!de la Libertad)\D+"),
        ("Plaza 12 de Octubre, 4", "es", r"Plaza (?!12 de Octubre)\D+, \d"),
        ("4190 Spruce Rd, Apt 57", "en", r"\d{4} (?!Spruce)[A-Z][\w ]+ Rd, Apt \d\d"),
        ("12974 SE Center Court, Unit 7F", "en", r"\d{5} SE (?!Center)[A-Z][\w ]+ Court, Unit \d[A-H]"),
        ("251 Kennedy Dr", "en", r"\d{3} (?!Kennedy)[A-Z][\w ]+ Dr"),
        ("22 33rd Street", "en", r"\d\d \d\d(st|nd|rd|th) Street"),
        ("4 SCHOOL AVENUE", "en", r"\d (?!SCHOOL)[A-Z][A-Z ]+ AVENUE"),
        ("Hallakatu 17 A 28", "fi", r"(?!Halla)[A-ZÄÖ]\w+katu \d\d [A-F] \d\d"),
        ("Hallakadulla", "fi", r"(?!Halla)[A-ZÄÖ]\w+kadulla"),
        ("Itäinen Kirkkotie 26 as. 16", "fi", r"Itäinen (?!Kirkko)[A-ZÄÖ]\w+tie \d\d as\. \d\d"),
        ("Storgatan 27 B 5", "fi", r"(?!Stor)[A-ZÄÖ]\w+gatan \d\d [A-F] \d"),
        ("Esplanadi 3", "fi", r"(?!Esplanadi)[A-ZÄÖ]\w+ \d"),
    ],
)  # fmt: skip
def test_a_street_keeps_its_kind_and_format(text, lang, shape, key):
    made = replaced(text, "STREET", lang, key)
    assert re.fullmatch(shape, made), made


def test_an_ordinal_street_has_the_right_ending():
    made = [
        replaced("42 33rd Street", "STREET", "en", PROJECT.patient(str(number))).split()[1] for number in range(60)
    ]
    right = {1: "st", 2: "nd", 3: "rd"}
    for ordinal in made:
        number = int(ordinal[:-2])
        assert ordinal[-2:] == ("th" if number in (11, 12, 13) else right.get(number % 10, "th"))


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("text", ["Calle de Serrano 61", "Calle Serrano 61", "Calle Puertollano 61"])
def test_a_street_name_that_ends_in_no_is_not_read_as_a_number_sign(text, key):
    names = {*place_words("es")["streets"]["names"], *invent_persons("es", ["Serrano"], given=False)}
    assert re.sub(r" \d\d$", "", replaced(text, "STREET", "es", key)).removeprefix("Calle ") in names


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_number_sign_with_a_blank_stays(key):
    assert re.fullmatch(r"c/ .+ n º \d", replaced("c/ Camino de Eros n º 4", "STREET", "es", key))


# --- postal codes ---


def shape(text):
    return re.sub(r"\d", "9", text)


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("code", ["93701", "93701-1234"])
def test_zip_code_town_and_state_belong_to_one_surrogate_state(key, code):
    mentions = [
        Mention("Fresno", "CITY", "", ", CA 93701"),
        Mention("CA", "STATE", "Fresno, "),
        Mention(code, "ZIP", "CA "),
    ]
    town, state, new = replace_places(mentions, key, "en", allow_all)
    assert state != "CA"
    assert states_by_area().get(new[:3]) == state
    assert state in {place.region for place in load_gazetteer("en").find(town)}
    assert shape(new) == shape(code)
    assert not is_small_area(new[:3])


def test_the_state_before_a_zip_code_overrides_its_digits():
    made = replace_places([Mention("TX", "STATE"), Mention("10001", "ZIP", "Houston, TX ")], KEYS[0], "en", allow_all)
    assert states_by_area().get(made[1][:3]) == made[0] != "TX"


def test_the_zip_codes_of_an_area_become_codes_of_one_area():
    one, other, far = replace_codes("en", "10001", "10025", "90210")
    assert one[:3] == other[:3] != far[:3]
    assert one != other


@pytest.mark.parametrize("text", ["10001", "90210-1234", "33101", "03601", "05901-1234", "82101"])
def test_an_area_becomes_a_large_area_of_another_state(text):
    new = replace_codes("en", text)[0]
    assert not is_small_area(new[:3])
    assert states_by_area().get(new[:3]) not in (None, states_by_area().get(text[:3]))
    assert shape(new) == shape(text)


@pytest.mark.parametrize("text", ["00601", "00701-1234"])
def test_a_large_area_of_no_state_keeps_three_digits(text):
    new = replace_codes("en", text)[0]
    assert new[:3] == text[:3]
    assert new != text
    assert shape(new) == shape(text)


@pytest.mark.parametrize("text", ["88888", "09012", "34012"])
def test_the_first_digits_of_a_small_area_of_no_state_become_000(text):
    new = replace_codes("en", text)[0]
    assert new.startswith("000")
    assert new[3:] != text[3:]


def test_small_areas_are_those_of_the_census():
    lines = (files("spacy_deid") / "lang/en/zip_areas.csv").read_text(encoding="utf8").splitlines()[1:]
    people = {prefix: int(number) for prefix, number in (line.split(",") for line in lines)}
    assert len(people) > 900
    assert 330_000_000 < sum(people.values()) < 340_000_000
    assert all(is_small_area(prefix) for prefix, number in people.items() if number <= 20_000)
    large = [prefix for prefix in people if not is_small_area(prefix)]
    assert len(large) > 850
    assert all(people[prefix] > 20_000 for prefix in large)


@pytest.mark.parametrize(("lang", "pattern"), [("es", r"(0[1-9]|[1-4]\d|5[0-2])\d{3}"), ("fi", r"\d{4}0")])
def test_codes_of_one_province_become_codes_of_one_other_province(lang, pattern):
    texts = ["00100", "00120", "33100"] if lang == "fi" else ["28046", "28010", "08036"]
    new = replace_codes(lang, *texts)
    assert all(re.fullmatch(pattern, value) for value in new)
    assert new[0][:2] == new[1][:2] != new[2][:2]
    assert new[0][:2] != texts[0][:2]
    assert len(set(new)) == 3


def test_every_province_becomes_another():
    codes = [f"{n:02}123" for n in range(1, 53)]
    new = replace_codes("es", *codes)
    assert len({value[:2] for value in new}) == 52
    assert all(a[:2] != b[:2] for a, b in zip(codes, new, strict=True))


@pytest.mark.parametrize(
    ("text", "pattern"), [("SW1A 2AA", r"[A-Z]{2}[1-9][A-Z] \d[A-Z]{2}"), ("m1 4et", r"[a-z][1-9] \d[a-z]{2}")]
)
def test_british_codes_keep_their_form(text, pattern):
    new = replace_codes("en", text)[0]
    assert re.fullmatch(pattern, new)
    assert new[:2] != text[:2]


FINNISH_CODES = {}
for row in csv.DictReader((files("spacy_deid") / "lang/fi/synth/lists/places.csv").read_text("utf8").splitlines()):
    FINNISH_CODES.setdefault(row["city"], set()).add(row["zip"][:3])


@pytest.mark.parametrize("patient", range(10))
@pytest.mark.parametrize("town", ["Espoo", "Kuopio", "Imatra", "Tuusula"])
def test_the_code_before_a_town_belongs_to_the_surrogate_of_the_town(town, patient):
    own = sorted(FINNISH_CODES[town])[0] + "00"
    code, made = replace_finnish(
        patient, Mention(own, "ZIP", "Osoite: ", f" {town}"), Mention(town, "CITY", f"{own} ", "\n")
    )
    assert made != town
    assert code[:3] in FINNISH_CODES[made]
    assert code[-1] == "0"


@pytest.mark.parametrize("between", [" ", ", ", "    Postitoimipaikka: "])
def test_text_may_separate_a_code_from_its_town(between):
    code, made = replace_finnish(
        1, Mention("33100", "ZIP", "", between + "Tampere"), Mention("Tampere", "CITY", "", "")
    )
    assert code[:3] in FINNISH_CODES[made]


def test_a_code_without_a_town_follows_its_listed_town():
    code, made = replace_finnish(
        3, Mention("33100", "ZIP"), Mention(inflect("Tampere", "fi", "ela", kind="place"), "CITY")
    )
    bare = next(town for town in FINNISH_CODES if inflect(town, "fi", "ela", kind="place") == made)
    assert code[:3] in FINNISH_CODES[bare]


def test_an_unlisted_code_becomes_another_code():
    [code] = replace_finnish(1, Mention("99999", "ZIP"))
    assert len(code) == 5
    assert code != "99999"


def test_two_codes_have_two_surrogates():
    first, second = replace_finnish(1, Mention("33100", "ZIP"), Mention("33200", "ZIP"))
    assert first != second


# --- several parts in one mention ---

MIXED = [
    ("en", "123 Main St., Springfield", r"\d{3} .+ St\., .+"),
    ("en", "Boston MA 02115", r".+ [A-Z]{2} \d{5}"),
    ("en", "12 Oak St, Fresno, CA 93701", r"\d\d .+ St, .+, [A-Z]{2} \d{5}"),
    ("es", "28001 Madrid", r"\d{5} .+"),
    ("es", "Calle Mayor 3, Getafe", r"Calle .+ \d, .+"),
    ("fi", "Hallakatu 3, Espoo", r".+katu \d, .+"),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize(("lang", "text", "shape"), MIXED, ids=lambda value: value[:30])
def test_every_part_of_a_mixed_mention_changes(lang, text, shape, key):
    made = replace_places([Mention(text, "CITY")], key, lang, allow_all)[0]
    assert re.fullmatch(shape, made)
    words = {word for word in re.findall(r"\w{3,}", fold(text)) if word not in ("calle", "hallakatu")}
    assert words.isdisjoint(re.findall(r"\w{3,}", fold(made)))


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_the_postal_code_of_a_mixed_mention_belongs_to_its_state(key):
    made = replace_places([Mention("12 Oak St, Fresno, CA 93701", "CITY")], key, "en", allow_all)[0]
    state, code = made.split()[-2:]
    assert states_by_area()[code[:3]] == state != "CA"


@pytest.mark.parametrize(
    ("text", "shape"),
    [("Memorial Hospital", r"\w+ Hospital"), ("Cleveland Clinic", r".+ Clinic"), ("Langone Health", r"\w+ Health")],
)
def test_an_institution_labelled_as_a_place_stays_an_institution(text, shape):
    made = replace_places([Mention(text, "CITY")], KEYS[0], "en", allow_all)[0]
    assert re.fullmatch(shape, made)
    assert made != text
