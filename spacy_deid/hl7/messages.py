"""Read and write messages of HL7 v2 without a change of what is not de-identified.

A file has one message or many. They can be in MLLP frames, and segments can end with CR, LF or CR LF. All separators
are kept. Sources: HL7 v2.5.1, chapter 2; MLLP is "HL7 Minimal Lower Layer Protocol" in the transport specification.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from ..errors import Errors, InputError, describe_system
from ..io import decode, encode

LARGEST = 64 * 1024 * 1024
"""Bytes of the largest message that is read."""

# HL7 table 0211
CHARSETS = MappingProxyType(
    {
        "ASCII": "ascii",
        "8859/1": "iso8859-1",
        "8859/2": "iso8859-2",
        "8859/3": "iso8859-3",
        "8859/4": "iso8859-4",
        "8859/5": "iso8859-5",
        "8859/7": "iso8859-7",
        "8859/9": "iso8859-9",
        "8859/15": "iso8859-15",
        "UNICODE UTF-8": "utf-8",
        "UTF-8": "utf-8",
    }
)
"""Character set in MSH-18 → Python's name of the encoding."""

_START = re.compile(rb"(?:\A|(?<=[\r\n\x0b\x1c]))(?:MSH|[FB]HS|[FB]TS)(?=[^A-Za-z0-9\s])")
_LINE_END = re.compile(r"(\r\n|\r|\n)")
_NAME = re.compile(r"[A-Z][A-Z0-9]{2}")
_BLOCK = 1024 * 1024
_FRAME = "\x0b"  # start of an MLLP frame; its end is FS CR
_FRAME_END = "\x1c"
_BREAKS = re.compile(r"\.(?:br|ce)|\.sp[+]?(\d{0,2})")
_LAYOUT = re.compile(r"[HN]|\.(?:fi|nf|in[+-]?\d{1,3}|ti[+-]?\d{1,3}|sk[+]?\d{1,3})")


class Encoding(NamedTuple):
    """The encoding characters of a message, MSH-1 and MSH-2.

    field, component, repetition, escape, subcomponent (str): one character each.
    charset (str): Python's name of the character encoding.
    """

    field: str = "|"
    component: str = "^"
    repetition: str = "~"
    escape: str = "\\"
    subcomponent: str = "&"
    charset: str = "utf-8"

    def write(self, text: str) -> str:
        """Escape a text, so that it can be written into a field. Line breaks become ``\\.br\\``."""
        e = self.escape
        names = {
            self.field: "F",
            self.component: "S",
            self.repetition: "R",
            e: "E",
            self.subcomponent: "T",
            "\n": ".br",
            "\r": "X0D",
        }
        return "".join(f"{e}{names[char]}{e}" if char in names else char for char in text)


@dataclass(slots=True)
class Segment:
    """A segment.

    name (str): its name, such as "PID".
    fields (list[str]): the fields as they are in the message; the first has the number 1. Those of MSH begin with
        MSH-1, the field separator.
    end (str): the line end after it; "" for the last one of a file.
    """

    name: str
    fields: list[str] = field(repr=False)
    end: str = "\r"

    def get(self, number: int) -> str:
        """Return a field; "" if the segment is shorter."""
        return self.fields[number - 1] if 0 < number <= len(self.fields) else ""


@dataclass(slots=True)
class Message:
    """A message.

    encoding (Encoding): its encoding characters.
    segments (list[Segment]): its segments, without empty lines.
    before, after (str): the characters of the frame around it.
    """

    encoding: Encoding
    segments: list[Segment] = field(repr=False)
    before: str = ""
    after: str = ""

    @property
    def type(self) -> str:
        """The message code of MSH-9, such as "ORU"."""
        return self.segments[0].get(9).split(self.encoding.component)[0]

    def write(self, path: str) -> bytes:
        """Return the bytes of the message. RAISES: InputError (D413) if its encoding lacks a character."""
        lines = []
        for item in self.segments:
            separator = self.encoding.field
            start = 1 if item.name == "MSH" else 0  # MSH-1 is the separator itself
            lines.append(separator.join([item.name, *item.fields[start:]]) + item.end)
        return encode(self.before + "".join(lines) + self.after, self.encoding.charset, path)


def split_messages(path: Path) -> Iterator[bytes]:
    """Split a file into messages, without reading it all at once.

    path (Path): the file.
    YIELDS (bytes): each message, or each line of a batch header or trailer (FHS, BHS, BTS, FTS) with what follows it,
        with its frame. What comes before the first message is yielded if it is not white space.
    RAISES: InputError (D402) if the file cannot be read, (D992) if a message is larger than `LARGEST`.
    """
    try:
        with open(path, "rb") as file:
            yield from split_stream(file, path.name)
    except OSError as error:
        raise InputError(Errors.D402.format(path=path, reason=describe_system(error))) from None


def split_stream(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Split a stream into messages, as `split_messages`.

    file (BinaryIO): the stream.
    name (str): its name, for messages.
    YIELDS (bytes): the messages.
    RAISES: InputError (D992) if a message is larger than `LARGEST`.
    """
    data, searched = b"", 0
    while block := file.read(_BLOCK):
        data += block
        starts = [at for at in _starts(data, searched) if at]
        for start, end in zip([0, *starts], starts, strict=False):
            if data[start:end].strip():
                yield data[start:end]
        data = data[starts[-1] :] if starts else data
        searched = max(0, len(data) - 8)
        if len(data) > LARGEST:
            raise InputError(Errors.D992.format(path=name, reason=f"larger than {LARGEST} bytes"))
    if data.strip():
        yield data


def _starts(data: bytes, searched: int) -> Iterator[int]:
    """Yield where messages start, with the character that starts the frame. The last four bytes may be incomplete."""
    for found in _START.finditer(data, searched):
        at = found.start()
        yield at - 1 if at and data[at - 1 : at] == b"\x0b" else at


def parse_message(data: bytes, path: str, charset: str = "utf-8") -> Message:
    """Parse a message.

    data (bytes): the message with its frame.
    path (str): its position, for messages.
    charset (str): character encoding of a message without MSH-18, as Python names it.
    RETURNS (Message): the message.
    RAISES: InputError (D992) if it is no message, (D400) if it is not in its encoding.
    """
    head = re.match(rb"[\x0b\s]*MSH([^A-Za-z0-9\s])([^\r\n]*)", data)
    if head is None:
        raise InputError(Errors.D992.format(path=path, reason="it does not begin with the segment MSH"))
    fields = head[2].split(head[1])
    marks = (head[1] + fields[0]).decode("latin-1")
    if not (5 <= len(marks) <= 6 and len(set(marks)) == len(marks)) or not all("!" <= c <= "~" for c in marks):
        raise InputError(Errors.D992.format(path=path, reason="MSH-2 must have four different encoding characters"))
    if any(char.isalnum() for char in marks):
        raise InputError(Errors.D992.format(path=path, reason="an encoding character is a letter or a digit"))
    named = fields[16].split(marks[2].encode())[0].decode("latin-1").strip() if len(fields) > 16 else ""
    if named and named.upper() not in CHARSETS:
        raise InputError(Errors.D992.format(path=path, reason="the character set in MSH-18 is not supported"))
    encoding = Encoding(
        field=marks[0],
        component=marks[1],
        repetition=marks[2],
        escape=marks[3],
        subcomponent=marks[4],
        charset=CHARSETS[named.upper()] if named else charset,
    )
    text, _ = decode(data, encoding.charset, path)
    body = text.lstrip(_FRAME + "\r\n \t\ufeff")
    before, tail = text[: len(text) - len(body)], len(body.rstrip("\x1c\r\n \t"))
    while tail < len(body) and body[tail] != _FRAME_END:
        tail += 1  # line ends before the end of the frame belong to the last segment
    body, after = body[:tail], body[tail:]
    if any(ord(char) < 32 and char not in "\r\n\t" for char in body):
        raise InputError(Errors.D992.format(path=path, reason="it has a control character"))
    return Message(encoding, list(_segments(body, encoding, path)), before, after)


def _segments(body: str, encoding: Encoding, path: str) -> Iterator[Segment]:
    """Yield the segments of a message. RAISES: InputError (D992) for a line that is no segment."""
    parts = _LINE_END.split(body)
    for number, (line, end) in enumerate(zip(parts[::2], [*parts[1::2], ""], strict=True), 1):
        if not line.strip():
            continue
        name, *fields = line.split(encoding.field)
        if not _NAME.fullmatch(name):
            reason = f"line {number} is no segment. Is there a line end in a text that is not written as \\.br\\?"
            raise InputError(Errors.D992.format(path=path, reason=reason))
        if name == "MSH" and number > 1:
            raise InputError(Errors.D992.format(path=path, reason="it has a second segment MSH"))
        yield Segment(name, [encoding.field, *fields] if name == "MSH" else fields, end)


class Text(NamedTuple):
    """A text that was read from one or several fields, aligned with what is written there.

    text (str): the text, without escape sequences.
    pieces (Sequence[tuple[str, int]]): what is written in the field, and the number of characters of `text` that it
        gives; 0 for a layout command, such as the start of highlighting.
    """

    text: str
    pieces: Sequence[tuple[str, int]]

    def __repr__(self) -> str:
        return "Text(…)"

    def write(self, edits: Sequence[tuple[int, int, str]], encoding: Encoding) -> str:
        """Write the text with edits. What no edit changes is written as before, byte for byte.

        edits (Sequence[tuple[int, int, str]]): start, end and replacement, sorted. Offsets refer to `text`.
        encoding (Encoding): the encoding characters.
        RETURNS (str): the field.
        """
        owner = [-1] * len(self.text)
        for number, (start, end, _) in enumerate(edits):
            owner[start:end] = [number] * (end - start)
        out: list[str] = []
        at, last = 0, -1
        for raw, length in self.pieces:
            owners = owner[at : at + length]
            is_hidden = not length and 0 < at < len(owner) and owner[at - 1] == owner[at] != -1
            if all(number == -1 for number in owners):
                out.append("" if is_hidden else raw)
            else:
                for char, number in zip(self.text[at : at + length], owners, strict=True):
                    if number == -1:
                        out.append(encoding.write(char))
                    elif number != last:
                        out.append(encoding.write(edits[number][2]))
                        last = number
            at += length
        return "".join(out)


def read_text(raw: str, encoding: Encoding, path: str) -> Text:
    """Read the text of a field.

    Separators that a sender did not escape are read as characters: a repetition starts a new line, and a component a
    new word if there is no digit beside it, as in "10^9".

    raw (str): the field as it is in the message.
    encoding (Encoding): the encoding characters.
    path (str): position of the field, for messages.
    RETURNS (Text): the text.
    RAISES: InputError (D993) for an escape sequence that is damaged or not supported.
    """
    pieces: list[tuple[str, int]] = []
    text: list[str] = []
    at = 0
    while at < len(raw):
        char, end = raw[at], at + 1
        if char == encoding.escape:
            end = raw.find(encoding.escape, at + 1) + 1
            if not end:
                raise InputError(Errors.D993.format(path=path, reason="an escape sequence has no end"))
            plain = _read_escape(raw[at + 1 : end - 1], encoding, path)
        elif char == encoding.repetition:
            plain = "\n"
        elif char in (encoding.component, encoding.subcomponent):
            near = raw[max(0, at - 1) : at] + raw[at + 1 : at + 2]
            plain = char if any(other.isdigit() for other in near) else " "
        else:
            plain = char
        pieces.append((raw[at:end], len(plain)))
        text.append(plain)
        at = end
    return Text("".join(text), pieces)


def _read_escape(name: str, encoding: Encoding, path: str) -> str:
    """Return the characters of an escape sequence. RAISES: InputError (D993)."""
    plain = {
        "F": encoding.field,
        "S": encoding.component,
        "T": encoding.subcomponent,
        "R": encoding.repetition,
        "E": encoding.escape,
    }.get(name)
    if plain is not None:
        return plain
    if found := _BREAKS.fullmatch(name):
        return "\n" * max(1, int(found[1] or 1))
    if _LAYOUT.fullmatch(name):
        return ""
    if name[:1] == "X" and len(name) > 1 and re.fullmatch(r"(?:[0-9A-Fa-f]{2})+", name[1:]):
        try:
            return bytes.fromhex(name[1:]).decode(encoding.charset)
        except UnicodeDecodeError:
            raise InputError(Errors.D993.format(path=path, reason="\\X…\\ is not in the encoding")) from None
    raise InputError(Errors.D993.format(path=path, reason="an escape sequence is not known"))
