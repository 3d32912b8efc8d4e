"""Input: files and databases, how they are cut into partitions, and what is refused before the start."""

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from conftest import slow

from spacy_deid.errors import ConfigError, InputError
from spacy_deid.warehouse import readers
from spacy_deid.warehouse.inputs import InputSettings, plan, read_partition
from spacy_deid.warehouse.settings import TableColumns

from .conftest import make_rows, write_parquet

pa = pytest.importorskip("pyarrow", reason="needs the extra 'warehouse'")
COLUMNS = TableColumns(keep=("ward",))


def read_all(where, columns=COLUMNS, rows=30, **settings):
    """The rows of an input as strings, with the reasons of those that could not be read, and the partitions."""
    source = InputSettings(str(where), rows=rows, **settings)
    partitions, kept = plan(source, columns, Path("/nowhere"))
    source = InputSettings(str(where), rows=rows, kept_schema=kept, **settings)
    found, broken = [], []
    for partition in partitions:
        for chunk in read_partition(source, columns, partition):
            found += [tuple(map(str, row.values())) for row in chunk.batch.select(columns.read).to_pylist()]
            broken += chunk.broken.values()
    return found, broken, partitions


ROWS = make_rows(100)
EXPECTED = sorted(zip(ROWS["note_id"], ROWS["text"], map(str, ROWS["ward"]), strict=True))


def write(path: Path, rows=ROWS) -> Path:
    """Write the rows as the kind of file that the name says."""
    names = list(rows)
    records = [dict(zip(names, values, strict=True)) for values in zip(*rows.values(), strict=True)]
    if path.suffix == ".parquet":
        return write_parquet(path, rows, row_group_size=40)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            writer.writerows(record.values() for record in records)
    elif path.suffix == ".duckdb":
        duckdb = pytest.importorskip("duckdb")
        table = pa.table(rows)
        with duckdb.connect(str(path)) as connection:
            connection.register("arrow", table)
            connection.execute("CREATE TABLE notes AS SELECT * FROM arrow")
    else:
        pytest.importorskip("sqlalchemy")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE notes ({', '.join(names)})")
            marks = ", ".join("?" * len(names))
            connection.executemany(f"INSERT INTO notes VALUES ({marks})", [list(each.values()) for each in records])
    return path


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv", "a.duckdb", "a.sqlite"])
def test_every_kind_of_input_gives_the_same_rows(tmp_path, name):
    path = write(tmp_path / name)
    given = {"table": "notes"} if path.suffix in (".duckdb", ".sqlite") else {}
    found, broken, partitions = read_all(path, **given)
    assert sorted(found) == EXPECTED
    assert broken == []
    assert len(partitions) == 4
    assert len({partition.name for partition in partitions}) == 4


def test_a_query_of_a_database_is_cut_by_ids(tmp_path):
    path = write(tmp_path / "a.sqlite", {**ROWS, "note_id": [None, *(i // 2 for i in range(99))]})
    found, _, partitions = read_all(
        path, query="SELECT note_id, text AS text, ward FROM notes WHERE ward < 5;", rows=10
    )
    assert len(found) == sum(ward < 5 for ward in ROWS["ward"])
    assert [row[0] for row in found].count("None") == 1
    assert partitions[-1].place == {"ids": [None, None]}
    assert len(partitions) >= 7


def test_long_texts_make_smaller_partitions(tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_deid.warehouse.readers.PARTITION_BYTES", 1_000)
    for name in ("a.jsonl", "a.parquet"):
        found, _, partitions = read_all(write(tmp_path / name))
        assert sorted(found) == EXPECTED
        assert len(partitions) > 5


def test_chunks_have_the_same_bounds_whatever_the_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "CHUNK", 16)
    sizes = []
    for group in (7, 100):
        path = write_parquet(tmp_path / f"{group}.parquet", ROWS, row_group_size=group)
        source = InputSettings(str(path), rows=50)
        partitions, kept = plan(source, COLUMNS, tmp_path / "out")
        source = InputSettings(str(path), rows=50, kept_schema=kept)
        sizes.append([chunk.batch.num_rows for part in partitions for chunk in read_partition(source, COLUMNS, part)])
    assert sizes[0] == sizes[1] == [16, 16, 16, 2] * 2


def test_bad_lines_of_jsonl_fail_alone(tmp_path):
    lines = [b'{"note_id": 1, "text": "a", "ward": 1.0}', b"", b"{", b"[1]", b'{"note_id": 2, "text": 5}']
    lines += [
        b'{"note_id": 3, "text": "\xff"}',
        b'{"note_id": 4, "text": "\\ud83d"}',
        b'{"note_id": true, "text": NaN}',
    ]
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines))
    found, broken, _ = read_all(tmp_path / "a.jsonl", rows=2)
    assert found[0] == ("1", "a", "1")
    assert len(found) == 7
    assert broken == [
        *["not a JSON object"] * 2,
        "column 'text' is not text",
        *["column 'text' is not valid in its encoding"] * 2,
    ]


def test_a_row_of_csv_with_too_many_cells_fails_alone(tmp_path):
    (tmp_path / "a.csv").write_text('note_id,text,ward\n1,"a\n""b"", c",3\n2,x\n\n3,y,4\n')
    found, broken, partitions = read_all(tmp_path / "a.csv", rows=1)
    assert found == [("1", 'a\n"b", c', "3"), ("None", "None", "None"), ("3", "y", "4")]
    assert broken == ["2 cells where the header has 3"]
    assert len(partitions) == 3


def test_strange_names_of_folders_are_read_and_are_not_in_the_output(tmp_path):
    for number, name in enumerate(["date=2024-01-01", "Ana Ruiz", "ñ\n'\"", "..."]):
        write_parquet(tmp_path / name / "part 0.parquet", make_rows(3, 3 * number))
    write_parquet(tmp_path / "_temporary" / "0.parquet", make_rows(3))
    write_parquet(tmp_path / ".hidden" / "0.parquet", make_rows(3))
    (tmp_path / "_SUCCESS").touch()
    found, _, partitions = read_all(tmp_path)
    assert len({row[0] for row in found}) == len(found) == 9
    assert all(partition.name.replace("-", "").isalnum() for partition in partitions)


def test_partitions_keep_their_names_if_files_are_added(tmp_path):
    write_parquet(tmp_path / "b.parquet", make_rows(3))
    before = read_all(tmp_path)[2]
    write_parquet(tmp_path / "a.parquet", make_rows(3))
    assert before[0] in read_all(tmp_path)[2]


def break_file(path: Path) -> None:
    path.write_bytes(b"PAR1 is not all of it")


def cut_file(path: Path) -> None:
    path.write_bytes(write_parquet(path, ROWS).read_bytes()[:-20])


REFUSED = {
    "not Parquet": (break_file, r"a\.parquet: not a valid Parquet file"),
    "cut": (cut_file, r"a\.parquet: not a valid Parquet file"),
    "no text": (lambda path: write_parquet(path, {"note_id": [1], "ward": [1]}), "no column 'text'"),
    "text of numbers": (lambda path: write_parquet(path, {"note_id": [1], "ward": [1], "text": [1]}), "type int64"),
    "text of lists": (lambda path: write_parquet(path, {"note_id": [1], "ward": [1], "text": [["a"]]}), "type list"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_cannot_be_read_is_named_before_the_start(tmp_path, make, message):
    write_parquet(tmp_path / "b.parquet", ROWS)
    make(tmp_path / "a.parquet")
    with pytest.raises(InputError, match=message):
        read_all(tmp_path)


def test_files_whose_kept_columns_differ_are_refused_or_unified(tmp_path):
    write_parquet(tmp_path / "a.parquet", make_rows(3))
    write_parquet(tmp_path / "b.parquet", {**make_rows(3, 3), "ward": pa.array([1, 2, 3], pa.int16())})
    assert len(read_all(tmp_path)[0]) == 6
    write_parquet(tmp_path / "c.parquet", {**make_rows(3, 6), "ward": ["a", "b", "c"]})
    with pytest.raises(InputError, match=r"c\.parquet: a column that is kept has another type"):
        read_all(tmp_path)


def test_a_csv_file_with_a_wrong_quote_or_header_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text('note_id,text,ward\n1,"a"b,3\n')
    with pytest.raises(InputError, match="line 2: invalid CSV"):
        read_all(tmp_path)
    (tmp_path / "a.csv").write_text("note_id,text,text\n")
    with pytest.raises(InputError, match="repeated column"):
        read_all(tmp_path)


@pytest.mark.parametrize("name", ["_delta_log/0.json", slow("t/metadata/v1.metadata.json", id="iceberg")])
def test_the_files_of_a_table_format_with_deleted_rows_are_refused(tmp_path, name):
    write_parquet(tmp_path / "a.parquet", ROWS)
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).touch()
    with pytest.raises(InputError, match="Delta, Iceberg or Hudi"):
        read_all(tmp_path)


def test_a_folder_without_notes_and_a_wide_encoding_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"no \.parquet"):
        read_all(tmp_path)
    write(tmp_path / "a.csv")
    with pytest.raises(ConfigError, match="Convert them to UTF-8"):
        read_all(tmp_path, encoding="utf-16")


def test_a_file_that_grew_since_it_was_planned_is_not_read_in_part(tmp_path):
    path = write(tmp_path / "a.jsonl")
    source = InputSettings(str(path), rows=30)
    partitions, kept = plan(source, COLUMNS, tmp_path)
    path.write_text(path.read_text()[:-500])
    source = InputSettings(str(path), rows=30, kept_schema=kept)
    with pytest.raises(InputError, match="number of rows has changed"):
        list(read_partition(source, COLUMNS, partitions[-1]))
