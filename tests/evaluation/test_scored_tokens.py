"""Tables of scored tokens, and the rules without a model."""

import math

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import DocBin

from spacy_deid.errors import InputError, NotDeidentified
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.scored_tokens import (
    BASELINES,
    KEY,
    find_scorable,
    join,
    layout_rule,
    read_record,
    score_corpus,
    score_tokens,
    shape_rule,
    store_key,
)

NLP = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
TEXT = "Correo: ana.rueda@jaca.es\n" + "Acude la Sra. Rueda, de 34 años. " * 5 + "\n"


def record(doc, tokens=None, **features):
    """What the component would write: a score that is the length of the token."""
    tokens = [doc[i] for i in (find_scorable(doc) if tokens is None else tokens)]
    values = [float(len(token)) for token in tokens]
    return {
        "starts": [token.idx for token in tokens],
        "ends": [token.idx + len(token) for token in tokens],
        "values": values,
        "features": {name: [value(token) for token in tokens] for name, value in features.items()},
    }


def table(text, *entities, **features):
    doc = NLP.make_doc(text)
    note = AnnotatedText("n", text, tuple(Entity(*span, "OTHER") for span in entities))
    return score_tokens(note, doc, record(doc, **features))


def words_of(mask, doc):
    return [token.text for token, flag in zip(doc, mask, strict=True) if flag]


def test_marks_and_white_space_are_no_rows():
    rows = table(TEXT)
    assert [TEXT[s:e] for s, e in zip(rows.start[:4], rows.end[:4], strict=True)] == ["Correo", "ana", "rueda", "jaca"]
    assert all(any(map(str.isalnum, TEXT[s:e])) for s, e in zip(rows.start, rows.end, strict=True))


def test_a_word_is_phi_if_one_token_is_and_scores_as_its_highest():
    rows = table(TEXT, (12, 17), doubled=lambda token: 2.0 * len(token))
    assert rows.gold.tolist()[:5] == [False, False, True, False, False]
    words = rows.words()
    assert (words.start[1], words.end[1]) == (8, 25)
    assert words.gold.tolist()[:3] == [False, True, False]
    assert words.value.tolist()[:2] == [6.0, 5.0]
    assert words.columns["doubled"].tolist()[:2] == [12.0, 10.0]


def test_a_token_that_is_partly_phi_is_phi():
    assert table("Vive en Vallespino.", (8, 12)).gold.tolist() == [False, False, True]


def test_gold_that_has_only_marks_of_a_token_makes_no_phi():
    assert not table("Ana, Rueda", (3, 5)).gold.any()


def test_header_and_narrative_add_up():
    rows = table(TEXT, (12, 17))
    header, narrative = rows.take("header"), rows.take("narrative")
    assert len(header) == 5
    assert len(header) + len(narrative) == len(rows)
    assert header.gold.any()
    assert not narrative.gold.any()
    assert len(narrative.words()) + len(header.words()) == len(rows.words())


def test_a_token_without_a_score_stays_in_the_table_and_is_never_found():
    doc = NLP.make_doc("Ana vive aquí")
    rows = score_tokens(AnnotatedText("n", doc.text), doc, record(doc, [0, 2], rank=lambda token: 1.0))
    assert rows.value.tolist() == [3.0, -math.inf, 4.0]
    assert math.isnan(rows.columns["rank"][1])
    assert rows.with_value("rank").value.tolist() == [1.0, -math.inf, 1.0]


def test_scores_of_another_note_are_refused_by_name():
    doc = NLP.make_doc("Ana vive aquí")
    with pytest.raises(InputError, match=r"'n': 1 of its 3 scores") as error:
        score_tokens(AnnotatedText("n", doc.text), doc, record(doc) | {"ends": [6, 8, 13]})
    assert "Ana" not in str(error.value)
    with pytest.raises(InputError, match="not that of the gold"):
        score_tokens(AnnotatedText("n", "Anabel vive aquí"), doc, record(doc))


def test_a_score_that_stands_twice_is_refused():
    doc = NLP.make_doc("Ana vive")
    with pytest.raises(InputError, match="'n'"):
        score_tokens(AnnotatedText("n", doc.text), doc, record(doc, [0, 0]))


def test_a_note_that_was_not_scored_is_an_error():
    with pytest.raises(NotDeidentified, match="'n'"):
        read_record(NLP.make_doc("Ana"), "n")


def test_columns_of_different_length_are_refused():
    doc = NLP.make_doc("Ana vive")
    doc.user_data[KEY] = record(doc) | {"features": {"rank": [1.0]}}
    with pytest.raises(InputError, match="differ in length"):
        read_record(doc, "n")


def test_a_record_survives_a_docbin():
    doc = NLP.make_doc("Ana vive aquí")
    doc.user_data[KEY] = record(doc, rank=lambda token: math.inf)
    (back,) = DocBin().from_bytes(DocBin(docs=[doc], store_user_data=True).to_bytes()).get_docs(NLP.vocab)
    before, after = (score_tokens(AnnotatedText("n", doc.text), one, read_record(one)) for one in (doc, back))
    assert after.value.tolist() == before.value.tolist() == [3.0, 4.0, 4.0]
    assert after.columns["rank"].tolist() == [math.inf] * 3


@pytest.mark.parametrize("text", ["", " \n ", "…"])
def test_a_note_without_words_has_an_empty_table(text):
    rows = table(text)
    assert len(rows) == len(rows.words()) == len(rows.take("header")) == 0


def test_tables_are_joined_with_words_and_documents_numbered_on():
    one, empty, other = table("Ana Rueda"), table(""), table("ana.rueda vive")
    rows = join([one, empty, other])
    assert rows.document.tolist() == [0, 0, 2, 2, 2]
    assert rows.word.tolist() == [0, 1, 2, 2, 3]
    assert len(rows.words()) == 4
    assert len(join([])) == 0


@given(st.lists(st.text(alphabet="aB1.: \n", max_size=30), max_size=4))
def test_words_are_what_stands_between_white_space(texts):
    rows = join([table(text) for text in texts])
    expected = [word for text in texts for word in text.split() if any(map(str.isalnum, word))]
    assert len(rows.words()) == len(expected)
    assert np.all(rows.words().value == [_longest(word) for word in expected])


def _longest(word):
    return max(len(token) for token in NLP.make_doc(word) if any(map(str.isalnum, token.text)))


def test_the_shape_rule_takes_digits_and_capitals_within_sentences():
    doc = NLP.make_doc('Ana vive en Jaca. Tiene 3 hijos.\n-"Luis" y (Eva) 5B')
    assert words_of(shape_rule(doc), doc) == ["Jaca", "3", "Eva", "5", "B"]


def test_the_layout_rule_takes_what_follows_a_colon_on_a_short_line():
    doc = NLP.make_doc("Nombre: Ana Rueda\nMadrid\nNota: " + "acude por dolor " * 12)
    assert words_of(layout_rule(doc), doc)[:2] == ["Ana", "Rueda"]
    assert words_of(layout_rule(doc), doc)[2:] == []


def test_rules_are_columns_of_the_table():
    rows = table("Vive en Jaca")
    assert set(BASELINES) <= set(rows.columns)
    assert rows.columns["a digit, or a capital within a sentence"].tolist() == [0.0, 0.0, 1.0]


# ---------------------------------------------------------------- stored scores

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
