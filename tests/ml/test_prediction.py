"""The predictor gives the scores of the thinc model, for whole notes and for stretches of them."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.ml.models.tok2vec import build_hash_embed_cnn_tok2vec
from thinc.api import Model
from thinc.util import fix_random_seed

from spacy_deid.ml import crf, prediction, word_forms
from spacy_deid.ml.decoding import read_posteriors, read_stretches
from spacy_deid.ml.features import NoteFeatures, dense_tokens
from spacy_deid.ml.lexicon import build_lexicon
from spacy_deid.ml.prediction import STRETCH, Predictor, can_predict
from spacy_deid.ml.tagger import build_committee, build_note_tok2vec, build_tag_scorer
from spacy_deid.tokenizer import make_clinical_tokenizer

NOTE = (
    "HOSPITAL DE PRUEBA\n\nNombre: Braulio   Sanz.\r\nEdad: 53 años Sexo: H\n\n\n"
    "Acude por dolor. El paciente Braulio niega alergias; vive en la calle Mayor con su hermana Zyxwalda, y hoy "
    "no tiene fiebre. Pauta: reposo: 3 días.\t12:30\nFirmado: Dra. Eva Gil"
)


make_doc = make_clinical_tokenizer()(spacy.blank("es"))


@pytest.fixture(scope="module")
def committee() -> Model:
    """Two members that see differently far, with random weights, which tell every token from every other."""
    fix_random_seed(1)
    shapes = [{"width": 24, "depth": 2, "embed_size": 8}, {"width": 16, "depth": 2, "window_size": 3, "embed_size": 8}]
    members = [build_tag_scorer(build_note_tok2vec(**shape), nO=crf.n_tags(2)) for shape in shapes]
    model = build_committee(*members)
    model.initialize(X=[make_doc(NOTE)], Y=[np.zeros((len(make_doc(NOTE)), crf.n_tags(2)), dtype=np.float32)])
    for node in model.walk():
        if node.name == "linear":
            node.set_param("W", np.random.uniform(-1, 1, node.get_param("W").shape).astype(np.float32))
    return model


def scores_of(predictor, docs):
    parts = {}
    for i, scores in predictor(docs):
        parts.setdefault(i, []).append(scores)
    return {i: np.concatenate(stretches) for i, stretches in parts.items()}


@pytest.mark.parametrize("size", [1, 2, 7, 20, STRETCH])
def test_the_predictor_scores_tokens_as_the_model_does(committee, size):
    docs = [make_doc(text) for text in (NOTE, "", "Hola", " \t ", NOTE.upper(), "Nombre: Ana\n")]
    whole = [scores.mean(axis=0)[dense_tokens(doc)] for doc, scores in zip(docs, committee.predict(docs), strict=True)]
    predicted = scores_of(Predictor(committee, size), docs)
    assert sorted(predicted) == [0, 2, 4, 5]
    assert whole[0].std(axis=0).min() > 0.01  # tokens do differ
    for i, scores in predicted.items():
        np.testing.assert_allclose(scores, whole[i], atol=1e-4)


def test_the_predictor_scores_networks_without_some_features_and_with_other_lexicons(tmp_path):
    fix_random_seed(2)
    words = build_lexicon({"given": ["Braulio", "Eva"]}, {"dolor": 20}, {"dolor": 2, "casa": 1}, [7, 9])
    (tmp_path / "lexicon").write_bytes(words.to_bytes())
    shapes = [
        {"width": 8, "depth": 1, "rows": {"lower": 50, "case": 20}, "maxout_pieces": 3},
        {"width": 8, "depth": 2, "lexicon": str(tmp_path / "lexicon"), "maxout_pieces": 1},
    ]
    model = build_committee(*[build_tag_scorer(build_note_tok2vec(**shape), nO=9) for shape in shapes])
    model.initialize(X=[make_doc(NOTE)], Y=[np.zeros((len(make_doc(NOTE)), 9), dtype=np.float32)])
    for node in model.walk():
        if node.name == "linear":
            node.set_param("W", np.random.uniform(-1, 1, node.get_param("W").shape).astype(np.float32))
    docs = [make_doc(NOTE), make_doc("Nombre: Ana\n")]
    whole = [scores.mean(axis=0)[dense_tokens(doc)] for doc, scores in zip(docs, model.predict(docs), strict=True)]
    for i, scores in scores_of(Predictor(model, 30), docs).items():
        np.testing.assert_allclose(scores, whole[i], atol=1e-4)


def test_tables_of_the_predictor_are_bounded_and_stay_out_of_pickles(committee, monkeypatch):
    monkeypatch.setattr(prediction, "CACHE_SIZE", 30)
    monkeypatch.setattr(word_forms, "CACHE_SIZE", 30)
    monkeypatch.setattr(prediction, "KEY_CACHE_SIZE", 2)
    docs = [make_doc(NOTE), make_doc("Hola Ana " * 9), make_doc(NOTE.upper())]
    full = scores_of(Predictor(committee), docs)
    predictor = Predictor(committee, 25)
    for _ in range(2):
        for i, scores in scores_of(predictor, docs).items():
            np.testing.assert_allclose(scores, full[i], atol=1e-4)
    again = pickle.loads(pickle.dumps(predictor))
    assert len(pickle.dumps(again)) == len(pickle.dumps(Predictor(committee, 25)))
    for i, scores in scores_of(again, docs).items():
        np.testing.assert_allclose(scores, full[i], atol=1e-4)


def test_tables_that_were_emptied_keep_their_arrays(committee, monkeypatch):
    monkeypatch.setattr(prediction, "CACHE_SIZE", 100)
    monkeypatch.setattr(word_forms, "CACHE_SIZE", 100)
    monkeypatch.setattr(prediction, "KEY_CACHE_SIZE", 50)
    predictor = Predictor(committee)
    arrays = []
    for first in range(0, 8000, 20):
        text = " ".join(f"{chr(97 + number % 26)}{number}: 1" for number in range(first, first + 20))
        scores_of(predictor, [make_doc(text.replace(" 1 ", "\n"))])
        group = predictor._groups[0]
        tables = [group._by_form, *group._by_key.values()]
        assert max(len(table._vectors) for table in tables) <= 128
        arrays.append([id(table._vectors) for table in tables])
    assert len(arrays[100]) == 4
    assert all(now == arrays[100] for now in arrays[100:])


def test_word_forms_are_in_no_pickle():
    features = NoteFeatures()
    assert len(features(make_doc(NOTE))) > 20
    assert pickle.dumps(features) == pickle.dumps(NoteFeatures())
    assert pickle.dumps(features.forms) == pickle.dumps(NoteFeatures().forms)


def test_threads_may_share_a_predictor(committee, monkeypatch):
    monkeypatch.setattr(prediction, "CACHE_SIZE", 20)  # the tables are made again and again
    monkeypatch.setattr(word_forms, "CACHE_SIZE", 20)
    monkeypatch.setattr(prediction, "KEY_CACHE_SIZE", 2)
    notes = [[make_doc(f"{NOTE} {'Ana ' * k}{'abc' * k}")] for k in range(8)]
    alone = [scores_of(Predictor(committee), docs)[0] for docs in notes]
    shared = Predictor(committee, 30)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda docs: scores_of(shared, docs)[0], notes * 3))
    for scores, expected in zip(together, alone * 3, strict=True):
        np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_notes_that_are_read_together_have_the_features_of_each():
    docs = [make_doc(text) for text in (NOTE, "", "Nombre: Ana\n", " ", NOTE.upper(), "Ana: Ana")]
    view = NoteFeatures().read(docs)
    assert np.array_equal(view.rows(0, len(view)), np.concatenate([NoteFeatures()(doc) for doc in docs]))


@settings(deadline=None)
@given(st.text(st.sampled_from("aB1:.\n \ré"), max_size=80), st.integers(1, 9))
def test_stretches_of_a_note_have_the_features_of_the_whole_note(text, size):
    doc = make_doc(text)
    view, whole = NoteFeatures().read([doc]), NoteFeatures()(doc)
    assert len(view) == len(whole) == len(dense_tokens(doc))
    for start in range(0, len(view), size):
        assert np.array_equal(view.rows(start, min(len(view), start + size)), whole[start : start + size])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 1500), max_size=4), st.integers(1, 700), st.integers(0, 2**32 - 1))
def test_scores_that_come_in_stretches_are_decoded_as_if_they_came_at_once(lengths, size, seed):
    rng = np.random.default_rng(seed)
    emissions = [rng.normal(size=(n, crf.n_tags(2))).astype(np.float32) * 3 for n in lengths]
    stretches = ((i, e[start : start + size]) for i, e in enumerate(emissions) for start in range(0, len(e), size))
    for streamed, whole in zip(read_stretches(lengths, stretches), read_posteriors(emissions), strict=True):
        assert streamed.spans == whole.spans
        assert np.array_equal(streamed.phi, whole.phi)
        assert np.array_equal(streamed.labels, whole.labels)


def test_batches_of_stretches_are_bounded(committee):
    docs = [make_doc("Hola Ana. " * n) for n in (3, 40, 0, 1, 1, 1, 20)]
    batches = [batch for batch, _ in Predictor(committee, 25).read_batches(docs)]
    assert max(sum(stretch.stop - stretch.start for stretch in batch) for batch in batches) <= 25
    assert [(stretch.note, stretch.start) for batch in batches for stretch in batch] == sorted(
        (i, start) for i, doc in enumerate(docs) for start in range(0, len(doc), 25)
    )


def test_the_predictor_supports_networks_of_note_features_only(committee):
    assert can_predict(committee)
    assert can_predict(build_tag_scorer(build_note_tok2vec(width=8, depth=1)))
    other = build_hash_embed_cnn_tok2vec(
        width=8,
        depth=1,
        embed_size=10,
        window_size=1,
        maxout_pieces=2,
        subword_features=False,
        pretrained_vectors=None,
    )
    assert not can_predict(build_tag_scorer(other))
    assert not can_predict(build_committee(build_tag_scorer(build_note_tok2vec(width=8)), build_tag_scorer(other)))
