"""Spanish mini notes: which mentions must agree, and how their surrogates are written. All persons are invented."""

import re

import pytest

from spacy_deid.lang.text import fold
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.people import replace_persons
from spacy_deid.surrogates.people.conventions import load_conventions
from spacy_deid.surrogates.people.name_lists import load_names

KEYS = [ProjectKey(bytes(range(32))).patient(str(n)) for n in range(3)]
RESERVED = ("example", "test", "internal", "local", "alt")  # top-level domains that nobody can have
EVERY_KEY = pytest.mark.parametrize("key", KEYS, ids=range(3))


def replace(key, *texts, label="PATIENT", facts=None):
    mentions = [Mention(text, label) if isinstance(text, str) else Mention(*text) for text in texts]
    return replace_persons(mentions, key, "es", lambda value: False, facts or {})


@EVERY_KEY
def test_all_forms_of_a_name_with_two_surnames_agree(key):
    made = replace(
        key, "Ana García López", "García López", "GARCÍA LÓPEZ, ANA", "A. García", "A.G.L.", "Ana", "López García, Ana"
    )
    given, first, second = made[0].split()
    assert made[1:] == [
        f"{first} {second}",
        f"{first.upper()} {second.upper()}, {given.upper()}",
        f"{given[0]}. {first}",
        f"{given[0]}.{first[0]}.{second[0]}.",
        given,
        f"{second} {first}, {given}",
    ]


@EVERY_KEY
def test_relatives_share_the_surname(key):
    made = replace(key, "Ana García López", ("Luis García Mora", "RELATIVE"), ("Pilar López Sanz", "RELATIVE"))
    _, first, second = made[0].split()
    assert made[1].split()[1] == first
    assert made[2].split()[1] == second
    assert len({name.split()[0] for name in made}) == 3


@EVERY_KEY
def test_a_surname_with_a_particle_keeps_a_particle_that_agrees(key):
    made = replace(key, ("Dra. de la Fuente", "CLINICIAN"), ("Teresa de la Torre Ruiz", "CLINICIAN"))
    title, *particles, core = made[0].split()
    assert title == "Dra."
    assert tuple(particles) in ((), load_names("es").particles["surname"].get(fold(core), ()))
    _, *particles, core, _ = made[1].split()
    assert tuple(particles) == load_names("es").particles["surname"][fold(core)]
    assert particles[0].startswith("de")


@EVERY_KEY
def test_a_given_name_with_a_particle_gets_one_that_takes_it(key):
    made = replace(key, "María del Carmen Ruiz", "Carmen", "Ruiz")
    head, *particles, core, surname = made[0].split()
    assert made[1:] == [core, surname]
    assert tuple(particles) == load_names("es").particles["female"][fold(core)]
    assert load_names("es").count("female", fold(head)) > load_names("es").count("male", fold(head))


@EVERY_KEY
def test_a_particle_in_capitals_stays_in_capitals(key):
    made = replace(key, "TERESA DE LA TORRE")[0]
    assert made.isupper()


@EVERY_KEY
@pytest.mark.parametrize(
    ("text", "before", "sex"),
    [
        ("Lucía Mora", "", "female"),
        ("Andrés Mora", "", "male"),
        ("Zuriñe Mora", "La Sra. ", "female"),
        ("Ander Mora", "El Sr. ", "male"),
        ("José María Mora", "", "male"),
        ("María José Mora", "", "female"),
    ],
)
def test_the_sex_of_a_person_is_kept(key, text, before, sex):
    given = fold(replace(key, (text, "PATIENT", before))[0].split()[0])
    other = {"female": "male", "male": "female"}[sex]
    in_group = any(given in {fold(name) for name in group} for group in load_names("es").members[sex].values())
    assert load_names("es").count(sex, given) >= load_names("es").count(other, given)
    assert load_names("es").count(sex, given) or in_group


@EVERY_KEY
def test_a_nickname_is_the_same_person(key):
    made = replace(key, "Francisco Mora", "Paco", "Francisco")
    given, surname = made[0].split()
    assert made[2] == given
    assert surname not in made[1]
    assert made[1] in (*load_conventions("es").nicknames.get(fold(given), ()), given)


@EVERY_KEY
def test_a_nickname_alone_in_another_note_is_drawn_for_the_full_name(key):
    together = replace(key, "Francisco Mora", "Paco")[1]
    assert replace(key, "Paco")[0] == together


@EVERY_KEY
def test_a_misspelled_name_is_the_same_person(key):
    made = replace(key, "Ana Villanueva", "Villanuev", "Vilalnueva", "Ana Villanueva Mora")
    assert made[1] == made[2] == made[0].split()[1] == made[3].split()[1]


@EVERY_KEY
def test_omitted_accents_are_omitted_in_the_surrogate(key):
    made = replace(key, "RODRIGUEZ MARTIN, JOSE", "José Rodríguez Martín")
    assert made[0].isascii() or "Ñ" not in made[0]
    assert fold(made[0]) == fold(" ".join((*made[1].split()[1:3],)) + ", " + made[1].split()[0])
    assert made[0] == fold(made[0]).upper()


@EVERY_KEY
@pytest.mark.parametrize(
    "text", ["ana garcía lópez", "ANA GARCÍA LÓPEZ", "Ana\nGarcía\nLópez", "Ana  García-López", "García, Ana"]
)
def test_capitals_spacing_and_punctuation_are_kept(key, text):
    made = replace(key, text)[0]
    assert re.sub(r"\w+", "x", made) == re.sub(r"\w+", "x", text)
    assert (made.islower(), made.isupper()) == (text.islower(), text.isupper())


@EVERY_KEY
def test_titles_are_kept(key):
    made = replace(key, ("D. Juan Mora", "PATIENT"), ("Dña. Ana Mora", "RELATIVE"), ("Dr. Mora Sanz", "CLINICIAN"))
    assert [text.split()[0] for text in made] == ["D.", "Dña.", "Dr."]


@EVERY_KEY
def test_addresses_are_derived_from_the_surrogate(key):
    made = replace(
        key,
        "Ana García López",
        ("ana.garcia82@gmail.com", "EMAIL"),
        ("agarcia", "USERNAME"),
        ("garcialopez@example.org", "EMAIL"),
        ("AGL", "PATIENT"),
    )
    given, first, second = (fold(word) for word in made[0].split())
    local, _, domain = made[1].partition("@")
    assert local[: -len("82")] == f"{given}.{first}"
    assert local[-2:].isdigit()
    assert local[-2:] != "82"
    assert domain.rpartition(".")[2] in RESERVED or domain.startswith("example.")
    assert made[2] == given[0] + first
    assert made[3].partition("@")[0] == first + second
    assert made[3].partition("@")[2] != "example.org"
    assert made[4] == (given[0] + first[0] + second[0]).upper()


@EVERY_KEY
def test_an_address_alone_in_another_note_has_the_surrogates_of_the_person(key):
    given, surname = replace(key, "Ana García")[0].split()
    made = replace(key, ("ana.garcia@gmail.com", "EMAIL"), ("agarcia@gmail.com", "EMAIL"))
    assert made[0].partition("@")[0] == f"{fold(given)}.{fold(surname)}"
    assert made[1].partition("@")[0].endswith(fold(surname))


@EVERY_KEY
@pytest.mark.parametrize(
    "text", ["madre", "Hermana", "HIJO", "hermano mayor de 6 años", "2 hijas", "materna", "recién nacida", "65 años"]
)
def test_a_relative_without_a_name_is_kept_for_the_family_history(key, text):
    assert replace(key, text, label="RELATIVE") == [text]


def test_a_kinship_word_is_kept_beside_a_replaced_name():
    made = replace(KEYS[0], "madre Teresa Bustarviejo", label="RELATIVE")[0]
    assert re.fullmatch(r"madre \w+ \w+", made)
    assert not {"Teresa", "Bustarviejo"} & set(made.split())


def test_an_age_above_89_of_a_relative_becomes_90_plus():
    assert replace(KEYS[0], "abuela de 95 años", label="RELATIVE") == ["abuela de 90+ años"]


@pytest.mark.parametrize("text", ["una niet", "qwrt", "65"])
def test_an_unreadable_mention_of_a_relative_is_not_kept(text):
    assert text not in replace(KEYS[0], text, label="RELATIVE")


@EVERY_KEY
def test_facts_of_the_patient_record_are_used(key):
    facts = {"name": "Ana García López", "sex": "female"}
    given, first, second = replace(key, "Ana García López")[0].split()
    assert replace(key, "A. G. L.", facts=facts) == [f"{given[0]}. {first[0]}. {second[0]}."]


@EVERY_KEY
def test_abbreviated_names_get_the_surrogate_of_the_full_name(key):
    made = replace(key, "Mª Pilar Fdez. Mora", "María Pilar Fernández Mora")
    assert made[0].replace(".", "") == made[1]


@EVERY_KEY
def test_names_keep_their_group_of_origin(key):
    made = replace(key, "Fátima Benali", ("Vasile Popescu", "CLINICIAN"))
    assert load_names("es").stratum("surname", fold(made[1].split()[1])).group == "romanian"


@EVERY_KEY
def test_a_field_of_surnames_holds_surnames(key):
    mentions = [
        ("Ana", "PATIENT", "Nombre: "),
        ("Rosa Blanco", "PATIENT", "Apellidos: "),
        ("Rosa", "PATIENT", "Sra. "),
    ]
    made = replace(key, *mentions)
    assert made[2] == made[1].split()[0]
    assert load_names("es").count("surname", fold(made[2])) > load_names("es").count("given", fold(made[2]))


@EVERY_KEY
def test_a_surname_that_is_also_a_nickname_or_a_title_is_a_surname(key):
    made = replace(key, "Laura Concha", "Concha", ("Jordán Doña", "CLINICIAN"), ("Doña, Jordán", "CLINICIAN"))
    assert made[1] == made[0].split()[1]
    assert made[3] == ", ".join(made[2].split()[::-1])


@EVERY_KEY
@pytest.mark.parametrize(
    "text",
    [
        "Mateo San Pablo Pereda",
        "Eufrasio de Pedro Gasco",
        "Ana de Gabriel Soto",
        "Óscar de Gracia Pellicer",
        "Irene da Costa Mora",
        "Irene de la O Mora",
        "Martín Martín Mora",
        "Pedro de Pedro Mora",
    ],
)
def test_a_surname_that_is_a_given_name_as_well_becomes_a_surname(key, text):
    made = replace(key, text)[0].split()
    core = fold(made[-2])
    assert load_names("es").count("surname", core) > load_names("es").count("given", core)
    assert " ".join(made[1:-2]) in ("", " ".join(load_names("es").particles["surname"].get(core, ())))
    assert made[0] != made[1]


@EVERY_KEY
@pytest.mark.parametrize(
    "text", ["da Costa", "San Agustín", "Santa Cruz", "de los Ángeles", "del Rosario", "de Matías"]
)
def test_a_surrogate_surname_has_its_own_particle(key, text):
    *particles, core = replace(key, (text, "CLINICIAN", "la Dra. "))[0].split()
    assert load_names("es").count("surname", fold(core)) > load_names("es").count("given", fold(core))
    assert tuple(particles) in ((), load_names("es").particles["surname"].get(fold(core)))


@EVERY_KEY
def test_a_title_that_looks_like_a_particle_is_kept(key):
    assert [text.split()[0] for text in replace(key, "Da. Rosa Mora", "da Rosa Mora")] == ["Da.", "da"]


def test_no_name_is_drawn_without_the_particle_that_it_always_has():
    assert "Prieta" not in load_names("es").everything("surname")
    pool = load_names("es").pool(load_names("es").stratum("surname", "vega"))
    assert "Prieta" not in pool
    assert "Torre" in pool


def test_a_common_name_that_rarely_has_a_particle_stays_common():
    assert load_names("es").stratum("surname", "pascual").particle == ""
    assert load_names("es").stratum("surname", "torre").particle == "de"


@EVERY_KEY
def test_a_given_name_with_a_particle_at_the_end_is_one_name(key):
    _, *particles, core = replace(key, "María del Carmen")[0].split()
    assert tuple(particles) == load_names("es").particles["female"][fold(core)]


@EVERY_KEY
@pytest.mark.parametrize(
    ("address", "shape"),
    [
        ("lhcandebat@yahoo.es", r"[a-z]{{2}}{first}@"),
        ("kticacandebat@yahoo.es", r"[a-z]+{first}@"),
        ("candebatp@yahoo.es", r"{first}[a-z]@"),
        ("montepediatria@yahoo.es", r"[a-z]+@"),
        ("hugopediatria@yahoo.es", r"{given}[a-z]+@"),
    ],
)
def test_an_address_with_more_than_the_name_follows_the_name(key, address, shape):
    name, made = replace(key, ("Hugo Candebat Montero", "CLINICIAN"), (address, "EMAIL"))
    given, first, _ = fold(name).split()
    assert re.match(shape.format(given=given, first=first), made)
    assert not re.search("candebat|hugo", made)


@EVERY_KEY
def test_a_field_of_given_names_has_no_surname(key):
    made = replace(
        key,
        ("Manuel de Jesús", "PATIENT", "Nombre: ", ".\nApellidos: Mora Gil"),
        ("Mora Gil", "PATIENT", "Apellidos: "),
    )
    assert all(load_names("es").count("given", fold(word)) for word in made[0].split())


def test_a_rare_surname_does_not_reverse_the_order_of_a_name():
    given, *_ = replace(KEYS[0], ("Carmen Gómez Candela", "CLINICIAN"))[0].split()
    assert load_names("es").count("female", fold(given)) > load_names("es").count("surname", fold(given))


@EVERY_KEY
def test_a_name_of_a_group_that_spain_shares_becomes_a_common_one(key):
    assert load_names("es").stratum("male", "gabriel").group == ""
    assert fold(replace(key, "Gabriel Mora")[0].split()[0]) not in load_names("es").groups["male"]


@EVERY_KEY
def test_particles_behind_the_initials_of_a_name_stay_particles(key):
    whole, surname = replace(key, "Torre Goicoechea M.E. de la", "De la Torre")
    assert whole.endswith(" de la")
    assert surname.split()[-1] == whole.split()[0]
