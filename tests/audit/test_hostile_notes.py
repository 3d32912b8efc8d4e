"""Notes as they come: offsets hold, nothing fails, and a word is not a name because somebody is called so."""

import unicodedata

import pytest

from spacy_deid.audit.search import Note, Searcher
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry

ENTRIES = [
    LocalEntry("núñez peña", "PATIENT", "patients.surname"),
    LocalEntry("núñez", "PATIENT", "patients.surname"),
    LocalEntry("may", "PATIENT", "patients.given", "name"),
    LocalEntry("600123456", "PHONE", "patients.phone"),
    LocalEntry("600 123 456", "PHONE", "patients.phone"),
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    with StoreWriter(folder) as writer:
        writer.add_patient("P1", ENTRIES)
        writer.add_patient("P2", [LocalEntry("zuriaga", "PATIENT", "patients.surname")])
        writer.commit({})
    return Searcher(folder)


def found(searcher, text, others=()):
    return [text[hit.start : hit.end] for hit in searcher.search(Note(1, "P1", (), text, others)).hits]


@pytest.mark.parametrize("surface", ["Núñez Peña", "NÚÑEZ PEÑA", "Núñez\r\nPeña", "Núñez‐Peña", "Núñez\u00a0Peña"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_offsets_hold_behind_emoji_and_decomposed_accents(searcher, surface, form):
    surface = unicodedata.normalize(form, surface)
    assert found(searcher, f"👩‍⚕️🙂 Señora\r\n{surface} 🙂") == [surface]


@pytest.mark.parametrize("surface", ["600\u00a0123\u2011456", "600.123.456", "60 01 23 456", "(600) 123-456"])
def test_numbers_are_found_however_they_are_set(searcher, surface):
    assert found(searcher, f"Tel. {surface}.") == [surface.strip("(")]


@pytest.mark.parametrize(
    "text", ["It may be.", "May be seen.", "Came.\nMay go.", "maybe", "MAYBE", "Mayo", "no may\n- May rest"]
)
def test_a_patient_called_may_is_not_every_may(searcher, text):
    assert found(searcher, text) == []


def test_a_patient_called_may_is_found_where_a_name_stands(searcher):
    assert found(searcher, "Mrs. May came.") == ["May"]
    assert found(searcher, "Seen with May today.") == ["May"]


@pytest.mark.parametrize("text", ["\ud83d Núñez", "\x00Núñez\x00", "\ufeffNúñez", "\u202eNúñez\u202c"])
def test_broken_characters_hide_nothing(searcher, text):
    assert found(searcher, text) == ["Núñez"]


@pytest.mark.parametrize(
    ("text", "count"),
    [("Mrs. May Núñez 600 123 456 called. " * 3000, 9000), ("x" * 500_000, 0), ("a\n" * 200_000, 0)],
    ids=["hits", "one word", "lines"],
)
def test_long_notes_take_time_by_their_length(searcher, text, count):
    assert len(found(searcher, text, ("P2",))) == count
