import bz2
import gzip
import json

import pytest

from spacy_deid.background.corpora import CorpusReader
from spacy_deid.errors import InputError


def test_lines_of_a_text_file_are_texts(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo\n", encoding="utf8")
    assert [text.strip() for text in CorpusReader().texts([tmp_path / "a.txt"])] == ["one", "two"]


def test_a_compressed_csv_gives_its_column(tmp_path):
    (tmp_path / "a.csv.bz2").write_bytes(bz2.compress(b'sentence,who\n"one, two",x\nthree,y\n'))
    assert list(CorpusReader(["sentence"]).texts([tmp_path / "a.csv.bz2"])) == ["one, two", "three"]


def test_a_folder_is_read_in_order_and_other_files_are_counted(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.txt").write_text("b", encoding="utf8")
    (tmp_path / "deep" / "c.jsonl.gz").write_bytes(gzip.compress(b'{"text": "c"}\n'))
    (tmp_path / "x.ann").write_text("x", encoding="utf8")
    reader = CorpusReader()
    assert list(reader.texts([tmp_path])) == ["b", "c"]
    assert reader.skipped["files of another kind"] == 1


def test_broken_rows_are_skipped_and_counted(tmp_path):
    rows = [
        json.dumps({"text": "good"}),
        "{broken",
        json.dumps([1]),
        json.dumps({"other": 1}),
        json.dumps({"text": ""}),
    ]
    (tmp_path / "a.jsonl").write_bytes("\n".join(rows).encode() + b"\n\xff\xfe\n")
    reader = CorpusReader()
    assert list(reader.texts([tmp_path / "a.jsonl"])) == ["good"]
    assert reader.skipped == {"not a JSON object": 2, "a field is missing or empty": 2, "not UTF-8": 1}


def test_a_file_of_which_nothing_can_be_used_is_an_error(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"note": "x"}\n', encoding="utf8")
    with pytest.raises(InputError, match=r"a.jsonl: no row can be used"):
        list(CorpusReader().texts([tmp_path / "a.jsonl"]))


def test_a_missing_column_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("id,note\n1,x\n", encoding="utf8")
    with pytest.raises(InputError, match=r"a.csv, row 1: no column 'text'"):
        list(CorpusReader().texts([tmp_path / "a.csv"]))


def test_a_damaged_archive_is_an_error(tmp_path):
    (tmp_path / "a.txt.bz2").write_bytes(bz2.compress(b"text\n" * 100)[:-20])
    with pytest.raises(InputError, match="damaged"):
        list(CorpusReader().texts([tmp_path / "a.txt.bz2"]))


@pytest.mark.parametrize("name", ["none.txt", "a.pdf"])
def test_a_missing_file_and_another_format_are_errors(tmp_path, name):
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    with pytest.raises(InputError, match=r"no such file|not one of"):
        list(CorpusReader().texts([tmp_path / name]))
