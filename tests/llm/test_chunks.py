"""Parts of a note: all of it, none too long, cut where sentences end."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.llm.extraction import split_text

TEXTS = st.text(alphabet=st.sampled_from("ab. \n!?é"), max_size=400)


@given(TEXTS, st.integers(10, 120), st.integers(0, 200))
def test_every_character_is_in_a_part_and_no_part_is_too_long(text, size, overlap):
    parts = split_text(text, size, overlap)
    covered = set().union(*(range(start, end) for start, end in parts)) if parts else set()
    assert covered == set(range(len(text)))
    assert all(0 < end - start <= size for start, end in parts)


@given(TEXTS, st.integers(10, 120), st.integers(0, 200))
def test_parts_go_on_and_share_no_more_than_they_may(text, size, overlap):
    parts = split_text(text, size, overlap)
    for (start, end), (next_start, next_end) in pairwise(parts):
        assert start < next_start <= end < next_end
        assert end - next_start <= min(overlap, size // 2)


def test_a_short_note_is_one_part():
    assert split_text("Ana García. 34 años.") == [(0, 20)]
    assert split_text("") == []


def test_a_note_is_cut_after_a_sentence():
    text = "Acude Ana. Tos. " * 20
    assert len(split_text(text, 100, 0)) > 1
    for start, end in split_text(text, 100, 0)[:-1]:
        assert text[start:end].endswith(". ")
        assert text[start:].startswith(("Acude", "Tos"))


def test_words_are_not_cut_where_no_sentence_ends():
    text = "palabra " * 50
    for start, end in split_text(text, 60, 10):
        assert set(text[start:end].split()) == {"palabra"}


def test_what_stands_at_a_cut_is_whole_in_a_part():
    text = "Frase de relleno número uno sin más. " * 3 + "Paciente: Ana García Ruiz. " + "Otra frase de relleno. " * 4
    parts = split_text(text, 120, 40)
    assert any("Ana García Ruiz" in text[start:end] for start, end in parts)


@given(
    st.integers(300, 560), st.sampled_from(["Sta. María de la Cabeza", "Dr. J. M. Ruiz", "St. Orla Medical Center"])
)
def test_what_stands_at_a_cut_after_an_abbreviation_is_whole_in_a_part(words, name):
    text = "palabra " * words + f"vive en {name} 12 y " + "otra cosa " * 300
    assert any(name in text[start:end] for start, end in split_text(text, 4000, 200))


@given(
    st.lists(st.sampled_from(["Dr.", "ana", "x", "Ruiz,", "fin.", "palabrita"]), min_size=1, max_size=120), st.data()
)
def test_words_that_the_overlap_holds_are_whole_in_a_part(words, data):
    text = " ".join(words)
    start = data.draw(st.integers(0, len(text) - 1))
    end = min(len(text), start + 40 - len("palabrita "))
    assert any(a <= start and end <= b for a, b in split_text(text, 120, 40))
