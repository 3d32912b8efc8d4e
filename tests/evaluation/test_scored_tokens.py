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
    score_tokens,
    shape_rule,
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
