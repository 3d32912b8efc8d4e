"""Two-column CoNLL: running text with natural spacing, offsets that hold, errors that name file and line."""

import pytest

from scripts.conll import read_conll
from spacy_deid.errors import InputError

CORPUS = """-DOCSTART-\tO

Tapaaminen\tO

Anna\tB-PER
Virtasen\tI-PER
(\tO
Nokia\tB-ORG
)\tO
"\tO
uusi\tO
"\tO
Windows\tB-PRO
10\tI-PRO
,\tO
Turussa\tB-LOC
3.5.\tB-DATE
.\tO

Loppu\tO
.\tO

-DOCSTART-\tO

Toinen\tO
"""


def write(tmp_path, text):
    path = tmp_path / "corpus.tsv"
    path.write_text(text, encoding="utf8")
    return path


def test_tokens_become_running_text_and_labels_canonical(tmp_path):
    first, second = read_conll(write(tmp_path, CORPUS))
    assert first.text == 'Tapaaminen\nAnna Virtasen (Nokia) "uusi" Windows 10, Turussa 3.5.. Loppu.'
    assert second.text == "Toinen"
    assert [(first.text[e.start : e.end], e.label) for e in first.entities] == [
        ("Anna Virtasen", "PERSON"),
        ("Nokia", "ORGANIZATION"),
        ("Turussa", "LOCATION_OTHER"),
        ("3.5.", "DATE"),
    ]
    assert first.name == "corpus-0001"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Anna\tI-PER\n", 1),
        ("Anna\tB-PER\nTurku\tI-LOC\n", 2),
        ("Anna\tO\n\nVirtanen\tI-PER\n", 3),
        ("Anna\tB-ANIMAL\n", 1),
        ("Anna B-PER\n", 1),
        ("Anna\tX\n", 1),
    ],
)
def test_what_cannot_be_read_is_refused_by_file_and_line_without_its_text(tmp_path, text, line):
    with pytest.raises(InputError, match=rf"corpus\.tsv.*line {line}") as caught:
        read_conll(write(tmp_path, text))
    assert "Anna" not in str(caught.value)
    assert "Virtanen" not in str(caught.value)


def test_adjacent_entities_stay_apart(tmp_path):
    (document,) = read_conll(write(tmp_path, "Anna\tB-PER\nMatti\tB-PER\n"))
    assert len(document.entities) == 2
