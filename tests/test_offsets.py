"""Edits and the two-sided offset map."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import DeidError
from spacy_deid.offsets import Edit, apply_edits, check_edits, find_uncovered, map_offset, map_offsets, move_spans

TEXT = "Nombre: Ana. Tel: 600."
EDITS = [Edit(8, 11, "PATIENT", "[PATIENT]"), Edit(18, 21, "PHONE", "")]


@st.composite
def edited(draw):
    """A text and edits in its order."""
    text = draw(st.text(max_size=60))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pairs = list(zip(cuts[0::2], cuts[1::2], strict=False))
    return text, [Edit(start, end, "OTHER", draw(st.text(max_size=6))) for start, end in pairs]


def test_writes_the_released_text():
    assert apply_edits(TEXT, EDITS) == "Nombre: [PATIENT]. Tel: ."


def test_without_edits_the_text_is_the_same():
    assert apply_edits(TEXT, []) == TEXT
    assert apply_edits("", []) == ""


@given(edited())
def test_what_no_edit_touches_stays_and_nothing_else_does(case):
    text, edits = case
    kept, last = [], 0
    for edit in edits:
        kept.append(text[last : edit.start])
        last = edit.end
    kept.append(text[last:])
    released = apply_edits(text, edits)
    assert len(released) == sum(map(len, kept)) + sum(len(edit.replacement) for edit in edits)
    for part, edit in zip(kept, edits, strict=False):
        assert released.startswith(part + edit.replacement)
        released = released[len(part) + len(edit.replacement) :]
    assert released == kept[-1]


@given(edited())
def test_characters_outside_edits_map_there_and_back(case):
    text, edits = case
    released = apply_edits(text, edits)
    inside = {i for edit in edits for i in range(edit.start, edit.end)}
    for i in set(range(len(text))) - inside:
        there = map_offset(edits, i, len(text))
        assert released[there] == text[i]
        assert map_offset(edits, there, len(text), "released") == i


@given(edited())
def test_an_offset_inside_an_edit_maps_to_its_start(case):
    text, edits = case
    for edit in edits:
        starts = {map_offset(edits, i, len(text)) for i in range(edit.start, edit.end)}
        assert len(starts) <= 1
        for start in starts:
            assert apply_edits(text, edits)[start:].startswith(edit.replacement)


@given(edited(), st.sampled_from(["original", "released"]))
def test_the_map_keeps_the_order_and_stays_within_the_other_side(case, side):
    text, edits = case
    released = apply_edits(text, edits)
    here, there = (text, released) if side == "original" else (released, text)
    mapped = [map_offset(edits, i, len(text), side) for i in range(len(here) + 1)]
    assert map_offsets(edits, range(len(here) + 1), len(text), side) == mapped
    assert mapped == sorted(mapped)
    assert mapped[0] >= 0
    assert mapped[-1] == len(there)


def test_an_offset_outside_the_text_is_refused():
    with pytest.raises(DeidError, match="offset 23 is outside the text of 22 characters"):
        map_offset(EDITS, len(TEXT) + 1, len(TEXT))
    with pytest.raises(DeidError, match="offset 26 is outside the text of 25 characters"):
        map_offset(EDITS, 26, len(TEXT), "released")
    with pytest.raises(DeidError, match="offset -1"):
        map_offset([], -1, 3)


@pytest.mark.parametrize(
    ("start", "end"), [(-1, 2), (2, 1), (0, 4), (4, 4)], ids=["negative", "reversed", "too long", "behind the end"]
)
def test_an_edit_outside_the_text_is_refused(start, end):
    with pytest.raises(DeidError, match=f"invalid edit at {start}:{end}: .* text of 3 characters"):
        apply_edits("Ana", [Edit(start, end, "PATIENT", "x")])


@pytest.mark.parametrize("second", [Edit(1, 3, "DATE", ""), Edit(0, 1, "DATE", "")], ids=["overlap", "wrong order"])
def test_edits_that_overlap_or_stand_in_the_wrong_order_are_refused(second):
    with pytest.raises(DeidError, match="edits 0 and 1 overlap"):
        check_edits([Edit(0, 2, "PATIENT", ""), second], 3)


def test_an_edit_holds_no_original_text():
    assert set(Edit.__slots__) == {"start", "end", "label", "replacement"}


def test_spans_go_with_their_edits():
    edits = [Edit(0, 3, "PATIENT", "Lucía"), Edit(8, 9, "", "an"), Edit(10, 15, "CITY", "")]
    assert move_spans(edits, [(0, 3), (4, 7), (10, 15), (16, 20)]) == [(0, 5), (6, 9), (13, 13), (14, 18)]
    assert move_spans([], [(2, 4)]) == [(2, 4)]


@given(edited())
def test_spans_of_edits_are_where_the_replacements_are(sample):
    text, edits = sample
    released = apply_edits(text, edits)
    moved = move_spans(edits, [(edit.start, edit.end) for edit in edits if edit.start < edit.end])
    kept = [edit.replacement for edit in edits if edit.start < edit.end]
    assert [released[start:end] for start, end in moved] == kept


SPANS = st.lists(st.tuples(st.integers(0, 10), st.integers(1, 4)).map(lambda pair: (pair[0], sum(pair))), max_size=4)


@given(st.text("a ", min_size=14, max_size=14), SPANS.map(sorted), SPANS.map(sorted))
def test_a_gap_is_the_first_stretch_with_a_letter_that_nothing_covers(text, spans, cover):
    covered = {i for start, end in cover for i in range(start, end)}
    bare = {i for start, end in spans for i in range(start, end)} - covered
    letters = sorted(i for i in bare if text[i] != " ")
    gap = find_uncovered(text, spans, cover)
    assert (gap is None) == (not letters)
    if gap:
        assert gap[0] <= letters[0] < gap[1]
        assert set(range(*gap)) <= bare
        assert gap[1] in covered | {end for _, end in spans}


@pytest.mark.parametrize(
    ("spans", "cover", "gap"),
    [
        ([(0, 3)], [(0, 3)], None),
        ([(0, 3)], [(0, 2)], (2, 3)),
        ([(0, 3)], [(1, 3)], (0, 1)),
        ([(0, 3)], [], (0, 3)),
        ([(0, 1), (4, 8)], [(0, 1), (4, 6), (6, 8)], None),
        ([(0, 8)], [(0, 3), (4, 8)], None),
        ([(0, 8)], [(0, 2), (1, 3), (5, 8)], (3, 5)),
    ],
)
def test_white_space_needs_no_cover(spans, cover, gap):
    assert find_uncovered("Ana Ruiz", spans, cover) == gap
