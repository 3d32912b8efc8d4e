"""RTF: the text is written to a new file without formatting."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from striprtf import striprtf

from ..errors import Errors, InputError
from ..offsets import Edit, apply_edits
from .document import Document, ExtractedText, Format, ReadSettings, WriteSettings
from .markup import strip_invisible

_rtf_to_text: Any = striprtf.rtf_to_text  # it has no types
_WARNING = "formatting, pictures, text boxes and comments are removed"
_CODE_PAGE = re.compile(rb"\\ansicpg(\d{3,5})")
# read headers, footers and notes as text, separate cells by tabs, and skip field codes
_READ_AS = [
    (re.compile(r"(?<!\\)\\(?:header|footer)[lrf]?(?![a-z]) ?|(?<!\\)\\footnote(?![a-z]) ?"), r"\\par "),
    (re.compile(r"(?<!\\)\\(?:nest)?cell(?![a-z]) ?"), r"\\tab "),
    (re.compile(r"(?<!\\)\\fldinst(?![a-z])"), r"\\xe"),
]
_NOTE = re.compile(r"\{\s*(?:\\\*\s*)?\\footnote(?![a-z])")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_WRITTEN = {"\n": "\\par\n", "\t": "\\tab ", "\\": "\\\\", "{": "\\{", "}": "\\}"}
_LEAST_RAW = 6


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read an RTF file.

    data (bytes): the file.
    name (str): file name, for error messages.
    settings (ReadSettings): not used.
    RETURNS (Document): the text. Headers and footers appear where they are defined in the file, footnotes at the end.
    RAISES: InputError (D715).
    """
    return Document(name, "rtf", _text(data, name), (), (_WARNING,))


def _text(data: bytes, name: str) -> str:
    """Extract the text of an RTF file."""
    said = _CODE_PAGE.search(data[:4096])
    try:
        source = data.decode(f"cp{said[1].decode()}" if said else "cp1252", "replace")
    except LookupError:
        source = data.decode("cp1252", "replace")
    source = _move_notes(source)
    for pattern, instead in _READ_AS:
        source = pattern.sub(instead, source)
    try:
        text = _rtf_to_text(source, errors="replace")
    except (ValueError, IndexError, OverflowError, LookupError):
        raise InputError(Errors.D715.format(path=name, reason="damaged: the RTF cannot be parsed")) from None
    return strip_invisible(str(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")).strip()


def _move_notes(source: str) -> str:
    """Move footnotes to the end of the source, because they would split words at their position."""
    kept, notes, last = [], [], 0
    for found in _NOTE.finditer(source):
        if found.start() >= last:
            kept.append(source[last : found.start()])
            last = _end_of_group(source, found.start())
            notes.append(source[found.start() : last])
    body, brace, rest = "".join([*kept, source[last:]]).rpartition("}")
    return "".join([body, *notes, brace, rest]) if brace else "".join([rest, *notes])


def _end_of_group(source: str, start: int) -> int:
    """Return the offset after the group that opens at `start`; the end of the source if the group is not closed."""
    depth = 0
    for found in _BRACE.finditer(source, start):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if not depth:
            return found.end()
    return len(source)


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write a new file with the text alone.

    document (Document): what `read` gave.
    edits (Sequence[Edit]): in order.
    settings (WriteSettings): not needed.
    RETURNS (bytes): the file.
    RAISES: DeidError (D003, D004).
    """
    text = apply_edits(document.text, edits).replace("\r\n", "\n").replace("\r", "\n")
    body = "".join(map(_as_rtf, text))
    return f"{{\\rtf1\\ansi\\ansicpg1252\\uc1\\deff0{{\\fonttbl{{\\f0 Arial;}}}}\\f0\n{body}}}\n".encode("ascii")


def _as_rtf(character: str) -> str:
    """Encode a character in RTF."""
    if character in _WRITTEN:
        return _WRITTEN[character]
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-le", "replace")
    codes = [int.from_bytes(units[i : i + 2], "little", signed=True) for i in range(0, len(units), 2)]
    return "".join(f"\\u{code}?" for code in codes)


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the text and the raw source."""
    yield ExtractedText("text", _text(data, "copy"))
    yield ExtractedText("source", data.decode("latin-1"), _LEAST_RAW)


FORMAT = Format(read, write, extract)
