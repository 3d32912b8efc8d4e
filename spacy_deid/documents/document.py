"""Define what all file formats share: the `Document` that files are read into, the settings for reading and writing,
and `PlacedText`, which joins pieces of a file to one text and maps edits of the text back to the pieces.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..offsets import Edit, check_edits
from .visible_text import VisibleText


class File(NamedTuple):
    """A file in memory: its content and its name.

    data (bytes): content of the file.
    name (str): name of the file. Its suffix says what kind of file it is; the name appears in error messages.
    """

    data: bytes
    name: str

    def __repr__(self) -> str:
        return f"File({len(self.data)} bytes)"


class Page(NamedTuple):
    """The position of a page in the text of a document.

    number (int): page number, starting at 1.
    start, end (int): character offsets of the page in the document's text.
    ocr (bool): whether the text of the page comes from OCR.
    """

    number: int
    start: int
    end: int
    ocr: bool


@dataclass(frozen=True)
class Document:
    """A file that was read: its text, and the data needed to write a copy.

    The `repr` shows neither the text nor the file name, which may contain a patient's name.

    name (str): file name, for error messages.
    kind (str): format of the file ("pdf", "docx", "txt", …), one of the values of `SUFFIXES`.
    text (str): the text to search for PHI, as a person sees it: words broken at the end of a line, column or page are
        joined, spaced-out letters form words, and invisible characters are left out.
    pages (tuple[Page, ...]): pages in order; empty for formats without pages.
    warnings (tuple[str, ...]): messages on what a person should check. They never contain text of the document.
    parts (Any): data that the format needs to map characters back to the file. Only the format's module reads it.
    marks (tuple[tuple[int, int, str], ...]): start, end and label of each identifier that the file itself declares,
        such as the cells of a column with the policy "label:PATIENT". No copy is written unless edits cover every
        mark.
    settings (ReadSettings | None): the settings used to read the file; None if it was not read by `read_document`.
    visible (VisibleText | None): maps `text` to the original text of the file; None if the two are identical.
    """

    name: str = field(repr=False)
    kind: str
    text: str = field(repr=False)
    pages: tuple[Page, ...] = ()
    warnings: tuple[str, ...] = ()
    parts: Any = field(default=None, repr=False)
    marks: tuple[tuple[int, int, str], ...] = ()
    settings: "ReadSettings | None" = field(default=None, repr=False)
    visible: VisibleText | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """Settings for reading files: OCR, limits, and what to do with pictures, codes and table columns.

    encoding (str): encoding of plain text without a byte-order mark.
    languages (tuple[str, ...]): OCR languages by their Tesseract codes: "spa", "eng", "fin".
    dpi (int): resolution for OCR, in dots per inch.
    processes (int): number of pages processed by OCR in parallel.
    page_seconds (int): time limit for OCR of one page, in seconds.
    max_pages (int): documents with more pages are refused.
    max_pixels (int): images with more pixels are refused before they are decompressed.
    max_bytes (int): files are refused if they, or their decompressed content, are larger.
    ocr (str): pages to read by OCR: "auto" for those without a usable text layer, "always" for all.
    pictures (str): what to do with pictures on pages that have text: "ocr" reads them, "remove" blanks them, "keep"
        leaves them unchanged.
    codes (str): what to do with barcodes and matrix codes on pages and in pictures: "remove" blanks them and withholds
        a copy in which a code can still be decoded; "keep" does not look for them.
    columns (Mapping[str, str]): what to do with each column of a table, by column name: "text" searches each cell
        separately; "label:NAME" treats every cell as an identifier with this label; "keep" copies the column without
        searching it; "drop" leaves it out. Columns that are not listed are treated as "text".
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
    """Settings for writing redacted copies and verifying them.

    dpi (int): resolution of the pages of a PDF copy, in dots per inch.
    mark (str): appearance of a replacement on a page: "box" draws a frame around it, "black" writes white on black,
        "plain" imitates the original text, which suits surrogates.
    unread (str): "keep" or "remove" content that was not read: on pages read by OCR everything except the text
        (handwriting, stamps, photographs), on other pages regions that look like text but could not be read.
    verify_ocr (str): pages to check by OCR after writing: those that were read by OCR ("ocr"), "all" or "none".
    ocr_pages (tuple[int, ...]): pages that were read by OCR; set by `redact_document`.
    read (ReadSettings): how the copy is read again for verification; `codes` should be the same as for the original.
    """

    dpi: int = 200
    mark: Literal["box", "black", "plain"] = "box"
    unread: Literal["keep", "remove"] = "keep"
    verify_ocr: Literal["ocr", "all", "none"] = "ocr"
    ocr_pages: tuple[int, ...] = ()
    read: ReadSettings = ReadSettings()


class ExtractedText(NamedTuple):
    """A text extracted from a file for verification.

    place (str): where the text was found, without content: "page 3", "metadata".
    text (str): the text.
    min_length (int): shorter strings, counted in letters and digits, are not searched for in this text.
    """

    place: str
    text: str
    min_length: int = 3


class Format(NamedTuple):
    """The functions that implement a file format. Each format module exports them as `FORMAT`.

    read (Callable): (data, name, settings) → Document. Error messages contain the file name. RAISES: InputError if the
        file is damaged, malicious or too large (D715), or needs OCR that is not available (D716, D717).
    write (Callable): (document, edits, settings) → content of a file in the same format. The document comes from
        `read`, and edits are in the order of its text. RAISES: DeidError if edits are outside the text (D003) or
        overlap (D004).
    extract (Callable): (data, settings) → every text in a file, for verification: running text, metadata, streams,
        attachments. Each string is searched separately, so text that belongs together is yielded as one string.
    """

    read: Callable[[bytes, str, ReadSettings], Document]
    write: Callable[[Document, Sequence[Edit], WriteSettings], bytes]
    extract: Callable[[bytes, WriteSettings], Iterator[ExtractedText]]


def cover_marks(document: Document, edits: Sequence[Edit], kept: Iterable[tuple[int, int]] = ()) -> Sequence[Edit]:
    """Add edits for the declared identifiers of a document that the given edits do not cover.

    A declared identifier is a *mark* of the document, such as a cell of a column with the policy "label:PATIENT".
    A mark that no edit touches becomes an edit that replaces it with the tag of its label. If edits cover part of it,
    the rest becomes an edit too, unless it is only white space and punctuation. An edit whose replacement equals the
    original text covers nothing.

    document (Document): the document with its marks.
    edits (Sequence[Edit]): edits in the order of the text.
    kept (Iterable[tuple[int, int]]): start and end of spans that a policy or a reviewer decided to release. Marks are
        ignored there.
    RETURNS (Sequence[Edit]): edits in the order of the text; the given edits if the marks add none.
    RAISES: DeidError if edits are outside the text (D003), overlap or are not in order (D004).
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
            separates = all(char.isspace() or unicodedata.category(char)[0] == "P" for char in text[first:stop])
            if (first, stop) == (start, end) or not separates:
                added.append(Edit(first, stop, label, f"[{label}]"))
    if not added:
        return edits if len(changing) == len(edits) else changing
    within = _unite((edit.start, edit.end) for edit in added)
    changing = [edit for edit in changing if edit.start < edit.end or not _holds(within, edit.start)]
    return sorted([*changing, *added], key=lambda edit: (edit.start, edit.end))


def _unite(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlapping or adjacent ranges. Empty ranges are dropped and the result is sorted."""
    united: list[tuple[int, int]] = []
    for start, end in sorted((start, end) for start, end in stretches if start < end):
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united


def _gaps(start: int, end: int, covered: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the parts of the range `start` to `end` that are not covered."""
    i = bisect_right(covered, start, key=lambda stretch: stretch[1])
    while start < end:
        first, stop = covered[i] if i < len(covered) else (end, end)
        if start < first:
            yield start, min(first, end)
        start, i = max(start, stop), i + 1


def _holds(stretches: Sequence[tuple[int, int]], at: int) -> bool:
    """Whether an offset is inside one of the sorted ranges, and not at its start or end."""
    i = bisect_right(stretches, at, key=lambda stretch: stretch[0]) - 1
    return i >= 0 and stretches[i][0] < at < stretches[i][1]


class TextPiece(NamedTuple):
    """A part of a document's text that comes from one place in the file, such as a table cell.

    start, end (int): character offsets in the text; never equal.
    place (Any): the origin, such as an XML element or a table cell. Only the format's module interprets it.
    """

    start: int
    end: int
    place: Any


class PlacedText:
    """A text joined from pieces of a file. The place of each piece is recorded, so that the file can be edited.

    The white space between pieces is only in the text, not in the file.
    """

    def __init__(self) -> None:
        self.pieces: list[TextPiece] = []
        self._parts: list[str] = []
        self._length = 0
        self._gap = ""

    @property
    def text(self) -> str:
        """The text joined so far: the pieces and the white space between them."""
        return "".join(self._parts)

    @property
    def at_break(self) -> bool:
        """Whether the next piece would follow white space or start the text."""
        return not self._length or bool(self._gap) or self._parts[-1][-1].isspace()

    def add(self, text: str, place: Any) -> None:
        """Append a text that comes from `place`, after the requested white space. Empty text adds no piece."""
        if not text:
            return
        if self._gap and self._length:
            self._put(self._gap)
        self._gap = ""
        start = self._length
        self._put(text)
        self.pieces.append(TextPiece(start, self._length, place))

    def gap(self, white: str) -> None:
        """Request white space before the next piece. The last of several requests counts."""
        self._gap = white

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def edits_by_piece(self, edits: Sequence[Edit]) -> Iterator[tuple[TextPiece, list[Edit]]]:
        """Convert edits of the whole text to edits of its pieces.

        The first piece that an edit touches gets the replacement; from the other pieces the covered characters are
        deleted. White space between pieces is not in the file and stays.

        edits (Sequence[Edit]): edits in the order of the text.
        YIELDS (tuple[TextPiece, list[Edit]]): each changed piece with its edits, whose offsets are relative to it.
        RAISES: DeidError if an edit is outside the text (D003) or overlaps another one (D004).
        """
        check_edits(edits, self._length)
        starts = [piece.start for piece in self.pieces]
        found: dict[int, list[Edit]] = {}
        for edit in edits if self.pieces else ():
            first = max(0, bisect_right(starts, edit.start) - 1)
            replacement = edit.replacement
            for i in range(first, bisect_left(starts, edit.end)):
                piece = self.pieces[i]
                start, end = max(edit.start, piece.start) - piece.start, min(edit.end, piece.end) - piece.start
                if start < end:
                    found.setdefault(i, []).append(Edit(start, end, edit.label, replacement))
                    replacement = ""
            if replacement:  # the edit covers only white space between pieces, or nothing
                piece = self.pieces[first]
                at = min(max(edit.start, piece.start), piece.end) - piece.start
                found.setdefault(first, []).append(Edit(at, at, edit.label, replacement))
        for i in sorted(found):
            yield self.pieces[i], found[i]

    def joined_places(self, edits: Sequence[Edit]) -> Iterator[tuple[Any, Any]]:
        """Yield the places of two consecutive pieces wherever an edit covers the white space between them."""
        starts = [piece.start for piece in self.pieces]
        for edit in edits:
            i = max(0, bisect_right(starts, edit.start) - 1)
            while i + 1 < len(starts) and starts[i + 1] <= edit.end:
                before, after = self.pieces[i], self.pieces[i + 1]
                if edit.start <= before.end < after.start:
                    yield before.place, after.place
                i += 1
