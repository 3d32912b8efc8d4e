"""The mark-up of authored notes, its errors and checks, and the filling of a note with other persons."""

from datetime import date
from random import Random

import pytest
import spacy
from spacy.util import registry

from spacy_deid.errors import InputError
from spacy_deid.lang.text import fold
from spacy_deid.patterns import get_validator
from spacy_deid.synth.authored import age_agrees, find_shared_runs, find_unmarked, read_authored
from spacy_deid.synth.refill import refill

# ruff: noqa: E501 (lines of notes are as long as they are)
HEADER = "#! brief: en-t01\n=== 1\n#! genre: ward round\n#! institution: Quillmore Infirmary\n#! date: 2019-11-07\n"
PERSONS = """\
#! patient = Brannagh Odalys / Quistgaard, f, 1951-03-12
#! son = Tibor / Halloway-Quistgaard, m
#! nurse = Oluchi / Ferrante, f
"""
NOTE = """\
QUILLMORE INFIRMARY [ ] day case
[QUISTGAARD, Brannagh O.](PATIENT patient), [68 y](AGE), born [12/03/1951](DATE), NHS [943 476 5919](NATIONAL_ID kind=nhs)
[Quistgard](PATIENT patient) settled; [B Q](PATIENT patient) (see note). Son [Tibor Halloway-Quistgaard](RELATIVE son)
rings [0191 496 0417](PHONE) on [8/11](DATE), writes from [tibor.halloway@example.org](EMAIL).
[Quistgaard's](PATIENT patient) Kernig sign negative, MRN [HI-0093317](MRN), again HI no [HI-0093317](MRN).   /[OF](CLINICIAN nurse)
"""
SPANISH = """\
#! brief: es-d07
=== 1
#! genre: nota
#! institution: Hospital Quirosol
#! date: 2021-05-03
#! patient = Ximena / Barrutia de la Quintana, f
[Ximena Barrutia de la Quintana](PATIENT patient), [BARRUTIA](PATIENT patient), de [Zaragoza](CITY home) ([50001](ZIP home)).
Visita el [3 de mayo de 2021](DATE) y el [lunes 10 de mayo](DATE).
"""
FINNISH = """\
#! brief: fi-t01
=== 1
#! genre: hoitokertomus
#! institution: Kuusiniemen sairaala
#! date: 2021-05-03
#! patient = Aunikki / Törmänen, f
#! boy = Hope / Törmänen, m
[Törmäsen](PATIENT patient gen) vointi hyvä. [Aunikilla](PATIENT patient ade) ei kipua. [T. Aunikki](PATIENT patient).
"""


def write(folder, text):
    path = folder / "notes.txt"
    path.write_text(text, encoding="utf8")
    return path


def read_one(folder, text):
    (note,) = read_authored(write(folder, text))
    return note


def values(note, label):
    return [note.text[e.start : e.end] for e in note.entities if e.label == label]


def test_a_note_is_read_without_its_markup(tmp_path):
    note = read_one(tmp_path, HEADER + PERSONS + NOTE)
    assert note.text.startswith(
        "QUILLMORE INFIRMARY [ ] day case\nQUISTGAARD, Brannagh O., 68 y, born 12/03/1951, NHS 943"
    )
    assert (note.name, note.lang, note.split) == ("en-t01-01", "en", "train")
    assert note.persons["patient"].born == date(1951, 3, 12)
    annotated = note.annotated()
    assert values(annotated, "PATIENT") == ["QUISTGAARD, Brannagh O.", "Quistgard", "B Q", "Quistgaard's"]
    assert values(annotated, "NATIONAL_ID") == ["943 476 5919"]
    assert find_unmarked(note) == []
    assert age_agrees(note)


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("(MRN)", "(MRM)", 13, "unknown label 'MRM'"),
        ("(MRN)", "(MRN", 13, "does not parse"),
        ("RELATIVE son", "RELATIVE daughter", 11, "without the key of a declared person"),
        ("kind=nhs", "kind=xyz", 10, "unknown kind"),
        ("1951-03-12", "1951-13-12", 6, "a date"),
        ("#! son = Tibor / Halloway-Quistgaard", "#! son = /", 7, "a person without a name"),
        ("#! genre: ward round", "#! genr: ward round", 3, "neither a field nor a person"),
        ("#! genre: ward round\n", "", 3, "no line '#! genre"),
        ("#! brief: en-t01", "#! brief: me", 1, "first line"),
        ("[8/11](DATE)", "[8/11](DATE a b)", 12, "two keys"),
        ("rings ", "#! rings ", 12, "inside a note"),
    ],
)
def test_an_error_names_file_and_line_and_no_text(tmp_path, old, new, line, reason):
    text = HEADER + PERSONS + NOTE
    with pytest.raises(InputError) as caught:
        read_authored(write(tmp_path, text.replace(old, new, 1)))
    assert f"notes.txt, line {line}: " in str(caught.value)
    assert reason in str(caught.value)
    assert "Quistgaard" not in str(caught.value)


def test_a_file_that_is_not_utf8_and_a_folder_without_notes_are_errors(tmp_path):
    (tmp_path / "latin.txt").write_bytes(HEADER.encode() + "[Muñoz](PATIENT p)".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.txt"):
        read_authored(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no authored notes"):
        read_authored(tmp_path / "empty")


def test_a_marked_word_that_stands_unmarked_is_found(tmp_path):
    text = HEADER + PERSONS + NOTE.replace("settled", "Tibor settled")
    assert find_unmarked(read_one(tmp_path, text)) == ["Tibor"]
    assert find_unmarked(read_one(tmp_path, text.replace("#! son", "#! unmarked: Tibor (a river)\n#! son"))) == []


def test_an_age_that_contradicts_the_birth_is_found(tmp_path):
    assert not age_agrees(read_one(tmp_path, HEADER + PERSONS + NOTE.replace("68 y", "57 y")))


def test_notes_that_share_seven_words_are_found(tmp_path):
    second = NOTE.replace("Son", "Her only son") + "one two three four five six seven"
    other = NOTE.split("\n", 1)[0] + "\none two three four five six seven"
    text = HEADER + PERSONS + second + "\n" + "=== 2" + HEADER.split("=== 1")[1] + other
    assert find_shared_runs(read_authored(write(tmp_path, text))) == [("en-t01-01", "en-t01-02")]


def test_a_filled_note_has_other_persons_in_the_same_forms(tmp_path):
    note = read_one(tmp_path, HEADER + PERSONS + NOTE)
    filled = refill(note, Random(1))
    assert filled.text != refill(note, Random(2)).text
    assert filled.text == refill(note, Random(1)).text
    for word in ("brannagh", "quistg", "tibor", "halloway", "odalys", "943 476 5919", "0093317", "12/03/1951"):
        assert word not in filled.text.casefold()
    assert len(filled.entities) == len(note.marks)
    upper, typo, initials, genitive = values(filled, "PATIENT")
    surname, given = upper.split(", ")
    assert surname.isupper()
    assert given.endswith(".")
    assert typo.upper() != surname
    assert len(typo) == len(surname) - 1
    assert initials == f"{given[0]} {surname[0]}"
    assert genitive.upper() == f"{surname}'S"
    (son,) = values(filled, "RELATIVE")
    assert son.upper().endswith(f"-{surname}")
    assert values(filled, "EMAIL")[0].startswith(fold(son.split()[0]))
    assert get_validator("nhs")(values(filled, "NATIONAL_ID")[0])
    first, second = values(filled, "MRN")
    assert first == second
    assert first.startswith("HI-00")
    assert values(filled, "PHONE")[0].startswith("019")
    born, call = values(filled, "DATE")
    assert born.count("/") == 2
    assert call.count("/") == 1
    assert "Kernig sign" in filled.text
    assert "68 y" in filled.text


def test_dates_move_by_whole_weeks_and_places_with_their_code(tmp_path):
    filled = refill(read_one(tmp_path, SPANISH), Random(4))
    assert "lunes" in filled.text
    full, weekday = values(filled, "DATE")
    assert full != "3 de mayo de 2021"
    assert weekday != "lunes 10 de mayo"
    assert values(filled, "CITY") != ["Zaragoza"]
    assert values(filled, "ZIP") != ["50001"]
    name, upper = values(filled, "PATIENT")
    assert " de la " in name
    assert upper in name.upper()


def test_inflected_names_keep_their_case(tmp_path):
    filled = refill(read_one(tmp_path, FINNISH), Random(5))
    surname, given, nominative = values(filled, "PATIENT")
    assert surname.endswith("n")
    assert given.endswith(("lla", "llä"))
    assert nominative.startswith(surname[0])


def test_a_person_with_a_mark_that_stays_is_not_renamed(tmp_path):
    text = HEADER + PERSONS + NOTE.replace("(PATIENT patient)", "(PATIENT patient =)", 1)
    filled = refill(read_one(tmp_path, text), Random(1))
    assert "QUISTGAARD, Brannagh O." in filled.text
    assert "Quistgaard's" in filled.text
    assert "Oluchi" not in filled.text


def test_the_reader_fills_the_notes_anew_in_each_pass(tmp_path):
    path = write(tmp_path, HEADER + PERSONS + NOTE)
    make = registry.readers.get("spacy_deid.authored_corpus.v1")
    nlp, read = spacy.blank("en"), make(str(path))
    first, second, third = ([e.reference.text for e in read(nlp)] for _ in range(3))
    assert len({*first, *second, *third}) == 3
    fixed = make(str(path), fill=False)
    assert [e.reference.text for e in fixed(nlp)] == [e.reference.text for e in fixed(nlp)] == first
    (example,) = make(str(path))(nlp)
    assert ("68 y", "AGE") in [(ent.text, ent.label_) for ent in example.reference.ents]


def test_the_reader_reduces_labels_to_the_distinctions_of_a_scheme(tmp_path):
    path = write(tmp_path, HEADER + PERSONS + NOTE + "Seen in [Whitby](CITY).\n")
    make = registry.readers.get("spacy_deid.authored_corpus.v1")
    (example,) = make(str(path), distinguish="meddocan")(spacy.blank("en"))
    assert ("Whitby", "TERRITORY") in [(ent.text, ent.label_) for ent in example.reference.ents]
