"""The figure of linked persons: what it counts as a surrogate of the same person."""

import pytest

from benchmarks.person_links import linked
from spacy_deid.synth.authored import Person

PERSON = Person("patient", ("Heriberto",), ("Delgado", "Hott"), "male")


@pytest.mark.parametrize(
    ("rows", "fits"),
    [
        ([("Heriberto Delgado", "Franklin Soro"), ("Delgado", "Soro")], True),
        ([("Heriberto Delgado", "Franklin Soro"), ("Delgado", "Haro")], False),
        ([("Heriberto Delgado", "Franklin Soro"), ("Beto", "Jaso")], False),
        ([("Heriberto Delgado", "Franklin Soro"), ("HD", "FS")], True),
        ([("Heriberto Delgado", "Franklin Soro"), ("HD", "KL")], False),
        ([("H. Delgado", "F. Soro"), ("HD", "FS")], True),
        ([("Heriberto", "Franklin"), ("Delgado", "Soro")], True),  # fields of their own
        ([("Heriberto Delgado", "Franklin Soro"), ("Heriberto Hott", "Franklin Lind")], True),  # a second surname
        ([("Heriberto Delgado", "Franklin Soro"), ("D. De1gado", "F. Soro")], True),
        ([("Dr Heriberto Delgado", "Dr Franklin Soro"), ("Dr Delgado", "Dr Haro")], False),
    ],
)
def test_a_surrogate_of_another_person_is_noticed(rows, fits):
    assert all(linked(PERSON, [("PATIENT", *row) for row in rows], "es")) is fits
