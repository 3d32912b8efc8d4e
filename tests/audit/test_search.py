"""What is found in a note, and how it is counted."""

import pickle

import pytest

from spacy_deid.audit.search import Facet, Hit, Note, Search, Searcher, Tally, Tight, count_note, tight_terms
from spacy_deid.dictionaries.normalise import normalise
from spacy_deid.dictionaries.store import StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry

ENTRIES = [
    LocalEntry("villaseca", "PATIENT", "patients.surname"),
    LocalEntry("ndu", "PATIENT", "patients.given"),
    LocalEntry("600100200", "PHONE", "patients.phone"),
    LocalEntry("rosa", "PATIENT", "patients.middle", "name"),
]


@pytest.fixture
def searcher(tmp_path):
    with StoreWriter(tmp_path / "store") as writer:
        writer.add_patient("P1", ENTRIES)
        writer.add_patient("P2", [LocalEntry("olmedilla", "PATIENT", "patients.surname")])
        writer.commit({})
    return Searcher(tmp_path / "store")


def found(searcher, text, others=()):
    return searcher.search(Note(1, "P1", (Facet("type", "letter"),), text, others))


def hits(searcher, text):
    return [(text[hit.start : hit.end], hit.label, hit.rule, hit.form) for hit in found(searcher, text).hits]


@pytest.mark.parametrize(
    ("text", "surface", "form"),
    [
        ("Acude VILLASECA por tos", "VILLASECA", "exact"),
        ("Acude Ndu por tos", "Ndu", "exact"),
        ("Acude Villa-\nseca por tos", "Villa-\nseca", "split"),
        ("Acude V i l l a s e c a", "V i l l a s e c a", "split"),
        ("Tel. 6001 00-200.", "6001 00-200", "split"),
        ("Acude Vilaseca por tos", "Vilaseca", "fuzzy"),
        ("Acude la Sra. Rosa por tos", "Rosa", "exact"),
        ("Acude (Rosa) por tos", "Rosa", "doubtful"),
        ("Firmado hoy | ROSA |", "ROSA", "doubtful"),
    ],
)
def test_identifiers_are_found_in_every_form(searcher, text, surface, form):
    ((quoted, *_, kind),) = hits(searcher, text)
    assert (quoted, kind) == (surface, form)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "[PATIENT] acude por tos",
        "una rosa roja",
        "Rosa roja. Rosa roja.\nRosa roja\n- Rosa roja",
        "Villanueva",
        "Villa de la seca",
        "601100200",
        "xvillasecax",
        "n du",
    ],
)
def test_what_is_no_identifier_is_not_found(searcher, text):
    assert hits(searcher, text) == []


def test_a_wide_gap_is_no_break():
    terms = tight_terms([LocalEntry("villaseca", "PATIENT", "a.b")])
    assert Tight(normalise("villa - \n seca")).find(terms) != []
    assert Tight(normalise("villa ------ . seca")).find(terms) == []


def test_a_searcher_is_pickled_without_what_it_searches_for(searcher):
    data = pickle.dumps(searcher)
    assert b"villaseca" not in data.lower()
    assert hits(pickle.loads(data), "Villaseca") == hits(searcher, "Villaseca")


def test_a_note_does_not_show_itself():
    assert repr(Note(3, "P1", (), "Villaseca", ("P2",))) == "Note(row=3)"


def test_counts_by_facet(searcher):
    counts = found(searcher, "Villaseca, tel. 600100200. Olmedilla.", ("P2",)).counts
    assert counts[Facet("all", "all")] == Tally(1, 1, 1, 1, 1, 0)
    assert counts[Facet("type", "letter")] == Tally(1, 1, 1, 1, 1, 0)
    assert counts[Facet("source", "patients.surname")] == Tally(1, 1, 1, 1, 1, 0)
    assert counts[Facet("source", "patients.given")] == Tally(1, 0, 0, 0, 0, 0)
    assert counts[Facet("kind", "PHONE")] == Tally(1, 1, 0, 0, 0, 0)
    assert counts[Facet("form", "fuzzy")] == Tally(1, 0, 1, 0, 0, 0)


def test_a_place_that_two_patients_hit_is_shared():
    hit = Hit(0, 5, "CITY", "patients.city", "exact")
    sorts = frozenset({Facet("kind", "CITY"), Facet("source", "patients.city")})
    counts = count_note((), Search((hit,), sorts), [Search((hit,), sorts), Search((), sorts)])
    assert counts[Facet("all", "all")] == Tally(1, 1, 2, 1, 2, 1)
