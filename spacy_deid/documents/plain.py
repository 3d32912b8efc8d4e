"""Read and write plain text files, and find files that are encoded in a text, as in old e-mail: uuencode, BinHex,
yEnc, base64 and PGP.
"""

import binascii
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..io import check_encoding, decode, encode
from ..offsets import Edit, apply_edits
from .document import Document, ExtractedText, Format, ReadSettings, WriteSettings

# lines may be quoted or indented, as in a reply or a forwarded message
_BEGIN = re.compile(r"(?P<quote>[>| \t]*)begin(?P<base64>-base64)? +[0-7]{1,6} +(?P<name>\S.*)")
_UU_LETTERS = re.compile(r"[ -`]*")
_UU_END = re.compile(r"end\s*")
_BASE64_END = re.compile(r"={4}\s*")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{2,}={0,2}")
_LONG_BASE64 = re.compile(r"[>| \t]*[A-Za-z0-9+/]{60,}={0,2}\s*")
_TAIL_BASE64 = re.compile(r"[>| \t]*(?=\S*[A-Z\d+/=])[A-Za-z0-9+/]{4,}={0,2}\s*")
_UU_FULL = re.compile(r"[>| \t]*M[ -`]{57,61}\s*")  # 45 bytes; some programs strip trailing blanks
_TAIL_UU = re.compile(r"[>| \t]*[!-L][ -`]{4,60}\s*")
_UU_CLOSE = re.compile(r"[>| \t]*(`|end)\s*")
_LEAST_LINES = 3  # lines that count as a file without a header
# first and last lines of other encodings
_ARMORS = (
    (re.compile(r"[>| \t]*\(This file must be converted with BinHex.*"), re.compile(r".*:\s*")),
    (re.compile(r"[>| \t]*=ybegin .*"), re.compile(r"[>| \t]*=yend .*")),
    (re.compile(r"[>| \t]*-----BEGIN (PGP MESSAGE|PGP SIGNATURE|PKCS7|CMS)-----\s*"), re.compile(r".*-----END .*")),
)


class EncodedFile(NamedTuple):
    """A file that is written as lines of letters and signs within a text, for example in uuencode.

    start, end (int): character offsets of the lines it covers.
    name (str): file name, or "".
    data (bytes): decoded content; empty if it is damaged or the encoding is not supported.
    """

    start: int
    end: int
    name: str = ""
    data: bytes = b""

    def __repr__(self) -> str:
        return f"Encoded({self.start}, {self.end})"


def find_encoded_files(text: str) -> list[EncodedFile]:
    """Find the files that are encoded in a text, for example in uuencode, in the order of the text.

    Uuencoded files are decoded, including `begin-base64`. BinHex, yEnc and PGP messages, and three or more lines of
    uuencode or base64 without a header, are found but not decoded. A file without an end marker extends to its last
    valid line.
    """
    lines: list[tuple[int, str]] = []  # start offsets and lines with their line ends
    start = 0
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        lines.append((start, line))
        start += len(line)
    found: list[EncodedFile] = []
    i = 0
    while i < len(lines):
        stop, name, data = _block(lines, i)
        if stop > i:
            found.append(EncodedFile(lines[i][0], lines[stop - 1][0] + len(lines[stop - 1][1]), name, data))
        i = max(stop, i + 1)
    return found


def _block(lines: list[tuple[int, str]], i: int) -> tuple[int, str, bytes]:
    """Decode the encoded file that begins at line `i`, if there is one.

    RETURNS (tuple[int, str, bytes]): index of the line after the file (`i` if no file begins there), the name of the
        file, and its content; b"" if it could not be decoded.
    """
    line = lines[i][1].rstrip("\r\n")
    begin = _BEGIN.fullmatch(line)
    if begin:
        stop, data = _decode(lines, i + 1, len(begin["quote"]), bool(begin["base64"]))
        if stop > i + 1:
            return stop, begin["name"].strip(), data
    for opening, closing in _ARMORS:
        if opening.fullmatch(line):
            ends = (j for j in range(i + 1, len(lines)) if closing.fullmatch(lines[j][1].rstrip("\r\n")))
            return next(ends, len(lines) - 1) + 1, "", b""
    for pattern, tail in ((_LONG_BASE64, _TAIL_BASE64), (_UU_FULL, _TAIL_UU)):
        stop = _run(lines, i, pattern)
        if stop - i >= _LEAST_LINES:
            stop += stop < len(lines) and bool(tail.fullmatch(lines[stop][1]))
            return _run(lines, stop, _UU_CLOSE) if pattern is _UU_FULL else stop, "", b""
    return i, "", b""


def _run(lines: list[tuple[int, str]], i: int, pattern: re.Pattern[str]) -> int:
    """Return the index of the first line from `i` on that does not match the pattern."""
    while i < len(lines) and pattern.fullmatch(lines[i][1]):
        i += 1
    return i


def _decode(lines: list[tuple[int, str]], i: int, quote: int, base64: bool) -> tuple[int, bytes]:
    """Decode an encoded file whose first data line is `i`, without the first `quote` characters of each line. Returns
    the index of the line after the file (`i` if there is no data line), and the content; b"" if a line is damaged.
    """
    data, first, damaged = bytearray(), i, False
    while i < len(lines):
        line = lines[i][1].rstrip("\r\n")[quote:]
        if i > first and (_BASE64_END if base64 else _UU_END).fullmatch(line):
            return i + 1, b"" if damaged else bytes(data)
        part = _decode_line(line, base64)
        if part is None and (i == first or not _UU_LETTERS.fullmatch(line)):
            break
        if i == first and not part:
            break
        damaged = damaged or part is None
        data += part or b""
        i += 1
    return i, b"" if damaged else bytes(data)


def _decode_line(line: str, base64: bool) -> bytes | None:
    """Return the bytes that a line of base64 or uuencode encodes; None if it is invalid. In uuencode, trailing blanks
    may be missing, and a checksum may follow.
    """
    try:
        if base64:
            return binascii.a2b_base64(line) if _BASE64.fullmatch(line.strip()) else None
        if not line.strip(" `"):
            return b""
        wanted = -(-((ord(line[0]) - 32) & 63) // 3) * 4
        if not _UU_LETTERS.fullmatch(line) or not wanted // 2 <= len(line) - 1 <= wanted + 2:
            return None
        return binascii.a2b_uu(line[: wanted + 1].encode())
    except binascii.Error:
        return None


_ENCODED = "a file written as letters (uuencode, base64 or the like) is in the text, and was not read"


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Decode a text file. A byte-order mark is kept. Adds a warning if the text contains an encoded file.

    RAISES: InputError if the file is not in its encoding (D400); ConfigError if the encoding is unknown (D401).
    """
    text, encoding = decode(data, encoding_of(data, settings), name)
    return Document(name, "txt", text, warnings=(_ENCODED,) if find_encoded_files(text) else (), parts=encoding)


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write the edited text in the encoding of the original.

    RAISES: InputError (D413) if a replacement cannot be written in this encoding.
    """
    return encode(apply_edits(document.text, edits), document.parts, document.name)


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the text of a copy for verification; a text file has no other content."""
    yield ExtractedText("text", decode(data, encoding_of(data, settings.read), "copy")[0])


def encoding_of(data: bytes, settings: ReadSettings) -> str:
    """Return the encoding that the byte-order mark of a text file declares, else the encoding in the settings."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    return "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else check_encoding(settings.encoding)


FORMAT = Format(read, write, extract)
