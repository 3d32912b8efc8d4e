"""Convert the text of a file to what a person sees, and map edits of the visible text back to the original text.

Spaced-out letters are joined to words, text reversed by direction overrides is put in visual order, invisible
characters are removed, and numbers and e-mail addresses that are broken at a line end are joined. Detectors process
the visible text; their edits are mapped back to the original text, which otherwise stays unchanged.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from ..offsets import Edit

_BLANK = "[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"
# four or more single letters or digits separated by blanks; punctuation may precede or follow
_RUN = re.compile(rf"(?<![\w@.,/+-])[^\W_](?:{_BLANK}{{1,8}}[^\W_](?![^\W_])){{3,}}(?![-/@+]\w)")
_BLANKS = re.compile(f"{_BLANK}+")
_FEWEST_DIGITS = 8  # fewer spaced digits are a scale, a score or tooth numbers
_DISTINCT = 3  # different letters in a word; "x x o x" are check marks
_LONGEST = 3  # minimum length of the longest word
_WIDEST = 2  # most blanks between two letters of a word


def spaced_letter_gaps(text: str) -> Iterator[tuple[int, int, str]]:
    """Find the blanks within spaced-out words, as in "B r a u l i o   S a n z".

    The narrowest gaps separate letters; wider gaps, and gaps between a small letter and a capital, separate words.
    Sequences that are check marks, options or scores are skipped: letters in alphabetical order, one or two different
    letters, and digits that count up.

    YIELDS (tuple[int, int, str]): start and end of the blanks, and their replacement: "" within a word, " " between
        words.
    """
    for found in _RUN.finditer(text):
        gaps = list(_BLANKS.finditer(text, found.start(), found.end()))
        narrow = min(gap.end() - gap.start() for gap in gaps)
        within = [gap for gap in gaps if gap.end() - gap.start() == narrow]
        letters = _BLANKS.sub("", found[0])
        if narrow > _WIDEST or len(within) * 3 < len(gaps) * 2 or not _is_word(letters):
            continue
        # a capital after a small letter starts a word
        wide = [
            gap.end() - gap.start() > narrow or (text[gap.start() - 1].islower() and text[gap.end()].isupper())
            for gap in gaps
        ]
        longest = 1 + max((len([*run]) for between, run in groupby(wide) if not between), default=0)
        if longest < _LONGEST:
            continue
        for gap, between in zip(gaps, wide, strict=True):
            if not between or gap[0] != " ":
                yield gap.start(), gap.end(), " " * between


def _is_word(letters: str) -> bool:
    """Whether spaced-out characters can form words or a number, rather than check marks, options or scores."""
    folded = letters.casefold()
    digits = sum(map(str.isdigit, letters))
    if len(set(folded)) < _DISTINCT:
        return False
    steps = {ord(after) - ord(before) for before, after in pairwise(folded)}
    if steps in ({1}, {-1}):
        return False
    if digits:
        # a number with at most two letters, such as the check letter of an identity card
        return digits >= _FEWEST_DIGITS and len(letters) - digits <= 2 and max(filter(str.isdigit, letters)) > "5"
    return True


# direction controls, soft hyphens and other break controls, joiners, tags
_UNSEEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f"
_CUT = re.compile(f"[{_UNSEEN}]+")
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069\n]")
_FROM_RIGHT, _FROM_LEFT = "\u202e", "\u202d"
_DEEPEST = 125  # nested controls, the limit of the Unicode bidirectional algorithm (UAX #9)
_BEGINS, _ENDS = set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068"), set("\u202c\u2069")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")

_BREAK = r"[ \t]{0,20}\r?\n[ \t]{0,20}"
_SHORT = 48  # longest line that can end within a number, in characters
_CUES = (
    r"dni|nif|nie|nhc|nss|nuhsa|cip|sip|mrn|nhs|ssn|hetu|henkilötunnus|iban|historia|colegiado|afiliaci[oó]n|p[oó]liza|"
    r"tel|tel[eé]fono|telephone|tfno|tlf|tfn|m[oó]vil|phone|mobile|cell|fax|puh|puhelin|potilasnumero|pasaporte|passport|"
    r"record number|hospital number|id number|expediente"
)
_NUMBER = re.compile(
    rf"\b(?P<cue>{_CUES})\b[ .:#ºª°]{{0,6}}(?:n[oº°.]{{0,3}}|number|numero|número)?[ .:#º°]{{0,6}}"
    rf"(?P<first>\+?[A-Z]{{0,2}}\d[\d .-]{{0,40}})(?P<end>{_BREAK})(?P<rest>\d[\d .-]{{0,40}}[A-Z]?)"
    r"(?=[,;)]|\.?[ \t]{0,20}(?:\r?\n|\Z))",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{1,2}[-. ]+\d{1,2}[-. ]+(\d{2}|\d{4})\.?|\d{4}-\d\d-\d\d|(19|20)\d\d")
_NUMBER_LINE = re.compile(r"[,;.) \t]{0,20}\r?\n[ \t]*\d+([.,]\d+)?[ \t]*(\r?\n|\Z)")
_FEWEST, _MOST = 6, 24  # fewest and most digits of a number
_PHONES = set("tel teléfono telefono telephone tfno tlf tfn móvil movil phone mobile cell fax puh puhelin".split())
_COMPLETE = {True: 9, False: 10}  # digits of a complete number: telephone (True) and others (False)

_TOP = r"(?:es|com|org|net|fi|eu|cat|info|uk|us|gov|edu|eus|gal|int)"
_MAIL = [
    # line end before the "@", after a label: "Correo: bra" – "ulio@hospital.es"
    re.compile(
        r"\b(?:e-?mail|correo(?: electr[oó]nico)?|mail|sähköposti|s-posti)[ .:]{1,3}"
        rf"[\w.+-]{{1,40}}(?P<end>{_BREAK})"
        r"(?=[\w.+-]{1,40}@[\w-]{1,60}(?:\.[\w-]{1,60})+)",
        re.IGNORECASE,
    ),
    # line end after the "@": "braulio@hosp" – "ital.es", "braulio@hospital." – "es"
    re.compile(rf"[\w.+-]@(?P<end>{_BREAK})(?=[\w-]{{1,60}}(?:\.[\w-]{{1,60}})+)"),
    re.compile(rf"[\w.+-]@[\w-]{{1,40}}(?P<end>{_BREAK})(?=[\w-]{{0,60}}\.{_TOP}(?![\w@]))"),
    re.compile(rf"[\w.+-]@(?:[\w-]{{1,40}}\.){{0,3}}(?!{_TOP}\.)[\w-]{{1,40}}\.(?P<end>{_BREAK})(?={_TOP}(?![\w@]))"),
]


@dataclass(frozen=True, slots=True)
class VisibleText:
    """A text as a person sees it, aligned with the original.

    text (str): the visible text.
    raw (str): the original text of the file.
    where (Sequence[int]): the offset in `raw` of each character of `text`.
    """

    text: str = field(repr=False)
    raw: str = field(repr=False)
    where: Sequence[int] = field(repr=False)

    def raw_edits(self, edits: Sequence[Edit]) -> list[Edit]:
        """Map edits of the visible text to edits of the original text.

        Characters hidden within an edit are replaced with it, and so are direction overrides around it, which would
        reverse the replacement. Edits that overlap in the original text are merged.

        edits (Sequence[Edit]): edits in the order of `text`.
        RETURNS (list[Edit]): edits in the order of `raw`.
        """
        found = []
        for edit in edits:
            start, end = self.raw_span(edit.start, edit.end)
            while 0 < start < end < len(self.raw) and self.raw[start - 1] in _BEGINS and self.raw[end] in _ENDS:
                start, end = start - 1, end + 1
            found.append(Edit(start, end, edit.label, edit.replacement))
        out: list[Edit] = []
        for edit in sorted(found, key=lambda edit: (edit.start, edit.end)):
            last = out[-1] if out else None
            if last is not None and edit.start < last.end:
                both = last.replacement + f" {edit.replacement}" * (edit.replacement not in ("", last.replacement))
                out[-1] = Edit(last.start, max(last.end, edit.end), last.label, both)
            else:
                out.append(edit)
        return out

    def raw_span(self, start: int, end: int) -> tuple[int, int]:
        """Return start and end of the smallest span of `raw` that contains a span of `text`."""
        if start == end:
            at = self.where[start] if start < len(self.where) else len(self.raw)
            return at, at
        places = self.where[start:end]
        return min(places), max(places) + 1

    def visible_marks(self, marks: Sequence[tuple[int, int, str]]) -> tuple[tuple[int, int, str], ...]:
        """Map marks (start, end, label) from `raw` to `text`. Marks without any visible character are dropped."""
        if not marks:
            return ()
        places = sorted(range(len(self.where)), key=self.where.__getitem__)
        ordered = [self.where[place] for place in places]
        out = []
        for start, end, label in marks:
            inside = places[bisect_left(ordered, start) : bisect_left(ordered, end)]
            if inside:
                out.append((min(inside), max(inside) + 1, label))
        return tuple(sorted(out))


def read_as_seen(text: str) -> VisibleText | None:
    """Return a text as a person sees it, aligned with the original; None if the two are identical."""
    cuts: dict[int, tuple[int, str]] = {}
    for start, end, instead in _changes(text):
        cuts.setdefault(start, (end, instead))
    order = _order(text)
    if not cuts and order is None:
        return None
    letters: list[str] = []
    where = array("I")
    done = 0
    for start in sorted(cuts):
        end, instead = cuts[start]
        if start < done:
            continue
        letters.append(text[done:start])
        where.extend(range(done, start))
        letters.append(instead)
        where.extend([start] * len(instead))
        done = end
    letters.append(text[done:])
    where.extend(range(done, len(text)))
    read = "".join(letters)
    if order is not None:
        turned = sorted(range(len(read)), key=lambda i: order[where[i]])
        read, where = "".join(read[i] for i in turned), array("I", (where[i] for i in turned))
    return VisibleText(read, text, where)


def _changes(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and replacement of each span that differs in the visible text, apart from the order of text."""
    for found in _CUT.finditer(text):
        # joiners are part of words, except next to a letter or digit of a script that does not use them
        around = text[max(0, found.start() - 1) : found.start()] + text[found.end() : found.end() + 1]
        latin = any(char.isalnum() and char < "\u0590" for char in around)
        if latin or found[0].strip("\u200c\u200d\u200e\u200f"):
            yield found.start(), found.end(), ""
    yield from spaced_letter_gaps(text)
    yield from _broken_numbers(text)
    for pattern in _MAIL if "@" in text else ():
        for found in pattern.finditer(text):
            yield found.start("end"), found.end("end"), ""


def _broken_numbers(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and replacement of each line end within a labelled number, as in "NHC: 20481" – "736"."""
    for found in _NUMBER.finditer(text):
        first, rest = found["first"].strip(), found["rest"].strip()
        digits = [sum(map(str.isdigit, part)) for part in (first, rest)]
        line = found.end("first") - (text.rfind("\n", 0, found.start("first")) + 1)
        cue = found["cue"].lower()
        limit = _MOST if cue == "iban" else _COMPLETE[cue in _PHONES] + 2 * first.startswith("+")
        if line > _SHORT or digits[0] < 2 or digits[1] < 2 or not _FEWEST <= sum(digits) <= max(limit, 12):
            continue
        if digits[0] >= limit or _DATE.fullmatch(rest) or _NUMBER_LINE.match(text, found.end("rest")):
            continue
        yield found.start("end"), found.end("end"), " " * (" " in first)


def _order(text: str) -> list[int] | None:
    """Return the position of each character in visual order; None if the text has no right-to-left override."""
    if _FROM_RIGHT not in text:
        return None
    order = list(range(len(text)))
    stack: list[tuple[str, int]] = []
    turned: list[tuple[int, int]] = []

    def close(end: int) -> None:
        kind, start = stack.pop()
        if not kind:
            return
        within = next((one for one, _ in reversed(stack[:_DEEPEST]) if one in (_FROM_RIGHT, _FROM_LEFT)), _FROM_LEFT)
        if kind in (_FROM_RIGHT, _FROM_LEFT) and kind != within and not _RIGHT_TO_LEFT.search(text, start, end):
            turned.append((start, end))

    for found in _DIRECTION.finditer(text):
        char = found[0]
        if char in _BEGINS:
            stack.append((char if len(stack) < _DEEPEST else "", found.end()))
        elif char in _ENDS:
            if stack:
                close(found.start())
        else:  # a paragraph end closes all controls
            while stack:
                close(found.start())
    while stack:
        close(len(text))
    for start, end in turned:  # inner ranges come first
        order[start:end] = order[start:end][::-1]
    ranks = [0] * len(text)
    for rank, place in enumerate(order):
        ranks[place] = rank
    return ranks
