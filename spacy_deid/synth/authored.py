"""Notes written by hand with marked identifiers: the mark-up, its parser and its checks.

A file holds the notes of one writer. Its first line names the brief; each note begins with ``=== NUMBER`` and lines
that begin with ``#!``:

    #! brief: en-t01
    === 1
    #! genre: nursing shift note
    #! institution: Harrowgate Infirmary
    #! date: 2019-11-07
    #! patient = Marjorie Anne / Ellwood, f, 1951-03-12
    #! unmarked: Hope (verb)
    Pt [Ellwood, M. A.](PATIENT patient), [68 y](AGE), settled. NHS no [943 476 5919](NATIONAL_ID kind=nhs)

A mark is the text as a reader sees it, in brackets, and in parentheses the label and

    patient     the key of a person, who is declared in the header, or of values that belong together, as a town and
                its postal code
    kind=nhs    the kind of a number with a check digit; "bad" if the check digit is wrong on purpose
    gen         the case of an inflected name or place; "poss" with a possessive suffix, "cpd" within a compound
    =           the text stays when the note is filled with other persons (see `refill`)

All other text is literal. Brackets that no label follows have no meaning.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from pathlib import Path

from ..errors import Errors, InputError, describe
from ..evaluation import AnnotatedText, Entity
from ..labels import LABELS

NAMES = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
"""Labels whose marks need the key of a declared person."""

CASES = frozenset("gen par ine ela ill ade abl all ess tra poss cpd".split())
"""Modifiers of an inflected name or place."""

KINDS = frozenset("nhs chi ssn npi dea dni nie nuss hetu personnummer curp rfc rut cuit iban luhn imei vin".split())
"""Kinds of numbers with a check digit."""

_MARK = re.compile(r"\[([^\[\]]*)\]\(([A-Z_]{2,}(?: [^()\n]*)?)\)")
_BROKEN = re.compile(r"\]\([A-Z_]{2,}")
_NOTE = re.compile(r"=== (\d+)[ \t]*")
_FIELD = re.compile(r"(genre|institution|date|unmarked|doubt): ?(.*)")
_PERSON = re.compile(r"(\w+) = ([^/]*)/([^,]*), *([fm])(?:, *(\d{4}-\d\d-\d\d))?")
_WORD = re.compile(r"[^\W\d_]{4,}")
_REQUIRED = ("genre", "institution", "date")
# labels whose values must not stand unmarked elsewhere in the note
_COMPARED = NAMES | {"HOSPITAL", "HEALTH_CENTER", "ORGANIZATION", "CITY", "STREET"}


@dataclass(frozen=True, slots=True)
class Person:
    """A person of a note, as its header declares them.

    key (str): the key that marks refer to.
    given, surnames (tuple[str, ...]): the words of the name; either may be empty.
    sex (str): "female" or "male".
    born (Optional[date]): date of birth.
    """

    key: str
    given: tuple[str, ...]
    surnames: tuple[str, ...]
    sex: str
    born: date | None = None

    def __repr__(self) -> str:
        """Show the key alone, so that no log has the name."""
        return f"Person(key={self.key!r})"


@dataclass(frozen=True, slots=True)
class Mark:
    """An identifier in a note.

    start, end (int): character offsets in the text without mark-up.
    label (str): canonical label.
    key (str): key of a person, a place or an institution; "" for none.
    kind (str): kind of a number with a check digit; "" for none.
    cases (frozenset[str]): the modifiers among `CASES`.
    fixed (bool): whether the text stays when the note is filled.
    bad (bool): whether the check digit is wrong on purpose.
    """

    start: int
    end: int
    label: str
    key: str = ""
    kind: str = ""
    cases: frozenset[str] = frozenset()
    fixed: bool = False
    bad: bool = False


@dataclass(frozen=True, slots=True)
class AuthoredNote:
    """A note that was written by hand.

    brief (str): name of the brief, such as "en-t01": language, split ("t" or "d") and number of the writer.
    number (int): number of the note in the brief.
    text (str): the note without mark-up.
    marks (tuple[Mark, ...]): in the order of the text, disjoint.
    persons (Mapping[str, Person]): by key.
    fields (Mapping[str, str]): "genre", "institution", "date" (ISO) and, if given, "unmarked" and "doubt".
    """

    brief: str
    number: int
    text: str = field(repr=False)
    marks: tuple[Mark, ...] = ()
    persons: Mapping[str, Person] = field(default_factory=dict, repr=False)
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """str: brief and number, such as "en-t01-04"."""
        return f"{self.brief}-{self.number:02}"

    @property
    def lang(self) -> str:
        """str: code of the language."""
        return self.brief[:2]

    @property
    def split(self) -> str:
        """str: "train" or "dev"."""
        return "dev" if self.brief[3] == "d" else "train"

    def annotated(self) -> AnnotatedText:
        """Return the note as it was written, with its entities."""
        return AnnotatedText(self.name, self.text, tuple(Entity(m.start, m.end, m.label) for m in self.marks))


def read_authored(path: Path) -> list[AuthoredNote]:
    """Read the notes of a file, or of all ``.txt`` files of a folder and its folders.

    path (Path): file or folder.
    RETURNS (list[AuthoredNote]): in the order of the files' names and of the notes.
    RAISES: InputError naming file and line if a file cannot be read, is not UTF-8, or has mark-up that does not parse,
        an unknown label or modifier, or a person that is not declared (D613); if the folder has no notes (D615).
    """
    files = sorted(path.rglob("*.txt")) if path.is_dir() else [path]
    notes = [note for file in files for note in _read_file(file)]
    if not notes:
        raise InputError(Errors.D615.format(path=path))
    return notes


def _read_file(path: Path) -> Iterator[AuthoredNote]:
    """Yield the notes of a file. RAISES: InputError (D613) as `read_authored`."""
    try:
        lines = path.read_text(encoding="utf8").split("\n")
    except (OSError, UnicodeError) as error:
        raise InputError(Errors.D613.format(path=path, line=1, reason=describe(error))) from None
    first = re.fullmatch(r"#! brief: ([a-z]{2}-[td]\d{2,3})", lines[0].strip())
    if not first:
        raise InputError(Errors.D613.format(path=path, line=1, reason="the first line must be '#! brief: NAME'"))
    starts = [i for i, line in enumerate(lines) if _NOTE.fullmatch(line)]
    if any(line.strip() for line in lines[1 : starts[0] if starts else len(lines)]):
        raise InputError(Errors.D613.format(path=path, line=2, reason="text before the first note"))
    numbers = set()
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        try:
            note = parse_note(lines[start + 1 : stop], first[1], int(_NOTE.fullmatch(lines[start])[1]))  # type: ignore[index]
        except _MarkupError as error:
            where = start + 2 + error.line
            raise InputError(Errors.D613.format(path=path, line=where, reason=error.reason)) from None
        if note.number in numbers:
            raise InputError(Errors.D613.format(path=path, line=start + 1, reason="a number that occurs twice"))
        numbers.add(note.number)
        yield note


class _MarkupError(ValueError):
    """A fault in a note. The reason has no text of the note.

    line (int): number of the line in the note, from 0.
    reason (str): what is wrong.
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.reason = line, reason


def parse_note(lines: list[str], brief: str, number: int) -> AuthoredNote:
    """Parse a note.

    lines (list[str]): the lines after ``=== NUMBER``.
    brief (str): name of the brief.
    number (int): number of the note.
    RETURNS (AuthoredNote): the note. Empty lines at its beginning and end are removed.
    RAISES: ValueError with the attributes "line" and "reason" if the mark-up is wrong.
    """
    fields, persons, at = dict[str, str](), dict[str, Person](), 0
    while at < len(lines) and lines[at].startswith("#!"):
        line = lines[at][2:].strip()
        if match := _FIELD.fullmatch(line):
            fields[match[1]] = f"{fields[match[1]]}, {match[2]}" if match[1] in fields else match[2]
        elif match := _PERSON.fullmatch(line):
            if match[1] in persons:
                raise _MarkupError(at, "a person that is declared twice")
            persons[match[1]] = _read_person(match, at)
        else:
            raise _MarkupError(at, "a line '#!' that is neither a field nor a person")
        at += 1
    for name in _REQUIRED:
        if name not in fields:
            raise _MarkupError(0, f"no line '#! {name}: …'")
    _read_day(fields["date"], 0)
    while at < len(lines) and not lines[at].strip():
        at += 1
    parts, marks, length, last = list[str](), list[Mark](), 0, 0
    body = "\n".join(lines[at:]).rstrip()
    for match in _MARK.finditer(body):
        before = body[last : match.start()]
        _check_plain(before, at + body.count("\n", 0, last))
        length += len(before)
        marks.append(_read_mark(match, length, persons, at + body.count("\n", 0, match.start())))
        parts += [before, match[1]]
        length, last = length + len(match[1]), match.end()
    _check_plain(body[last:], at + body.count("\n", 0, last))
    return AuthoredNote(brief, number, "".join([*parts, body[last:]]), tuple(marks), persons, fields)


def _read_person(match: re.Match[str], line: int) -> Person:
    """Read the declaration of a person."""
    given, surnames = tuple(match[2].split()), tuple(match[3].split())
    if not given and not surnames:
        raise _MarkupError(line, "a person without a name")
    born = _read_day(match[5], line) if match[5] else None
    return Person(match[1], given, surnames, "female" if match[4] == "f" else "male", born)


def _read_day(text: str, line: int) -> date:
    """Read an ISO date."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _MarkupError(line, "a date that is not written as 2024-01-31") from None


def _read_mark(match: re.Match[str], start: int, persons: Mapping[str, Person], line: int) -> Mark:
    """Read a mark and check its label, its modifiers and its person."""
    text, (label, *modifiers) = match[1], match[2].split()
    if label not in LABELS:
        raise _MarkupError(line, f"unknown label '{label}'")
    if not text.strip() or text != text.strip():
        raise _MarkupError(line, f"a mark {label} that is empty or has blanks at its edges")
    cases = frozenset(modifiers) & CASES
    kinds = [m.removeprefix("kind=") for m in modifiers if m.startswith("kind=")]
    keys = [m for m in modifiers if m not in CASES | {"=", "bad"} and not m.startswith("kind=")]
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise _MarkupError(line, f"unknown kind '{unknown[0]}'")
    if len(keys) > 1 or len(kinds) > 1:
        raise _MarkupError(line, f"a mark {label} with two keys or kinds")
    if label in NAMES and (not keys or keys[0] not in persons):
        raise _MarkupError(line, f"a mark {label} without the key of a declared person")
    key, kind = "".join(keys), "".join(kinds)
    return Mark(start, start + len(text), label, key, kind, cases, "=" in modifiers, "bad" in modifiers)


def _check_plain(text: str, line: int) -> None:
    """Check that text between marks, which begins in a line, has no broken mark and no header line."""
    if broken := _BROKEN.search(text):
        raise _MarkupError(line + text.count("\n", 0, broken.start()), "a mark that does not parse")
    for i, part in enumerate(text.split("\n")):
        if i and (part.startswith("#!") or _NOTE.fullmatch(part)):
            raise _MarkupError(line + i, "a line '#!' or '=== NUMBER' inside a note")


# ---------------------------------------------------------------- checks


def find_unmarked(note: AuthoredNote) -> list[str]:
    """Find words of marked names, places and institutions that stand unmarked elsewhere in a note.

    note (AuthoredNote): the note. A word that its field "unmarked" gives a reason for is not reported.
    RETURNS (list[str]): the words, sorted. Words of less than four letters and words in lower case are not compared.
    """
    reasons = note.fields.get("unmarked", "").casefold()
    found = set()
    for value in {note.text[m.start : m.end] for m in note.marks if m.label in _COMPARED}:
        for word in _WORD.findall(value):
            if word[0].islower() or word.casefold() in reasons:
                continue
            places = re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", note.text, re.IGNORECASE)
            if any(not any(m.start <= p.start() < m.end for m in note.marks) for p in places):
                found.add(word)
    return sorted(found)


def find_shared_runs(notes: Iterable[AuthoredNote], size: int = 7) -> list[tuple[str, str]]:
    """Find notes that share a run of words.

    notes (Iterable[AuthoredNote]): the notes. Runs with three or more words that have a digit or less than three
        characters, as in doses and results of a laboratory, are not compared.
    size (int): number of words.
    RETURNS (list[tuple[str, str]]): the names of two notes, each pair once.
    """
    seen: dict[tuple[str, ...], str] = {}
    pairs = set()
    for note in notes:
        words = re.findall(r"\w+", note.text.casefold())
        for i in range(len(words) - size + 1):
            run = tuple(words[i : i + size])
            short = sum(len(word) < 3 or any(map(str.isdigit, word)) for word in run)
            if short < 3 and seen.setdefault(run, note.name) != note.name:
                pairs.add((seen[run], note.name))
    return sorted(pairs)


def age_agrees(note: AuthoredNote) -> bool:
    """Test whether the age of the patient agrees with the date of birth and the date of the note.

    note (AuthoredNote): the note. Compared are ages that stand close behind the patient's name, in years.
    RETURNS (bool): False if the birth of the patient is declared, the patient is older than three, and an age that
        stands close behind the name differs by two years or more. True if there is nothing to compare, or if a field
        "doubt" of the note begins with "age".
    """
    patient = note.persons.get("patient")
    if patient is None or patient.born is None or re.search(r"(^|, )age\b", note.fields.get("doubt", "")):
        return True
    years = (date.fromisoformat(note.fields["date"]) - patient.born).days / 365.2425
    ages = [
        int(number[0])
        for before, mark in pairwise(note.marks)
        if mark.label == "AGE" and before.key == "patient" and before.label in NAMES and mark.start - before.end < 20
        if (number := re.match(r"\d++(?![A-Z])", note.text[mark.start : mark.end]))
    ]
    return years < 3 or all(abs(age - years) < 2 for age in ages)
