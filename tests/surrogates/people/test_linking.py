"""Which mentions of a note name the same person. All persons are invented."""

import pytest

from spacy_deid.surrogates.mention import Mention
from spacy_deid.surrogates.people import link_persons
from spacy_deid.surrogates.people.linking import NameWords, number_names
from spacy_deid.surrogates.people.variants import sound


def link(lang, *rows):
    """Number mentions of "LABEL text"; PATIENT, RELATIVE or CLINICIAN by its first letter."""
    labels = {"P": "PATIENT", "R": "RELATIVE", "C": "CLINICIAN"}
    return link_persons([Mention(row[2:], labels[row[0]]) for row in rows], lang)


@pytest.mark.parametrize(
    ("lang", "rows"),
    [
        ("en", ["C Quennell", "C DQ"]),
        ("en", ["C D. Quennell", "C DQ", "C dq"]),
        ("en", ["C Fiona D", "C F Drysdall"]),
        ("es", ["C Belén Lupiáñez", "C BLO"]),
        ("es", ["P Otilia Pineda", "P O. Pineda Far"]),
        ("es", ["P Clementina Neculpán de Hott", "P Clementina Neculpán Fritz"]),
        ("en", ["P Winifred Coombes", "P Win"]),
        ("en", ["P Abdirahman Warsame", "P Abdi"]),
        ("es", ["P Manuel Lambraño", "P Manuelito"]),
        ("en", ["P Oleksandr Hryhorenko", "P Aleksander Grigorenko", "P Grigorenko"]),
        ("en", ["P Volodymyr Shcherbyna", "P Wladimir Schtscherbina"]),
        ("en", ["P Đặng Minh Khôi", "P Dang, Khoi"]),
        ("fi", ["P Tšernyšov Dmitri", "P CHERNYSHOV DMITRIY"]),
        ("en", ["C EMER QUIGG", "C EMER"]),
        ("es", ["P Salvador", "P Ruiz García"]),
    ],
)
def test_mentions_of_one_person_are_linked(lang, rows):
    assert link(lang, *rows) == [1] * len(rows)


@pytest.mark.parametrize(
    ("lang", "rows"),
    [
        ("en", ["P Dorothy Quennell", "C DQ"]),  # a signature is not that of the patient
        ("en", ["P Winifred Coombes", "R Win"]),
        ("en", ["P Anastasia Coombes", "R Ana"]),
        ("es", ["P María Josefa Ruiz", "P María Isabel Ruiz"]),
        ("es", ["P Ana García López", "R Luis García López"]),
        ("es", ["P Marta Gil", "P Mirta Gil"]),
        ("en", ["R Mykhailo Koval", "R Mykhaila Koval"]),
        ("es", ["C E. Torrebadella", "C Escayola"]),
        ("fi", ["P Lappetelä U.", "P Ukkonaho"]),
    ],
)
def test_different_persons_are_not_linked(lang, rows):
    assert link(lang, *rows) == [1, 2]


def test_a_surname_alone_is_that_of_the_person_of_the_same_label():
    rows = ["P Ana Ruiz", "C Luis Ruiz", "P Ruiz", "C Ruiz"]
    assert link("es", *rows) == [1, 2, 1, 2]


def test_spellings_of_one_sound_are_equal_and_those_of_other_names_are_not():
    assert sound("hryhorenko") == sound("grigorenko")
    assert sound("yevheniia") == sound("jewgenija")
    assert sound("stserbak") == sound("shcherbak")
    assert sound("ruiz") != sound("rubio")


def test_many_persons_are_numbered_without_comparing_every_pair():
    names = [NameWords((f"nombre{i}",), (f"apellido{i % 997}",)) for i in range(20_000)]
    assert number_names(names, ["PERSON"] * len(names)) == list(range(1, 20_001))


def test_the_words_of_a_name_are_not_in_its_repr():
    assert "quennell" not in repr(NameWords(("dorothy",), ("quennell",), ("d",)))


@pytest.mark.parametrize("text", ["A´A", "´", "ß", "ßa", "ﬁ", "A\u0301B", "."])
def test_a_name_of_odd_letters_is_linked_without_an_error(text):
    for label in "PRC":
        assert len(link("en", f"{label} {text}", f"{label} Ana {text}", f"{label} Ana Ruiz")) == 3
