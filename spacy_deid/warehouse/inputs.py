"""Cut the input of a run into partitions, and read one partition.

    files        Parquet, JSONL and CSV files, or a folder with such files, including its subfolders
    databases    a table or a query of a DuckDB or SQLite file, or of any database that SQLAlchemy supports

A partition is a range of rows of one file, or a range of note ids of a database. It is cut once, before the start, and
described by plain values, so that every worker reads the same rows. Rows are read in chunks of a fixed size, whose
order and bounds depend on the partition alone.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError
from ..io import find_notes
from .readers import Chunk, CsvReader, DatabaseReader, JsonlReader, ParquetReader, Reader, to_string
from .settings import TableColumns

_SUFFIXES = (".parquet", ".jsonl", ".csv")
_DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb")


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of the input that one worker processes. It consists of plain values, so that it can be stored as JSON.

    name (str): name of its files in the output: letters, digits and a hyphen. It does not contain names of the input.
    source (str): path of its file in the input folder, or the table of a database.
    place (dict): its rows: "rows" (range of rows) or "bytes" (range of bytes), with their "count"; or "ids" (range of
        note ids).
    """

    name: str
    source: str
    place: dict[str, Any]


@dataclass(frozen=True, slots=True)
class InputSettings:
    """The location and format of the notes of a run.

    where (str): a file, a folder, a database URL, or "env:NAME" for an environment variable that contains the URL.
    table, query (str): table or SELECT statement of a database.
    encoding (str): encoding of CSV and JSONL files, in which a line break must be the byte 0A.
    rows (int): largest number of rows in a partition.
    kept_schema (str): serialized types of the columns that are copied to the output, as `plan` returns them; "" before
        planning.
    """

    where: str
    table: str = ""
    query: str = ""
    encoding: str = "utf-8"
    rows: int = 10_000
    kept_schema: str = field(default="", repr=False)

    @property
    def is_database(self) -> bool:
        """Whether the notes are in a database."""
        return self.where.startswith("env:") or "://" in self.where or self.where.lower().endswith(_DATABASES)


def find_files(where: Path, output: Path) -> tuple[dict[str, Path], int]:
    """Find the input files of a run.

    where (Path): a file or a folder.
    output (Path): folder of the run, which is not read.
    RETURNS (tuple[dict[str, Path], int]): relative path → file, in order; and the number of files that are not read.
        Files in folders whose names begin with "_" or "." are not read, because other programs write unfinished files
        there.
    RAISES: InputError if there are no files (D953), or the folder is a table of a format whose files also contain
        deleted rows (D954).
    """
    if where.is_dir():
        for name in ("_delta_log", ".hoodie", "metadata/version-hint.text"):
            if next(where.rglob(name), None):
                raise InputError(Errors.D954.format(path=where))
        if any(path.name.endswith(".metadata.json") for path in where.rglob("metadata/*.json")):
            raise InputError(Errors.D954.format(path=where))
    found, others = find_notes([where], _SUFFIXES, skip=output)
    hidden = [pair for pair in found if any(part.startswith(("_", ".")) for part in pair[1].parts[:-1])]
    files = {relative.as_posix(): path for path, relative in found if (path, relative) not in hidden}
    if not files:
        raise InputError(Errors.D953.format(path=where, count=others + len(hidden)))
    return files, others + len(hidden)


def plan(settings: InputSettings, columns: TableColumns, output: Path) -> tuple[list[Partition], str]:
    """Cut the input into partitions, after checking that all of it can be read.

    settings (InputSettings): location of the input.
    columns (TableColumns): what is done with each column.
    output (Path): folder of the run, which is not read.
    RETURNS (tuple[list[Partition], str]): the partitions in order, and the value of `InputSettings.kept_schema`.
    RAISES: InputError for a file that cannot be read or a column that is missing (D740, D741), or kept columns whose
        types differ too much between files (D955).
    """
    import pyarrow as pa

    if settings.is_database:
        files: dict[str, Path | None] = {settings.table or "query": None}
    else:
        files = {**find_files(Path(settings.where), output)[0]}
    partitions, schemas = [], []
    for source, path in files.items():
        reader = _open(settings, columns, path)
        schemas.append(reader.kept_types())
        key = hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:12]
        places = enumerate(reader.cut(settings.rows))
        partitions += [Partition(f"{key}-{number:05d}", source, place) for number, place in places]
        try:
            kept = pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException:
            raise InputError(Errors.D955.format(source=source)) from None
        schemas = [kept]
    return partitions, bytes(schemas[0].serialize()).hex()


def read_partition(settings: InputSettings, columns: TableColumns, partition: Partition) -> Iterator[Chunk]:
    """Read the rows of a partition in chunks.

    settings (InputSettings): location of the input, with its `kept_schema`.
    columns (TableColumns): what is done with each column.
    partition (Partition): one of the partitions that `plan` returned.
    YIELDS (Chunk): chunks of `CHUNK` rows, the last one shorter.
    RAISES: InputError if the file or table cannot be read (D740, D748) or has changed since the run was planned
        (D952).
    """
    root = Path(settings.where)
    path = None if settings.is_database else root / partition.source if root.is_dir() else root
    kept = read_kept_schema(settings)
    planned, found = partition.place.get("count"), 0
    for batch, broken in _open(settings, columns, path).read(partition.place):
        found += batch.num_rows
        for name in columns.keep:
            at, column = batch.schema.get_field_index(name), batch.column(name)
            batch = batch.set_column(at, name, column.cast(kept.field(name).type))
        yield Chunk(batch, broken)
    if planned is not None and found != planned:
        raise InputError(Errors.D952.format(source=partition.source))


def read_kept_schema(settings: InputSettings) -> Any:
    """Deserialize the types of the columns that are copied to the output. RETURNS (pyarrow.Schema)."""
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(settings.kept_schema)))


def update_checksum(checksum: Any, chunk: Chunk, columns: TableColumns) -> None:
    """Add the rows of a chunk to a checksum, to detect later whether the input has changed.

    The checksum depends only on the values that a run reads, not on the file format.

    checksum (hashlib._Hash): the checksum; updated in place.
    chunk (Chunk): rows of a partition.
    columns (TableColumns): the columns that are read.
    """
    values = [_to_bytes(chunk.batch.column(name)) for name in columns.read]
    for number, row in enumerate(zip(*values, strict=True)):
        for value in (*row, chunk.broken.get(number, "").encode()):
            checksum.update(b"%d:" % len(value))
            checksum.update(value)


def _to_bytes(column: Any) -> list[bytes]:
    """Convert the values of a column to bytes for a checksum; different values have different bytes."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.large_binary())
    return [b"" if value is None else b"=" + _as_bytes(value) for value in column.to_pylist()]


def _as_bytes(value: Any) -> bytes:
    """Convert a value to bytes. Equal numbers have equal bytes, whatever their type."""
    return value if isinstance(value, bytes) else (to_string(value) or "").encode("utf-8", "surrogatepass")


def _open(settings: InputSettings, columns: TableColumns, path: Path | None) -> Reader:
    """Open a file with the reader of its format, or the database if `path` is None. RAISES: InputError."""
    if path is None:
        return DatabaseReader(settings.where, settings.table, settings.query, columns)
    if path.suffix.lower() == ".parquet":
        return ParquetReader(path, columns)
    return (CsvReader if path.suffix.lower() == ".csv" else JsonlReader)(path, columns, settings.encoding)
