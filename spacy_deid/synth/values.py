"""What a slot becomes: the value of an attribute, its filters and its label.

An attribute is built in (names, dates, ages, places) or described in language.toml, for everybody (``[attributes.x]``)
or for one role (``[attributes."hospital.name"]``), by one of

    list = "hospitals"        a row of a list; the column of the person's sex where there is one
    text = ["…", "…"]         a template; "self" is the one whose attribute it is
    ids = ["dni", "####-@@"]  kinds or patterns of `ids`

with ``label`` ("NAME" for that of a person's name; without it, the labels of the inner slots stay) and
``fresh = true`` to draw anew at each mention.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ..errors import ConfigError, Errors
from ..lang.text import fold
from .attributes import BUILT_IN
from .identity import Case, Person, base_of
from .ids import fill_pattern, make_id
from .markup import Node, Slot, Writer, add_filters, parse, render

__all__ = ["LABELS_OF", "Filler"]

# Labels of attributes that say the same of everybody; names are labelled by role.
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
    return parse(source, "a list or language.toml")


class Filler:
    """Fills the slots of a note.

    case (Case): the cast.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.settings: Mapping[str, Any] = case.language.settings

    def fill(self, slot: Slot, writer: Writer) -> None:
        """Write the value of a slot.

        slot (Slot): what to write.
        writer (Writer): takes text and entity.
        RAISES: ConfigError if there is no such attribute (D601) or filter (D603).
        """
        person = self.case.person(slot.who)
        source = self._source(slot)
        label = self._label(slot, source)
        if source and not label and "text" in source and slot.label is None:
            nodes = _parsed(self.case.rng.choice(source["text"]))
            self.write(add_filters(nodes, slot.filters), writer, slot.who)
            return
        text, filters = self._value(person, slot, source)
        tail = ""
        for name in filters:
            text, tail = self._filter(text, tail, name, slot)
        writer.write(text, label)
        writer.write(tail)

    def write(self, nodes: tuple[Node, ...], writer: Writer, owner: str = "") -> None:
        """Render a template.

        nodes (tuple[Node, ...]): the template.
        writer (Writer): takes text and entities.
        owner (str): who "self" is.
        """

        def fill(slot: Slot, writer: Writer) -> None:
            who = owner if slot.who == "self" and owner else slot.who
            self.fill(Slot(who, slot.what, slot.filters, slot.label), writer)

        def sex(who: str) -> str:
            return self.case.person(owner if who == "self" and owner else who).sex

        render(nodes, writer, fill, sex, self.case.rng)

    def _source(self, slot: Slot) -> Mapping[str, Any] | None:
        """The description of an attribute in language.toml, the role's own first."""
        attributes = self.settings.get("attributes", {})
        found = attributes.get(f"{base_of(slot.who)}.{slot.what}") or attributes.get(slot.what)
        return found if isinstance(found, Mapping) else None

    def _label(self, slot: Slot, source: Mapping[str, Any] | None) -> str | None:
        """The label of a slot: its own, the language's, the attribute's, the role's."""
        if slot.label or base_of(slot.who) == "decoy":
            return slot.label
        labels = self.settings.get("labels", {})
        base = base_of(slot.who)
        for key in (f"{base}.{slot.what}", slot.what):
            if key in labels:
                return str(labels[key])
        if source and source.get("label") != "NAME":
            return source.get("label")
        if source or slot.what in _NAMES:
            return labels.get(base) or self.case.person(slot.who).role.label or None
        return LABELS_OF.get(slot.what)

    def _value(self, person: Person, slot: Slot, source: Mapping[str, Any] | None) -> tuple[str, tuple[str, ...]]:
        """The value, and the filters that are left to apply."""
        if slot.what in BUILT_IN and not source:
            return BUILT_IN[slot.what](self, person, slot.filters)
        if slot.what not in person.known or (source or {}).get("fresh"):
            person.known[slot.what] = self._draw(person, slot, source)
        return person.known[slot.what], slot.filters

    def _draw(self, person: Person, slot: Slot, source: Mapping[str, Any] | None) -> str:
        """Draw a value from language.toml or from the row of the person's place."""
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
        """Render a template without its labels. source (str): the template. owner (str): who "self" is."""
        if "{" not in source and "[[" not in source:
            return source
        writer = Writer()
        self.write(_parsed(source), writer, owner)
        return "".join(writer.parts)

    def _filter(self, text: str, tail: str, name: str, slot: Slot) -> tuple[str, str]:
        """Apply a filter to a value and what stands behind its span."""
        if name in _FILTERS:
            return _FILTERS[name](text), tail
        if name == "poss":
            return text, "'" if text.endswith("s") else "'s"
        case, _, possessive = name.partition("/")
        if case in self.settings.get("inflection", {}).get("cases", ()):
            from ..lang.inflection import inflect

            kind = self.settings["inflection"].get("kinds", {}).get(slot.what, _kind(slot.what))
            return inflect(text, self.case.language.lang, case, kind=kind, possessive=possessive or None), tail
        raise ConfigError(Errors.D603.format(filter=name, slot=f"{slot.who}.{slot.what}"))


def _kind(what: str) -> str:
    """What kind of word an attribute is, for its inflection."""
    kinds = {"given": "given", "first": "given", "middle": "given", "surname": "surname", "full": "name"}
    return kinds.get(what) or ("place" if what in ("city", "state", "country", "street") else "noun")


def _initial(text: str) -> str:
    return " ".join(f"{word[0].upper()}." for word in text.split() if word[0].isalpha())


def _unaccented(text: str) -> str:
    """Without accents, the case of the letters kept."""
    return "".join(fold(char).upper() if char.isupper() else fold(char) or char for char in text)


_FILTERS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "upper": str.upper,
        "lower": str.lower,
        "cap": lambda text: text[:1].upper() + text[1:],
        "title": lambda text: " ".join(word[:1].upper() + word[1:].lower() for word in text.split(" ")),
        "initial": _initial,
        "first": lambda text: text.split()[0],
        "plain": _unaccented,
        "tight": lambda text: "".join(text.split()),
    }
)
