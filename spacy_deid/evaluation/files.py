"""Text files read and written so that offsets hold, and errors that name the file and never quote it.

Files are opened without translation of line ends and without dropping a byte-order mark: both would shift every offset
behind them.
"""

import os
import re
from pathlib import Path
from tempfile import NamedTemporaryFile

from ..errors import Errors, InputError
from ..labels import SCHEMES, from_scheme
from .documents import AnnotatedText, Entity

__all__ = [
    "check_quote",
    "check_xml",
    "file_name",
    "read_bytes",
    "read_label",
    "read_offset",
    "read_text",
    "write_bytes",
    "write_text",
]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_text(path: Path) -> str:
    """Read a UTF-8 file as it is.

    path (Path): file to read.
    RETURNS (str): its text; line ends and byte-order mark are kept.
    RAISES: InputError if it cannot be read (D303) or is not UTF-8 (D301).
    """
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(Errors.D301.format(path=path, encoding="UTF-8")) from None


def read_bytes(path: Path) -> bytes:
    """Read a file.

    path (Path): file to read.
    RETURNS (bytes): what it holds.
    RAISES: InputError (D303) if it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(Errors.D303.format(path=path, reason=os.strerror(error.errno or 0))) from None


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file as it is, whole or not at all: through a temporary file beside it.

    path (Path): file to write; its folder must be there.
    text (str): what to write; no line end is translated.
    RAISES: InputError (D301) if the text holds a lone surrogate, which UTF-8 cannot say.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(Errors.D301.format(path=path, encoding="UTF-8")) from None
    write_bytes(path, data)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: through a temporary file beside it.

    path (Path): file to write; its folder must be there.
    data (bytes): what to write.
    """
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def file_name(name: str, suffix: str) -> str:
    """Make a file's name of a document's.

    name (str): name of the document.
    suffix (str): ".ann", ".xml", …
    RETURNS (str): the file's name, without a folder.
    RAISES: InputError (D311) if the name would lead out of the folder or be hidden.
    """
    if not name or name.startswith(".") or set(name) & set("/\\\0") or any(not char.isprintable() for char in name):
        raise InputError(Errors.D311.format(name=ascii(name)[1:-1]))
    return name + suffix


def read_label(label: str, scheme: str, path: Path, line: int) -> str:
    """Map a label of a file to the canonical one.

    label (str): as the file has it. It is not quoted in the error: in a broken line it may be note text.
    scheme (str): the file's scheme.
    path (Path): the file, for the error.
    line (int): the line, for the error.
    RETURNS (str): canonical label.
    RAISES: InputError (D304) if the scheme has no such label; ConfigError (D002) for an unknown scheme.
    """
    if scheme in SCHEMES and label not in SCHEMES[scheme]:
        known = ", ".join(sorted(SCHEMES[scheme]))
        raise InputError(Errors.D304.format(path=path, line=line, scheme=scheme, known=known))
    return from_scheme(label, scheme)


def read_offset(value: object, path: Path, line: int) -> int:
    """Read an offset: a whole number, or ASCII digits.

    value (object): as the file has it.
    path (Path): the file, for the error.
    line (int): the line, for the error.
    RETURNS (int): the offset.
    RAISES: InputError (D302).
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    raise InputError(Errors.D302.format(path=path, line=line, reason="an offset is not a whole number"))


def check_quote(text: str, spans: list[Entity], quote: str, path: Path, line: int) -> None:
    """Make sure that an annotation quotes the text that it points at.

    White space counts as one space on both sides, because every format writes a line break in its own way.

    text (str): the note.
    spans (list[Entity]): the fragments of the annotation.
    quote (str): what the annotation quotes.
    path (Path): the file, for the error.
    line (int): the line, for the error.
    RAISES: InputError if an offset lies outside the text (D302) or the text differs (D305).
    """
    for span in spans:
        if not 0 <= span.start < span.end <= len(text):
            reason = f"{span.start}:{span.end} is outside the text of {len(text)} characters or empty"
            raise InputError(Errors.D302.format(path=path, line=line, reason=reason))
    found = " ".join(text[span.start : span.end] for span in spans)
    if found.split() != quote.split():
        where = {"start": spans[0].start, "end": spans[-1].end}
        raise InputError(Errors.D305.format(path=path, line=line, **where))


def check_xml(document: AnnotatedText) -> None:
    """Make sure that a text can stand in XML, which has no way to say NUL or form feed (XML 1.0, 2.2).

    document (AnnotatedText): what will be written.
    RAISES: InputError (D312) by offset.
    """
    illegal = _NOT_XML.search(document.text)
    if illegal:
        code, offset = ord(illegal.group()), illegal.start()
        raise InputError(Errors.D312.format(name=document.name, code=code, offset=offset, format="XML"))
