"""Notes that are .txt files, and a table that says whose they are."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import Errors, InputError
from .source import Columns, Key, NoteSource, as_id, require_columns

__all__ = ["FolderSource"]


class FolderSource:
    """A folder of NAME.txt and a table with a row a file. Each row has the text of its file as a column.

    folder (Path): the folder, with folders in it.
    index (NoteSource): the table.
    note_id (str): its column with the name of the file, relative to the folder, with or without ".txt".
    text (str): what the column of the text is called.
    encoding (str): encoding of the files.
    RAISES: InputError (D741) if the table does not have the column.
    """

    def __init__(self, folder: Path, index: NoteSource, note_id: str, text: str, encoding: str = "utf-8") -> None:
        require_columns(index, [note_id])
        self.name = str(folder)
        self.columns: Sequence[str] = [*(name for name in index.columns if name != text), text]
        self._folder, self._index, self._note_id, self._text, self._encoding = folder, index, note_id, text, encoding

    def scan(self, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """See `NoteSource.scan`. RAISES: InputError (D742) for a row whose file cannot be read."""
        asked = [self._note_id if name == self._text else name for name in columns]
        for row, values in enumerate(self._index.scan(asked), start=1):
            pairs = zip(columns, values, strict=True)
            yield tuple(self._read(value, row) if name == self._text else value for name, value in pairs)

    def texts(self, keys: Sequence[Key], columns: Columns) -> Iterator[tuple[int, Any]]:
        """See `NoteSource.texts`."""
        return ((key.row, self._read(key.note_id, key.row)) for key in keys)

    def count_unnamed(self) -> int:
        """RETURNS (int): the .txt files of the folder that no row names."""
        named = {self._path(name) for (name,) in self._index.scan([self._note_id])}
        return sum(path not in named for path in self._folder.rglob("*.txt"))

    def _path(self, name: Any) -> Path:
        """The file of a row."""
        return self._folder / f"{(as_id(name) or '').removesuffix('.txt')}.txt"

    def _read(self, name: Any, row: int) -> str:
        """The text of a row."""
        path = self._path(name)
        reason = "its file cannot be read"
        try:
            if path.resolve().is_relative_to(self._folder.resolve()):
                return path.read_bytes().decode(self._encoding)
        except UnicodeError:
            reason = f"its file is not {self._encoding} text"
        except (OSError, ValueError):  # ValueError: a name with a NUL
            pass
        raise InputError(Errors.D742.format(source=self._index.name, row=row, reason=reason))

    def close(self) -> None:
        """See `NoteSource.close`."""
        self._index.close()
