"""Words and windows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.masked_lm.model import Encoded
from spacy_deid.masked_lm.scoring import NoteWords, align_words, cut_windows, half_overlap


def encoded(*pieces):
    """Pieces by (id, start, end)."""
    ids, starts, ends = np.array(pieces, dtype=np.int64).reshape(-1, 3).T
    return Encoded(ids, starts, ends)


def aligned(pieces, words, unknown=1, longest=9):
    starts, ends = np.array(words, dtype=np.int64).reshape(-1, 2).T
    return [part.tolist() for part in align_words(pieces, starts, ends, unknown, longest)]


def test_a_piece_that_covers_two_words_belongs_to_both():
    assert aligned(encoded((5, 0, 4), (6, 4, 8)), [(0, 3), (3, 8)]) == [[0, 0], [1, 2], [True, True]]


def test_a_piece_that_begins_with_a_blank_belongs_to_the_word_behind_it():
    assert aligned(encoded((5, 0, 3), (6, 3, 7)), [(0, 3), (4, 7)]) == [[0, 1], [1, 2], [True, True]]


def test_words_without_pieces_with_unknown_ones_or_too_many_are_not_aligned():
    pieces = encoded((5, 0, 3), (1, 10, 13), (6, 20, 21), (6, 21, 22), (6, 22, 23))
    assert aligned(pieces, [(0, 3), (5, 8), (10, 13), (20, 23)], longest=2)[2] == [True, False, False, False]


def test_the_overlap_is_that_of_the_thesis():
    assert half_overlap(512) == 255
    assert half_overlap(128) == 63


@given(st.lists(st.integers(1, 5), min_size=1, max_size=200), st.integers(16, 64), st.data())
def test_every_word_is_scored_once_and_whole(sizes, room, data):
    overlap = data.draw(st.integers(5, room // 2))
    last = np.cumsum(sizes)
    first = last - np.array(sizes)
    count = len(sizes)
    note = NoteWords(
        np.zeros(last[-1], dtype=np.int64),
        first,
        last,
        np.ones(count, bool),
        [(n,) for n in range(count)],
        np.ones(count, bool),
    )
    windows = cut_windows(note, room, overlap)
    assert sorted(word for window in windows for word in window.words) == list(range(count))
    for window in windows:
        assert window.end - window.start <= room
        assert (first[window.words] >= window.start).all()
        assert (last[window.words] <= window.end).all()
    if last[-1] <= room:
        assert len(windows) == 1


@given(st.integers(100, 400), st.integers(16, 64))
def test_words_inside_a_long_note_have_context_on_both_sides(count, room):
    first = np.arange(count)
    note = NoteWords(first, first, first + 1, np.ones(count, bool), [(n,) for n in range(count)], np.ones(count, bool))
    overlap = room // 2 - 1
    for window in cut_windows(note, room, overlap):
        for word in window.words:
            assert window.start == 0 or word - window.start >= overlap // 2
            assert window.end == count or window.end - word - 1 >= overlap // 2
