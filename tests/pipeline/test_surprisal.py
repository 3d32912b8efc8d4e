"""deid_surprisal with the Spanish model that ships."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_deid.errors import ConfigError
from spacy_deid.masked_lm.columns import MOST_SURPRISING
from spacy_deid.saving import protect

pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

KEY = "deid/surprisal"
NOTE = "Paciente: Zuriñe Quetzalcanario\r\nAcude por dolor 😀 de 3 días. Quetzalcanario niega fiebre."


def make(**settings):
    nlp = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
    nlp.add_pipe("deid_surprisal", config=settings)
    return nlp


@pytest.fixture(scope="module")
def nlp():
    return make(threshold=15.0)


def test_every_token_with_a_letter_or_digit_has_a_score(nlp):
    doc = nlp(NOTE)
    found = doc.user_data[KEY]
    words = [(token.idx, token.idx + len(token)) for token in doc if any(map(str.isalnum, token.text))]
    assert list(zip(found["starts"], found["ends"], strict=True)) == words
    assert all(len(column) == len(words) for column in (found["values"], *found["features"].values()))
    assert np.isfinite(found["values"]).all()


def test_an_odd_name_is_more_surprising_than_the_words_of_a_form(nlp):
    found = nlp(NOTE).user_data[KEY]
    score = {NOTE[a:b]: value for a, b, value in zip(found["starts"], found["ends"], found["values"], strict=True)}
    assert score["Quetzalcanario"] > 2 * max(score["Paciente"], score["de"], score["dolor"])


def test_scores_and_spans_survive_bytes(nlp):
    doc = nlp(NOTE)
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert again.user_data[KEY] == doc.user_data[KEY]
    assert [(span.start, span.label_) for span in again.spans[KEY]] == [(s.start, s.label_) for s in doc.spans[KEY]]


def test_what_reaches_the_threshold_becomes_a_span_and_nothing_else():
    values = make()(NOTE).user_data[KEY]["values"]
    limit = sorted(values)[-3]
    doc = make(threshold=limit)(NOTE)
    found = doc.user_data[KEY]
    wanted = {a for a, value in zip(found["starts"], found["values"], strict=True) if value >= limit}
    assert {span.start_char for span in doc.spans[KEY]} == wanted
    assert len(wanted) == 3


def test_without_a_threshold_the_empty_group_says_that_it_ran():
    assert list(make()(NOTE).spans[KEY]) == []


@pytest.mark.parametrize("text", ["", " \n ", "...", "Ana", "Ana Ana Ana Ana", "😀"])
def test_notes_of_next_to_nothing(nlp, text):
    found = nlp(text).user_data[KEY]
    assert len(found["values"]) == sum(any(map(str.isalnum, word)) for word in text.split())
    assert KEY in nlp(text).spans


def test_what_the_model_cannot_read_is_counted_and_most_surprising(nlp):
    found = nlp("Habla \u0e01 y " + "x" * 500).user_data[KEY]  # Thai is no part of its alphabet
    assert found["unaligned"] == 2
    assert sorted(found["values"])[-2:] == [MOST_SURPRISING] * 2


def test_a_score_that_is_no_number_counts_as_most_surprising():
    nlp = make(threshold=1.0)
    part = nlp.get_pipe("deid_surprisal")
    part.score = replace(part.score, compute=lambda doc, words, columns: np.full(len(words), np.nan))
    doc = nlp("Ana Pérez")
    assert doc.user_data[KEY]["values"] == [MOST_SURPRISING] * 2
    assert len(doc.spans[KEY]) == 2


def test_notes_that_share_batches_score_as_they_do_alone():
    nlp = make(mode="exact")
    texts = [NOTE, "", "Ana Pérez acude.", NOTE * 12]  # the last one is longer than a window
    for text, doc in zip(texts, nlp.pipe(texts), strict=True):
        alone = nlp(text).user_data[KEY]["values"]
        assert doc.user_data[KEY]["values"] == pytest.approx(alone, abs=1e-3)


def test_a_saved_pipeline_has_no_word_of_a_note_and_works_again(tmp_path):
    nlp = make()
    protect(nlp)
    wanted = nlp(NOTE).user_data[KEY]["values"]
    nlp.to_disk(tmp_path / "saved")
    for file in (tmp_path / "saved").rglob("*"):
        assert file.is_dir() or b"Quetzalcanario" not in file.read_bytes()
    assert spacy.load(tmp_path / "saved")(NOTE).user_data[KEY]["values"] == pytest.approx(wanted)
    part = pickle.loads(pickle.dumps(nlp.get_pipe("deid_surprisal")))
    assert part(nlp.make_doc(NOTE)).user_data[KEY]["values"] == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "/nowhere/at/all"}, "folder not found"),
        ({"model": "bert-base-cased"}, "folder not found"),
        ({"precision": "half"}, "unknown precision"),
        ({"window": 4}, "must be at least"),
    ],
)
def test_a_detector_that_cannot_run_stops_the_pipeline(settings, message):
    with pytest.raises(ConfigError, match=message):
        make(**settings)("Ana Pérez")


def test_a_damaged_model_is_refused_without_a_word_of_the_note(tmp_path):
    from spacy_deid.lang import get_language

    for file in get_language("es").resource("masked_lm").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes()[:1000] if file.suffix == ".onnx" else file.read_bytes())
    with pytest.raises(ConfigError, match="damaged") as caught:
        make(model=str(tmp_path))(NOTE)
    assert "Quetzalcanario" not in str(caught.value)
