"""Readers of English corpora that list the identifiers beside the text, on small files of our own."""

import json
from pathlib import Path

import pytest

from scripts.english_corpora import (
    find_values,
    keep_free,
    read_aci_bench,
    read_asq_phi,
    read_presidio,
    split_query,
)
from spacy_deid.errors import InputError
from spacy_deid.evaluation import AnnotatedText, Entity

QUERY = "Treat Anna P. (50 y/o), seen by Dr. Poole at St. Luke’s Hospital in Boston, MA on 3/4/22, MRN: #AB-123?"
LISTED = [
    ("NAME", "Anna P."),
    ("NAME", "Dr. Poole"),
    ("GEOGRAPHIC_LOCATION", "St. Luke's Hospital in Boston, MA"),
    ("DATE", "3/4/22"),
    ("MEDICAL_RECORD_NUMBER", "#AB-123"),
]


def marked(note: AnnotatedText) -> list[tuple[str, str]]:
    return [(note.text[e.start : e.end], e.label) for e in note.entities]


def write_queries(path: Path, *queries: tuple[str, list[tuple[str, str]]]) -> Path:
    text = ""
    for query, listed in queries:
        lines = [json.dumps({"identifier_type": kind, "value": value}) for kind, value in listed]
        text += "\n".join(["===QUERY===", query, "===PHI_TAGS===", *lines, ""])
    path.write_text(text, encoding="utf8")
    return path


def test_values_of_a_query_become_entities(tmp_path: Path) -> None:
    [note] = read_asq_phi(write_queries(tmp_path / "q.txt", (QUERY, LISTED)))
    assert marked(note) == [
        ("Anna P.", "PATIENT"),
        ("Poole", "CLINICIAN"),
        ("St. Luke’s Hospital", "HOSPITAL"),
        ("Boston", "CITY"),
        ("MA", "STATE"),
        ("3/4/22", "DATE"),
        ("AB-123", "MRN"),
    ]


def test_values_stay_whole_where_parts_are_not_wanted(tmp_path: Path) -> None:
    [note] = read_asq_phi(write_queries(tmp_path / "q.txt", (QUERY, LISTED)), parts=False)
    assert len(note.entities) == len(LISTED)


def test_halves_of_the_queries_share_none_and_leave_none_out(tmp_path: Path) -> None:
    path = write_queries(tmp_path / "q.txt", *((f"Question {i}?", []) for i in range(40)))
    train, dev = (read_asq_phi(path, split) for split in ("train", "dev"))
    assert train
    assert dev
    assert len(train) + len(dev) == 40
    assert {split_query(note.text) for note in dev} == {"dev"}


def test_a_longer_value_is_not_cut_by_a_shorter_one(tmp_path: Path) -> None:
    listed = [("NAME", "Poole"), ("NAME", "Anna Poole")]
    [note] = read_asq_phi(write_queries(tmp_path / "q.txt", ("Is Anna Poole well?", listed)))
    assert marked(note) == [("Anna Poole", "PATIENT")]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("===QUERY===\nWho?\n", "D620"),
        ("===QUERY===\nWho?\n===PHI_TAGS===\nno json\n", "D620"),
        ('===QUERY===\nWho?\n===PHI_TAGS===\n{"identifier_type": "SHOE_SIZE", "value": "Canarywort"}\n', "D621"),
    ],
)
def test_a_wrong_record_is_named_by_file_and_number_and_not_quoted(tmp_path: Path, text: str, number: str) -> None:
    path = tmp_path / "q.txt"
    path.write_text(text, encoding="utf8")
    with pytest.raises(InputError, match=r"q\.txt, record 1: ") as caught:
        read_asq_phi(path)
    assert "Canarywort" not in str(caught.value)
    assert "no json" not in str(caught.value)


def test_names_of_the_metadata_are_found_in_either_case_and_joined(tmp_path: Path) -> None:
    note = "Anna Poole is well. Ms. Poole's gait is normal; a pool of blood. Seen by Dr. Marsh for Anna."
    (tmp_path / "notes.csv").write_text(f'encounter_id,note\nD1,"{note}"\n', encoding="utf8")
    columns = "encounter_id,doctor_name,patient_firstname,patient_familyname\n"
    (tmp_path / "meta.csv").write_text(f"{columns}D1,Dr. Marsh,anna,poole\n", encoding="utf8")
    [read] = read_aci_bench(tmp_path / "notes.csv", tmp_path / "meta.csv")
    assert marked(read) == [
        ("Anna Poole", "PATIENT"),
        ("Poole", "PATIENT"),
        ("Marsh", "CLINICIAN"),
        ("Anna", "PATIENT"),
    ]


@pytest.mark.parametrize("metadata", ["encounter_id\nD1\n", ""])
def test_a_missing_column_is_named(tmp_path: Path, metadata: str) -> None:
    (tmp_path / "notes.csv").write_text("encounter_id,note\nD1,well\n", encoding="utf8")
    (tmp_path / "meta.csv").write_text(metadata, encoding="utf8")
    with pytest.raises(InputError, match="no column"):
        read_aci_bench(tmp_path / "notes.csv", tmp_path / "meta.csv")


def test_presidio_spans_get_canonical_labels_and_long_addresses_are_left_out(tmp_path: Path) -> None:
    def span(text: str, value: str, kind: str) -> dict[str, object]:
        return {
            "entity_type": kind,
            "start_position": text.index(value),
            "end_position": text.index(value) + len(value),
        }

    first, second = "Dr. Poole went to Ghana.", "Write to 1 Elm\nBoston"
    records = [
        {
            "full_text": first,
            "spans": [span(first, "Dr.", "TITLE"), span(first, "Poole", "PERSON"), span(first, "Ghana", "GPE")],
        },
        {"full_text": second, "spans": [span(second, "1 Elm\nBoston", "STREET_ADDRESS")]},
    ]
    (tmp_path / "p.json").write_text(json.dumps(records), encoding="utf8")
    [note] = read_presidio(tmp_path / "p.json")
    assert marked(note) == [("Poole", "PERSON"), ("Ghana", "COUNTRY")]


def test_a_value_is_found_as_a_whole_word_with_any_apostrophe() -> None:
    assert find_values("O’Hara, O'Hara, O'Haras", "O'Hara") == [(0, 6), (8, 14)]


def test_what_was_named_first_stays() -> None:
    assert keep_free([Entity(0, 5, "PATIENT"), Entity(3, 8, "DATE"), Entity(5, 8, "AGE")]) == [
        Entity(0, 5, "PATIENT"),
        Entity(5, 8, "AGE"),
    ]
