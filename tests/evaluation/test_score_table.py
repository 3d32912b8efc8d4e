"""Tables and metric rows of scores."""

import numpy as np
import pytest
import spacy

from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.baselines import BASELINES
from spacy_deid.evaluation.score_table import format_scores, measure, measure_rules, score_rows
from spacy_deid.evaluation.scored_tokens import find_scorable, score_tokens

NLP = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
TEXT = "Nombre: Ana Rueda\n" + "acude por dolor " * 12 + "a Jaca, 34.\n"
ABOUT = {"data": "made", "split": "dev", "command": "none", "date": "2026-01-01"}


@pytest.fixture
def table():
    doc = NLP.make_doc(TEXT)
    tokens = [doc[i] for i in find_scorable(doc)]
    place = TEXT.index("Jaca")
    note = AnnotatedText("n", TEXT, (Entity(8, 17, "PATIENT"), Entity(place, place + 4, "CITY")))
    record = {
        "starts": [token.idx for token in tokens],
        "ends": [token.idx + len(token) for token in tokens],
        "values": [float(token.text[0].isupper()) for token in tokens],
        "features": {},
    }
    return score_tokens(note, doc, record)


def test_figures_stand_by_token_and_word_and_by_region(table):
    figures = measure(table, 0.5)
    assert figures["token"]["all"]["recall"] == 1.0
    assert figures["token"]["all"]["precision"] == pytest.approx(3 / 4)  # "Nombre"
    assert figures["token"]["header"]["gold"] == 2
    assert figures["token"]["narrative"]["precision"] == 1.0
    assert {part["total"] for part in figures["word"].values()} == {42, 3, 39}


def test_the_rules_are_measured_on_the_same_tokens(table):
    rules = measure_rules(table)
    assert set(rules) == set(BASELINES)
    shape, layout = rules.values()
    assert (shape["token"]["all"]["recall"], shape["token"]["narrative"]["precision"]) == (1.0, 0.5)  # "34"
    assert layout["token"]["header"]["f1"] == 1.0
    assert layout["token"]["narrative"]["recall"] == 0.0


def test_the_table_has_a_block_for_each_unit_and_region(table):
    text = format_scores({"surprisal": measure(table, 0.5), **measure_rules(table)})
    assert text.count("PR-AUC") == 6
    assert text.count("surprisal") == 6
    assert "by word, narrative" in text
    assert "    -" in text  # precision of a rule that finds nothing
    assert max(map(len, text.splitlines())) < 130


def test_rows_have_figures_names_and_targets_and_none_for_what_is_not_defined(table):
    results = {"surprisal": measure(table, 0.5), **measure_rules(table)}
    rows = score_rows(results, ABOUT, targets={"by token, whole notes, surprisal, F1": 0.45})
    named = {row.name: row for row in rows}
    assert named["by token, whole notes, surprisal, F1"].target == 0.45
    assert named["by token, whole notes, surprisal, F1"].value == pytest.approx(6 / 7, abs=1e-4)
    assert named["by word, narrative, surprisal, PR-AUC"].target is None
    assert "by token, narrative, after a colon on a short line, precision" not in named
    assert len(named) == len(rows)
    assert all(np.isfinite(row.value) for row in rows)


def test_rows_can_be_of_some_regions_and_units_alone(table):
    rows = score_rows({"x": measure(table, 0.5)}, ABOUT, regions=["all"], units=["token"])
    assert [row.name for row in rows][:2] == ["by token, whole notes, x, accuracy", "by token, whole notes, x, F1"]
    assert len(rows) == 6
