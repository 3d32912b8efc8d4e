"""Fill the slots of a template: draw the value of an attribute, apply its filters, and determine its label.

An attribute is built in (names, dates, ages, numbers, user names, e-mail addresses) or described in language.toml, for
all persons (``[attributes.x]``) or for one role (``[attributes."hospital.name"]``), by one of

    list = "hospitals"        a row of a list; the column of the person's sex if there is one
    text = ["…", "…"]         a template; "self" is the person whose attribute it is
    ids = ["dni", "####-@@"]  kinds or patterns of identifiers, see `identity`

with ``label`` ("NAME" for that of a person's name; without it, the labels of the inner slots apply) and
``fresh = true`` to draw a new value for each mention.

Dates are written as by ``strftime``, with "%-d" and "%-m" without leading zero, the names of months and weekdays from
language.toml, and "%W" for the day of the month in words if the language has them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ..errors import ConfigError, Errors
from ..lang.text import fold
from .identity import Case, Person, base_of, fill_pattern, make_id
from .markup import Node, Slot, Writer, add_filters, parse, render

# labels of attributes that have the same label for all persons; names are labelled by role
LABELS_OF: Mapping[str, str] = MappingProxyType(
    {
        "age": "AGE",
        "age_years": "AGE",
        "birth_date": "DATE",
        "date": "DATE",
        "city": "CITY",
        "state": "STATE",
        "zip": "ZIP",
        "country": "COUNTRY",
        "email": "EMAIL",
        "username": "USERNAME",
    }
)
_NAMES = {"full", "given", "surname", "surname1", "surname2", "formal", "initials", "first", "middle"}


@lru_cache(maxsize=50_000)
def _parsed(source: str) -> tuple[Node, ...]:
    """Parse the template of a value; results are cached."""
    return parse(source, "a list or language.toml")


class Filler:
    """Fills the slots of a template with the attributes of the persons of one note.

    case (Case): the persons of the note.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.settings: Mapping[str, Any] = case.language.settings

    def fill(self, slot: Slot, writer: Writer) -> None:
        """Draw the value of a slot, unless it was drawn before, and write it with its label.

        slot (Slot): the slot.
        writer (Writer): receives the text and the entity.
        RAISES: ConfigError for an unknown attribute (D601) or filter (D603).
        """
        person = self.case.person(slot.who)
        attributes = self.settings.get("attributes", {})
        found = attributes.get(f"{base_of(slot.who)}.{slot.what}") or attributes.get(slot.what)
        source = found if isinstance(found, Mapping) else None
        label = self._label(slot, source)
        if source and not label and "text" in source and slot.label is None:
            nodes = _parsed(self.case.rng.choice(source["text"]))
            self.write(add_filters(nodes, slot.filters), writer, slot.who)
            return
        filters = slot.filters
        if slot.what in BUILT_IN and not source:
            text, filters = BUILT_IN[slot.what](self, person, filters)
        else:
            if slot.what not in person.known or (source or {}).get("fresh"):
                person.known[slot.what] = self._draw(person, slot, source)
            text = person.known[slot.what]
        tail = ""
        for name in filters:
            text, tail = self._filter(text, tail, name, slot)
        writer.write(text, label)
        writer.write(tail)

    def write(self, nodes: tuple[Node, ...], writer: Writer, owner: str = "") -> None:
        """Render a template with the persons of the note, and write its text and entities.

        nodes (tuple[Node, ...]): the template.
        writer (Writer): receives text and entities.
        owner (str): key of the person to whom "self" refers.
        """

        def fill(slot: Slot, writer: Writer) -> None:
            who = owner if slot.who == "self" and owner else slot.who
            self.fill(Slot(who, slot.what, slot.filters, slot.label), writer)

        def sex(who: str) -> str:
            return self.case.person(owner if who == "self" and owner else who).sex

        render(nodes, writer, fill, sex, self.case.rng)

    def _label(self, slot: Slot, source: Mapping[str, Any] | None) -> str | None:
        """Return the label of a slot, from the first that defines one: slot, language.toml, attribute, role. None if
        the value is not an identifier.
        """
        base = base_of(slot.who)
        if slot.label or base == "decoy":
            return slot.label
        labels = self.settings.get("labels", {})
        for key in (f"{base}.{slot.what}", slot.what):
            if key in labels:
                return str(labels[key])
        if source and source.get("label") != "NAME":
            return source.get("label")
        if source or slot.what in _NAMES:
            return labels.get(base) or self.case.person(slot.who).role.label or None
        return LABELS_OF.get(slot.what)

    def _draw(self, person: Person, slot: Slot, source: Mapping[str, Any] | None) -> str:
        """Draw the value of an attribute, as language.toml describes it or from the person's place."""
        rng = self.case.rng
        if source and "list" in source:
            rows = self.case.language.lists.get(source["list"])
            if not rows:
                raise ConfigError(Errors.D604.format(path="language.toml", reason=f"no list '{source['list']}'"))
            row = self.case.row(rows)
            return self.plain(row.get(person.sex) or next(iter(row.values())), person.who)
        if source and "text" in source:
            return self.plain(rng.choice(source["text"]), person.who)
        if source and "ids" in source:
            return make_id(rng.choice(source["ids"]), rng, person.bearer())
        if slot.what in person.place:
            return fill_pattern(person.place[slot.what], rng) if slot.what == "zip" else person.place[slot.what]
        raise ConfigError(Errors.D601.format(slot=f"{slot.who}.{slot.what}", lang=self.case.language.lang))

    def plain(self, source: str, owner: str) -> str:
        """Render a template to a string without entities; "self" refers to the person `owner`."""
        if "{" not in source and "[[" not in source:
            return source
        writer = Writer()
        self.write(_parsed(source), writer, owner)
        return "".join(writer.parts)

    def _filter(self, text: str, tail: str, name: str, slot: Slot) -> tuple[str, str]:
        """Apply a filter. RETURNS: the new value, and text such as "'s" that follows it outside the entity."""
        if name in _FILTERS:
            return _FILTERS[name](text), tail
        if name == "poss":
            return text, "'" if text.endswith("s") else "'s"
        case, _, possessive = name.partition("/")
        inflection = self.settings.get("inflection", {})
        if case in inflection.get("cases", ()):
            from ..lang.inflection import inflect

            kind = inflection.get("kinds", {}).get(slot.what) or _KINDS.get(slot.what, "noun")
            return inflect(text, self.case.language.lang, case, kind=kind, possessive=possessive or None), tail
        raise ConfigError(Errors.D603.format(filter=name, slot=f"{slot.who}.{slot.what}"))

    def offset(self, filters: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """Separate a numeric offset, such as a number of days, from the other filters of a slot.

        filters (tuple[str, ...]): filters; a number ("2") or a range to draw a number from ("-3..5") is the offset.
        RETURNS (tuple[int, tuple[str, ...]]): the number, 0 without one, and the other filters.
        """
        offset, rest = 0, []
        for name in filters:
            if match := _RANGE.fullmatch(name):
                low = int(match[1])
                offset = self.case.rng.randint(low, int(match[2])) if match[2] else low
            else:
                rest.append(name)
        return offset, tuple(rest)

    def number(self, number: int, filters: tuple[str, ...]) -> "Built":
        """Format a number in digits, or in words if a filter is "words" and language.toml has the word."""
        words = self.case.language.get("numbers", "words", [])
        if "words" not in filters:
            return str(number), filters
        text = words[number] if number < len(words) else str(number)
        return text, tuple(name for name in filters if name != "words")

    def day(self, day: date, filters: tuple[str, ...]) -> "Built":
        """Format a date by the first filter that is a format ("%d.%m.") or a name in ``[dates.named]``, if any."""
        settings = self.settings.get("dates", {})
        named = settings.get("named", {})
        used = next((name for name in filters if "%" in name or name in named), None)
        rest = tuple(name for name in filters if name != used)
        if used is None:
            formats: Sequence[str] = settings.get("formats", ("%d/%m/%Y",))
            usual = formats[int(self.case.style * len(formats))]
            pattern = usual if self.case.rng.random() < 0.85 else self.case.rng.choice(formats)
        else:
            pattern = used if "%" in used else self.case.rng.choice(named[used])
        indices = {
            "%B": ("months", day.month - 1),
            "%b": ("months_short", day.month - 1),
            "%A": ("weekdays", day.weekday()),
            "%a": ("weekdays_short", day.weekday()),
            "%W": ("days_in_words", day.day - 1),
        }

        def write(match: re.Match[str]) -> str:
            key, index = indices.get(match[0], ("", 0))
            if key in settings:
                return str(settings[key][index])
            plain = {"%-d": str(day.day), "%-m": str(day.month), "%Y": str(day.year)}
            return plain.get(match[0]) or day.strftime(match[0])

        return _CODE.sub(write, pattern), rest


_KINDS = {"given": "given", "first": "given", "middle": "given", "surname": "surname", "full": "name"}
_KINDS |= dict.fromkeys(("city", "state", "country", "street"), "place")
_RANGE = re.compile(r"([+-]?\d+)(?:\.\.([+-]?\d+))?")
_CODE = re.compile(r"%-?[a-zA-Z]")

# the text of a value, and the filters that must still be applied to it
Built = tuple[str, tuple[str, ...]]


def _name(self: Filler, person: Person, key: str, default: str) -> str:
    """Write a person's name in one of the forms that language.toml defines for `key`, such as "formal"."""
    forms = self.settings.get("names", {}).get(key, [default])
    return self.plain(self.case.rng.choice(forms), person.who)


def _initials(self: Filler, person: Person, filters: tuple[str, ...]) -> Built:
    """Return the initials of given name and surname, with dots between them and sometimes at the end."""
    letters = [word[0] for word in f"{person.given} {person.surname}".split() if word[0].isupper()]
    if len(letters) < 2:
        return letters[0], filters
    return self.case.rng.choice(["{}"] * 2 + ["{}."]).format(".".join(letters)), filters


def _middle(self: Filler, person: Person, filters: tuple[str, ...]) -> Built:
    """Return the middle name of a person, which is drawn at the first use."""
    if "middle" not in person.known:
        person.known["middle"] = self.case.draw_name(person.sex)
    return person.known["middle"], filters


def _date(self: Filler, person: Person, filters: tuple[str, ...]) -> Built:
    """Return the date of the note, shifted by the number of days in the filters."""
    offset, rest = self.offset(filters)
    return self.day(self.case.day + timedelta(days=offset), rest)


def _age_years(self: Filler, person: Person, filters: tuple[str, ...]) -> Built:
    """Return the age on the day of the note as a number of years, without a unit."""
    offset, rest = self.offset(filters)
    return self.number(max(1, person.age(self.case.day) + offset), rest)


def _age(self: Filler, person: Person, filters: tuple[str, ...]) -> Built:
    """Return the age on the day of the note with its unit: years, or months below two years."""
    offset, rest = self.offset(filters)
    years = person.age(self.case.day) + offset
    months = (self.case.day - person.born).days * 12 // 365
    unit, number = ("months", max(2, months)) if years < 2 and not offset else ("years", max(2, years))
    text, rest = self.number(number, rest)
    default = {"years": ["{n} years"], "months": ["{n} months"]}
    forms = self.case.language.get("ages", unit, default[unit])
    return self.case.rng.choice(forms).replace("{n}", text), rest


def _time(self: Filler, person: Person, filters: tuple[str, ...]) -> Built:
    """Return a random time of day, in one of the formats of the language."""
    hour, minute = self.case.rng.randrange(24), self.case.rng.randrange(60)
    form = self.case.rng.choice(self.case.language.get("dates", "times", ["{h:02}:{m:02}"]))
    return form.format(h=hour, m=minute), filters


def _sex(self: Filler, person: Person, filters: tuple[str, ...]) -> Built:
    """Return the word for a person's sex. A filter selects a form; children under 14 can have words of their own."""
    words = self.settings.get("sex", {"male": ["male"], "female": ["female"]})
    form = next((name for name in filters if f"{name}_{person.sex}" in words), "")
    child = f"child_{person.sex}"
    key = f"{form}_{person.sex}" if form else person.sex
    if not form and person.age(self.case.day) < 14 and child in words:
        key = child
    return self.case.rng.choice(words[key]), tuple(name for name in filters if name != form)


def _login(self: Filler, person: Person) -> str:
    """Invent a user name from the ASCII letters of a person's name."""
    names = (person.given.split()[0], person.surnames[0], person.surnames[-1])
    plain = ("".join(char for char in fold(name) if char.isascii() and char.isalnum()) or "x" for name in names)
    given, surname, second = plain
    number = self.case.rng.choice(["", "", f"{person.born:%y}", str(self.case.rng.randrange(1, 100))])
    forms = [f"{given}.{surname}", f"{given[0]}{surname}{second[:3]}", f"{surname}{given[0]}", f"{given}{surname}"]
    return self.case.rng.choice([*forms, f"{given[:3]}{surname[:5]}", f"{given}_{surname}"]) + number


def _email(self: Filler, person: Person, filters: tuple[str, ...]) -> Built:
    """Return the e-mail address of a person; that of a clinician has the domain of a workplace."""
    if "email" not in person.known:
        work = "work" if person.role.label == "CLINICIAN" else "domains"
        domain = self.case.rng.choice(self.case.language.get("email", work, ["example.org"]))
        person.known["email"] = f"{_login(self, person)}@{self.plain(domain, person.who)}"
    return person.known["email"], filters


BUILT_IN: Mapping[str, Callable[[Filler, Person, tuple[str, ...]], Built]] = MappingProxyType(
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
        "birth_date": lambda self, person, filters: self.day(person.born, filters),
        "date": _date,
        "time": _time,
        "number": lambda self, person, filters: self.number(*self.offset(filters)),
        "sex": _sex,
        "username": lambda self, person, filters: (
            person.known.setdefault("username", _login(self, person)),
            filters,
        ),
        "email": _email,
    }
)


def _unaccented(text: str) -> str:
    """Remove accents, keeping the case of the letters."""
    return "".join(fold(char).upper() if char.isupper() else fold(char) or char for char in text)


_FILTERS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "upper": str.upper,
        "lower": str.lower,
        "cap": lambda text: text[:1].upper() + text[1:],
        "title": lambda text: " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" ")),
        "initial": lambda text: " ".join(f"{word[0].upper()}." for word in text.split() if word[0].isalpha()),
        "first": lambda text: text.split()[0],
        "plain": _unaccented,
        "tight": lambda text: "".join(text.split()),
    }
)
