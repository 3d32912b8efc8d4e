"""What all readers share: decoded lines, the account of a reading, and headers that must hold."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import ConfigError, Errors

__all__ = ["Reading", "lines", "require"]

_MOST_BROKEN = 0.5


class Reading:
    """The account of one file's reading.

    lang (str): language of the terms that are wanted, ISO 639-1.
    kind (str): kind of the terms, where a format does not say it.
    encoding (str): encoding of the file.
    rows (int): rows that were read, broken ones too.
    broken (int): rows that were skipped because they are broken.
    first (tuple): row and reason of the first broken one.
    left_out (int): terms of inactive concepts, other languages, or that are no medicine.
    """

    def __init__(self, lang: str, kind: str = "disease", encoding: str = "utf-8") -> None:
        self.lang = lang
        self.kind = kind
        self.encoding = encoding
        self.rows = 0
        self.broken = 0
        self.left_out = 0
        self.first: tuple[int, str] = (0, "")

    def skip(self, row: int, reason: str) -> None:
        """Count a broken row.

        row (int): its number.
        reason (str): what is wrong, without its content.
        """
        if not self.broken:
            self.first = row, reason
        self.broken += 1

    def check(self, path: Path, format: str) -> None:
        """Make sure that most rows could be read.

        path (Path): the file.
        format (str): what it should be.
        RAISES: ConfigError (D702), or if there were no rows (D700).
        """
        if not self.rows:
            raise ConfigError(Errors.D700.format(path=path, format=format, reason="no rows"))
        if self.broken > _MOST_BROKEN * self.rows:
            row, reason = self.first
            raise ConfigError(
                Errors.D702.format(path=path, count=self.broken, rows=self.rows, row=row, reason=reason, format=format)
            )


def lines(path: Path, reading: Reading) -> Iterator[tuple[int, str]]:
    """The lines of a file that can be decoded, with their numbers.

    path (Path): the file.
    reading (Reading): encoding and account. Bytes of another encoding make a broken row.
    YIELDS (tuple[int, str]): number of the line, and the line without its end.
    """
    with path.open("rb") as file:
        for row, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if row == 1 and reading.encoding == "utf-8" else reading.encoding)
            except UnicodeDecodeError:
                reading.rows += 1
                reading.skip(row, f"not {reading.encoding}")
                continue
            yield row, text.rstrip("\r\n")


def require(header: Sequence[str], columns: Sequence[str], path: Path, format: str) -> dict[str, int]:
    """Find columns in a header.

    header (Sequence[str]): the file's columns.
    columns (Sequence[str]): those that are needed.
    path (Path): the file.
    format (str): what it should be.
    RETURNS (dict[str, int]): column → its place.
    RAISES: ConfigError (D700) naming the first that is missing.
    """
    places = {column.strip().lower(): place for place, column in enumerate(header)}
    for column in columns:
        if column.lower() not in places:
            raise ConfigError(Errors.D700.format(path=path, format=format, reason=f"no column '{column}' in row 1"))
    return {column: places[column.lower()] for column in columns}
