"""Which words of a name are given names, surnames, particles and titles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.ehr.expansion import core, proper, split_full, split_words, surname_groups


@pytest.mark.parametrize(
    ("name", "lang", "given_names", "surname"),
    [
        ("Anna Liisa Virtanen", "fi", "Anna Liisa", "Virtanen"),
        ("VIRTANEN, Anna Liisa", "fi", "Anna Liisa", "VIRTANEN"),
        ("Ana García de la Fuente", "es", "Ana", "García de la Fuente"),
        ("Ana María García López", "es", "Ana María", "García López"),
        ("Dra. Ana García López", "es", "Ana", "García López"),
        ("John Smith Jr", "en", "John", "Smith"),
        ("Smith, John, MD", "en", "John", "Smith"),
        ("John Smith, MD", "en", "John", "Smith"),
        ("Ludwig van Beethoven", "en", "Ludwig", "van Beethoven"),
        ("Ndu", "en", None, "Ndu"),
    ],
)
def test_full_names(name, lang, given_names, surname):
    parts = split_full(name, lang)
    assert (parts.get("given", (None,))[0], parts["surname"][0]) == (given_names, surname)


def test_a_table_may_put_the_surname_first():
    parts = split_full("García López Ana María", "es", surname_first=True)
    assert dict(parts) == {"given": ("Ana María",), "surname": ("García López",)}


@given(st.text(max_size=30), st.sampled_from(["es", "en", "fi"]), st.booleans())
def test_no_word_of_letters_is_lost_or_made_up(name, lang, first):
    parts = split_full(name, lang, surname_first=first)
    kept = " ".join(value for values in parts.values() for value in values).split()
    assert set(kept) <= set(name.replace(",", " ").split())


def test_particles_go_with_the_name_that_follows():
    assert surname_groups("García de la Fuente") == ("García", "de la Fuente")
    assert core("de la Fuente") == "Fuente"
    assert core("de la") == "de la"


def test_words_of_a_name():
    assert split_words("Anna-Liisa (Anu) M. O'Hara 3") == ["Anna", "Liisa", "Anu", "M", "O'Hara"]
    assert [proper(name) for name in ("VIRTANEN", "ana", "McDonald", "A")] == ["Virtanen", "Ana", "McDonald", "A"]
