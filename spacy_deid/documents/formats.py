"""Files in, redacted files of the same kind out."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..errors import Errors, InputError
from ..offsets import Edit, apply_edits
from .document import Document, ReadSettings, WriteSettings
from .kinds import FORMATS, SUFFIXES, detect_kind, format_of
from .marks import cover_marks
from .reading import read_as_seen
from .verify import unreleased, verify

__all__ = ["FORMATS", "SUFFIXES", "read_document", "redact_document"]

_SEEN = {"pdf", "image"}  # read from the page, so their text is what is seen


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
    document = format_of(detect_kind(data, name), name).read(data, name, settings)
    reading = read_as_seen(document.text) if document.kind not in _SEEN else None
    if reading is not None:
        marks = reading.read_marks(document.marks)
        document = replace(document, text=reading.text, marks=marks, reading=reading)
    return replace(document, settings=settings)


def redact_document(
    document: Document,
    edits: Sequence[Edit],
    settings: WriteSettings | None = None,
    identifiers: Sequence[str] = (),
    known: Sequence[str] = (),
    kept: Iterable[tuple[int, int]] = (),
) -> bytes:
    """Write a copy of a file with edits made, and verify it.

    Marks of the document that the edits leave uncovered are replaced by the tag of their label; see `cover_marks`.
    `spacy_deid.redact` runs a pipeline on a document and then calls this function.

    document (Document): what `read_document` gave.
    edits (Sequence[Edit]): what to replace, in the order of the text.
    settings (WriteSettings | None): how it is written; None for the defaults, with the copy read again for verifying
        as the document was read.
    identifiers (Sequence[str]): what must stand nowhere in the copy, as the patient's names and numbers.
    known (Sequence[str]): what is known of the patient. It must stand nowhere that the released text does not have it.
    kept (Iterable[tuple[int, int]]): start and end of what a policy or a reviewer decided to release although the
        document marks it.
    RETURNS (bytes): a file of the same kind.
    RAISES: DeidError if the edits are wrong (D003, D004) or the copy still holds something (D714, D719).
    """
    edits = cover_marks(document, edits, kept)
    settings = settings or WriteSettings(read=document.settings or ReadSettings())
    settings = replace(settings, ocr_pages=tuple(page.number for page in document.pages if page.ocr))
    released = apply_edits(document.text, edits)
    removed = {document.text[edit.start : edit.end]: edit.label for edit in edits}
    if document.reading is not None:
        edits = document.reading.raw_edits(edits)
        document = replace(document, text=document.reading.raw, marks=(), reading=None)
    data = format_of(document.kind, document.name).write(document, edits, settings)
    verify(data, document.kind, removed, settings, released, [*identifiers, *unreleased(known, released)])
    return data
