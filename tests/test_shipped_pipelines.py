"""The pipelines that ship, on the synthetic notes that ship: that they load, find and know their operating points.

The notes are of the kind that the pipelines were trained on; how good they are on others stands in the model cards.
"""

import json
from pathlib import Path

import pytest

import spacy_deid
from spacy_deid.evaluation import evaluate, from_doc, read_folder
from spacy_deid.loading import shipped_pipelines
from spacy_deid.ml.decoding import OperatingPoint

CORPUS = Path(__file__).parent.parent / "corpus"
LANGUAGES = ("es", "en", "fi")


def test_three_pipelines_ship():
    assert sorted(shipped_pipelines()) == sorted(LANGUAGES)


@pytest.fixture(scope="module", params=LANGUAGES)
def scores(request):
    gold = read_folder(CORPUS / f"sample_{request.param}")
    assert len(gold) == 12
    by_point = {}
    for point in ("balanced", "high_recall"):
        nlp = spacy_deid.load(request.param, operating_point=point)
        found = [from_doc(nlp(text.text), text.name) for text in gold]
        by_point[point] = evaluate(gold, found, bootstrap=0)["all"]["character"]
    return by_point


def test_made_notes_are_covered(scores):
    assert scores["balanced"]["recall"] > 0.94
    assert scores["balanced"]["precision"] > 0.95
    assert scores["high_recall"]["recall"] > 0.96
    assert scores["high_recall"]["precision"] > 0.87


@pytest.mark.parametrize("lang", LANGUAGES)
def test_points_are_from_sure_to_sensitive(lang):
    points = spacy_deid.load(lang).get_pipe("deid_ner").cfg["points"]
    assert list(points) == ["balanced", "high_recall", "max_recall"]
    recalls = [point["figures"]["character_recall"] for point in points.values()]
    assert recalls == sorted(recalls)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_label_is_surer_than_at_the_point_above_or_than_even(lang):
    ner = spacy_deid.load(lang).get_pipe("deid_ner")
    points = [OperatingPoint(point["default"], point["labels"]) for point in ner.cfg["points"].values()]
    assert len(points) == 3
    assert all("risk" not in point["figures"] for point in ner.cfg["points"].values())
    for label, *thresholds in zip(ner.labels, *(point.thresholds(ner.labels) for point in points), strict=True):
        assert max(thresholds) <= 0.5, label
        assert thresholds == sorted(thresholds, reverse=True), label


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_meta_names_sources_data_and_configs(lang):
    meta = json.loads((shipped_pipelines()[lang] / "meta.json").read_text(encoding="utf8"))
    assert meta["sources"]
    assert all(source["license"] for source in meta["sources"])
    assert all(len(digest) == 64 for digest in [*meta["deid"]["data"].values(), *meta["deid"]["configs"].values()])


@pytest.mark.parametrize(
    ("lang", "text", "kept", "gone"),
    [
        ("es", "May refiere cefalea desde ayer.", "cefalea", "May"),
        ("en", "Ms. May Thompson, 48, was seen by Dr. Parkinson. Tremor, no rigidity.", "Tremor", "Thompson"),
        ("fi", "Potilas Lumi Kivi, 58 v, tuli vaimonsa kanssa. Tapasin Lumin osastolla.", "osastolla", "Lumin"),
    ],
)
def test_names_that_are_words_are_found(lang, text, kept, gone):
    released = spacy_deid.load(lang, operating_point="high_recall")(text)._.deid_text
    assert kept in released
    assert gone not in released


def test_what_ships_is_small():
    package = Path(spacy_deid.__file__).parent
    files = (path for part in ("pipelines", "resources", "lang") for path in (package / part).rglob("*"))
    assert sum(path.stat().st_size for path in files if path.is_file()) < 40e6
