"""What a model says is found where it stands, and numbers only where they belong."""

import tracemalloc
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_deid.llm.grounding import ground


def places(text, answers, **settings):
    """What is found: string, label and rule."""
    return [(text[f.start : f.end], f.label, f.rule) for f in ground(text, answers, **settings).found]


def test_a_string_is_found_wherever_it_stands():
    text = "Ana García llegó. Avisan a ANA GARCÍA. Firma: ana\n  garcía"
    found = places(text, {"PATIENT": ["Ana García"]})
    assert found == [
        ("Ana García", "PATIENT", "exact"),
        ("ANA GARCÍA", "PATIENT", "case"),
        ("ana\n  garcía", "PATIENT", "case"),
    ]


def test_a_string_is_no_part_of_a_word():
    assert places("Anabel y Mariana; Ana-Luisa", {"PATIENT": ["Ana"]}) == [("Ana", "PATIENT", "exact")]


def test_characters_of_expressions_are_characters():
    text = "Tel. (983) 55-12+3, a.b*c@x.org"
    found = places(text, {"PHONE": ["(983) 55-12+3"], "EMAIL": ["a.b*c@x.org", "axb*c@x.org"]}, fuzzy=None)
    assert [string for string, *_ in found] == ["(983) 55-12+3", "a.b*c@x.org"]


def test_slips_of_the_pen_are_found():
    text = "Paciente: Leocadia Trasmonte. La Sra. Trasmomte mejora. Leocádia Trasmonte, alta."
    found = places(text, {"PATIENT": ["Leocadia Trasmonte", "Trasmonte"]}, fuzzy=85)
    assert ("Trasmomte", "PATIENT", "fuzzy") in found
    assert ("Leocádia Trasmonte", "PATIENT", "fuzzy") in found


def test_without_fuzzy_matching_strings_stand_as_they_are():
    assert places("La Sra. Trasmomte mejora.", {"PATIENT": ["Trasmonte"]}, fuzzy=None) == []


def test_separators_may_differ_and_digits_may_not():
    text = "Ingreso 12-03-2020, alta 13-03-2020."
    assert places(text, {"DATE": ["12/03/2020"]}) == [("12-03-2020", "DATE", "fuzzy")]
    assert places(text, {"DATE": ["14-03-2020"]}) == []


def test_what_stands_nowhere_is_counted_and_is_no_error():
    result = ground("Acude por tos.", {"PATIENT": ["Napoleón", "Napoleón", "--", ""], "AGE": ["7"]})
    assert result.found == []
    assert (result.strings, result.ungrounded, result.unplaced) == (4, 4, 0)


LETTER = (
    "Sophie Berger, Rosenweg 5, 63446 Mannheim.\nHb 5 g/dl, Leukozyten 5, 12.5 mg, Vitamin B12 5 ng. Seit 5 Tagen."
)


def test_a_house_number_is_found_beside_its_street_alone():
    assert places(LETTER, {"STREET": ["Rosenweg", "5"]}) == [("Rosenweg 5", "STREET", "beside")]
    assert places(LETTER, {"STREET": ["5"]}) == []
    assert ground(LETTER, {"STREET": ["5"]}).unplaced == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Calle Mayor, 12, 3 B. TA 12/8, 3 días.", ["Calle Mayor", "12", "3 B", "3", "B"]),
        ("C/ Mayor nº 12\nHb 12", ["C/ Mayor", "12"]),
        ("12 Fennel Way, K 12", ["12", "Fennel Way"]),
        ("Fennel Way Apt 7, score 7", ["Fennel Way", "7"]),
        ("Pellavatie 14 B 3; CRP 14, RR 3", ["Pellavatie", "14 B", "14", "B", "3"]),
    ],
)
def test_numbers_of_an_address_hold_each_other(text, parts):
    found = ground(text, {"STREET": parts}).found
    end = text.index(next(mark for mark in (". TA", "\nHb", ", K", ", score", "; CRP") if mark in text))
    assert max(item.end for item in found) == end
    covered = set().union(*(range(item.start, item.end) for item in found))
    assert {i for i in range(end) if text[i].isdigit()} <= covered


@pytest.mark.parametrize(
    "text", ["Rosenweg.\n5 mg", "Rosenweg. 5 mg", "Rosenweg\n5 mg", "Hb 5. Rosenweg", "Rosenweg: Hb 5"]
)
def test_what_only_follows_an_address_is_no_number_of_it(text):
    assert places(text, {"STREET": ["Rosenweg", "5"]}) == [("Rosenweg", "STREET", "exact")]


def test_other_short_numbers_and_letters_stand_beside_their_own():
    answers = {"PATIENT": ["García", "A", "3"], "DATE": ["3"], "MRN": ["12"]}
    text = "A García, 3 mg, Hb 3. García; vitamina A, 12"
    assert places(text, answers) == [
        ("A García, 3", "PATIENT", "beside"),
        ("García", "PATIENT", "exact"),
    ]


def test_a_number_is_no_piece_of_a_longer_one():
    text = "Mayor 12. Dosis Mayor 12,5 y 3.12 mg, Mayor 12/03"
    found = [item.start for item in ground(text, {"STREET": ["Mayor", "12"]}).found if item.rule == "beside"]
    assert found == [0, text.index("Mayor 12/03")]


@pytest.mark.parametrize(
    "text",
    [
        "Mujer de 91 años, glucosa 91",
        "Edad: 91, glucosa 91",
        "a 91-year-old, Na 91",
        "91-vuotias, P 91",
        "91 Jahre, P 91",
    ],
)
def test_an_age_without_its_unit_is_found_beside_words_of_age(text):
    found = ground(text, {"AGE": ["91"]}).found
    assert [text[item.start : item.end] for item in found] == ["91"]
    assert found[0].start < len(text) - 2


def test_long_numbers_are_somebodys_and_are_found_everywhere():
    text = "NHC 4471. Control 4471. CP 47003, plaquetas 47003"
    assert len(places(text, {"MRN": ["4471"], "ZIP": ["47003"]})) == 4


def test_nothing_is_found_in_nothing():
    assert places("", {"PATIENT": ["Ana"]}) == []
    assert ground("Ana", {}).strings == 0


COMPOSED = "Paciente: José Martínez Pérez y Noé."


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
@pytest.mark.parametrize("fuzzy", [90, None])
def test_accents_that_are_characters_of_their_own_hide_no_name(forms, fuzzy):
    text, *names = (unicodedata.normalize(forms[0], COMPOSED), "José Martínez Pérez", "Noé")
    names = [unicodedata.normalize(forms[1], name) for name in names]
    found = places(text, {"PATIENT": names}, fuzzy=fuzzy)
    assert [(unicodedata.normalize("NFC", string), rule) for string, _, rule in found] == [
        ("José Martínez Pérez", "exact"),
        ("Noé", "exact"),
    ]
    assert text[ground(text, {"PATIENT": names}).found[-1].end :] == "."


@pytest.mark.parametrize(
    "written",
    [
        "Mar-\ntínez Pé-\n  rez Gon-\nzález",
        "Mar\u00adtí\u00adnez Pé\u00adrez Gon\u00adzález",
        "\ufeffMartínez\u200b Pé\u200drez Gon\u2010\nzález",
    ],
)
def test_a_name_that_a_line_breaks_or_that_has_unseen_characters_is_found_whole(written):
    text = f"La Sra. {written}, mejora."
    assert places(text, {"PATIENT": ["Martínez Pérez González"]}, fuzzy=None) == [
        (written.lstrip("\ufeff"), "PATIENT", "exact")
    ]


def test_a_name_is_found_in_the_name_of_a_file_and_a_number_beside_letters():
    text = "Adjunto garcía_Ana_4471.pdf, NHC44712 y 1544712, DNI12345678Z"
    found = places(text, {"PATIENT": ["Ana", "García"], "MRN": ["44712"], "NATIONAL_ID": ["12345678Z"]}, fuzzy=None)
    assert [string for string, *_ in found] == ["garcía", "Ana", "44712", "12345678Z"]
    assert text.index("NHC") + 3 in [item.start for item in ground(text, {"MRN": ["44712"]}).found]


def test_a_number_is_found_in_other_groups_only_if_it_is_long():
    text = "Tel. 600 12 34 56. TA 120/80, CP 12080, 120 80"
    found = places(text, {"PHONE": ["600123456"], "ZIP": ["12080"]})
    assert [string for string, *_ in found] == ["600 12 34 56", "12080"]


def test_a_day_with_its_month_is_a_date_wherever_it_stands():
    text = "Ingresa el 3/5, alta el 12-6. Escala 7/40, curso 98."
    found = places(text, {"DATE": ["3/5", "12-6", "7/40", "98"]})
    assert [string for string, *_ in found] == ["3/5", "12-6"]


def test_a_common_word_that_begins_like_a_name_is_no_slip_of_it():
    text = "Sr. Costa: dolor costal. Sra. Blanco: esputos blancos. Sr. COSTAS, sra. costaa"
    found = places(text, {"PATIENT": ["Costa", "Blanco"]})
    assert [string for string, *_ in found] == ["Costa", "Blanco", "COSTAS"]
    assert [string for string, *_ in places("sr. costa, costal", {"PATIENT": ["costa"]})] == ["costa", "costal"]


WORDS = st.text(alphabet=st.sampled_from("aAñ1 2.-\n"), max_size=60)


@given(WORDS, st.lists(st.text(alphabet=st.sampled_from("aAñ1 2.-"), max_size=8).map(str.strip), max_size=4))
def test_whatever_a_model_says_the_places_are_in_the_text_and_at_edges_of_words(text, strings):
    result = ground(text, {"STREET": strings, "PATIENT": strings, "AGE": strings}, fuzzy=70)
    assert result.ungrounded + result.unplaced <= result.strings
    for item in result.found:
        assert 0 <= item.start < item.end <= len(text)
        assert 0 < item.score <= 1
        for edge in (item.start, item.end):
            around = text[edge - 1 : edge + 1] if 0 < edge < len(text) else ""
            assert not around.isalpha()
            assert not around.isdigit()


def test_a_long_note_is_searched_in_no_time():
    text = "Paciente Ana García con 5 mg de tos seca y fiebre. " * 5000
    result = ground(text, {"PATIENT": ["Ana García", "Napoleón Bonaparte"], "STREET": ["Calle Mayor", "5"]})
    assert len(result.found) == 5000
    assert (result.ungrounded, result.unplaced) == (2, 1)


def test_strings_of_many_lengths_fill_no_memory():
    text, names = "Paciente con 5 mg de tos seca y fiebre. " * 300, [" ".join("a" * n) for n in range(2, 400, 4)]
    tracemalloc.start()
    result = ground(text, {"PATIENT": names})
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.ungrounded == len(names)
    assert most < 20_000_000


def test_a_word_of_a_hundred_thousand_letters_is_searched_in_no_time():
    assert ground("x" * 200_000, {"PATIENT": ["x" * 1000, "Ana"]}).ungrounded == 2
