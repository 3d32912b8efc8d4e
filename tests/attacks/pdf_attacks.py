"""Attacks by PDF files and pictures that show text which is not in their text layer, or which their readers miss."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from attacks.catalogue import Outcome, attack
from attacks.reading import fold, ocr, pages, still_readable
from drawn_letters import bent, masked, outlined, ring, tiled, whole_words
from pdf_letters import ENGLISH, letter, with_text
from PIL import Image

from spacy_deid.documents import ReadSettings, WriteSettings, read_document, redact_document
from spacy_deid.errors import InputError
from spacy_deid.offsets import Edit

NAME = "Braulio Quintana"
LETTER = letter(ENGLISH)
GREEN_ON_RED = "1 0 0 rg 60 590 250 30 re f BT F 14 Tf 0 0.51 0 rg 72 600 Td (Dr {}) Tj ET"


def outcome(
    data: bytes,
    name: str = "letter.pdf",
    planted: Sequence[str] = (NAME,),
    read: ReadSettings | None = None,
    write: WriteSettings | None = None,
    **reading: object,
) -> Outcome:
    """Redact every planted string that was read, and count those that the copy still shows.

    reading: of `readings`: how copies are read.
    """
    try:
        document = read_document(data, name, read or ReadSettings())
    except InputError:
        return Outcome(len(planted), 0, "refused")
    edits = [edit for string in planted for edit in edits_of(document.text, string)]
    copy = redact_document(document, sorted(edits, key=lambda edit: edit.start), write or WriteSettings())
    left = still_readable(copy, planted, **{"modes": (11,), **reading})
    return Outcome(len(planted), len(left), "removed" if edits else "warned")


def edits_of(text: str, string: str) -> list[Edit]:
    """Edits of every place where a string stands, whatever white space is in it."""
    kept = [i for i, char in enumerate(text) if fold(char)]
    folded, wanted = "".join(fold(text[i])[:1] for i in kept), fold(string)
    found = []
    at = folded.find(wanted)
    while at >= 0:
        found.append(Edit(kept[at], kept[at + len(wanted) - 1] + 1, "PATIENT", "[PATIENT]"))
        at = folded.find(wanted, at + 1)
    return found


@attack("PDF: text in green on red of the same luminance", slow=True)
def same_luminance(folder: Path) -> Outcome:
    """Text of which a picture in grey shows nothing."""
    return outcome(with_text(LETTER, GREEN_ON_RED.format(NAME)), channels=True, dpi=200)


@attack("Picture: text in green on red of the same luminance", slow=True)
def same_luminance_in_a_picture(folder: Path) -> Outcome:
    """The same, read by OCR."""
    out = io.BytesIO()
    pages(with_text(LETTER, GREEN_ON_RED.format(NAME)), 150)[0].save(out, "PNG")
    return outcome(out.getvalue(), "scan.png", channels=True)


@attack("PDF: text of a size that overflows", slow=True)
def overflowing_size(folder: Path) -> Outcome:
    """A font size that makes the boxes of characters infinite, on a page that also shows a name."""
    huge = "1" + "0" * 36 + ".0"
    code = f"BT F 14 Tf 72 600 Td (Dr {NAME}) Tj ET BT F {huge} Tf 72 500 Td (Quintana) Tj ET"
    return outcome(with_text(LETTER, code))


@attack("PDF: text in a tiling pattern")
def tiling_pattern(folder: Path) -> Outcome:
    """A rectangle that is filled with text."""
    return outcome(tiled(LETTER, NAME), dpi=200)


@attack("PDF: Type 3 glyphs that draw whole words", slow=True)
def type_3_words(folder: Path) -> Outcome:
    """Glyphs that say that they are one letter each."""
    return outcome(whole_words(LETTER, NAME.split()), planted=NAME.split(), dpi=200)


@attack("PDF: text in a soft mask", slow=True)
def soft_mask(folder: Path) -> Outcome:
    """A rectangle that is painted through a mask in the shape of text."""
    return outcome(masked(LETTER, NAME), dpi=200)


@attack("PDF: letters as outlines", slow=True)
def letters_as_outlines(folder: Path) -> Outcome:
    """Text converted to curves, as drawing programs do."""
    return outcome(with_text(LETTER, outlined(NAME)), dpi=200)


@attack("PDF: letters as outlines, inclined", slow=True)
def inclined_outlines(folder: Path) -> Outcome:
    """The same at 30 degrees."""
    return outcome(with_text(LETTER, outlined(NAME, angle=30, y=450)), angles=(0, -30), dpi=200)


@attack("PDF: letters as outlines that no OCR reads", slow=True)
def mirrored_outlines(folder: Path) -> Outcome:
    """Mirrored text, with the setting that removes what could not be read."""
    data = with_text(LETTER, f"q -1 0 0 1 595 0 cm {outlined(NAME)} Q")
    document = read_document(data, "letter.pdf")
    copy = redact_document(document, [], WriteSettings(unread="remove"))
    mirrored = [page.transpose(Image.Transpose.FLIP_LEFT_RIGHT) for page in (*pages(data, 200), *pages(copy, 200))]
    before, after = (NAME in ocr(page, dpi=200) for page in mirrored)
    return Outcome(int(before), int(after), "warned" if document.warnings else "removed")


@attack("PDF: a round stamp in outlines", slow=True)
def stamp_of_outlines(folder: Path) -> Outcome:
    """Name and licence number around a circle, between two rings."""
    return stamp(with_text(LETTER, " ".join([bent(f"Dr {NAME} Lic. 4471903"), ring(), ring(radius=60)])))


@attack("PDF: a round stamp in characters")
def stamp_of_characters(folder: Path) -> Outcome:
    """The same in the text layer, where each character stands at an angle of its own."""
    code = bent(f"Dr {NAME} Lic. 4471903", show=lambda char: f"BT F 12 Tf ({char}) Tj ET")
    return stamp(with_text(LETTER, code))


def stamp(data: bytes) -> Outcome:
    """Redact name and number of a stamp, and read what is left of it unrolled."""
    planted = [*NAME.split(), "4471903"]
    document = read_document(data, "letter.pdf")
    edits = [edit for string in planted for edit in edits_of(document.text, string)]
    copy = redact_document(document, sorted(edits, key=lambda edit: edit.start))
    before, after = (ocr(unrolled(pages(file, 300)[0]), modes=(6, 7, 11)) for file in (data, copy))
    readable = [string for string in planted if string in before]
    return Outcome(len(readable), sum(string in after for string in readable))


def unrolled(page: Image.Image, x: float = 300, y: float = 400, radius: float = 70, size: float = 12) -> Image.Image:
    """The ring of a stamp as a level strip that begins below, at 300 dots an inch."""
    scale = 300 / 72
    turns = np.pi / 2 + np.arange(round(2 * np.pi * radius * scale)) / (radius * scale)
    out = (radius + 1.3 * size - np.arange(round(1.8 * size * scale)) / scale)[:, None]
    columns = np.round((x + out * np.cos(turns)) * scale).astype(int)
    rows = np.round(page.height - y * scale + out * scale * np.sin(turns)).astype(int)
    return Image.fromarray(np.asarray(page)[rows, columns])
