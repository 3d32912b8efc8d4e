"""Training that goes on: the labels and weights that a classifier starts with."""

import pytest
import spacy

from spacy_deid.errors import ConfigError
from spacy_deid.ml.tagger import make_load_weights


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
