"""Training that goes on: the labels and weights that a classifier starts with."""

import numpy as np
import pytest
import spacy
from thinc.api import Linear, Model, chain

from spacy_deid.errors import ConfigError
from spacy_deid.ml.tagger import make_load_weights, weights_from_bytes, weights_to_bytes


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


def test_without_a_path_nothing_happens():
    nlp = spacy.blank("es")
    assert make_load_weights()(nlp) is nlp


def test_a_folder_without_the_component_is_refused(tmp_path):
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_ner")
    with pytest.raises(ConfigError, match="has no component 'deid_ner'"):
        make_load_weights(str(tmp_path))(nlp)


def test_labels_and_weights_are_those_of_the_trained_one(tmp_path):
    trained = spacy.blank("es")
    ner = trained.add_pipe("deid_ner")
    for label in ("PATIENT", "DATE"):
        ner.add_label(label)
    trained.initialize()
    trained.to_disk(tmp_path)
    nlp = spacy.blank("es")
    nlp.add_pipe("deid_ner")
    again = make_load_weights(str(tmp_path))(nlp).get_pipe("deid_ner")
    assert again.labels == ner.labels
    text = "Nombre: Aurelio Bustarviejo."
    scores = [one.model.predict([pipeline.make_doc(text)])[0] for pipeline, one in ((trained, ner), (nlp, again))]
    assert scores[0] == pytest.approx(scores[1], abs=0.01)


def initialized(*labels):
    nlp = spacy.blank("es")
    ner = nlp.add_pipe("deid_ner")
    for label in labels:
        ner.add_label(label)
    nlp.initialize()
    return nlp


def test_labels_that_the_trained_one_does_not_have_are_added(tmp_path):
    trained = initialized("PATIENT", "DATE")
    trained.to_disk(tmp_path)
    nlp = make_load_weights(str(tmp_path))(initialized("AGE", "DATE"))
    ner, old = nlp.get_pipe("deid_ner"), trained.get_pipe("deid_ner")
    assert ner.labels == ("PATIENT", "DATE", "AGE")
    text = "Nombre: Aurelio Bustarviejo."
    scores = ner.model.predict([nlp.make_doc(text)])[0]
    assert scores.shape[-1] == 13
    before = old.model.predict([trained.make_doc(text)])[0]
    assert scores[..., :9] == pytest.approx(before, abs=0.01)
    assert not scores[..., 9:].any()
    example = spacy.training.Example.from_dict(nlp.make_doc(text), {"entities": [(8, 27, "AGE")]})
    nlp.update([example], sgd=nlp.resume_training())
    nlp.to_disk(tmp_path / "again")
    assert spacy.load(tmp_path / "again").get_pipe("deid_ner").labels == ner.labels
