"""Read and check the terms of dictionaries, from term lists and from an EHR.

Each term has a label and a rule, which names its origin in the evidence of a match. Terms that would match nearly
everywhere are refused in a list and left out of an EHR dictionary.

A list is a CSV file with the header ``term,label`` or ``term,label,rule``, or a JSONL file of objects with these keys,
in UTF-8 with or without byte order mark. Each row is checked before its term is used. Errors name only the file
and the row, not the term, because a hospital's lists contain names of patients.
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
from ..lang import resource_folders
from .normalise import normal_form

MAX_LENGTH = 255
_LONG_WORD = re.compile(r"[^\W_]{2,}")  # at least two letters or digits
_COLUMNS = ("term", "label", "rule")
_ROWS_NAMED = 20


class Entry(NamedTuple):
    """A term of a word list, with its label and rule, after it was checked.

    term (str): normal form of the term.
    label (str): canonical label of its matches.
    rule (str): rule of its matches: the rule in the row, or else the name of the list.
    """

    term: str
    label: str
    rule: str


def list_name(path: str | Path) -> str:
    """Return the name of a list, which is the rule of its matches.

    path (str or Path): the file of the list.
    RETURNS (str): the file name without its suffix.
    """
    return Path(path).stem


def read_list(path: str | Path, label: str | None = None) -> Iterator[Entry]:
    """Read a term list row by row and check it. Rows are not collected, but the labels of all terms are.

    path (str or Path): a .csv or .jsonl file.
    label (str): label of the rows without one; None if every row must have a label.
    YIELDS (Entry): the rows in file order.
    RAISES: ConfigError if the file does not exist (D150) or has another type (D151), a row is invalid (D152), or a
        label is unknown (D154) or missing (D155). After the last row, ConfigError if the list has no terms (D152),
        terms that would match nearly everywhere (D153), or terms with two labels (D167).
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
    """Check terms that are given in code rather than in a file. Errors name the position of a term, from 1, as its
    row.

    terms (Iterable[str]): the terms.
    label (str): canonical label of all terms.
    name (str): rule of their matches.
    YIELDS (Entry): the terms in order.
    RAISES: ConfigError, see `read_list`.
    """
    rows = ((row, {"term": term, "label": label}) for row, term in enumerate(terms, 1))
    return _check(rows, source=name, name=name, label=None, labels=None)


def is_too_general(term: str) -> bool:
    """Check whether a term would match nearly everywhere.

    term (str): a normal form.
    RETURNS (bool): True if it has no letter or digit, or only single ones and function words: "a", "j. m.", "de la".
    """
    known = function_words()
    first = _LONG_WORD.search(term)
    if first and first[0] not in known:
        return False  # shortcut for most terms
    return all(word[0] in known for word in _LONG_WORD.finditer(term))


@cache
def function_words() -> frozenset[str]:
    """Load the function words ("the", "de") of all languages of the package. RETURNS (frozenset[str]): normal
    forms.
    """
    lines = (line for language in resource_folders() for line in language.read_lines("function_words.txt"))
    return frozenset(normal_form(word) for line in lines for word in line.split())


def _some(rows: Iterable[tuple[int, Mapping[str, Any]]], path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows unchanged. RAISES: ConfigError (D152) if there are none."""
    row = 0
    for row, values in rows:
        yield row, values
    if not row:
        raise _broken(path, 1, "the list contains no terms")


def _check(
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    source: str,
    name: str,
    label: str | None,
    labels: dict[str, str] | None,
) -> Iterator[Entry]:
    """Convert rows to entries and check them. The rows of terms that are too general or have two labels are collected,
    so that one error names them all."""
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
            raise _broken(source, row, "the rule must not be the term itself, because rules are written to logs")
        if any("\ud800" <= char <= "\udfff" for char in entry.term):
            raise _broken(source, row, "the term contains half of a surrogate pair")
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
    """Join row numbers for an error message; of a long list, only the first ones and the number of the others."""
    named = ", ".join(map(str, rows[:_ROWS_NAMED]))
    return named + (f" and {len(rows) - _ROWS_NAMED} more" if len(rows) > _ROWS_NAMED else "")


def _read_csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each row and its values by column. The number is that of the line in which the row ends; the
    header is row 1.
    """
    reader = csv.reader(_decode(path), strict=True)
    try:
        header = [column.strip().lower() for column in next(reader, [])]
        if "term" not in header or not set(header) <= set(_COLUMNS) or len(set(header)) != len(header):
            raise _broken(path, 1, "the header must be 'term,label' or 'term,label,rule'")
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                reason = f"{len(cells)} columns where the header has {len(header)}; quote terms with a comma"
                raise _broken(path, reader.line_num, reason)
            values = dict(zip(header, cells, strict=True))
            yield reader.line_num, values | {key: values[key].strip() for key in values if key != "term"}
    except csv.Error:
        raise _broken(path, reader.line_num, "invalid CSV: a quote is missing or misplaced") from None


def _read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line that is not blank, and its values by key."""
    for row, line in enumerate(_decode(path), 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except ValueError:
            raise _broken(path, row, "invalid JSON") from None
        if not isinstance(values, dict) or "term" not in values or not set(values) <= set(_COLUMNS):
            raise _broken(path, row, "must be an object with the key 'term' and optionally 'label' and 'rule'")
        yield row, values


def _decode(path: Path) -> Iterator[str]:
    """Yield the decoded lines of a file. Each line is decoded separately, so that an error can name its row."""
    with path.open("rb") as file:
        for row, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8-sig" if row == 1 else "utf-8")
            except UnicodeDecodeError:
                raise _broken(path, row, "not UTF-8") from None


def _broken(source: str | Path, row: int, reason: str) -> ConfigError:
    """Return the error (D152) for an invalid row."""
    return ConfigError(Errors.D152.format(path=source, row=row, reason=reason))


PERSONS = frozenset({"PATIENT", "RELATIVE", "CLINICIAN", "PERSON"})
"""Labels of names of persons."""

CONDITIONS = ("", "name", "capital")
LONG = f"longer than {MAX_LENGTH} characters"
GENERAL = "would match nearly everywhere"
"""Reasons for which entries of an EHR are left out of the dictionaries, as used in counts."""

OWN_PREFIX = "patient:"  # prefix of the rules of a patient's own terms in evidence


TaggedTerm = tuple[str, int]
"""The normal form of a term and the number of its tag, as written to the store."""

_NORMAL = re.compile(r"[a-z0-9.,'@()/+]+(?: [a-z0-9.,'@()/+]+)*").fullmatch  # sufficient for a normal form


class Tag(NamedTuple):
    """The properties that many terms of an EHR share: the label, the origin and the condition of a match. A tag
    contains no value of the EHR.

    label (str): canonical label.
    rule (str): the column that the term is from, as "table.column".
    condition (str): "", "name" or "capital"; see `LocalEntry`.
    """

    label: str
    rule: str
    condition: str


class LocalEntry(NamedTuple):
    """A term of a dictionary that is made from an EHR: one way of writing a value of the EHR.

    term (str): the value as it can be written in notes.
    label (str): canonical label.
    rule (str): the column that the value is from, as "table.column".
    condition (str): "" if the term always matches; "name" for a name that is also an ordinary word and matches only
        in the context of a name; "capital" for one that also matches wherever it is capitalised, or for a place that
        matches only there; see `conditions`.
    """

    term: str
    label: str
    rule: str
    condition: str = ""

    def __repr__(self) -> str:
        """Return a description without the term."""
        return f"LocalEntry(term=…, label={self.label!r}, rule={self.rule!r}, condition={self.condition!r})"


class Tags:
    """Assigns numbers to the tags (label, rule and condition) of a dictionary, with which its terms are stored.

    Tags are numbered from 1, in the order of their first use.

    known (list[Tag]): the tags in the order of their numbers; new ones are appended.
    """

    def __init__(self, known: list[Tag]) -> None:
        self.known = known
        self._numbers: dict[tuple[str, ...], int] = {tag: number for number, tag in enumerate(known, 1)}

    def number(self, entry: LocalEntry) -> int:
        """Return the number of an entry's tag (its label, rule and condition). A new tag is added.

        entry (LocalEntry): an entry; its term is ignored.
        RETURNS (int): the number, from 1.
        RAISES: ConfigError (D163) for an invalid label, rule or condition.
        """
        if (number := self._numbers.get(entry[1:])) is None:
            tag = Tag(*entry[1:])
            _check_tag(tag)
            self.known.append(tag)
            number = self._numbers[tag] = len(self.known)
        return number


def normalise_entry(entry: LocalEntry, skipped: Counter[tuple[str, str]]) -> str:
    """Normalise the term of an entry. An entry that cannot be searched for is counted as skipped.

    entry (LocalEntry): the entry.
    skipped (Counter): number of skipped entries by rule and reason; changed in place.
    RETURNS (str): the normal form; "" if the entry is skipped.
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


def prepare_entries(
    entries: Iterable[LocalEntry], tags: Tags, skipped: Counter[tuple[str, str]]
) -> Iterator[TaggedTerm]:
    """Convert entries to the form in which they are written: normal forms with the numbers of their tags.

    entries (Iterable[LocalEntry]): the entries; those that cannot be searched for are left out and counted.
    tags (Tags): the tags of the dictionary; new ones are added.
    skipped (Counter): number of skipped entries by rule and reason; changed in place.
    YIELDS (TaggedTerm): normal forms with the numbers of their tags.
    RAISES: ConfigError (D163) for an invalid label, rule or condition.
    """
    for entry in entries:
        number = tags.number(entry)
        if term := normalise_entry(entry, skipped):
            yield term, number


def _is_broken(term: str) -> bool:
    """Return whether a term contains half of a surrogate pair, which cannot be encoded."""
    try:
        term.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _check_tag(tag: Tag) -> None:
    """Check a tag. RAISES: ConfigError (D163) for an unknown label or condition, or an invalid name of a rule."""
    if tag.label not in LABELS:
        reason = "unknown label"
    elif not tag.rule or tag.rule.startswith(OWN_PREFIX):
        reason = f"the rule must be table.column and must not start with '{OWN_PREFIX}'"
    elif tag.condition not in CONDITIONS:
        reason = f"the condition must be one of {CONDITIONS}"
    else:
        return
    raise ConfigError(Errors.D163.format(rule=tag.rule, label=tag.label, reason=reason))


_SHORTEST = 2  # initials do not count as names


@cache
def name_words(lang: str = "") -> frozenset[str]:
    """Load the words of all given names and surnames in the name lists of the package.

    lang (str): ISO 639-1 code of the lists; "" for all languages.
    RETURNS (frozenset[str]): normal forms; names of several words are split.
    """
    words: set[str] = set()
    for language in resource_folders():
        if lang and language.code != lang:
            continue
        for part in ("female", "male", "surname"):
            rows = csv.reader(language.read_text(f"names/{part}.csv").splitlines()[1:])
            words.update(word for row in rows for word in normal_form(row[0]).split() if len(word) >= _SHORTEST)
    return frozenset(words)


def is_person_name(term: str) -> bool:
    """Check whether a term could be the name of a person.

    term (str): a normal form.
    RETURNS (bool): True if every word is a listed given name or surname or an initial, and at least one is not an
        initial.
    """
    words = [word.strip(".,") for word in term.split()]
    long = [word for word in words if len(word) >= _SHORTEST]
    return bool(long) and all(word in name_words() for word in long)
