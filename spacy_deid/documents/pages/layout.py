"""Convert the glyphs of pages to the text of a document in reading order.

Glyphs are grouped into runs and rows and put in reading order; wrapped lines and words hyphenated at line ends are
joined.
"""

import math
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from statistics import median

from .geometry import Box, Glyph, LineSegment, PageLayout, Quad, Run, bounding_box, nearest_quarter, rotated_size

# gaps in font sizes
WORD = 0.22  # gap that is white space even without a space character
WIDE = 1.2  # gap that separates columns or table cells
BACK = 0.5  # largest overlap of glyphs
APART = 4  # fewest spaced letters that form a word
ALIKE = 1.3  # largest ratio of a gap between such letters to the median


def make_runs(glyphs: Iterable[Glyph], turn: float) -> list[Run]:
    """Group glyphs into runs: glyphs of one line without a wide gap, including superscripts and subscripts.

    glyphs (Iterable[Glyph]): glyphs with the same rotation, in the order of the file.
    turn (float): their rotation in degrees clockwise.
    RETURNS (list[Run]): runs from top to bottom and left to right.
    """
    runs: list[list[Glyph]] = []
    for glyph in glyphs:
        last = runs[-1][-1] if runs else glyph
        em = max(last.em, glyph.em)
        gap = glyph.box.x0 - last.box.x1
        if runs and abs(glyph.base - last.base) < 0.5 * em and -BACK * em < gap < WIDE * em:
            runs[-1].append(glyph)
        else:
            runs.append([glyph])
    joined = join_runs([Run(run, turn) for run in runs])
    for run in joined:
        _join_spaced_letters(run.glyphs)
    return joined


def _join_spaced_letters(glyphs: list[Glyph]) -> None:
    """Join letters that are spaced for emphasis to words, in place: each letter is widened over the gap after it."""
    after = [has_space(left, right) for left, right in pairwise(glyphs)]
    alone = [
        len(glyph.text) == 1 and glyph.text.isalpha() and before and behind
        for glyph, before, behind in zip(glyphs, [True, *after], [*after, True], strict=True)
    ]
    for is_alone, group in groupby(range(len(glyphs)), key=alone.__getitem__):
        letters = list(group)
        if not is_alone or len(letters) < APART:
            continue
        gaps = [glyphs[i + 1].box.x0 - glyphs[i].box.x1 for i in letters[:-1]]
        widest = ALIKE * median(gaps)  # wider gaps separate words
        for i, gap in zip(letters, gaps, strict=False):
            if gap <= widest:
                box = glyphs[i].box
                glyphs[i] = glyphs[i]._replace(box=box._replace(x1=max(box.x1, glyphs[i + 1].box.x0)))
                glyphs[i + 1] = glyphs[i + 1]._replace(space=False)


def join_runs(runs: list[Run]) -> list[Run]:
    """Join runs on the same line without a wide gap, regardless of their order in the file.

    A run that repeats another one at the same place to look bold only enlarges the existing boxes.

    runs (list[Run]): runs with the same rotation.
    RETURNS (list[Run]): joined runs, sorted from top to bottom and left to right.
    """
    joined: list[Run] = []
    for run in sorted(runs, key=lambda run: (run.box.x0, run.box.y0)):
        left = next((other for other in reversed(joined) if _continues(other, run)), None)
        if left is None:
            joined.append(run)
            continue
        if _is_double_print(left, run):
            pairs = zip(left.glyphs, run.glyphs, strict=True)
            left.glyphs = [glyph._replace(box=bounding_box([glyph.box, other.box])) for glyph, other in pairs]
        else:
            left.glyphs += run.glyphs
        left.measure()
    return sorted(joined, key=lambda run: (run.box.y0, run.box.x0))


def _continues(left: Run, run: Run) -> bool:
    """Whether a run continues another one, or repeats it at the same place to look bold."""
    em = max(left.em, run.em)
    gap = run.box.x0 - left.box.x1
    level = abs(run.glyphs[0].base - left.glyphs[-1].base) < 0.3 * min(left.em, run.em)
    return level and (-BACK * em < gap < WIDE * em or _is_double_print(left, run))


def _is_double_print(left: Run, run: Run) -> bool:
    """Whether a run has the same text at the same place as another run, which is a way to print bold text."""
    near = abs(run.box.x0 - left.box.x0) < 0.2 * left.em
    return near and [glyph.text for glyph in left.glyphs] == [glyph.text for glyph in run.glyphs]


def has_space(last: Glyph, glyph: Glyph) -> bool:
    """Whether there is white space between two glyphs of a run: a space character or a wide gap."""
    return glyph.space or glyph.box.x0 - last.box.x1 > WORD * min(last.em, glyph.em)


ROWS = 3  # fewest lines of a column
LETTERS = 18  # fewest characters of its median line; columns of tables have less and are read by rows


@dataclass(slots=True)
class Row:
    """The runs (groups of glyphs) on one line of a page or column, such as the cells of a table row.

    runs (list[Run]): the runs from left to right.
    right (float): x coordinate of the right edge of their column.
    column (int): number of the column. Rows of a column are consecutive.
    """

    runs: list[Run]
    right: float
    column: int


def reading_order(runs: Sequence[Run]) -> list[Row]:
    """Group the runs of a page, which have the same rotation, into rows in reading order, column by column."""
    rows: list[Row] = []
    for column, block in enumerate(_split_columns(list(runs))):
        right = max((run.box.x1 for row in block for run in row), default=0.0)
        rows += [Row(row, right, column) for row in block]
    return rows


def _split_columns(runs: list[Run]) -> list[list[list[Run]]]:
    """Split runs into columns and full-width blocks between them; each is returned as a list of rows."""
    rows = _rows(runs)
    blocks: list[list[list[Run]]] = [[]]
    i = 0
    while i < len(rows):
        end, gutter = _column_rows(rows, i)
        if gutter is None:
            blocks[-1].append(rows[i])
            i += 1
            continue
        inside = [run for row in rows[i:end] for run in row]
        blocks += _split_columns([run for run in inside if run.box.x1 <= gutter])
        blocks += [*_split_columns([run for run in inside if run.box.x1 > gutter]), []]
        i = end
    return [block for block in blocks if block]


def _rows(runs: list[Run]) -> list[list[Run]]:
    """Group runs with similar baselines into rows, from top to bottom; in each row, runs go from left to right."""
    rows: list[list[Run]] = []
    bottom = 0.0
    for run in sorted(runs, key=lambda run: run.base):
        if rows and run.base < bottom:
            rows[-1].append(run)
        else:
            rows.append([run])
            bottom = run.base + 0.45 * run.em
    return [sorted(row, key=lambda run: run.box.x0) for row in rows]


def _column_rows(rows: list[list[Run]], first: int) -> tuple[int, float | None]:
    """Find the rows from `first` on that are split by a gutter, the empty space between two columns of prose.

    RETURNS (tuple[int, float | None]): index after the last of them and an x coordinate in the gutter, or `first` and
        None.
    """
    for before, after in pairwise(rows[first]):
        low, high = before.box.x1, after.box.x0
        end = first
        left, right = low, high
        for row in rows[first:]:
            inside = _narrow_gutter(row, left, right)
            if inside is None:
                break
            left, right = inside
            end += 1
        gutter = (left + right) / 2
        lengths: dict[bool, list[int]] = {True: [], False: []}  # of the lines on each side, in characters
        for run in (run for row in rows[first:end] for run in row):
            lengths[run.box.x1 <= gutter].append(sum(len(glyph.text) for glyph in run.glyphs))
        if all(len(side) >= ROWS and median(side) >= LETTERS for side in lengths.values()):
            return end, gutter
    return first, None


def _narrow_gutter(row: list[Run], left: float, right: float) -> tuple[float, float] | None:
    """Return the part of a gutter that a row leaves free; None if the row crosses it."""
    for run in row:
        if run.box.x0 >= right or run.box.x1 <= left:
            continue
        middle = (left + right) / 2
        if run.box.x1 <= middle or run.box.x0 >= middle:
            left, right = (max(left, run.box.x1), right) if run.box.x1 <= middle else (left, min(right, run.box.x0))
            continue
        return None
    smallest = min(run.em for run in row)
    return (left, right) if right - left > 0.6 * smallest else None


def find_wrapped_rows(rows: list[Row]) -> list[bool]:
    """Determine for each row whether it continues the sentence of the row before.

    A row does so if its first word would not have fitted at the end of the row before. The longest line of a form can
    look the same, so a single full line counts only if the next one starts in lower case.

    rows (list[Row]): rows of one page in reading order.
    RETURNS (list[bool]): one value per row.
    """
    full = [False, *(_is_full(last, row) for last, row in pairwise(rows))]
    counts = Counter(row.column for row, is_full in zip(rows, full, strict=True) if is_full)
    return [
        is_full and (counts[row.column] > 1 or row.runs[0].glyphs[0].text[:1].islower())
        for row, is_full in zip(rows, full, strict=True)
    ]


def _is_full(last: Row, row: Row) -> bool:
    """Whether the first word of a row would not have fitted into the row before."""
    if len(last.runs) > 1 or len(row.runs) > 1 or last.column != row.column:
        return False
    above, below = last.runs[0], row.runs[0]
    em = max(above.em, below.em)
    if abs(above.em - below.em) >= 0.25 * em or not 0 < below.base - above.glyphs[-1].base < 2.2 * em:
        return False
    first_word_end = next((left.box.x1 for left, right in pairwise(below.glyphs) if has_space(left, right)), None)
    first_word = (below.glyphs[-1].box.x1 if first_word_end is None else first_word_end) - below.box.x0
    return above.box.x1 + 0.25 * em + first_word > last.right + 0.1 * em


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
        self._last_segment: LineSegment | None = None

    @property
    def text(self) -> str:
        """The text built so far."""
        return "".join(self._pieces)

    def add_page(self, rows: list[Row], width: float) -> list[LineSegment]:
        """Append the text of rows of a page, which all have the same turn (rotation).

        rows (list[Row]): rows in reading order.
        width (float): width of the page after it is rotated so that the text is horizontal.
        RETURNS (list[LineSegment]): line segments in the same order.
        """
        segments = []
        runs = [run for row in rows for run in row.runs]
        margin = width - min((run.box.x0 for run in runs), default=0.0)
        for row, wrapped in zip(rows, find_wrapped_rows(rows), strict=True):
            self._begin(row, wrapped)
            for j, run in enumerate(row.runs):
                if j:
                    self._write(CELL)
                segments.append(self._add_run(run, _right_limit(run, runs, margin, width)))
            self._last_segment = segments[-1]
        return segments

    def add_rotated(self, glyphs: list[Glyph]) -> list[LineSegment]:
        """Append glyphs at arbitrary angles, which share no baseline. Returns one line segment for each glyph."""
        segments: list[LineSegment] = []
        last: Glyph | None = None
        for glyph in glyphs:
            far = last is None or abs(glyph.box.x0 - last.box.x0) + abs(glyph.box.y0 - last.box.y0) > 3 * glyph.em
            if far and self.length:
                self._write("\n")
            elif glyph.space and not far:
                self._write(" ")
            segments.append(self._add_run(Run([glyph], 0), glyph.box.x1))
            last = glyph
        if segments:
            self._last_segment = segments[-1]
        return segments

    def _begin(self, row: Row, wrapped: bool) -> None:
        """Append what separates a row from the row before: a line break, a space, or nothing within a word."""
        last = self._last_segment
        if last is None:
            return
        first = row.runs[0].glyphs[0].text[:1]
        if self._tail[-1:] in HYPHENS and self._tail[-2:-1].isalpha() and first.islower():
            # the hyphen is removed from the text; its glyph stays, without characters
            self._pieces.append(self._pieces.pop()[:-1])
            self.length -= 1
            self._tail = self._tail[:-1]
            last.end[-1] -= 1
            last.start[-1] = min(last.start[-1], last.end[-1])
        elif wrapped and self._tail[-1:] in HYPHENS and self._tail[-2:-1].isalnum() and first.isalnum():
            return
        elif not (wrapped and self._tail.endswith(OPEN_ENDS)):
            self._write(" " if wrapped else "\n")

    def _add_run(self, run: Run, room: float) -> LineSegment:
        """Append the characters of a run to the text, and return its line segment, which may extend up to `room`."""
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
    """Combine glyphs of accents with the letters before them, because some PDF files draw them separately."""
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
    """What was read on a page, before it is put in reading order and added to the text of the document.

    blocks (list[list[Run]]): runs to be put in reading order together. The runs of a list have the same rotation, and
        coordinates in which they are horizontal.
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
        """Set the areas of barcodes and matrix codes of page `number`, and add a warning if there are any."""
        self.codes = codes
        if codes:
            self.warnings.append(f"page {number}: bar codes are removed")


def add_page_content(builder: TextBuilder, content: PageContent, width: float, height: float) -> PageLayout:
    """Append what was read on a page to the text of the document.

    builder (TextBuilder): the text of the document.
    content (PageContent): what was read on the page.
    width, height (float): size of the page as displayed.
    RETURNS (PageLayout): what is needed to write the page.
    """
    parts = PageLayout(width, height, [], content.ocr, content.skew, content.blanks, content.codes)
    parts.unread = content.unread
    for runs in content.blocks:
        if runs:
            across, _ = rotated_size(runs[0].turn, width, height)
            parts.segments += builder.add_page(reading_order(runs), across)
    parts.segments += builder.add_rotated(content.rotated_glyphs)
    return parts
