"""Benchmarks of surprisal: the baseline, the made notes, the copying rule, and figures at another share of PHI."""

from random import Random

import numpy as np
import pytest

from benchmarks.surprisal_lemmas import CopyingLM, make_note, surprisal_of
from benchmarks.surprisal_speed import blank, one_piece_per_pass, prepare, rebuild_torch, scored, spearman
from benchmarks.surprisal_zero_shot import weighted_area, weighted_f1
from spacy_deid.evaluation.ranking import average_precision, figures_at
from spacy_deid.lang import get_language
from spacy_deid.masked_lm.masking import make_no_masking
from spacy_deid.masked_lm.model import load_masked_lm
from spacy_deid.masked_lm.scoring import make_exact_mode

GOLD = np.array([True, False, True, False, False])
VALUES = np.array([0.9, 0.8, 0.7, 0.2, 0.1])


@pytest.mark.transformer
@pytest.mark.filterwarnings("ignore::FutureWarning")  # of torch and transformers
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_rebuilt_torch_model_scores_like_the_shipped_one():
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    pytest.importorskip("transformers")
    shipped = load_masked_lm("es")
    note = prepare(shipped, blank("es").make_doc("Ingresa Ignacio por dolor abdominal."))
    found = one_piece_per_pass(rebuild_torch(get_language("es").resource("masked_lm")), shipped, note)
    np.testing.assert_allclose(found, scored(shipped, [note], make_exact_mode()), atol=1e-3)


def test_a_made_note_has_four_forms_of_the_name():
    note = make_note("Korhonen", Random(0), inflected=True)
    forms = [note.text[start:end] for start, end in note.names]
    assert len(set(forms)) == 4
    assert all(form.startswith("Korho") for form in forms)
    note = make_note("Korhonen", Random(0), inflected=False)
    assert {note.text[start:end] for start, end in note.names} == {"Korhonen"}


def test_masking_every_form_makes_a_name_more_surprising_to_a_model_that_copies():
    corpus, model = [make_note("Lehtonen", Random(1), inflected=True)], CopyingLM(load_masked_lm("fi"))
    visible = surprisal_of(model, corpus, make_no_masking(), of_names=True)
    hidden = surprisal_of(model, corpus, None, of_names=True)
    assert hidden.mean() > visible.mean() + 1


def test_a_weight_of_one_gives_the_usual_figures():
    assert weighted_area(GOLD, VALUES, 1.0) == pytest.approx(average_precision(GOLD, VALUES))
    assert weighted_f1(GOLD, VALUES, 0.7, 1.0) == pytest.approx(figures_at(GOLD, VALUES, 0.7)["f1"])


def test_a_weight_counts_like_repeated_tokens():
    gold, values = np.r_[GOLD, GOLD[~GOLD]], np.r_[VALUES, VALUES[~GOLD]]
    assert weighted_area(GOLD, VALUES, 2.0) == pytest.approx(average_precision(gold, values))
    assert weighted_f1(GOLD, VALUES, 0.7, 2.0) == pytest.approx(figures_at(gold, values, 0.7)["f1"])


def test_spearman_of_the_same_order_is_one():
    assert spearman(np.array([1.0, 2.0, 2.0, 9.0]), np.array([0.0, 5.0, 5.0, 6.0])) == pytest.approx(1.0)
