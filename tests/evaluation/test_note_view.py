"""A scored note as a page and as a table."""

import math
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.evaluation.note_view import BANDS, format_tsv, render_note

TEXT = "Nombre: <b>Ana</b> & Ñíguez\n\n  acude\tpor dolor"


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
    html = render_note(TEXT, record(TEXT), 2.0)
    page = Page(html)
    assert page.links == []
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not re.search(r"https?://|@import|url\(", html)
    assert "default-src 'none'" in html


def test_every_token_says_score_entropy_and_rank():
    tips = Page(render_note(TEXT, record(TEXT), None)).tips
    assert len(tips) == 8
    assert tips[0] == ("t b0", "surprisal 0\nentropy 0.5\nrank 7")


def test_what_reaches_the_threshold_is_framed_and_the_highest_is_darkest():
    tips = Page(render_note(TEXT, record(TEXT), 6.0)).tips
    assert [" f" in classes for classes, _ in tips] == [False] * 6 + [True] * 2
    assert tips[-1][0] == f"t b{len(BANDS) - 1} f"


def test_a_word_that_the_model_cannot_read_does_not_stretch_the_colours():
    far = {**record(TEXT, *[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1000.0]), "unaligned": 1}
    far["features"] = {**far["features"], "aligned": [1.0] * 7 + [0.0]}
    html = render_note(TEXT, far, None)
    assert Page(html).tips[6][0] == f"t b{len(BANDS) - 1}"
    assert "1 of them the model cannot read" in html


@pytest.mark.parametrize("values", [[math.inf] * 8, [1.0] * 8, [-math.inf, *[2.0] * 7]])
def test_scores_without_a_range_have_a_page(values):
    assert Page(render_note(TEXT, record(TEXT, *values), 1.0)).note == TEXT


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
    head, first, *rest = format_tsv(TEXT, record(TEXT)).splitlines()
    assert head.split("\t") == ["start", "end", "token", "surprisal", "entropy", "rank"]
    assert first.split("\t") == ["0", "6", "Nombre", "0", "0.5", "7"]
    assert len(rest) == 7
    assert all(line.count("\t") == 5 for line in rest)
