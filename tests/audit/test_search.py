"""Searching notes for identifiers, and counting the hits."""

import pickle
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.audit.search import (
    CompactText,
    Facet,
    Hit,
    Note,
    Searcher,
    SearchResult,
    compact_terms,
    count_note,
    misspell,
    plant,
)
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
def test_other_text_is_not_found(searcher, text):
    assert hits(searcher, text) == []


def test_a_term_with_a_wide_gap_is_not_found():
    terms = compact_terms([LocalEntry("villaseca", "PATIENT", "a.b")])
    assert CompactText(normalise("villa - \n seca")).find(terms) != []
    assert CompactText(normalise("villa ------ . seca")).find(terms) == []


def test_a_pickled_searcher_contains_no_terms(searcher):
    data = pickle.dumps(searcher)
    assert b"villaseca" not in data.lower()
    assert hits(pickle.loads(data), "Villaseca") == hits(searcher, "Villaseca")


def test_the_repr_of_a_note_hides_its_text():
    assert repr(Note(3, "P1", (), "Villaseca", ("P2",))) == "Note(row=3)"


def test_counts_by_facet(searcher):
    counts = found(searcher, "Villaseca, tel. 600100200. Olmedilla.", ("P2",)).counts
    assert counts[Facet("all", "all")][:6] == (1, 1, 1, 1, 1, 0)
    assert counts[Facet("type", "letter")][:6] == (1, 1, 1, 1, 1, 0)
    assert counts[Facet("source", "patients.surname")][:6] == (1, 1, 1, 1, 1, 0)
    assert counts[Facet("source", "patients.given")][:6] == (1, 0, 0, 0, 0, 0)
    assert counts[Facet("kind", "PHONE")][:6] == (1, 1, 0, 0, 0, 0)
    assert counts[Facet("form", "fuzzy")][:6] == (1, 0, 1, 0, 0, 0)


def test_a_place_hit_by_two_patients_is_shared():
    hit = Hit(0, 5, "CITY", "patients.city", "exact")
    facets = frozenset({Facet("kind", "CITY"), Facet("source", "patients.city")})
    counts = count_note((), SearchResult((hit,), facets), [SearchResult((hit,), facets), SearchResult((), facets)])
    assert counts[Facet("all", "all")][:6] == (1, 1, 2, 1, 2, 1)


def test_notes_with_misspelt_names_only_are_counted_apart(searcher):
    near = found(searcher, "Acude Vilaseca. Olmedila.", ("P2",)).counts
    assert (near[Facet("all", "all")].near, near[Facet("all", "all")].others_near) == (1, 1)
    assert near[Facet("form", "fuzzy")].near == 1
    both = found(searcher, "Acude Vilaseca, tel. 600100200. Olmedilla.", ("P2",)).counts
    assert (both[Facet("all", "all")].near, both[Facet("all", "all")].others_near) == (0, 0)


@settings(deadline=None)
@given(st.text("abcdefgh", min_size=3, max_size=12), st.randoms(use_true_random=False))
def test_a_typing_error_keeps_the_first_letter_and_changes_the_length_by_one_at_most(name, rng):
    wrong = misspell(name, rng)
    assert wrong[0] == name[0]
    assert abs(len(wrong) - len(name)) <= 1


def test_a_misspelt_name_replaces_a_capitalised_word():
    text, start, end = plant("acude con tos, el Lunes", ["villaseca"], Random(1))
    assert text[:start] == "acude con tos, el "
    assert text[start] == "V"
    assert end == len(text)


@pytest.mark.parametrize(("text", "names"), [("acude con tos", ["villaseca"]), ("Lunes", []), ("", ["villaseca"])])
def test_nothing_is_planted_without_a_place_or_a_name(text, names):
    assert plant(text, names, Random(1)) is None


TERM = compact_terms([LocalEntry("villaseca", "PATIENT", "a.b")])


def found_split(text, terms=TERM):
    return [text[match.start : match.end] for match in CompactText(normalise(text)).find(terms)]


@pytest.mark.parametrize(
    "surface",
    [
        "Villa-\nseca",
        "Villa-\r\nseca",
        "V i l l a s e c a",
        "V.I.L.L.A.S.E.C.A",
        "villa\n      seca",
        "Vi\u00adllaseca",
    ],
)
def test_broken_up_terms_are_found(surface):
    assert found_split(f"Acude {surface}, de 40 años") == [surface]


@pytest.mark.parametrize("text", ["", "\n", "villa de seca", "villasecano", "lavillaseca", "villa ------ . seca"])
def test_terms_with_other_words_in_between_are_not_found(text):
    assert found_split(text) == []


def test_every_place_is_found_split():
    assert len(found_split("villa seca villa-seca villaseca")) == 3


def test_characters_outside_the_basic_plane_do_not_shift_offsets():
    assert found_split("🙂🙂 Villa-\nseca 🙂") == ["Villa-\nseca"]


def test_decomposed_accents_belong_to_their_letters():
    terms = compact_terms([LocalEntry("muñózga", "PATIENT", "a.b")])
    assert found_split("Acude Mun\u0303o\u0301z-\nga.", terms) == ["Mun\u0303o\u0301z-\nga"]


def test_short_terms_and_those_with_a_condition_are_left_out():
    entries = [LocalEntry("ndu", "PATIENT", "a.b"), LocalEntry("villaseca", "PATIENT", "a.b", "name")]
    assert compact_terms(entries) == []


def test_the_repr_of_a_term_hides_its_text():
    assert "villaseca" not in repr(TERM)
    assert [term.letters for term in TERM] == ["villaseca"]


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_what_is_found_are_the_letters_of_the_term(before, after):
    for surface in found_split(f"{before} Villa-\nseca {after}"):
        assert "".join(char for char in normalise(surface).text if char.isalnum()) == "villaseca"
