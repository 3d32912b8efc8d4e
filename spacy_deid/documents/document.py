"""TODO."""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..offsets import Edit, check_edits
from .visible_text import Reading


class Page(NamedTuple):
    """A page of a document.

    number (int): counted from 1.
    start, end (int): characters of the text.
    ocr (bool): whether the text was read from a picture.
    """

    number: int
    start: int
    end: int
    ocr: bool


@dataclass(frozen=True)
class Document:
    """A file as one text. Its repr shows neither text nor name, which may be a patient's.

    name (str): name of the file, for errors.
    kind (str): "pdf", "docx", "txt", … as in `SUFFIXES`.
    text (str): what is searched for PHI. Words do not break at the ends of lines, columns and pages. It is what a
        person reads: letters set apart are words, and characters that nobody sees are not in it.
    pages (tuple[Page, ...]): pages in order; none for a format without pages.
    warnings (tuple[str, ...]): what a person should look at. Never content.
    parts (Any): what the format needs to find each character in the file again; only its module looks in.
    marks (tuple[tuple[int, int, str], ...]): start, end and label of what the file declares to be an identifier, as
        the cells of a column with the policy "label:PATIENT". No copy is written with a mark that no edit covers.
    settings (ReadSettings | None): how the file was read; None if `read_document` did not read it.
    reading (Reading | None): where the characters of the text stand in that of the file; None if they are the same.
    """

    name: str = field(repr=False)
    kind: str
    text: str = field(repr=False)
    pages: tuple[Page, ...] = ()
    warnings: tuple[str, ...] = ()
    parts: Any = field(default=None, repr=False)
    marks: tuple[tuple[int, int, str], ...] = ()
    settings: "ReadSettings | None" = field(default=None, repr=False)
    reading: Reading | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """How files are read.

    encoding (str): of plain text that has no byte-order mark.
    languages (tuple[str, ...]): of the OCR, by Tesseract's names: "spa", "eng", "fin".
    dpi (int): resolution at which pages are read by OCR.
    processes (int): processes that read pages by OCR at once.
    page_seconds (int): time that OCR may take for a page.
    max_pages (int): a document of more pages is refused.
    max_pixels (int): a picture of more pixels is refused before it is unpacked.
    max_bytes (int): a file is refused if it, or what is packed in it, is larger.
    ocr (str): which pages are read by OCR: "auto" those without usable text, "always" every page.
    pictures (str): what becomes of pictures on pages that have text: "ocr" reads them, "remove" paints them over,
        "keep" leaves them as they are.
    codes (str): what becomes of bar codes and matrix codes on pages and in pictures: "remove" paints them over, and
        a copy in which one is left is withheld; "keep" does not look for them.
    columns (Mapping[str, str]): what becomes of the columns of a table, by their names: "text" is searched, each cell
        by itself; "label:NAME" is of that label, whatever a cell says; "keep" stays as it is, unsearched; "drop" is
        left out. A column that is not named is text.
    """

    encoding: str = "utf-8"
    languages: tuple[str, ...] = ("eng",)
    dpi: int = 300
    processes: int = 2
    page_seconds: int = 120
    max_pages: int = 500
    max_pixels: int = 100_000_000
    max_bytes: int = 500_000_000
    ocr: Literal["auto", "always"] = "auto"
    pictures: Literal["ocr", "remove", "keep"] = "ocr"
    codes: Literal["remove", "keep"] = "remove"
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """How redacted copies are written and verified.

    dpi (int): resolution of the pages of a PDF.
    mark (str): how a replacement looks on a page: "box" draws it in a frame, "black" in white on black, "plain" as if
        it had always stood there, which is what surrogates want.
    unread (str): what becomes of what was not read: on a page read by OCR everything but the text, as handwriting,
        stamps and photographs; on other pages what looks like text and could not be read. "keep" or "remove".
    verify_ocr (str): which pages are read by OCR once more after writing: those that came from "ocr", "all", "none".
    ocr_pages (tuple[int, ...]): which pages came from OCR; `redact_document` fills it in.
    read (ReadSettings): how the copy is read again for verifying; `codes` should be that of the original.
    """

    dpi: int = 200
    mark: Literal["box", "black", "plain"] = "box"
    unread: Literal["keep", "remove"] = "keep"
    verify_ocr: Literal["ocr", "all", "none"] = "ocr"
    ocr_pages: tuple[int, ...] = ()
    read: ReadSettings = ReadSettings()


class ExtractedText(NamedTuple):
    """A text that can be got out of a file.

    place (str): where, without content: "page 3", "metadata".
    text (str): what stands there.
    least (int): letters and digits of the shortest string that is searched for in it.
    """

    place: str
    text: str
    min_length: int = 3


class Format(NamedTuple):
    """A kind of file. Each has a module that gives one as `FORMAT`.

    read (Callable): (data, name, settings) → Document. RAISES: InputError.
    write (Callable): (document, edits, settings) → bytes of the same kind. The edits are in order.
    extract (Callable): (data, settings) → all text that can be got out of a file, for verifying: running text,
        metadata, streams, attachments. Text that belongs together comes in one piece, because it is searched by piece.
    """

    read: Callable[[bytes, str, ReadSettings], Document]
    write: Callable[[Document, Sequence[Edit], WriteSettings], bytes]
    extract: Callable[[bytes, WriteSettings], Iterator[ExtractedText]]


def cover_marks(document: Document, edits: Sequence[Edit], kept: Iterable[tuple[int, int]] = ()) -> Sequence[Edit]:
    """Unite the marks of a document with edits of its text.

    A mark that no edit touches becomes an edit with the tag of its label. Of a mark that edits cover in part, the
    rest becomes one, unless it is only blanks and punctuation. An edit that puts back what it replaces covers nothing.

    document (Document): the document with its marks.
    edits (Sequence[Edit]): edits in the order of the text.
    kept (Iterable[tuple[int, int]]): start and end of what a policy or a reviewer decided to release. Marks do not
        apply there.
    RETURNS (Sequence[Edit]): edits in the order of the text; those given if the marks add none.
    RAISES: DeidError if the edits are outside the text (D003), overlap or are out of order (D004).
    """
    text = document.text
    check_edits(edits, len(text))
    if not document.marks:
        return edits
    changing = [edit for edit in edits if edit.start == edit.end or text[edit.start : edit.end] != edit.replacement]
    covered = _unite([*((edit.start, edit.end) for edit in changing), *kept])
    added: list[Edit] = []
    last = 0
    for start, end, label in sorted(document.marks):
        start = max(start, last)  # marks may overlap
        gaps = list(_gaps(start, end, covered))
        last = max(last, end)
        for first, stop in gaps:
            if (first, stop) == (start, end) or not _is_separator(text[first:stop]):
                added.append(Edit(first, stop, label, f"[{label}]"))
    if not added:
        return edits if len(changing) == len(edits) else changing
    within = _unite((edit.start, edit.end) for edit in added)
    changing = [edit for edit in changing if edit.start < edit.end or not _holds(within, edit.start)]
    return sorted([*changing, *added], key=lambda edit: (edit.start, edit.end))


def _unite(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The stretches that are not empty, sorted, with those that overlap or touch joined."""
    united: list[tuple[int, int]] = []
    for start, end in sorted((start, end) for start, end in stretches if start < end):
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united


def _gaps(start: int, end: int, covered: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The stretches from start to end that are not covered."""
    i = bisect_right(covered, start, key=lambda stretch: stretch[1])
    while start < end:
        first, stop = covered[i] if i < len(covered) else (end, end)
        if start < first:
            yield start, min(first, end)
        start, i = max(start, stop), i + 1


def _holds(stretches: Sequence[tuple[int, int]], at: int) -> bool:
    """Whether an offset lies strictly inside one of the stretches."""
    i = bisect_right(stretches, at, key=lambda stretch: stretch[0]) - 1
    return i >= 0 and stretches[i][0] < at < stretches[i][1]


def _is_separator(text: str) -> bool:
    """Whether a text has nothing but white space and punctuation."""
    return all(char.isspace() or unicodedata.category(char)[0] == "P" for char in text)
