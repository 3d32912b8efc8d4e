"""Surrogates have the same kind of damage as their originals, and no piece of them."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.surrogates.keys import Draw, ProjectKey
from spacy_deid.surrogates.mention import Mention, find_mentions
from spacy_deid.surrogates.style import SurrogateStyle, allow_all
from spacy_deid.surrogates.wear import lacks_accents, wear, wear_number, without_accents

KEY = ProjectKey(bytes(range(32))).patient("4711")
NAMES = st.text(string.ascii_letters + " áéñ", min_size=1, max_size=20)


def draw(seed=b"seed"):
    return Draw(seed)


def pieces(text):
    return {run for run in re.findall(r"[^\W\d_]+", text.lower()) if len(run) > 1}


def test_a_scanned_name_gives_a_scanned_surrogate():
    made = wear("Cordero", "De1gado", "Delgado", draw())
    assert re.search(r"[^\W\d_]\d|\d[^\W\d_]", made)
    assert made.translate(str.maketrans("01", "ol")) == "Cordero"


def test_a_word_that_a_line_end_breaks_gives_a_broken_surrogate():
    made = wear("Comesaña", "Tron-\n  coso", "Troncoso", draw())
    assert made.replace("-\n  ", "") == "Comesaña"
    assert "-\n  " in made


def test_a_number_has_letters_where_the_original_has_them():
    assert wear_number("049 312 8700", "O5O 997 34ZO", "050 997 3420") == "O49 312 87OO"
    assert wear_number("12345678901", "O5O 997 34ZO", "050 997 3420") == "12345678901"


@settings(max_examples=200)
@given(NAMES, NAMES, st.binary(min_size=1, max_size=4))
def test_an_undamaged_name_changes_nothing_and_damage_adds_no_piece_of_the_original(surrogate, original, seed):
    assert wear(surrogate, original, original, draw(seed)) == surrogate
    damaged = original.replace("o", "0").replace("l", "1")
    made = wear(surrogate, damaged, original, draw(seed))
    assert (pieces(made) - pieces(surrogate)).isdisjoint(pieces(damaged))
    assert len(made) == len(surrogate)


def test_accents_are_left_out_if_nothing_in_the_note_has_one():
    text = "Paciente Lucia Garcia Perez, dolor desde hace dos dias. "
    plain = find_mentions(text, [(9, 27, "PATIENT")])
    assert lacks_accents(plain, "es")
    assert not lacks_accents([mention._replace(after=text + "ó") for mention in plain], "es")
    for n in range(20):
        key = ProjectKey(bytes(range(32))).patient(str(n))
        (made,) = SurrogateStyle().replace(plain, key, "es", allow_all)
        assert made.text.isascii()


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Lucia", "es"),
        ("NHC 4471906 | Lucia Garcia Perez | urgencias | dolor en el pecho | ingreso programado" * 9, "es"),
        ("Aino Makela, polven murtuma, kontrolli ortopedilla", "fi"),
        ("Paciente con dolor desde hace dos dias", "en"),
    ],
)
def test_a_text_in_which_no_word_needs_an_accent_does_not_lack_any(text, lang):
    assert not lacks_accents([Mention("Lucia", "PATIENT", before=text)], lang)


def test_diaereses_are_accents():
    assert without_accents("Ylöjärvi Muñoz Ångström") == "Ylojarvi Munoz Angstrom"
