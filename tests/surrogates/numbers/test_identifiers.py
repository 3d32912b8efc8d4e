"""Identifiers keep their form, nobody's number stays, and no surrogate can be issued to anybody."""

import re
import sys
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError
from spacy_deid.patient_ids import normal_id
from spacy_deid.patterns.validators import get_validator
from spacy_deid.surrogates.calendar.rules import DateRules, Shift
from spacy_deid.surrogates.keys import FormatPreservingCipher, ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.numbers import replace_ids
from spacy_deid.surrogates.numbers.identifiers import decode, encode, identifier_kinds, plain_parts

PROJECT = ProjectKey(bytes(range(32)))
KEY = PROJECT.patient("4711")


def replace(lang, *pairs, key=KEY, forbidden=lambda value: False, rules=None):
    return replace_ids([Mention(text, label) for label, text in pairs], key, lang, forbidden, rules)


def one(lang, label, text, **settings):
    return replace(lang, (label, text), **settings)[0]


def shape(text):
    return re.sub(r"\d", "9", re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", text)))


CASES = [
    ("es", "NATIONAL_ID", "12345678Z", "dni"),
    ("es", "NATIONAL_ID", "12.345.678-Z", "dni"),
    ("es", "NATIONAL_ID", "12345678-z", "dni"),
    ("es", "NATIONAL_ID", "X-1234567-L", "dni"),
    ("es", "INSURANCE_ID", "28 12345678 40", "nuss"),
    ("es", "INSURANCE_ID", "28/1234567/17", ""),
    ("es", "ACCOUNT", "ES91 2100 0418 4502 0005 1332", "iban"),
    ("fi", "ACCOUNT", "FI58 5830 2992 4034 69", "iban"),
    ("fi", "ACCOUNT", "FI21 1234 5600 0007 85", "iban"),
    ("fi", "ID_OTHER", "0112038-9", "business_id_fi"),
    ("en", "LICENSE", "1234567893", "npi"),
    ("en", "LICENSE", "AB1234563", "dea"),
    ("en", "ACCOUNT", "4111 1111 1111 1111", "card"),
    ("en", "ACCOUNT", "4111-1111-1111-1111", "card"),
    ("en", "DEVICE", "490154203237518", "luhn"),
    ("en", "VEHICLE", "1HGBH41JXMN109186", "vin"),
    ("en", "VEHICLE", "XP6SN0UBX9701UZF6", "vin"),  # with the letters of "s/n" in it
    ("en", "VEHICLE", "1M8GDM9A6UP042788", "vin"),  # the tenth character names no year
    ("en", "NATIONAL_ID", "9434765919", "nhs"),
    ("en", "NATIONAL_ID", "943-476-5919", "nhs"),
    ("en", "MRN", "943 476 5919", "nhs"),
    ("en", "HEALTH_PLAN", "1EG4-TE5-MK73", ""),
    ("es", "VEHICLE", "1234 BCD", ""),
    ("fi", "VEHICLE", "ABC-123", ""),
    ("en", "MRN", "MRN: 00456712", ""),
    ("en", "SSN", "xxx-xx-6789", ""),
    ("es", "MRN", "HC-2015/123", ""),
    ("es", "ENCOUNTER_ID", "B17-\n4456", ""),
]


@pytest.mark.parametrize(("lang", "label", "text", "validator"), CASES)
def test_a_surrogate_has_the_form_of_its_original_and_is_not_valid(lang, label, text, validator):
    new = one(lang, label, text)
    assert new != text
    assert shape(new) == shape(text) or validator == "vin"
    if validator:
        assert get_validator(validator)(text)
        assert get_validator(validator)(new) == (validator == "nhs")
        assert validator != "nhs" or new.startswith("999")


@pytest.mark.parametrize(("lang", "label", "text", "validator"), [case for case in CASES if case[3]])
@settings(max_examples=30, deadline=None)
@given(patient=st.text(min_size=1, max_size=8).filter(normal_id))
def test_no_surrogate_is_valid_for_any_patient(lang, label, text, validator, patient):
    new = one(lang, label, text, key=PROJECT.patient(patient))
    assert get_validator(validator)(new) == (validator == "nhs")
    assert new != text


@pytest.mark.parametrize(
    ("lang", "label", "text", "validator"),
    [
        ("es", "NATIONAL_ID", "12345678A", "dni"),
        ("es", "ACCOUNT", "ES92 2100 0418 4502 0005 1332", "iban"),
        ("en", "ACCOUNT", "4111 1111 1111 1112", "card"),
        ("en", "NATIONAL_ID", "943 476 5910", "nhs"),
        ("fi", "ID_OTHER", "0112038-8", "business_id_fi"),
    ],
)
def test_a_number_with_a_typing_error_does_not_become_a_valid_one(lang, label, text, validator):
    for n in range(40):
        new = one(lang, label, text, key=PROJECT.patient(str(n)))
        assert shape(new) == shape(text)
        assert not get_validator(validator)(new) or (validator == "nhs" and new.startswith("999"))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("45.871.236", r"[1-5]\d\d\.\d{3}\.\d{3}"),
        ("DNI 45871236", r"DNI [1-5]\d{8}"),
        ("167.803", r"[1-5]\d\d\.\d{3}\.\d{3}"),
        ("32.14-\n7.906", r"[1-5]\d\d\.\d\d-\n\d\.\d{3}"),
        ("1.032.456.789", r"9\.\d{3}\.\d{3}\.\d{3}"),
        ("001773902", r"9\d{9}"),
    ],
)
def test_a_national_number_without_a_check_character_becomes_one_that_is_too_long_to_be_issued(text, form):
    for n in range(40):
        assert re.fullmatch(form, one("es", "NATIONAL_ID", text, key=PROJECT.patient(str(n))))
    assert len(one("es", "MRN", text)) == len(text)


def test_all_spellings_of_a_national_number_without_a_check_character_become_the_same_number():
    first, second = replace("es", ("NATIONAL_ID", "45.871.236"), ("NATIONAL_ID", "45871236"))
    assert first.replace(".", "") == second


@pytest.mark.parametrize(
    ("lang", "label", "text", "validator"),
    [
        ("es", "NATIONAL_ID", "BOXW310820HNERXN09", "curp"),
        ("es", "NATIONAL_ID", "GODE561231GR8", "rfc"),
        ("es", "NATIONAL_ID", "12.345.678-5", "rut"),
        ("es", "NATIONAL_ID", "10.112.214-k", "rut"),
        ("es", "NATIONAL_ID", "20-05536168-2", "cuit"),
        ("es", "NATIONAL_ID", "213.123.432-1", "nit"),
        ("en", "NATIONAL_ID", "6433435F", "pps"),
        ("en", "NATIONAL_ID", "ZAC5361", "nhi"),
    ],
)
def test_numbers_of_other_countries_have_surrogates_with_a_wrong_check_character(lang, label, text, validator):
    new = one(lang, label, text)
    assert get_validator(validator)(text)
    assert not get_validator(validator)(new)
    assert re.sub(r"\w", "x", new) == re.sub(r"\w", "x", text)


@pytest.mark.parametrize(("text", "at"), [("BOXW310820HNERXN09", 4), ("GODE561231GR8", 4)])
def test_the_date_of_birth_in_a_curp_or_rfc_moves_like_other_dates(text, at):
    days = Shift.draw(KEY, rules := DateRules(span=400)).days
    born = date(1900 + int(text[at : at + 2]), int(text[at + 2 : at + 4]), int(text[at + 4 : at + 6]))
    moved = date.fromordinal(born.toordinal() + days)
    assert one("es", "NATIONAL_ID", text, rules=rules)[at : at + 6] == f"{moved:%y%m%d}"


@settings(max_examples=100, deadline=None)
@given(st.from_regex(r"[A-Z]{0,3}[0-9]{1,9}[A-Z]{0,2}", fullmatch=True))
def test_an_identifier_of_no_known_kind_is_replaced_character_by_character(text):
    new = one("xx", "MRN", text)
    assert new != text
    assert shape(new) == shape(text) or any(kind.fits(text, text, "MRN") for kind in identifier_kinds("xx"))


@pytest.mark.parametrize("texts", [["12345678Z", "12.345.678-Z", "12345678 z"], ["456712", "456 712", "45-67-12"]])
def test_a_number_has_one_surrogate_however_it_is_written(texts):
    new = replace("es", *(("MRN", text) for text in texts))
    assert len({re.sub(r"\W", "", value).upper() for value in new}) == 1
    assert [shape(value) for value in new] == [shape(text) for text in texts]


def test_a_number_has_one_surrogate_in_all_notes_of_a_patient_and_under_all_labels():
    assert one("es", "MRN", "4456712") == one("es", "ID_OTHER", "4456712", key=PROJECT.patient("4711"))
    assert one("es", "MRN", "4456712") != one("es", "MRN", "4456712", key=PROJECT.patient("4712"))
    assert one("es", "MRN", "4456712") != one("es", "MRN", "4456712", key=ProjectKey(b"k" * 32).patient("4711"))


def test_a_variant_is_another_surrogate():
    first, second = (Mention("4456712", "MRN", variant=n) for n in (0, 1))
    new = replace_ids([first, second, first], KEY, "es", lambda value: False)
    assert new[0] == new[2] != new[1]


def test_different_numbers_have_different_surrogates():
    texts = [f"{n}" for n in range(4_400_000, 4_401_000)]
    assert len(set(replace("en", *(("MRN", text) for text in texts)))) == len(texts)


def test_small_numbers_of_a_note_stay_different_until_none_is_left():
    new = replace("en", *(("MRN", str(n)) for n in range(10, 60)))
    made = [value for value in new if value is not None]
    assert len(set(made)) == len(made) >= 40
    assert not set(made) & {str(n) for n in range(10, 60)}


def test_leading_zeros_stay():
    assert re.fullmatch(r"000[1-9]\d{4}", one("en", "MRN", "00045671"))
    assert re.fullmatch(r"\d{6}", one("en", "MRN", "000000"))


def test_an_ssn_becomes_one_that_was_never_issued():
    for n in range(50):
        area, group, serial = one("en", "SSN", f"123-45-{n + 6000}").split("-")
        assert 900 <= int(area) <= 999
        assert 1 <= int(group) <= 49  # the others are given with these areas as tax numbers
        assert serial != "0000"


def test_masked_digits_stay_masked():
    assert re.fullmatch(r"xxx-xx-\d{4}", one("en", "SSN", "xxx-xx-6789"))


def test_the_number_of_a_physician_repeats_a_province_that_does_not_exist():
    for text, tail in (("28 28 12345", r" \d{5}"), ("28 28", "")):
        new = re.fullmatch(rf"(\d\d) \1{tail}", one("es", "LICENSE", text))
        assert int(new[1]) > 52


@pytest.mark.parametrize("text", ["131052-308T", "131052-308t", "010594Y9032", "020504A902E"])
def test_a_henkilotunnus_becomes_one_that_is_never_issued(text):
    new = one("fi", "NATIONAL_ID", text)
    assert get_validator("hetu")(text)
    assert re.fullmatch(r"\d{6}[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]", new.upper())
    assert not get_validator("hetu")(new)
    assert 2 <= int(new[7:10]) <= 899
    assert int(new[7:10]) % 2 == int(text[7:10]) % 2  # sex
    assert new[:6] != text[:6]
    assert new.isupper() == text.isupper()


def test_the_date_of_birth_in_a_number_moves_like_other_dates():
    days = Shift.draw(KEY, rules := DateRules(span=400)).days
    born = date.fromordinal(date(1952, 10, 13).toordinal() + days)
    assert one("fi", "NATIONAL_ID", "131052-308T", rules=rules)[:6] == f"{born:%d%m%y}"
    card = one("es", "INSURANCE_ID", "GRLP521053 2345", rules=rules)
    assert card[4:8] == f"{born:%y%m}"
    assert 72 <= int(card[8:10]) <= 79  # no day of birth, not even of a woman (plus 40)


def test_a_date_of_birth_in_a_number_shows_an_age_of_90_at_most():
    new = one("fi", "NATIONAL_ID", "131020-308J", rules=DateRules(reference=date(2024, 5, 2)))
    assert get_validator("hetu")("131020-308J")
    assert new[4:6] == "34"


def test_a_new_century_changes_the_sign_of_a_henkilotunnus():
    keys = (PROJECT.patient(str(n)) for n in range(40))
    new = [one("fi", "NATIONAL_ID", "150601A308P", key=key) for key in keys]
    assert get_validator("hetu")("150601A308P")
    assert not any(map(get_validator("hetu"), new))
    assert all((value[6] == "A") == (value[4] in "01") for value in new)
    assert {value[6] for value in new} == {"-", "A"}


def test_a_number_that_begins_with_a_year_keeps_beginning_with_one():
    new = one("en", "ENCOUNTER_ID", "2008-641820")
    assert re.fullmatch(r"(199\d|200[0-8])-\d{6}", new)
    assert new[5:] != "641820"


def test_the_root_of_an_oid_stays():
    assert one("fi", "ID_OTHER", "1.2.246.562.10.12345678").startswith("1.2.246.562.")
    assert re.fullmatch(r"1\.2\.246\.21\.\d{6}-\d{3}\w", one("fi", "NATIONAL_ID", "1.2.246.21.131052-308T"))


@pytest.mark.parametrize(
    "text", ["Urgencias", "ambulatoria", "", " \n ", "---", "el de siempre", "Planta 4 de Trauma"]
)
def test_words_are_no_numbers(text):
    assert one("es", "ENCOUNTER_ID", text) is None


@pytest.mark.parametrize("text", ["٣٤٥٦٧٨٩", "Ñ1234567", "４５６７１２３", "ÅÄ-12345"])
def test_letters_and_digits_of_other_scripts_stay_letters_and_digits(text):
    new = one("fi", "MRN", text)
    assert new != text
    assert [c.isdecimal() for c in new] == [c.isdecimal() for c in text]


def test_no_surrogate_can_be_read_as_a_word():
    new = replace("en", *(("MRN", f"ABCD{n}") for n in range(1000, 1300)))
    assert len(set(new)) == 300
    assert not any(re.search(r"[AEIOUY]|KKK|SSS|FCK", value[:4]) for value in new)


def test_a_forbidden_number_is_never_a_surrogate():
    first = one("es", "NATIONAL_ID", "12345678Z")
    second = one("es", "NATIONAL_ID", "12345678Z", forbidden=lambda value: value == first)
    assert second not in (first, None)
    assert one("es", "NATIONAL_ID", "12345678Z", forbidden=lambda value: True) is None


def test_no_surrogate_is_another_number_of_the_note():
    first = one("en", "MRN", "45671")
    new = replace("en", ("MRN", "45671"), ("MRN", f"{first[:2]}-{first[2:]}"))
    assert new[0] != first
    assert new[0] not in (None, "45671")


def test_a_small_domain_is_permuted():
    texts = [str(n) for n in range(10, 100)]
    alone = [one("es", "LICENSE", text) for text in texts]
    assert len(set(alone)) == len(texts)


def test_a_bank_account_keeps_its_country_and_none_of_its_check_digits_is_right():
    new = one("es", "ACCOUNT", "ES91 2100 0418 4502 0005 1332").replace(" ", "")
    weights = (1, 2, 4, 8, 5, 10, 9, 7, 3, 6)
    for digits, check in ((f"00{new[4:12]}", new[12]), (new[14:], new[13])):
        rest = 11 - sum(int(d) * w for d, w in zip(digits, weights, strict=True)) % 11
        assert str({11: 0, 10: 1}.get(rest, rest)) != check
    assert new[:4] in ("ES00", "ES01", "ES99")
    assert not get_validator("luhn")(one("fi", "ACCOUNT", "FI21 1234 5600 0007 85")[4:])


@given(st.from_regex(r"[A-Z]{0,4}[0-9]{1,12}", fullmatch=True), st.integers(0))
def test_encoding_is_reversible(code, number):
    parts = plain_parts(code)
    at, size = encode(code, parts)
    assert decode(at, parts) == code
    assert encode(decode(number % size, parts), parts)[0] == number % size


def test_the_cipher_passes_the_samples_of_nist():
    from ffx import FF1

    key = "2B7E151628AED2A6ABF7158809CF4F3C"
    cipher = FF1(bytes.fromhex(key), radix=10)
    assert cipher.encrypt("0123456789") == "2433477484"
    assert cipher.encrypt("0123456789", tweak=bytes.fromhex("39383736353433323130")) == "6124200773"
    long = FF1(bytes.fromhex(key + "EF4359D8D580AA4F7F036D6F04FC6A94"), radix=10)
    assert long.encrypt("0123456789") == "6657667009"
    letters = FF1(bytes.fromhex(key), radix=36)
    assert (
        letters.encrypt("0123456789abcdefghi", tweak=bytes.fromhex("3737373770717273373737")) == "a9tv40mll9kdu509eum"
    )


def test_the_cipher_permutes_and_its_output_is_fixed():
    cipher = FormatPreservingCipher(KEY)
    assert len({cipher.permute(n, 1_000_003, "x") for n in range(2000)}) == 2000
    assert [cipher.permute(n, 10**8, "x", "0") for n in (0, 1, 2)] == [59786615, 53436587, 98354457]


def test_without_the_cipher_package_there_is_no_surrogate(monkeypatch):
    monkeypatch.setitem(sys.modules, "ffx", None)
    with pytest.raises(ConfigError, match=r"pip install 'spacy-deid\[surrogates\]'"):
        one("es", "NATIONAL_ID", "12345678Z")


def test_nothing_of_a_note_is_in_a_repr():
    from spacy_deid.surrogates.numbers import _read

    pairs = [
        ("MRN", "4456712"),
        ("PHONE", "612345678"),
        ("URL", "www.abc.es"),
        ("ZIP", "28001"),
        ("IP_ADDRESS", "10.1.2.3"),
    ]
    readings = [_read(Mention(text, label), "es", lambda born: born, -1) for label, text in pairs]
    readings.append(_read(Mention("131052-308T", "NATIONAL_ID"), "fi", lambda born: born, -1))
    assert all(readings)
    assert not any(text in repr(reading) for reading in readings for _, text in pairs)
