"""Read and write tables in Parquet files. Metadata of the schema is not copied."""

import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from ..errors import Errors, InputError
from ..offsets import Edit
from .document import Document, ExtractedText, Format, ReadSettings, WriteSettings
from .tables import DROP, KEEP, MAX_CELLS, Sheet, TableParts, cell_text, edit_tables, make_document, table_text

_BATCH = 10_000  # rows that are read at a time to add up the size of a table …
_DELTA_BATCH = 100  # … with delta encodings
_TOO_LARGE = "more than {} bytes after decompression"


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a table from a Parquet file.

    RAISES: InputError if nested or binary columns, which cannot be searched, are neither kept nor dropped (D723), or a
        column that the policies name is missing (D722).
    """
    table = _load(data, name, settings)
    from pyarrow import types

    def is_flat(kind: Any) -> bool:
        kind = kind.value_type if types.is_dictionary(kind) else kind
        binary = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
        return not types.is_nested(kind) and not any(is_binary(kind) for is_binary in binary)

    nested = [field.name for field in table.schema if not is_flat(field.type)]
    open_columns = [column for column in nested if settings.columns.get(column) not in (KEEP, DROP)]
    if open_columns:
        raise InputError(Errors.D723.format(path=name, columns=", ".join(open_columns)))
    return make_document(name, "parquet", [_to_sheet(table, name)], settings, table)


def _load(data: bytes, name: str, settings: ReadSettings) -> Any:
    """Return the pyarrow table in a Parquet file, whose size is checked first.

    RAISES: InputError if pyarrow is missing (D713), or the file is too large or damaged (D715).
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise InputError(Errors.D713.format(path=name, package="pyarrow")) from None
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        reason = _refusal_reason(file, settings.max_bytes)
        if not reason and _exceeds(data, file.schema_arrow, settings.max_bytes):
            reason = _TOO_LARGE.format(settings.max_bytes)
        if reason:
            raise InputError(Errors.D715.format(path=name, reason=reason))
        return file.read()
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise InputError(Errors.D715.format(path=name, reason="damaged: the Parquet file cannot be read")) from None


def _refusal_reason(file: Any, largest: int) -> str:
    """Return the reason why the metadata of a Parquet file forbid to read it, or "".

    pyarrow allocates memory for as many rows as a row group declares, so these numbers must agree with each other.
    """
    metadata = file.metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    rows = [group.num_rows for group in groups]
    if min(rows, default=0) < 0 or sum(rows) != metadata.num_rows:
        return "damaged: it declares contradictory numbers of rows"
    if metadata.num_rows * metadata.num_columns > MAX_CELLS:
        return f"more than {MAX_CELLS} cells"
    # a damaged column chunk ends the process if its metadata is read with row_group(i).column(j)
    return _TOO_LARGE.format(largest) if sum(group.total_byte_size for group in groups) > largest else ""


def _exceeds(data: bytes, schema: Any, largest: int) -> bool:
    """Whether the values of a Parquet file need more than `largest` bytes.

    A file stores a text that occurs in many rows only once, so its size says little. Texts are read as dictionaries,
    which do not repeat them either. pyarrow cannot do this for delta encodings; these are read few rows at a time.
    """
    texts = [field.name for field in schema if field.type in _text_types()]
    try:
        return _adds_up(data, texts, _BATCH, largest)
    except OSError:
        return _adds_up(data, [], _DELTA_BATCH, largest)


def _text_types() -> tuple[Any, ...]:
    """Return the types of columns whose values differ in length."""
    import pyarrow as pa

    return pa.string(), pa.large_string(), pa.binary(), pa.large_binary()


def _adds_up(data: bytes, texts: list[str], rows: int, largest: int) -> bool:
    """Whether the values of a Parquet file need more than `largest` bytes, with `texts` read as dictionaries."""
    import pyarrow as pa
    from pyarrow import compute, parquet

    size = 0
    for batch in parquet.ParquetFile(io.BytesIO(data), read_dictionary=texts).iter_batches(rows):
        for column in batch.columns:
            if pa.types.is_dictionary(column.type) and column.type.value_type in _text_types():
                lengths = compute.binary_length(column.dictionary).cast(pa.int64())
                size += compute.sum(lengths.take(column.indices)).as_py() or 0
            else:
                size += column.nbytes
        if size > largest:
            return True
    return False


def _to_sheet(table: Any, name: str) -> Sheet:
    """Convert a pyarrow table to a `Sheet`. Values without a Python type, such as nanoseconds, become text."""
    import pyarrow as pa

    columns = []
    for number, column in enumerate(table.columns, 1):
        for kind in (_python_type(column.type), pa.string()):
            with suppress(pa.ArrowException, ValueError, OverflowError):
                columns.append(column.cast(kind).to_pylist())
                break
        else:
            place = f"{name}, column {number}"
            raise InputError(Errors.D715.format(path=place, reason="its values cannot be converted"))
    return Sheet([list(table.column_names), *map(list, zip(*columns, strict=True))])


def _python_type(kind: Any) -> Any:
    """Return the type to which values of a type are cast before they become Python values.

    Python has no nanoseconds: pyarrow drops those of a time, and makes a timestamp a type of pandas if this is
    installed. A cast to microseconds fails if it loses any of them.
    """
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    return {pa.time64("ns"): pa.time64("us"), pa.duration("ns"): pa.duration("us")}.get(kind, kind)


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write the edited table as Parquet. Columns with edited cells become text columns, others keep their type."""
    import pyarrow as pa
    from pyarrow import parquet

    tables: TableParts = document.parts
    kept = [i for i, action in enumerate(tables.sheets[0].actions(tables.columns)) if action != DROP]
    heads, *rows = edit_tables(tables, edits)[0].rows
    arrays = []
    for place, i in enumerate(kept):
        values = [row[place] for row in rows]
        column = tables.extra.column(i)
        if values != [row[i] for row in tables.sheets[0].rows[1:]]:
            column = pa.array([None if value is None else cell_text(value) for value in values], type=pa.string())
        elif pa.types.is_dictionary(column.type):  # the dictionary may contain values that occur in no row
            column = column.cast(column.type.value_type).dictionary_encode()
        arrays.append(column)
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, names=[str(head) for head in heads]), out)
    return out.getvalue()


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the metadata of a copy and all its cells except those of columns with the policy "keep"."""
    table = _load(data, "copy", settings.read)
    yield ExtractedText("a cell", table_text([_to_sheet(table, "copy")], settings.read.columns)[0].text)
    for value in (table.schema.metadata or {}).values():
        yield ExtractedText("metadata", value.decode("utf-8", "replace"))


FORMAT = Format(read, write, extract)
