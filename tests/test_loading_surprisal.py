"""load with a language model that scores words: where it stands, and what it changes."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import spacy_deid
from spacy_deid.errors import ConfigError, NotDeidentified
from spacy_deid.evaluation import read_folder
from spacy_deid.evaluation.sweep import decide, detect, take_apart
from spacy_deid.saving import save

SAMPLE = Path(__file__).parents[1] / "corpus" / "sample"
ENTROPY = "entropy"
TEXT = "Nombre: Xqzutoiaga. Acude por dolor. Vive en Puerto Esparza."


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from unigram_model import make_unigram_model

    texts = [note.text for note in read_folder(SAMPLE / "train", scheme="meddocan")]
    return str(make_unigram_model(tmp_path_factory.mktemp("model") / "es", texts))


def test_nothing_scores_unless_it_is_asked_for(pipeline_folder):
    assert "deid_surprisal" not in spacy_deid.load(pipeline_folder).pipe_names


def test_it_stands_before_merging_and_is_trusted_least(pipeline_folder, model):
    nlp = spacy_deid.load(pipeline_folder, surprisal={"model": model})
    assert nlp.pipe_names == ["deid_patterns", "deid_ruler", "deid_surprisal", "deid_merge", "deid_surrogate"]
    assert nlp.get_pipe("deid_merge").sources[-1] == "deid/surprisal"
    doc = nlp(TEXT)
    assert doc._.deid_text == spacy_deid.load(pipeline_folder)(TEXT)._.deid_text
    assert len(doc.user_data["deid/surprisal"]["values"]) == 9


def test_above_a_threshold_words_go_and_a_label_of_others_stays(pipeline_folder, model):
    nlp = spacy_deid.load(pipeline_folder, surprisal={"model": model, "score": ENTROPY, "threshold": -1.0})
    doc = nlp(TEXT)
    assert doc._.deid_text == "[OTHER]: [OTHER]. [OTHER] [OTHER] [OTHER]. [OTHER] [OTHER] [CITY]."
    city = next(row for row in doc._.deid_trace if row["label"] == "CITY")
    assert [item["source"] for item in city["evidence"]] == ["deid_ruler", "deid_surprisal", "deid_surprisal"]
    first = doc._.deid_trace[0]["evidence"][0]
    assert (first["source"], first["rule"], first["version"]) == ("deid_surprisal", "entropy-1", "unigram")


def test_spans_are_proposed_within_the_budget(pipeline_folder, model):
    nlp = spacy_deid.load(pipeline_folder, surprisal={"model": model, "review_per_1000": 1})
    assert nlp.pipe_names[-1] == "deid_review"
    assert [TEXT[row["start"] : row["end"]] for row in nlp(TEXT)._.deid_review] == ["Xqzutoiaga"]


def test_a_pipeline_that_scores_already_gets_the_new_settings_alone(pipeline_folder, model, tmp_path):
    nlp = spacy_deid.load(pipeline_folder, surprisal={"model": model, "score": ENTROPY, "review_per_1000": 7})
    save(nlp, tmp_path / "saved")
    again = spacy_deid.load(tmp_path / "saved", surprisal={"threshold": 5.0})
    assert again.pipe_names == nlp.pipe_names
    assert again.get_pipe("deid_merge").sources == nlp.get_pipe("deid_merge").sources
    assert again.get_pipe("deid_surprisal").threshold == 5.0
    assert again.get_pipe("deid_surprisal").score.name == "entropy-1"
    assert again.get_pipe("deid_review").per_1000_words == 7


def test_without_its_group_no_text_is_released(pipeline_folder, model):
    nlp = spacy_deid.load(pipeline_folder, surprisal={"model": model})
    with nlp.select_pipes(disable=["deid_surprisal"]), pytest.raises(NotDeidentified, match="deid/surprisal"):
        nlp(TEXT)


def test_a_model_that_is_not_there_is_an_error_and_no_note_passes(pipeline_folder, tmp_path):
    nlp = spacy_deid.load(pipeline_folder, surprisal={"model": str(tmp_path / "nowhere")})
    with pytest.raises(ConfigError, match="nowhere"):
        nlp(TEXT)


def test_a_review_is_no_part_of_the_decision(pipeline_folder, model):
    nlp = spacy_deid.load(pipeline_folder, surprisal={"model": model, "review_per_1000": 5})
    stages = take_apart(nlp)
    assert stages.deciders == ["deid_merge"]
    (doc,) = detect(nlp, [TEXT], stages)
    assert [ent.label_ for ent in decide(nlp, doc, stages).ents] == ["CITY"]


@pytest.mark.parametrize("name", ["onnxruntime", "tokenizers"])
def test_a_pipeline_is_loaded_and_runs_without_the_packages_of_the_model(pipeline_folder, name):
    if name == "tokenizers" and find_spec("spacy_transformers"):
        pytest.skip("spacy-transformers is installed: spaCy imports it, and it needs tokenizers")
    program = (
        f"import sys; sys.modules['{name}'] = None\n"
        "import spacy_deid\n"
        f"print(spacy_deid.load({str(pipeline_folder)!r})('Vive en Puerto Esparza.')._.deid_text)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "Vive en [CITY].\n"
