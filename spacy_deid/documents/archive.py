"""Read ZIP archives in memory after checking for decompression bombs, and write archives with fixed dates."""

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping

from ..errors import Errors, InputError
from .document import ReadSettings

MAX_MEMBERS = 5000  # members
MAX_ELEMENTS = 1_000_000  # in all XML parts of a file; 1,000 richly formatted pages have about half as many
MAX_RATIO = 300  # highest compression ratio of a member …
RATIO_MIN_BYTES = 5_000_000  # … that is larger than this; the XML of long tables compresses well
_HEAD = 4096  # bytes within which XML must start
# exceptions that `zipfile` raises for damaged files
_UNPACKING = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error)
DAMAGED = (*_UNPACKING, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)
_PLAIN_DATE = (1980, 1, 1, 0, 0, 0)


def open_archive(data: bytes, name: str, settings: ReadSettings) -> dict[str, bytes]:
    """Return the members of a ZIP archive by name. Declared sizes are checked before anything is decompressed.

    RAISES: InputError (D715) if the archive is damaged, encrypted, a decompression bomb, or contains two members with
        the same name.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            reason = _refusal_reason(infos, settings.max_bytes)
            if reason:
                raise InputError(Errors.D715.format(path=name, reason=reason))
            return {info.filename: archive.read(info) for info in infos}
    except DAMAGED as error:
        if isinstance(error, InputError):
            raise
        raise InputError(Errors.D715.format(path=name, reason="damaged: the archive cannot be decompressed")) from None


def check_elements(parts: Iterable[bytes], name: str) -> None:
    """Refuse XML or HTML with so many elements that parsing would take minutes. Counts tags without parsing.

    parts (Iterable[bytes]): the parts of a file, in UTF-8 or UTF-16. Parts that do not start like XML are not counted.
    RAISES: InputError (D715) if the parts have more than `MAX_ELEMENTS` elements in total.
    """
    texts = [part for part in parts if part[:_HEAD].lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n").startswith(b"<")]
    if sum(text.count(b"<") - text.count(b"</") - text.count(b"<\0/") for text in texts) > MAX_ELEMENTS:
        reason = f"more than {MAX_ELEMENTS:,} elements (paragraphs, text runs, cells). Split the file"
        raise InputError(Errors.D715.format(path=name, reason=reason))


def _refusal_reason(infos: list[zipfile.ZipInfo], largest: int) -> str:
    """Return the reason why an archive must not be decompressed, or ""."""
    if len(infos) > MAX_MEMBERS:
        return f"{len(infos)} members, more than {MAX_MEMBERS}"
    if len({info.filename for info in infos}) < len(infos):
        return "two members have the same name"
    if any(info.flag_bits & 1 for info in infos):
        return "encrypted"
    if sum(info.file_size for info in infos) > largest:
        return f"more than {largest} bytes after decompression"
    if any(
        info.file_size > RATIO_MIN_BYTES and info.file_size > MAX_RATIO * max(info.compress_size, 1) for info in infos
    ):
        return f"compressed by more than {MAX_RATIO}:1, as in a decompression bomb"
    return ""


def pack(members: Mapping[str, bytes], stored: str = "") -> bytes:
    """Write a ZIP archive whose members all have the same fixed date. The member `stored` is not compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _PLAIN_DATE)
            info.compress_type = zipfile.ZIP_STORED if name == stored else zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return out.getvalue()
