"""The second reading: which notes count as damaged, how their text is restored, and how predictions are united."""

import numpy as np
import pytest
import spacy

from spacy_deid.ml.decoding import Calibration, Posterior, choose_spans
from spacy_deid.ml.second_reading import is_capitals, is_scanned, is_wrapped, undo_damage, unite

SCANNED = "Pacie nte 1sid0ro Ga1van, ced. 4O7l8S2. Tos con expectoraci0n b1anca desde e1 1unes, n0 fuma. 5an J0se."
WRAPPED = "Nombre: Gonza-\nlez Zyx-\nwalda\nFecha: 15-\nnov\nTel: 316 44-\n0 92 75, hija en el\npueblo."
CLEAN = """Patient: Ann Oakley  MRN A01-5581
Vitamin B12 and D10W given, Tazocin 4.5 g q8h, O2 2 l, SpO2 95 %, HbA1c 51, 18F-FDG uptake, H2L 1H6.
- post-operative day 1, follow-up in a
  week; re-excision with a 5mm margin, T1-weighted sequence"""


@pytest.mark.parametrize("text", [CLEAN, "", " \n", "A", "1", "-\n-\n-\n"])
def test_an_undamaged_note_is_read_once(text):
    assert undo_damage(text) is None


def test_confused_letters_and_digits_are_exchanged():
    restored, origin = undo_damage(SCANNED)
    assert is_scanned(SCANNED)
    assert len(restored) == len(SCANNED) == len(origin)
    for name in ("Isidoro Galvan", "4071852", "expectoracion", "San Jose"):
        assert name in restored


def test_rn_becomes_m_where_a_word_begins_with_it():
    text = "rne duele la cabeza, n0che rnala, e1 d0rningo c0n Zyxwa1da en 1a c1inica"
    restored, origin = undo_damage(text)
    assert "me duele" in restored
    assert "domingo con Zyxwalda" in restored
    assert text[origin[restored.index("Zyx")] :].startswith("Zyxwa1da")


def test_broken_words_are_joined_and_fields_stay_on_their_lines():
    restored, origin = undo_damage(WRAPPED)
    assert is_wrapped(WRAPPED)
    assert restored == "Nombre: Gonzalez Zyxwalda\nFecha: 15-nov\nTel: 316 440 92 75, hija en el pueblo."
    assert [WRAPPED[i] for i in origin if WRAPPED[i].isalnum()] == [char for char in WRAPPED if char.isalnum()]


def test_capitals_become_initial_capitals_of_equal_length():
    text = "PACIENTE ZYXWALDA QQRTOV, CÓRDOBA. DOLOR EN BRAZO. İSTANBUL"
    restored, origin = undo_damage(text)
    assert is_capitals(text)
    assert restored.startswith("Paciente Zyxwalda Qqrtov, Córdoba")
    assert len(restored) == len(text)
    assert origin.tolist() == list(range(len(text)))


def posterior(size, spans):
    phi, labels = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.int32)
    for start, end, label, score in spans:
        phi[start:end], labels[start:end] = score, label
    return Posterior(spans, phi, labels)


@pytest.fixture(scope="module")
def make_doc():
    return spacy.blank("es").make_doc


def test_predictions_are_mapped_to_whole_tokens_and_nothing_found_is_lost(make_doc):
    text = "Nombre: Gonza-\nlez, hija Ana. Zyx-\nwalda"
    restored, origin = undo_damage(text)
    doc, again = make_doc(text), make_doc(restored)
    where = {token.text: token.i for token in again}
    ana = [token.text for token in doc if not token.is_space].index("Ana")
    dense = len([token for token in doc if token.text != " "])
    first = posterior(dense, [(ana + 1, ana + 2, 1, 0.7)])
    second = posterior(len(again), [(i, i + 1, 0, 0.9) for i in (where["Gonzalez"], where["Zyxwalda"])])
    united = unite(doc, first, again, second, origin)
    spans = choose_spans(united, 0.5, Calibration(), Calibration())
    assert [doc[start:end].text for start, end, *_ in spans] == ["Gonza-\nlez", "Ana", "Zyx-\nwalda"]
    assert [label for _, _, label, _ in spans] == [0, 1, 0]
    assert united.first is first
    assert (united.phi >= first.phi).all()


def test_overlapping_spans_become_one_with_the_label_of_the_longest(make_doc):
    doc = make_doc("Ana Luz Gil Paz vive sola")
    first = posterior(6, [(0, 2, 0, 0.6), (3, 4, 2, 0.9)])
    second = posterior(6, [(1, 4, 1, 0.8)])
    united = unite(doc, first, doc, second, np.arange(len(doc.text)))
    assert united.spans == [(0, 4, 1, 0.9)]


def test_an_empty_restored_text_changes_nothing(make_doc):
    first = posterior(1, [(0, 1, 0, 0.6)])
    assert unite(make_doc("Ana"), first, make_doc(""), posterior(0, []), np.zeros(0, dtype=np.int64)) is first
