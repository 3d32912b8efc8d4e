"""Read the visible headers, bodies and attachments of e-mail messages (.eml), and write them as a new message."""

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
from .document import Document, ExtractedText, Format, PlacedText, ReadSettings, WriteSettings
from .formats import FORMATS, SUFFIXES, detect_kind, get_format, redact_document
from .plain import find_encoded_files
from .tables import TableParts

_HEADERS = ("From", "To", "Cc", "Bcc", "Reply-To", "Subject", "Date")
_LABEL = "a header's name"
_LOST = "attachments that cannot be read are removed"
_UNNAMED = "an attached table has none of the columns that the policy of columns names"
_BODIES = ("text/plain", "text/html")
_DEEPEST = 20
_LONGEST = 50_000  # characters of the headers of a part; parsing time grows faster than length


class _Part(NamedTuple):
    """A body or an attachment of a message, which is redacted like a file of its own.

    document (Document): its content; plain text bodies have the format "txt".
    suffix (str): file name suffix of an attachment; "" for a body.
    """

    document: Document
    suffix: str = ""


class _Parts(NamedTuple):
    """What is copied of a message: headers as pairs of name and value, and the bodies and attachments."""

    headers: list[tuple[str, str]]
    parts: list[_Part]


def read(data: bytes, name: str, settings: ReadSettings) -> Document:
    """Read the headers, bodies and attachments of a message. Marks of attached tables become marks of the message.

    Of alternative bodies the HTML version is read. Files encoded in a body, for example by uuencode, are treated as
    attachments.
    """
    blank = re.search(rb"\n\r?\n", data)
    head, rest = (data[: blank.start()], data[blank.start() :]) if blank else (data, b"")
    try:
        head.decode()
    except UnicodeError:  # old mail programs write headers in Windows-1252
        data = head.decode("cp1252", "replace").encode() + rest
    try:
        _check_size(message_from_bytes(data, policy=policy.compat32), name)
        message = message_from_bytes(data, policy=policy.default)
        headers = [(key, _one_line(str(value))) for key in _HEADERS for value in message.get_all(key, [])]
        leaves = list(_leaves(message))
    except InputError:
        raise
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
    starts = {piece.place: piece.start for piece in text.pieces}
    marks = tuple(
        (starts[number] + start, starts[number] + end, label)
        for number, part in enumerate(parts.parts, len(headers))
        for start, end, label in part.document.marks
    )
    return Document(name, "eml", text.text, (), tuple(dict.fromkeys(warnings)), parts, marks)


def _check_size(message: Any, name: str) -> None:
    """Refuse a message whose parsing could exhaust time or memory.

    RAISES: InputError (D715) if its headers are too long or its parts are nested too deeply.
    """

    def depth(part: Any) -> int:
        inner = part.get_payload() if part.is_multipart() else ()
        return 1 + max(map(depth, inner), default=0)

    if max(sum(len(str(value)) for _, value in part.raw_items()) for part in message.walk()) > _LONGEST:
        raise InputError(Errors.D715.format(path=name, reason=f"headers of more than {_LONGEST} characters"))
    if depth(message) > _DEEPEST:
        reason = f"more than {_DEEPEST} levels of nested messages or parts"
        raise InputError(Errors.D715.format(path=name, reason=reason))


def _one_line(text: str) -> str:
    """Replace line ends in a header value with blanks, because they would start another header."""
    return re.sub(r"[\r\n\0]+", " ", text)


def _leaves(message: Any) -> Iterator[Any]:
    """Yield the bodies and attachments of a message. Of alternative bodies, only HTML is yielded, else plain text."""
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
    """Read a body or an attachment; None if it cannot be read."""
    kind = leaf.get_content_type()
    try:
        if kind == "message/rfc822":
            return _Part(read(leaf.get_payload(0).as_bytes(), name, settings), ".eml")
        data = leaf.get_payload(decode=True) or b""
        if kind in _BODIES and leaf.get_content_disposition() != "attachment":
            text = data.decode("cp1252", "replace")
            for encoding in ("utf-8", leaf.get_content_charset("utf-8")):  # the declared encoding if it fits
                with suppress(LookupError, UnicodeError):
                    text = data.decode(encoding)
            if kind == "text/plain":
                return _Part(Document(name, "txt", text.replace("\r\n", "\n")))
            page = codecs.BOM_UTF8 + text.encode("utf-8", "replace")
            return _Part(get_format("html", name).read(page, name, settings))
    except (InputError, LookupError, UnicodeError, KeyError, RecursionError):
        return None
    return _read_file(data, _suffix(leaf), name, settings)


def _take_out_files(part: _Part | None, name: str, settings: ReadSettings) -> list[_Part | None]:
    """Separate encoded files (uuencode and others) from the text of a part.

    RETURNS (list[_Part | None]): the part without encoded files, then the files as attachments. None stands for a file
        that cannot be decoded or read, and for an HTML page that cannot be read without its files.
    """
    files = find_encoded_files(part.document.text) if part and part.document.kind in ("txt", "html") else []
    if part is None or not files:
        return [part]
    document = part.document
    edits = [Edit(file.start, file.end, "", "") for file in files]
    if document.kind == "txt":
        kept = part._replace(document=replace(document, text=apply_edits(document.text, edits), warnings=()))
    else:
        page = get_format("html", name)
        kept = part._replace(document=page.read(page.write(document, edits, WriteSettings()), name, settings))
        if find_encoded_files(kept.document.text):
            return [None]
    read_files = [_read_file(file.data, PurePath(file.name).suffix.lower(), name, settings) for file in files]
    return [kept, *(inner for file in read_files for inner in _take_out_files(file, name, settings))]


def _read_file(data: bytes, suffix: str, name: str, settings: ReadSettings) -> _Part | None:
    """Read an attachment; None if it is empty, of an unsupported format or unreadable. Policies for columns that an
    attached table does not have are ignored.
    """
    if SUFFIXES.get(suffix) not in FORMATS or not data:
        return None
    try:
        read = get_format(detect_kind(data, "attachment" + suffix), name).read
        document = read(data, name, replace(settings, columns={}))
        if settings.columns and isinstance(document.parts, TableParts):
            headers = {header for sheet in document.parts.sheets for header in sheet.headers}
            named = {column: action for column, action in settings.columns.items() if column in headers}
            document = read(data, name, replace(settings, columns=named)) if named else document
        return _Part(document, suffix)
    except (InputError, LookupError, UnicodeError, KeyError, RecursionError):
        return None


def _suffix(leaf: Any) -> str:
    """Return the suffix of an attachment from its file name, else from its content type."""
    suffix = PurePath(leaf.get_filename() or "").suffix.lower()
    return suffix if suffix in SUFFIXES else mimetypes.guess_extension(leaf.get_content_type()) or ""


def _text(parts: _Parts) -> PlacedText:
    """Join headers and parts into one text. The place of a value is its index among all headers and parts."""
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
    """Write a new message with edited headers, bodies and attachments. Attachments are named by number.

    RAISES: DeidError (D714, D719) if an attachment still contains removed text.
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
    """Return a header value as it is written. Values that are not ASCII or not valid in the header, such as a
    tag in place of an address, become encoded words (RFC 2047).
    """
    try:
        plain = value.isascii() and str(policy.default.header_factory(key, value)) == value
    except Exception:  # the address parser raises many types of exceptions
        plain = False
    return value if plain else Header(value, "utf-8", header_name=key).encode()


def _write_part(part: _Part, edits: Sequence[Edit], settings: WriteSettings, number: int) -> Any:
    """Return an edited body or attachment as a message part. Each is verified now, because its pages may need OCR."""
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
    """Yield every header and the text of a copy, and everything that can be extracted from its attachments."""
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
