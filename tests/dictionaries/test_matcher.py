import pickle
import unicodedata

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spacy_deid.dictionaries.matcher import TermMatcher
from spacy_deid.dictionaries.normalise import normal_form, normalise
from spacy_deid.dictionaries.terms import Entry, check_terms, is_too_general
from spacy_deid.errors import ConfigError


def make_matcher(*terms, label="PERSON", name="names"):
    matcher = TermMatcher()
    matcher.add([(name, check_terms(terms, label, name))])
    return matcher


def found(matcher, text):
    return [text[match.start : match.end] for match in matcher.find(text)]


@pytest.mark.parametrize(
    "written", ["García-López", "García López", "Garcia‐Lopez", "GARCÍA  LÓPEZ", "garci\u0301a\u00a0\nlo\u0301pez"]
)
@pytest.mark.parametrize("term", ["García-López", "Garcia Lopez"])
def test_spellings_of_a_term_are_found_with_exact_offsets(term, written):
    assert found(make_matcher(term), f"Dr. {written}, hoy") == [written]


@pytest.mark.parametrize("text", ["banana", "Anabel", "Sultana", "ANABEL", "A.na", "an a", "ñana"])
def test_a_term_inside_a_word_is_not_found(text):
    assert found(make_matcher("Ana"), text) == []


@pytest.mark.parametrize(
    "text", ["Ana", "(ana)", "l'Ana", "Ana_2", "Ana2", "2Ana", "AnaLópez", "luisAna", "ana-maría"]
)
def test_a_term_between_word_edges_is_found(text):
    assert [surface.lower() for surface in found(make_matcher("Ana"), text)] == ["ana"]


@pytest.mark.parametrize("text", ["1234", "A1234", "Nº1234."])
def test_digits_are_found_between_edges(text):
    assert found(make_matcher("1234"), text) == ["1234"]
    assert found(make_matcher("123"), text) == []


def test_a_shorter_term_is_found_where_a_longer_one_fails_at_a_word_edge():
    assert found(make_matcher("Ana", "Ana Mar"), "Ana María") == ["Ana"]
    assert found(make_matcher("Mar del", "Mar del Plata Sur", "Plata"), "Mar del Plata Surf") == ["Mar del", "Plata"]


def test_of_matches_within_one_another_the_longest_stays():
    assert found(make_matcher("San Juan", "Juan", "Hospital San Juan"), "Hospital San Juan") == ["Hospital San Juan"]


def test_overlapping_matches_are_all_kept():
    assert found(make_matcher("San Juan", "Juan Carlos"), "San Juan Carlos") == ["San Juan", "Juan Carlos"]


def test_a_folded_letter_is_not_split():
    assert found(make_matcher("sa", "straße"), "ßa, STRASSE, sa") == ["STRASSE", "sa"]


def test_a_term_of_two_lists_has_both_labels():
    matcher = make_matcher("Rosario")
    matcher.add([("towns", check_terms(["rosario", "Salta"], "CITY", "towns"))])
    assert matcher.find("Rosario, Salta") == [
        (0, 7, "CITY", "towns"),
        (0, 7, "PERSON", "names"),
        (9, 14, "CITY", "towns"),
    ]
    assert len(matcher) == 2
    assert matcher.labels == {"CITY", "PERSON"}


def test_terms_can_be_added_to_those_that_are_there():
    matcher = make_matcher("Ana Ruiz")
    matcher.add([("names", check_terms(["Ana Gil", "Ana"], "PERSON", "names"))])
    assert found(matcher, "Ana Ruiz, Ana Gil, Ana") == ["Ana Ruiz", "Ana Gil", "Ana"]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "-", "\u0301"])
def test_an_empty_text_has_no_matches(text):
    assert make_matcher("Ana").find(text) == []
    assert TermMatcher().find(text) == []


def test_an_empty_matcher_finds_nothing():
    assert TermMatcher().find("Ana") == []


def test_an_invalid_list_adds_nothing(tmp_path):
    for name, rows in (("good", "Ana Ruiz,PERSON"), ("bad", "Eva Gil,PERSON\nde,PERSON")):
        (tmp_path / f"{name}.csv").write_text(f"term,label\n{rows}\n", encoding="utf-8")
    matcher = make_matcher("Luis Sol")
    before = matcher.to_bytes()
    with pytest.raises(ConfigError, match="bad"):
        matcher.add_lists([tmp_path / "good.csv", tmp_path / "bad.csv"])
    assert found(matcher, "Luis Sol, Ana Ruiz, Eva Gil") == ["Luis Sol"]
    assert matcher.to_bytes() == before


def test_two_lists_with_the_same_name_are_refused(tmp_path):
    (tmp_path / "names.csv").write_text("term,label\nEva Gil,PERSON\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="named 'names'"):
        make_matcher("Ana").add_lists([tmp_path / "names.csv"])
    with pytest.raises(ConfigError, match="names"):
        TermMatcher().add_lists([tmp_path / "names.csv", tmp_path / "names.csv"])


def test_bytes_and_pickles_restore_the_matcher():
    matcher = make_matcher("Ana Ruiz", "Ana", "Niño Jesús")
    matcher.add([("towns", check_terms(["Ana", "Salta"], "CITY", "towns"))])
    text = "Ana Ruiz, ANA y nino jesus en Salta"
    for copy in (TermMatcher.from_bytes(matcher.to_bytes()), pickle.loads(pickle.dumps(matcher))):
        assert copy.find(text) == matcher.find(text) != []
        assert copy.lists == matcher.lists
        assert copy.to_bytes() == matcher.to_bytes()


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x80", TermMatcher().to_bytes()[:-3]])
def test_damaged_bytes_are_refused(data):
    with pytest.raises(ConfigError, match="'deid_ruler' cannot be read"):
        TermMatcher.from_bytes(data, "deid_ruler")


SMALL = st.text(alphabet="abAB1 -'éß", min_size=1, max_size=6)


@settings(deadline=None)
@given(st.lists(SMALL, min_size=1, max_size=12), st.text(alphabet="abAB1 -'éß\u0301\n.", max_size=30))
def test_the_matches_are_those_of_a_search_for_each_term_in_turn(written, text):
    terms = {normal_form(term) for term in written} - {""}
    matcher = TermMatcher()
    matcher.add([("x", [Entry(term, "PERSON", "x") for term in terms])])
    folded = normalise(text)
    spans = {
        (start, start + len(term))
        for term in terms
        for start in range(len(folded.text))
        if folded.text.startswith(term, start) and folded.edges[start] and folded.edges[start + len(term)]
    }
    outer = sorted(a for a in spans if not any(b != a and b[0] <= a[0] and a[1] <= b[1] for b in spans))
    starts, ends = folded.original(*np.array(outer, dtype=np.int64).reshape(-1, 2).T)
    assert [match[:2] for match in matcher.find(text)] == list(zip(starts, ends, strict=True))


WORD = st.text(alphabet="abcdeñéíøßABCÁ", min_size=2, max_size=6)
TERM = st.builds(lambda words, mark: mark.join(words), st.lists(WORD, min_size=1, max_size=3), st.sampled_from(" -'"))
SPACES = st.sampled_from([" ", "  ", "\u00a0", "\n", " \t", "-", "‐", " – ", "\u2212", "\u200b"])
APOSTROPHES = st.sampled_from("'’‘´`ʼ")
CASES = st.sampled_from([str, str.upper, str.lower, str.title, str.swapcase])
FORMS = st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"])


@st.composite
def variants(draw, term):
    """Another spelling of a term."""
    written = unicodedata.normalize(draw(FORMS), draw(CASES)(term))
    if draw(st.booleans()):
        written = "".join(char for char in unicodedata.normalize("NFD", written) if not unicodedata.combining(char))
    pieces = [draw(SPACES) if char in " -" else draw(APOSTROPHES) if char == "'" else char for char in written]
    return "".join(pieces)


@settings(deadline=None)
@given(st.data())
def test_every_spelling_of_every_term_is_found_in_any_text(data):
    terms = data.draw(st.lists(TERM, min_size=1, max_size=5))
    assume(not any(is_too_general(normal_form(term)) for term in terms))
    matcher = make_matcher(*terms)
    text, places = "", []
    for term in terms:
        text += data.draw(st.text(max_size=8)) + data.draw(st.sampled_from([" ", ".", "(", "\n", "/"]))
        start = len(text)
        text += data.draw(variants(term))
        places.append((start, len(text)))
        text += data.draw(st.sampled_from([" ", ".", ")", ",", ":"]))
    matches = matcher.find(text)
    normal = {normal_form(term) for term in terms}
    assert all(normal_form(text[match.start : match.end]) in normal for match in matches)
    for start, end in places:
        assert any(match.start <= start and end <= match.end for match in matches)
