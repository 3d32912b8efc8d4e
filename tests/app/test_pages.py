"""Long texts by parts: nothing is lost or shown twice, and no span is cut."""

from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.app.review_view import cut_parts, cut_text, place_released


@st.composite
def texts(draw):
    """An original with spans, and the released text."""
    pieces = draw(
        st.lists(st.tuples(st.text("ab \n", max_size=40), st.text("X\n", min_size=1, max_size=30)), max_size=12)
    )
    original = released = ""
    spans = []
    for plain, identifier in pieces:
        original += plain
        released += plain
        new = draw(st.sampled_from(["", "[PATIENT]"]))
        place, copied = (len(original), len(original + identifier)), [len(released), len(released + new)]
        spans.append({"start": place[0], "end": place[1], "label": "PATIENT", "action": "replace", "released": copied})
        original += identifier
        released += new
    return original, spans, released


@given(texts())
def test_joined_parts_are_the_texts_and_no_span_is_cut(given_text):
    original, spans, released = given_text
    parts = cut_parts(original, spans, 20)
    assert "".join(original[start:end] for start, end in parts) == original
    assert not [span for span in spans for _, end in parts if span["start"] < end < span["end"]]
    before, after = [], []
    for start, end in parts:
        copied = place_released(spans, start), place_released(spans, end)
        before += cut_text(original, spans, [(span["start"], span["end"]) for span in spans], (start, end))
        after += cut_text(released, spans, [tuple(span["released"]) for span in spans], copied)
    assert "".join(piece["text"] for piece in before) == original
    assert "".join(piece["text"] for piece in after) == released
    assert [piece["span"] for piece in before if piece["span"] is not None] == list(range(len(spans)))


def test_a_short_text_is_one_part():
    assert cut_parts("", []) == [(0, 0)]
    assert cut_parts("a" * 30_000, []) == [(0, 30_000)]
    assert len(cut_parts("a\n" * 50_000, [])) == 4
