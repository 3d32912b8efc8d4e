"""Build the text of a document from pages: join wrapped lines and words hyphenated at line ends."""

import math
import unicodedata
from array import array
from dataclasses import dataclass, field

from .geometry import Box, Glyph, LineSegment, PageLayout, Quad, Run, nearest_quarter, rotated_size
from .layout import Row, find_wrapped_rows, has_space, reading_order

HYPHENS = ("-", "\u2010", "\u2011")
STEP = 3.0  # font sizes to which the end of the longest line is rounded up
CELL = "  "  # between the cells of a row
OPEN_ENDS = ("@", "/", "_")  # last characters of an address broken at the end of a line


class TextBuilder:
    """Builds the text of a document row by row, and records the text offsets of each glyph."""

    def __init__(self) -> None:
        self.length = 0
        self._pieces: list[str] = []
        self._tail = ""
        self._last_strip: LineSegment | None = None

    @property
    def text(self) -> str:
        """The text built so far."""
        return "".join(self._pieces)

    def add_page(self, rows: list[Row], width: float) -> list[LineSegment]:
        """Add the rows of a page that have the same turn.

        rows (list[Row]): rows in reading order.
        width (float): width of the page, in the coordinates of the turn.
        RETURNS (list[LineSegment]): line segments in the same order.
        """
        strips = []
        runs = [run for row in rows for run in row.runs]
        margin = width - min((run.box.x0 for run in runs), default=0.0)
        for row, wrapped in zip(rows, find_wrapped_rows(rows), strict=True):
            self._begin(row, wrapped)
            for j, run in enumerate(row.runs):
                if j:
                    self._write(CELL)
                strips.append(self._add_run(run, _right_limit(run, runs, margin, width)))
            self._last_strip = strips[-1]
        return strips

    def add_rotated(self, glyphs: list[Glyph]) -> list[LineSegment]:
        """Add text at arbitrary angles. Each glyph becomes a line segment, since the glyphs share no baseline.

        glyphs (list[Glyph]): glyphs in the order of the file.
        RETURNS (list[LineSegment]): their line segments.
        """
        strips: list[LineSegment] = []
        last: Glyph | None = None
        for glyph in glyphs:
            far = last is None or abs(glyph.box.x0 - last.box.x0) + abs(glyph.box.y0 - last.box.y0) > 3 * glyph.em
            if far and self.length:
                self._write("\n")
            elif glyph.space and not far:
                self._write(" ")
            strips.append(self._add_run(Run([glyph], 0), glyph.box.x1))
            last = glyph
        if strips:
            self._last_strip = strips[-1]
        return strips

    def _begin(self, row: Row, wrapped: bool) -> None:
        """Write the separator between two rows: a line break, a space, or nothing within a word."""
        if self._last_strip is None:
            return
        first = row.runs[0].glyphs[0].text[:1]
        if self._tail[-1:] in HYPHENS and self._tail[-2:-1].isalpha() and first.islower():
            self._drop_hyphen()
        elif wrapped and self._tail[-1:] in HYPHENS and self._tail[-2:-1].isalnum() and first.isalnum():
            return
        elif not (wrapped and self._tail.endswith(OPEN_ENDS)):
            self._write(" " if wrapped else "\n")

    def _drop_hyphen(self) -> None:
        """Remove the hyphen at the end of the last row from the text. Its glyph stays, without characters."""
        assert self._last_strip is not None
        last = self._pieces.pop()
        self._pieces.append(last[:-1])
        self.length -= 1
        self._tail = self._tail[:-1]
        self._last_strip.end[-1] -= 1
        if self._last_strip.end[-1] < self._last_strip.start[-1]:
            self._last_strip.start[-1] = self._last_strip.end[-1]

    def _add_run(self, run: Run, room: float) -> LineSegment:
        """Write the glyphs of a run."""
        left, right = array("f"), array("f")
        starts, ends, texts = array("q"), array("q"), []
        last: Glyph | None = None
        for glyph in _compose_accents(run.glyphs):
            if last is not None and has_space(last, glyph):
                self._write(" ")
            starts.append(self.length)
            # ligatures are written as their letters
            letters = (unicodedata.normalize("NFKC", c) if "\ufb00" <= c <= "\ufb06" else c for c in glyph.text)
            self._write("".join(letters))
            ends.append(self.length)
            left.append(glyph.box.x0)
            right.append(glyph.box.x1)
            texts.append(glyph.text)
            last = glyph
        return LineSegment(run.turn, run.box.y0, run.box.y1, run.em, room, texts, left, right, starts, ends)

    def _write(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self.length += len(text)
            self._tail = (self._tail + text)[-2:]


def _right_limit(run: Run, runs: list[Run], margin: float, width: float) -> float:
    """Return the x coordinate up to which a run may extend: the next run beside it, or a right margin as wide as the
    left one.

    If other runs extend beyond the margin, the run may extend as far. If the run itself extends beyond all others, its
    end is rounded up, so that it does not reveal the length of the original text. Rotated runs may not extend beyond
    the runs beside them, because text at another angle may follow.
    """
    box = run.box
    beside = [o.box.x0 for o in runs if o.box.x0 > box.x0 and o.box.y0 < box.y1 and o.box.y1 > box.y0 and o is not run]
    if beside:
        return max(box.x1, min(beside) - 0.4 * run.em)
    others = max((other.box.x1 for other in runs if other is not run), default=0.0)
    if run.turn != nearest_quarter(run.turn):
        return max(box.x1, others)
    edge = max(margin, others)
    return edge if box.x1 <= edge else min(math.ceil(box.x1 / (STEP * run.em)) * STEP * run.em, width)


def _compose_accents(glyphs: list[Glyph]) -> list[Glyph]:
    """Combine separate accents with their letters."""
    out: list[Glyph] = []
    for glyph in glyphs:
        if out and unicodedata.combining(glyph.text[:1]):
            letter = out[-1]
            box = letter.box
            box = box._replace(x0=min(box.x0, glyph.box.x0), x1=max(box.x1, glyph.box.x1))
            out[-1] = letter._replace(text=unicodedata.normalize("NFC", letter.text + glyph.text), box=box)
        else:
            out.append(glyph)
    return out


@dataclass(slots=True)
class PageContent:
    """What was read on a page.

    blocks (list[list[Run]]): runs to be put in reading order together; each list has one turn and uses its
        coordinates.
    rotated_glyphs (list[Glyph]): glyphs at arbitrary angles, in the order of the file.
    ocr (bool): whether the page was read by OCR.
    skew, blanks, codes, unread: as in `PageLayout`.
    warnings (list[str]): what a person should check.
    """

    blocks: list[list[Run]]
    rotated_glyphs: list[Glyph] = field(default_factory=list)
    ocr: bool = False
    skew: float = 0.0
    blanks: list[Box] = field(default_factory=list)
    codes: list[Quad] = field(default_factory=list)
    unread: list[Box] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add_codes(self, codes: list[Quad], number: int) -> None:
        """Set the codes of the page, and add a warning if there are any.

        codes (list[Quad]): the areas they cover.
        number (int): page number, starting at 1.
        """
        self.codes = codes
        if codes:
            self.warnings.append(f"page {number}: bar codes are removed")


def add_page_content(builder: TextBuilder, content: PageContent, width: float, height: float) -> PageLayout:
    """Add a page to the text of a document.

    builder (TextBuilder): the text so far.
    content (PageContent): what was read on the page.
    width, height (float): size of the page.
    RETURNS (PageLayout): what is needed to write the page.
    """
    parts = PageLayout(width, height, [], content.ocr, content.skew, content.blanks, content.codes)
    parts.unread = content.unread
    for runs in content.blocks:
        if runs:
            across, _ = rotated_size(runs[0].turn, width, height)
            parts.strips += builder.add_page(reading_order(runs), across)
    parts.strips += builder.add_rotated(content.rotated_glyphs)
    return parts
