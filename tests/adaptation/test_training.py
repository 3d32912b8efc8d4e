"""Fine-tuning: the settings, the mixture, labels that are added, and the same weights for the same seed."""

from pathlib import Path

import numpy as np
import pytest
import spacy
from thinc.api import Config

import spacy_deid
from spacy_deid.adaptation import training
from spacy_deid.adaptation.training import Plan, Tuner
from spacy_deid.errors import ConfigError
from spacy_deid.evaluation import AnnotatedText, Entity, make_docs
from spacy_deid.ml.tagger import weights_to_bytes

ROOT = Path(__file__).parents[2]
NOTES = [AnnotatedText(str(i), f"Nombre: Ana{i} Mas.\nVive en Jaca.\n", (Entity(8, 16, "PATIENT"),)) for i in range(4)]


@pytest.fixture
def nlp():
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    ner = nlp.add_pipe("deid_ner")
    for label in ("PATIENT", "DATE"):
        ner.add_label(label)
    docs = make_docs(NOTES, nlp.make_doc)[0]
    nlp.initialize(lambda: [spacy.training.Example(nlp.make_doc(doc.text), doc) for doc in docs])
    return nlp


def tuner(nlp, labels=("PATIENT",), **plan):
    return Tuner(nlp, nlp.get_pipe("deid_ner"), labels, lambda: NOTES[:1], Plan(batch_words=60, **plan))


def test_the_optimizer_is_that_of_the_training_config():
    config = Config().from_disk(ROOT / "configs" / "ner.cfg", interpolate=False)
    known = config["training"]["optimizer"]
    assert known["@optimizers"] == "Adam.v1"
    assert {key: known[key] for key in training.ADAM} == training.ADAM
    assert known["use_averages"] is True
    assert config["training"]["dropout"] == training.DROPOUT
    assert config["corpora"]["train"]["augmenter"]["hands"] == training.DAMAGE
    assert Plan().learn_rate < config["vars"]["learn_rate"]


@pytest.mark.parametrize(("notes", "steps"), [(20, 180), (40, 260), (200, 600)])
def test_the_number_of_steps_grows_with_the_notes(notes, steps):
    assert Plan().steps_for(notes) == steps
    assert Plan(steps=7).steps_for(notes) == 7


def test_each_tuning_starts_from_the_same_weights(nlp):
    ner = nlp.get_pipe("deid_ner")
    done, untrained = [], weights_to_bytes(ner.model)
    tune = tuner(nlp, steps=3, seed=4)
    tune.tune(NOTES, lambda: done.append(1))
    first = weights_to_bytes(ner.model)
    assert len(done) == 3
    tune.tune(NOTES[:2])
    assert weights_to_bytes(ner.model) != first
    tune.tune(NOTES)
    assert weights_to_bytes(ner.model) == first
    assert first != untrained


def test_notes_are_learned(nlp):
    ner = nlp.get_pipe("deid_ner")
    tuner(nlp, steps=30, learn_rate=0.01).tune(NOTES)
    after = ner.read([nlp.make_doc(NOTES[0].text)])[0].phi
    assert (after[2:4] > 0.6).all()
    assert (after[:2] < 0.5).all()


def test_labels_that_the_classifier_lacks_are_added(nlp):
    ner = nlp.get_pipe("deid_ner")
    doc = nlp.make_doc(NOTES[0].text)
    before = ner.model.predict([doc])[0]
    tune = tuner(nlp, labels=("VEHICLE", "PATIENT"))
    assert tune.added == ["VEHICLE"]
    assert ner.labels == ("PATIENT", "DATE", "VEHICLE")
    scores = ner.model.predict([doc])[0]
    assert scores.shape[-1] == before.shape[-1] + 4
    np.testing.assert_allclose(scores[..., : before.shape[-1]], before, atol=0.01)


def test_a_classifier_on_another_network_is_refused():
    nlp = spacy.blank("es")
    model = {
        "@architectures": "spacy_deid.TagScorer.v1",
        "tok2vec": {
            "@architectures": "spacy.HashEmbedCNN.v2",
            **{"width": 16, "depth": 1, "embed_size": 100, "window_size": 1, "maxout_pieces": 2},
            **{"subword_features": True, "pretrained_vectors": None},
        },
    }
    nlp.add_pipe("deid_ner", config={"model": model})
    with pytest.raises(ConfigError, match="cannot be adapted"):
        tuner(nlp)


def test_a_shipped_pipeline_can_be_tuned():
    nlp = spacy_deid.load("en")
    tuner(nlp, steps=1).tune(NOTES)
    assert nlp("Seen by Dr. Mary Ellwood.").ents
