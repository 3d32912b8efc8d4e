"""E-mail messages (.eml): visible headers, bodies and attachments, written as a new message."""

import codecs
import mimetypes
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from email import message_from_bytes, policy
from email.encoders import encode_base64
from email.header import Header
from email.message import Message
from email.mime.base import MIMEBase
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import PurePath
from typing import Any, NamedTuple

from ..errors import Errors, InputError
from ..offsets import Edit, apply_edits
from .document import Document, ExtractedText, Format, ReadSettings, WriteSettings
from .formats import FORMATS, SUFFIXES, detect_kind, get_format, redact_document
from .placed_text import PlacedText
from .plain import find_encoded_files
from .tables.cells import TableParts, cell_text

_HEADERS = ("From", "To", "Cc", "Bcc", "Reply-To", "Subject", "Date")
_LABEL = "a header's name"
_LOST = "attachments that cannot be read are removed"
_UNNAMED = "an attached table has none of the columns that the policy of columns names"
_BODIES = ("text/plain", "text/html")
_DEEPEST = 20
_LONGEST = 50_000  # characters of the headers of a part; parsing time grows faster than length


class _Part(NamedTuple):
    """A part of a message that is copied.

    document (Document): its content; plain text bodies have the format "txt".
    suffix (str): file name suffix of an attachment; "" for a body.
    """

    document: Document
    suffix: str = ""


class _Parts(NamedTuple):
    """The headers with their values and the parts of a message, needed to write it."""

    headers: list[tuple[str, str]]
    parts: list[_Part]


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read a message.

    Of alternative bodies the HTML version is read. Files encoded in a body, for example by uuencode, are treated as
    attachments.

    data (bytes): the file.
    name (str): file name, for error messages.
    settings (ReadSettings): how attachments are read.
    RETURNS (Document): headers, bodies and attachments as text, with the marks of attached tables.
    RAISES: InputError (D715).
    """
    data = _in_utf_8(data)
    _check(data, name)
    try:
        message = message_from_bytes(data, policy=policy.default)
        headers = [(key, _one_line(str(value))) for key in _HEADERS for value in message.get_all(key, [])]
        leaves = list(_leaves(message))
    except Exception:  # the parser raises many types of exceptions for damaged headers
        raise InputError(Errors.D715.format(path=name, reason="damaged: the message cannot be parsed")) from None
    if not headers:
        raise InputError(Errors.D715.format(path=name, reason="not a message: it has no headers"))
    read_parts = [
        part for leaf in leaves for part in _take_out_files(_read_part(leaf, name, settings), name, settings)
    ]
    parts = _Parts(headers, [part for part in read_parts if part])
    warnings = [_LOST] if None in read_parts else []
    warnings += [warning for part in parts.parts for warning in part.document.warnings]
    tables = [part.document.parts for part in parts.parts if isinstance(part.document.parts, TableParts)]
    warnings += [_UNNAMED for table in tables if settings.columns and not table.columns]
    text = _text(parts)
    return Document(name, "eml", text.text, (), tuple(dict.fromkeys(warnings)), parts, tuple(_marks(parts, text)))


def _check(data: bytes, name: str) -> None:
    """Refuse a message whose parsing could exhaust time or memory. RAISES: InputError (D715)."""
    try:
        message = message_from_bytes(data, policy=policy.compat32)
        longest = max(sum(len(str(value)) for _, value in part.raw_items()) for part in message.walk())
        depth = _depth(message)
    except Exception:  # the parser raises many types of exceptions for damaged headers
        raise InputError(Errors.D715.format(path=name, reason="damaged: the message cannot be parsed")) from None
    if longest > _LONGEST:
        raise InputError(Errors.D715.format(path=name, reason=f"headers of more than {_LONGEST} characters"))
    if depth > _DEEPEST:
        raise InputError(
            Errors.D715.format(path=name, reason=f"more than {_DEEPEST} levels of nested messages or parts")
        )


def _depth(part: Any) -> int:
    """Return the nesting depth of the parts of a message."""
    inner = part.get_payload() if part.is_multipart() else ()
    return 1 + max(map(_depth, inner), default=0)


def _in_utf_8(data: bytes) -> bytes:
    """Convert headers that are not valid UTF-8 from Windows-1252, which old mail programs write unencoded."""
    blank = re.search(rb"\n\r?\n", data)
    head, rest = (data[: blank.start()], data[blank.start() :]) if blank else (data, b"")
    try:
        head.decode()
    except UnicodeError:
        head = head.decode("cp1252", "replace").encode()
    return head + rest


def _one_line(text: str) -> str:
    """Replace line ends in a header value, which would start another header."""
    return re.sub(r"[\r\n\0]+", " ", text)


def _leaves(message: Any) -> Iterator[Any]:
    """Yield the parts of a message that have content. Of alternatives, yield HTML if there is any, else plain text."""
    if message.get_content_maintype() != "multipart":
        yield message
        return
    parts = [list(_leaves(part)) for part in message.iter_parts()]
    if message.get_content_type() == "multipart/alternative":
        kinds = [{leaf.get_content_type() for leaf in group} for group in parts]
        best = [[group for group, has in zip(parts, kinds, strict=True) if kind in has] for kind in _BODIES]
        parts = (best[1] or best[0] or parts)[-1:]
    for group in parts:
        yield from group


def _read_part(leaf: Any, name: str, settings: ReadSettings) -> _Part | None:
    """Read a part. RETURNS (_Part | None): None if it cannot be read."""
    kind = leaf.get_content_type()
    body = kind in _BODIES and leaf.get_content_disposition() != "attachment"
    try:
        if kind == "message/rfc822":
            return _Part(read(leaf.get_payload(0).as_bytes(), name, settings), ".eml")
        data = leaf.get_payload(decode=True) or b""
        if kind == "text/plain" and body:
            return _Part(Document(name, "txt", _decoded(leaf, data).replace("\r\n", "\n")))
        if kind == "text/html" and body:
            page = _decoded(leaf, data).encode("utf-8", "replace")
            return _Part(get_format("html", name).read(codecs.BOM_UTF8 + page, name, settings))
    except (InputError, LookupError, UnicodeError, KeyError, RecursionError):
        return None
    return _read_file(data, _suffix(leaf), name, settings)


def _take_out_files(part: _Part | None, name: str, settings: ReadSettings) -> list[_Part | None]:
    """Separate encoded files (uuencode and others) from the text of a part.

    part (_Part | None): a part from `_read_part`.
    name (str): file name of the message, for error messages.
    settings (ReadSettings): how the encoded files are read.
    RETURNS (list[_Part | None]): the part without encoded files, then the files as attachments. None stands for a file
        that cannot be decoded or read, and for an HTML page that cannot be read without its files.
    """
    if part is None or part.document.kind not in ("txt", "html"):
        return [part]
    document = part.document
    files = find_encoded_files(document.text)
    if not files:
        return [part]
    edits = [Edit(file.start, file.end, "", "") for file in files]
    if document.kind == "txt":
        kept = part._replace(document=replace(document, text=apply_edits(document.text, edits), warnings=()))
    else:
        page = get_format("html", name)
        kept = part._replace(document=page.read(page.write(document, edits, WriteSettings()), name, settings))
        if find_encoded_files(kept.document.text):
            return [None]
    suffixes = [PurePath(file.name).suffix.lower() for file in files]
    read_files = [_read_file(file.data, end, name, settings) for file, end in zip(files, suffixes, strict=True)]
    return [kept, *(inner for file in read_files for inner in _take_out_files(file, name, settings))]


def _read_file(data: bytes, suffix: str, name: str, settings: ReadSettings) -> _Part | None:
    """Read an attachment. RETURNS (_Part | None): None if it is empty, of an unsupported format or unreadable."""
    if SUFFIXES.get(suffix) not in FORMATS or not data:
        return None
    try:
        return _Part(_read_attachment(data, detect_kind(data, "attachment" + suffix), name, settings), suffix)
    except (InputError, LookupError, UnicodeError, KeyError, RecursionError):
        return None


def _read_attachment(data: bytes, kind: str, name: str, settings: ReadSettings) -> Document:
    """Read an attachment. To a table, apply the column policies that match its column names."""
    read = get_format(kind, name).read
    document = read(data, name, replace(settings, columns={}))
    if not settings.columns or not isinstance(document.parts, TableParts):
        return document
    heads = {cell_text(head) for sheet in document.parts.sheets for head in (sheet.rows[0] if sheet.rows else ())}
    named = {column: action for column, action in settings.columns.items() if column in heads}
    return read(data, name, replace(settings, columns=named)) if named else document


def _marks(parts: _Parts, text: PlacedText) -> Iterator[tuple[int, int, str]]:
    """Yield the marks of all parts, with offsets in the text of the message."""
    starts = {piece.place: piece.start for piece in text.pieces}
    for number, part in enumerate(parts.parts, len(parts.headers)):
        for start, end, label in part.document.marks:
            yield starts[number] + start, starts[number] + end, label


def _decoded(leaf: Any, data: bytes) -> str:
    """Decode a body. If the declared encoding does not fit, try UTF-8, then Windows-1252."""
    for encoding in (leaf.get_content_charset("utf-8"), "utf-8"):
        with suppress(LookupError, UnicodeError):
            return data.decode(encoding)
    return data.decode("cp1252", "replace")


def _suffix(leaf: Any) -> str:
    """Return the suffix of an attachment from its file name, else from its content type."""
    suffix = PurePath(leaf.get_filename() or "").suffix.lower()
    return suffix if suffix in SUFFIXES else mimetypes.guess_extension(leaf.get_content_type()) or ""


def _text(parts: _Parts) -> PlacedText:
    """Join headers and parts into one text. Each place is the index of a header, or of a part counted after all
    headers.
    """
    text = PlacedText()
    for number, (key, value) in enumerate(parts.headers):
        text.gap("\n")
        text.add(f"{key}: ", _LABEL)
        text.add(value, number)
    for number, part in enumerate(parts.parts, len(parts.headers)):
        text.gap("\n\n")
        text.add(part.document.text, number)
    return text


def write(document: Document, edits: Sequence[Edit], settings: WriteSettings) -> bytes:
    """Write a new message. Attachments are renamed to their number.

    document (Document): a document from `read`.
    edits (Sequence[Edit]): edits in the order of the text.
    settings (WriteSettings): how attachments are written.
    RETURNS (bytes): the content of the file.
    RAISES: DeidError (D003, D004, D714, D719).
    """
    parts: _Parts = document.parts
    local = {piece.place: edits for piece, edits in _text(parts).edits_by_piece(edits)}
    written = []
    for number, part in enumerate(parts.parts, len(parts.headers)):
        written.append(_write_part(part, local.get(number, []), settings, number - len(parts.headers) + 1))
    message: Message = written[0] if len(written) == 1 and not parts.parts[0].suffix else MIMEMultipart("mixed")
    if isinstance(message, MIMEMultipart):
        for part_message in written:
            message.attach(part_message)
    for number, (key, value) in enumerate(parts.headers):
        message[key] = _header(key, _one_line(apply_edits(value, local.get(number, []))))
    return message.as_bytes()


def _header(key: str, value: str) -> str:
    """Encode a header value. A tag in an address header is not a valid address, so it is written as an encoded
    word.
    """
    try:
        plain = value.isascii() and str(policy.default.header_factory(key, value)) == value
    except Exception:  # the address parser raises many types of exceptions
        plain = False
    return value if plain else Header(value, "utf-8", header_name=key).encode()


def _write_part(part: _Part, edits: Sequence[Edit], settings: WriteSettings, number: int) -> Any:
    """Write a body or an attachment. Each is verified separately, because its pages may have to be checked by OCR."""
    if part.document.kind == "txt" and part.document.parts is None:
        return MIMEText(apply_edits(part.document.text, edits), "plain", "utf-8")
    data = redact_document(
        replace(part.document, marks=()), edits, settings
    )  # they are among the marks of the message
    if not part.suffix:
        return MIMEText(data.decode(), "html", "utf-8")
    if part.document.kind == "eml":
        return MIMEMessage(message_from_bytes(data))
    kind = mimetypes.guess_type("a" + part.suffix)[0] or "application/octet-stream"
    attachment = MIMEBase(*kind.split("/"))
    attachment.set_payload(data)
    encode_base64(attachment)
    attachment.add_header("Content-Disposition", "attachment", filename=f"attachment-{number}{part.suffix}")
    return attachment


def extract(data: bytes, settings: WriteSettings) -> Iterator[ExtractedText]:
    """Yield every header, the text, and everything that can be extracted from the attachments."""
    message = message_from_bytes(data, policy=policy.default)
    document = read(data, "copy", settings.read)
    yield ExtractedText("text", document.text)
    for part in message.walk():
        for key, value in part.items():
            yield ExtractedText(f"header {key}", str(value), 5)
    fast = replace(settings, verify_ocr="none")  # pages were checked by OCR when the attachment was written
    for leaf in _leaves(message):
        kind = SUFFIXES.get(_suffix(leaf), "")
        if leaf.get_content_disposition() == "attachment" and kind in FORMATS:
            yield from get_format(kind, "copy").extract(leaf.get_payload(decode=True) or b"", fast)


FORMAT = Format(read, write, extract)
