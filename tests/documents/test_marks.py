"""What a document declares to be an identifier leaves in no copy, whatever the list of edits says."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_deid.documents import Document, ReadSettings, read_document, redact_document
from spacy_deid.documents.document import cover_marks
from spacy_deid.errors import DeidError
from spacy_deid.offsets import Edit, apply_edits

NAME = "Zubeldia, Aurelio"
POLICY = ReadSettings(columns={"patient": "label:PATIENT"})


def table() -> Document:
    return read_document(f'patient,note\n"{NAME}",Alta\n'.encode(), "visits.csv", POLICY)


def cell(copy: bytes) -> str:
    return list(csv.reader(io.StringIO(copy.decode())))[1][0]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([], "[PATIENT]"),
        ([(0, 8, "[P]")], "[P][PATIENT]"),
        ([(0, 8, "[P]"), (10, 17, "[P]")], "[P], [P]"),  # the comma and the blank name nobody
        ([(0, 17, "Rosa Ibarra")], "Rosa Ibarra"),
        ([(0, 17, NAME)], "[PATIENT]"),  # an edit that changes nothing covers nothing
        ([(4, 4, "-")], "[PATIENT]"),
    ],
)
def test_a_mark_that_edits_leave_open_is_replaced(edits, expected):
    document = table()
    at = document.text.index(NAME)
    given = [Edit(at + start, at + end, "PATIENT", text) for start, end, text in edits]
    copy = redact_document(document, given)
    assert cell(copy) == expected
    assert b"Alta" in copy


def test_a_mark_stays_where_a_policy_decided_so():
    document = table()
    at = document.text.index(NAME)
    assert cell(redact_document(document, [], kept=[(at, at + len(NAME))])) == NAME
    assert cell(redact_document(document, [], kept=[(at + 10, at + len(NAME))])) == "[PATIENT]Aurelio"


def test_wrong_edits_are_refused_with_marks_too():
    with pytest.raises(DeidError, match="overlap"):
        redact_document(table(), [Edit(0, 5, "X", ""), Edit(4, 6, "X", "")])


def test_a_copy_is_read_again_as_the_document_was():
    """Without it a kept column is searched, and withheld because it holds what another column lost."""
    read = ReadSettings(columns={"patient": "label:PATIENT", "ward": "keep"})
    document = read_document(b"patient,ward\nRosa,Rosa\n", "visits.csv", read)
    assert redact_document(document, []) == b"patient,ward\n[PATIENT],Rosa\n"


TEXT = "abcdefghij" * 3


def pairs(edges: list[int]) -> list[tuple[int, int]]:
    edges = sorted(edges)
    return list(zip(edges[::2], edges[1::2], strict=False))


STRETCHES = st.lists(st.integers(0, len(TEXT)), max_size=10).map(pairs)


@settings(max_examples=100, deadline=None)
@given(declared=STRETCHES, edited=STRETCHES, kept=STRETCHES)
def test_no_character_of_a_mark_is_left(declared, edited, kept):
    marks = tuple((*stretch, "PATIENT") for stretch in declared if stretch[0] < stretch[1])
    united = cover_marks(Document("a", "txt", TEXT, marks=marks), [Edit(*pair, "CITY", "#") for pair in edited], kept)
    apply_edits(TEXT, united)
    gone = {at for edit in united for at in range(edit.start, edit.end)}
    decided = {at for start, end in kept for at in range(start, end)}
    assert {at for start, end, _ in marks for at in range(start, end)} <= gone | decided
    assert {at for start, end in edited for at in range(start, end)} <= gone
