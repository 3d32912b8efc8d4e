"""Read notes from files and databases: cut a table into partitions, and read one partition in chunks.

Values of JSONL and CSV files and of databases become strings, because their types differ from row to row. A row that
cannot be read does not affect the others.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import date, time
from decimal import Decimal
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..errors import ConfigError, Errors, InputError, describe
from ..io import check_encoding
from ..notes import open_source
from ..notes.databases import SqlSource
from ..notes.files import long_cells
from ..notes.source import require_columns
from ..patient_ids import normal_id
from .batches import check_columns
from .settings import TableColumns

CHUNK = 1_000
"""Number of rows that are read, de-identified and written together."""

PARTITION_BYTES = 64_000_000
"""Maximum size of the rows of a partition, so that long notes do not fill the memory of a worker."""

_STATEFUL = re.compile(r"utf-?_?(7|16|32)|iso-?2022|hz|cp037|cp500|cp1140")


class Chunk(NamedTuple):
    """Some rows of a partition.

    batch (pyarrow.RecordBatch): the columns that a run reads.
    broken (dict[int, str]): index of a row that cannot be used → reason.
    """

    batch: Any
    broken: dict[int, str]


class Reader(Protocol):
    """Reads one kind of input in partitions. The place of a partition is a dict, as in `Partition.place`."""

    def cut(self, rows: int) -> Iterator[dict[str, Any]]:
        """Yield the place of each partition, with at most `rows` rows."""

    def read(self, place: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield the rows of the partition at a place, in chunks."""

    def kept_types(self) -> Any:
        """Return the Arrow schema of the columns that are copied to the output."""


class ParquetReader:
    """Reads a Parquet file.

    RAISES: InputError if the file cannot be read or a column has an unusable type (D740), a column is missing (D741),
        or pyarrow is not installed (D749).
    """

    def __init__(self, path: Path, columns: TableColumns) -> None:
        try:
            import pyarrow as pa
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise InputError(Errors.D749.format(package="pyarrow", source=path)) from None
        self._path, self._columns = path, columns
        try:
            self._file = ParquetFile(path)
        except OSError as error:  # the message of an error of pyarrow may quote values
            reason = describe(error) if error.errno else "not a valid Parquet file"
            raise InputError(Errors.D740.format(source=path, reason=reason)) from None
        except Exception:
            raise InputError(Errors.D740.format(source=path, reason="not a valid Parquet file")) from None
        schema = self._file.schema_arrow
        check_columns(schema.names, columns.read, str(path))
        for name in columns.read:
            kind = schema.field(name).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
            nested = pa.types.is_nested(kind) or (pa.types.is_binary(kind) and name not in columns.keep)
            if schema.names.count(name) > 1:
                raise InputError(Errors.D740.format(source=path, reason=f"column '{name}' occurs twice"))
            if (name in columns.texts and not text) or (nested and name not in columns.keep):
                raise InputError(Errors.D740.format(source=path, reason=f"column '{name}' has the type {kind}"))

    def kept_types(self) -> Any:
        """Return the Arrow schema of the columns that are copied to the output; see `Reader`."""
        import pyarrow as pa

        fields = [self._file.schema_arrow.field(name) for name in self._columns.keep]
        kinds = [item.type.value_type if pa.types.is_dictionary(item.type) else item.type for item in fields]
        return pa.schema([(item.name, kind) for item, kind in zip(fields, kinds, strict=True)])

    def cut(self, rows: int) -> Iterator[dict[str, Any]]:
        """Yield the partitions of the input: for each what `read` needs to find its rows; see `Reader`. The size of a
        partition is estimated from the mean size of the rows.
        """
        meta, start = self._file.metadata, 0
        sizes = [meta.row_group(i).total_byte_size for i in range(meta.num_row_groups)]
        mean = sum(sizes) / max(1, meta.num_rows)
        rows = max(1, min(rows, int(PARTITION_BYTES / max(1.0, mean))))
        while start < meta.num_rows:
            stop = min(start + rows, meta.num_rows)
            yield {"rows": [start, stop], "count": stop - start}
            start = stop

    def read(self, place: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield the rows of one partition in chunks; see `Reader`."""
        import pyarrow as pa

        start, stop = place["rows"]
        waiting: list[Any] = []
        try:
            for batch in self._slices(start, stop):
                waiting.append(batch)
                if sum(each.num_rows for each in waiting) >= CHUNK:
                    table = pa.Table.from_batches(waiting).combine_chunks()
                    yield Chunk(table.slice(0, CHUNK).to_batches()[0], {})
                    waiting = [each for each in table.slice(CHUNK).to_batches() if each.num_rows]
            if waiting:
                yield Chunk(pa.Table.from_batches(waiting).combine_chunks().to_batches()[0], {})
        except (pa.ArrowException, OSError):
            raise InputError(Errors.D740.format(source=self._path, reason="damaged Parquet file")) from None

    def _slices(self, start: int, stop: int) -> Iterator[Any]:
        """Yield a range of rows as record batches, reading only the row groups that overlap the range."""
        meta, first = self._file.metadata, 0
        for group in range(meta.num_row_groups):
            size = meta.row_group(group).num_rows
            if first < stop and first + size > start:
                at = first
                for batch in self._file.iter_batches(CHUNK, row_groups=[group], columns=self._columns.read):
                    low, high = max(0, start - at), min(batch.num_rows, stop - at)
                    if low < high:
                        yield batch.slice(low, high - low)
                    at += batch.num_rows
                    if at >= stop:
                        return
            first += size


_Row = tuple[dict[str, Any], str]  # values, and why it could not be read


class _Lines:
    """Base class of readers of files that consist of lines. RAISES: ConfigError (D950) for an unusable encoding."""

    def __init__(self, path: Path, columns: TableColumns, encoding: str) -> None:
        self._path, self._columns = path, columns
        self._encoding = check_encoding(encoding)
        if _STATEFUL.match(self._encoding):
            reason = f"files in {encoding} cannot be cut into partitions. Convert them to UTF-8"
            raise ConfigError(Errors.D950.format(reason=reason))
        self._check()

    def _check(self) -> None:
        """Check that the file has the columns that are read."""

    def _records(self, lines: Iterable[str]) -> Iterator[_Row | None]:
        """Yield the record of each line, or None for a line that contains none, such as a header."""
        raise NotImplementedError

    def kept_types(self) -> Any:
        """Return the Arrow schema of the columns that are copied to the output; see `Reader`."""
        import pyarrow as pa

        return pa.schema([(name, pa.string()) for name in self._columns.keep])

    def cut(self, rows: int) -> Iterator[dict[str, Any]]:
        """Yield the partitions of the input: for each what `read` needs to find its rows; see `Reader`. The whole file
        is read to find the line ends.
        """
        place, start, count = [0], 0, 0
        for record in self._records(self._decode(0, None, place)):
            count += record is not None
            if count >= rows or place[0] - start >= PARTITION_BYTES:
                yield {"bytes": [start, place[0]], "count": count}
                start, count = place[0], 0
        if count:
            yield {"bytes": [start, place[0]], "count": count}

    def read(self, place: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield the rows of one partition in chunks; see `Reader`."""
        start, stop = place["bytes"]
        records = (record for record in self._records(self._decode(start, stop, [0])) if record is not None)
        yield from _chunks(records, self._columns)

    def _decode(self, start: int, stop: int | None, place: list[int]) -> Iterator[str]:
        """Yield the lines in a range of bytes, and store the position after the last line in `place[0]`."""
        try:
            with open(self._path, "rb") as file:
                file.seek(start)
                place[0] = start
                for line in file:
                    if stop is not None and place[0] >= stop:
                        return
                    if place[0] == 0:
                        line_text = line.decode(self._encoding, "surrogateescape").removeprefix("\ufeff")
                    else:
                        line_text = line.decode(self._encoding, "surrogateescape")
                    place[0] += len(line)
                    yield line_text
        except OSError as error:
            raise InputError(Errors.D740.format(source=self._path, reason=describe(error))) from None


class JsonlReader(_Lines):
    """Reads a JSONL file. A missing key counts as null."""

    def _check(self) -> None:
        """Check that the first JSON object in the file has the note id and the text columns."""
        for record in islice(self._records(self._decode(0, None, [0])), 100):
            if record and not record[1]:
                check_columns(list(record[0]), [self._columns.note_id, *self._columns.texts], str(self._path))
                return

    def _records(self, lines: Iterable[str]) -> Iterator[_Row | None]:
        for line in lines:
            if not line.strip():
                yield None
                continue
            try:
                values = json.loads(line)
            except (ValueError, RecursionError):  # its message contains the line
                values = None
            yield (values, "") if isinstance(values, dict) else ({}, "not a JSON object")


class CsvReader(_Lines):
    """Reads a CSV file with a header (RFC 4180). An empty cell counts as null."""

    def _check(self) -> None:
        """Read the header and check that it has the columns that are read."""
        with long_cells():
            head = next(csv.reader(self._decode(0, None, [0]), strict=True), [])
        self._names = [name.strip() for name in head]
        if len(set(self._names)) != len(self._names):
            raise InputError(Errors.D740.format(source=self._path, reason="the header has a repeated column"))
        if not self._names:
            raise InputError(Errors.D740.format(source=self._path, reason="the file is empty"))
        check_columns(self._names, self._columns.read, str(self._path))

    def _decode(self, start: int, stop: int | None, place: list[int]) -> Iterator[str]:
        self._at_start = start == 0
        return super()._decode(start, stop, place)

    def _records(self, lines: Iterable[str]) -> Iterator[_Row | None]:
        reader = csv.reader(lines, strict=True)
        try:
            with long_cells():
                for number, cells in enumerate(reader):
                    if not cells or (number == 0 and self._at_start):
                        yield None
                    elif len(cells) != len(self._names):
                        yield {}, f"{len(cells)} cells where the header has {len(self._names)}"
                    else:
                        yield {name: cell or None for name, cell in zip(self._names, cells, strict=True)}, ""
        except csv.Error:
            reason = f"line {reader.line_num}: invalid CSV: a quote is missing or misplaced"
            raise InputError(Errors.D740.format(source=self._path, reason=reason)) from None


class DatabaseReader:
    """Reads a table or the result of a query from a database.

    RAISES: InputError if the database cannot be read (D740, D748), a column is missing (D741), or a package is not
        installed (D749).
    """

    def __init__(self, where: str, table: str, query: str, columns: TableColumns) -> None:
        self._where, self._table, self._query, self._columns = where, table, query, columns
        with closing(self._connect()) as source:
            require_columns(source, columns.read)

    def _connect(self) -> SqlSource:
        """Open a connection to the database. RAISES: InputError (D740) if the source is not a database."""
        source = open_source(self._where, table=self._table, query=self._query.strip().removesuffix(";"))
        if not isinstance(source, SqlSource):
            source.close()
            raise InputError(Errors.D740.format(source=source.name, reason="not a database"))
        return source

    def kept_types(self) -> Any:
        """Return the Arrow schema of the columns that are copied to the output; see `Reader`."""
        import pyarrow as pa

        return pa.schema([(name, pa.string()) for name in self._columns.keep])

    def cut(self, rows: int) -> Iterator[dict[str, Any]]:
        """Yield the partitions of the input: for each what `read` needs to find its rows; see `Reader`. Rows without a
        note id form a separate partition.
        """
        low: Any = None
        ident = self._columns.note_id
        with closing(self._connect()) as source:
            for high in source.cut(ident, rows):
                if not isinstance(high, int | str):
                    reason = f"column '{ident}' must contain whole numbers or text"
                    raise InputError(Errors.D740.format(source=source.name, reason=reason))
                yield {"ids": [low, high]}
                low = high
            if next(source.scan_range([ident], ident, None, None), None):
                yield {"ids": [None, None]}

    def read(self, place: Mapping[str, Any]) -> Iterator[Chunk]:
        """Yield the rows of one partition in chunks; see `Reader`. Rows with the same id are sorted, because a
        database can return them in any order.
        """
        names: list[str] = self._columns.read
        low, high = place["ids"]
        with closing(self._connect()) as source:
            rows = source.scan_range(names, self._columns.note_id, low, high)
            at = names.index(self._columns.note_id)
            ordered = (row for _, same in groupby(rows, key=lambda row: row[at]) for row in _sorted(list(same)))
            yield from _chunks(((dict(zip(names, row, strict=True)), "") for row in ordered), self._columns)


def _sorted(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Sort rows with the same id by their values."""
    return sorted(rows, key=repr) if len(rows) > 1 else rows


def _chunks(records: Iterator[_Row], columns: TableColumns) -> Iterator[Chunk]:
    """Convert records to chunks: columns of strings, and the reason for each row that cannot be used."""
    import pyarrow as pa

    schema = pa.schema([(name, pa.string()) for name in columns.read])
    while rows := list(islice(records, CHUNK)):
        broken: dict[int, str] = {}
        table: dict[str, list[str | None]] = {name: [] for name in columns.read}
        for number, (values, reason) in enumerate(rows):
            converted, problem = _convert(values, columns)
            if reason or problem:
                broken[number] = reason or problem
            for name, value in converted.items():
                table[name].append(value)
        yield Chunk(pa.RecordBatch.from_pydict(table, schema=schema), broken)


def _convert(values: Mapping[str, Any], columns: TableColumns) -> tuple[dict[str, str | None], str]:
    """Convert the values of a row to strings. RETURNS: the strings, and why the row cannot be used, "" if it can."""
    converted: dict[str, str | None] = {}
    problem = ""
    for name in columns.read:
        value = values.get(name)
        text = to_string(value)
        if name in columns.texts and not isinstance(value, str) and text is not None:
            problem, text = Errors.D951.format(column=name, reason="is not text"), None
        if text is not None and not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            problem, text = Errors.D951.format(column=name, reason="is not valid in its encoding"), None
        converted[name] = text
    return converted, problem


_WRITERS: list[tuple[Any, Callable[[Any], str]]] = [
    (str, str),
    (bool, lambda value: "true" if value else "false"),
    ((int, float, Decimal), normal_id),
    ((date, time), lambda value: str(value.isoformat())),
    ((dict, list, tuple), lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)),
]


def to_string(value: Any) -> str | None:
    """Convert a value of any type to a string; None if it is null or NaN."""
    if value is None:
        return None
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value) if isinstance(value, str) else write(value) or None
    return str(value)
