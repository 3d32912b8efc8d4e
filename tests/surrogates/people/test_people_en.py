"""English mini notes: which mentions must agree, and how their surrogates are written. All persons are invented."""

import re
from importlib.resources import files

import pytest

from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.people import replace_persons
from spacy_deid.surrogates.people.conventions import load_conventions
from spacy_deid.surrogates.people.name_lists import load_names

KEYS = [ProjectKey(bytes(range(32))).patient(str(n)) for n in range(3)]
EVERY_KEY = pytest.mark.parametrize("key", KEYS, ids=range(3))


def replace(key, *texts, label="PATIENT", facts=None):
    mentions = [Mention(text, label) if isinstance(text, str) else Mention(*text) for text in texts]
    return replace_persons(mentions, key, "en", lambda value: False, facts or {})


@EVERY_KEY
def test_all_forms_of_a_name_get_surrogates_of_one_person(key):
    made = replace(
        key,
        "John Smith",
        "J. Smith",
        "Smith, John",
        "JOHN",
        "Mr. Smith",
        "Smith's",
        "J.S.",
        "JS",
        ("john.smith@hospital.example.edu", "EMAIL"),
        ("jsmith82", "USERNAME"),
        ("smithj", "USERNAME"),
        "john\nsmith",
    )
    given, surname = made[0].split()
    assert made[1:8] == [
        f"{given[0]}. {surname}",
        f"{surname}, {given}",
        given.upper(),
        f"Mr. {surname}",
        f"{surname}'s",
        f"{given[0]}.{surname[0]}.",
        given[0] + surname[0],
    ]
    assert made[8].startswith(f"{fold(given)}.{fold(surname)}@")
    assert re.fullmatch(f"{fold(given)[0]}{fold(surname)}\\d\\d", made[9])
    assert made[10] == fold(surname) + fold(given)[0]
    assert made[11] == f"{given}\n{surname}".lower()


@EVERY_KEY
def test_a_middle_name_and_its_initial_agree(key):
    made = replace(key, "Emily Rose Baker", "Emily R. Baker", "E. R. Baker")
    given, middle, surname = made[0].split()
    assert made[1:] == [f"{given} {middle[0]}. {surname}", f"{given[0]}. {middle[0]}. {surname}"]


@EVERY_KEY
def test_relatives_share_the_surname_and_not_the_given_name(key):
    made = replace(key, "John Smith", ("Mary Smith", "RELATIVE"), ("Mary", "RELATIVE"), ("Smith", "PATIENT"))
    assert made[0].split()[1] == made[1].split()[1] == made[3]
    assert made[0].split()[0] != made[1].split()[0] == made[2]


@EVERY_KEY
def test_a_maiden_name_is_a_surname_of_the_person(key):
    made = replace(key, "Mary Smith née Baker", "Mary Baker", "Smith", "Baker")
    given, surname, marker, maiden = made[0].split()
    assert marker == "née"
    assert made[1:] == [f"{given} {maiden}", surname, maiden]


@EVERY_KEY
def test_a_nickname_is_written_as_a_nickname(key):
    made = replace(key, "Robert Smith", "Bob", 'Robert "Bob" Smith')
    given = made[0].split()[0]
    known = load_conventions("en").nicknames.get(fold(given), ())
    assert made[1] in (*known, given)
    assert made[2] == f'{given} "{made[1]}" {made[0].split()[1]}'


@EVERY_KEY
def test_two_persons_with_one_surname_stay_two_persons(key):
    made = replace(key, ("Anna Jones", "CLINICIAN"), ("Peter Jones", "CLINICIAN"), ("Dr. Jones", "CLINICIAN"))
    assert made[0].split()[1] == made[1].split()[1] == made[2].split()[1]
    assert made[0] != made[1]


@EVERY_KEY
@pytest.mark.parametrize(
    "text", ["Smith-Jones", "O'Brien", "McDonald", "DEBUSK,S.", "Baker, MD", "Smith Jr.", "William Smith III", "Li"]
)
def test_particles_and_suffixes_are_kept(key, text):
    made = replace(key, text)[0]
    assert made is not None
    for kept in ("-", ",", "MD", "Jr.", "III"):
        assert (kept in made) == (kept in text)


@EVERY_KEY
def test_the_sex_of_names_is_kept(key):
    made = replace(key, "Mary Smith", ("John Baker", "RELATIVE"), ("Mr. Leslie Carver", "CLINICIAN"))
    first = [fold(text.removeprefix("Mr. ").split()[0]) for text in made]
    for sex, other, name in zip(("female", "male", "male"), ("male", "female", "female"), first, strict=True):
        assert load_names("en").count(sex, name) >= load_names("en").count(other, name)


@EVERY_KEY
def test_initials_without_a_name_become_other_initials(key):
    made = replace(key, "K. L.", "K.L.", ("Anna Smith", "CLINICIAN"))
    assert re.fullmatch(r"[A-Z]\. [A-Z]\.", made[0])
    assert made[1] == made[0].replace(" ", "")
    assert made[0][0] != "K"
    assert made[0][3] != "L"


@EVERY_KEY
def test_a_single_letter_becomes_another(key):
    assert re.fullmatch("[A-Z]", replace(key, "K")[0])
    assert replace(key, "K")[0] != "K"


@EVERY_KEY
def test_a_user_name_without_a_known_name_is_replaced(key):
    made = replace(key, ("qz77xk", "USERNAME"), ("sunflower_9@yahoo.com", "EMAIL"))
    assert None not in made
    assert "sunflower" not in made[1]
    assert "yahoo" not in made[1]


def test_a_listed_name_of_a_relative_in_lower_case_is_replaced():
    assert None not in replace(KEYS[0], "dorothy riggee", label="RELATIVE")


@EVERY_KEY
@pytest.mark.parametrize(
    ("name", "others"), [("Mildred", (1920, 1939)), ("Debra", (1940, 1959)), ("Kayla", (1980, 1999))]
)
def test_a_given_name_becomes_one_of_those_born_in_the_same_years(key, name, others):
    path = files("spacy_deid") / "lang" / "en" / "names" / "decades.csv"
    rows = [line.split(",") for line in path.read_text(encoding="utf8").splitlines()[1:]]
    decades = {other: int(decade) for sex, decade, names in rows if sex == "female" for other in names.split("|")}
    assert others[0] <= decades[name] <= others[1]
    assert others[0] <= decades[replace(key, f"{name} Ostrander")[0].split()[0]] <= others[1]


def test_a_surname_shared_by_all_groups_has_no_group():
    assert load_names("en").stratum("surname", "williams").group == ""
    assert load_names("en").stratum("surname", "okafor").group != ""


@EVERY_KEY
def test_a_foreign_surname_becomes_one_of_its_group(key):
    assert {load_names("en").stratum("surname", name).group for name in ("segovia", "quinones", "madrid")} == {
        "hispanic"
    }
    assert load_names("en").stratum("surname", "zheng").group != "hispanic"
    made = [name.split()[1] for name in replace(key, "Ann Musgrave", "Joanne Lockhart", "Mark Conlon", "Will Bynum")]
    groups = [load_names("en").group("surname", name) for name in ("musgrave", "lockhart", "conlon", "bynum")]
    assert [load_names("en").group("surname", fold(name)) for name in made] == groups
    assert groups[1] == "scottish"
    assert not any(re.search("(?:[aoiuz]|[ao]s)$", name) for name in made)


@EVERY_KEY
@pytest.mark.parametrize("user", ["bokaneoka81", "bokane", "okaneb"])
def test_a_user_name_of_an_initial_and_a_surname_follows_the_surname(key, user):
    name, made = replace(key, ("B. Okane", "CLINICIAN"), (user, "USERNAME"))
    assert fold(name.split()[1]) in made


@EVERY_KEY
def test_an_initial_agrees_with_the_given_name_in_an_address(key):
    name, address = replace(key, ("J. Rowe", "CLINICIAN"), ("james_rowe@example.org", "EMAIL"))
    initial, surname = fold(name).split()
    given, _, rest = address.partition("_")
    assert given.startswith(initial[0])
    assert rest.startswith(surname)


@EVERY_KEY
@pytest.mark.parametrize("names", [("Florence BELL", "Bell"), ("PUKETAPU-LEYS, Ngaire", "Leys")])
def test_an_unlisted_surname_in_capitals_is_not_read_as_initials(key, names):
    whole, surname = replace(key, *names)
    assert surname.upper() in whole


@EVERY_KEY
def test_capitals_behind_a_surname_are_initials(key):
    (made,) = replace(key, "Garcia JACM", label="CLINICIAN")
    assert re.fullmatch("[A-Z]{4}", made.split()[1])
