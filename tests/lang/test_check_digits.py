"""Check digits of identifiers, compared with the package python-stdnum."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from stdnum import iban, imei, luhn
from stdnum.ar import cuit
from stdnum.cl import rut
from stdnum.co import nit
from stdnum.es import dni, nie
from stdnum.es import iban as spanish_iban
from stdnum.fi import hetu, ytunnus
from stdnum.gb import nhs
from stdnum.mx import curp, rfc
from stdnum.us import ssn

from spacy_deid.lang import identifiers
from spacy_deid.lang.en import identifiers as english
from spacy_deid.lang.es import identifiers as spanish
from spacy_deid.lang.fi import identifiers as finnish
from spacy_deid.lang.fi.identifiers import hetu_character
from spacy_deid.patterns.validators import get_validator
from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.numbers import replace_ids

PROJECT = ProjectKey(bytes(range(32)))


def digits(count):
    return st.text("0123456789", min_size=count, max_size=count)


@pytest.mark.parametrize(
    ("finish", "is_valid", "codes"),
    [
        (spanish.finish_dni, dni.is_valid, digits(8).map(lambda d: d + "A")),
        (spanish.finish_nie, nie.is_valid, st.builds(lambda x, d: f"{x}{d}A", st.sampled_from("XYZ"), digits(7))),
        (spanish.finish_account, spanish_iban.is_valid, digits(20).map(lambda d: f"ES00{d}")),
        (finnish.finish_account, iban.is_valid, digits(14).map(lambda d: f"FI00{d}")),
        (finnish.finish_business_id, ytunnus.is_valid, digits(8)),
        (english.finish_nhs, nhs.is_valid, digits(10)),
        (english.finish_npi, lambda code: luhn.is_valid("80840" + code), digits(10)),
        (identifiers.append_luhn, luhn.is_valid, digits(16)),
        (identifiers.append_luhn, imei.is_valid, digits(15)),
    ],
    ids="dni nie iban_es iban_fi business_id nhs npi luhn imei".split(),
)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_code_with_computed_check_digits_is_valid(finish, is_valid, codes, data):
    code = finish(data.draw(codes))
    assert code is None or is_valid(code)


@pytest.mark.parametrize(
    ("is_valid", "is_right", "codes"),
    [
        (spanish.is_rut, rut.is_valid, st.builds("{}{}".format, digits(8), st.sampled_from("0123456789K"))),
        (spanish.is_cuit, cuit.is_valid, st.builds("{}{}".format, st.sampled_from(["20", "27", "30"]), digits(9))),
        (spanish.is_nit, nit.is_valid, digits(10)),
        (spanish.is_curp, curp.is_valid, digits(1).map(lambda d: f"BOXW310820HNERXN0{d}")),
        (
            spanish.is_rfc,
            lambda code: rfc.is_valid(code, validate_check_digits=True),
            st.builds(
                "GODE561231{}{}".format, st.text("ABC123", min_size=2, max_size=2), st.sampled_from("0123456789A")
            ),
        ),
    ],
    ids="rut cuit nit curp rfc".split(),
)
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_validators_of_american_numbers_agree_with_stdnum(is_valid, is_right, codes, data):
    code = data.draw(codes)
    assert is_valid(code) == is_right(code)


@pytest.mark.parametrize(
    ("lang", "label", "text", "is_valid"),
    [
        ("en", "NATIONAL_ID", "943 476 5919", nhs.is_valid),
    ],
)
@pytest.mark.parametrize("patient", range(10))
def test_a_surrogate_of_a_reserved_range_has_valid_check_digits(lang, label, text, is_valid, patient):
    [made] = replace_ids([Mention(text, label)], PROJECT.patient(str(patient)), lang, lambda value: False)
    assert is_valid(text)
    assert is_valid(made)
    assert made != text


@pytest.mark.parametrize("patient", range(10))
def test_the_surrogate_of_a_henkilotunnus_has_a_wrong_check_character(patient):
    [made] = replace_ids(
        [Mention("131052-308T", "NATIONAL_ID")], PROJECT.patient(str(patient)), "fi", lambda value: False
    )
    assert hetu.is_valid("131052-308T")
    assert not hetu.is_valid(made, allow_temporary=True)
    assert hetu.is_valid(made[:-1] + hetu_character(made[:6] + made[7:10]))


def test_the_surrogate_of_a_social_security_number_is_never_issued():
    [made] = replace_ids([Mention("536-22-8726", "SSN")], PROJECT.patient("a"), "en", lambda value: False)
    assert ssn.is_valid("536-22-8726")
    assert not ssn.is_valid(made)


@pytest.mark.parametrize(
    ("name", "is_valid", "finish", "codes"),
    [
        ("dni", dni.is_valid, spanish.finish_dni, digits(8).map(lambda d: d + "A")),
        ("business_id_fi", ytunnus.is_valid, finnish.finish_business_id, digits(8)),
        ("nhs", nhs.is_valid, english.finish_nhs, digits(10)),
        ("luhn", luhn.is_valid, identifiers.append_luhn, digits(16)),
        ("iban", iban.is_valid, identifiers.finish_iban, digits(20).map(lambda d: f"GB00BARC{d[:14]}")),
    ],
)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_validator_agrees_with_stdnum(name, is_valid, finish, codes, data):
    code = finish(data.draw(codes.filter(lambda code: len(set(code)) > 4)))
    assume(code is not None)
    place = data.draw(st.integers(0, 7 if name == "dni" else len(code) - 1).filter(lambda i: code[i].isdecimal()))
    changed = code[:place] + str((int(code[place]) + 1) % 10) + code[place + 1 :]
    for candidate in (code, changed):
        assert get_validator(name)(candidate) == is_valid(candidate)
