"""Placeholders and invalid values are skipped with a reason that does not quote them."""

from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.ehr.cleaning import as_text, clean, read_date
from spacy_deid.ehr.expansion import KINDS

PLACEHOLDERS = [
    "UNKNOWN",
    "unknown",
    "TEST",
    "-",
    "--",
    "N/A",
    "n/a",
    "NULL",
    "Desconocido",
    "no consta",
    "Tuntematon",
]
PLACEHOLDERS += ["XXXX", "xxx", "TESTIPOTILAS", "ei tiedossa", "Baby Boy", "Paciente Prueba", "?", ".", "aaaa"]


@pytest.mark.parametrize("kind", ["surname", "given", "full", "city", "street", "id", "clinic", "email"])
def test_placeholders(kind):
    cleaned = {value: clean(kind, value, "es") for value in PLACEHOLDERS}
    assert cleaned == dict.fromkeys(PLACEHOLDERS, ("", "placeholder"))


@pytest.mark.parametrize("value", ["0000000", "000-000", "9999999", "123456789", "987654321", "11111"])
@pytest.mark.parametrize("kind", ["id", "phone"])
def test_filler_numbers_are_placeholders(kind, value):
    assert clean(kind, value, "es") == ("", "placeholder")


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("surname", "", "empty"),
        ("surname", "  ", "empty"),
        ("surname", "12", "no surname"),
        ("surname", "xy" * 150, "too long"),
        ("phone", "call the ward", "no phone"),
        ("email", "ana.example.org", "no email"),
        ("birth_date", "soon", "no birth_date"),
        ("birth_date", "1900-01-01", "placeholder"),
        ("birth_date", "9999-12-31", "placeholder"),
        ("birth_date", "1650-02-03", "no birth_date"),
        ("id", "12", "too short"),
        ("id", "1234", "too short"),
        ("zip", "1", "too short"),
        ("city", "La", "too general"),
        ("clinic", "de la", "too general"),
        ("surname", "Zar\ud800", "broken text"),
    ],
)
def test_invalid_values_have_a_reason(kind, value, reason):
    assert clean(kind, value, "es") == ("", reason)


@pytest.mark.parametrize(
    ("kind", "value", "cleaned"),
    [
        ("surname", " García   López ", "García López"),
        ("surname", "Más", "Más"),
        ("surname", "De", "De"),
        ("surname", "Nan", "Nan"),
        ("given", "Ndu", "Ndu"),
        ("id", "A12", "A12"),
        ("id", "52341", "52341"),
        ("birth_date", "12/03/1957", "1957-03-12"),
        ("birth_date", "12.3.57", "1957-03-12"),
        ("birth_date", "1957-03-12 00:00:00", "1957-03-12"),
        ("phone", "612 345 678", "612 345 678"),
    ],
)
def test_valid_values_are_cleaned(kind, value, cleaned):
    assert clean(kind, value, "es") == (cleaned, "")


def test_a_hospital_can_add_placeholders():
    assert clean("surname", "Pruebas Hospital", "es", "", frozenset({"pruebas hospital"})) == ("", "placeholder")


@given(st.sampled_from(KINDS), st.text(max_size=30), st.sampled_from(["es", "en", "fi"]))
def test_a_value_is_cleaned_or_has_a_reason(kind, value, lang):
    cleaned, reason = clean(kind, value, lang)
    assert bool(cleaned) != bool(reason)
    if cleaned:
        assert clean(kind, cleaned, lang) == (cleaned, "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (float("nan"), ""),
        (float("inf"), ""),
        (Decimal("NaN"), ""),
        (12.0, "12"),
        (12.5, "12.5"),
        (Decimal("7"), "7"),
        (1000234, "1000234"),
        (True, "1"),
        (date(1957, 3, 12), "1957-03-12"),
        (datetime(1957, 3, 12, 4, 5), "1957-03-12"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (b"Zarza", ""),
        (["Zarza"], ""),
        (" Ana ", "Ana"),
    ],
)
def test_cells_of_databases_as_text(value, text):
    assert as_text(value) == text


@pytest.mark.parametrize(
    ("value", "lang", "written", "day"),
    [
        ("03/02/1957", "es", "", date(1957, 2, 3)),
        ("03/02/1957", "en", "", date(1957, 3, 2)),
        ("19570203", "fi", "%Y%m%d", date(1957, 2, 3)),
        ("1957-02-03", "es", "%d/%m/%Y", None),
        ("31/02/1957", "es", "", None),
        ("1/1/45", "es", "", date(1945, 1, 1)),
    ],
)
def test_dates(value, lang, written, day):
    assert read_date(value, lang, written) == day
