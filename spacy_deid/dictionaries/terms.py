"""Reading term lists, and refusing what would redact everything.

A list is a CSV file with the header ``term,label`` or ``term,label,rule``, or a JSONL file of objects with these keys.
UTF-8, with or without byte order mark. A row is checked before its term is used, and what is wrong with it is said
by file and row alone: the rows of a hospital's lists are its patients.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ConfigError, Errors
from ..labels import LABELS
from ..lang import all_languages
from .normalise import normal_form

MAX_LENGTH = 255
_LONG_WORD = re.compile(r"[^\W_]{2,}")  # of letters and digits
_COLUMNS = ("term", "label", "rule")
_ROWS_NAMED = 20


class Entry(NamedTuple):
    """One row of a list, checked.

    term (str): normal form of the term.
    label (str): canonical label.
    rule (str): name of the list, or of the rule that the row names.
    """

    term: str
    label: str
    rule: str


def list_name(path: str | Path) -> str:
    """The name that a list's detections bear: the file's name without its suffix."""
    return Path(path).stem


def read_list(path: str | Path, label: str | None = None) -> Iterator[Entry]:
    """Read a list, row by row, without holding it in memory.

    path (str or Path): a .csv or .jsonl file.
    label (str): label of the rows that have none.
    YIELDS (Entry): the rows in the order of the file.
    RAISES: ConfigError if there is no such file (D150), it is of another kind (D151), a row is broken (D152), has an
        unknown label (D154) or none (D155), or, once the file is read, if there were no terms (D152), general ones
        (D153), or a term with two labels (D167).
    """
    path = Path(path)
    readers = {".csv": _read_csv, ".jsonl": _read_jsonl}
    if path.suffix.lower() not in readers:
        raise ConfigError(Errors.D151.format(path=path))
    if not path.is_file():
        raise ConfigError(Errors.D150.format(path=path))
    rows = _some(readers[path.suffix.lower()](path), path)
    return _check(rows, source=str(path), name=list_name(path), label=label, labels={})


def check_terms(terms: Iterable[str], label: str, name: str) -> Iterator[Entry]:
    """Check terms that come from memory; the row is their place, from 1.

    terms (Iterable[str]): the terms.
    label (str): their label.
    name (str): the name that their detections bear.
    YIELDS (Entry): the terms in their order.
    RAISES: ConfigError as `read_list`.
    """
    rows = ((row, {"term": term, "label": label}) for row, term in enumerate(terms, 1))
    return _check(rows, source=name, name=name, label=None, labels=None)


def is_too_general(term: str) -> bool:
    """Whether a term would match nearly everywhere.

    term (str): a normal form.
    RETURNS (bool): True if it has no letter or digit, or nothing but single ones and function words: "a", "j. m.",
        "de la".
    """
    known = function_words()
    first = _LONG_WORD.search(term)
    if first and first[0] not in known:
        return False  # most terms, at once
    return all(word[0] in known for word in _LONG_WORD.finditer(term))


@cache
def function_words() -> frozenset[str]:
    """The normal forms of the function words that ship with the package, of all its languages together."""
    lines = (line for language in all_languages() for line in language.read_lines("function_words.txt"))
    return frozenset(normal_form(word) for line in lines for word in line.split())


def _some(rows: Iterable[tuple[int, Mapping[str, Any]]], path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Pass rows on, and refuse a file without any: whoever names a list expects something of it."""
    row = 0
    for row, values in rows:
        yield row, values
    if not row:
        raise _broken(path, 1, "no terms follow")


def _check(
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    source: str,
    name: str,
    label: str | None,
    labels: dict[str, str] | None,
) -> Iterator[Entry]:
    """Turn rows into entries. General terms, and those with two labels, are gathered, so that one run names them all.

    labels (Optional[dict[str, str]]): empty; filled with the label of each term. None if all rows have one label.
    """
    general: list[int] = []
    twice: list[int] = []
    for row, values in rows:
        for column, value in values.items():
            if not isinstance(value, str) and not (value is None and column != "term"):
                raise _broken(source, row, f"'{column}' is not a string")
        entry = Entry(normal_form(values["term"]), values.get("label") or label or "", values.get("rule") or name)
        if entry.label not in LABELS:
            message = Errors.D154 if entry.label else Errors.D155
            raise ConfigError(message.format(path=source, row=row, known=", ".join(LABELS)))
        if len(entry.term) > MAX_LENGTH:
            raise _broken(source, row, f"the term is longer than {MAX_LENGTH} characters")
        if values.get("rule") and normal_form(entry.rule) == entry.term:
            raise _broken(source, row, "the rule repeats the term, and rules are written to logs")
        if any("\ud800" <= char <= "\udfff" for char in entry.term):
            raise _broken(source, row, "the term holds half of a surrogate pair")
        if is_too_general(entry.term):
            general.append(row)
        elif labels is not None and labels.setdefault(entry.term, entry.label) != entry.label:
            twice.append(row)
        elif not general and not twice:
            yield entry
    if general:
        raise ConfigError(Errors.D153.format(path=source, rows=_name_rows(general)))
    if twice:
        raise ConfigError(Errors.D167.format(path=source, rows=_name_rows(twice)))


def _name_rows(rows: Sequence[int]) -> str:
    """The numbers of rows for an error: the first of them, and how many more there are."""
    named = ", ".join(map(str, rows[:_ROWS_NAMED]))
    return named + (f" and {len(rows) - _ROWS_NAMED} more" if len(rows) > _ROWS_NAMED else "")


def _read_csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (row number, values by column). The number is that of the line where the row ends; the header is row 1."""
    reader = csv.reader(_decode(path), strict=True)
    try:
        header = [column.strip().lower() for column in next(reader, [])]
        if "term" not in header or not set(header) <= set(_COLUMNS) or len(set(header)) != len(header):
            raise _broken(path, 1, "the header must be 'term,label' or 'term,label,rule'")
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                reason = f"{len(cells)} columns where the header has {len(header)}; quote a term that holds a comma"
                raise _broken(path, reader.line_num, reason)
            values = dict(zip(header, cells, strict=True))
            yield reader.line_num, values | {key: values[key].strip() for key in values if key != "term"}
    except csv.Error:
        raise _broken(path, reader.line_num, "not CSV: a quote is missing, or a character does not belong") from None


def _read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (row number, values by key)."""
    for row, line in enumerate(_decode(path), 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except ValueError:
            raise _broken(path, row, "not JSON") from None
        if not isinstance(values, dict) or "term" not in values or not set(values) <= set(_COLUMNS):
            raise _broken(path, row, "not an object with 'term' and at most 'label' and 'rule'")
        yield row, values


def _decode(path: Path) -> Iterator[str]:
    """Decode a file line by line, so that what is not UTF-8 can be told by its row."""
    with path.open("rb") as file:
        for row, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8-sig" if row == 1 else "utf-8")
            except UnicodeDecodeError:
                raise _broken(path, row, "not UTF-8") from None


def _broken(source: str | Path, row: int, reason: str) -> ConfigError:
    """The error for a row that cannot be used."""
    return ConfigError(Errors.D152.format(path=source, row=row, reason=reason))


CONDITIONS = ("", "name")
LONG = f"longer than {MAX_LENGTH} characters"
GENERAL = "would match nearly everywhere"
"""Why entries are left out."""

OWN = "patient:"  # what the rules of a patient's own terms begin with in evidence


Ready = tuple[str, int]
"""The normal form of a term and the number of its tag: what is written of an entry."""

_NORMAL = re.compile(r"[a-z0-9.,'@()/+]+(?: [a-z0-9.,'@()/+]+)*").fullmatch  # surely a normal form


class Tag(NamedTuple):
    """What an entry says of its term; it holds no value of the EHR.

    label (str): canonical label.
    rule (str): "table.column".
    condition (str): "" or "name".
    """

    label: str
    rule: str
    condition: str


class LocalEntry(NamedTuple):
    """One form of one value of an EHR. Its repr does not show the term.

    term (str): the form.
    label (str): canonical label.
    rule (str): where it is from, "table.column".
    condition (str): "" for everywhere, "name" for an ambiguous word that counts only in the context of a name; see
        `conditions`.
    """

    term: str
    label: str
    rule: str
    condition: str = ""

    def __repr__(self) -> str:
        """The kind of the entry without its value."""
        return f"LocalEntry(term=…, label={self.label!r}, rule={self.rule!r}, condition={self.condition!r})"


class Tags:
    """The tags of a dictionary, numbered from 1 in the order of their coming."""

    def __init__(self, known: list[Tag]) -> None:
        self.known = known
        self._numbers: dict[tuple[str, ...], int] = {tag: number for number, tag in enumerate(known, 1)}

    def number(self, entry: LocalEntry) -> int:
        """The number of an entry's tag. RAISES: ConfigError (D163) for one that cannot be."""
        if (number := self._numbers.get(entry[1:])) is None:
            tag = Tag(*entry[1:])
            _check_tag(tag)
            self.known.append(tag)
            number = self._numbers[tag] = len(self.known)
        return number


def check_entry(entry: LocalEntry, skipped: Counter[tuple[str, str]]) -> str:
    """The normal form of an entry's term, or "" if it cannot be looked for, which is counted.

    entry (LocalEntry): the entry.
    skipped (Counter): rule and reason → how many.
    RETURNS (str): the normal form, "" for an entry to leave out.
    """
    term = entry.term if _NORMAL(entry.term) else normal_form(entry.term)
    if not term:
        reason = "empty"
    elif len(term) > MAX_LENGTH:
        reason = LONG
    elif not term.isascii() and _is_broken(term):
        reason = "half of a surrogate pair"
    elif not entry.condition and is_too_general(term):
        reason = GENERAL
    else:
        return term
    skipped[entry.rule, reason] += 1
    return ""


def make_ready(entries: Iterable[LocalEntry], tags: Tags, skipped: Counter[tuple[str, str]]) -> Iterator[Ready]:
    """Make entries ready to be written.

    entries (Iterable[LocalEntry]): the entries; those that cannot be looked for are left out.
    tags (Tags): the tags of the dictionary; new ones are added.
    skipped (Counter): rule and reason → how many were left out; it is added to.
    YIELDS (Ready): normal forms and numbers of tags.
    RAISES: ConfigError (D163) for a label, rule or condition that cannot be.
    """
    for entry in entries:
        number = tags.number(entry)
        if term := check_entry(entry, skipped):
            yield term, number


def _is_broken(term: str) -> bool:
    """Whether a term holds half of a surrogate pair."""
    try:
        term.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _check_tag(tag: Tag) -> None:
    """Make sure that a tag can be written. RAISES: ConfigError (D163)."""
    if tag.label not in LABELS:
        reason = "unknown label"
    elif not tag.rule or tag.rule.startswith(OWN):
        reason = f"a rule is table.column and does not begin with '{OWN}'"
    elif tag.condition not in CONDITIONS:
        reason = f"a condition is one of {CONDITIONS}"
    else:
        return
    raise ConfigError(Errors.D163.format(rule=tag.rule, label=tag.label, reason=reason))
