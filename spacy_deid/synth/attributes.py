"""Attributes that every language has: names, dates, ages, numbers, addresses of the net."""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..lang.text import fold
from .dates import format_day
from .identity import Person

if TYPE_CHECKING:
    from .values import Filler

__all__ = ["BUILT_IN"]

_RANGE = re.compile(r"([+-]?\d+)(?:\.\.([+-]?\d+))?")

Built = tuple[str, tuple[str, ...]]


def _name(self: "Filler", person: Person, key: str, default: str) -> str:
    """A name in one of the language's forms."""
    forms = self.settings.get("names", {}).get(key, [default])
    return self.plain(self.case.rng.choice(forms), person.who)


def _initials(self: "Filler", person: Person, filters: tuple[str, ...]) -> Built:
    letters = [word[0] for word in f"{person.given} {person.surname}".split() if word[0].isupper()]
    return self.case.rng.choice(["{}"] * 2 + ["{}."]).format(".".join(letters)) if len(letters) > 1 else letters[
        0
    ], filters


def _middle(self: "Filler", person: Person, filters: tuple[str, ...]) -> Built:
    if "middle" not in person.known:
        person.known["middle"] = self.case.draw_name(person.sex)
    return person.known["middle"], filters


def _offset(self: "Filler", filters: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """The number or the range among the filters, and the other filters."""
    offset, rest = 0, []
    for name in filters:
        if match := _RANGE.fullmatch(name):
            low = int(match[1])
            offset = self.case.rng.randint(low, int(match[2])) if match[2] else low
        else:
            rest.append(name)
    return offset, tuple(rest)


def _date(self: "Filler", person: Person, filters: tuple[str, ...]) -> Built:
    offset, rest = _offset(self, filters)
    return format_day(self.case, self.case.day + timedelta(days=offset), rest)


def _birth_date(self: "Filler", person: Person, filters: tuple[str, ...]) -> Built:
    return format_day(self.case, person.born, filters)


def _age_years(self: "Filler", person: Person, filters: tuple[str, ...]) -> Built:
    offset, rest = _offset(self, filters)
    return _number_text(self, max(1, person.age(self.case.day) + offset), rest)


def _age(self: "Filler", person: Person, filters: tuple[str, ...]) -> Built:
    """Years, or months of a baby, with the unit."""
    offset, rest = _offset(self, filters)
    years = person.age(self.case.day) + offset
    months = (self.case.day - person.born).days * 12 // 365
    unit, number = ("months", max(2, months)) if years < 2 and not offset else ("years", max(2, years))
    text, rest = _number_text(self, number, rest)
    default = {"years": ["{n} years"], "months": ["{n} months"]}
    forms = self.case.language.get("ages", unit, default[unit])
    return self.case.rng.choice(forms).replace("{n}", text), rest


def _number_text(self: "Filler", number: int, filters: tuple[str, ...]) -> Built:
    """A number in digits, or in words where a filter says so and the language has the word."""
    words = self.case.language.get("numbers", "words", [])
    if "words" not in filters:
        return str(number), filters
    text = words[number] if number < len(words) else str(number)
    return text, tuple(name for name in filters if name != "words")


def _number(self: "Filler", person: Person, filters: tuple[str, ...]) -> Built:
    offset, rest = _offset(self, filters)
    return _number_text(self, offset, rest)


def _time(self: "Filler", person: Person, filters: tuple[str, ...]) -> Built:
    hour, minute = self.case.rng.randrange(24), self.case.rng.randrange(60)
    form = self.case.rng.choice(self.case.language.get("dates", "times", ["{h:02}:{m:02}"]))
    return form.format(h=hour, m=minute), filters


def _sex(self: "Filler", person: Person, filters: tuple[str, ...]) -> Built:
    """The word for a sex: of a child below 14, or the form that the first filter names."""
    words = self.settings.get("sex", {"male": ["male"], "female": ["female"]})
    form = next((name for name in filters if f"{name}_{person.sex}" in words), "")
    child = f"child_{person.sex}"
    key = f"{form}_{person.sex}" if form else person.sex
    if not form and person.age(self.case.day) < 14 and child in words:
        key = child
    return self.case.rng.choice(words[key]), tuple(name for name in filters if name != form)


def _letters(name: str) -> str:
    """What an address or a user name has of a name."""
    return "".join(char for char in fold(name) if char.isascii() and char.isalnum()) or "x"


def _login(self: "Filler", person: Person) -> str:
    """A user name made from the name."""
    given, surname = _letters(person.given.split()[0]), _letters(person.surnames[0])
    second = _letters(person.surnames[-1])
    number = self.case.rng.choice(["", "", f"{person.born:%y}", str(self.case.rng.randrange(1, 100))])
    forms = [f"{given}.{surname}", f"{given[0]}{surname}{second[:3]}", f"{surname}{given[0]}", f"{given}{surname}"]
    return self.case.rng.choice([*forms, f"{given[:3]}{surname[:5]}", f"{given}_{surname}"]) + number


def _username(self: "Filler", person: Person, filters: tuple[str, ...]) -> Built:
    return person.known.setdefault("username", _login(self, person)), filters


def _email(self: "Filler", person: Person, filters: tuple[str, ...]) -> Built:
    if "email" not in person.known:
        work = "work" if person.role.label == "CLINICIAN" else "domains"
        domain = self.case.rng.choice(self.case.language.get("email", work, ["example.org"]))
        person.known["email"] = f"{_login(self, person)}@{self.plain(domain, person.who)}"
    return person.known["email"], filters


BUILT_IN: Mapping[str, Callable[["Filler", Person, tuple[str, ...]], Built]] = MappingProxyType(
    {
        "given": lambda self, person, filters: (person.given, filters),
        "first": lambda self, person, filters: (person.given.split()[0], filters),
        "middle": _middle,
        "surname": lambda self, person, filters: (person.surname, filters),
        "surname1": lambda self, person, filters: (person.surnames[0], filters),
        "surname2": lambda self, person, filters: (person.surnames[-1], filters),
        "full": lambda self, person, filters: (_name(self, person, "full", "{self.given} {self.surname}"), filters),
        "formal": lambda self, person, filters: (
            _name(self, person, "formal", "{self.surname}, {self.given}"),
            filters,
        ),
        "initials": _initials,
        "age": _age,
        "age_years": _age_years,
        "birth_date": _birth_date,
        "date": _date,
        "time": _time,
        "number": _number,
        "sex": _sex,
        "username": _username,
        "email": _email,
    }
)
