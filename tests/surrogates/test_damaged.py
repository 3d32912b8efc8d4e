"""Names that a scan damaged or that are spelled out: what is read, and what gets a tag."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.lang.text import fold
from spacy_deid.surrogates.damaged import read_damaged
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.style import SurrogateStyle, allow_all

KEY = ProjectKey(bytes(range(32))).patient("1")


def repaired(text):
    """Return a surrogate in lower case without the digits that a scan writes for letters."""
    return text.lower().translate(str.maketrans("0158l", "oisbi")).replace("ciinica", "clinica")


def read(lang, *texts, label="PATIENT"):
    found = read_damaged([Mention(text, label) for text in texts], lang)
    return [mention and mention.text for mention in found]


@pytest.mark.parametrize(
    ("lang", "damaged", "whole"),
    [
        ("es", "De1gado", "Delgado"),
        ("es", "GA1VAN HERRN0S0", "GALVAN HERMOSO"),
        ("es", "Vi!la5eca", "Villaseca"),
        ("en", "80HR1NGER, lsabel", "BOHRINGER, Isabel"),
        ("en", "CoIton", "Colton"),
        ("fi", "Y1italo", "Ylitalo"),
        ("fi", "SiIIanrnäki 0IIi", "Sillanmäki Olli"),
    ],
)
def test_a_damaged_name_is_read(lang, damaged, whole):
    assert read(lang, damaged) == [whole]


def test_a_damaged_name_is_read_as_the_name_that_the_note_has():
    assert read("es", "Quelmac", "Que1rnac", "QUE1MAC") == ["Quelmac", "Quelmac", "QUELMAC"]


def test_a_damaged_town_is_read():
    assert read("es", "5an Migue1 e1 Grande", label="CITY") == ["San Miguel el Grande"]


@pytest.mark.parametrize(
    ("label", "damaged", "whole"),
    [
        ("PHONE", "O5O 997 34ZO", "050 997 3420"),
        ("PHONE", "(6O4) S43 22 8l", "(604) 543 22 81"),
        ("FAX", "0l6S4 496 OI9O", "01654 496 0190"),
        ("PHONE", "555 0134 ext. 12", "555 0134 ext. 12"),
        ("PHONE", "1-800-FLOWERS", "1-800-FLOWERS"),
        ("AGE", "3l añ0s", "31 años"),
        ("AGE", "6l", "61"),
        ("AGE", "67 a-\nños", "67 años"),
        ("AGE", "62 year 0ld", "62 year old"),
        ("AGE", "mid 60s", "mid 60s"),
        ("AGE", "77yo", "77yo"),
    ],
)
def test_the_digits_of_a_damaged_number_are_read(label, damaged, whole):
    assert read("en", damaged, label=label) == [whole]


def test_a_damaged_telephone_number_has_the_surrogate_of_the_whole_one_and_a_damaged_age_stays_true():
    mentions = [Mention("O5O 997 34ZO", "PHONE"), Mention("050 997 3420", "PHONE"), Mention("5Z v", "AGE")]
    damaged, whole, age = SurrogateStyle().replace(mentions, KEY, "fi", allow_all)
    assert damaged.text.translate(str.maketrans("OlZSB", "01258")) == whole.text
    assert not any(map(str.isalpha, whole.text))
    assert age.text == "52 v"


def test_a_damaged_age_over_89_does_not_stay():
    (age,) = SurrogateStyle().replace([Mention("9l años", "AGE")], KEY, "es", allow_all)
    assert age.text == "90+ años"


@pytest.mark.parametrize("name", ["Fernández", "Smith2", "A1", "2nd", "Ana", "Cornwell"])
def test_an_undamaged_name_is_unchanged(name):
    assert read("en", name) == [name]


@pytest.mark.parametrize(
    ("lang", "damaged", "whole"),
    [
        ("es", "H0SPITAL DE JAL0N", "HOSPITAL DE JALON"),
        ("es", "C1inica Virgen de1 Carrnen", "Clinica Virgen del Carrnen"),
        ("es", "Centro Mé-\ndico Tajuña", "Centro Médico Tajuña"),
        ("es", "HU12O", "HU12O"),
        ("es", "Hospital 12 de Octubre", "Hospital 12 de Octubre"),
        ("es", "UMF 33", "UMF 33"),
        ("fi", "SALPAUSHARJUN KESKUSSA1RAALA", "SALPAUSHARJUN KESKUSSAIRAALA"),
        ("fi", "L0PPIJÄRVEN SAlRAALA", "LOPPIJÄRVEN SAIRAALA"),
        ("fi", "Länsirannan sairaa1a", "Länsirannan sairaala"),
        ("fi", "Länsirannan sairaala", "Länsirannan sairaala"),
    ],
)
def test_the_damaged_words_of_an_institution_are_read(lang, damaged, whole):
    assert read(lang, damaged, label="HOSPITAL") == [whole]


@pytest.mark.parametrize(
    ("name", "pieces"),
    [("C1inica Tajuña de1 Va11e", {"inica", "va", "tajuña"}), ("CL1NICA TAJUÑA DEL VA11E", {"cl", "nica", "va"})],
)
def test_no_piece_of_a_damaged_institution_stays(name, pieces):
    (made,) = SurrogateStyle().replace([Mention(name, "HOSPITAL")], KEY, "es", allow_all)
    assert repaired(made.text).startswith("clinica ")
    assert not pieces & set(re.findall(r"[^\W\d_]+", made.text.lower()))


def test_the_damaged_words_and_numbers_of_a_street_are_read():
    assert read("es", "Ca11e l7 nurn 2O8", label="STREET") == ["Calle 17 nurn 208"]
    assert read("es", "Calle 19 No 4B-77, 3 I", label="STREET") == ["Calle 19 No 4B-77, 3 I"]


@pytest.mark.parametrize(
    ("damaged", "whole"),
    [
        ("E-ll-O284", "E-11-0284"),
        ("l8O163-4S2N", "180163-452N"),
        ("TX-O83l/2l", "TX-0831/21"),
        ("l27OO", "12700"),
        ("RO12-55192", "RO12-55192"),
        ("SO17 1DP", "SO17 1DP"),
        ("K0J 1B0", "K0J 1B0"),
        ("B12-3344", "B12-3344"),
    ],
)
def test_the_damaged_digits_of_a_code_are_read_if_it_has_letters_that_no_code_has(damaged, whole):
    assert read("es", damaged, label="ENCOUNTER_ID") == [whole]


@pytest.mark.parametrize("label", ["VEHICLE", "MRN"])
def test_other_labels_are_unchanged(label):
    assert read("es", "De1gado", label=label) == ["De1gado"]


@pytest.mark.parametrize(
    ("lang", "name"),
    [
        ("es", "De7g4do"),
        ("en", "o double l e r e n s h a w"),
        ("en", "whiskey alpha bravo echo november alpha"),
        ("es", "doble ve i e erre zeta be a"),
        ("fi", "paavo eemeli tyyne tyyne risto"),
        ("fi", "koo aa ärrä ee äs äl aa hoo tee ii"),
        ("fi", "oo äs äs ii aa än"),
        ("en", "jay oh en ee ess"),
    ],
)
def test_a_name_that_cannot_be_read_and_one_that_is_spelled_out_get_a_tag(lang, name):
    assert read(lang, name) == [None]
    (made,) = SurrogateStyle().replace([Mention(name, "PATIENT")], KEY, lang, allow_all)
    assert made.text == "[PATIENT]"


@pytest.mark.parametrize("name", ["J. A. C. M.", "Otto Matti", "Mike Romeo", "R T M"])
def test_initials_and_names_that_spell_letters_are_names(name):
    assert read("fi", name) == read("en", name) == [name]


def test_no_piece_of_a_damaged_name_stays_and_its_surrogate_is_that_of_the_whole_name():
    mentions = [Mention(text, "PATIENT") for text in ("Delgado", "De1gado", "DE1GAD0")]
    whole, damaged, capitals = SurrogateStyle().replace(mentions, KEY, "es", allow_all)
    assert repaired(whole.text) == repaired(damaged.text) == repaired(capitals.text)
    assert whole.text.isalpha()
    assert "del" not in whole.text.lower()


@pytest.mark.parametrize("town", ["5an Roque", "A1ta Gracia", "Vi!la María", "5anta R0sa"])
@given(key=st.binary(min_size=32, max_size=32))
@settings(max_examples=25, deadline=None)
def test_the_word_that_is_read_from_a_damaged_town_is_never_part_of_a_surrogate(town, key):
    mentions = [Mention(town, "CITY"), Mention("Hospital San Roque", "HOSPITAL")]
    made, _ = SurrogateStyle().replace(mentions, ProjectKey(key).patient("1"), "es", allow_all)
    (whole,) = read("es", town, label="CITY")
    read_words = {fold(new) for new, old in zip(whole.split(), town.split(), strict=True) if new != old}
    assert read_words
    assert read_words.isdisjoint(fold(made.text).split())


@pytest.mark.parametrize("separator", [" ", "-", ".", ". "])
def test_a_name_that_is_spelled_letter_by_letter_is_that_name_and_spelled_like_it(separator):
    mentions = [Mention("Virtanen", "PATIENT"), Mention(separator.join("Virtanen"), "PATIENT")]
    whole, spelled = SurrogateStyle().replace(mentions, KEY, "fi", allow_all)
    assert spelled.text == separator.join(whole.text)
    assert whole.text != "Virtanen"
