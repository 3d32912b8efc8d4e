"""Settings for one call: those that a component does not know are an error."""

import pytest

import spacy_deid


@pytest.fixture(scope="module")
def es():
    return spacy_deid.load("es")


@pytest.mark.parametrize("name", ["deid_patterns", "deid_ruler", "deid_ner", "deid_merge", "deid_surrogate"])
def test_a_setting_that_a_component_does_not_know_raises(es, name):
    with pytest.raises(TypeError):
        es("Hola", component_cfg={name: {"nope": 1}})
    with pytest.raises(TypeError):
        list(es.pipe(["Hola"], component_cfg={name: {"nope": 1}}))
