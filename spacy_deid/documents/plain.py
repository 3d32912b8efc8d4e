"""Plain text: its characters are the document's."""

from collections.abc import Iterator, Sequence

from ..io import check_encoding, decode, encode
from ..offsets import Edit, apply_edits
from .document import Document, Format, Found, ReadSettings, WriteSettings
from .encoded import find_encoded

__all__ = ["FORMAT", "encoding_of"]

_ENCODED = "a file written as letters (uuencode, base64 or the like) is in the text, and was not read"


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Decode a text. A byte-order mark is obeyed and kept. There is a warning if a file is written in it as letters.

    data (bytes): the file.
    name (str): its name.
    settings (ReadSettings): has the encoding.
    RETURNS (Document): parts is the encoding that gives the same bytes again.
    RAISES: InputError (D400), ConfigError (D401).
    """
    text, encoding = decode(data, encoding_of(data, settings), name)
    return Document(name, "txt", text, warnings=(_ENCODED,) if find_encoded(text) else (), parts=encoding)


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write the released text in the encoding of the original.

    document (Document): what `read` gave.
    edits (Sequence[Edit]): in order.
    settings (WriteSettings): not needed.
    RETURNS (bytes): the file.
    RAISES: DeidError (D003, D004), InputError (D413).
    """
    return encode(apply_edits(document.text, edits), document.parts, document.name)


def extract(data: bytes, settings: WriteSettings) -> Iterator[Found]:
    """The text of a file, the only thing that is in it."""
    yield Found("text", decode(data, encoding_of(data, settings.read), "copy")[0])


def encoding_of(data: bytes, settings: ReadSettings) -> str:
    """The encoding of a text: UTF-16 or UTF-32 if a byte-order mark says so, else the one of the settings."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    return "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else check_encoding(settings.encoding)


FORMAT = Format(read, write, extract)
