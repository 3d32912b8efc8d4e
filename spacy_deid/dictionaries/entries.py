"""What a dictionary made from an EHR consists of."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import ConfigError, Errors
from ..labels import LABELS
from .normalise import normal_form
from .terms import MAX_LENGTH, is_too_general

__all__ = ["CONDITIONS", "GENERAL", "LONG", "OWN", "LocalEntry", "Ready", "Tag", "Tags", "check_entry", "make_ready"]

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
