"""Fitting a score without labels: weak labels, the threshold, and the score that ships."""

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.masked_lm.columns import form_columns
from spacy_deid.masked_lm.scores import Combination, fit_combination
from spacy_deid.masked_lm.zero_shot import (
    UNDECIDED,
    expected_f1_threshold,
    fit_zero_shot,
    public_columns,
    weak_labels,
)

TOKENIZER = {"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}}


def columns_of(text, lang="es"):
    doc = spacy.blank(lang, config=TOKENIZER).make_doc(text)
    words = [token.i for token in doc if any(map(str.isalnum, token.text))]
    rarity = np.full(len(words), 9.0)
    return [doc[word].text for word in words], {**form_columns(doc, words), "rarity": rarity}, doc, words


def labelled(text, lang="es"):
    texts, columns, doc, words = columns_of(text, lang)
    return dict(zip(texts, weak_labels(columns | public_columns(doc, words, lang)).tolist(), strict=True))


def test_listed_names_dates_and_long_numbers_are_identifiers():
    found = labelled("Ingresa Ignacio el 12/03/2014, historia 4819203, correo zenaida@example.org")
    assert [found[word] for word in ("Ignacio", "12", "2014", "4819203", "zenaida")] == [1] * 5


def test_common_words_and_medical_terms_are_not_identifiers():
    found = labelled("Ingresa por dolor de la mano. Diabetes mellitus")
    assert [found[word] for word in ("por", "dolor", "Diabetes")] == [0] * 3


def test_a_capitalized_word_on_no_list_and_a_short_number_have_no_label():
    found = labelled("Toma Zzyxaril 40 veces")
    assert found["Zzyxaril"] == UNDECIDED
    assert found["40"] == UNDECIDED


def test_an_inflected_name_is_an_identifier():
    assert labelled("Soitettu Korhoselle eilen", "fi")["Korhoselle"] == 1


def test_a_note_without_words_has_no_labels():
    assert labelled("... --") == {}


def test_a_combination_learns_from_weak_labels_what_unlabelled_words_are():
    rng = np.random.default_rng(0)
    notes = []
    for _ in range(20):
        texts, columns, doc, words = columns_of(
            "Ingresa Ignacio por dolor. Acude Zzyxar con Ana el 12/03/2014 a Soria."
        )
        names = np.array([text[0].isupper() or text.isdigit() for text in texts])
        surprisal = np.where(names, 12.0, 3.0) + rng.normal(size=len(texts))
        notes.append({**columns, **public_columns(doc, words, "es"), "surprisal": surprisal})
    fitted = fit_zero_shot(notes, ["surprisal"])
    found = dict(zip(texts, fitted.predict(notes[0]), strict=True))
    assert found["Zzyxar"] > 0.5 > found["con"]


def test_the_threshold_maximizes_the_f1_that_the_probabilities_imply():
    assert expected_f1_threshold(np.array([0.9, 0.8, 0.1, 0.05])) == 0.8
    assert expected_f1_threshold(np.zeros(0)) == 1.0


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=30))
def test_no_other_threshold_has_a_higher_expected_f1(probabilities):
    values = np.array(probabilities)

    def expected(threshold):
        found = values >= threshold
        return 2 * values[found].sum() / (found.sum() + values.sum())

    best = expected(expected_f1_threshold(values))
    assert all(expected(value) <= best + 1e-12 for value in values)


def test_words_that_are_not_used_do_not_change_a_fit():
    note = {"a": np.array([0.0, 1.0, 5.0]), "b": np.array([1.0, 0.0, 2.0])}
    used = [np.array([True, True, False])]
    one = fit_combination([note], [np.array([0.0, 1.0, 0.0])], ["a", "b"], products=False, used=used)
    other = fit_combination([note], [np.array([0.0, 1.0, 1.0])], ["a", "b"], products=False, used=used)
    assert one == other
    assert len(one.weights) == 6  # two columns, before and after


def test_a_combination_without_products_is_read_back(tmp_path):
    fitted = Combination(["a"], [0.0], [1.0], [1.0, 0.5, -0.5], 0.25, products=False)
    fitted.to_file(tmp_path / "combined_zero_shot.json")
    assert Combination.from_file(tmp_path / "combined_zero_shot.json") == fitted


@pytest.mark.parametrize("lang", ["es", "en", "fi"])
def test_the_shipped_zero_shot_score_rates_a_name_higher(lang):
    text = {
        "es": "Ingresa por dolor. Avisar a Ignacio Salgado.",
        "en": "Admitted with pain. Please call Deborah Ferguson.",
        "fi": "Potilas tuli kivun vuoksi. Soitettu Matti Korhoselle.",
    }[lang]
    nlp = spacy.blank(lang, config=TOKENIZER)
    score = {"@deid_scores": "spacy_deid.combined_score.v1", "source": lang, "kind": "zero_shot"}
    nlp.add_pipe("deid_surprisal", config={"score": score})
    doc = nlp(text)
    record = doc.user_data["deid/surprisal"]
    values = {
        doc.char_span(s, e).text: v for s, e, v in zip(record["starts"], record["ends"], record["values"], strict=True)
    }
    assert values[{"es": "Salgado", "en": "Ferguson", "fi": "Korhoselle"}[lang]] > 0.5
    assert values[{"es": "dolor", "en": "pain", "fi": "kivun"}[lang]] < 0.2
