"""Read the text of RTF files, and write it to a new RTF file without formatting."""

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
    """Read the text of an RTF file. Headers and footers appear where they are defined, footnotes at the end."""
    return Document(name, "rtf", _text(data, name), (), (_WARNING,))


def _text(data: bytes, name: str) -> str:
    """Return the text of an RTF file. RAISES: InputError (D715) if it cannot be parsed."""
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
    except (ValueError, TypeError, IndexError, OverflowError, LookupError):
        raise InputError(Errors.D715.format(path=name, reason="damaged: the RTF cannot be parsed")) from None
    return strip_invisible(str(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")).strip()


def _move_notes(source: str) -> str:
    """Move footnotes to the end of the RTF source: where they are defined, their text would split words."""
    kept, notes, last = [], [], 0
    for found in _NOTE.finditer(source):
        if found.start() >= last:
            kept.append(source[last : found.start()])
            last, depth = len(source), 0  # a group that is not closed extends to the end
            for brace in _BRACE.finditer(source, found.start()):
                depth += {"{": 1, "}": -1}.get(brace[0], 0)
                if not depth:
                    last = brace.end()
                    break
            notes.append(source[found.start() : last])
    body, end, rest = "".join([*kept, source[last:]]).rpartition("}")
    return "".join([body, *notes, end, rest]) if end else "".join([rest, *notes])


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write the edited text to a new RTF file without formatting."""
    text = apply_edits(document.text, edits).replace("\r\n", "\n").replace("\r", "\n")
    body = []
    for char in text:
        if char in _WRITTEN or " " <= char <= "~":
            body.append(_WRITTEN.get(char, char))
        else:
            units = char.encode("utf-16-le", "replace")
            codes = [int.from_bytes(units[i : i + 2], "little", signed=True) for i in range(0, len(units), 2)]
            body += [f"\\u{code}?" for code in codes]
    return f"{{\\rtf1\\ansi\\ansicpg1252\\uc1\\deff0{{\\fonttbl{{\\f0 Arial;}}}}\\f0\n{''.join(body)}}}\n".encode(
        "ascii"
    )


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield the text and the RTF source of a copy for verification."""
    yield ExtractedText("text", _text(data, "copy"))
    yield ExtractedText("source", data.decode("latin-1"), _LEAST_RAW)


FORMAT = Format(read, write, extract)
