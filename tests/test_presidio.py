"""A pipeline in the real analyzer of Presidio: what it finds, its labels, and what it raises instead of nothing."""

import pickle
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import NOTE
from spacy.language import Language

from spacy_deid import Deidentifier, NotDeidentified
from spacy_deid.errors import ConfigError

presidio = pytest.importorskip(
    "presidio_analyzer", reason="needs presidio-analyzer: pip install 'spacy-deid[presidio]'"
)
CANARY = "Zyxwalda Qvistberg"


@Language.component("fails_on_canary")
def fails_on_canary(doc):
    if CANARY in doc.text:
        raise ValueError(f"cannot handle '{doc.text}'")
    return doc


@pytest.fixture
def failing(nlp):
    """A pipeline that cannot process the canary."""
    nlp.add_pipe("fails_on_canary", first=True)
    return nlp


def with_engine(pipeline):
    from spacy_deid.presidio import DeidNlpEngine

    engine = DeidNlpEngine({"es": pipeline})
    registry = presidio.RecognizerRegistry(supported_languages=["es"])
    registry.add_nlp_recognizer(engine)
    return presidio.AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["es"])


def with_recognizer(pipeline):
    from presidio_analyzer.nlp_engine import NoOpNlpEngine

    from spacy_deid.presidio import DeidRecognizer

    registry = presidio.RecognizerRegistry(supported_languages=["es"])
    registry.add_recognizer(DeidRecognizer(pipeline))
    engine = NoOpNlpEngine([{"lang_code": "es", "model_name": "none"}])
    return presidio.AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["es"])


both = pytest.mark.parametrize("make", [with_engine, with_recognizer])


def found(analyzer, text, **settings):
    results = sorted(analyzer.analyze(text, language="es", **settings), key=lambda result: result.start)
    return [(result.entity_type, text[result.start : result.end]) for result in results]


EXPECTED = [("LOCATION", "Puerto Esparza"), ("EMAIL_ADDRESS", "ana.lopez@ejemplo.es")]


@both
def test_the_analyzer_finds_what_the_pipeline_finds(make, nlp):
    assert found(make(nlp), NOTE) == EXPECTED
    assert found(make(nlp), "Acude por tos.") == []
    assert found(make(nlp), "") == []


@both
def test_no_threshold_of_presidio_drops_a_result(make, nlp):
    assert found(make(nlp), NOTE, score_threshold=0.99) == EXPECTED
    assert found(make(nlp), NOTE, entities=["LOCATION"]) == EXPECTED[:1]


@both
def test_spans_that_the_policy_keeps_are_no_results(make, nlp, tmp_path):
    policy = tmp_path / "keep.toml"
    policy.write_text('name = "keep"\ndefault = "replace"\n[labels]\nCITY = "keep"\n')
    assert found(make(Deidentifier(nlp, policy=str(policy))), NOTE) == EXPECTED[1:]


@both
@pytest.mark.parametrize("text", [f"{CANARY} acude.", f"{NOTE}{CANARY}"])
def test_a_pipeline_that_fails_raises_instead_of_returning_nothing(make, failing, text):
    with pytest.raises(NotDeidentified, match="text 0") as raised:
        make(failing).analyze(text, language="es")
    shown = "".join(traceback.format_exception(raised.value))
    assert "Zyxwalda" not in shown
    assert "Qvistberg" not in shown


@both
def test_a_pipeline_with_a_detector_that_did_not_run_raises(make, nlp):
    analyzer = make(nlp)
    nlp.disable_pipe("deid_ruler")
    with pytest.raises(NotDeidentified):
        analyzer.analyze(NOTE, language="es")


@both
def test_a_batch_with_a_text_that_fails_raises(make, failing):
    batch = presidio.BatchAnalyzerEngine(make(failing))
    assert [len(results) for results in batch.analyze_iterator([NOTE, "tos", NOTE], language="es")] == [2, 0, 2]
    with pytest.raises(NotDeidentified):
        batch.analyze_iterator([NOTE, CANARY, NOTE], language="es", batch_size=2)


def test_a_batch_names_the_text_that_failed(failing):
    engine = with_engine(failing).nlp_engine
    with pytest.raises(NotDeidentified, match="text 2 "):
        list(engine.process_batch([NOTE, "tos", CANARY], "es"))
    pairs = list(engine.process_batch([(NOTE, "a"), ("tos", "b")], "es", as_tuples=True))
    assert [(text, context) for text, _, context in pairs] == [(NOTE, "a"), ("tos", "b")]
    with pytest.raises(ConfigError, match="'fi' has no pipeline"):
        engine.process_text(NOTE, "fi")


def test_a_recognizer_runs_beside_those_of_presidio(nlp):
    analyzer = with_recognizer(nlp)
    ward = presidio.Pattern("ward", r"\bplanta \d+\b", 0.5)
    analyzer.registry.add_recognizer(
        presidio.PatternRecognizer("WARD", patterns=[ward], supported_language="es", context=["ingresa"])
    )
    assert found(analyzer, f"{NOTE}Ingresa en planta 4.") == [*EXPECTED, ("WARD", "planta 4")]


def test_words_of_the_engine_are_context_of_other_recognizers(nlp):
    analyzer = with_engine(nlp)
    ward = presidio.Pattern("ward", r"\bplanta \d+\b", 0.5)
    analyzer.registry.add_recognizer(
        presidio.PatternRecognizer("WARD", patterns=[ward], supported_language="es", context=["ingresa"])
    )
    (alone,) = analyzer.analyze("En planta 4.", language="es")
    (beside,) = analyzer.analyze("Ingresa en planta 4.", language="es")
    assert beside.score > alone.score


def test_results_have_exact_offsets_the_label_and_the_detectors(nlp):
    from spacy_deid.presidio import DeidRecognizer

    text = "Vive en Puerto\u200b Esparza."  # an invisible character inside the name
    (result,) = DeidRecognizer(nlp).analyze(text, [])
    assert text[result.start : result.end] == "Puerto\u200b Esparza"
    assert result.recognition_metadata["label"] == "CITY"
    assert result.analysis_explanation.textual_explanation == "CITY found by deid_ruler"
    (other,) = with_engine(nlp).analyze(text, language="es")
    assert (other.start, other.end) == (result.start, result.end)


def test_texts_leave_nothing_in_the_strings_of_the_pipeline(nlp):
    deid = Deidentifier(nlp)
    with_engine(deid).analyze(f"{NOTE}{CANARY}", language="es")
    assert "Zyxwalda" not in deid.nlp.vocab.strings


def test_threads_can_share_an_analyzer(nlp):
    analyzer = with_engine(nlp)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: found(analyzer, NOTE), range(12)))
    assert results == [EXPECTED] * 12


def test_results_can_be_pickled(nlp):
    results = with_engine(nlp).analyze(NOTE, language="es")
    assert pickle.loads(pickle.dumps(results)) == results


def test_without_presidio_the_error_names_the_extra():
    program = "import sys; sys.modules['presidio_analyzer'] = None; import spacy_deid.presidio"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'spacy-deid[presidio]'" in shown.stderr.splitlines()[-1]
