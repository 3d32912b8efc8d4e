"""Parse and check notes that were written by hand, in which the writer has marked the identifiers.

A file contains the notes of one writer. The first line names the brief (the writer's task). Each note begins with
``=== NUMBER`` and a header of lines that begin with ``#!``:

    #! brief: en-t01
    === 1
    #! genre: nursing shift note
    #! institution: Harrowgate Infirmary
    #! date: 2019-11-07
    #! patient = Marjorie Anne / Ellwood, f, 1951-03-12
    #! unmarked: Hope (verb)
    Pt [Ellwood, M. A.](PATIENT patient), [68 y](AGE), settled. NHS no [943 476 5919](NATIONAL_ID kind=nhs)

A mark consists of the text of the identifier in brackets and, in parentheses, its label and any of these modifiers:

    patient     the key of a person declared in the header, or of values that belong together, such as a town and
                its postal code
    kind=nhs    the kind of a number with a check digit
    bad         the check digit is wrong on purpose
    gen         the grammatical case of an inflected name or place; "poss" for a possessive suffix, "cpd" for a part
                of a compound
    =           the text is kept when the note is filled with other values (see `refill`)

All other text is literal, also brackets without a label after them.
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
"""Labels of names. A mark with one of them must have the key of a declared person."""

CASES = frozenset("gen par ine ela ill ade abl all ess tra poss cpd".split())
"""Modifiers that state the grammatical case of an inflected name or place, a possessive suffix or a compound."""

KINDS = frozenset("nhs chi ssn npi dea dni nie nuss hetu personnummer curp rfc rut cuit iban luhn imei vin".split())
"""Kinds of numbers with a check digit, for the modifier "kind="."""

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
    """A person of an authored note, declared in its header.

    key (str): the key with which marks refer to the person, such as "patient".
    given, surnames (tuple[str, ...]): the words of the given names and of the surnames; one of them can be empty.
    sex (str): "female" or "male".
    born (Optional[date]): date of birth; None if it is not declared.
    """

    key: str
    given: tuple[str, ...]
    surnames: tuple[str, ...]
    sex: str
    born: date | None = None

    def __repr__(self) -> str:
        """Show only the key, so that the name does not get into logs."""
        return f"Person(key={self.key!r})"


@dataclass(frozen=True, slots=True)
class Mark:
    """An identifier that is marked in an authored note; see the docstring of this module.

    start, end (int): character offsets in the text without mark-up.
    label (str): canonical label.
    key (str): key of the person, place or institution; "" for none.
    kind (str): kind of a number with a check digit, one of `KINDS`; "" for none.
    cases (frozenset[str]): its modifiers that are in `CASES`.
    fixed (bool): whether `refill` keeps the text.
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
    """A note written by hand, with its marked identifiers.

    brief (str): name of the writer's task, such as "en-t01": language, split and number. The split is "t" (train),
        "d" (dev) or "x" (test).
    number (int): number of the note within the brief.
    text (str): the note without mark-up.
    marks (tuple[Mark, ...]): the identifiers, disjoint and in the order of the text.
    persons (Mapping[str, Person]): key → person.
    fields (Mapping[str, str]): fields of the header: "genre", "institution", "date" (ISO 8601) and, if given,
        "unmarked" (words that are not identifiers, with the reason) and "doubt" (remarks of the writer).
    """

    brief: str
    number: int
    text: str = field(repr=False)
    marks: tuple[Mark, ...] = ()
    persons: Mapping[str, Person] = field(default_factory=dict, repr=False)
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Brief and number of the note, such as "en-t01-04"."""
        return f"{self.brief}-{self.number:02}"

    @property
    def lang(self) -> str:
        """ISO 639-1 code of the language."""
        return self.brief[:2]

    @property
    def split(self) -> str:
        """The split that the note belongs to: "train", "dev" or "test"."""
        return {"d": "dev", "x": "test"}.get(self.brief[3], "train")

    def annotated(self) -> AnnotatedText:
        """Convert the marks to entities and return the note with its original text."""
        return AnnotatedText(self.name, self.text, tuple(Entity(m.start, m.end, m.label) for m in self.marks))


def read_authored(path: Path) -> list[AuthoredNote]:
    """Read notes that were written by hand, with marked identifiers, from a file or from all ``.txt`` files in a
    folder and its subfolders. The docstring of this module describes the format.

    path (Path): the file or folder.
    RETURNS (list[AuthoredNote]): the notes, sorted by path and in the order of each file.
    RAISES: InputError with file and line (D613) if a file cannot be read or is not UTF-8, or a mark is malformed, has
        an unknown label, contains an unknown word after the label ("kind=nhs"), or refers to a person who has no line
        in the header of the note; InputError (D615) if there are no notes.
    """
    files = sorted(path.rglob("*.txt")) if path.is_dir() else [path]
    notes = [note for file in files for note in _read_file(file)]
    if not notes:
        raise InputError(Errors.D615.format(path=path))
    return notes


def _read_file(path: Path) -> Iterator[AuthoredNote]:
    """Parse the notes of one file and yield them. RAISES: InputError (D613), see `read_authored`."""
    try:
        lines = path.read_text(encoding="utf8").split("\n")
    except (OSError, UnicodeError) as error:
        raise InputError(Errors.D613.format(path=path, line=1, reason=describe(error))) from None
    first = re.fullmatch(r"#! brief: ([a-z]{2}-[tdx]\d{2,3})", lines[0].strip())
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
    """Raised for malformed mark-up. It does not quote the note.

    line (int): index of the line in the note, from 0.
    reason (str): what is wrong.
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.reason = line, reason


def parse_note(lines: list[str], brief: str, number: int) -> AuthoredNote:
    """Parse the header and the mark-up of one note.

    lines (list[str]): the lines after ``=== NUMBER``.
    brief (str): name of the brief.
    number (int): number of the note.
    RETURNS (AuthoredNote): the note, without empty lines at its beginning and end.
    RAISES: ValueError with the attributes "line" and "reason" if the mark-up is malformed.
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
    """Convert a matched header line to a `Person`. RAISES: _MarkupError for an empty name or an invalid date."""
    given, surnames = tuple(match[2].split()), tuple(match[3].split())
    if not given and not surnames:
        raise _MarkupError(line, "a person without a name")
    born = _read_day(match[5], line) if match[5] else None
    return Person(match[1], given, surnames, "female" if match[4] == "f" else "male", born)


def _read_day(text: str, line: int) -> date:
    """Parse a date in ISO 8601 format. RAISES: _MarkupError if it has another format."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise _MarkupError(line, "a date that is not written as 2024-01-31") from None


def _read_mark(match: re.Match[str], start: int, persons: Mapping[str, Person], line: int) -> Mark:
    """Convert a matched mark to a `Mark`. RAISES: _MarkupError for an invalid label, modifier or person."""
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
    """Check that the text between two marks has no malformed mark and no header line; `line` is its first line."""
    if broken := _BROKEN.search(text):
        raise _MarkupError(line + text.count("\n", 0, broken.start()), "a mark that does not parse")
    for i, part in enumerate(text.split("\n")):
        if i and (part.startswith("#!") or _NOTE.fullmatch(part)):
            raise _MarkupError(line + i, "a line '#!' or '=== NUMBER' inside a note")


# ---------------------------------------------------------------- checks


def find_unmarked(note: AuthoredNote) -> list[str]:
    """Find words that are marked as names, places or institutions in a note but also occur in it without a mark.

    note (AuthoredNote): the note. Words that its header field "unmarked" explains are not reported.
    RETURNS (list[str]): the words, sorted. Words with fewer than four letters and words in lower case are not checked.
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
    """Find pairs of notes that share a sequence of words, because one may be copied from the other.

    notes (Iterable[AuthoredNote]): the notes.
    size (int): length of the sequence in words. Sequences such as doses and laboratory results are not compared:
        those with three or more words that contain a digit or have fewer than three characters.
    RETURNS (list[tuple[str, str]]): the names of the two notes; each pair once.
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
    """Test whether the age of the patient in a note agrees with the date of birth and the date of the note.

    note (AuthoredNote): the note. Only ages in years that follow closely after the patient's name are compared.
    RETURNS (bool): False if such an age differs by two years or more. True otherwise, and also if the date of
        birth is not declared, the patient is younger than three, or a header field "doubt" begins with "age".
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
