"""Tables of notes in Parquet files: no column is read that is not asked for, and no row group without a wanted row."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError
from .source import Columns, Key

__all__ = ["ParquetSource"]

_BATCH = 1_000  # rows with their texts; a row group may hold a million


class ParquetSource:
    """Parquet files, one after the other.

    path (Path): what was named: the file or the folder.
    files (Sequence[Path]): the files, in order.
    RAISES: InputError if pyarrow is missing (D749), a file is broken (D740) or they differ in their columns (D740).
    """

    def __init__(self, path: Path, files: Sequence[Path]) -> None:
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise InputError(Errors.D749.format(package="pyarrow", source=path)) from None
        self.name = str(path)
        self._files: list[Any] = []
        for file in files:
            try:
                self._files.append(ParquetFile(file))
            except Exception:  # pyarrow's messages may quote values
                self.close()
                raise InputError(Errors.D740.format(source=file, reason="not a Parquet file")) from None
        names = [file.schema_arrow.names for file in self._files]
        self.columns: Sequence[str] = [name for name in names[0] if all(name in other for other in names)]

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """See `NoteSource.scan`."""
        for file in self._files:
            for batch in self._checked(file.iter_batches(batch_size=_BATCH, columns=list(dict.fromkeys(columns)))):
                yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)

    def texts(self, keys: Sequence[Key], columns: Columns) -> Iterator[tuple[int, Any]]:
        """See `NoteSource.texts`."""
        groups = [(file, i) for file in self._files for i in range(file.num_row_groups)]
        sizes = [file.metadata.row_group(i).num_rows for file, i in groups]
        starts = [0, *accumulate(sizes)]
        wanted: dict[int, list[int]] = {}
        for key in keys:
            if 0 < key.row <= starts[-1]:
                wanted.setdefault(bisect_right(starts, key.row - 1) - 1, []).append(key.row)
        for number, rows in sorted(wanted.items()):
            file, i = groups[number]
            yield from self._pick(file, i, sorted(row - 1 - starts[number] for row in rows), starts[number], columns)

    def _pick(
        self, file: Any, group: int, places: list[int], start: int, columns: Columns
    ) -> Iterator[tuple[int, Any]]:
        """Yield row and text of some places of a row group."""
        first = 0
        batches = file.iter_batches(batch_size=_BATCH, row_groups=[group], columns=[columns.text])
        for batch in self._checked(batches):
            inside = places[bisect_left(places, first) : bisect_left(places, first + len(batch))]
            texts = batch.column(0).take([place - first for place in inside]) if inside else []
            yield from ((start + place + 1, text.as_py()) for place, text in zip(inside, texts, strict=True))
            first += len(batch)
            if first > places[-1]:
                return

    def _checked(self, tables: Iterator[Any]) -> Iterator[Any]:
        """Pass batches on, and say of what is broken the file alone."""
        try:
            yield from tables
        except Exception:
            raise InputError(Errors.D740.format(source=self.name, reason="a damaged Parquet file")) from None

    def close(self) -> None:
        """See `NoteSource.close`."""
        for file in self._files:
            file.close()
