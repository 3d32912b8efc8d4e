"""Telephone numbers: in which countries a number is valid."""

import phonenumbers
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spacy_deid.surrogates.numbers.phones import is_valid_in

REGIONS = ["ES", "MX", "AR", "CL", "CO", "PE", "EC", "UY", "BO", "VE", "US", "GB", "IE", "AU", "NZ", "FI"]


def is_valid_for_phonenumbers(text, region):
    try:
        return phonenumbers.is_valid_number_for_region(phonenumbers.parse(text, region), region)
    except phonenumbers.NumberParseException:
        return False


@pytest.mark.parametrize("region", REGIONS)
@given(
    prefix=st.sampled_from(["", "", "", "0", "00", "+", "(0", "1", "01", "15", "011 "]),
    digits=st.text("0123456789", min_size=6, max_size=13),
    tail=st.sampled_from(["", "", " ext. 12", "-4", " x3"]),
)
@example(prefix="", digits="612345678", tail="")
@example(prefix="0", digits="115123456789", tail="")
@settings(max_examples=150, deadline=None)
def test_the_quick_look_at_a_number_never_changes_the_answer(region, prefix, digits, tail):
    for text in (prefix + digits + tail, f"{prefix}{digits[:3]} {digits[3:6]}-{digits[6:]}{tail}"):
        assert is_valid_in(text, region) == is_valid_for_phonenumbers(text, region)


@pytest.mark.parametrize("region", REGIONS)
def test_the_example_numbers_of_a_country_are_valid_in_each_form(region):
    example_number = phonenumbers.example_number(region)
    for form in (phonenumbers.PhoneNumberFormat.NATIONAL, phonenumbers.PhoneNumberFormat.INTERNATIONAL):
        text = phonenumbers.format_number(example_number, form)
        assert is_valid_in(text, region)
    assert is_valid_in(phonenumbers.format_out_of_country_calling_number(example_number, region), region)
