"""Tables of figures, and the view of a scored note."""

import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.score_views import (
    BANDS,
    format_scores,
    format_tsv,
    measure,
    measure_rules,
    render_note,
    score_rows,
)
from spacy_deid.evaluation.scored_tokens import BASELINES, find_scorable, score_tokens

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
