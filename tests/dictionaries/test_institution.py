"""The institution file finds what an automaton of the same terms finds."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.dictionaries import institution
from spacy_deid.dictionaries.institution import Institution, InstitutionWriter
from spacy_deid.dictionaries.matcher import TermMatcher
from spacy_deid.dictionaries.normalise import normal_form
from spacy_deid.dictionaries.terms import Entry, LocalEntry, Tag, Tags, is_too_general

WORDS = st.text("abßñÉd'.- 12", min_size=1, max_size=6)
TERMS = st.lists(WORDS, min_size=1, max_size=8).filter(lambda terms: any(map(usable, terms)))
LABELS = st.sampled_from(["HOSPITAL", "CITY"])


def usable(term):
    return bool(normal_form(term)) and not is_too_general(normal_form(term))


def make(folder, entries):
    tags = Tags([])
    writer = InstitutionWriter(Path(folder), tags)
    for entry in entries:
        writer.add(normal_form(entry.term), tags.number(entry))
    return Institution(Path(folder), writer.finish()), writer


def found(text, matches):
    return [(match.start, match.end, match.label, match.rule) for match in matches]


@settings(deadline=None)
@given(
    st.lists(st.tuples(WORDS.filter(usable), LABELS), min_size=1, max_size=8), st.text("abßñÉdD'.- 12\n", max_size=40)
)
def test_it_finds_what_an_automaton_finds(terms, text):
    matcher = TermMatcher()
    matcher.add([("t", [Entry(normal_form(term), label, "a.b") for term, label in terms])])
    with tempfile.TemporaryDirectory() as folder:
        local, _ = make(folder, [LocalEntry(term, label, "a.b") for term, label in terms])
        text = f"{text} {terms[0][0].upper()} {text}"
        assert sorted(found(text, local.find(text))) == sorted(found(text, matcher.find(text)))


def test_terms_that_do_not_fit_into_memory_are_merged_from_runs(tmp_path, monkeypatch):
    entries = [LocalEntry(f"clinica numero {i} del sur", "HOSPITAL", f"t{i % 3}.name") for i in range(300)]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole, _ = make(tmp_path / "a", entries)
    monkeypatch.setattr(institution, "RUN", 50)
    monkeypatch.setattr(institution, "_BATCH", 7)
    several, writer = make(tmp_path / "b", [*entries, *entries[::-1]])
    assert writer.terms == 300
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["first", "index", "keys", "values"]
    text = "La Clínica número 17 del Sur y la clínica número 299 del sur, no la 300 del sur"
    assert len(whole.find(text)) == 2
    assert whole.find(text) == several.find(text)
    for name in ("keys", "index", "first"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("term", "text", "hit"),
    [
        ("Niño Jesús", "del nin\u0303o-JESUS.", "nin\u0303o-JESUS"),
        ("McDonald Clinic", "at MCDONALD\nCLINIC", "MCDONALD\nCLINIC"),
        ("Mc Donald", "McDonald", None),
        ("Sala 4B", "sala 4 B", None),
        ("Sala 4B", "SALA 4B,", "SALA 4B"),
        ("Hospital Sur", "Hospital Surco", None),
        ("O'Hara House", "O\u2019HARA House", "O\u2019HARA House"),
    ],
)
def test_spellings(tmp_path, term, text, hit):
    local, _ = make(tmp_path, [LocalEntry(term, "HOSPITAL", "a.b")])
    assert [text[m.start : m.end] for m in local.find(text)] == ([hit] if hit else [])


def test_the_longest_of_nested_terms_stays_and_overlapping_ones_both(tmp_path):
    terms = ["hospital general", "general del sur", "hospital general del sur", "sur este"]
    local, _ = make(tmp_path, [LocalEntry(term, "HOSPITAL", "a.b") for term in terms])
    text = "Hospital General del Sur Este"
    assert [text[m.start : m.end] for m in local.find(text)] == ["Hospital General del Sur", "Sur Este"]


def test_the_files_contain_no_terms(tmp_path):
    make(tmp_path, [LocalEntry("Zarzaquemada", "HOSPITAL", "a.b")])
    assert not any(b"zarzaquemada" in path.read_bytes().lower() for path in tmp_path.iterdir())


def test_tags_are_numbered_from_one():
    tags = Tags([Tag("CITY", "a.b", "")])
    assert tags.number(LocalEntry("x", "CITY", "a.b")) == 1
    assert tags.number(LocalEntry("y", "CITY", "a.c")) == 2
