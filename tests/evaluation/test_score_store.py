"""Scores of a corpus: kept, taken up again, never mixed up, and without a word of text."""

import numpy as np
import pytest
import spacy

from spacy_deid.errors import InputError, NotDeidentified
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.score_store import score_corpus, store_key

TOKENIZER = {"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}}
NOTES = [
    AnnotatedText("a", "Acude Xqzutoiaga por dolor.", (Entity(6, 16, "PATIENT"),)),
    AnnotatedText("b", ""),
    *(AnnotatedText(f"c{i}", f"Nombre: Ana {i}.\nAcude por dolor.", (Entity(8, 11, "PATIENT"),)) for i in range(12)),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from unigram_model import make_unigram_model

    return make_unigram_model(tmp_path_factory.mktemp("model") / "es", [note.text for note in NOTES] * 2)


@pytest.fixture
def nlp(model):
    nlp = spacy.blank("es", config=TOKENIZER)
    nlp.add_pipe("deid_surprisal", config={"model": str(model)})
    return nlp


class Interrupted(Exception):
    """Somebody breaks it off."""


def stop_after(count):
    """A step that breaks off."""
    done = []

    def step(more):
        done.append(more)
        if len(done) == count:
            raise Interrupted

    return step


def same(one, other):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("document", "start", "end", "gold", "word", "value")
    )


def test_every_note_is_scored_and_counted(nlp):
    steps = []
    table, about = score_corpus(nlp, NOTES, step=steps.append)
    assert sum(steps) == len(NOTES)
    assert set(table.document) == {0, *range(2, len(NOTES))}
    assert table.gold.sum() == 13
    assert about["model"] == "unigram"
    assert all(about[name] for name in ("mode", "masking", "score"))
    assert {"surprisal", "entropy", "pieces"} <= set(table.columns)


def test_a_word_that_was_never_read_is_among_the_most_surprising(nlp):
    table, about = score_corpus(nlp, NOTES[:1])
    assert about["unaligned"] == 0
    table, about = score_corpus(nlp, [AnnotatedText("x", "Acude Wxyz por dolor")])
    assert about["unaligned"] == 1
    assert table.value.argmax() == 1


def test_kept_scores_are_the_same_and_are_not_computed_again(nlp, tmp_path):
    table, _ = score_corpus(nlp, NOTES, tmp_path)
    scored = []
    nlp.add_pipe("scored_counter", config={})
    nlp.get_pipe("scored_counter").seen = scored
    again, _ = score_corpus(nlp, NOTES, tmp_path)
    assert same(table, again)
    assert list(table.columns) == list(again.columns)
    assert len(scored) == 1  # the first, to tell what scores


@spacy.Language.factory("scored_counter")
class ScoredCounter:
    """Counts the notes that pass."""

    def __init__(self, nlp, name):
        self.seen = []

    def __call__(self, doc):
        self.seen.append(1)
        return doc


def test_an_evaluation_that_was_broken_off_is_taken_up_where_it_was(nlp, tmp_path):
    with pytest.raises(Interrupted):
        score_corpus(nlp, NOTES, tmp_path, stop_after(5))
    (file,) = tmp_path.glob("*.npz")
    with np.load(file) as kept:
        assert 1 <= len(kept["sizes"]) < len(NOTES)
    again, _ = score_corpus(nlp, NOTES, tmp_path)
    assert same(again, score_corpus(nlp, NOTES)[0])
    assert len(list(tmp_path.iterdir())) == 1


def test_the_file_holds_numbers_only(nlp, tmp_path):
    score_corpus(nlp, NOTES, tmp_path)
    (file,) = tmp_path.iterdir()
    assert "utoiaga" not in file.name
    with np.load(file) as kept:
        assert all(kept[name].dtype.kind in "if" for name in kept.files)
        assert not any("utoiaga" in name or "Ana" in name for name in kept.files)


def test_a_damaged_file_is_named_and_left(nlp, tmp_path):
    score_corpus(nlp, NOTES, tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(InputError, match=r"scores-.*\.npz.*Delete"):
        score_corpus(nlp, NOTES, tmp_path)
    assert file.stat().st_size == 200


def test_the_key_changes_with_text_settings_and_what_scores_but_not_with_gold_or_threshold(nlp, model):
    about = {"model": "unigram", "mode": "exact"}
    key = store_key(nlp, NOTES, about)
    assert key == store_key(nlp, [AnnotatedText("other", note.text) for note in NOTES], about)
    assert key != store_key(nlp, NOTES[1:], about)
    assert key != store_key(nlp, NOTES, {**about, "mode": "spread"})
    for config, equal in (({"threshold": 3.0, "label": "PERSON"}, True), ({"window": 32}, False)):
        other = spacy.blank("es", config=TOKENIZER)
        other.add_pipe("deid_surprisal", config={"model": str(model), **config})
        assert (store_key(other, NOTES, about) == key) is equal


def test_a_pipeline_that_scores_nothing_is_an_error():
    with pytest.raises(NotDeidentified, match="'a'"):
        score_corpus(spacy.blank("es", config=TOKENIZER), NOTES)


def test_no_notes_have_an_empty_table(nlp):
    assert len(score_corpus(nlp, [])[0]) == 0
