"""Parquet: columns of text, numbers and dates. Schema metadata is not copied."""

import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from ...errors import Errors, InputError
from ...offsets import Edit
from ..document import Document, ExtractedText, Format, ReadSettings, WriteSettings
from .cells import DROP, MAX_CELLS, Sheet, TableParts, cell_text, edit_tables, make_document, table_text


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a table.

    data (bytes): the file.
    name (str): file name, for error messages.
    settings (ReadSettings): limits and column policies.
    RETURNS (Document): the cells as text.
    RAISES: InputError if the file is damaged or too large (D715), has columns that cannot be searched and are neither
        kept nor dropped (D723), or lacks a column of the policies (D722).
    """
    table = _load(data, name, settings)
    nested = [field.name for field in table.schema if not _is_flat(field.type)]
    open_columns = [column for column in nested if settings.columns.get(column) not in ("keep", DROP)]
    if open_columns:
        raise InputError(Errors.D723.format(path=name, columns=", ".join(open_columns)))
    return make_document(name, "parquet", [_to_sheet(table, name)], settings, table)


def _load(data: bytes, name: str, settings: ReadSettings) -> Any:
    """Load a table after checking its size."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise InputError(Errors.D713.format(path=name, package="pyarrow")) from None
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        if file.metadata.num_rows * file.metadata.num_columns > MAX_CELLS:
            raise InputError(Errors.D715.format(path=name, reason=f"more than {MAX_CELLS} cells"))
        groups = range(file.metadata.num_row_groups)
        if sum(file.metadata.row_group(i).total_byte_size for i in groups) > settings.max_bytes:
            reason = f"more than {settings.max_bytes} bytes after decompression"
            raise InputError(Errors.D715.format(path=name, reason=reason))
        return file.read()
    except (pa.ArrowException, OSError):
        raise InputError(Errors.D715.format(path=name, reason="damaged: the Parquet file cannot be read")) from None


def _is_flat(kind: Any) -> bool:
    """Whether values of a type can be converted to text: no lists, structs or bytes."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    return not (types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind)) and not (
        types.is_fixed_size_binary(kind)
    )


def _to_sheet(table: Any, name: str) -> Sheet:
    """Convert a table to rows."""
    columns = [_values(table.column(i), f"{name}, column {i + 1}") for i in range(table.num_columns)]
    return Sheet([list(table.column_names), *map(list, zip(*columns, strict=True))])


def _values(column: Any, place: str) -> list[Any]:
    """Return the values of a column. Values without a Python type, such as nanoseconds, are returned as text. RAISES:
    InputError (D715).
    """
    import pyarrow as pa

    for kind in (column.type, pa.string()):
        with suppress(pa.ArrowException, ValueError, OverflowError):
            values: list[Any] = column.cast(kind).to_pylist()
            return values
    raise InputError(Errors.D715.format(path=place, reason="its values cannot be converted"))


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write an edited table. Columns with edited cells become text columns, others keep their type.

    document (Document): a document from `read`.
    edits (Sequence[Edit]): edits in the order of the text.
    settings (WriteSettings): not used.
    RETURNS (bytes): the content of the file.
    RAISES: DeidError (D003, D004).
    """
    import pyarrow as pa
    from pyarrow import parquet

    tables: TableParts = document.parts
    kept = [i for i, action in enumerate(tables.sheets[0].actions(tables.columns)) if action != DROP]
    heads, *rows = edit_tables(tables, edits)[0].rows
    arrays = []
    for place, i in enumerate(kept):
        values = [row[place] for row in rows]
        old = [row[i] for row in tables.sheets[0].rows[1:]]
        arrays.append(_column(values, values == old, tables.extra.column(i)))
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, names=[str(head) for head in heads]), out)
    return out.getvalue()


def _column(values: list[Any], same: bool, column: Any) -> Any:
    """Return the original column if its values are unchanged, else a text column."""
    import pyarrow as pa

    if not same:
        return pa.array([None if value is None else cell_text(value) for value in values], type=pa.string())
    if pa.types.is_dictionary(column.type):  # the dictionary may contain values that occur in no row
        return column.cast(column.type.value_type).dictionary_encode()
    return column


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield all cells except those of columns with the policy "keep", and the metadata."""
    table = _load(data, "copy", settings.read)
    yield ExtractedText("a cell", table_text([_to_sheet(table, "copy")], settings.read.columns)[0].text)
    for value in (table.schema.metadata or {}).values():
        yield ExtractedText("metadata", value.decode("utf-8", "replace"))


FORMAT = Format(read, write, extract)
