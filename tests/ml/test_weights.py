import numpy as np
import pytest
from thinc.api import Linear, Model, chain

from spacy_deid.ml.tagger import weights_from_bytes, weights_to_bytes


@pytest.fixture
def model() -> Model:
    model = chain(Linear(8, 4), Linear(2, 8))
    model.initialize(X=np.zeros((1, 4), dtype="f"), Y=np.zeros((1, 2), dtype="f"))
    return model


def test_weights_take_half_the_space_and_come_back_as_single_precision(model):
    data = weights_to_bytes(model)
    other = chain(Linear(8, 4), Linear(2, 8))
    weights_from_bytes(other, data)
    for mine, theirs in zip(model.layers, other.layers, strict=True):
        assert theirs.get_param("W").dtype == np.float32
        np.testing.assert_allclose(mine.get_param("W"), theirs.get_param("W"), rtol=1e-3)
    assert len(data) < len(model.to_bytes()) - 2 * sum(layer.get_param("W").size for layer in model.layers)


def test_compressed_weights_are_the_same(model):
    other = chain(Linear(8, 4), Linear(2, 8))
    weights_from_bytes(other, weights_to_bytes(model, compress=True))
    assert weights_to_bytes(other) == weights_to_bytes(model)


def test_weights_in_single_precision_are_read_too(model):
    other = chain(Linear(8, 4), Linear(2, 8))
    weights_from_bytes(other, model.to_bytes())
    np.testing.assert_array_equal(model.layers[0].get_param("W"), other.layers[0].get_param("W"))


def test_weights_of_another_structure_are_refused(model):
    with pytest.raises(ValueError, match=r"(?i)model|nodes|structure|mismatch|Cannot"):
        weights_from_bytes(Linear(3, 4), weights_to_bytes(model))
