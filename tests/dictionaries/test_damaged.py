"""Names and numbers that are broken up, scanned or misspelt, and what belongs to a name beside its terms."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.dictionaries.broken import CompactText, compact_terms, rejoin_lines
from spacy_deid.dictionaries.complete import complete_names, extend_genitives, find_initials
from spacy_deid.dictionaries.damaged import DamagedNote, DamagedTerms
from spacy_deid.dictionaries.matcher import Match
from spacy_deid.dictionaries.nicknames import is_nickname
from spacy_deid.dictionaries.normalise import normalise
from spacy_deid.dictionaries.search import search_note
from spacy_deid.dictionaries.store import LocalStore, StoreWriter
from spacy_deid.dictionaries.terms import LocalEntry

NAMES = [
    LocalEntry("villaseca", "PATIENT", "p.surname"),
    LocalEntry("zarzaquemada", "PATIENT", "p.surname"),
    LocalEntry("ndu", "PATIENT", "p.given"),
    LocalEntry("olmo", "PATIENT", "p.surname"),
    LocalEntry("moreno", "PATIENT", "p.surname", "name"),
    LocalEntry("05348211k", "NATIONAL_ID", "p.dni"),
    LocalEntry("90456254", "MRN", "p.mrn"),
    LocalEntry("2031", "MRN", "p.old"),
]
WORDS = {"morena", "olimo", "villa", "olma"}


def damaged(text, strict=True, exact=(), weak=(), lang=""):
    note = DamagedNote(text, normalise(text), WORDS.__contains__, strict=strict, lang=lang)
    return [(text[m.start : m.end], m.label, m.rule) for m in note.find(DamagedTerms(NAMES), exact, weak)]


@pytest.mark.parametrize(
    "written", ["Vilaseca", "Villasecca", "Villaesca", "VILLASEKA", "Villáseka", "Zarzaquenada", "Zarzaqumeda"]
)
def test_a_misspelt_name_is_found(written):
    ((text, label, rule),) = damaged(f"Acude hoy {written}, tos")
    assert (text, label, rule) == (written, "PATIENT", "p.surname~")


@pytest.mark.parametrize("written", ["Vi11aseca", "V1lla5eca", "0lmo", "ViIlaseca", "Zarzaquernada", "01mo"])
def test_a_scanned_name_is_found(written):
    assert [found[0] for found in damaged(f"Acude hoy {written}, tos")] == [written]


@pytest.mark.parametrize(
    "written", ["Villaseca", "Ndv", "Mdu", "morena", "05348212K", "Vilaceka", "Willaseka", "villa", "vilaseca", "OLNO"]
)
def test_exact_short_distant_known_and_lower_case_words_are_not_damaged_names(written):
    assert damaged(f"Acude hoy {written}, tos") == []


def test_a_short_name_with_an_error_needs_a_capital_inside_a_sentence_or_a_word_after_it():
    assert [found[0] for found in damaged("Acude hoy Olno, tos")] == ["Olno"]
    assert [found[0] for found in damaged("Tos. Olno acude")] == ["Olno"]
    assert damaged("Tos. Olno.") == []
    assert damaged("Tos. Olno TAC") == []


def test_a_name_of_three_letters_may_have_two_swapped_ones_between_words_in_lower_case():
    assert [found[0] for found in damaged("Acude hoy Nud, tos")] == ["Nud"]
    assert damaged("Tos. Nud acude") == []


def test_a_word_of_the_language_can_be_a_misspelt_name_only_if_it_is_written_as_one():
    assert [found[0] for found in damaged("Acude hoy Olma con tos")] == ["Olma"]
    assert damaged("Tos. Olma acude") == []
    assert damaged("Acude hoy olma con tos") == []


def test_a_word_of_the_language_joined_to_a_part_of_the_name_is_a_misspelt_part():
    text = "Acude Ndu-Olma hoy"
    exact = [Match(6, 9, "PATIENT", "p.given")]
    assert [found[0] for found in damaged(text, exact=exact)] == ["Olma"]
    assert damaged(text.replace("-", " "), exact=exact) == []


def test_a_word_that_is_also_in_lower_case_is_no_name():
    assert damaged("Acude Vilaseca. La vilaseca crece.") == []


def test_a_word_beside_a_name_may_be_in_lower_case():
    text = "Acude Zarzaquemada vilaseca, tos"
    exact = [Match(6, 18, "PATIENT", "p.surname")]
    assert ("vilaseca", "PATIENT", "p.surname~") in damaged(text, exact=exact)


def test_a_note_without_capitals_may_have_names_in_lower_case():
    assert [found[0] for found in damaged("acude vilaseca por tos")] == ["vilaseca"]


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("9045 6254", "p.mrn"),
        ("90.456.254", "p.mrn"),
        ("90-45-62-54", "p.mrn"),
        ("9045\n6254", "p.mrn"),
        ("053 48211 K", "p.dni"),
        ("9O45 6254", "p.mrn~"),
        ("90456Z54", "p.mrn~"),
    ],
)
def test_a_number_in_other_groups_or_scanned_is_found(written, rule):
    assert [(text, found) for text, _, found in damaged(f"NHC {written}, tos")] == [(written, rule)]


@pytest.mark.parametrize("written", ["9045 6255", "90 456", "20 31", "190456254", "9045     6254"])
def test_another_number_a_part_a_short_one_and_one_with_a_wide_gap_are_not_found(written):
    assert damaged(f"NHC {written}, tos") == []


@pytest.mark.parametrize("written", ["V I L L A S E C A", "o l m o", "O.L.M.O", "M o r e n o"])
def test_spaced_letters_are_found(written):
    assert written in [found[0] for found in damaged(f"Acude {written}, tos")]


def test_a_part_with_spaces_is_not_a_spaced_name():
    assert damaged("Acude ol mo, tos") == []


@settings(deadline=None)
@given(st.text(max_size=60))
def test_offsets_are_those_of_the_text(text):
    text = f"{text} x Villlaseca {text}"
    assert "Villlaseca" in [found[0] for found in damaged(text, strict=False)] or "villlaseca" in text.lower()


def test_lines_are_rejoined_and_offsets_are_those_of_the_original():
    text = "Acude Villa-\n   seca.\nTos- \nferina"
    joined = rejoin_lines(text)
    assert joined.text == "Acude Villaseca.\nTosferina"
    start = joined.text.index("Villaseca")
    (match,) = joined.restore([Match(0, 5, "PATIENT", "p.x"), Match(start, start + 9, "PATIENT", "p.surname")])
    assert (text[match.start : match.end], match.rule) == ("Villa-\n   seca", "p.surname~")
    assert rejoin_lines("Villa - seca\nTos") is None


def test_compact_terms_leave_out_short_and_conditional_ones():
    assert [term.letters for term in compact_terms(NAMES)] == ["villaseca", "zarzaquemada", "05348211k", "90456254"]
    text = "a Villa seca b"
    assert [m[:2] for m in CompactText(normalise(text)).find(compact_terms(NAMES))] == [(2, 12)]


INITIALS = frozenset("ovm")


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("Acude Olalla V. por tos", "Olalla", "Olalla V."),
        ("Acude Villaseca, O. M., tos", "Villaseca", "Villaseca, O. M."),
        ("Acude O. M. Villaseca, tos", "Villaseca", "O. M. Villaseca"),
        ("Acude Olalla B. por tos", "Olalla", "Olalla"),
        ("Seen: Villaseca's son", "Villaseca", "Villaseca's"),
        ("Acude Olalla Vomita", "Olalla", "Olalla"),
    ],
)
def test_names_are_extended_over_initials_of_the_patient_and_genitives(text, name, expected):
    start = text.index(name)
    (match,) = complete_names(text, [Match(start, start + len(name), "PATIENT", "p.x")], INITIALS)
    assert text[match.start : match.end] == expected


def test_particles_between_two_names_belong_to_them():
    text = "Olalla Villaseca de la Fuente y Ana"
    places = [(text.index(word), text.index(word) + len(word)) for word in ("Villaseca", "Fuente")]
    found = complete_names(text, [Match(*place, "PATIENT", "p.x") for place in places], INITIALS)
    assert "Villaseca de la Fuente" in [text[m.start : m.end] for m in found]


def test_only_names_of_persons_are_extended():
    street = Match(0, 5, "STREET", "p.street")
    assert complete_names("Ancha V. 3", [street], INITIALS) == [street]
    assert extend_genitives("Zarzal's", [Match(0, 6, "HOSPITAL", "c.x")]) == [Match(0, 8, "HOSPITAL", "c.x")]


def test_initials_are_those_of_names():
    assert find_initials(NAMES) == frozenset("vznom")


@pytest.mark.parametrize(
    ("word", "name", "lang", "expected"),
    [
        ("rafa", "rafael", "es", True),
        ("juanito", "juan", "es", True),
        ("santi", "santiago", "es", True),
        ("timppa", "timo", "fi", True),
        ("henkalle", "henri", "fi", True),
        ("danny", "daniel", "en", True),
        ("rafa", "rafael", "sv", False),
        ("rafa", "zarzaquemada", "es", False),
        ("fiebre", "rafael", "es", False),
    ],
)
def test_nicknames_are_derived_from_given_names_by_the_patterns_of_the_language(word, name, lang, expected):
    assert is_nickname(word, name, lang) is expected


def test_a_note_is_searched_for_broken_names_of_institution_and_patient(tmp_path):
    with StoreWriter(tmp_path / "local") as writer:
        writer.add_institution([LocalEntry("hospital zarzal", "HOSPITAL", "c.name")])
        writer.add_patient("1", NAMES)
        writer.commit({})
    store = LocalStore.open(tmp_path / "local")
    assert store.fuzzy
    text = "Hospital Zar-\nzal. Acude Villa-\nseca, Vilaseca y Moreno Vilaseca; hoy ve a Moreno aquí."
    for is_word, expected in ((None, 2), (WORDS.__contains__, 4)):
        found = search_note(store, store.patient("1"), text, normalise(text), is_word, "es")
        rules = [m.rule for m in found if m.rule.endswith("~")]
        assert ("c.name~" in rules, len(rules)) == (True, expected)
        assert text.rindex("Moreno") in [m.start for m in found]


def _found(entries, text, is_word=lambda word: False):
    note = DamagedNote(text, normalise(text), is_word)
    return [text[m.start : m.end] for m in note.find(DamagedTerms(entries))]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Acude hoy Nddu, tos", "Nddu"),  # three letters and an additional one, inside a sentence
        ("Tos. Ollmo acude", "Ollmo"),  # four letters and an additional one, at the beginning
    ],
)
def test_a_short_name_with_an_additional_letter_is_found(text, written):
    assert [found[0] for found in damaged(text)] == [written]


def test_another_listed_given_name_counts_only_between_words_in_lower_case():
    entries = [LocalEntry("susana", "PATIENT", "p.given")]
    assert _found(entries, "seen with Susan today", {"susan"}.__contains__) == ["Susan"]
    assert _found(entries, "seen with Susan Today", {"susan"}.__contains__) == []
    assert _found(entries, "Susan today", {"susan"}.__contains__) == []


@pytest.mark.parametrize("written", ["de la Hooz", "de 1a H0z", "de la H0z"])
def test_particles_belong_to_a_damaged_name(written):
    entries = [LocalEntry("de la hoz", "PATIENT", "p.surname"), LocalEntry("hoz", "PATIENT", "p.surname")]
    assert written in _found(entries, f"Acude hoy {written}, tos")


def test_a_damaged_part_of_a_hyphenated_name_is_found_beside_the_other_part():
    entries = [LocalEntry("leo", "PATIENT", "p.given"), LocalEntry("pekka", "PATIENT", "p.given")]
    text = "Tänään Leo-Peka kertoo"
    exact = [Match(7, 10, "PATIENT", "p.given")]
    found = DamagedNote(text, normalise(text), lambda word: False).find(DamagedTerms(entries), exact)
    assert [text[m.start : m.end] for m in found] == ["Peka"]


def test_two_scanned_parts_support_each_other():
    entries = [LocalEntry("carlos", "PATIENT", "p.given"), LocalEntry("gil", "PATIENT", "p.surname")]
    assert _found(entries, "Acude Car1os G11, tos") == ["Car1os", "G11"]
    assert _found(entries, "Acude G11, tos") == []
