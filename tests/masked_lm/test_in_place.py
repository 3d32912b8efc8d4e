"""Words in their place: masks, first pieces and cosines as they can be followed on paper, and the models that ship."""

import pickle
from math import log

import numpy as np
import pytest
from masked_lm.tiny import PIECES, TinyLM

from spacy_deid.errors import ConfigError
from spacy_deid.lang import get_language
from spacy_deid.masked_lm.in_place import WordsInPlace
from spacy_deid.masked_lm.model import ExportedMaskedLM, load_masked_lm, shipped_models


class StatefulLM(TinyLM):
    """Its states of a piece are one in the column of the piece, and one in the column of the piece before it."""

    def states(self, ids, attention):
        unit = np.eye(len(PIECES), dtype=np.float32)
        found = unit[ids]
        found[:, 1:] += unit[ids[:, :-1]]
        return found


@pytest.fixture
def tiny():
    return WordsInPlace(StatefulLM)


def load_spanish():
    return load_masked_lm("es")


@pytest.fixture(scope="module")
def spanish():
    pytest.importorskip("onnxruntime")
    return WordsInPlace(load_spanish)


def test_a_word_is_as_likely_as_its_first_piece_where_others_are_masked(tiny):
    # "[MASK] [MASK] el": el is visible once and weighs 3, ana and ##na 1 each
    found = tiny.likelihoods("ana anana el", [(0, 3), (4, 9)], 1, ["el", "ana", "anana"])
    assert found == [round(log(share), 2) for share in (3 / 5, 1 / 5, 1 / 5)]


def test_a_word_of_several_pieces_has_one_mask(tiny):
    # "el [MASK]", not "el [MASK] [MASK]": of the same weights, but ##na would follow no visible ana either way
    tiny.likelihoods("el ananana", [(3, 10)], 0, ["el"])
    assert tiny.model.rows == [(1, 4)]


def test_a_place_without_a_piece_says_nothing(tiny):
    assert tiny.likelihoods("el  ana", [(3, 3)], 0, ["ana"]) == []
    assert tiny.cosines("el  ana", 3, 3, ["ana"]) == []


def test_cosines_as_on_paper(tiny):
    # ana after el: ana + el; el after el: 2 el. (1, 1)·(0, 2) / (√2 · 2)
    assert tiny.cosines("el ana", 3, 6, ["ana", "el"]) == [1.0, round(1 / 2**0.5, 4)]


def test_a_word_that_cannot_be_read_is_furthest(tiny):
    assert tiny.cosines("el ana", 3, 6, ["xyz", "ana"]) == [-1.0, 1.0]
    assert tiny.cosines("el xyz", 3, 6, ["ana"]) == []


def test_a_long_text_is_read_around_the_word(tiny):
    text = "ana " * 40 + "el" + " ana" * 40
    assert tiny.cosines(text, 160, 162, ["el"]) == [1.0]
    assert tiny.likelihoods(text, [(160, 162)], 0, ["ana"])[0] > log(0.8)


def test_more_words_than_a_batch_holds_are_all_read(tiny):
    words = ["el", "ana"] * 600
    assert tiny.cosines("el ana", 3, 6, words) == [round(1 / 2**0.5, 4), 1.0] * 600


def test_the_models_that_ship_find_names_nearer_to_a_name_than_other_words(spanish):
    text = "Paciente: Carmen García Ruiz. Ingresa por dolor torácico."
    found = spanish.cosines(text, 10, 16, ["Carmen", "María", "fiebre", "2018"])
    assert found[0] == 1.0
    assert found[1] > max(found[2:])


@pytest.mark.parametrize("lang", ["en", "es", "fi"])
@pytest.mark.parametrize("precision", ["float", "int8"])
def test_the_models_that_ship_give_states(lang, precision):
    pytest.importorskip("onnxruntime")
    assert lang in shipped_models()
    ids = np.array([[2, 50, 60, 3], [2, 50, 3, 0]])
    states = load_masked_lm(lang, precision=precision).states(ids, np.array([[1, 1, 1, 1], [1, 1, 1, 0]]))
    assert states.shape == (2, 4, 192)
    assert np.isfinite(states).all()


def test_a_copy_for_another_process_loads_the_model_itself(spanish):
    assert spanish.cosines("el dolor", 3, 8, ["dolor"]) == [1.0]
    assert len(pickle.dumps(spanish)) < 1000


def test_a_model_that_was_exported_without_states_is_refused(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    for path in get_language("es").resource("masked_lm").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    graph = onnx.load(tmp_path / "float.onnx", load_external_data=False)
    del graph.graph.output[1]
    onnx.save(graph, tmp_path / "float.onnx")
    with pytest.raises(ConfigError, match="without hidden states"):
        ExportedMaskedLM(tmp_path, "float").states(np.array([[2, 3]]), np.array([[1, 1]]))
