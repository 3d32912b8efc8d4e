"""Annotations carried from one reading of a document to another."""

import random

import pytest
from conftest import slow
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity
from spacy_deid.evaluation.text_alignment import align_texts, move_documents

LETTER = (
    "Klinik Tannbach, Waldweg 7\nPatientin: Mira Kolb, geboren am 04.05.1961.\nBefund: unauffällig, Puls 72, keine "
    "Effusion.\nDie Versorgung in der Facharztpraxis wurde besprochen.\nGez. Jost Arens\n"
)


def carried(text: str, other: str, quote: str) -> str | None:
    start = text.index(quote)
    span = align_texts(text, other).move(start, start + len(quote))
    return other[slice(*span)] if span else None


@pytest.mark.parametrize(
    ("other", "quote", "expected"),
    [
        (LETTER.replace("Mira Kolb", "Mira\n  Kolb"), "Mira Kolb", "Mira\n  Kolb"),
        (LETTER.replace("Facharztpraxis", "Fach-\narztpraxis"), "Facharztpraxis", "Fach-\narztpraxis"),
        (LETTER.replace("Effusion", "E\ufb00usion"), "Effusion", "E\ufb00usion"),
        (LETTER.replace("unauffällig", "unauffa\u0308llig"), "unauffällig", "unauffa\u0308llig"),
        (LETTER.replace("Jost Arens", "Jo\u00adst Arens"), "Jost Arens", "Jo\u00adst Arens"),
        (LETTER.replace("\n", " "), "Jost Arens", "Jost Arens"),
        ("Seite 1 von 1\n" + LETTER, "Klinik Tannbach", "Klinik Tannbach"),
        # read differently: the whole of it, whatever stands there
        (LETTER.replace("04.05.1961", "O4.O5.I961"), "04.05.1961", "O4.O5.I961"),
        (LETTER.replace("Kolb", "K0llbe"), "Mira Kolb,", "Mira K0llbe,"),
        (LETTER.replace("Mira Kolb", "Mira Seite 2 Kolb"), "Mira Kolb", "Mira Seite 2 Kolb"),
        (LETTER.replace("Mira Kolb", ""), "Mira Kolb", None),
    ],
)
def test_a_span_is_found_again_however_the_text_was_read(other, quote, expected):
    assert carried(LETTER, other, quote) == expected


def test_hyphens_of_either_text_are_left_out():
    assert (
        carried(LETTER.replace("Facharztpraxis", "Fach-\narztpraxis"), LETTER, "Fach-\narztpraxis") == "Facharztpraxis"
    )


def test_a_span_of_blanks_has_no_place():
    assert align_texts(LETTER, LETTER).move(6, 7) is None
    assert align_texts("", "").move(0, 0) is None


@given(
    text=st.text(max_size=80),
    cuts=st.lists(st.integers(0, 80)),
    span=st.tuples(st.integers(0, 80), st.integers(0, 80)),
)
def test_white_space_and_hyphens_never_change_what_a_span_holds(text, cuts, span):
    other = text
    for cut in cuts:
        other = other[:cut] + "-\n"[cut % 2 :] + other[cut:]
    start, end = sorted(span)
    found = align_texts(text, other).move(start, end)
    kept = list(filter(str.isalnum, text[start:end]))
    assert list(filter(str.isalnum, other[slice(*found)] if found else "")) == kept


words = st.lists(st.sampled_from(["Mira", "Kolb", "Puls", "Befund", "72", "ab", "ba"]), min_size=1, max_size=30)


@given(words=words, data=st.data())
def test_each_word_goes_to_itself_when_only_line_ends_differ(words, data):
    separators = [data.draw(st.sampled_from([" ", "\n", "\r\n", "  ", "\t"])) for _ in words]
    one, two = " ".join(words), "".join(word + gap for word, gap in zip(words, separators, strict=True))
    found = align_texts(one, two)
    at, to = 0, 0
    for word, gap in zip(words, separators, strict=True):
        assert found.move(at, at + len(word)) == (to, to + len(word))
        at, to = at + len(word) + 1, to + len(word) + len(gap)


@given(one=st.text("abc -\n", max_size=60), two=st.text("abc -\n", max_size=60))
def test_blocks_cover_both_texts_without_a_gap_and_are_what_they_say(one, two):
    found = align_texts(one, two)
    plain = [[char for char in text if char in "abc"] for text in (one, two)]
    at, to = 0, 0
    for block in found.blocks:
        assert (block.start, block.to) == (at, to)
        at, to = block.end, block.to_end
        if block.same:
            assert plain[0][block.start : block.end] == plain[1][block.to : block.to_end]
    assert (at, to) == (len(plain[0]), len(plain[1]))


def test_documents_are_moved_and_what_has_no_place_is_counted():
    name, doctor = LETTER.index("Mira"), LETTER.index("Jost")
    gold = AnnotatedText("a", LETTER, (Entity(name, name + 9, "PATIENT"), Entity(doctor, doctor + 10, "CLINICIAN")))
    other = LETTER.replace("\n", "\r\n").replace("Jost Arens", "")
    (moved,), lost = move_documents([gold], [AnnotatedText("a", other)])
    assert moved.text == other
    assert [other[e.start : e.end] for e in moved.entities] == ["Mira Kolb"]
    assert lost == {"a": 1}


def test_documents_of_the_same_text_stay_as_they_are():
    gold = AnnotatedText("a", LETTER, (Entity(0, 6, "HOSPITAL"),))
    assert move_documents([gold], [AnnotatedText("a", LETTER)]) == ([gold], {})


def test_ground_truth_for_another_text_is_refused_with_counts_and_without_text():
    other = "Sehr geehrte Damen und Herren, wir berichten über den Verlauf bei Ihrem Kranken.\n" * 3
    with pytest.raises(
        InputError, match=r"'a': the ground truth seems to belong to another text: only \d+ of \d+ letters.*80%"
    ) as caught:
        move_documents([AnnotatedText("a", LETTER)], [AnnotatedText("a", other)])
    assert "Mira" not in str(caught.value)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("words", [15_000, slow(150_000)])
def test_long_texts_are_aligned(words):
    draw = random.Random(0)
    many = ["".join(draw.choices("abcdefghij", k=6)) for _ in range(words)]
    one = " ".join(many)
    two = "\n".join(word for i, word in enumerate(many) if i % 500)
    found = align_texts(one, two)
    assert found.agreeing == 6 * (words - words // 500)


@pytest.mark.timeout(120)  # half an hour if each pair of characters is compared
def test_two_long_texts_with_nothing_in_common_are_given_up_soon():
    assert align_texts("ab" * 100_000, "cd" * 100_000).agreeing == 0
