"""The strategy `similar` from the config, with the models that ship."""

import pickle

import pytest
import spacy

from spacy_deid.errors import ConfigError
from spacy_deid.lang.text import fold
from spacy_deid.pipeline.surrogate_style import make_similar_strategy
from spacy_deid.surrogates.keys import ProjectKey

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

STRATEGY = "spacy_deid.similar_strategy.v1"
NOTES = {
    "es": ("Paciente: Ana Zumalabe Ruiz. La Sra. Zumalabe vive en Soria.", ["Ana Zumalabe Ruiz", "Zumalabe"]),
    "en": ("Patient: Amelia Thornquist. Ms. Thornquist lives in Dayton.", ["Amelia Thornquist", "Thornquist"]),
    "fi": ("Potilas: Kerttu Virtanen. Virtasen tytär soitti.", ["Kerttu Virtanen", "Virtasen"]),
}


def make(lang):
    nlp = spacy.blank(lang)
    ruler = nlp.add_pipe("deid_ruler")
    ruler.add_terms(NOTES[lang][1], "PATIENT")
    nlp.add_pipe("deid_merge")
    style = {
        "@deid_styles": "spacy_deid.surrogate_style.v1",
        "labels": {"PATIENT": {"@deid_strategies": STRATEGY, "lang": lang}},
    }
    nlp.add_pipe("deid_surrogate", config={"style": style}).set_key(ProjectKey(bytes(range(32))))
    return nlp


@pytest.mark.parametrize("lang", NOTES)
def test_a_note_is_released_with_names_that_were_ranked(lang):
    nlp = make(lang)
    text, names = NOTES[lang]
    released = nlp(text)._.deid_text
    assert released == make(lang)(text)._.deid_text
    assert not [word for name in names for word in fold(name).split() if word in fold(released)]
    chosen = nlp.get_pipe("deid_surrogate").style.labels["PATIENT"]
    assert chosen.asked
    assert not chosen.left


def test_a_config_round_trip_keeps_the_strategy(tmp_path):
    make("es").to_disk(tmp_path)
    again = spacy.load(tmp_path)
    again.get_pipe("deid_ruler").add_terms(NOTES["es"][1], "PATIENT")
    again.get_pipe("deid_surrogate").set_key(ProjectKey(bytes(range(32))))
    text = NOTES["es"][0]
    assert again(text)._.deid_text == make("es")(text)._.deid_text


def test_nothing_is_loaded_before_a_name_is_replaced_and_no_copy_carries_the_model():
    chosen = make_similar_strategy("es", model="no/such/folder")
    assert len(pickle.dumps(chosen)) < 2000
    with pytest.raises(ConfigError, match="no/such/folder"):
        chosen.ranker.cosines("el dolor", 3, 8, ["dolor"])
