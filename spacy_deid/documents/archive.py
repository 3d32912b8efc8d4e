"""ZIP files in which other formats are packed: opened only if they are no bomb, never unpacked to a disk."""

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping

from ..errors import Errors, InputError
from .document import ReadSettings

MAX_MEMBERS = 5000  # members
MAX_ELEMENTS = 1_000_000  # of all XML in a file; a thousand pages with much formatting have half of them
MAX_RATIO = 300  # how much larger a member may be than what is packed of it …
RATIO_MIN_BYTES = 5_000_000  # … if it is larger than this; the XML of a long table packs well
_HEAD = 4096  # bytes in which XML must begin
# what damaged files make the reader raise
_UNPACKING = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error)
DAMAGED = (*_UNPACKING, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)
_PLAIN_DATE = (1980, 1, 1, 0, 0, 0)


def open_archive(data: bytes, name: str, settings: ReadSettings) -> dict[str, bytes]:
    """Read the members of a ZIP file. What they say of their size is looked at before any is unpacked.

    data (bytes): the file.
    name (str): its name, for errors.
    settings (ReadSettings): has the largest size of all members together.
    RETURNS (dict[str, bytes]): members by name.
    RAISES: InputError (D715) if it is damaged, encrypted or a bomb, or holds two members of one name.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            reason = _suspicion(infos, settings.max_bytes)
            if reason:
                raise InputError(Errors.D715.format(path=name, reason=reason))
            return {info.filename: archive.read(info) for info in infos}
    except DAMAGED as error:
        if isinstance(error, InputError):
            raise
        raise InputError(Errors.D715.format(path=name, reason="damaged: it cannot be unpacked")) from None


def check_elements(parts: Iterable[bytes], name: str) -> None:
    """Make sure that XML or HTML has not so many elements that reading it takes minutes. Counts without parsing.

    parts (Iterable[bytes]): the parts of a file, in UTF-8 or UTF-16. Those that do not begin as XML are not counted.
    name (str): name of the file, for the error.
    RAISES: InputError (D715) if all parts together have more than `MAX_ELEMENTS` elements.
    """
    texts = [part for part in parts if part[:_HEAD].lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n").startswith(b"<")]
    if sum(text.count(b"<") - text.count(b"</") - text.count(b"<\0/") for text in texts) > MAX_ELEMENTS:
        raise InputError(
            Errors.D715.format(
                path=name,
                reason=f"more than {MAX_ELEMENTS:,} elements (paragraphs, stretches of text, cells). Split it",
            )
        )


def _suspicion(infos: list[zipfile.ZipInfo], largest: int) -> str:
    """Why a ZIP file is not unpacked, "" if it is."""
    if len(infos) > MAX_MEMBERS:
        return f"{len(infos)} files are packed in it, more than {MAX_MEMBERS}"
    if len({info.filename for info in infos}) < len(infos):
        return "two files of one name are packed in it"
    if any(info.flag_bits & 1 for info in infos):
        return "encrypted"
    if sum(info.file_size for info in infos) > largest:
        return f"more than {largest} bytes are packed in it"
    if any(
        info.file_size > RATIO_MIN_BYTES and info.file_size > MAX_RATIO * max(info.compress_size, 1) for info in infos
    ):
        return f"packed more than {MAX_RATIO} times, as no document is"
    return ""


def pack(members: Mapping[str, bytes], stored: str = "") -> bytes:
    """Write a ZIP file, without dates.

    members (Mapping[str, bytes]): in the order that they take.
    stored (str): the member that is not to be compressed.
    RETURNS (bytes): the file.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _PLAIN_DATE)
            info.compress_type = zipfile.ZIP_STORED if name == stored else zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return out.getvalue()
