"""Tests of log-ins made of the names of a note."""

import pytest
import spacy

from spacy_deid.medical.known_words import ordinary_words
from spacy_deid.ml.log_ins import find_log_ins, is_made_of

NAME = ("brigida", "zarzaquemada")


@pytest.mark.parametrize(
    "form",
    ["bzarzaquemada", "bzarza", "xmzarzaquemada", "zarzaquemadab", "zarzbri", "zarzaqb", "brigzar", "brizarz"],
)
def test_words_made_of_a_name(form):
    assert is_made_of(form, NAME)


@pytest.mark.parametrize(
    "form", ["zarzaquemada", "zarzaquemadas", "brigida", "xzarza", "quemada", "bzar", "zarzuela", "brisa", "zazab"]
)
def test_words_not_made_of_a_name(form):
    assert not is_made_of(form, NAME)


def test_a_single_surname_needs_a_whole_name():
    assert is_made_of("bzarzaquemada", ("zarzaquemada",))
    assert not is_made_of("bzarza", ("zarzaquemada",))


def find(text, *names):
    doc = spacy.blank("en").make_doc(text)
    spans = [doc.char_span(text.index(name), text.index(name) + len(name)) for name in names]
    found = find_log_ins(doc, [(s.start, s.end, 0, 0.9) for s in spans], {0}, ordinary_words("en"))
    return [(doc[start:end].text, score) for start, end, score in found]


def test_log_ins_are_found_in_lower_and_upper_case():
    text = "Seen by Una Brackenhoff at noon. Typed ubrackenhoff, signed UBRACKEN, Ubracken did not."
    assert find(text, "Una Brackenhoff") == [("ubrackenhoff", 0.9), ("UBRACKEN", 0.9)]


def test_a_note_without_names_has_no_log_ins():
    assert find("Typed by ubrackenhoff.") == []


def test_words_of_the_language_are_no_log_ins():
    assert find("Seen by Ruth Eward. Given a reward and forward bends.", "Ruth Eward") == []


def test_what_is_covered_is_not_found_again():
    assert find("Una Brackenhoff, ubrackenhoff", "Una Brackenhoff", "ubrackenhoff") == []
