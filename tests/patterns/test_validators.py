"""Check digits: true numbers pass, a changed digit does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.patterns import get_validator, validator_names

TRUE = [
    ("dni", "12345678Z"),
    ("dni", "12.345.678-Z"),
    ("dni", "X1234567L"),
    ("dni", "Z1234567R"),
    ("nuss", "281234567840"),
    ("nuss", "28 12345678 40"),
    ("curp", "BOXW310820HNERXN09"),
    ("rfc", "GODE 561231 GR8"),
    ("rfc", "SAT970701NN3"),
    ("rut", "12.345.678-5"),
    ("rut", "10000013-k"),
    ("cuit", "20-12345678-6"),
    ("nit", "800.197.268-4"),
    ("nit", "899999068-1"),
    ("hetu", "131052-308T"),
    ("hetu", "010594Y9032"),
    ("hetu", "010594Y9021"),
    ("hetu", "020594X903P"),
    ("hetu", "020594X902N"),
    ("hetu", "030594W903B"),
    ("hetu", "030694W9024"),
    ("hetu", "040594V9030"),
    ("hetu", "050594U903M"),
    ("hetu", "010516B903X"),
    ("hetu", "020516C903K"),
    ("hetu", "030516D9037"),
    ("hetu", "010501E9032"),
    ("hetu", "020503F9037"),
    ("hetu", "131052+308t"),
    ("nhs", "943 476 5919"),
    ("chi", "0101601239"),
    ("luhn", "79927398713"),
    ("card", "4111 1111 1111 1111"),
    ("npi", "1234567893"),
    ("dea", "AB1234563"),
    ("ssn", "123-45-6789"),
    ("pps", "1234567T"),
    ("pps", "1234567FA"),
    ("nhi", "ZAC5361"),
    ("nhi", "ZBN77VL"),
    ("medicare_au", "2123 45670 1"),
    ("medicare_au", "2123 45670 1 / 2"),
    ("health_card_on", "1234-567-897-AB"),
    ("ramq", "TREM 5557 1234"),
    ("iban", "GB82 WEST 1234 5698 7654 32"),
    ("vin", "1M8GDM9AXKP042788"),
    ("given_name", "Zumalabe Ortuño, María José"),
    ("given_name", "María Zumalabe"),
    ("business_id_fi", "0112038-9"),
    ("personnummer", "811228-9874"),
    ("organisationsnummer", "556016-0680"),
    ("ip", "10.0.0.1"),
    ("ip", "2001:db8::1"),
    ("phone:ES", "963 862 700"),
    ("phone:US,GB", "020 7946 0018"),
    ("phone:", "+358 40 1234567"),
    ("date_dmy", "29.2.2020"),
    ("date_mdy", "12/31/19"),
    ("date_ymd", "2019-12-31"),
    ("date", "12/31/2019"),
    ("day_month", "3.5."),
    ("day_month_any", "12/31"),
    ("month_year", "11/93"),
]
FALSE = [
    ("dni", "12345678A"),
    ("nuss", "281234567841"),
    ("nuss", "2812345678"),
    ("curp", "BOXW310820HNERXN08"),
    ("rfc", "GODE561231GR7"),
    ("rfc", "SAT970701"),
    ("rut", "12.345.678-4"),
    ("rut", "12.345.678-56"),
    ("cuit", "20-12345678-5"),
    ("cuit", "21-12345678-5"),
    ("nit", "800.197.268-5"),
    ("hetu", "131052-308U"),
    ("hetu", "310252-308T"),
    ("hetu", "131052G308T"),
    ("nhs", "943 476 5918"),
    ("nhs", "0000000000"),
    ("chi", "3201601237"),
    ("luhn", "79927398710"),
    ("luhn", "0000"),
    ("card", "4111 1111 1111 1112"),
    ("card", "0000 0000 0000 0000"),
    ("npi", "1234567890"),
    ("dea", "AB1234567"),
    ("ssn", "666-12-3456"),
    ("ssn", "900-12-3456"),
    ("pps", "1234567A"),
    ("pps", "1234567TT"),
    ("pps", "123456T"),
    ("nhi", "ZAC5362"),
    ("nhi", "ZBN77VK"),
    ("nhi", "IAC5361"),
    ("medicare_au", "2123 45671 1"),
    ("medicare_au", "7123 45670 1"),
    ("health_card_on", "1234-567-890"),
    ("ramq", "TREM 5599 1234"),
    ("ramq", "TREM"),
    ("iban", "GB82 WEST 1234 5698 7654 33"),
    ("iban", "12"),
    ("vin", "1M8GDM9AXKP042789"),
    ("given_name", "Zumalabe María"),
    ("given_name", ""),
    ("business_id_fi", "0112038-8"),
    ("personnummer", "811228-9875"),
    ("organisationsnummer", "556016-0681"),
    ("ip", "300.1.1.1"),
    ("phone:ES", "123456789"),
    ("phone:", "963 862 700"),
    ("date_dmy", "30.2.2019"),
    ("date_dmy", "1.13.2019"),
    ("date_dmy", "1.1.3019"),
    ("date_mdy", "31/12/19"),
    ("date_ymd", "2019-13-01"),
    ("day_month", "32.5."),
    ("month_year", "13/93"),
]


@pytest.mark.parametrize(("name", "text"), TRUE)
def test_true_numbers_pass(name: str, text: str) -> None:
    assert get_validator(name)(text)


@pytest.mark.parametrize(("name", "text"), FALSE)
def test_false_numbers_do_not_pass(name: str, text: str) -> None:
    assert not get_validator(name)(text)


def test_every_validator_is_tried_both_ways() -> None:
    assert set(validator_names()) <= {name for name, _ in TRUE}
    assert set(validator_names()) - {name for name, _ in FALSE} == {"date", "day_month_any"}


@pytest.mark.parametrize("name", ["nonesuch", "phone:XX", "dni:ES:"])
def test_unknown_validators_are_refused(name: str) -> None:
    with pytest.raises(KeyError):
        get_validator(name)


@pytest.mark.parametrize("name", sorted(validator_names()))
@given(text=st.text(alphabet=st.characters(max_codepoint=0x700), max_size=40))
def test_validators_take_any_text(name: str, text: str) -> None:
    assert get_validator(name)(text) in (True, False)


@given(st.integers(0, 99_999_999), st.integers(1, 22))
def test_only_one_letter_fits_a_dni(number: int, step: int) -> None:
    letters = "TRWAGMYFPDXBNJZSQVHLCKE"
    assert get_validator("dni")(f"{number:08d}{letters[number % 23]}")
    assert not get_validator("dni")(f"{number:08d}{letters[(number + step) % 23]}")
