"""Figures, thresholds and curves of a score."""

import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.plots import plot_score_curve
from spacy_deid.evaluation.ranking import (
    BANDS,
    average_precision,
    best_f1_threshold,
    choose_threshold,
    figures_at,
    format_scores,
    format_tsv,
    measure,
    measure_rules,
    read_threshold,
    recall_threshold,
    render_note,
    roc_auc,
    score_curve,
    score_rows,
    summarize,
    sweep,
    write_score_curve,
)
from spacy_deid.evaluation.scored_tokens import BASELINES, find_scorable, score_tokens

GOLD = [True, True, False, True, False, False]
SCORES = [9.0, 7.0, 7.0, 3.0, 3.0, 1.0]

# few different values, so that ties are common; whole numbers, so that a transformation keeps them apart
SCORE = st.one_of(st.integers(-5, 5).map(float), st.just(math.inf), st.just(-math.inf))
TOKENS = st.lists(st.tuples(st.booleans(), SCORE), min_size=1, max_size=40)
MIXED = TOKENS.filter(lambda tokens: len({gold for gold, _ in tokens}) == 2)
FINITE = st.lists(st.tuples(st.booleans(), st.integers(-5, 5).map(float)), min_size=2, max_size=40).filter(
    lambda tokens: len({gold for gold, _ in tokens}) == 2
)


def sides(tokens):
    return [gold for gold, _ in tokens], [score for _, score in tokens]


def test_figures_of_a_threshold_are_those_counted_by_hand():
    # found: 9 and both sevens; 2 of them PHI, of 3 in all
    assert figures_at(GOLD, SCORES, 7.0) == {
        "accuracy": pytest.approx(4 / 6),
        "f1": pytest.approx(4 / 6),
        "recall": pytest.approx(2 / 3),
        "precision": pytest.approx(2 / 3),
    }


def test_a_score_equal_to_the_threshold_is_found():
    assert figures_at([True], [2.5], 2.5)["recall"] == 1.0
    assert figures_at([True], [2.5], math.nextafter(2.5, 3))["recall"] == 0.0


def test_average_precision_by_hand_takes_ties_as_one_step():
    # R .333 at P 1; R .667 at P 2/3; R 1 at P 3/5
    assert average_precision(GOLD, SCORES) == pytest.approx((1 + 2 / 3 + 3 / 5) / 3)


def test_roc_auc_by_hand_counts_ties_half():
    # nine pairs: 9 beats three, 7 ties one and beats two, 3 loses one, ties one, beats one
    assert roc_auc(GOLD, SCORES) == pytest.approx((3 + 2.5 + 1.5) / 9)


def test_the_order_of_tied_tokens_makes_no_difference():
    assert average_precision([True, False], [1, 1]) == average_precision([False, True], [1, 1]) == 0.5
    assert roc_auc([True, False], [1, 1]) == 0.5


def test_a_perfect_score_has_full_areas_and_a_reversed_one_none():
    assert average_precision([1, 1, 0, 0], [4, 3, 2, 1]) == roc_auc([1, 1, 0, 0], [4, 3, 2, 1]) == 1.0
    assert roc_auc([0, 0, 1, 1], [4, 3, 2, 1]) == 0.0


def test_the_best_f1_is_found_and_of_equals_the_highest_threshold():
    # F1 at 9: .5, at 7: .667, at 3: .75; halfway to 1
    assert best_f1_threshold(GOLD, SCORES) == 2.0
    # at 2: 2·1/(2·1+0+1) = .667; at 1: 2·2/(2·2+2+0) = .667
    assert best_f1_threshold([1, 0, 0, 1], [2, 1, 1, 1]) == 1.5


@pytest.mark.parametrize(("recall", "threshold"), [(0.3, 8.0), (0.5, 5.0), (2 / 3, 5.0), (0.99, 2.0), (1.0, 2.0)])
def test_the_threshold_for_a_recall_is_halfway_below_the_highest_score_that_reaches_it(recall, threshold):
    assert recall_threshold(GOLD, SCORES, recall) == threshold


@given(TOKENS.filter(lambda tokens: any(gold and score > -math.inf for gold, score in tokens)))
def test_no_score_equals_a_chosen_threshold(tokens):
    gold, scores = sides(tokens)
    assert best_f1_threshold(gold, scores) not in scores


def test_infinity_is_found_first_and_its_threshold_is_a_finite_number():
    threshold = recall_threshold([True, True, False], [math.inf, 1.0, 2.0], 0.5)
    assert math.isfinite(threshold)
    assert figures_at([True, True, False], [math.inf, 1.0, 2.0], threshold)["recall"] == 0.5
    assert average_precision([True, False], [math.inf, 1.0]) == 1.0


def test_a_token_without_a_score_is_never_found():
    gold, scores = [True, True, False], [5.0, -math.inf, 1.0]
    assert recall_threshold(gold, scores, 0.5) == 3.0
    with pytest.raises(InputError, match=r"recall of 1\.0: .* the recall is 0\.5"):
        recall_threshold(gold, scores, 1.0)
    assert figures_at(gold, scores, -1e308)["recall"] == 0.5
    assert roc_auc(gold, scores) == 0.5


@pytest.mark.parametrize("measure", [sweep, average_precision, roc_auc, best_f1_threshold])
def test_a_score_that_is_no_number_is_refused_by_its_place(measure):
    with pytest.raises(InputError, match=r"1 score.*first at 1"):
        measure([True, False], [1.0, math.nan])


def test_sides_of_different_length_are_refused():
    with pytest.raises(InputError, match="cannot be evaluated"):
        sweep([True], [1.0, 2.0])


def test_without_phi_there_is_no_threshold_and_no_area():
    figures = summarize([False, False], [1.0, 2.0], 2.0)
    assert figures == {
        "accuracy": 0.5,
        "f1": 0.0,
        "recall": None,
        "precision": 0.0,
        "pr_auc": None,
        "roc_auc": None,
        "gold": 0,
        "total": 2,
    }
    with pytest.raises(InputError, match="0 token"):
        best_f1_threshold([False], [1.0])


def test_where_all_is_phi_only_the_area_under_roc_is_undefined():
    figures = summarize([True, True], [1.0, 2.0], 1.0)
    assert figures["roc_auc"] is None
    assert figures["pr_auc"] == figures["f1"] == figures["accuracy"] == 1.0


def test_nothing_at_all_has_no_figure():
    assert set(summarize([], [], 0.0).values()) == {None, 0}


@given(TOKENS, st.integers(-6, 6).map(float))
def test_every_figure_is_undefined_or_a_share(tokens, threshold):
    figures = summarize(*sides(tokens), threshold)
    for name in ("accuracy", "f1", "recall", "precision", "pr_auc", "roc_auc"):
        assert figures[name] is None or 0.0 <= figures[name] <= 1.0


@given(MIXED)
def test_areas_and_what_is_found_do_not_change_under_a_monotone_transformation(tokens):
    gold, scores = sides(tokens)
    bent = [math.exp(score) * 3 + 1 if score > -math.inf else score for score in scores]
    assert average_precision(gold, bent) == average_precision(gold, scores)
    assert roc_auc(gold, bent) == roc_auc(gold, scores)
    one, other = sweep(gold, scores), sweep(gold, bent)
    assert one.tp.tolist() == other.tp.tolist()
    assert one.fp.tolist() == other.fp.tolist()


@given(FINITE)
def test_turning_the_scores_round_turns_the_area_under_roc_round(tokens):
    gold, scores = sides(tokens)
    assert roc_auc(gold, [-score for score in scores]) == pytest.approx(1 - roc_auc(gold, scores))


@given(MIXED)
def test_no_threshold_beats_the_best_f1(tokens):
    gold, scores = sides(tokens)
    if not any(math.isfinite(s) or s > 0 for s in scores):
        return
    best = figures_at(gold, scores, best_f1_threshold(gold, scores))["f1"]
    others = [figures_at(gold, scores, score)["f1"] for score in scores if score > -math.inf]
    assert best == pytest.approx(max(others))


@given(FINITE, st.floats(0.01, 1.0))
def test_the_threshold_for_a_recall_reaches_it_and_the_next_higher_does_not(tokens, recall):
    gold, scores = sides(tokens)
    threshold = recall_threshold(gold, scores, recall)
    assert figures_at(gold, scores, threshold)["recall"] >= recall
    found = [score for score in scores if score > threshold]
    assert figures_at(gold, scores, math.nextafter(min(found), math.inf))["recall"] < recall


@given(MIXED)
def test_a_sweep_agrees_with_the_figures_of_each_of_its_thresholds(tokens):
    gold, scores = sides(tokens)
    steps = sweep(gold, scores)
    figures = steps.figures()
    assert np.all(np.diff(steps.thresholds) < 0)
    for i, threshold in enumerate(steps.thresholds):
        for name, value in figures_at(gold, scores, float(threshold)).items():
            assert value == figures[name][i]


@settings(deadline=None)  # the first example imports scikit-learn
@given(FINITE)
def test_the_areas_are_those_of_scikit_learn(tokens):
    metrics = pytest.importorskip("sklearn.metrics")
    gold, scores = sides(tokens)
    assert average_precision(gold, scores) == pytest.approx(metrics.average_precision_score(gold, scores))
    assert roc_auc(gold, scores) == pytest.approx(metrics.roc_auc_score(gold, scores))


GOLD_SCORE_CURVES = [True, True, False, True, False, False]
SCORES_SCORE_CURVES = [9.0, 7.0, 7.0, 3.0, 3.0, 1.0]
ABOUT = {"threshold": 2.0, "by": "f1", "score": "surprisal", "title": "a title"}
PNG = b"\x89PNG\r\n"


@pytest.mark.parametrize(("by", "threshold"), [("f1", 2.0), ("recall=.5", 5.0), ("recall=1", 2.0)])
def test_a_threshold_is_chosen_by_f1_or_by_recall(by, threshold):
    assert choose_threshold(GOLD_SCORE_CURVES, SCORES_SCORE_CURVES, by) == threshold


@pytest.mark.parametrize("by", ["F1", "recall", "recall=", "recall=0", "recall=1.1", "recall=high", "recall=nan", ""])
def test_another_way_to_choose_is_refused(by):
    with pytest.raises(ConfigError, match="recall=R"):
        choose_threshold(GOLD_SCORE_CURVES, SCORES_SCORE_CURVES, by)


@given(
    st.lists(st.tuples(st.booleans(), st.floats(-50, 50) | st.just(math.inf)), min_size=1, max_size=300),
    st.sampled_from(["f1", "recall=.7"]),
)
def test_rows_fall_hold_the_chosen_threshold_and_agree_with_its_figures(tokens, by):
    gold, scores = [True, *(g for g, _ in tokens)], [0.0, *(s for _, s in tokens)]
    threshold = choose_threshold(gold, scores, by)
    rows = score_curve(gold, scores, threshold)
    levels = [row["threshold"] for row in rows]
    assert levels == sorted(set(levels), reverse=True)
    (chosen,) = [row for row in rows if row["threshold"] == threshold]
    for row in (chosen, rows[0], rows[-1]):
        assert {name: row[name] for name in figures_at([], [], 0)} == figures_at(gold, scores, row["threshold"])
    assert rows[-1]["recall"] == 1.0


def test_a_long_curve_is_thinned():
    gold, scores = [i % 3 == 0 for i in range(20_000)], [math.sin(i) for i in range(20_000)]
    assert 200 <= len(score_curve(gold, scores, 0.5)) <= 401


def test_curves_are_written_and_their_threshold_read_again(tmp_path):
    rows = score_curve(GOLD_SCORE_CURVES, SCORES_SCORE_CURVES, 2.0)
    path = write_score_curve(tmp_path / "new", ABOUT, rows)
    assert json.loads(path.read_text())["rows"] == rows
    assert read_threshold(path) == read_threshold(tmp_path / "new") == ABOUT


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"threshold": "high"}', '{"threshold": null}'])
def test_a_file_without_a_threshold_is_refused_by_name(tmp_path, content):
    (tmp_path / "curves.json").write_text(content)
    with pytest.raises(InputError, match=r"curves\.json.*no threshold"):
        read_threshold(tmp_path)


@pytest.mark.parametrize("score", ["surprisal", "combined"])
@pytest.mark.parametrize(
    ("gold", "scores"),
    [
        (GOLD_SCORE_CURVES, SCORES_SCORE_CURVES),
        ([True, False], [1.0, 1.0]),
        ([True, False], [math.inf, math.inf]),
        ([True, False, True, False], [1000.0, 2.0, 1.5, 1.0]),
    ],
)
def test_a_picture_is_drawn_of_any_curve(tmp_path, gold, scores, score):
    pytest.importorskip("matplotlib")
    threshold = choose_threshold(gold, scores, "f1")
    path = plot_score_curve(
        tmp_path / "new" / "a.png",
        {**ABOUT, "threshold": threshold, "score": score},
        score_curve(gold, scores, threshold),
    )
    assert path.read_bytes().startswith(PNG)


# ---------------------------------------------------------------- tables and pages

NLP = spacy.blank("es", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_deid.ClinicalTokenizer.v1"}}})
TEXT = "Nombre: Ana Rueda\n" + "acude por dolor " * 12 + "a Jaca, 34.\n"
ABOUT_ROWS = {"data": "made", "split": "dev", "command": "none", "date": "2026-01-01"}


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
    rows = score_rows(results, ABOUT_ROWS, targets={"by token, whole notes, surprisal, F1": 0.45})
    named = {row.name: row for row in rows}
    assert named["by token, whole notes, surprisal, F1"].target == 0.45
    assert named["by token, whole notes, surprisal, F1"].value == pytest.approx(6 / 7, abs=1e-4)
    assert named["by word, narrative, surprisal, PR-AUC"].target is None
    assert "by token, narrative, after a colon on a short line, precision" not in named
    assert len(named) == len(rows)
    assert all(np.isfinite(row.value) for row in rows)


def test_rows_can_be_of_some_regions_and_units_alone(table):
    rows = score_rows({"x": measure(table, 0.5)}, ABOUT_ROWS, regions=["all"], units=["token"])
    assert [row.name for row in rows][:2] == ["by token, whole notes, x, accuracy", "by token, whole notes, x, F1"]
    assert len(rows) == 6


TEXT_NOTE_VIEW = "Nombre: <b>Ana</b> & Ñíguez\n\n  acude\tpor dolor"


def record(text, *values):
    spans = [match.span() for match in re.finditer(r"[^\W_]+", text)]
    values = list(values) or [float(i) for i in range(len(spans))]
    return {
        "model": "m",
        "mode": "exact",
        "masking": "no",
        "score": "surprisal",
        "starts": [start for start, _ in spans],
        "ends": [end for _, end in spans],
        "values": values,
        "features": {"surprisal": values, "entropy": [0.5] * len(spans), "rank": [7.0] * len(spans)},
        "unaligned": 0,
    }


class Page(HTMLParser):
    """The note that a page shows, and what it fetches and runs."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.links, self.tips, self.note, self.inside = [], [], [], "", 0
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset", "action")]
        if "tabindex" in attributes:
            self.tips.append((attributes["class"], attributes["data-tip"]))
        if attributes.get("class") == "note" or (tag == "div" and self.inside):
            self.inside += 1

    def handle_endtag(self, tag):
        self.inside -= bool(self.inside and tag == "div")

    def handle_data(self, data):
        self.note += data if self.inside else ""


@settings(deadline=None, max_examples=40)  # the template is read anew for each page
@given(st.text(alphabet="aÑ1<>&\"' \n\t{}%", max_size=60))
def test_the_page_shows_the_note_to_the_letter(text):
    assert Page(render_note(text, record(text), 2.0)).note == text


def test_the_page_fetches_nothing_and_runs_nothing():
    html = render_note(TEXT_NOTE_VIEW, record(TEXT_NOTE_VIEW), 2.0)
    page = Page(html)
    assert page.links == []
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not re.search(r"https?://|@import|url\(", html)
    assert "default-src 'none'" in html


def test_every_token_says_score_entropy_and_rank():
    tips = Page(render_note(TEXT_NOTE_VIEW, record(TEXT_NOTE_VIEW), None)).tips
    assert len(tips) == 8
    assert tips[0] == ("t b0", "surprisal 0\nentropy 0.5\nrank 7")


def test_what_reaches_the_threshold_is_framed_and_the_highest_is_darkest():
    tips = Page(render_note(TEXT_NOTE_VIEW, record(TEXT_NOTE_VIEW), 6.0)).tips
    assert [" f" in classes for classes, _ in tips] == [False] * 6 + [True] * 2
    assert tips[-1][0] == f"t b{len(BANDS) - 1} f"


def test_a_word_that_the_model_cannot_read_does_not_stretch_the_colours():
    far = {**record(TEXT_NOTE_VIEW, *[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1000.0]), "unaligned": 1}
    far["features"] = {**far["features"], "aligned": [1.0] * 7 + [0.0]}
    html = render_note(TEXT_NOTE_VIEW, far, None)
    assert Page(html).tips[6][0] == f"t b{len(BANDS) - 1}"
    assert "1 of them the model cannot read" in html


@pytest.mark.parametrize("values", [[math.inf] * 8, [1.0] * 8, [-math.inf, *[2.0] * 7]])
def test_scores_without_a_range_have_a_page(values):
    assert Page(render_note(TEXT_NOTE_VIEW, record(TEXT_NOTE_VIEW, *values), 1.0)).note == TEXT_NOTE_VIEW


def luminance(colour):
    """Relative luminance, WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("back", "ink"), BANDS)
def test_text_on_every_colour_has_the_contrast_of_level_aaa(back, ink):
    one, other = sorted([luminance(back), luminance(ink)])
    assert (other + 0.05) / (one + 0.05) >= 7


def test_colours_get_darker_band_by_band():
    shades = [luminance(back) for back, _ in BANDS]
    assert shades == sorted(shades, reverse=True)


def test_the_table_has_a_line_for_each_token_and_a_column_for_each_feature():
    head, first, *rest = format_tsv(TEXT_NOTE_VIEW, record(TEXT_NOTE_VIEW)).splitlines()
    assert head.split("\t") == ["start", "end", "token", "surprisal", "entropy", "rank"]
    assert first.split("\t") == ["0", "6", "Nombre", "0", "0.5", "7"]
    assert len(rest) == 7
    assert all(line.count("\t") == 5 for line in rest)
