"""Telephones that ring nowhere and addresses that lead nowhere."""

import ipaddress
import re

import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.surrogates.keys import ProjectKey
from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.numbers import replace_ids

PROJECT = ProjectKey(bytes(range(32)))
KEY = PROJECT.patient("4711")


def replace(lang, label, *texts, key=KEY):
    return replace_ids([Mention(text, label) for text in texts], key, lang, lambda value: False)


def digits(text):
    return re.sub(r"\D", "", text)


def shape(text):
    return re.sub(r"\d", "9", text)


PHONES = [
    ("es", "612 345 678", "ES"),
    ("es", "612345678", "ES"),
    ("es", "91 234 56 78", "ES"),
    ("es", "+34 912 34 56 78", "ES"),
    ("es", "0034 612345678", "ES"),
    ("fi", "040 123 4567", "FI"),
    ("fi", "0400 123456", "FI"),
    ("fi", "+358 50 1234567", "FI"),
    ("fi", "(09) 471 1234", "FI"),
    ("fi", "013-123 456", "FI"),
]


@pytest.mark.parametrize(("lang", "text", "region"), PHONES)
def test_a_surrogate_has_an_unassigned_prefix(lang, text, region):
    for n in range(20):
        new = replace(lang, "PHONE", text, key=PROJECT.patient(str(n)))[0]
        assert shape(new) == shape(text)
        assert not phonenumbers.is_valid_number(phonenumbers.parse(new, region))
        assert phonenumbers.is_possible_number(phonenumbers.parse(new, region))


@pytest.mark.parametrize("text", ["(212) 736-5000", "212.736.5000", "1-800-736-5000", "+1 305 736 5000", "2127365000"])
def test_a_north_american_number_becomes_a_fictional_one(text):
    new = replace("en", "PHONE", text)[0]
    assert shape(new) == shape(text)
    assert re.fullmatch(r"1?[2-9]\d\d55501\d\d", digits(new))


def test_a_local_north_american_number_becomes_a_fictional_one():
    assert re.fullmatch(r"555-01\d\d", replace("en", "PHONE", "736-5000")[0])


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("07911 123456", r"07700 900\d{3}"),
        ("+44 7911 123456", r"\+44 7700 900\d{3}"),
        ("0808 157 0123", r"0808 157 0\d{3}"),
        ("0300 123 1234", r"0306 999 0\d{3}"),
        ("020 7123 1958", r"0(20 7946|28 9649|29 2018) \d{4}"),
        ("0161 496 1958", r"01[1-9]\d 49[68] 0\d{3}"),
        ("01642 712 345", r"01632 960 \d{3}"),
    ],
)
def test_a_british_number_becomes_one_for_drama_with_an_area_code_of_the_same_length(text, pattern):
    assert re.fullmatch(pattern, replace("en", "PHONE", text)[0])


def test_a_british_landline_becomes_one_for_drama():
    drama = r"(01[1-6]\d4960|01914980|02079460|02896496|02920180|01632960)\d{3}"
    for n in range(30):
        assert re.fullmatch(drama, digits(replace("en", "PHONE", "020 7946 1958", key=PROJECT.patient(str(n)))[0]))
    assert re.fullmatch(r"\+44 \(0\)\d\d \d{4} \d{4}", replace("en", "PHONE", "+44 (0)20 7946 1958")[0])


def test_a_canadian_number_keeps_its_country():
    areas = {digits(replace("en", "PHONE", "514-736-5000", key=PROJECT.patient(str(n)))[0])[:3] for n in range(30)}
    assert len(areas) > 10
    assert all(phonenumbers.is_valid_number_for_region(phonenumbers.parse(f"{a}7365000", "CA"), "CA") for a in areas)


@pytest.mark.parametrize("text", ["0412 345 678", "+61 2 9487 3350", "+353 87 677 1234"])
def test_an_australian_or_irish_number_becomes_a_fictional_one(text):
    new = digits(replace("en", "PHONE", text)[0])
    assert re.fullmatch(r"049157\d{4}|61[2378](5550|7010)\d{4}|3532091\d{5}", new)


def test_finnish_surrogates_have_several_prefixes():
    for text, least in (("040 123 4567", 2), ("(09) 471 1234", 6), ("013-123 456", 6)):
        made = {digits(replace("fi", "PHONE", text, key=PROJECT.patient(str(n)))[0])[:4] for n in range(60)}
        assert len({prefix[:3] for prefix in made}) >= least


@pytest.mark.parametrize(("country", "text"), [("CL", "9 8214 5503"), ("CO", "315 744 2093"), ("MX", "33 2160 5538")])
def test_a_number_of_the_country_of_the_note_keeps_its_first_digit(country, text):
    new = replace_ids([Mention(text, "PHONE")], KEY, "es", lambda value: False, country=country)[0]
    assert (new[0], shape(new)) == (text[0], shape(text))
    assert not phonenumbers.is_valid_number(phonenumbers.parse(new, country))


def test_a_number_has_one_surrogate_with_and_without_its_country_code():
    plain, coded, zeros = replace("es", "PHONE", "612 345 678", "+34 612345678", "0034612345678")
    assert digits(coded)[2:] == digits(plain) == digits(zeros)[4:]
    plain, coded = replace("fi", "PHONE", "040 123 4567", "+358401234567")
    assert "0" + digits(coded)[3:] == digits(plain)


def test_an_extension_changes_too():
    assert re.fullmatch(r"1-\d{3}-555-01\d\d x\d{3}", replace("en", "PHONE", "1-800-736-5000 x123")[0])
    assert re.fullmatch(r"ext\. \d-\d{4}", replace("en", "PHONE", "ext. 4-1234")[0])


@pytest.mark.parametrize("text", ["1-800-FLOWERS", "call the ward", ""])
def test_a_number_with_words_has_no_surrogate(text):
    assert replace("en", "PHONE", text) == [None]


def test_numbers_of_a_note_have_different_surrogates_until_none_is_left():
    texts = [f"736-{n}" for n in range(5000, 5150)]
    made = [value for value in replace("en", "PHONE", *texts) if value]
    assert len(set(made)) == len(made) >= 80


@settings(max_examples=100, deadline=None)
@given(st.from_regex(r"\+?[0-9][0-9 ()-]{0,14}", fullmatch=True), st.sampled_from(["es", "en", "fi", "xx"]))
def test_any_text_like_a_number_keeps_its_form(text, lang):
    new = replace(lang, "PHONE", text)[0]
    assert new is None or (shape(new) == shape(text) and new != text)


BLOCKS = [ipaddress.ip_network(n) for n in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")]


@pytest.mark.parametrize(
    "text",
    [
        "10.0.3.4",
        "192.168.1.1",
        "172.16.254.1",
        "2001:470:1f:9::12",
        "fe80::1",
        "::1",
        "2a00:1450:4003:80f:0:0:0:200e",
    ],
)
def test_an_ip_address_becomes_one_for_documentation(text):
    new = ipaddress.ip_address(replace("es", "IP_ADDRESS", text)[0])
    assert any(new in block for block in BLOCKS)


def test_port_prefix_length_and_groups_of_an_address_stay():
    assert re.fullmatch(r"\d+\.\d+\.\d+\.\d+:8080", replace("es", "IP_ADDRESS", "10.0.3.4:8080")[0])
    assert replace("es", "IP_ADDRESS", "10.0.3.4/24")[0].endswith("/24")
    assert replace("es", "IP_ADDRESS", "2a00:1450:4003:80f:0:0:0:200e")[0].count(":") == 7


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("AB:12:CD:34:EF:56", r"00:00:5E:00:53:[0-9A-F]{2}"),
        ("ab-12-cd-34-ef-56", r"00-00-5e-00-53-[0-9a-f]{2}"),
        ("ab12.cd34.ef56", r"0000\.5e00\.53[0-9a-f]{2}"),
    ],
)
def test_a_mac_address_becomes_one_for_documentation(text, pattern):
    assert re.fullmatch(pattern, replace("es", "IP_ADDRESS", text)[0])


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("www.hospital.es", r"www\.[a-z]+-[a-z]+\.(example\.(org|com|net)|test)"),
        ("http://hospital.es/", r"http://[a-z]+-[a-z]+\.(example\.(org|com|net)|test)/"),
        (
            "https://x.es:8080/a/Garcia_12.pdf?id=77#top",
            r"https://[a-z.-]+:8080/[a-z]/[A-Z][a-z]+_\d\d\.pdf\?[a-z]+=\d\d#[a-z]+",
        ),
        ("ftp://ana:clave@hospital.es/x", r"ftp://[a-z.-]+/[a-z]"),
        ("WWW.HOSPITAL.ES", r"WWW\.[A-Z]+-[A-Z]+\.(EXAMPLE\.(ORG|COM|NET)|TEST)"),
    ],
)
def test_a_web_address_keeps_its_shape_and_none_of_its_words(text, pattern):
    new = replace("es", "URL", text)[0]
    assert re.fullmatch(pattern, new)
    kept = set(re.findall(r"[a-z]{3,}", new.lower())) & set(re.findall(r"[a-z]{3,}", text.lower()))
    assert kept <= {"www", "http", "https", "ftp", "pdf"}


def test_pages_of_one_host_have_one_surrogate_host():
    one, other = replace("es", "URL", "http://www.hospital.es/a", "https://www.hospital.es/b/c")
    assert one.split("/")[2] == other.split("/")[2]


def test_a_text_that_is_no_web_address_has_no_surrogate():
    assert replace("es", "URL", "la web del hospital", "") == [None, None]
