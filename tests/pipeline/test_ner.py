"""deid_ner: trained on a handful of lines, saved, reloaded, run in batches and processes."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import spacy
from conftest import long_notes
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import fix_random_seed

from spacy_deid.errors import ConfigError
from spacy_deid.ml.crf import gold_spans
from spacy_deid.ml.decoding import Posterior
from spacy_deid.ml.prediction import Predictor
from spacy_deid.spans import read_evidence

LINES = [
    ("Nombre: Ana Pérez. Edad: 53 años.", [(8, 17, "PATIENT"), (25, 32, "AGE")]),
    ("Nombre: Luis Mas. Edad: 7 años.", [(8, 16, "PATIENT"), (24, 30, "AGE")]),
    ("Acude por dolor. Dra. Eva Gil.", [(22, 29, "CLINICIAN")]),
    ("Hemoglobina 13,2 g/dl y dieta.", []),
]
COMMITTEE = {
    "@architectures": "spacy_deid.Committee.v1",
    "*": {
        name: {
            "@architectures": "spacy_deid.TagScorer.v1",
            "tok2vec": {"@architectures": "spacy_deid.NoteTok2Vec.v1", "width": width, "depth": 1, "embed_size": 8},
        }
        for name, width in [("one", 32), ("two", 16)]
    },
}
TOK2VEC = {
    "@architectures": "spacy_deid.TagScorer.v1",
    "tok2vec": {
        "@architectures": "spacy.HashEmbedCNN.v2",
        "width": 32,
        "depth": 2,
        "embed_size": 500,
        "window_size": 1,
        "maxout_pieces": 2,
        "subword_features": True,
        "pretrained_vectors": None,
    },
}


def blank():
    return spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})


def examples(nlp):
    made = []
    for text, spans in LINES:
        reference = nlp.make_doc(text)
        reference.ents = [reference.char_span(start, end, label=label) for start, end, label in spans]
        made.append(Example(nlp.make_doc(text), reference))
    return made


def train(nlp, model, steps=40):
    fix_random_seed(0)
    nlp.add_pipe("deid_ner", config={"model": model})
    gold = examples(nlp)
    optimizer = nlp.initialize(lambda: gold)
    for _ in range(steps):
        nlp.update(examples(nlp), sgd=optimizer)
    return nlp


def found(doc):
    return [(span.text, span.label_) for span in doc.spans["deid/ner"]]


@pytest.fixture(scope="module", params=[COMMITTEE, TOK2VEC], ids=["committee", "spacy tok2vec"])
def nlp(request):
    return train(blank(), request.param)


TEXT = "Nombre: Ana Pérez. Edad: 53 años."
FOUND = [("Ana Pérez", "PATIENT"), ("53 años", "AGE")]


def test_a_component_saves_nothing_of_the_notes_it_read(nlp):
    ner = nlp.get_pipe("deid_ner")
    before = ner.to_bytes(exclude=["vocab"])
    assert nlp("Nombre: Zyxwalda Qqrtov. Edad: 53 años.").ents is not None
    assert ner.to_bytes(exclude=["vocab"]) == before


def test_learns_the_examples(nlp):
    assert found(nlp(TEXT)) == FOUND
    assert found(nlp("Hemoglobina 13,2 g/dl y dieta.")) == []


def test_evidence_holds_exact_characters_and_a_probability(nlp):
    first = read_evidence(nlp(TEXT), "deid/ner")[0]
    assert (first.start, first.end, first.label, first.source) == (8, 17, "PATIENT", "deid_ner")
    assert 0.5 < first.score <= 1.0


def test_a_name_that_was_found_is_found_again_and_the_rule_says_so(nlp):
    evidence = read_evidence(nlp(TEXT + "\nHemoglobina y dieta. Pérez"), "deid/ner")
    assert [item.rule for item in evidence if item.start > len(TEXT)] in (["echo"], ["model"])
    nlp.get_pipe("deid_ner").propagate_names = False
    try:
        assert "echo" not in {item.rule for item in read_evidence(nlp(TEXT + "\nPérez"), "deid/ner")}
    finally:
        nlp.get_pipe("deid_ner").propagate_names = True


def test_survives_disk_bytes_and_pickle(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    for again in (spacy.load(tmp_path), pickle.loads(pickle.dumps(nlp)), blank_from_bytes(nlp)):
        assert found(again(TEXT)) == FOUND
        assert again.get_pipe("deid_ner").labels == nlp.get_pipe("deid_ner").labels


def blank_from_bytes(nlp):
    return spacy.blank("es").from_config(nlp.config).from_bytes(nlp.to_bytes())


def test_survives_docbin(nlp):
    doc = nlp(TEXT)
    (again,) = DocBin(docs=[doc], store_user_data=True).get_docs(nlp.vocab)
    assert found(again) == FOUND
    assert read_evidence(again, "deid/ner") == read_evidence(doc, "deid/ner")


@pytest.mark.parametrize("blank", ["  ", "\t", "\u00a0", "      "])
def test_blanks_between_words_change_nothing(nlp, blank):
    doc = nlp(TEXT.replace(" ", blank))
    assert [(text.split(), label) for text, label in found(doc)] == [(text.split(), label) for text, label in FOUND]


def test_batches_and_processes_give_what_single_calls_give(nlp):
    texts = [text for text, _ in LINES] * 3
    single = [found(nlp(text)) for text in texts]
    assert any(single)
    assert [found(doc) for doc in nlp.pipe(texts, batch_size=5)] == single
    assert [found(doc) for doc in nlp.pipe(texts, batch_size=2, n_process=2)] == single


@pytest.mark.parametrize("text", ["", " ", "\n\n \t", "\x00", "😀", "ا‏"])
def test_odd_text_leaves_a_receipt(nlp, text):
    assert "deid/ner" in nlp(text).spans


@long_notes
def test_long_note_is_found_to_the_end(nlp, length):
    nlp.max_length = 2 * length
    doc = nlp(("Nombre: Ana Pérez. Edad: 53 años.\n" * (length // 30))[:length])
    assert doc.spans["deid/ner"][-1].end_char > length - 1000


def test_scores_follow_the_weights():
    nlp = train(blank(), COMMITTEE, steps=2)
    ner = nlp.get_pipe("deid_ner")

    def scores():
        predicted = [score.mean(axis=0) for score in ner.model.predict([nlp.make_doc(TEXT)])]
        (_, fast), *_ = Predictor(ner.model)([nlp.make_doc(TEXT)])
        np.testing.assert_allclose(fast, predicted[0], atol=1e-4)
        return ner.read([nlp.make_doc(TEXT)])[0].phi

    optimizer = nlp.resume_training()
    before = scores()
    nlp.update(examples(nlp), sgd=optimizer)
    after = scores()
    assert not np.allclose(before, after)
    halves = {
        (node.id, name): node.get_param(name) / 2
        for node in ner.model.walk()
        for name in node.param_names
        if node.has_param(name)
    }
    with nlp.use_params(halves):
        halved = scores()
    assert not np.allclose(halved, after)
    assert np.array_equal(scores(), after)
    ner.from_bytes(nlp.get_pipe("deid_ner").to_bytes())
    assert np.allclose(scores(), after, atol=0.01)


@pytest.mark.parametrize("nlp", [COMMITTEE], indirect=True, ids=["committee"])
@pytest.mark.parametrize("size", [1, 5, 13, 50])
def test_the_size_of_stretches_changes_nothing_that_is_found(nlp, size):
    ner = nlp.get_pipe("deid_ner")
    texts = ["\n".join([TEXT, "Hemoglobina y  dieta. Pérez", *(text for text, _ in LINES)]), "", TEXT, " \n"]
    whole = [read_evidence(nlp(text), "deid/ner") for text in texts]
    assert len(whole[0]) > 4
    ner.predictor = Predictor(ner.model, size)
    try:
        cut = [read_evidence(doc, "deid/ner") for doc in nlp.pipe(texts)]
    finally:
        ner.predictor = None
    for one, other in zip(whole, cut, strict=True):
        assert [(e.start, e.end, e.label, e.rule) for e in one] == [(e.start, e.end, e.label, e.rule) for e in other]
        assert [e.score for e in one] == pytest.approx([e.score for e in other], abs=1e-4)


def test_lower_threshold_covers_at_least_as_much(nlp):
    ner = nlp.get_pipe("deid_ner")
    ner.set_threshold(0.01)
    try:
        doc = nlp(TEXT)
    finally:
        ner.set_threshold(0.5)
    assert {("Ana Pérez", "PATIENT"), ("53 años", "AGE")} <= set(found(doc))


@pytest.mark.parametrize("blank", ["\r\n", "\u00a0", "\u202f", "  ", "\t\n"])
def test_white_space_at_the_edge_of_a_span_is_no_identifier(nlp, blank):
    ner = nlp.get_pipe("deid_ner")
    ner.set_threshold(1e-9)  # covers every token
    try:
        doc = nlp(TEXT.replace(" ", blank) + blank)
    finally:
        ner.set_threshold(0.5)
    spans = [span.text for span in doc.spans["deid/ner"]]
    assert spans
    assert spans == [text.strip() for text in spans]
    assert not any(text[0] in ".,;:!?)" for text in spans)
    words = {token.i for token in doc[:-1] if token.text[0].isalnum() and token.nbor().text != ":"}  # no field keys
    assert words
    assert words <= {token.i for span in doc.spans["deid/ner"] for token in span}


@pytest.mark.parametrize("threshold", [0.0, 1.0, -1, 2])
def test_thresholds_that_are_no_probability_are_refused(nlp, threshold):
    with pytest.raises(ConfigError, match="threshold"):
        nlp.get_pipe("deid_ner").set_threshold(threshold)


def test_calibration_is_saved(nlp, tmp_path):
    ner = nlp.get_pipe("deid_ner")
    report = ner.calibrate(examples(nlp))
    assert report["spans number"] >= 4
    nlp.to_disk(tmp_path)
    again = spacy.load(tmp_path).get_pipe("deid_ner").cfg
    assert again["tokens"] == pytest.approx(ner.cfg["tokens"])
    assert again["spans"] == pytest.approx(ner.cfg["spans"])


def test_untrained_component_refuses_to_run():
    nlp = blank()
    nlp.add_pipe("deid_ner")
    with pytest.raises(ConfigError, match="not trained"):
        nlp("Nombre: Ana")


def test_label_outside_the_scheme_is_refused():
    nlp = blank()
    reference = nlp.make_doc("Ana")
    reference.ents = [reference.char_span(0, 3, label="NOMBRE")]
    nlp.add_pipe("deid_ner")
    with pytest.raises(ConfigError, match="NOMBRE"):
        nlp.initialize(lambda: [Example(nlp.make_doc("Ana"), reference)])


def test_training_data_without_entities_is_refused():
    nlp = blank()
    nlp.add_pipe("deid_ner")
    with pytest.raises(ConfigError, match="no labels"):
        nlp.initialize(lambda: [Example(nlp.make_doc("Ana"), Doc(nlp.vocab, words=["Ana"]))])


def test_entities_that_cross_token_edges_are_widened_in_training():
    nlp = blank()
    reference = Doc(nlp.vocab, words=["DonAna"], spaces=[False], ents=["B-PATIENT"])
    predicted = Doc(nlp.vocab, words=["Don", "Ana"], spaces=[False, False])
    assert gold_spans(Example(predicted, reference), ["PATIENT"]) == [(0, 2, 0)]


def test_of_entities_that_share_a_token_the_longer_keeps_it_and_nothing_is_lost():
    nlp = blank()
    reference = Doc(nlp.vocab, words=["2", "0Ana"], spaces=[False, False], ents=["B-AGE", "B-PATIENT"])
    predicted = Doc(nlp.vocab, words=["20", "Ana"], spaces=[False, False])
    assert gold_spans(Example(predicted, reference), ["PATIENT", "AGE"]) == [(0, 2, 0)]


BROKEN = "Acude por dolor. Dra. Eva Gil. Hemo-\nglobina 13,2 g/dl y di-\neta.\n" + TEXT


@pytest.fixture
def twice(nlp):
    nlp.get_pipe("deid_ner").second_reading = True
    yield nlp
    nlp.get_pipe("deid_ner").second_reading = False


def test_a_second_reading_loses_nothing_and_its_rule_says_what_it_added(nlp, twice):
    ner = nlp.get_pipe("deid_ner")
    doc = nlp.make_doc(BROKEN)
    (both,) = ner.read([doc])
    assert both.first is not None
    assert (both.phi >= both.first.phi).all()
    only = Posterior([], np.zeros_like(both.phi), both.labels)
    rules = {rule for *_, rule in ner.choose(doc, replace(both, first=only), ner.get_point())}
    assert "second reading" in rules
    assert "model" not in rules
    assert {rule for *_, rule in ner.choose(doc, replace(both, first=both), ner.get_point())} <= {"model", "echo"}


def test_an_undamaged_note_is_found_alike_with_a_second_reading(nlp, twice):
    assert nlp.get_pipe("deid_ner").read([nlp.make_doc(TEXT)])[0].first is None
    assert found(twice(TEXT)) == FOUND
    assert found(twice("")) == []


def test_the_second_reading_runs_in_processes_and_after_pickling(twice):
    docs = [(doc.text, found(doc)) for doc in twice.pipe([BROKEN, TEXT] * 2)]
    assert [(doc.text, found(doc)) for doc in twice.pipe([BROKEN, TEXT] * 2, n_process=2)] == docs
    assert found(pickle.loads(pickle.dumps(twice))(BROKEN)) == docs[0][1]


def test_the_second_reading_is_saved_with_the_config(tmp_path):
    nlp = blank()
    nlp.add_pipe("deid_ner", config={"second_reading": True, "model": TOK2VEC})
    assert spacy.blank("es").from_config(nlp.config).get_pipe("deid_ner").second_reading
