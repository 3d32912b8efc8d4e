"""Read a profile, the allow-list that says what is done with each field of each segment.

A profile is a TOML file; ``resources/hl7/profile.toml`` ships with the package and explains its keys.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors
from ..export_profiles import ProfileParser
from ..labels import LABELS

ACTIONS = frozenset(
    {"keep", "number", "date", "text", "name", "contact", "identifier", "display", "id", "value", "file"}
)
"""What can be done with a value; "label" and "type" have tables of their own."""

KINDS = frozenset({"given", "surname", "full", "phone", "email", "id", "street", "zip", "city", "organization"})
"""What a component can be in the dictionary of an export; see `ehr.export_dictionary`."""

SOURCES = ("patient", "relative")
"""Persons that a segment can describe."""

_PLACE = re.compile(r"[A-Z][A-Z0-9]{2}-[1-9]\d?")
_SEGMENT = frozenset({"source", "role", "roles", "labels", "types"})
_TYPE = frozenset({"kinds", "id_type", "labels"})
_TOP = frozenset({"name", "messages", "dated", "systems", "ages", "values", "types", "segments"})


class Rule(NamedTuple):
    """What is done with a field or a component.

    action (str): one of `ACTIONS`, "label" or "type".
    name (str): canonical label or name of the type, for "label" and "type".
    """

    action: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class TypeRule:
    """What is done with a type of fields.

    parts (Mapping[int, Rule]): component → rule.
    kinds (Mapping[int, str]): component → what it is in the dictionary.
    id_type (int): component with the type of an identifier; 0 for none.
    """

    parts: Mapping[int, Rule]
    kinds: Mapping[int, str]
    id_type: int = 0


@dataclass(frozen=True, slots=True)
class SegmentRule:
    """What is done with a segment.

    fields (Mapping[int, Rule]): field → rule.
    role (str): canonical label of names in it.
    roles (Mapping[int, str]): field → label of names in it, if it differs.
    source (str): one of `SOURCES`; "" if it describes only clinicians and organizations.
    """

    fields: Mapping[int, Rule]
    role: str
    roles: Mapping[int, str]
    source: str

    def role_of(self, number: int) -> str:
        """Return the label of names in a field."""
        return self.roles.get(number, self.role)


@dataclass(frozen=True, slots=True)
class Profile:
    """A checked profile.

    name (str): its name, for reports.
    messages (frozenset[str]): message codes (MSH-9.1) that are released.
    dated (tuple[tuple[str, int], ...]): segment and number of the fields that date a message.
    systems (frozenset[str]): code systems whose displays are kept.
    ages (frozenset[str]): codes, and words of names in lower case, of observations that are ages.
    values (Mapping[str, Rule]): type in OBX-2 → rule of OBX-5.
    types (Mapping[str, TypeRule]): type → rules of its components.
    segments (Mapping[str, SegmentRule]): segment → rules of its fields.
    """

    name: str
    messages: frozenset[str]
    dated: tuple[tuple[str, int], ...]
    systems: frozenset[str]
    ages: frozenset[str]
    values: Mapping[str, Rule]
    types: Mapping[str, TypeRule]
    segments: Mapping[str, SegmentRule]


@cache
def default_profile() -> Profile:
    """Read the profile that ships with the package."""
    return _Parser.read_default()


def read_profile(path: str | Path) -> Profile:
    """Read a profile from a file.

    path (Union[str, Path]): a TOML file.
    RETURNS (Profile): the profile.
    RAISES: ConfigError (D991) if it cannot be read or has an unknown key, action, type or label.
    """
    return _Parser.read_file(path)


def parse_profile(text: str, path: str) -> Profile:
    """Parse and check a profile.

    text (str): the content of the file.
    path (str): name of the file, for error messages.
    RETURNS (Profile): the profile.
    RAISES: ConfigError (D991) as `read_profile`.
    """
    return _Parser.read_text(text, path)


class _Parser(ProfileParser[Profile]):
    """Converts the content of a file to a `Profile`."""

    standard, message = "hl7", Errors.D991
    hint = ". Numbers of fields are strings"

    def __init__(self, path: str, data: Mapping[str, Any]) -> None:
        super().__init__(path, data)
        self._types = frozenset(data.get("types", {}))

    def parse(self) -> Profile:
        """Check the tables and convert them."""
        data = self._data
        self.check("key", data, _TOP)
        dated = data.get("dated", [])
        if bad := [place for place in dated if not _PLACE.fullmatch(place)]:
            raise self.wrong(f"'{bad[0]}' is no field, such as \"OBR-7\"")
        places = ((name, int(number)) for name, _, number in (place.partition("-") for place in dated))
        values = {name: rule for names, rule in self._rules("values", data.get("values", {})) for name in names}
        return Profile(
            str(data.get("name", Path(self._path).stem)),
            frozenset(data.get("messages", "").split()),
            tuple(places),
            frozenset(data.get("systems", [])),
            frozenset(data.get("ages", [])),
            values,
            {name: self._type(name, table) for name, table in data.get("types", {}).items()},
            {name: self._segment(name, table) for name, table in data.get("segments", {}).items()},
        )

    def _type(self, name: str, table: Mapping[str, Any]) -> TypeRule:
        """Read the table of a type."""
        self.check(f"key in the table of {name}:", table, ACTIONS - {"value", "file", "id"} | _TYPE)
        kinds = table.get("kinds", {})
        self.check("kind", kinds, KINDS)
        found = {number: kind for kind, text in kinds.items() for number in self._numbers(name, text.split())}
        return TypeRule(self._numbered(name, table), found, int(table.get("id_type", 0)))

    def _segment(self, name: str, table: Mapping[str, Any]) -> SegmentRule:
        """Read the table of a segment."""
        self.check(f"key in the table of {name}:", table, ACTIONS - {"file", "display"} | _SEGMENT)
        role, roles, source = table.get("role", "PERSON"), table.get("roles", {}), table.get("source", "")
        self.check("label", {role, *roles}, LABELS)
        self.check("source", {source} - {""}, SOURCES)
        by_field = {number: label for label, text in roles.items() for number in self._numbers(name, text.split())}
        return SegmentRule(self._numbered(name, table), role, by_field, source)

    def _numbered(self, name: str, table: Mapping[str, Any]) -> dict[int, Rule]:
        """Read the rules of a table whose keys are numbers. A number must not have two rules."""
        made: dict[int, Rule] = {}
        for texts, rule in self._rules(name, table):
            for number in self._numbers(name, texts):
                if number in made:
                    raise self.wrong(f"{name}-{number} has two rules")
                made[number] = rule
        return made

    def _numbers(self, name: str, texts: list[str]) -> list[int]:
        """Convert texts to numbers of fields or components."""
        for text in texts:
            if not (text.isascii() and text.isdecimal() and text[0] != "0"):
                raise self.wrong(f"'{text}' in the table of {name} is no number of a field")
        return [int(text) for text in texts]

    def _rules(self, name: str, table: Mapping[str, Any]) -> Iterator[tuple[list[str], Rule]]:
        """Yield the names or numbers in a table and their rule."""
        if name == "values":
            self.check("key in [values]:", table, {"text", "file", "number", "date", "keep", "types"})
        for action in sorted(ACTIONS & set(table)):
            yield table[action].split(), Rule(action)
        labels, types = table.get("labels", {}), table.get("types", {})
        self.check("label", labels, LABELS)
        self.check("type", types, self._types)
        for action, named in (("label", labels), ("type", types)):
            for key, text in named.items():
                yield text.split(), Rule(action, key)
