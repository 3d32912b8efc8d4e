"""Exact scores against those on paper, and what they may not depend on."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from masked_lm.tiny import PIECES, TinyLM, by_blanks, note_of

from spacy_deid.errors import ConfigError
from spacy_deid.masked_lm.model import Encoded
from spacy_deid.masked_lm.scoring import (
    NoteWords,
    align_words,
    cut_windows,
    half_overlap,
    make_exact_mode,
    make_spread_mode,
    make_unmasked_mode,
    score_words,
)


def score(text, mode=None, **settings):
    model = TinyLM()
    words = settings.pop("words", by_blanks(text))
    note = note_of(model, text, words, **{k: settings.pop(k) for k in ("same", "wanted", "longest") if k in settings})
    return score_words(model, [note], mode or make_exact_mode(), **settings)[0]


def test_a_word_of_one_piece_as_on_paper():
    # "el [MASK]": "el" is visible once, so el weighs 3, ana 1, ##na 1
    found = score("el ana")
    assert found.log_prob[1] == pytest.approx(log(1 / 5))


def test_a_word_of_two_pieces_is_uncovered_from_left_to_right():
    # "el [MASK] [MASK]": ana weighs 1 of 5. Then "el ana [MASK]": ##na weighs 1 + 3, el 3, ana 3
    found = score("el anana")
    assert found.log_prob[1] == pytest.approx(log(1 / 5) + log(4 / 10))
    assert found.pieces.tolist() == [1, 2]


def test_the_same_word_elsewhere_gives_itself_away_unless_it_is_masked():
    # "[MASK] el ana": ana and el are visible, they weigh 3 each, ##na 1
    assert score("ana el ana").log_prob[0] == pytest.approx(log(3 / 7))
    # with the other "ana" masked: "[MASK] el [MASK]"
    assert score("ana el ana", same=[(0, 2), (1,), (0, 2)]).log_prob[0] == pytest.approx(log(1 / 5))


def test_entropy_and_rank_are_those_of_the_first_distribution():
    found = score("el anana")
    assert found.entropy[1] == pytest.approx(-(3 / 5 * log(3 / 5) + 2 * 1 / 5 * log(1 / 5)))
    assert found.rank[1] == 1  # "el" is more probable, "##na" is not


def test_the_best_pieces_of_a_place_are_kept_in_their_order():
    found = score("el anana", best=2)
    assert [PIECES[piece] for piece in found.best[1]] == ["el", "ana"]
    assert found.best.shape == (2, 2)
    assert score("el ana", best=1, wanted=np.array([True, False])).best.tolist() == [[PIECES.index("ana")], [-1]]


def test_masses_are_expected_values():
    found = score("el anana", properties={"name": np.array([0, 0, 0, 0, 0, 1.0, 0.5, 0], dtype=np.float32)})
    assert found.masses["name"][1] == pytest.approx(1 / 5 * 1.0 + 1 / 5 * 0.5)


class SureLM(TinyLM):
    """Thinks nothing possible but "el"."""

    length = 128

    def log_probs(self, ids, attention, places):
        return np.full((len(places), len(PIECES)), log(1e-30), dtype=np.float32)


def test_a_product_too_small_for_a_number_does_not_underflow():
    model = SureLM()
    note = note_of(model, "ana" + "na" * 40, [(0, 83)])
    found = score_words(model, [note], make_exact_mode())[0]
    assert found.log_prob[0] == pytest.approx(41 * log(1e-30))  # e to this is 0 in any float


def test_what_the_model_cannot_read_is_most_surprising_and_counted():
    found = score("el 😀 ana")
    assert found.aligned.tolist() == [True, False, True]
    assert found.log_prob[1] == -np.inf


def test_a_word_longer_than_half_a_window_is_most_surprising():
    found = score("el " + "ana" + "na" * 8, longest=7)
    assert found.log_prob[1] == -np.inf
    assert np.isfinite(found.log_prob[0])


def test_what_is_not_wanted_is_not_asked():
    found = score("el ana", wanted=np.array([True, False]))
    assert found.log_prob[1] == 0.0


@pytest.mark.parametrize("mode", [make_exact_mode(), make_spread_mode(), make_unmasked_mode()])
def test_an_empty_note_and_one_without_words(mode):
    assert len(score("", mode, words=[]).log_prob) == 0
    assert len(score("...", mode, words=[]).log_prob) == 0


def test_a_note_of_one_repeated_name():
    text, count = " ".join(["ana"] * 40), 40
    everywhere = [tuple(range(count))] * count
    for mode in (make_exact_mode(), make_spread_mode()):
        # nothing but masks to see: every word of the three is as likely
        assert score(text, mode, same=everywhere).log_prob == pytest.approx(log(1 / 3))


def test_a_window_must_hold_something():
    with pytest.raises(ConfigError, match="must be at least"):
        score("el ana", length=4)


WORDS = st.lists(st.sampled_from(["ana", "anana", "el", "ananana"]), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(WORDS, st.integers(16, 400), st.integers(1, 400))
def test_exact_does_not_depend_on_batch_or_window_if_the_note_fits(words, length, batch):
    text = " ".join(words)
    model = TinyLM()
    model.length = 400
    note = note_of(model, text, by_blanks(text))
    whole = score_words(model, [note], make_exact_mode())[0]
    if len(note.ids) + 2 <= length:
        again = score_words(model, [note], make_exact_mode(), length=length, batch=batch)[0]
        assert again.log_prob == pytest.approx(whole.log_prob)


@settings(max_examples=40, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=4))
def test_notes_scored_together_score_as_they_do_alone(notes):
    model = TinyLM()
    texts = [" ".join(words) for words in notes]
    together = score_words(model, [note_of(model, text, by_blanks(text)) for text in texts], make_exact_mode())
    for text, found in zip(texts, together, strict=True):
        assert found.log_prob == pytest.approx(score(text).log_prob)


@settings(max_examples=40, deadline=None)
@given(WORDS, st.integers(0, 12))
def test_spread_with_a_gap_wider_than_the_note_is_exact(words, gap):
    text = " ".join(words)
    found = score(text, make_spread_mode(gap=100))
    assert found.log_prob == pytest.approx(score(text).log_prob)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["ana", "anana", "el"]), min_size=30, max_size=120), st.integers(1, 300))
def test_no_batch_is_larger_than_asked_and_every_word_is_scored_once(words, batch):
    text = " ".join(words)
    model = TinyLM()
    note = note_of(model, text, by_blanks(text))
    found = score_words(model, [note], make_exact_mode(), batch=batch)[0]
    assert all(rows == 1 or rows * length <= batch for rows, length in model.rows)
    assert sum(rows for rows, _ in model.rows) == len(note.ids)
    assert np.isfinite(found.log_prob).all()
    assert (found.log_prob < 0).all()


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
