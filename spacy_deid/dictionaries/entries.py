"""What a dictionary made from an EHR consists of."""

from collections import Counter
from typing import NamedTuple

from ..errors import ConfigError, Errors
from ..labels import LABELS
from .normalise import normal_form
from .terms import MAX_LENGTH, is_too_general

__all__ = ["CONDITIONS", "OWN", "LocalEntry", "Tag", "Tags", "check_entry"]

CONDITIONS = ("", "name")
OWN = "patient:"  # what the rules of a patient's own terms begin with in evidence


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
    term = normal_form(entry.term)
    if not term:
        reason = "empty"
    elif len(term) > MAX_LENGTH:
        reason = f"longer than {MAX_LENGTH} characters"
    elif not term.isascii() and _is_broken(term):
        reason = "half of a surrogate pair"
    elif not entry.condition and is_too_general(term):
        reason = "would match nearly everywhere"
    else:
        return term
    skipped[entry.rule, reason] += 1
    return ""


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
