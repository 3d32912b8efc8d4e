import numpy as np
import pytest
import spacy
from spacy.strings import hash_string

from spacy_deid.ml.features import FEATURES, NoteFeatures, dense_tokens
from spacy_deid.tokenizer import make_clinical_tokenizer


@pytest.fixture(scope="module")
def nlp():
    nlp = spacy.blank("es")
    nlp.tokenizer = make_clinical_tokenizer()(nlp)
    return nlp


@pytest.fixture
def column(nlp):
    extract = NoteFeatures()

    def get(text, name):
        doc = nlp.make_doc(text)
        return dict(zip([t.text for t in doc], extract(doc)[:, FEATURES.index(name)].tolist(), strict=True))

    return get


def test_values_carry_the_key_of_their_line(column):
    key = column("Nombre: Ana\nEdad: 53 años\nAcude hoy", "key")
    assert key["Ana"] == hash_string("nombre")
    assert key["años"] == hash_string("edad")
    assert key["Acude"] == key["Nombre"] == 0


def test_second_key_on_a_line_takes_over(column):
    key = column("Edad: 53 años Sexo: H.", "key")
    assert (key["53"], key["H"]) == (hash_string("edad"), hash_string("sexo"))


def test_clock_times_are_no_keys(column):
    assert not any(column("a las 10:30 horas", "key").values())


def test_memory_tells_under_which_key_a_word_stood_first(column):
    memory = column("Apellidos: Rivera\nLlega Rivera por su pie", "memory")
    assert memory["Rivera"] == hash_string("apellidos")
    assert memory["pie"] == 0


def test_capitals_mean_something_else_in_a_note_of_capitals(column):
    assert column("Acude Rivera hoy", "case")["Rivera"] != column("ACUDE RIVERA HOY", "case")["RIVERA"]
    assert column("acude rivera hoy", "case")["rivera"] != column("Acude rivera hoy", "case")["rivera"]


def test_a_word_that_stands_small_elsewhere_is_told_apart(column):
    assert column("Hoy Masa\nno hay masa", "case")["Masa"] != column("Hoy Rosa\nno hay masa", "case")["Rosa"]


@pytest.mark.parametrize("text", ["", " ", "\n\n", ":", "a", "😀: x\r\n", "Nombre:"])
def test_any_text_gives_one_row_a_dense_token(nlp, text):
    doc = nlp.make_doc(text)
    assert NoteFeatures()(doc).shape == (len(dense_tokens(doc)), len(FEATURES))


@pytest.mark.parametrize("blank", ["  ", "\t", "\u00a0 ", "   "])
def test_blanks_change_no_feature(nlp, blank):
    plain, spaced = "Nombre: Ana Sanz\nEdad: 53 años", f"Nombre:{blank}Ana{blank}Sanz\r\nEdad:{blank}53 años{blank}"
    assert np.array_equal(NoteFeatures()(nlp.make_doc(plain)), NoteFeatures()(nlp.make_doc(spaced)))


def test_features_hold_no_text(nlp):
    assert NoteFeatures()(nlp.make_doc("Zyxwalda vive aquí")).dtype == np.uint64
