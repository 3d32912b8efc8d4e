"""Tables of notes in files and databases."""

import json
import sqlite3

import pytest

from spacy_deid.errors import InputError
from spacy_deid.notes import open_source
from spacy_deid.notes.files import FolderSource
from spacy_deid.notes.source import Columns, NoteKey, as_id, require_columns

CANARY = "Zarzaquemada"


def read_all(path):
    source = open_source(path, table="notes")
    return list(source.scan(list(source.columns)))


def test_every_table_gives_the_same_rows(table, rows):
    source = open_source(table[0], table=table[1])
    assert sorted(source.columns) == sorted(["note_id", "patient_id", "note_type", "date", "text"])
    found = sorted(
        (*row[:3], str(row[3]), row[4]) for row in source.scan(["note_id", "note_type", "text", "date", "text"])
    )
    source.close()
    assert found == sorted((row[0], row[2], row[4], str(row[3]), row[4]) for row in rows)


def test_missing_patients_are_missing_everywhere(table, rows):
    source = open_source(table[0], table=table[1])
    patients = [as_id(patient) for (patient,) in source.scan(["patient_id"])]
    source.close()
    assert patients.count(None) == sum(row[1] is None for row in rows) > 0


def test_texts_are_found_again(table):
    source = open_source(table[0], table=table[1])
    wanted = [
        NoteKey(i, note_id) for i, (note_id,) in enumerate(source.scan(["note_id"]), start=1) if i in (3, 31, 50)
    ]
    texts = dict(source.texts(wanted, Columns()))
    source.close()
    assert texts == {key.row: f"Nota {key.note_id[1:]}\nünö" for key in wanted}


def test_a_parquet_scan_reads_no_other_column(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    path = tmp_path / "n.parquet"
    write_table(pa.table({"note_id": ["a"], "text": [b"\xff"]}), path)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\xff", b"\xfe"))
    assert list(open_source(str(path)).scan(["note_id"])) == [("a",)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"note_id,text\n1,a,b\n", "line 2: 3 cells"),
        ("a.csv", b'note_id,text\n1,"' + CANARY.encode(), "a quote is missing"),
        ("a.csv", b"note_id,text\n1,\xff\n", "not valid utf-8"),
        ("a.csv", b"note_id,note_id\n", "repeated column"),
        ("a.jsonl", b"[1]\n", "line 1: not a JSON object"),
        ("a.jsonl", b'{"a": 1}\n{"' + CANARY.encode() + b"\n", "line 2: not a JSON object"),
        ("a.jsonl", b'{"a": 1}\n\xff\n', "not valid utf-8"),
        ("a.parquet", b"PAR1" + CANARY.encode(), "not a valid Parquet file"),
        ("a.doc", b"x", "unsupported source"),
        ("a.db", CANARY.encode() * 200, "the database rejected the query (DatabaseError)"),
        ("a.duckdb", CANARY.encode() * 200, "the database rejected the query"),
    ],
)
def test_errors_of_broken_files_do_not_quote_the_content(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_all(str(path))
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert CANARY not in str(caught.value)


def test_a_cell_may_be_long(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("note_id,text\n1," + "x" * 200_000 + "\n", encoding="utf-8")
    assert [len(text) for (text,) in open_source(str(path)).scan(["text"])] == [200_000]


def test_a_byte_order_mark_is_not_part_of_a_column_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\ufeffnote_id,text\n1,a\n", encoding="utf-8")
    assert list(open_source(str(path)).columns) == ["note_id", "text"]


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,text\n1,a\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"no column 'note_id'\. Its columns: id, text"):
        require_columns(open_source(str(path)), ["note_id"])


def test_a_note_in_the_first_line_is_not_quoted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"1,Acude {CANARY}\n", encoding="utf-8")
    with pytest.raises(InputError, match="Is the header missing") as caught:
        require_columns(open_source(str(path)), ["note_id"])
    assert CANARY not in str(caught.value)


def test_a_latin_1_table_is_read_by_its_encoding(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("note_id,text\n1,Señora Núñez\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"not valid utf-8\. Set the encoding with --encoding"):
        list(open_source(str(path)).scan(["text"]))
    assert list(open_source(str(path), encoding="latin-1").scan(["text"])) == [("Señora Núñez",)]


def test_files_of_a_folder_must_agree(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("a,c\n", encoding="utf-8")
    with pytest.raises(InputError, match="different columns"):
        open_source(str(tmp_path))
    (tmp_path / "c.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputError, match="all of one type"):
        open_source(str(tmp_path))


def test_a_missing_database_file_is_not_created(tmp_path):
    with pytest.raises(InputError, match="file not found"):
        open_source(str(tmp_path / "a.db"), table="notes")
    assert list(tmp_path.iterdir()) == []


def test_a_database_needs_a_table_that_it_has(tmp_path):
    sqlite3.connect(tmp_path / "a.db").close()
    (tmp_path / "a.db").touch()
    with pytest.raises(InputError, match="the name of a table is required"):
        open_source(str(tmp_path / "a.db"))
    with pytest.raises(InputError, match="the database rejected the query"):
        open_source(str(tmp_path / "a.db"), table=CANARY)


def test_an_unreachable_server_is_named_without_its_password(monkeypatch):
    pytest.importorskip("psycopg")
    monkeypatch.setenv("NOTES_URL", f"postgresql+psycopg://u:{CANARY}@127.0.0.1:1/db")
    with pytest.raises(InputError) as caught:
        open_source("env:NOTES_URL", table="notes")
    assert "postgresql://127.0.0.1/db: the database rejected the query (OperationalError)" in str(caught.value)
    assert CANARY not in str(caught.value)
    with pytest.raises(InputError, match="environment variable is not set"):
        open_source("env:NO_SUCH_URL", table="notes")


def test_a_missing_driver_is_named():
    with pytest.raises(InputError, match=r"requires|rejected"):
        open_source("mysql+pymysql://h/d", table="notes")


def test_a_database_is_not_written_to(table):
    if "://" not in table[0]:
        pytest.skip("files are opened read only by their URL")
    source = open_source(table[0], table=table[1])
    with pytest.raises(InputError, match="the database rejected the query"):
        list(source._connector.stream('DELETE FROM ehr."the notes"'))
    source.close()


@pytest.mark.parametrize(
    ("value", "expected"), [(None, None), (7.0, "7"), (float("nan"), None), (" a ", "a"), ("", None)]
)
def test_an_id_is_a_plain_string(value, expected):
    assert as_id(value) == expected


def write_folder(tmp_path, ids):
    (tmp_path / "out" / "ward").mkdir(parents=True)
    (tmp_path / "out" / "a.txt").write_text("uno", encoding="utf-8")
    (tmp_path / "out" / "ward" / "b.txt").write_text("dos", encoding="utf-8")
    (tmp_path / "secret.txt").write_text(CANARY, encoding="utf-8")
    index = tmp_path / "index.jsonl"
    index.write_text(
        "".join(json.dumps({"note_id": name, "patient_id": "p"}) + "\n" for name in ids), encoding="utf-8"
    )
    return FolderSource(tmp_path / "out", open_source(str(index)), "note_id", "text")


def test_a_folder_of_texts_is_read_by_its_index(tmp_path):
    source = write_folder(tmp_path, ["a", "ward/b.txt"])
    assert list(source.scan(["text", "patient_id"])) == [("uno", "p"), ("dos", "p")]
    assert source.count_unnamed() == 0


def test_text_files_without_a_row_are_counted(tmp_path):
    assert write_folder(tmp_path, ["a"]).count_unnamed() == 1


@pytest.mark.parametrize("name", ["missing", "../secret", "", f"{CANARY}", "a\0b"])
def test_a_row_without_its_file_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="row 1: its file cannot be read") as caught:
        list(write_folder(tmp_path, [name]).scan(["text"]))
    assert CANARY not in str(caught.value)
