"""Operating points: one threshold or one for each label, by number or by name."""

import pytest

from spacy_deid.errors import ConfigError
from spacy_deid.ml.decoding import make_point, named_points


def test_one_threshold_is_that_of_every_label():
    assert make_point(0.3, "ner").thresholds(["AGE", "DATE"]) == [0.3, 0.3]


def test_a_label_has_its_own_threshold_and_the_others_the_default():
    point = make_point({"default": 0.3, "DATE": 0.1}, "ner")
    assert point.thresholds(["AGE", "DATE"]) == [0.3, 0.1]
    assert point.receipt() == {"operating_point": "custom", "thresholds": {"default": 0.3, "labels": {"DATE": 0.1}}}


def test_thresholds_by_label_without_a_default_are_refused():
    with pytest.raises(ConfigError, match="require a 'default'"):
        make_point({"DATE": 0.1}, "ner")


@pytest.mark.parametrize("threshold", [0.0, 1.0, True, "0.5", None, {"default": 0.5, "AGE": 1.5}])
def test_what_is_no_probability_is_refused(threshold):
    with pytest.raises(ConfigError, match="must be between 0 and 1"):
        make_point(threshold, "ner")


def test_named_points_have_their_names():
    points = named_points({"points": {"high_recall": {"default": 0.05, "labels": {"AGE": 0.2}}}}, "ner")
    assert points["high_recall"].name == "high_recall"
    assert points["high_recall"].thresholds(["AGE", "DATE"]) == [0.2, 0.05]


def test_a_threshold_that_json_has_blurred_is_exact_again():
    assert named_points({"points": {"balanced": {"default": 0.7000000000000001}}}, "ner")["balanced"].default == 0.7
