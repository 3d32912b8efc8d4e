"""A document as one text: what every format is read into, and the settings of reading and writing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..offsets import Edit
from .reading import Reading

__all__ = ["Document", "Format", "Found", "Page", "ReadSettings", "WriteSettings"]

# what Tesseract calls the languages of the pipelines that ship; of others it has to be said


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


class Found(NamedTuple):
    """A text that can be got out of a file.

    place (str): where, without content: "page 3", "metadata".
    text (str): what stands there.
    least (int): letters and digits of the shortest string that is searched for in it.
    """

    place: str
    text: str
    least: int = 3


class Format(NamedTuple):
    """A kind of file. Each has a module that gives one as `FORMAT`.

    read (Callable): (data, name, settings) → Document. RAISES: InputError.
    write (Callable): (document, edits, settings) → bytes of the same kind. The edits are in order.
    extract (Callable): (data, settings) → all text that can be got out of a file, for verifying: running text,
        metadata, streams, attachments. Text that belongs together comes in one piece, because it is searched by piece.
    """

    read: Callable[[bytes, str, ReadSettings], Document]
    write: Callable[[Document, Sequence[Edit], WriteSettings], bytes]
    extract: Callable[[bytes, WriteSettings], Iterator[Found]]
