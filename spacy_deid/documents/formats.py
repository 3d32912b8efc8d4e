"""Files in, redacted files of the same kind out."""

from collections.abc import Sequence
from dataclasses import replace

from ..errors import Errors, InputError
from ..offsets import Edit, apply_edits
from .document import Document, ReadSettings, WriteSettings
from .kinds import FORMATS, SUFFIXES, detect_kind, format_of
from .verify import unreleased, verify

__all__ = ["FORMATS", "SUFFIXES", "read_document", "redact_document"]


def read_document(data: bytes, name: str, settings: ReadSettings | None = None) -> Document:
    """Read a file.

    data (bytes): the file.
    name (str): its name. Only the suffix is used, and the name stands in errors.
    settings (ReadSettings | None): how it is read.
    RETURNS (Document): its text.
    RAISES: InputError if it is empty or too large (D715), of no known kind (D711), of another kind than its name says
        (D712), or cannot be read.
    """
    settings = settings or ReadSettings()
    if not 0 < len(data) <= settings.max_bytes:
        reason = f"more than {settings.max_bytes} bytes" if data else "the file is empty"
        raise InputError(Errors.D715.format(path=name, reason=reason))
    return format_of(detect_kind(data, name), name).read(data, name, settings)


def redact_document(
    document: Document,
    edits: Sequence[Edit],
    settings: WriteSettings | None = None,
    identifiers: Sequence[str] = (),
    known: Sequence[str] = (),
) -> bytes:
    """Write a copy of a file with edits made, and verify it.

    document (Document): what `read_document` gave.
    edits (Sequence[Edit]): what to replace, in the order of the text.
    settings (WriteSettings | None): how it is written.
    identifiers (Sequence[str]): what must stand nowhere in the copy, as the patient's names and numbers.
    known (Sequence[str]): what is known of the patient. It must stand nowhere that the released text does not have it.
    RETURNS (bytes): a file of the same kind.
    RAISES: DeidError if the edits are wrong (D003, D004) or the copy still holds something (D714).
    """
    ocr_pages = tuple(page.number for page in document.pages if page.ocr)
    settings = replace(settings or WriteSettings(), ocr_pages=ocr_pages)
    released = apply_edits(document.text, edits)
    removed = {document.text[edit.start : edit.end]: edit.label for edit in edits}
    data = format_of(document.kind, document.name).write(document, edits, settings)
    verify(data, document.kind, removed, settings, released, [*identifiers, *unreleased(known, released)])
    return data
