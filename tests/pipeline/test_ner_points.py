"""deid_ner at its operating points: named, chosen at load, for one call, on the receipt, in the trace."""

import shutil

import pytest
from thinc.api import Config

import spacy_deid
from spacy_deid.errors import ConfigError
from spacy_deid.saving import CHECKSUMS, fingerprint, save

POINTS = {
    "balanced": {"default": 0.6, "labels": {}, "figures": {}},
    "sure": {"default": 0.999999, "labels": {}, "figures": {}},
    "patients": {"default": 0.999999, "labels": {"PATIENT": 0.2}, "figures": {}},
}
TEXT = "Nombre: Ana Pérez Mas. Edad: 53 años."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    nlp = spacy_deid.load("es")
    nlp.get_pipe("deid_ner").cfg["points"] = POINTS
    save(nlp, tmp_path_factory.mktemp("points") / "es")
    return tmp_path_factory.getbasetemp() / "points0" / "es"


@pytest.fixture(scope="module")
def nlp(folder):
    return spacy_deid.load(folder)


def receipt(doc):
    attrs = doc.spans["deid/ner"].attrs
    return attrs["operating_point"], attrs["thresholds"]


def labels(doc):
    return {span.label_ for span in doc.spans["deid/ner"]}


def test_a_pipeline_is_loaded_at_a_point_and_saved_at_it(folder, tmp_path):
    nlp = spacy_deid.load(folder, operating_point="sure")
    save(nlp, tmp_path / "again")
    for one in (nlp, spacy_deid.load(tmp_path / "again")):
        assert receipt(one(TEXT)) == ("sure", {"default": 0.999999, "labels": {}})
        assert labels(one(TEXT)) == set()


def test_a_point_is_part_of_the_fingerprint(folder):
    one, other = (spacy_deid.load(folder, operating_point=point) for point in ("sure", "balanced"))
    assert fingerprint(one) != fingerprint(other)


def test_without_a_name_the_point_of_the_config_is_in_force_or_else_its_threshold(folder, nlp):
    assert receipt(nlp(TEXT))[0] == "balanced"
    unnamed = spacy_deid.load(folder, config={"components.deid_ner.operating_point": None})
    assert receipt(unnamed(TEXT))[0] == "custom"


def test_one_call_has_a_point_of_its_own(nlp):
    at = {"deid_ner": {"operating_point": "sure"}}
    assert receipt(nlp(TEXT, component_cfg=at))[0] == "sure"
    assert receipt(nlp(TEXT))[0] == "balanced"


@pytest.mark.parametrize("n_process", [1, 2])
def test_a_stream_has_a_point_of_its_own(nlp, n_process):
    at = {"deid_ner": {"operating_point": "patients"}}
    docs = list(nlp.pipe([TEXT, "", TEXT], component_cfg=at, n_process=n_process))
    assert [receipt(doc)[0] for doc in docs] == ["patients"] * 3
    assert labels(docs[0]) == {"PATIENT"}


def test_thresholds_by_label_come_from_the_config_too(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "es")
    config = Config().from_disk(tmp_path / "es" / "config.cfg")
    config["components"]["deid_ner"]["operating_point"] = None
    config["components"]["deid_ner"]["threshold"] = {"default": 0.999999, "PATIENT": 0.2}
    config.to_disk(tmp_path / "es" / "config.cfg")
    (tmp_path / "es" / CHECKSUMS).unlink()  # as the message says that refuses a changed file
    with pytest.warns(UserWarning, match="has no checksums"):
        nlp = spacy_deid.load(tmp_path / "es")
    assert labels(nlp(TEXT)) == {"PATIENT"}
    assert receipt(nlp(TEXT)) == ("custom", {"default": 0.999999, "labels": {"PATIENT": 0.2}})


def test_a_threshold_for_a_label_outside_the_scheme_is_refused(nlp):
    with pytest.raises(ConfigError, match="NOMBRE"):
        nlp.get_pipe("deid_ner").set_threshold({"default": 0.3, "NOMBRE": 0.1})


def test_numbers_take_the_place_of_a_named_point(folder):
    ner = spacy_deid.load(folder, operating_point="sure").get_pipe("deid_ner")
    ner.set_threshold(0.25)
    assert ner.get_point().receipt() == {"operating_point": "custom", "thresholds": {"default": 0.25, "labels": {}}}


def test_an_unknown_point_is_refused_with_the_known_ones(folder, nlp):
    with pytest.raises(ConfigError, match="Its operating points: balanced, sure, patients"):
        spacy_deid.load(folder, operating_point="high")
    with pytest.raises(ConfigError, match="unknown operating point 'high'"):
        nlp(TEXT, component_cfg={"deid_ner": {"operating_point": "high"}})


def test_a_pipeline_without_a_classifier_has_no_points(pipeline_folder):
    with pytest.raises(ConfigError, match="no component 'deid_ner'"):
        spacy_deid.load(pipeline_folder, operating_point="balanced")


def test_the_trace_names_the_point(folder):
    doc = spacy_deid.load(folder, operating_point="balanced")(TEXT)
    points = {(item["source"], item.get("operating_point")) for row in doc._.deid_trace for item in row["evidence"]}
    assert ("deid_ner", "balanced") in points
    assert all(source == "deid_ner" or point is None for source, point in points)
