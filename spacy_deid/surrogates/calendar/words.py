"""The words that a language writes dates with, read from ``lang/XX/calendar.toml``.

A language is added by such a file. Names of months and weekdays agree with CLDR: a test compares them with Babel,
which has the names, but neither their case forms nor a parser of text. dateutil reads dates, but forgets how they were
written.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...errors import ConfigError, Errors
from ...lang import get_language, language_codes

__all__ = ["Family", "Vocabulary", "Words", "cased", "load_words"]


@dataclass(frozen=True, slots=True)
class Family:
    """Names of the same form, one for each month, weekday, season …, in order.

    forms (tuple[str, ...]): the names.
    tail (str): regular expression of what may follow a name, such as a case ending; it stays when the name changes.
    bare (bool): whether a name says enough alone; "kesä" is a month in "12. kesä" alone.
    """

    forms: tuple[str, ...]
    tail: str = ""
    bare: bool = True


class Vocabulary:
    """All families of one kind of names.

    families (Sequence[Family]): the preferred first.
    """

    def __init__(self, families: Sequence[Family]) -> None:
        self.families = families
        self._where: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, family in enumerate(families):
            for i, form in enumerate(family.forms):
                if (number, i) not in self._where[form.lower()]:
                    self._where[form.lower()].append((number, i))

    def find(self, form: str) -> list[tuple[int, int]]:
        """The families that have a form, and its number in each."""
        return self._where.get(" ".join(form.lower().split()), [])

    def pattern(self, group: str, *, bare: bool = False) -> str:
        """Regular expression of a name and what may follow it; the group is the name alone."""
        families = [family for family in self.families if family.bare or not bare]
        if not families:
            return "(?!)"
        options = (f"(?:(?P<{group}{n}>{_options(f.forms)}){f.tail})" for n, f in enumerate(families))
        return f"(?:{'|'.join(options)}){_END}"


_END = r"(?![^\W\d_])"


def _options(forms: Sequence[str]) -> str:
    """The longest first."""
    unlike = sorted(set(forms), key=lambda form: (-len(form), form))
    return "|".join(re.escape(form).replace(r"\ ", r"\s+") for form in unlike)


@dataclass(frozen=True, slots=True)
class Words:
    """The language of dates.

    lang (str): its code.
    names (Mapping[str, Vocabulary]): "months", "weekdays", "seasons" (winter first), "days" (1 to 31 in words), "tens"
        (0 to 90) and "holidays".
    holidays (Mapping[str, tuple[int, int]]): folded name → month and day, nominal where they move.
    settings (Mapping[str, Any]): the rest of the file.
    """

    lang: str
    names: Mapping[str, Vocabulary]
    holidays: Mapping[str, tuple[int, int]]
    settings: Mapping[str, Any]


@lru_cache
def load_words(lang: str) -> Words:
    """Read the words of a language.

    lang (str): "es", "en" (of the United States), "en-GB" …; a region without a file has the file of its language.
    RETURNS (Words): the words.
    RAISES: ConfigError (D662) if there is no file.
    """
    data = _read(lang)
    names = {kind: _vocabulary(data.get(kind, [])) for kind in ("months", "weekdays", "seasons", "days", "tens")}
    nominal = [_holidays(row["forms"]) for row in data.get("holidays", [])]
    names["holidays"] = Vocabulary([Family(tuple(days)) for days in nominal])
    return Words(lang, names, {name.lower(): day for days in nominal for name, day in days.items()}, data)


def _read(lang: str) -> dict[str, Any]:
    """The settings of a language; those of a region are read upon those of its language."""
    data = get_language(lang).read_toml("calendar.toml")
    if not data:
        raise ConfigError(Errors.D662.format(lang=lang, known=", ".join(language_codes("calendar.toml"))))
    return data


def _vocabulary(rows: Sequence[Mapping[str, Any]]) -> Vocabulary:
    """Families of rows; forms stand apart by blanks, or by commas if there is one."""
    return Vocabulary(
        [Family(_split(row["forms"]), str(row.get("tail", "")), bool(row.get("bare", True))) for row in rows]
    )


def _split(forms: str) -> tuple[str, ...]:
    return tuple(form.strip() for form in (forms.split(",") if "," in forms else forms.split()))


def _holidays(forms: str) -> dict[str, tuple[int, int]]:
    """Rows "name=MM-DD"."""
    pairs = (form.split("=") for form in _split(forms))
    return {name: (int(day[:2]), int(day[3:])) for name, day in pairs}


def cased(new: str, like: str) -> str:
    """Write a word in the case of another: UPPER, lower or Title."""
    if like.isupper() and sum(c.isalpha() for c in like) > 1:
        return new.upper()
    if like.islower():
        return new.lower()
    return new[:1].upper() + new[1:] if like[:1].isupper() else new
