"""Tables: CSV, Excel and Parquet with column policies."""

import csv
import io
import zipfile
from datetime import date, datetime

import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.comments import Comment
from pyarrow import parquet

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document
from spacy_deid.documents.tables import read_columns
from spacy_deid.errors import ConfigError, DeidError, InputError
from spacy_deid.offsets import Edit, apply_edits

NAME = "Braulio Sanz"
HEADS = ["paciente", "nota", "sala", "id"]
ROWS = [[NAME, f"Sr. {NAME}, 71; dice: «no»\nAlta", "B-7", "007"], ["Ana", "", "A, 1", "12"]]
POLICY = ReadSettings(columns={"paciente": "label:PATIENT", "sala": "keep", "id": "drop"})


def as_csv(rows, sign=",", end="\r\n") -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=sign, lineterminator=end).writerows(rows)
    return out.getvalue().encode()


def as_parquet(rows) -> bytes:
    out = io.BytesIO()
    columns = {head: pa.array([row[i] for row in rows[1:]]) for i, head in enumerate(rows[0])}
    parquet.write_table(pa.table(columns).replace_schema_metadata({"owner": NAME}), out)
    return out.getvalue()


def as_xlsx(rows) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


WRITERS = {"csv": as_csv, "parquet": as_parquet, "xlsx": as_xlsx}


def rows_of(data: bytes, kind: str) -> list[list[object]]:
    """The cells of a copy, read by another tool."""
    if kind == "csv":
        return list(csv.reader(io.StringIO(data.decode(), newline="")))
    if kind == "xlsx":
        return [list(row) for row in openpyxl.load_workbook(io.BytesIO(data)).active.iter_rows(values_only=True)]
    table = parquet.read_table(io.BytesIO(data))
    return [table.column_names, *map(list, zip(*table.to_pydict().values(), strict=True))]


def marked(document) -> list[Edit]:
    """Edits for the marks, and for the name wherever it stands in other cells."""
    at = document.text.index(f"Sr. {NAME}") + 4
    edits = [Edit(start, end, label, "[P]") for start, end, label in document.marks]
    return sorted([*edits, Edit(at, at + len(NAME), "PATIENT", "[P]")], key=lambda edit: edit.start)


@pytest.mark.parametrize("kind", WRITERS)
def test_column_policies_are_applied(kind):
    document = read_document(WRITERS[kind]([HEADS, *ROWS]), f"a.{kind}", POLICY)
    assert [document.text[start:end] for start, end, _ in document.marks] == [NAME, "Ana"]
    assert "B-7" not in document.text
    copy = redact_document(document, marked(document), WriteSettings(read=POLICY))
    rows = rows_of(copy, kind)
    assert rows[0] == HEADS[:3]
    assert rows[1] == ["[P]", "Sr. [P], 71; dice: «no»\nAlta", "B-7"]
    assert [rows[2][0], rows[2][2]] == ["[P]", "A, 1"]


@pytest.mark.parametrize("kind", WRITERS)
def test_cells_are_separate_paragraphs_by_default(kind):
    document = read_document(WRITERS[kind]([HEADS, *ROWS]), f"a.{kind}")
    cells = [cell for row in [HEADS, *ROWS] for cell in row if cell]
    expected = "\n\n".join(cells)
    assert document.text == (f"Sheet\n\n{expected}" if kind == "xlsx" else expected)
    assert document.marks == ()


@pytest.mark.parametrize("kind", WRITERS)
def test_policy_for_a_missing_column_is_refused(kind):
    with pytest.raises(InputError, match=rf"a\.{kind}: .* do not exist: pacient"):
        read_document(WRITERS[kind]([HEADS, *ROWS]), f"a.{kind}", ReadSettings(columns={"pacient": "label:PATIENT"}))


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiter_and_line_ends_are_kept(sign, end):
    data = b"\xef\xbb\xbf" + as_csv([HEADS, *ROWS], sign, end)
    document = read_document(data, "a.tsv")
    assert document.text.startswith("paciente\n\nnota")
    assert redact_document(document, []) == data


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(
        st.lists(st.text("ab ,;\"'\n", max_size=8), min_size=2, max_size=4),
        min_size=1,
        max_size=5,
    ),
    data=st.data(),
)
def test_edits_of_cells_round_trip(rows, data):
    rows = [["first head", "second head"], *rows]
    document = read_document(as_csv(rows), "a.csv")
    cuts = sorted(data.draw(st.sets(st.integers(0, len(document.text)), max_size=6)))
    edits = [
        Edit(first, last, "", "_")
        for first, last in zip(cuts[::2], cuts[1::2], strict=False)
        if "\n\n" not in document.text[max(0, first - 1) : last + 1]
    ]
    copy = redact_document(document, edits)
    assert read_document(copy, "a.csv").text == apply_edits(document.text, edits)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_hundred_thousand_rows_take_seconds():
    rows = [["name", "note"], *([f"Person{i} X", f"seen by Person{i} X"] for i in range(100_000))]
    read = ReadSettings(columns={"name": "label:PATIENT"})
    document = read_document(as_csv(rows), "a.csv", read)
    edits = []
    for i, (start, end, label) in enumerate(document.marks):
        edits.append(Edit(start, end, label, "[P]"))
        at = end + len("\n\nseen by ")
        edits.append(Edit(at, at + len(f"Person{i} X"), "PATIENT", "[P]"))
    copy = redact_document(document, edits, WriteSettings(read=read))
    assert copy.splitlines()[-1] == b"[P],seen by [P]"


def test_name_left_in_a_cell_withholds_the_copy():
    document = read_document(as_csv([HEADS, *ROWS]), "a.csv")
    start = document.text.index(NAME)
    edit = Edit(start, start + len(NAME), "PATIENT", "[P]")
    redact_document(document, [edit])  # what was not found stands in the released text too, and is for the search
    with pytest.raises(DeidError, match="a cell still contains") as caught:
        redact_document(document, [edit], identifiers=[NAME])
    assert NAME not in str(caught.value)


def parquet_of(**columns) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (pa.array([1234567890123456789, None], pa.timestamp("ns")), "2009-02-13 23:31:30.123456789"),
        (pa.array([3723000000001], pa.time64("ns")), "01:02:03.000000001"),
        (pa.array([3723000000000], pa.time64("ns")), "01:02:03"),
        (pa.array([1234483200000000001], pa.timestamp("ns")), "2009-02-13 00:00:00.000000001"),
        (pa.array([3723000000001], pa.duration("ns")), "3723000000001"),
        (pa.array([-(2**40)], pa.timestamp("s")), "out of range"),
        (pa.array(["x", "y"]).dictionary_encode(), "x\n\ny"),
        (pa.array([True, None]), "True"),
        (pa.nulls(2), "a"),
    ],
)
def test_values_without_a_python_type_are_read_and_kept(values, text):
    document = read_document(parquet_of(a=values), "a.parquet")
    assert text in document.text
    copy = parquet.read_table(io.BytesIO(redact_document(document, [])))
    assert copy.column("a").combine_chunks().cast(values.type).equals(values)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_every_encoding_of_text_is_read(kind, encoding):
    out = io.BytesIO()
    texts = [f"note {number}" for number in range(250)]
    table = pa.table({"a.b": pa.array(texts, kind), "c": texts})
    parquet.write_table(table, out, use_dictionary=["c"], column_encoding={"a.b": encoding}, row_group_size=70)
    assert read_document(out.getvalue(), "a.parquet").text.count("note ") == 500


def test_long_texts_with_a_common_beginning_are_refused_before_they_are_expanded():
    out = io.BytesIO()
    table = pa.table({"a": [f"{'x' * 50_000}{number}" for number in range(200)] * 55})
    parquet.write_table(table, out, use_dictionary=False, column_encoding={"a": "DELTA_BYTE_ARRAY"})
    assert len(out.getvalue()) < 1_000_000
    with pytest.raises(InputError, match=r"a\.parquet: more than 500000000 bytes after decompression"):
        read_document(out.getvalue(), "a.parquet")


def test_unused_dictionary_values_are_removed():
    values = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["Alta", NAME]))
    data = parquet_of(a=values)
    assert NAME.encode() in data
    assert NAME.encode() not in redact_document(read_document(data, "a.parquet"), [])


def test_unconvertible_values_are_refused_with_their_column():
    bad = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\4\0\0\0"), pa.py_buffer(b"\xff\xfeAn")])
    with pytest.raises(InputError, match=r"a\.parquet, column 2: its values cannot be converted") as caught:
        read_document(parquet_of(a=["x"], b=bad), "a.parquet")
    assert "An" not in repr(caught.value.__context__)


def test_names_of_columns_that_are_no_text_are_refused_with_a_code():
    out = io.BytesIO()
    parquet.write_table(pa.table({"zqname": ["Ana"]}), out)
    with pytest.raises(InputError, match="the Parquet file cannot be read"):
        read_document(out.getvalue().replace(b"zqname", b"z\xbbname"), "a.parquet")


def test_billions_of_empty_cells_are_refused_quickly():
    with pytest.raises(InputError, match="more than 20000000 cells"):
        read_document(parquet_of(a=pa.nulls(20_000_001, pa.int8())), "a.parquet")


def test_row_group_that_declares_billions_of_rows_is_refused():
    data = parquet_of(a=pa.array([NAME] * 77))
    head, count, foot = data.rpartition(b"\x16\x9a\x01")  # a field with the number 77, here of rows of the row group
    assert count
    lie = b"\x16\xfe\xff\x03"  # 32,767
    foot = foot[:-8] + (int.from_bytes(foot[-8:-4], "little") + 1).to_bytes(4, "little") + foot[-4:]
    file = head + lie + foot
    assert parquet.ParquetFile(io.BytesIO(file)).metadata.row_group(0).num_rows == 32_767
    with pytest.raises(InputError, match=r"a\.parquet: damaged: it declares contradictory numbers of rows"):
        read_document(file, "a.parquet")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_long_text_repeated_in_many_rows_is_refused_before_it_is_expanded(kind):
    values = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * 100_000]))
    if kind == pa.large_string():
        values = values.cast(pa.dictionary(pa.int32(), kind))
    out = io.BytesIO()
    with parquet.ParquetWriter(out, pa.schema([("a", kind)])) as writer:
        for _ in range(20):  # the text is stored once in each row group
            column = values[:1000] if pa.types.is_dictionary(kind) else values[:1000].cast(kind)
            writer.write_table(pa.table({"a": column}, schema=pa.schema([("a", kind)])))
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(InputError, match=r"a\.parquet: more than 500000000 bytes after decompression"):
        read_document(out.getvalue(), "a.parquet")
    assert pa.default_memory_pool().max_memory() < before + 100_000_000


@pytest.mark.parametrize(
    ("data", "cells"),
    [
        (b'"Name, first";"City, land, x"\r\n"Sanz, B";"x"\r\n', ["Name, first", "City, land, x", "Sanz, B", "x"]),
        (b'"a;b\nx";c|\n1;2\n', ["a;b\nx", "c|", "1", "2"]),
        (b"Report\nname;born\nSanz, B;1951\n", ["Report", "name", "born", "Sanz, B", "1951"]),
        (b"note\nSanz, Braulio\nVive en a, b, c\n", ["note", "Sanz, Braulio", "Vive en a, b, c"]),
        (b"a,b\r1,2\r", ["a", "b", "1", "2"]),
        (b'a,b\n=1+1,"-2,5"\n\n1\n', ["a", "b", "=1+1", "-2,5", "1"]),
    ],
)
def test_delimiter_is_detected_outside_of_quotes(data, cells):
    document = read_document(data, "a.csv")
    assert document.text.split("\n\n") == cells
    assert read_document(redact_document(document, []), "a.csv").text == document.text


def test_single_column_of_quoted_cells_is_kept():
    data = b'note\r\n"Sanz, Braulio"\r\n"a, b; c"\r\n'
    assert redact_document(read_document(data, "a.csv"), []) == data


def test_names_equal_to_words_of_the_format_do_not_withhold_the_copy():
    names = ["Roman", "Kartika", "Minor", "Normal", "Style", "Calibri"]
    document = read_document(as_xlsx([["note"], *([f"Dr. {name} informa"] for name in names)]), "a.xlsx")
    edits = [Edit(document.text.index(name), document.text.index(name) + len(name), "D", "[D]") for name in names]
    copy = redact_document(document, edits)
    assert rows_of(copy, "xlsx")[1:] == [["Dr. [D] informa"]] * len(names)


def changed(data: bytes, part: str, old: bytes, new: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in archive.namelist():
            content = archive.read(name)
            target.writestr(name, content.replace(old, new) if name.startswith(part) else content)
    return out.getvalue()


def test_strict_workbook_is_refused():
    usual, strict = b"http://schemas.openxmlformats.org/spreadsheetml", b"http://purl.oclc.org/ooxml/spreadsheetml"
    with pytest.raises(InputError, match="transitional"):
        read_document(changed(as_xlsx([["a"]]), "xl/", usual, strict), "a.xlsx")


@pytest.mark.timeout(120)
def test_workbook_with_too_many_cells_is_refused_before_loading():
    data = changed(
        as_xlsx([["a"]]), "xl/worksheets", b"</sheetData>", b"<row>" + b"<c/>" * 5_000_001 + b"</row></sheetData>"
    )
    with pytest.raises(InputError, match=r"more than 5000000 cells|compressed by more"):
        read_document(data, "a.xlsx")


def test_hidden_sheets_rows_merged_cells_and_rich_text_are_read():
    book = openpyxl.Workbook()
    book.active["A1"], book.active["A3"] = "head", CellRichText("Brau", TextBlock(InlineFont(b=True), "lio"), " Sanz")
    book.active.row_dimensions[3].hidden = True
    book.active.merge_cells("A3:B4")
    book.create_sheet("more").sheet_state = "hidden"
    book["more"]["A1"] = NAME
    out = io.BytesIO()
    book.save(out)
    text = read_document(out.getvalue(), "a.xlsx").text
    assert text == f"Sheet\n\nhead\n\n{NAME}\n\nmore\n\n{NAME}"


def test_unedited_columns_keep_their_type():
    rows = [["born", "seen", "sodium"], [date(1951, 3, 12), datetime(2020, 1, 2, 3, 4), 140]]
    document = read_document(as_parquet(rows), "a.parquet")
    assert document.text == "born\n\nseen\n\nsodium\n\n1951-03-12\n\n2020-01-02 03:04:00\n\n140"
    at = document.text.index("1951")
    copy = redact_document(document, [Edit(at, at + 10, "DATE", "1951")])
    assert rows_of(copy, "parquet")[1] == ["1951", datetime(2020, 1, 2, 3, 4), 140]
    assert not parquet.read_schema(io.BytesIO(copy)).metadata


def test_nested_columns_must_be_kept_or_dropped():
    data = as_parquet([["names"], [["a", "b"]]])
    with pytest.raises(InputError, match=r"column\(s\) names contain lists"):
        read_document(data, "a.parquet")
    read = ReadSettings(columns={"names": "keep"})
    copy = redact_document(read_document(data, "a.parquet", read), [], WriteSettings(read=read))
    assert rows_of(copy, "parquet") == [["names"], [["a", "b"]]]


def test_only_cells_and_sheet_names_of_a_workbook_are_copied():
    book = openpyxl.Workbook()
    book.properties.creator = book.properties.title = NAME
    book.defined_names["who"] = openpyxl.workbook.defined_name.DefinedName("who", attr_text=f'"{NAME}"')
    table = book.active
    table.title = NAME
    table.append(["name", "age", "born"])
    table.append([NAME, "=1+1", datetime(1951, 3, 12)])
    table["A1"].comment = Comment(NAME, NAME)
    table["A1"].hyperlink = f"mailto:{NAME}"
    table["A1"].font = openpyxl.styles.Font(bold=True)
    table.oddHeader.center.text = NAME
    table.column_dimensions["A"].width = 33
    out = io.BytesIO()
    book.save(out)
    document = read_document(out.getvalue(), "a.xlsx")
    assert document.text.count(NAME) == 2
    assert set(document.warnings) >= {"comments are removed", "formulas are replaced by their cached values"}
    edits = [Edit(0, 12, "PATIENT", "[P]")]
    at = document.text.rindex(NAME)
    copy = openpyxl.load_workbook(io.BytesIO(redact_document(document, [*edits, Edit(at, at + 12, "PATIENT", "[P]")])))
    assert copy.sheetnames == ["(P)"]
    assert copy.active["A2"].value == "[P]"
    assert copy.active["C2"].value == datetime(1951, 3, 12)
    assert copy.active["A1"].comment is None
    assert copy.active["A1"].font.b
    assert copy.active.column_dimensions["A"].width == 33
    assert not copy.properties.creator


def test_cells_are_never_written_as_formulas():
    document = read_document(as_xlsx([["a"], ["x"]]), "a.xlsx")
    at = document.text.index("x")
    copy = redact_document(document, [Edit(at, at + 1, "X", "=1+1")])
    assert openpyxl.load_workbook(io.BytesIO(copy)).active["A2"].data_type == "s"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b'a,b\n"c', "row 2: not a table: it has unbalanced quotes"),
        ("a.csv", b'a,b\n"c"d,e', "row 2: not a table: it has unbalanced quotes"),
        ("a.csv", b"a,b\n\xff", "not valid utf-8 text"),
        ("a.csv", b"PAR1", "the content is parquet"),
        ("a.parquet", b"PAR1" + bytes(50), "damaged"),
        ("a.xlsx", as_csv([HEADS]), "the content is txt"),
        ("a.xlsx", as_xlsx([HEADS])[:300], "a damaged ZIP file"),
    ],
)
def test_invalid_tables_are_refused(name, data, message):
    with pytest.raises(InputError, match=message) as caught:
        read_document(data, name)
    assert name in str(caught.value)


def test_sheet_extending_over_billions_of_cells_is_refused_quickly():
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "a", "b"
    out = io.BytesIO()
    book.save(out)
    with pytest.raises(InputError, match="extends over more than"):
        read_document(out.getvalue(), "a.xlsx")


def test_policy_is_read_from_a_file(tmp_path):
    path = tmp_path / "columns.toml"
    path.write_text('[columns]\nnote = "text"\n"full name" = "label:PATIENT"\n')
    assert read_columns(path, ["PATIENT"]) == {"note": "text", "full name": "label:PATIENT"}


@pytest.mark.parametrize(
    "text", ["", "[columns]", "columns = 3", '[columns]\na = "label:NOBODY"', "[columns]\na = 1", "["]
)
def test_invalid_policy_is_refused(tmp_path, text):
    path = tmp_path / "columns.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"columns\.toml"):
        read_columns(path, ["PATIENT"])
